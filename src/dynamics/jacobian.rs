#![allow(non_snake_case)]
//! Jacobians of points, bodies, the centre of mass and the centroidal momentum.
//!
//! Rows: angular velocity (world axes) first, then linear velocity. Their bias terms `J̇ v` come from
//! [`Dynamics::body_accelerations`] with zero generalized acceleration.

use glam::DVec3;
use nalgebra::DMatrix;

use super::algorithms::Dynamics;

impl Dynamics {
    /// 6 × dofs Jacobian of the point of `body` that is at `point` (world): `[w; v_point] = J v`.
    pub fn body_jacobian(&self, body: usize, point: DVec3) -> DMatrix<f64> {
        let mut J = DMatrix::zeros(6, self.tree.dofs);
        let lever = point - self.reference;
        for &k in self.tree.chain(self.tree.bodies[body].tip) {
            let axis = &self.axes[k as usize];
            let linear = axis.linear + axis.angular.cross(lever);
            for i in 0..3 {
                J[(i, k as usize)] = axis.angular[i];
                J[(3 + i, k as usize)] = linear[i];
            }
        }
        J
    }

    /// 3 × dofs Jacobian of the centre of mass.
    pub fn center_of_mass_jacobian(&self) -> DMatrix<f64> {
        self.centroidal_momentum_matrix().rows(3, 3) / self.tree.mass
    }

    /// 6 × dofs centroidal momentum matrix (Orin and Goswami 2008): angular momentum about the centre of mass, then linear
    /// momentum.
    pub fn centroidal_momentum_matrix(&self) -> DMatrix<f64> {
        let mut A = DMatrix::zeros(6, self.tree.dofs);
        let c = self.center_of_mass();
        for (b, (body, k)) in self.tree.bodies.iter().zip(&self.bodies).enumerate() {
            for &j in self.tree.chain(self.tree.bodies[b].tip) {
                let axis = &self.axes[j as usize];
                let p = body.mass * (axis.linear + axis.angular.cross(k.x_WC - self.reference));
                let l = k.I_W * axis.angular + (k.x_WC - c).cross(p);
                for i in 0..3 {
                    A[(i, j as usize)] += l[i];
                    A[(3 + i, j as usize)] += p[i];
                }
            }
        }
        A
    }

    /// Bias acceleration of the centre of mass: `J̇_com v`.
    pub fn center_of_mass_bias(&mut self, v: &[f64]) -> DVec3 {
        let accelerations = self.body_accelerations(v, None);
        self.tree
            .bodies
            .iter()
            .zip(&accelerations)
            .map(|(body, a)| body.mass * a.1)
            .sum::<DVec3>()
            / self.tree.mass
    }

    /// Dense copy of a packed symmetric matrix.
    pub fn dense(&self, packed: &super::Factor) -> DMatrix<f64> {
        DMatrix::from_fn(self.tree.dofs, self.tree.dofs, |i, j| packed.get(&self.tree, i, j))
    }
}
