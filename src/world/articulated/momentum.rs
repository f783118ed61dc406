#![allow(non_snake_case)]
//! Momentum-exact motion of floating articulations.
//!
//! Velocity products change within a step, so rates that solve the equations at its beginning carry another momentum at
//! its end: a character in flight would lose five per cent of its angular momentum per second at 240 Hz. Linear and angular
//! momentum are therefore set to what the external impulses say, by a twist of the root, in every step. The root turns at
//! the rate that has the right momentum halfway through the step (the end value alone makes tumbling bodies drift towards
//! their axis of largest inertia), and the centre of mass is put on its exact parabola. The last two move positions
//! against what the contact solve found, so they are left out while anything fixed is touched.
//!
//! What hangs on a ball joint in the world is treated alike, with its angular momentum about that joint: a limb that spins
//! about its own axis would otherwise gain energy until it flies apart.

use glam::{DMat3, DVec3};

use super::Articulation;
use crate::character::Joint;
use crate::dynamics::{Momentum, advance_positions};

/// Iterations for the root's rates halfway, and the change of the turn of a step at which they end, radians. Each gains a
/// factor of about half the turn: a character in flight needs two, a capsule that spins by 15 degrees a step six, and with
/// less its energy grows.
const MIDPOINT_ITERATIONS: usize = 10;
const MIDPOINT_TOLERANCE: f64 = 1e-6;

/// Impulses on an articulation from outside during one step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct External {
    /// N s, gravity excluded.
    pub linear: DVec3,
    /// About the centre of mass at the beginning of the step, N m s.
    pub angular: DVec3,
    /// Position correction as a pseudo impulse, N s.
    pub correction: DVec3,
    /// Whether it touches terrain, a platform or something hinged to the world, directly or through others.
    pub grounded: bool,
    /// Whether it touches anything else or its root joint is at a limit.
    pub touched: bool,
}

/// Adds to the root's rates (of `v`, the articulation's own) the twist that moves the articulation as a rigid whole by
/// `linear` and `angular` about its centre of mass `com`.
fn add_root_twist(joint: Joint, root_com: DVec3, com: DVec3, linear: DVec3, angular: DVec3, v: &mut [f64]) {
    let change = linear + angular.cross(root_com - com);
    match joint {
        Joint::Free => {
            for i in 0..3 {
                v[i] += change[i];
                v[3 + i] += angular[i];
            }
        }
        Joint::Planar => {
            v[0] += change.y;
            v[1] += change.z;
            v[2] += angular.x;
        }
        _ => {}
    }
}

/// `I⁻¹ l`, in the sagittal plane for planar roots.
fn angular_change(joint: Joint, inertia: DMat3, l: DVec3) -> DVec3 {
    match joint {
        Joint::Planar => DVec3::new(l.x / inertia.x_axis.x, 0.0, 0.0),
        _ => inertia.inverse() * l,
    }
}

impl Articulation {
    /// Whether its momentum is free to be projected.
    pub(super) fn floats(&self) -> bool {
        matches!(self.dynamics.tree.bodies[0].joint, Joint::Free | Joint::Planar)
    }

    /// Whether it hangs on a ball joint in the world.
    fn hangs(&self) -> bool {
        self.dynamics.tree.bodies[0].joint == Joint::Ball
    }

    /// Angular momentum about the root joint's origin at the kinematics held by `dynamics`.
    fn momentum_about_root(&self) -> DVec3 {
        let now = self.dynamics.momentum();
        now.angular + (now.center_of_mass - self.dynamics.bodies[0].x_WB).cross(now.linear)
    }

    /// Angular momentum about a ball joint in the world at the end of a step whose solve found the rates `v`: `dynamics` must
    /// be at the beginning of the step, with its bias forces.
    fn hanging_momentum(&mut self, v: &[f64], dt: f64) -> DVec3 {
        let dynamics = &mut self.dynamics;
        let lever = dynamics.center_of_mass() - dynamics.bodies[0].x_WB;
        // the solve changed M v by everything but what velocity products change M by
        let bias: DVec3 = (0..3).map(|k| dynamics.axes[k].angular * dynamics.bias[k]).sum();
        let products = bias + lever.cross(dynamics.tree.mass * dynamics.tree.gravity);
        dynamics.update_velocities(v);
        self.momentum_about_root() + dt * products
    }

