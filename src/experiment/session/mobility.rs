//! How far a point of an articulated thing gives way to a force.

#![allow(non_snake_case)]

use glam::{DMat3, DQuat, DVec3};

use crate::character::{Character, Joint};
use crate::control::position_from_rotation;
use crate::dynamics::{Dynamics, Factor, NONE};
use crate::experiment::frame::BodyPose;
use crate::math::swing_twist::twist_angle;
use crate::world::JointPosition;

/// Buffers for one character or prop.
pub(super) struct Mobility {
    dynamics: Dynamics,
    mass_matrix: Factor,
    coordinates: Vec<f64>,
    column: Vec<f64>,
}

impl Mobility {
    pub fn new(character: &Character) -> Mobility {
        let dynamics = Dynamics::new(character, DVec3::ZERO);
        Mobility {
            mass_matrix: Factor::new(&dynamics.tree),
            coordinates: dynamics.tree.bind_coordinates(),
            column: vec![0.0; dynamics.tree.dofs],
            dynamics,
        }
    }

    /// Acceleration of a point (world) of `body` per unit of force on it, 1/kg, with joints that turn freely and nothing
    /// touched: `J M⁻¹ Jᵀ`, the inverse of the operational space inertia (Khatib 1987). `poses` has the frame of every body.
    pub fn of_point(&mut self, character: &Character, poses: &[BodyPose], body: usize, point: DVec3) -> DMat3 {
        self.read_coordinates(character, poses);
        self.dynamics.update_positions(&self.coordinates);
        self.dynamics.mass_matrix(&mut self.mass_matrix);
        let tree = &self.dynamics.tree;
        if tree.bodies[body].tip == NONE || self.mass_matrix.factorize(tree).is_err() {
            return DMat3::ZERO;
        }
        let J = self.dynamics.body_jacobian(body, point);
        let mut W = DMat3::ZERO;
        for axis in 0..3 {
            for (k, x) in self.column.iter_mut().enumerate() {
                *x = J[(3 + axis, k)];
            }
            self.mass_matrix.solve(tree, &mut self.column);
            let product = |row: usize| self.column.iter().enumerate().map(|(k, x)| J[(3 + row, k)] * x).sum();
            *W.col_mut(axis) = DVec3::new(product(0), product(1), product(2));
        }
        W
    }

    fn read_coordinates(&mut self, character: &Character, poses: &[BodyPose]) {
        for ((b, body), place) in character.bodies.iter().enumerate().zip(&self.dynamics.tree.bodies) {
            let q = &mut self.coordinates[place.coordinate..];
            let pose = &poses[b];
            let center = pose.place(body.center_of_mass);
            let R_parent = body.parent.map_or(DQuat::IDENTITY, |p| poses[p].rotation);
            let turn = (R_parent * body.rest).conjugate() * pose.rotation;
            match (body.joint, position_from_rotation(&body.joint, turn)) {
                (Joint::Free, _) => {
                    q[..3].copy_from_slice(&center.to_array());
                    q[3..7].copy_from_slice(&pose.rotation.to_array());
                }
                (Joint::Planar, _) => {
                    let angle = twist_angle(pose.rotation * body.rest.conjugate(), DVec3::X);
                    q[..3].copy_from_slice(&[center.y, center.z, angle]);
                }
                (_, JointPosition::Angle(a)) => q[0] = a,
                (_, JointPosition::Angles(angles)) => q[..2].copy_from_slice(&angles),
                (_, JointPosition::Rotation(r)) => q[..4].copy_from_slice(&r.to_array()),
                (_, JointPosition::None) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_point_gives_way_as_its_bodies_say() {
        // at the centre of a lone body it is 1/m whatever its pose, and all bodies moved and turned together turn it along
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/humanoid.toml");
        let whole = Character::load(&path).unwrap();
        let mut lone = whole.clone();
        lone.bodies.truncate(1);
        let turn = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, -1.1, 0.7);
        let pose = BodyPose {
            position: DVec3::new(0.4, 2.0, -1.0),
            rotation: turn,
        };
        let center = pose.place(lone.bodies[0].center_of_mass);
        let W = Mobility::new(&lone).of_point(&lone, &[pose], 0, center);
        let expected = DMat3::IDENTITY * (1.0 / lone.bodies[0].mass);
        assert!((W - expected).to_cols_array().iter().all(|v| v.abs() < 1e-12), "{W}");

        let mut poses: Vec<BodyPose> = Vec::new();
        for body in &whole.bodies {
            let parent = body.parent.map_or(BodyPose::default(), |p| poses[p]);
            let R = if body.parent.is_some() {
                parent.rotation
            } else {
                DQuat::IDENTITY
            };
            poses.push(BodyPose {
                position: parent.position + R * body.offset,
                rotation: R * body.rest,
            });
        }
        let moved: Vec<BodyPose> = (poses.iter())
            .map(|p| BodyPose {
                position: pose.position + turn * p.position,
                rotation: turn * p.rotation,
            })
            .collect();
        let hand = whole.body("left_hand").unwrap();
        let point = DVec3::new(0.03, 0.05, -0.02);
        let mut mobility = Mobility::new(&whole);
        let here = mobility.of_point(&whole, &poses, hand, poses[hand].place(point));
        let there = mobility.of_point(&whole, &moved, hand, moved[hand].place(point));
        let R = DMat3::from_quat(turn);
        let difference = there - R * here * R.transpose();
        assert!(
            difference.to_cols_array().iter().all(|v| v.abs() < 1e-9),
            "{difference}"
        );
        // a hand on an arm is neither lighter than the hand alone nor heavier than the character
        let along = |v: DVec3| v.dot(here * v);
        for v in [DVec3::X, DVec3::Y, DVec3::new(0.6, 0.0, -0.8)] {
            assert!(along(v) > 1.0 / whole.mass(), "{v}");
        }
    }
}
