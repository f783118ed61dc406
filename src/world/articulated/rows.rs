#![allow(non_snake_case)]
//! Constraint rows and the Gauss-Seidel iteration that solves them.
//!
//! With the factor `H = Lᵀ L` of an articulation, a row `J` becomes `y = L⁻ᵀ Jᵀ`, and the impulses `λ` change the rates by
//! `dv = L⁻¹ u` with `u = Σ y λ`; the velocity along a row is `J v + y·u`. Each row is non-zero only on the chain of the
//! link it touches, so a sweep costs a few dot products of that length. Contacts are solved as 3 × 3 blocks: first the
//! impulse that stops all sliding; if it leaves the friction cone, the normal alone and then a projected step on the
//! friction disk, whose size is the inverse of the largest eigenvalue of the tangential block. (Inverting the block and
//! projecting would turn the direction of sliding friction.)

use glam::{DMat3, DVec3};

/// First sweep that is accelerated; warm starts are done before.
const ACCELERATE_FROM: usize = 3;

/// A link's side of a row: where its degrees of freedom and its coefficients are listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// First entry in the list of global degrees of freedom.
    pub chain: usize,
    /// First entry in the coefficient buffer.
    pub y: usize,
    pub len: usize,
}

/// What a contact row is made of.
pub(super) struct NewContact {
    /// Index of the contact point.
    pub point: usize,
    pub sides: [Side; 2],
    /// Number of leading chain entries that both sides have in common.
    pub shared: usize,
    pub frame: DMat3,
    pub offset: DVec3,
    pub friction: f64,
    /// Where the iteration starts.
    pub impulse: DVec3,
}

/// A contact: normal and two tangents. Vectors are in that frame (normal first).
#[derive(Clone, Debug)]
pub(super) struct ContactRow {
    /// Index of the contact point.
    pub point: usize,
    pub a: Side,
    pub b: Side,
    pub frame: DMat3,
    /// Velocity along the rows without impulses, plus the wanted offset: the row asks for `y·u + offset ≥ 0`.
    pub offset: DVec3,
    pub friction: f64,
    pub impulse: DVec3,
    /// Inverse of the 3 × 3 block; zero if it is singular.
    inverse: DMat3,
    /// 1 / A_nn, zero if the normal cannot move.
    normal_step: f64,
    /// 1 / largest eigenvalue of the tangential block.
    tangent_step: f64,
    invertible: bool,
    /// A_nt.
    coupling: DVec3,
}

/// A joint limit: one row, pushing only.
#[derive(Clone, Debug)]
pub(super) struct LimitRow {
    /// Index of the limit in the list of the step.
    pub limit: usize,
    pub side: Side,
    pub offset: f64,
    pub impulse: f64,
    pub step: f64,
}

/// State of the acceleration of [`Rows::solve`]: the search direction and the values before the present sweep.
#[derive(Clone, Default)]
struct Acceleration {
    contacts: Vec<DVec3>,
    limits: Vec<f64>,
    u: Vec<f64>,
    contacts_before: Vec<DVec3>,
    limits_before: Vec<f64>,
    u_before: Vec<f64>,
}

/// Positions corrected by pseudo impulses, see [`Rows::correct`]. Rows in their order.
#[derive(Clone, Default)]
pub(super) struct Correction {
    /// Rate at which each row shall move at least; minus infinity leaves it out.
    pub wanted_contacts: Vec<f64>,
    pub wanted_limits: Vec<f64>,
    /// Pseudo impulses that do it.
    pub contacts: Vec<f64>,
    pub limits: Vec<f64>,
}

/// Rows of one step with their coefficients.
#[derive(Clone, Default)]
pub(super) struct Rows {
    pub contacts: Vec<ContactRow>,
    pub limits: Vec<LimitRow>,
    /// Coefficients of contact rows per chain entry: normal, two tangents, padding.
    pub y3: Vec<[f64; 4]>,
    /// Coefficients of limit rows.
    pub y1: Vec<[f64; 1]>,
    acceleration: Acceleration,
}

