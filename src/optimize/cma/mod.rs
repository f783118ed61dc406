//! CMA-ES: minimising a function of which only values are known.
//!
//! In: where to begin, how wide to search, bounds ([`Space`], [`Settings`]); then, generation after generation, one cost for each
//! of the points that [`Search::ask`] gives. Out: better points, and why it ended ([`Stop`]). Knows vectors of numbers and
//! nothing of what they mean.
//!
//! ```text
//! ask (a function of seed, restart, generation) → costs → tell: mean, step size, covariance → ask …
//!                                                  └ reevaluations → tell_again (noise)    └ stopped → restart
//! ```
//!
//! [`Cma`] is the algorithm of one run (N. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772): weighted
//! recombination, active covariance update, cumulative step-size adaptation. [`Search`] adds restarts with growing populations (IPOP,
//! BIPOP) and the treatment of noise by evaluating again. Both are plain serialisable data: saved after any generation and loaded again they
//! go on bit for bit as if nothing had happened, because every random number is a value of (seed, restart, generation, candidate,
//! coordinate).

mod noise;
mod run;
mod search;
mod settings;
mod space;
mod stop;
mod weights;

pub use noise::NoiseSettings;
pub use run::Cma;
pub use search::{Restarts, Search, SearchSettings};
pub use settings::{CmaError, Settings};
pub use space::Space;
pub use stop::{Stop, StopSettings};
