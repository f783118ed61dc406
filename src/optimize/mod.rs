//! CMA-ES and studies: finding parameters that make an experiment's cost small.
//!
//! In: an [`Evaluator`] (an experiment with parameters, or any other function). Out: the best parameters, and a folder
//! that says how they were found. Knows nothing of the command line.

pub mod cma;
mod evaluation;
mod problem;
pub mod spacetime;
pub mod study;
pub mod sweep;

pub use evaluation::{Evaluation, Evaluator, Outcome, Request};
pub use problem::{FAILED, ParameterSpec, Paths, Place, Problem, ProblemError, ProblemSpec, Range, nine_digits};
