//! Velocity products of fast articulations, taken at the mean rates of the step.
//!
//! Centrifugal and gyroscopic forces of the beginning of a step feed energy into whatever turns fast: an undamped ragdoll that
//! flails at 1 rad/s diverges within seconds at any step size that is used, and so do semi-implicit integrators elsewhere.
//! Taken at the mean of the rates before and after the step, with the positions in between, they are those of a leapfrog,
//! which is its own reverse in time.

use super::ArticulatedEngine;

/// Turn of a body within a step beyond which velocity products are taken at the mean rates, radians.
const FAST_TURN: f64 = 0.02;
/// Iterations for the mean rates, and the change of the turn of a step at which they end.
const ITERATIONS: usize = 8;
const TOLERANCE: f64 = 1e-6;

impl ArticulatedEngine {
    /// Corrects the rates without impulses of fast articulations; kinematics and bias forces are left at the beginning of the
    /// step but for the velocity products in the bias.
    pub(super) fn center_velocity_products(&mut self) {
        let dt = self.dt;
        let s = &mut self.scratch;
        for a in &mut self.articulations {
            let dynamics = &mut a.dynamics;
            if !dynamics.bodies.iter().any(|k| k.w_WB.length() * dt > FAST_TURN) {
                continue;
            }
            let range = a.v0..a.v0 + dynamics.tree.dofs;
            let (v, v_free) = (&self.v[range.clone()], &mut s.v_free[range.clone()]);
            let (mean, end) = (&mut s.v_plus[range.clone()], &mut s.correction[range.clone()]);
            let change = &mut s.u[range];
            // rates at the end by velocity products and gravity alone: torques may be met by limits and contacts
            for (e, bias) in end.iter_mut().zip(&dynamics.bias) {
                *e = -dt * bias;
            }
            a.factor.solve(&dynamics.tree, end);
            for (e, v) in end.iter_mut().zip(v) {
                *e += v;
            }
            let mut last = f64::INFINITY;
            for _ in 0..ITERATIONS {
                for ((m, x), y) in mean.iter_mut().zip(v).zip(&*end) {
                    *m = 0.5 * (x + y);
                }
                change.copy_from_slice(&dynamics.bias);
                dynamics.update_velocities(mean);
                dynamics.bias_forces(mean);
                for (c, bias) in change.iter_mut().zip(&dynamics.bias) {
                    *c = dt * (*c - bias);
                }
                a.factor.solve(&dynamics.tree, change);
                let size = change.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
                for ((x, e), c) in v_free.iter_mut().zip(end.iter_mut()).zip(&*change) {
                    *x += c;
                    *e += c;
                }
                // steps too long for the iteration to converge: no more of it
                if size * dt < TOLERANCE || size >= last {
                    break;
                }
                last = size;
            }
            dynamics.update_velocities(v);
        }
    }
}
