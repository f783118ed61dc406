//! Advancing coordinates by rates, and a reference integrator.

use glam::DVec3;

use super::algorithms::Dynamics;
use super::factor::Factor;
use super::tree::{Tree, quat};
use crate::character::Joint;
use crate::math::rotation::exp;

/// `q ← q ⊕ dt·v`: rotations advance by the exponential map, `q⁺ = exp(ω dt)·q`.
pub fn advance_positions(tree: &Tree, q: &mut [f64], v: &[f64], dt: f64) {
    for body in &tree.bodies {
        let (c, d) = (body.coordinate, body.dof);
        match body.joint {
            Joint::Free => {
                for i in 0..3 {
                    q[c + i] += dt * v[d + i];
                }
                rotate(&mut q[c + 3..c + 7], dt * DVec3::from_slice(&v[d + 3..]));
            }
            Joint::Ball => rotate(&mut q[c..c + 4], dt * DVec3::from_slice(&v[d..])),
            Joint::Fixed => {}
            Joint::Planar | Joint::Hinge { .. } | Joint::Universal { .. } => {
                for i in 0..body.dofs {
                    q[c + i] += dt * v[d + i];
                }
            }
        }
    }
}

fn rotate(q: &mut [f64], w: DVec3) {
    q.copy_from_slice(&(exp(w) * quat(q)).normalize().to_array());
}

/// One step of the classical fourth-order Runge-Kutta method under constant generalized forces `tau`.
///
/// A reference for tests and for comparing integrators; allocates. Quaternions are integrated as vectors and normalised,
/// which keeps the order.
///
/// # Errors
/// The degree of freedom at which the mass matrix is singular.
pub fn rk4_step(dynamics: &mut Dynamics, q: &mut [f64], v: &mut [f64], tau: &[f64], dt: f64) -> Result<(), usize> {
    let mut h = Factor::new(&dynamics.tree);
    let (q0, v0) = (q.to_vec(), v.to_vec());
    let mut slopes: Vec<(Vec<f64>, Vec<f64>)> = Vec::with_capacity(4);
    for (stage, weight) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
        let (mut q_stage, mut v_stage) = (q0.clone(), v0.clone());
        if stage > 0 {
            let (q_slope, v_slope) = &slopes[stage - 1];
            add_scaled(&mut q_stage, q_slope, weight * dt);
            add_scaled(&mut v_stage, v_slope, weight * dt);
        }
        dynamics.update(&q_stage, &v_stage);
        let mut a = vec![0.0; dynamics.tree.dofs];
        dynamics.forward_dynamics(&v_stage, tau, &mut h, &mut a)?;
        slopes.push((coordinate_rates(&dynamics.tree, &q_stage, &v_stage), a));
    }
    for ((q_slope, v_slope), weight) in slopes.iter().zip([1.0, 2.0, 2.0, 1.0]) {
        add_scaled(q, q_slope, weight * dt / 6.0);
        add_scaled(v, v_slope, weight * dt / 6.0);
    }
    normalize_rotations(&dynamics.tree, q);
    dynamics.update(q, v);
    Ok(())
}

fn add_scaled(x: &mut [f64], y: &[f64], scale: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += scale * y;
    }
}

/// `q̇` for rates `v`; for a rotation `½ ω q`.
fn coordinate_rates(tree: &Tree, q: &[f64], v: &[f64]) -> Vec<f64> {
    let mut rates = vec![0.0; tree.coordinates];
    let spin =
        |q: &[f64], w: &[f64]| (glam::DQuat::from_xyzw(0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 0.0) * quat(q)).to_array();
    for body in &tree.bodies {
        let (c, d) = (body.coordinate, body.dof);
        match body.joint {
            Joint::Free => {
                rates[c..c + 3].copy_from_slice(&v[d..d + 3]);
                rates[c + 3..c + 7].copy_from_slice(&spin(&q[c + 3..], &v[d + 3..]));
            }
            Joint::Ball => rates[c..c + 4].copy_from_slice(&spin(&q[c..], &v[d..])),
            _ => rates[c..c + body.dofs].copy_from_slice(&v[d..d + body.dofs]),
        }
    }
    rates
}

fn normalize_rotations(tree: &Tree, q: &mut [f64]) {
    for body in &tree.bodies {
        let start = match body.joint {
            Joint::Free => body.coordinate + 3,
            Joint::Ball => body.coordinate,
            _ => continue,
        };
        let unit = quat(&q[start..]).normalize().to_array();
        q[start..start + 4].copy_from_slice(&unit);
    }
}
