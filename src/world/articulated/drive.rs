#![allow(non_snake_case)]
//! The PD law of each degree of freedom during one step.

use glam::DVec3;

use super::Articulation;
use crate::character::Joint;
use crate::math::rotation::difference;
use crate::world::{Actuation, JointPosition, PdMode, RootActuation};

/// `τ = kp (e + dt (v_t − v⁺)) + kd (v_t − v⁺) + feed_forward`, held within `±limit`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drive {
    pub kp: f64,
    pub kd: f64,
    /// Target minus position at the beginning of the step.
    pub error: f64,
    pub target_rate: f64,
    pub feed_forward: f64,
    pub limit: f64,
}

impl Drive {
    /// Force the law asks for when the rate at the end of the step is `rate`.
    pub fn law(&self, rate: f64, dt: f64) -> f64 {
        let slip = self.target_rate - rate;
        self.kp * (self.error + dt * slip) + self.kd * slip + self.feed_forward
    }

    /// What the law adds to the diagonal of the mass matrix.
    pub fn stiffness(&self, dt: f64) -> f64 {
        dt * (self.kd + dt * self.kp)
    }
}

impl Articulation {
    /// Fills the drives from what the controller asked for; `q`, `v` are the articulation's own.
    pub(super) fn load_drives(&mut self, actuation: &Actuation, q: &[f64], v: &[f64]) {
        for (b, body) in self.dynamics.tree.bodies.iter().enumerate() {
            let drives = &mut self.drives[body.dof..body.dof + body.dofs];
            if matches!(body.joint, Joint::Free | Joint::Planar | Joint::Fixed) {
                drives.fill(Drive {
                    limit: f64::INFINITY,
                    ..Drive::default()
                });
                continue;
            }
            let joint = &actuation.joints[b];
            let q = &q[body.coordinate..];
            let error = match (joint.target, body.joint) {
                (JointPosition::Angle(target), Joint::Hinge { .. }) => DVec3::new(target - q[0], 0.0, 0.0),
                (JointPosition::Angles(target), Joint::Universal { .. }) => {
                    DVec3::new(target[0] - q[0], target[1] - q[1], 0.0)
                }
                (JointPosition::Rotation(target), Joint::Ball) => difference(target, glam::DQuat::from_slice(&q[..4])),
                _ => DVec3::ZERO,
            };
            for (i, drive) in drives.iter_mut().enumerate() {
                *drive = Drive {
                    kp: joint.kp[i],
                    kd: joint.kd[i],
                    error: error[i],
                    target_rate: joint.target_velocity[i],
                    feed_forward: joint.feed_forward[i],
                    limit: self.character.bodies[b].torque_limit[i],
                };
                if actuation.mode == PdMode::Explicit {
                    // the law at the beginning of the step is a constant force during it
                    let torque = drive.law(v[body.dof + i], 0.0);
                    *drive = Drive {
                        feed_forward: torque,
                        limit: drive.limit,
                        ..Drive::default()
                    };
                }
            }
        }
        self.load_root(&actuation.root);
    }

    /// Without actuation: props.
    pub(super) fn clear_drives(&mut self) {
        self.drives.fill(Drive {
            limit: f64::INFINITY,
            ..Drive::default()
        });
    }

    fn load_root(&mut self, root: &RootActuation) {
        let body = &self.dynamics.tree.bodies[0];
        let k = &self.dynamics.bodies[0];
        // per degree of freedom of the root: the world axis it moves along or turns about
        let axes: &[(bool, DVec3)] = match body.joint {
            Joint::Free => &[
                (true, DVec3::X),
                (true, DVec3::Y),
                (true, DVec3::Z),
                (false, DVec3::X),
                (false, DVec3::Y),
                (false, DVec3::Z),
            ],
            Joint::Planar => &[(true, DVec3::Y), (true, DVec3::Z), (false, DVec3::X)],
            _ => return,
        };
        match *root {
            RootActuation::None => {}
            RootActuation::Wrench(wrench) => {
                for (drive, (linear, axis)) in self.drives.iter_mut().zip(axes) {
                    drive.feed_forward = axis.dot(if *linear { wrench.force } else { wrench.torque });
                }
            }
            RootActuation::Spring {
                position,
                rotation,
                velocity,
                angular_velocity,
                kp_linear,
                kd_linear,
                kp_angular,
                kd_angular,
            } => {
                let lever = rotation * body.center_of_mass;
                let x_error = position + lever - k.x_WC;
                let v_target = velocity + angular_velocity.cross(lever);
                let turn = difference(rotation, k.q_WB);
                for (drive, (linear, axis)) in self.drives.iter_mut().zip(axes) {
                    *drive = if *linear {
                        Drive {
                            kp: kp_linear,
                            kd: kd_linear,
                            error: axis.dot(x_error),
                            target_rate: axis.dot(v_target),
                            ..*drive
                        }
                    } else {
                        Drive {
                            kp: kp_angular,
                            kd: kd_angular,
                            error: axis.dot(turn),
                            target_rate: axis.dot(angular_velocity),
                            ..*drive
                        }
                    };
                }
            }
        }
    }
}