fn dot3(y: &[[f64; 4]], chain: &[u32], u: &[f64]) -> DVec3 {
    let mut sum = [0.0; 4];
    for (y, &k) in y.iter().zip(chain) {
        let u = u[k as usize];
        for i in 0..4 {
            sum[i] += y[i] * u;
        }
    }
    DVec3::new(sum[0], sum[1], sum[2])
}

fn add3(y: &[[f64; 4]], chain: &[u32], impulse: DVec3, u: &mut [f64]) {
    for (y, &k) in y.iter().zip(chain) {
        u[k as usize] += y[0] * impulse.x + y[1] * impulse.y + y[2] * impulse.z;
    }
}

impl Side {
    fn y3<'a>(&self, y: &'a [[f64; 4]]) -> &'a [[f64; 4]] {
        &y[self.y..self.y + self.len]
    }
    fn chain<'a>(&self, chains: &'a [u32]) -> &'a [u32] {
        &chains[self.chain..self.chain + self.len]
    }
}

impl ContactRow {
    /// Row of a contact whose sides have their coefficients in `y3`.
    pub fn new(contact: NewContact, y3: &[[f64; 4]]) -> ContactRow {
        let [a, b] = contact.sides;
        let (ya, yb) = (a.y3(y3), b.y3(y3));
        let mut A = DMat3::ZERO;
        let mut add = |p: &[f64; 4], q: &[f64; 4]| {
            let (p, q) = (DVec3::new(p[0], p[1], p[2]), DVec3::new(q[0], q[1], q[2]));
            A += DMat3::from_cols(p * q.x, p * q.y, p * q.z);
        };
        for y in ya.iter().chain(yb) {
            add(y, y);
        }
        for i in 0..contact.shared {
            add(&ya[i], &yb[i]);
            add(&yb[i], &ya[i]);
        }
        let (tt, tu, uu) = (A.y_axis.y, A.y_axis.z, A.z_axis.z);
        let largest = 0.5 * (tt + uu) + (0.25 * (tt - uu) * (tt - uu) + tu * tu).sqrt();
        let inverse_or_zero = |x: f64| if x > 1e-12 { 1.0 / x } else { 0.0 };
        let scale = (A.x_axis.x + tt + uu) / 3.0;
        let invertible = A.determinant() > 1e-8 * scale * scale * scale;
        ContactRow {
            point: contact.point,
            a,
            b,
            frame: contact.frame,
            offset: contact.offset,
            friction: contact.friction,
            impulse: contact.impulse,
            inverse: if invertible { A.inverse() } else { DMat3::ZERO },
            normal_step: inverse_or_zero(A.x_axis.x),
            tangent_step: inverse_or_zero(largest),
            invertible,
            coupling: DVec3::new(0.0, A.x_axis.y, A.x_axis.z),
        }
    }

    /// One update; returns the largest change of the impulse.
    fn relax(&mut self, y3: &[[f64; 4]], chains: &[u32], u: &mut [f64]) -> f64 {
        let (ya, yb) = (self.a.y3(y3), self.b.y3(y3));
        let (ca, cb) = (self.a.chain(chains), self.b.chain(chains));
        let residual = self.offset + dot3(ya, ca, u) + dot3(yb, cb, u);
        let mut impulse = DVec3::NEG_ONE;
        if self.invertible {
            impulse = self.impulse - self.inverse * residual;
        }
        let slip = impulse.y * impulse.y + impulse.z * impulse.z;
        let cone = self.friction * impulse.x;
        if !(impulse.x >= 0.0 && slip <= cone * cone) {
            let normal = (self.impulse.x - self.normal_step * residual.x).max(0.0);
            // tangential velocity after the change of the normal impulse
            let residual = residual + self.coupling * (normal - self.impulse.x);
            let mut t = self.impulse.y - self.tangent_step * residual.y;
            let mut w = self.impulse.z - self.tangent_step * residual.z;
            let (length, radius) = ((t * t + w * w).sqrt(), self.friction * normal);
            if length > radius {
                let scale = radius / length;
                t *= scale;
                w *= scale;
            }
            impulse = DVec3::new(normal, t, w);
        }
        let change = impulse - self.impulse;
        if change != DVec3::ZERO {
            self.impulse = impulse;
            add3(ya, ca, change, u);
            add3(yb, cb, change, u);
        }
        change.abs().max_element()
    }
}

