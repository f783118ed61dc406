//! Rotations, splines and random numbers.
//!
//! In: plain numbers and glam vectors. Out: the same. Knows nothing of the rest of ambler.
//! No `std` transcendental function is used here: `libm` gives the same bits on every platform.

pub mod euler;
pub mod random;
pub mod rotation;
pub mod spline;
pub mod swing_twist;
