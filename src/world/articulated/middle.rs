//! Velocity products of fast articulations, taken at the middle of the step.
//!
//! Bias forces of the beginning of a step feed energy into whatever turns fast: an undamped ragdoll that flails at 1 rad/s
//! diverges within seconds at any step size that is used (so do semi-implicit integrators elsewhere). With the bias at the
//! middle configuration and the mean of the old rates and those without impulses, and the mass matrix of the beginning, the
//! same ragdoll loses a little energy instead. (With the mass matrix of the middle too, it gains energy again.)

use glam::DVec3;

use super::ArticulatedEngine;
use crate::dynamics::advance_positions;

/// Articulations are slow when no rate is larger than this per step, radians or metres; their bias is left as it is.
const SLOW: f64 = 0.02;

impl ArticulatedEngine {
    /// Replaces the bias forces of fast articulations and marks them to be solved again; returns whether there are any.
    pub(super) fn take_bias_at_middle(&mut self) -> bool {
        let dt = self.dt;
        let s = &mut self.scratch;
        for (index, a) in self.articulations.iter_mut().enumerate() {
            let (dofs, coordinates) = (a.dynamics.tree.dofs, a.dynamics.tree.coordinates);
            let v = &self.v[a.v0..a.v0 + dofs];
            let free = &s.v_free[a.v0..a.v0 + dofs];
            // the velocity products of a single body are the business of its momentum
            let several = a.dynamics.tree.bodies.len() > 1;
            s.refactor[index] = several && v.iter().zip(free).any(|(v, f)| v.abs().max(f.abs()) * dt > SLOW);
            if !s.refactor[index] {
                continue;
            }
            // what contacts and limits will stop must not enter: no change beyond the speed that is there
            let fastest = v.iter().fold(1.0, |a: f64, v| a.max(v.abs()));
            let change = v.iter().zip(free).fold(0.0, |a: f64, (v, f)| a.max((f - v).abs()));
            let share = 0.5 * (fastest / change.max(fastest));
            let middle = &mut s.v_plus[..dofs];
            for (m, (v, f)) in middle.iter_mut().zip(v.iter().zip(free)) {
                *m = v + share * (f - v);
            }
            let q = &self.q[a.q0..a.q0 + coordinates];
            s.q_next.clear();
            s.q_next.extend_from_slice(q);
            advance_positions(&a.dynamics.tree, &mut s.q_next, middle, 0.5 * dt);
            // gravity stays that of the beginning: with it, semi-implicit steps keep the energy of a pendulum
            let gravity = std::mem::replace(&mut a.dynamics.tree.gravity, DVec3::ZERO);
            a.dynamics.update(&s.q_next, middle);
            a.dynamics.bias_forces(middle);
            s.products.clear();
            s.products.extend_from_slice(&a.dynamics.bias);
            a.dynamics.tree.gravity = gravity;
            middle.fill(0.0);
            a.dynamics.update(q, middle);
            a.dynamics.bias_forces(middle);
            a.dynamics.update_velocities(v);
            for (bias, product) in a.dynamics.bias.iter_mut().zip(&s.products) {
                *bias += product;
            }
        }
        s.refactor.contains(&true)
    }
}