impl Rows {
    pub fn clear(&mut self) {
        self.contacts.clear();
        self.limits.clear();
        self.y3.clear();
        self.y1.clear();
    }

    /// Solves all rows into `u`, starting from the impulses they hold. Stops when no impulse changes by more than
    /// `tolerance` (N s) or after `max_iterations`; returns the number of iterations.
    ///
    /// Limbs that lie on one another converge slowly (0.998 per sweep were seen), so from the third sweep on the sweeps are
    /// steps of a nonsmooth nonlinear conjugate gradient method (Silcowitz-Hansen, Niebe and Erleben 2010): the change made
    /// by a sweep is the gradient, and the last direction is added to it. Every result is that of a plain sweep.
    pub fn solve(&mut self, chains: &[u32], u: &mut [f64], tolerance: f64, max_iterations: usize) -> usize {
        if self.contacts.is_empty() && self.limits.is_empty() {
            return 0;
        }
        for row in &self.limits {
            for (y, &k) in self.y1[row.side.y..row.side.y + row.side.len]
                .iter()
                .zip(row.side.chain(chains))
            {
                u[k as usize] += y[0] * row.impulse;
            }
        }
        for row in &self.contacts {
            if row.impulse != DVec3::ZERO {
                add3(row.a.y3(&self.y3), row.a.chain(chains), row.impulse, u);
                add3(row.b.y3(&self.y3), row.b.chain(chains), row.impulse, u);
            }
        }
        let mut gradient = 0.0;
        for iteration in 1..=max_iterations {
            let accelerated = iteration >= ACCELERATE_FROM;
            if accelerated {
                self.remember(u);
            }
            let largest = self.sweep(chains, u);
            if largest <= tolerance {
                return iteration;
            }
            if accelerated && iteration < max_iterations {
                gradient = self.accelerate(u, gradient);
            }
        }
        max_iterations
    }

    /// One Gauss-Seidel sweep; returns the largest change of an impulse.
    fn sweep(&mut self, chains: &[u32], u: &mut [f64]) -> f64 {
        let mut largest = 0.0_f64;
        for row in &mut self.limits {
            let y = &self.y1[row.side.y..row.side.y + row.side.len];
            let chain = row.side.chain(chains);
            let velocity: f64 = y.iter().zip(chain).map(|(y, &k)| y[0] * u[k as usize]).sum();
            let impulse = (row.impulse - row.step * (row.offset + velocity)).max(0.0);
            let change = impulse - row.impulse;
            if change != 0.0 {
                row.impulse = impulse;
                for (y, &k) in y.iter().zip(chain) {
                    u[k as usize] += y[0] * change;
                }
                largest = largest.max(change.abs());
            }
        }
        for row in &mut self.contacts {
            largest = largest.max(row.relax(&self.y3, chains, u));
        }
        largest
    }

    fn remember(&mut self, u: &[f64]) {
        let a = &mut self.acceleration;
        a.contacts_before.clear();
        a.contacts_before.extend(self.contacts.iter().map(|r| r.impulse));
        a.limits_before.clear();
        a.limits_before.extend(self.limits.iter().map(|r| r.impulse));
        a.u_before.clear();
        a.u_before.extend_from_slice(u);
    }

