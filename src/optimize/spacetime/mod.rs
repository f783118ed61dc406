//! Space-time constraints on the smallest example: a block on a vertical rod that is to follow a sine.
//!
//! In: a [`Rod`]. Out: the PD targets that make it follow best, found in different ways, which must agree. Knows nothing
//! of characters and worlds: it is where the methods can be checked against a solution in closed form.
//!
//! ```text
//! Rod ─┬ solve_quadratic    targets and states unknown, motion as hard constraint: one linear system
//!      ├ solve_penalty      targets and states unknown, motion as penalty: descent along the gradient
//!      ├ solve_collocation  targets a spline, states by simulation: least squares
//!      └ search_collocation targets a spline, states by simulation: CMA-ES, which knows costs only
//! ```
//!
//! After A. Witkin, M. Kass, "Spacetime constraints", SIGGRAPH 1988: a motion is the solution of an optimisation over all of its
//! time, with the equations of motion as constraints.

mod collocation;
mod constraints;
mod penalty;
mod quadratic;
mod rod;

pub use collocation::{SearchedSpline, Spline, SplineSolution, search_collocation, solve_collocation};
pub use constraints::{Constraints, Unknowns};
pub use penalty::{Descent, DescentSettings, PenaltySolution, penalty, penalty_gradient, solve_penalty};
pub use quadratic::{QuadraticSolution, solve_quadratic};
pub use rod::{Rod, RodMotion, SpacetimeError};
