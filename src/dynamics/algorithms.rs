#![allow(non_snake_case)]
//! Kinematics, recursive Newton-Euler (RNEA) and composite rigid bodies (CRBA).

use glam::{DMat3, DQuat, DVec3};

use super::factor::Factor;
use super::tree::{NONE, Tree, TreeBody};
use crate::character::{Character, Joint};
use crate::math::rotation::cross_matrix;

/// Position and motion of one body, world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BodyKinematics {
    /// Origin of the body's (joint) frame.
    pub x_WB: DVec3,
    pub q_WB: DQuat,
    pub R_WB: DMat3,
    /// Parent-side joint frame, `R_parent · rest`.
    pub R_WJ: DMat3,
    /// Centre of mass.
    pub x_WC: DVec3,
    /// Inertia about the centre of mass.
    pub I_W: DMat3,
    pub w_WB: DVec3,
    /// Velocity of the centre of mass.
    pub v_WC: DVec3,
    /// Velocity of the origin.
    pub v_WB: DVec3,
}

/// Motion caused by unit rate of one degree of freedom: angular velocity, and linear velocity of the body-fixed point that
/// is at the reference point [`Dynamics::reference`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MotionAxis {
    pub angular: DVec3,
    pub linear: DVec3,
}

/// Accelerations of a body, world axes: angular, and of its origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Acceleration {
    angular: DVec3,
    linear: DVec3,
}

/// A tree with everything that is computed from its coordinates and rates. All buffers are allocated once.
#[derive(Clone, Debug)]
pub struct Dynamics {
    pub tree: Tree,
    /// Per body, valid after [`Dynamics::update_positions`] and [`Dynamics::update_velocities`].
    pub bodies: Vec<BodyKinematics>,
    /// Per degree of freedom.
    pub axes: Vec<MotionAxis>,
    /// Centre of mass of the root body: all moments are about it.
    pub reference: DVec3,
    /// Bias forces of the last [`Dynamics::bias_forces`].
    pub bias: Vec<f64>,
    acceleration: Vec<Acceleration>,
    wrench: Vec<(DVec3, DVec3)>,
    /// Composite mass, first moment and inertia about the reference point.
    composite: Vec<(f64, DVec3, DMat3)>,
}

impl Dynamics {
    /// Buffers for `character` under `gravity` (m/s²), in the bind pose at rest.
    pub fn new(character: &Character, gravity: DVec3) -> Dynamics {
        let tree = Tree::new(character, gravity);
        let (n, dofs) = (tree.bodies.len(), tree.dofs);
        let mut dynamics = Dynamics {
            bodies: vec![BodyKinematics::default(); n],
            axes: vec![MotionAxis::default(); dofs],
            reference: DVec3::ZERO,
            bias: vec![0.0; dofs],
            acceleration: vec![Acceleration::default(); n],
            wrench: vec![(DVec3::ZERO, DVec3::ZERO); n],
            composite: vec![(0.0, DVec3::ZERO, DMat3::ZERO); n],
            tree,
        };
        let (q, v) = (dynamics.tree.bind_coordinates(), vec![0.0; dofs]);
        dynamics.update(&q, &v);
        dynamics
    }

    /// Positions, then velocities.
    pub fn update(&mut self, q: &[f64], v: &[f64]) {
        self.update_positions(q);
        self.update_velocities(v);
    }

