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

/// A link's side of a row: where its degrees of freedom and its coefficients are listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// First entry in the list of global degrees of freedom.
    pub chain: usize,
    /// First entry in the coefficient buffer.
    pub y: usize,
    pub len: usize,
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

/// Rows of one step with their coefficients.
#[derive(Clone, Default)]
pub(super) struct Rows {
    pub contacts: Vec<ContactRow>,
    pub limits: Vec<LimitRow>,
    /// Coefficients of contact rows per chain entry: normal, two tangents, padding.
    pub y3: Vec<[f64; 4]>,
    /// Coefficients of limit rows.
    pub y1: Vec<[f64; 1]>,
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
    /// Row of the contact point `point` between two sides whose coefficients are in `y3`; `chains` lists global degrees of
    /// freedom. `shared` is the number of leading chain entries that both sides have in common.
    pub fn new(
        point: usize,
        [a, b]: [Side; 2],
        shared: usize,
        frame: DMat3,
        offset: DVec3,
        friction: f64,
        impulse: DVec3,
        y3: &[[f64; 4]],
    ) -> ContactRow {
        let (ya, yb) = (a.y3(y3), b.y3(y3));
        let mut A = DMat3::ZERO;
        let mut add = |p: &[f64; 4], q: &[f64; 4]| {
            let (p, q) = (DVec3::new(p[0], p[1], p[2]), DVec3::new(q[0], q[1], q[2]));
            A += DMat3::from_cols(p * q.x, p * q.y, p * q.z);
        };
        for y in ya.iter().chain(yb) {
            add(y, y);
        }
        for i in 0..shared {
            add(&ya[i], &yb[i]);
            add(&yb[i], &ya[i]);
        }
        let (tt, tu, uu) = (A.y_axis.y, A.y_axis.z, A.z_axis.z);
        let largest = 0.5 * (tt + uu) + (0.25 * (tt - uu) * (tt - uu) + tu * tu).sqrt();
        let inverse_or_zero = |x: f64| if x > 1e-12 { 1.0 / x } else { 0.0 };
        let scale = (A.x_axis.x + tt + uu) / 3.0;
        let invertible = A.determinant() > 1e-8 * scale * scale * scale;
        ContactRow {
            point,
            a,
            b,
            frame,
            offset,
            friction,
            impulse,
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
        for iteration in 1..=max_iterations {
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
            if largest <= tolerance {
                return iteration;
            }
        }
        max_iterations
    }

    /// Position correction (split impulse): pseudo impulses along normals and limits only, so that row `i` moves at least
    /// at `wanted(i)`, into `u`. `normals` receives the pseudo impulses of the contacts.
    pub fn correct(
        &self,
        chains: &[u32],
        u: &mut [f64],
        wanted_contacts: &[f64],
        wanted_limits: &[f64],
        normals: &mut Vec<f64>,
        limit_impulses: &mut Vec<f64>,
        tolerance: f64,
        max_iterations: usize,
    ) {
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
