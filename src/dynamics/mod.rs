//! Articulated rigid-body algorithms in reduced coordinates, f64, without rapier.
//!
//! In: a [`Character`](crate::character::Character), coordinates `q` and rates `v`. Out: kinematics, mass matrix, bias
//! forces, momentum, Jacobians, accelerations. Knows nothing of contacts, engines and rapier.
//!
//! ```text
//! Character → Tree;   (q, v) → Dynamics::update → bias_forces, mass_matrix → Factor → accelerations
//! ```
//!
//! The equations of motion are `M(q) v̇ + bias(q, v) = τ` with gravity in the bias. Algorithms after R. Featherstone,
//! *Rigid Body Dynamics Algorithms* (2008): RNEA chapter 5, CRBA and the factorisation along the tree chapter 6, here in
//! world axes with all moments about one reference point, the centre of mass of the root body.

mod algorithms;
mod factor;
mod integrate;
mod jacobian;
mod momentum;
mod tree;

pub use algorithms::{BodyKinematics, Dynamics, MotionAxis};
pub use factor::Factor;
pub use integrate::{advance_positions, rk4_step};
pub use momentum::Momentum;
pub use tree::{NONE, Tree, TreeBody};
