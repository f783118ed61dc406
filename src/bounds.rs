//! The range of numbers that can be simulated.
//!
//! Finite is not enough: squares of 1e200 are infinite, geometry of such sizes breaks the collision detection, and a
//! typing mistake of a few zeros is better named where it stands than found as a diverged step. The bounds are far
//! beyond anything sensible and far within what the arithmetic carries. Knows nothing of what the numbers mean.

/// Metres of any position, offset or size.
pub const LARGEST_LENGTH: f64 = 1e6;
/// Metres of any side or radius.
pub const SMALLEST_SIZE: f64 = 1e-6;
/// m/s or rad/s of anything that moves.
pub const LARGEST_SPEED: f64 = 1e4;
/// m/s².
pub const LARGEST_GRAVITY: f64 = 1e4;
/// Kilograms; lighter bodies lose their inertia in the rounding of the others.
pub const SMALLEST_MASS: f64 = 1e-6;
/// Kilograms.
pub const LARGEST_MASS: f64 = 1e9;
/// kg m².
pub const SMALLEST_INERTIA: f64 = 1e-12;
/// kg m².
pub const LARGEST_INERTIA: f64 = 1e18;
/// N, N m or N s of anything that acts from outside or is fed forward.
pub const LARGEST_FORCE: f64 = 1e9;
/// Stiffness, damping and armature in SI units.
pub const LARGEST_GAIN: f64 = 1e18;
/// rad/s of a target; it may jump within a frame, so it may be faster than what follows it.
pub const LARGEST_TARGET_RATE: f64 = 1e9;
/// Radians of a hinge or universal joint, for those without limits.
pub const LARGEST_ANGLE: f64 = 1e6;
/// Coefficient of friction.
pub const LARGEST_FRICTION: f64 = 1e6;
/// Hertz of a moving platform.
pub const LARGEST_FREQUENCY: f64 = 1e6;

/// Whether `v` is a size: neither 0 nor negative, neither tiny nor huge, no NaN.
pub fn is_size(v: f64) -> bool {
    (SMALLEST_SIZE..=LARGEST_LENGTH).contains(&v)
}

/// Whether every one of `values` is a number between minus and plus `largest`.
pub fn within(largest: f64, values: &[f64]) -> bool {
    // a NaN is not in any range
    values.iter().all(|v| (-largest..=largest).contains(v))
}