    /// Sets the root's rates so that the momentum at the kinematics held by `dynamics` (which must be up to date with `v`)
    /// is `wanted`; of something that hangs, the angular momentum about its joint. Returns the change of its angular velocity.
    fn project(&mut self, wanted: &Momentum, v: &mut [f64]) -> DVec3 {
        if self.hangs() {
            let inertia = self.dynamics.locked_inertia(self.dynamics.bodies[0].x_WB);
            let change = inertia.inverse() * (wanted.angular - self.momentum_about_root());
            for (v, axis) in v.iter_mut().zip(&self.dynamics.axes[..3]) {
                *v += axis.angular.dot(change);
            }
            return change;
        }
        let joint = self.dynamics.tree.bodies[0].joint;
        let now = self.dynamics.momentum();
        let inertia = self.dynamics.locked_inertia(now.center_of_mass);
        let angular = angular_change(joint, inertia, wanted.angular - now.angular);
        let linear = (wanted.linear - now.linear) / self.dynamics.tree.mass;
        add_root_twist(
            joint,
            self.dynamics.bodies[0].x_WC,
            now.center_of_mass,
            linear,
            angular,
            v,
        );
        angular
    }

    /// Moves the articulation: `q` and `v` (its own) from the beginning of the step to its end. `v` holds the rates that
    /// the solve found, `correction` the pseudo rates of the position correction, `q_next` is scratch.
    pub(super) fn integrate(
        &mut self,
        q: &mut [f64],
        v: &mut [f64],
        correction: &[f64],
        external: &External,
        dt: f64,
        q_next: &mut [f64],
    ) {
        let tree = &self.dynamics.tree;
        let (mass, gravity) = (tree.mass, tree.gravity);
        let (floats, hangs) = (self.floats(), self.hangs());
        let start = self.momentum;
        let mut wanted = Momentum {
            linear: start.linear + external.linear + mass * gravity * dt,
            angular: start.angular + external.angular,
            center_of_mass: start.center_of_mass,
        };
        let moving = !external.grounded && floats || !external.touched && hangs;
        if hangs {
            wanted.angular = self.hanging_momentum(v, dt);
        }
        q_next.copy_from_slice(q);
        if moving {
            // root rates with the right momentum halfway
            let root_rates = |v: &[f64]| {
                let mut rates = [0.0; 6];
                let n = v.len().min(6);
                rates[..n].copy_from_slice(&v[..n]);
                rates
            };
            let saved = root_rates(v);
            for _ in 0..MIDPOINT_ITERATIONS {
                q_next.copy_from_slice(q);
                advance_positions(&self.dynamics.tree, q_next, v, 0.5 * dt);
                self.dynamics.update(q_next, v);
                if self.project(&wanted, v).length() * dt < MIDPOINT_TOLERANCE {
                    break;
                }
            }
            q_next.copy_from_slice(q);
            self.advance(q_next, v, correction, dt);
            let n = v.len().min(6);
            v[..n].copy_from_slice(&saved[..n]);
        } else {
            self.advance(q_next, v, correction, dt);
        }
        self.dynamics.update_positions(q_next);
        if moving && floats {
            // constant acceleration during the step: the exact parabola; but contacts were solved for a step at the final rate
            let half_fall = if external.touched { 0.0 } else { 0.5 * dt };
            let flight = (wanted.linear - half_fall * mass * gravity + external.correction) * (dt / mass);
            let shift = start.center_of_mass + flight - self.dynamics.center_of_mass();
            match self.dynamics.tree.bodies[0].joint {
                Joint::Planar => {
                    q_next[0] += shift.y;
                    q_next[1] += shift.z;
                }
                _ => {
                    for i in 0..3 {
                        q_next[i] += shift[i];
                    }
                }
            }
            self.dynamics.update_positions(q_next);
        }
        if floats || hangs {
            self.dynamics.update_velocities(v);
            self.project(&wanted, v);
        }
        q.copy_from_slice(q_next);
        self.dynamics.update_velocities(v);
        self.momentum = self.dynamics.momentum();
    }

    fn advance(&self, q: &mut [f64], v: &[f64], correction: &[f64], dt: f64) {
        advance_positions(&self.dynamics.tree, q, v, dt);
        if correction.iter().any(|c| *c != 0.0) {
            advance_positions(&self.dynamics.tree, q, correction, dt);
        }
    }
}