    /// Moves on along the last direction; `before` is the squared gradient of the last sweep (0 at the start). Returns that
    /// of this one.
    fn accelerate(&mut self, u: &mut [f64], before: f64) -> f64 {
        let a = &mut self.acceleration;
        let mut gradient = 0.0;
        for (row, old) in self.contacts.iter().zip(&mut a.contacts_before) {
            *old = row.impulse - *old;
            gradient += old.length_squared();
        }
        for (row, old) in self.limits.iter().zip(&mut a.limits_before) {
            *old = row.impulse - *old;
            gradient += *old * *old;
        }
        for (now, old) in u.iter().zip(&mut a.u_before) {
            *old = now - *old;
        }
        if before == 0.0 || gradient > before {
            // start again along the gradient
            a.contacts.clone_from(&a.contacts_before);
            a.limits.clone_from(&a.limits_before);
            a.u.clone_from(&a.u_before);
            return gradient;
        }
        let beta = gradient / before;
        for ((row, step), direction) in self.contacts.iter_mut().zip(&a.contacts_before).zip(&mut a.contacts) {
            row.impulse += beta * *direction;
            *direction = beta * *direction + *step;
        }
        for ((row, step), direction) in self.limits.iter_mut().zip(&a.limits_before).zip(&mut a.limits) {
            row.impulse += beta * *direction;
            *direction = beta * *direction + step;
        }
        for ((value, step), direction) in u.iter_mut().zip(&a.u_before).zip(&mut a.u) {
            *value += beta * *direction;
            *direction = beta * *direction + step;
        }
        gradient
    }

    /// Position correction (split impulse): pseudo impulses along normals and limits only, so that every row moves at least
    /// as fast as `correction` wants it to, into `u`.
    pub fn correct(
        &self,
        chains: &[u32],
        u: &mut [f64],
        correction: &mut Correction,
        tolerance: f64,
        max_iterations: usize,
    ) {
        let Correction {
            wanted_contacts,
            wanted_limits,
            contacts: normals,
            limits: limit_impulses,
        } = correction;
        normals.clear();
        normals.resize(self.contacts.len(), 0.0);
        limit_impulses.clear();
        limit_impulses.resize(self.limits.len(), 0.0);
        for _ in 0..max_iterations {
            let mut largest = 0.0_f64;
            for (i, row) in self.limits.iter().enumerate() {
                if wanted_limits[i] == f64::NEG_INFINITY {
                    continue;
                }
                let y = &self.y1[row.side.y..row.side.y + row.side.len];
                let chain = row.side.chain(chains);
                let velocity: f64 = y.iter().zip(chain).map(|(y, &k)| y[0] * u[k as usize]).sum();
                let impulse = (limit_impulses[i] - row.step * (velocity - wanted_limits[i])).max(0.0);
                let change = impulse - limit_impulses[i];
                limit_impulses[i] = impulse;
                for (y, &k) in y.iter().zip(chain) {
                    u[k as usize] += y[0] * change;
                }
                largest = largest.max(change.abs());
            }
            for (i, row) in self.contacts.iter().enumerate() {
                if wanted_contacts[i] == f64::NEG_INFINITY {
                    continue;
                }
                let sides = [row.a, row.b];
                let velocity: f64 = sides
                    .iter()
                    .map(|s| {
                        s.y3(&self.y3)
                            .iter()
                            .zip(s.chain(chains))
                            .map(|(y, &k)| y[0] * u[k as usize])
                            .sum::<f64>()
                    })
                    .sum();
                let impulse = (normals[i] - row.normal_step * (velocity - wanted_contacts[i])).max(0.0);
                let change = impulse - normals[i];
                normals[i] = impulse;
                for s in sides {
                    for (y, &k) in s.y3(&self.y3).iter().zip(s.chain(chains)) {
                        u[k as usize] += y[0] * change;
                    }
                }
                largest = largest.max(change.abs());
            }
            if largest <= tolerance {
                break;
            }
        }
    }
}
