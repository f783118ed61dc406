//! Where a character starts, and where its bodies are then.

#![allow(non_snake_case)]

use glam::{DQuat, DVec3};

use super::joint_angles::joint_rotation;
use crate::character::{Character, Role, Shape};
use crate::world::JointPosition;

/// Position and velocity of a whole character, as [`Engine::set_character`](crate::world::Engine::set_character) takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct StartState {
    /// Origin of the root's frame.
    pub root_position: DVec3,
    pub root_rotation: DQuat,
    pub joints: Vec<JointPosition>,
    /// Per body: for a free root the velocity of its centre of mass and its angular velocity, for any other joint its
    /// rates in the second entry.
    pub velocities: Vec<(DVec3, DVec3)>,
}

impl StartState {
    /// At rest in `pose`, with the root where the character file has it, turned by `heading` (radians about +Y) and
    /// moved by `position`; before that tilted by `tilt` (radians about +X through the root).
    pub fn at_rest(
        character: &Character,
        pose: Vec<JointPosition>,
        position: DVec3,
        heading: f64,
        tilt: f64,
    ) -> StartState {
        let root = &character.bodies[0];
        let R_heading = crate::math::rotation::exp(DVec3::Y * heading);
        StartState {
            root_position: R_heading * root.offset + position,
            root_rotation: (R_heading * crate::math::rotation::exp(DVec3::X * tilt) * root.rest).normalize(),
            velocities: vec![Default::default(); pose.len()],
            joints: pose,
        }
    }
}

/// Origin and rotation of every body's frame in the world.
///
/// `root_rotation` is that of the root's frame; joint positions of the root itself are taken to be in it already.
pub fn body_poses(
    character: &Character,
    root_position: DVec3,
    root_rotation: DQuat,
    joints: &[JointPosition],
    out: &mut Vec<(DVec3, DQuat)>,
) {
    out.clear();
    for (body, position) in character.bodies.iter().zip(joints) {
        out.push(match body.parent {
            None => (root_position, root_rotation),
            Some(p) => {
                let (x_parent, R_parent) = out[p];
                let q = joint_rotation(&body.joint, position);
                (
                    x_parent + R_parent * body.offset,
                    (R_parent * body.rest * q).normalize(),
                )
            }
        });
    }
}

/// Height of the lowest collider point over the ground below it: negative if it is in the ground.
///
/// Looks at the feet and toes if the character has any and `only_feet` is set, at all bodies otherwise. `ground(x, z)`
/// gives the height of the ground, or `None` where there is none. `None` if nothing is over ground.
pub fn lowest_gap(
    character: &Character,
    poses: &[(DVec3, DQuat)],
    only_feet: bool,
    mut ground: impl FnMut(f64, f64) -> Option<f64>,
) -> Option<f64> {
    let is_foot = |role: Role| {
        matches!(
            role,
            Role::LeftFoot | Role::RightFoot | Role::LeftToes | Role::RightToes
        )
    };
    let only_feet = only_feet
        && character
            .bodies
            .iter()
            .any(|b| is_foot(b.role) && b.filter != 0 && !b.colliders.is_empty());
    let mut lowest: Option<f64> = None;
    let mut look_at = |x_W: DVec3, radius: f64| {
        if let Some(height) = ground(x_W.x, x_W.z) {
            let gap = x_W.y - radius - height;
            lowest = Some(lowest.map_or(gap, |l| l.min(gap)));
        }
    };
    for (body, (x_WB, R_WB)) in character.bodies.iter().zip(poses) {
        // a body that touches nothing may be anywhere
        if (only_feet && !is_foot(body.role)) || body.filter == 0 {
            continue;
        }
        for collider in &body.colliders {
            let mut point = |p: DVec3, radius: f64| {
                look_at(*x_WB + *R_WB * (collider.position + collider.rotation * p), radius);
            };
            match &collider.shape {
                Shape::Box { half_extents: h } => {
                    for corner in 0..8 {
                        let sign = |bit: usize| if corner >> bit & 1 == 0 { -1.0 } else { 1.0 };
                        point(*h * DVec3::new(sign(0), sign(1), sign(2)), 0.0);
                    }
                }
                Shape::Capsule { half_length, radius } => {
                    point(DVec3::Y * *half_length, *radius);
                    point(DVec3::NEG_Y * *half_length, *radius);
                }
                Shape::Sphere { radius } => point(DVec3::ZERO, *radius),
                Shape::Hull { points } => points.iter().for_each(|p| point(*p, 0.0)),
            }
        }
    }
    lowest
}
