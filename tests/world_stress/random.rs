//! Random poses within a character's limits, the same on every machine.

use ambler::character::{Character, Joint, Limit};
use ambler::math::random::CounterRng;
use ambler::math::rotation::exp;
use ambler::world::JointPosition;
use glam::{DQuat, DVec3};
use rand::RngExt;

/// Vector with components in `-size..size`.
pub fn vector(rng: &mut CounterRng, size: f64) -> DVec3 {
    let mut component = || rng.random_range(-size..size);
    DVec3::new(component(), component(), component())
}

/// A pose within the limits; joints without one turn by up to `size` radians about each axis.
pub fn pose(character: &Character, rng: &mut CounterRng, size: f64) -> Vec<JointPosition> {
    character
        .bodies
        .iter()
        .map(|body| match (body.joint, body.limit) {
            (Joint::Hinge { .. }, Limit::Range(r)) => JointPosition::Angle(rng.random_range(r[0][0]..r[0][1])),
            (Joint::Hinge { .. }, _) => JointPosition::Angle(rng.random_range(-size..size)),
            (Joint::Universal { .. }, Limit::Range(r)) => {
                JointPosition::Angles([rng.random_range(r[0][0]..r[0][1]), rng.random_range(r[1][0]..r[1][1])])
            }
            (
                Joint::Ball,
                Limit::SwingTwist {
                    axis,
                    center,
                    swing,
                    twist,
                },
            ) => {
                let across = axis.cross(vector(rng, 1.0)).normalize();
                let bend = exp(across * rng.random_range(0.0..0.98 * swing));
                JointPosition::Rotation(center * bend * exp(axis * rng.random_range(twist[0]..twist[1])))
            }
            (Joint::Ball, _) => JointPosition::Rotation(exp(vector(rng, size))),
            _ => JointPosition::bind(&body.joint),
        })
        .collect()
}

/// Any orientation.
pub fn orientation(rng: &mut CounterRng) -> DQuat {
    exp(vector(rng, 3.0))
}