    /// Poses of all bodies and motion axes of all degrees of freedom at coordinates `q`.
    pub fn update_positions(&mut self, q: &[f64]) {
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let (x_WP, q_WP, R_WP) = match body.parent {
                NONE => (DVec3::ZERO, DQuat::IDENTITY, DMat3::IDENTITY),
                p => (self.bodies[p].x_WB, self.bodies[p].q_WB, self.bodies[p].R_WB),
            };
            let coordinate = &q[body.coordinate..];
            let q_WJ = if body.rest == DQuat::IDENTITY {
                q_WP
            } else {
                q_WP * body.rest
            };
            let (x_WB, q_WB) = body.pose(x_WP + R_WP * body.offset, q_WJ, coordinate);
            let R_WB = DMat3::from_quat(q_WB);
            let out = &mut self.bodies[b];
            out.x_WB = x_WB;
            out.q_WB = q_WB;
            out.R_WB = R_WB;
            out.R_WJ = if body.rest == DQuat::IDENTITY {
                R_WP
            } else {
                DMat3::from_quat(q_WJ)
            };
            out.x_WC = x_WB + R_WB * body.center_of_mass;
            out.I_W = R_WB * body.inertia * R_WB.transpose();
        }
        self.reference = self.bodies[0].x_WC;
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let kinematics = self.bodies[b];
            let lever = kinematics.x_WB - self.reference;
            let axes = &mut self.axes[body.dof..body.dof + body.dofs];
            let turn = |angular: DVec3| MotionAxis {
                angular,
                linear: lever.cross(angular),
            };
            match body.joint {
                Joint::Free => {
                    for (i, axis) in DVec3::AXES.into_iter().enumerate() {
                        axes[i] = MotionAxis {
                            angular: DVec3::ZERO,
                            linear: axis,
                        };
                        axes[3 + i] = MotionAxis {
                            angular: axis,
                            linear: DVec3::ZERO,
                        };
                    }
                }
                Joint::Planar => {
                    axes[0] = MotionAxis {
                        angular: DVec3::ZERO,
                        linear: DVec3::Y,
                    };
                    axes[1] = MotionAxis {
                        angular: DVec3::ZERO,
                        linear: DVec3::Z,
                    };
                    axes[2] = MotionAxis {
                        angular: DVec3::X,
                        linear: DVec3::ZERO,
                    };
                }
                Joint::Fixed => {}
                Joint::Hinge { axis } => axes[0] = turn(kinematics.R_WJ * axis),
                Joint::Universal { axes: [first, second] } => {
                    axes[0] = turn(kinematics.R_WJ * first);
                    axes[1] = turn(kinematics.R_WB * second);
                }
                Joint::Ball => {
                    for (i, axis) in axes.iter_mut().enumerate() {
                        *axis = turn(kinematics.R_WJ.col(i));
                    }
                }
            }
        }
    }

    /// Velocities of all bodies at rates `v`; positions must be up to date.
    pub fn update_velocities(&mut self, v: &[f64]) {
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let rate = &v[body.dof..];
            let (w, v_B) = match body.joint {
                Joint::Free => {
                    let w = DVec3::new(rate[3], rate[4], rate[5]);
                    (
                        w,
                        DVec3::from_slice(rate) - w.cross(self.bodies[b].x_WC - self.bodies[b].x_WB),
                    )
                }
                Joint::Planar => {
                    let w = DVec3::new(rate[2], 0.0, 0.0);
                    (
                        w,
                        DVec3::new(0.0, rate[0], rate[1]) - w.cross(self.bodies[b].x_WC - self.bodies[b].x_WB),
                    )
                }
                _ => {
                    let (w_P, v_origin) = match body.parent {
                        NONE => (DVec3::ZERO, DVec3::ZERO),
                        p => {
                            let parent = &self.bodies[p];
                            (
                                parent.w_WB,
                                parent.v_WB + parent.w_WB.cross(self.bodies[b].x_WB - parent.x_WB),
                            )
                        }
                    };
                    (w_P + self.relative_rate(body, v), v_origin)
                }
            };
            let out = &mut self.bodies[b];
            out.w_WB = w;
            out.v_WB = v_B;
            out.v_WC = v_B + w.cross(out.x_WC - out.x_WB);
        }
    }

    /// Angular velocity of a body relative to its parent.
    fn relative_rate(&self, body: &TreeBody, v: &[f64]) -> DVec3 {
        (body.dof..body.dof + body.dofs)
            .map(|k| self.axes[k].angular * v[k])
            .sum()
    }

    /// Inverse dynamics: generalized forces for accelerations `a` (zero if `None`) at rates `v`, gravity included, into
    /// [`Dynamics::bias`]. With `a = None` these are the bias forces.
    pub fn inverse_dynamics(&mut self, v: &[f64], a: Option<&[f64]>) {
        self.forward_accelerations(v, a);
        // forces on each body, moments about its centre of mass
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let kinematics = &self.bodies[b];
            let acceleration = &self.acceleration[b];
            let d = kinematics.x_WC - kinematics.x_WB;
            let w = kinematics.w_WB;
            let a_C = acceleration.linear + acceleration.angular.cross(d) + w.cross(w.cross(d));
            let force = body.mass * (a_C - self.tree.gravity);
            let moment = kinematics.I_W * acceleration.angular + w.cross(kinematics.I_W * w);
            self.wrench[b] = (force, moment + (kinematics.x_WC - self.reference).cross(force));
        }
        // inwards, moments about the reference point
        for b in (0..self.tree.bodies.len()).rev() {
            let body = &self.tree.bodies[b];
            let (force, moment) = self.wrench[b];
            for k in body.dof..body.dof + body.dofs {
                self.bias[k] = self.axes[k].angular.dot(moment) + self.axes[k].linear.dot(force);
            }
            if body.parent != NONE {
                let parent = &mut self.wrench[body.parent];
                parent.0 += force;
                parent.1 += moment;
            }
        }
    }

    /// Bias forces (velocity products and gravity) at rates `v` into [`Dynamics::bias`].
    pub fn bias_forces(&mut self, v: &[f64]) {
        self.inverse_dynamics(v, None);
    }

    /// Accelerations of all bodies for generalized accelerations `a`, without gravity.
    fn forward_accelerations(&mut self, v: &[f64], a: Option<&[f64]>) {
        let zero = [0.0; 6];
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let a = match a {
                Some(a) => &a[body.dof..body.dof + body.dofs],
                None => &zero[..body.dofs],
            };
            let kinematics = &self.bodies[b];
            self.acceleration[b] = match body.joint {
                Joint::Free | Joint::Planar => {
                    let (angular, a_C) = match body.joint {
                        Joint::Free => (DVec3::new(a[3], a[4], a[5]), DVec3::new(a[0], a[1], a[2])),
                        _ => (DVec3::new(a[2], 0.0, 0.0), DVec3::new(0.0, a[0], a[1])),
                    };
                    let (w, d) = (kinematics.w_WB, kinematics.x_WC - kinematics.x_WB);
                    Acceleration {
                        angular,
                        linear: a_C - angular.cross(d) - w.cross(w.cross(d)),
                    }
                }
                _ => {
                    let (w_P, parent, r) = match body.parent {
                        NONE => (DVec3::ZERO, Acceleration::default(), DVec3::ZERO),
                        p => (
                            self.bodies[p].w_WB,
                            self.acceleration[p],
                            kinematics.x_WB - self.bodies[p].x_WB,
                        ),
                    };
                    let mut angular = parent.angular;
                    for (k, &a) in a.iter().enumerate() {
                        angular += self.axes[body.dof + k].angular * a;
                    }
                    if body.dofs > 0 {
                        angular += w_P.cross(self.relative_rate(body, v));
                    }
                    if let Joint::Universal { .. } = body.joint {
                        // the second axis is carried by the first rotation
                        let first = self.axes[body.dof].angular * v[body.dof];
                        angular += first.cross(self.axes[body.dof + 1].angular * v[body.dof + 1]);
                    }
                    Acceleration {
                        angular,
                        linear: parent.linear + parent.angular.cross(r) + w_P.cross(w_P.cross(r)),
                    }
                }
            };
        }
    }

    /// Angular acceleration and acceleration of the centre of mass of every body for generalized accelerations `a` at
    /// rates `v`, world axes. With `a = None` these are the Jacobian bias terms `J̇ v`.
    pub fn body_accelerations(&mut self, v: &[f64], a: Option<&[f64]>) -> Vec<(DVec3, DVec3)> {
        self.forward_accelerations(v, a);
        self.bodies
            .iter()
            .zip(&self.acceleration)
            .map(|(k, a)| {
                let d = k.x_WC - k.x_WB;
                (a.angular, a.linear + a.angular.cross(d) + k.w_WB.cross(k.w_WB.cross(d)))
            })
            .collect()
    }

    /// The mass matrix at the current positions, packed, into `out`.
    pub fn mass_matrix(&mut self, out: &mut Factor) {
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let kinematics = &self.bodies[b];
            let c = kinematics.x_WC - self.reference;
            let h = body.mass * c;
            // parallel axes: m (c² 1 − c cᵀ)
            let shift = DMat3::from_diagonal(DVec3::splat(h.dot(c))) - DMat3::from_cols(h * c.x, h * c.y, h * c.z);
            self.composite[b] = (body.mass, h, kinematics.I_W + shift);
        }
        for b in (0..self.tree.bodies.len()).rev() {
            let parent = self.tree.bodies[b].parent;
            if parent != NONE {
                let (m, h, I) = self.composite[b];
                let composite = &mut self.composite[parent];
                composite.0 += m;
                composite.1 += h;
                composite.2 += I;
            }
        }
        let packed = out.packed_mut();
        for k in 0..self.tree.dofs {
            let (m, h, I) = self.composite[self.tree.dof_body[k]];
            let axis = self.axes[k];
            let force = m * axis.linear + axis.angular.cross(h);
            let moment = I * axis.angular + h.cross(axis.linear);
            let row = self.tree.row_start[k]..self.tree.row_start[k + 1];
            for (entry, &j) in packed[row.clone()].iter_mut().zip(&self.tree.chain[row]) {
                let axis = &self.axes[j as usize];
                *entry = axis.angular.dot(moment) + axis.linear.dot(force);
            }
        }
    }

    /// Accelerations for generalized forces `tau` at rates `v`: forward dynamics through CRBA and RNEA.
    ///
    /// # Errors
    /// The degree of freedom whose pivot is not positive, if the mass matrix is singular.
    pub fn forward_dynamics(&mut self, v: &[f64], tau: &[f64], h: &mut Factor, out: &mut [f64]) -> Result<(), usize> {
        self.bias_forces(v);
        self.mass_matrix(h);
        h.factorize(&self.tree)?;
        for (out, (tau, bias)) in out.iter_mut().zip(tau.iter().zip(&self.bias)) {
            *out = tau - bias;
        }
        h.solve(&self.tree, out);
        Ok(())
    }

    /// Kinetic energy, joules.
    pub fn kinetic_energy(&self) -> f64 {
        self.tree
            .bodies
            .iter()
            .zip(&self.bodies)
            .map(|(body, k)| 0.5 * body.mass * k.v_WC.length_squared() + 0.5 * k.w_WB.dot(k.I_W * k.w_WB))
            .sum()
    }

    /// `−Σ m g·x`, joules.
    pub fn potential_energy(&self) -> f64 {
        -self
            .tree
            .bodies
            .iter()
            .zip(&self.bodies)
            .map(|(body, k)| body.mass * self.tree.gravity.dot(k.x_WC))
            .sum::<f64>()
    }

    /// Centre of mass of the whole articulation.
    pub fn center_of_mass(&self) -> DVec3 {
        self.tree
            .bodies
            .iter()
            .zip(&self.bodies)
            .map(|(body, k)| body.mass * k.x_WC)
            .sum::<DVec3>()
            / self.tree.mass
    }

    /// Inertia of the whole articulation, frozen, about the point `about`.
    pub fn locked_inertia(&self, about: DVec3) -> DMat3 {
        let mut sum = DMat3::ZERO;
        for (body, k) in self.tree.bodies.iter().zip(&self.bodies) {
            let c = cross_matrix(k.x_WC - about);
            sum += k.I_W - body.mass * (c * c);
        }
        sum
    }
}
