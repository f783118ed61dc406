#![allow(non_snake_case)]
//! One step of the world.

use std::time::Instant;

use glam::{DMat3, DVec3};

use super::ahead::LIMIT_MARGIN;
use super::collision::NO_LINK;
use super::limits::{self, ActiveLimit, SLOTS};
use super::momentum::External;
use super::rows::{ContactRow, LimitRow, NewContact, Side};
use super::{ArticulatedEngine, Link};
use crate::character::Joint;
use crate::dynamics::NONE;
use crate::world::{Actuation, BodyRef, Engine, ExternalForce, Scene, StepError, StepReport, Wrench, validate};

/// Metres within which contacts are always looked for.
const MARGIN: f64 = 0.01;
/// How much farther than a step at its present speed a body's contacts are looked for.
const MARGIN_STEPS: f64 = 1.5;
/// Penetration that is left alone, metres.
const SLOP: f64 = 0.5e-3;
/// Excess over a joint limit that is left alone, radians.
const LIMIT_SLOP: f64 = 1e-3;
/// Share of the remaining penetration that is removed per step.
const CORRECTION: f64 = 0.2;
/// Gauss-Seidel iterations; a warm start needs one or two, an impact all of them. Long steps make the implicit gains weigh
/// more than the masses and converge slowly (a character on a loose board at 30 Hz creeps with 100 iterations), so they may
/// take as many per simulated second as steps of 1/120 s.
const MAX_ITERATIONS: usize = 100;
const MAX_ITERATIONS_PER_SECOND: f64 = 12e3;
/// Iterations of the position correction.
const CORRECTION_ITERATIONS: usize = 30;
/// Change of an impulse at which iteration stops, as a share of the weight over a step.
const TOLERANCE: f64 = 1e-7;
/// Passes of the torque limits after which only the worst one changes, and after which none is released.
const ONE_AT_A_TIME: usize = 3;
const ONLY_ADD: usize = 8;
/// How often a step is solved again for limits and contacts that its linear rows missed.
const AHEAD_PASSES: usize = 12;
/// Rates beyond this are a diverged simulation, rad/s or m/s.
const LARGEST_RATE: f64 = 1e4;

impl ArticulatedEngine {
    pub(super) fn advance(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError> {
        let time = self.time();
        let characters = self.scene.characters.len();
        if actuations.len() != characters {
            return Err(StepError::BadInput {
                time,
                character: "all".into(),
                body: "all".into(),
                what: "number of actuations".into(),
                value: actuations.len().to_string(),
                expected: format!("one per character: {characters}"),
            });
        }
        for (placement, actuation) in self.scene.characters.iter().zip(actuations) {
            validate::actuation(&placement.character, actuation, time)?;
        }
        validate::forces(&self.scene, forces, time)?;

        let start = self.clock();
        self.prepare(actuations, forces)?;
        self.factorize(true)?;
        self.center_velocity_products();
        let factored = self.clock();
        self.detect();
        self.collect_limits();
        let detected = self.clock();
        let mut dynamics_time = elapsed(start, factored);
        let mut contact_time = 0;

        // solve until every torque is within its limit and no curved joint limit is left behind
        let mut passes = 0;
        let mut iterations = 0;
        loop {
            passes += 1;
            let before = self.clock();
            iterations += self.solve_rows();
            let changed = self.update_saturation(passes) || (passes < AHEAD_PASSES && self.look_ahead());
            let solved = self.clock();
            contact_time += elapsed(before, solved);
            if !changed {
                break;
            }
            self.factorize(false)?;
            dynamics_time += elapsed(solved, self.clock());
        }
        self.check_rates()?;

        let before = self.clock();
        self.finish(forces, actuations, passes, iterations);
        if self.timing {
            let end = self.clock();
            self.times.steps += 1;
            self.times.collision_ns += elapsed(factored, detected);
            self.times.dynamics_ns += dynamics_time;
            self.times.contacts_ns += contact_time;
            self.times.other_ns += elapsed(before, end);
        }
        Ok(())
    }

    fn clock(&self) -> Option<Instant> {
        self.timing.then(Instant::now)
    }

    /// Places all colliders and finds the contact points.
    fn detect(&mut self) {
        let dt = self.dt;
        self.free_twists();
        for (link, (angular, linear)) in self.links.iter().zip(&self.scratch.link_twist) {
            let dynamics = &self.articulations[link.articulation].dynamics;
            let k = &dynamics.bodies[link.body];
            // motors may bring a limb up to speed within the step
            let free = *linear + angular.cross(k.x_WB - dynamics.reference);
            let now = k.v_WB.length() + k.w_WB.length() * link.reach;
            let speed = now.max(free.length() + angular.length() * link.reach);
            let margin = MARGIN + MARGIN_STEPS * speed * dt;
            for c in link.collider..link.collider + link.colliders {
                self.collision.place(c, k.x_WB, k.q_WB, margin);
            }
        }
        if !self.scene.platforms.is_empty() {
            let time = self.time();
            for c in 0..self.collision.colliders.len() {
                if let BodyRef::Platform(p) = self.collision.colliders[c].owner {
                    let platform = &self.scene.platforms[p];
                    let (x, q) = platform.pose(time);
                    let (linear, angular) = platform.velocity(time);
                    let speed = linear.length() + angular.length() * platform.half_extents.length();
                    self.collision.place(c, x, q, MARGIN_STEPS * speed * dt);
                }
            }
        }
        self.collision.detect(&self.warm);
    }

    /// Twist of every link about its articulation's reference point at generalized rates `rates`.
    pub(super) fn twists(&self, rates: &[f64], out: &mut Vec<(DVec3, DVec3)>) {
        out.resize(self.links.len(), (DVec3::ZERO, DVec3::ZERO));
        for a in &self.articulations {
            for (b, body) in a.dynamics.tree.bodies.iter().enumerate() {
                let (mut angular, mut linear) = match body.parent {
                    NONE => (DVec3::ZERO, DVec3::ZERO),
                    p => out[a.link0 + p],
                };
                for k in body.dof..body.dof + body.dofs {
                    let (axis, rate) = (&a.dynamics.axes[k], rates[a.v0 + k]);
                    angular += axis.angular * rate;
                    linear += axis.linear * rate;
                }
                out[a.link0 + b] = (angular, linear);
            }
        }
    }

    fn free_twists(&mut self) {
        let mut twists = std::mem::take(&mut self.scratch.link_twist);
        self.twists(&self.scratch.v_free, &mut twists);
        self.scratch.link_twist = twists;
    }

    /// Joint limits that may be reached in this step.
    fn collect_limits(&mut self) {
        let mut list = std::mem::take(&mut self.scratch.limits);
        list.clear();
        let mut guess = std::mem::take(&mut self.scratch.limit_guess);
        guess.clear();
        for (index, articulation) in self.articulations.iter().enumerate() {
            for (b, (definition, body)) in articulation
                .character
                .bodies
                .iter()
                .zip(&articulation.dynamics.tree.bodies)
                .enumerate()
            {
                let q = &self.q[articulation.q0 + body.coordinate..];
                let rates = articulation.v0 + body.dof..articulation.v0 + body.dof + body.dofs;
                let (now, free) = (&self.v[rates.clone()], &self.scratch.v_free[rates]);
                let slots = SLOTS * (articulation.link0 + b);
                limits::each(&definition.limit, body, q, |slot, gap, gradient| {
                    let along = |v: &[f64]| gradient.iter().zip(v).map(|(g, v)| g * v).sum::<f64>();
                    let closing = (-along(now)).max(-along(free)).max(0.0);
                    let impulse = self.limit_impulses[slots + slot];
                    // far from the limit and not racing towards it
                    if gap < LIMIT_MARGIN + self.dt * (2.0 * closing + 2.0) || impulse != 0.0 {
                        list.push(ActiveLimit {
                            articulation: index,
                            body: b,
                            slot,
                            gap,
                            gradient,
                            curvature: 0.0,
                        });
                        guess.push(impulse);
                    }
                });
            }
        }
        self.scratch.limits = list;
        self.scratch.limit_guess = guess;
    }

    /// Bias forces, mass matrices, drives and external forces.
    fn prepare(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError> {
        let dt = self.dt;
        let n = self.v.len();
        let s = &mut self.scratch;
        s.saturation.clear();
        s.push.clear();
        s.push.resize(n, 0.0);
        for (index, a) in self.articulations.iter_mut().enumerate() {
            let dofs = a.dynamics.tree.dofs;
            let (q, v) = (&self.q[a.q0..], &self.v[a.v0..a.v0 + dofs]);
            match actuations.get(index) {
                Some(actuation) => a.load_drives(actuation, q, v),
                None => a.clear_drives(),
            }
            a.dynamics.bias_forces(v);
            a.dynamics.mass_matrix(&mut a.mass);
            for k in 0..dofs {
                let extra = a.armature[k] + dt * a.damping[k];
                if extra != 0.0 {
                    a.mass.add_diagonal(&a.dynamics.tree, k, extra);
                }
            }
            s.saturation.extend_from_slice(&a.saturation);
        }
        for force in forces {
            let Some(link) = link_of(force.target, &self.articulations, self.scene.characters.len()) else {
                continue;
            };
            let Link {
                articulation,
                body,
                chain,
                chain_len,
                ..
            } = self.links[link];
            let dynamics = &self.articulations[articulation].dynamics;
            let k = &dynamics.bodies[body];
            let lever = k.x_WB + k.R_WB * force.point - dynamics.reference;
            let moment = force.torque + lever.cross(force.force);
            let v0 = self.articulations[articulation].v0;
            for &d in &self.chains[chain..chain + chain_len] {
                let axis = &dynamics.axes[d as usize - v0];
                s.push[d as usize] += axis.linear.dot(force.force) + axis.angular.dot(moment);
            }
        }
        s.v_free.resize(n, 0.0);
        s.v_plus.resize(n, 0.0);
        s.u.resize(n, 0.0);
        s.correction.resize(n, 0.0);
        s.refactor.clear();
        s.refactor.resize(self.articulations.len(), true);
        Ok(())
    }

    /// Factorises what changed and finds the rates without contact and limit impulses.
    fn factorize(&mut self, first: bool) -> Result<(), StepError> {
        let (dt, time) = (self.dt, self.time());
        let s = &mut self.scratch;
        for (index, a) in self.articulations.iter_mut().enumerate() {
            if !(first || s.refactor[index]) {
                continue;
            }
            let tree = &a.dynamics.tree;
            let v0 = a.v0;
            a.factor.copy_matrix(&a.mass);
            let rhs = &mut s.v_free[v0..v0 + tree.dofs];
            for (k, value) in rhs.iter_mut().enumerate() {
                let (drive, rate) = (&a.drives[k], self.v[v0 + k]);
                let torque = match s.saturation[v0 + k] {
                    0 => {
                        a.factor.add_diagonal(tree, k, drive.stiffness(dt));
                        drive.law(rate, dt)
                    }
                    sign => f64::from(sign) * drive.limit,
                };
                *value = dt * (torque + s.push[v0 + k] - a.dynamics.bias[k] - a.damping[k] * rate);
            }
            if let Err(k) = a.factor.factorize(tree) {
                let body = tree.dof_body[k];
                return Err(StepError::Diverged {
                    time,
                    character: a.character.name.clone(),
                    body: a.character.bodies[body].name.clone(),
                    rate: self.v[v0 + k],
                    hint: "its mass matrix is not positive definite: raise its mass, inertia or armature".into(),
                });
            }
            a.factor.solve(tree, rhs);
            for (x, v) in rhs.iter_mut().zip(&self.v[v0..]) {
                *x += v;
            }
        }
        Ok(())
    }

    /// Builds all rows on the present factors and solves them; `v_plus` receives the rates, the contact points and limit
    /// guesses their impulses. Returns the iterations.
    fn solve_rows(&mut self) -> usize {
        self.build_rows();
        let s = &mut self.scratch;
        s.u.fill(0.0);
        let heaviest = self
            .articulations
            .iter()
            .map(|a| a.dynamics.tree.mass)
            .fold(0.0, f64::max);
        let tolerance = TOLERANCE * heaviest * 9.81 * self.dt;
        let max_iterations = MAX_ITERATIONS.max((MAX_ITERATIONS_PER_SECOND * self.dt) as usize);
        let iterations = s.rows.solve(&self.chains, &mut s.u, tolerance, max_iterations);
        for a in &self.articulations {
            let range = a.v0..a.v0 + a.dynamics.tree.dofs;
            let out = &mut s.v_plus[range.clone()];
            out.copy_from_slice(&s.u[range.clone()]);
            if iterations > 0 {
                a.factor.solve_lower(&a.dynamics.tree, out);
            }
            for (x, v) in out.iter_mut().zip(&s.v_free[range]) {
                *x += v;
            }
        }
        for p in &mut self.collision.points {
            p.impulse = DVec3::ZERO;
        }
        for row in &s.rows.contacts {
            self.collision.points[row.point].impulse = row.frame * row.impulse;
        }
        s.limit_guess.fill(0.0);
        for row in &s.rows.limits {
            s.limit_guess[row.limit] = row.impulse;
        }
        iterations
    }

    fn build_rows(&mut self) {
        self.free_twists();
        let dt = self.dt;
        let time = self.time();
        let s = &mut self.scratch;
        s.rows.clear();
        s.y6.clear();
        s.link_y6.clear();
        s.link_y6.resize(self.links.len(), usize::MAX);

        for (i, limit) in s.limits.iter().enumerate() {
            let a = &self.articulations[limit.articulation];
            let body = &a.dynamics.tree.bodies[limit.body];
            let link = &self.links[a.link0 + limit.body];
            let y = s.rows.y1.len();
            s.rows.y1.resize(y + link.chain_len, [0.0]);
            let z = &mut s.rows.y1[y..];
            let mut rate = 0.0;
            for (k, z) in z[link.chain_len - body.dofs..].iter_mut().enumerate() {
                z[0] = limit.gradient[k];
                rate += limit.gradient[k] * s.v_free[a.v0 + body.dof + k];
            }
            a.factor.solve_transposed_on_chain(&a.dynamics.tree, body.tip, z);
            let size: f64 = z.iter().map(|z| z[0] * z[0]).sum();
            s.rows.limits.push(LimitRow {
                limit: i,
                side: Side {
                    chain: link.chain,
                    y,
                    len: link.chain_len,
                },
                offset: rate + (limit.gap + limit.curvature).max(0.0) / dt,
                impulse: s.limit_guess[i],
                step: if size > 1e-12 { 1.0 / size } else { 0.0 },
            });
        }

        for (i, point) in self.collision.points.iter().enumerate() {
            // velocity of the gap without impulses, in world axes
            let mut velocity = DVec3::ZERO;
            for (link, sign) in [(point.link_a, 1.0), (point.link_b, -1.0)] {
                if link == NO_LINK {
                    continue;
                }
                let l = link as usize;
                let Link {
                    articulation,
                    chain,
                    chain_len,
                    ..
                } = self.links[l];
                let a = &self.articulations[articulation];
                if s.link_y6[l] == usize::MAX {
                    let start = s.y6.len();
                    s.link_y6[l] = start;
                    s.y6.extend(self.chains[chain..chain + chain_len].iter().map(|&d| {
                        let axis = &a.dynamics.axes[d as usize - a.v0];
                        let (w, v) = (axis.angular, axis.linear);
                        [w.x, w.y, w.z, v.x, v.y, v.z]
                    }));
                    let tip = a.dynamics.tree.bodies[self.links[l].body].tip;
                    a.factor
                        .solve_transposed_on_chain(&a.dynamics.tree, tip, &mut s.y6[start..]);
                }
                let (angular, linear) = s.link_twist[l];
                velocity += sign * (linear + angular.cross(point.x_W - a.dynamics.reference));
            }
            let under = self.collision.colliders[point.key.colliders[0] as usize].owner;
            velocity -= platform_velocity(under, point, &self.scene, &self.links, &self.articulations, time, dt);
            let closing = -velocity.dot(point.normal);
            // out of reach in this step, whatever its neighbours do
            if point.impulse == DVec3::ZERO
                && point.curvature == 0.0
                && point.gap > 2e-3 + dt * (0.5 + 2.0 * closing.max(0.0))
            {
                continue;
            }
            let (t, w) = point.normal.any_orthonormal_pair();
            let frame = DMat3::from_cols(point.normal, t, w);
            let mut sides = [Side::default(); 2];
            for (side, (link, sign)) in sides.iter_mut().zip([(point.link_a, 1.0), (point.link_b, -1.0)]) {
                if link == NO_LINK {
                    continue;
                }
                let Link {
                    articulation,
                    chain,
                    chain_len,
                    ..
                } = self.links[link as usize];
                *side = Side {
                    chain,
                    y: s.rows.y3.len(),
                    len: chain_len,
                };
                let lever = point.x_W - self.articulations[articulation].dynamics.reference;
                let (nl, tl, wl) = (lever.cross(point.normal), lever.cross(t), lever.cross(w));
                let n = point.normal;
                let start = s.link_y6[link as usize];
                s.rows.y3.extend(s.y6[start..start + chain_len].iter().map(|y| {
                    let along = |m: DVec3, f: DVec3| {
                        sign * (y[0] * m.x + y[1] * m.y + y[2] * m.z + y[3] * f.x + y[4] * f.y + y[5] * f.z)
                    };
                    [along(nl, n), along(tl, t), along(wl, w), 0.0]
                }));
            }
            let shared = if point.link_a != NO_LINK && point.link_b != NO_LINK {
                let [a, b] = sides.map(|s| &self.chains[s.chain..s.chain + s.len]);
                a.iter().zip(b).take_while(|(x, y)| x == y).count()
            } else {
                0
            };
            let mut offset = frame.transpose() * velocity;
            if point.impact > 0.0 {
                // rebound: the speed that has the energy of the impact at the end of the step, gravity included
                let fall = -self.scene.gravity.dot(point.normal) * dt;
                let speed = point.restitution * point.impact;
                offset.x -= (fall * fall + speed * speed).sqrt() - fall;
            } else {
                // slows down what comes nearer, never throws it back: that would add energy
                offset.x += (point.gap + point.curvature).max(0.0) / dt;
            }
            let impulse = frame.transpose() * point.impulse;
            let contact = NewContact {
                point: i,
                sides,
                shared,
                frame,
                offset,
                friction: point.friction,
                impulse,
            };
            s.rows.contacts.push(ContactRow::new(contact, &s.rows.y3));
        }
    }

    /// Moves torques in or out of saturation according to the rates of this pass; returns whether any changed.
    fn update_saturation(&mut self, pass: usize) -> bool {
        let dt = self.dt;
        let s = &mut self.scratch;
        // (excess as a share of the limit, articulation, global dof, new state)
        let mut worst = (0.0_f64, 0, 0, 0_i8);
        let mut changed = false;
        for (index, a) in self.articulations.iter().enumerate() {
            s.refactor[index] = false;
            for (k, drive) in a.drives.iter().enumerate() {
                if drive.limit == f64::INFINITY {
                    continue;
                }
                let d = a.v0 + k;
                let torque = drive.law(s.v_plus[d], dt);
                let state = s.saturation[d];
                let (next, excess) = if state == 0 {
                    let excess = torque.abs() / drive.limit - 1.0;
                    if excess > 1e-12 {
                        (if torque > 0.0 { 1 } else { -1 }, excess)
                    } else {
                        (0, 0.0)
                    }
                } else {
                    let missing = 1.0 - f64::from(state) * torque / drive.limit;
                    if missing > 0.0 && pass < ONLY_ADD {
                        (0, missing)
                    } else {
                        (state, 0.0)
                    }
                };
                if next == state {
                    continue;
                }
                if (ONE_AT_A_TIME..ONLY_ADD).contains(&pass) {
                    if excess > worst.0 {
                        worst = (excess, index, d, next);
                    }
                } else {
                    s.saturation[d] = next;
                    s.refactor[index] = true;
                    changed = true;
                }
            }
        }
        if worst.0 > 0.0 {
            s.saturation[worst.2] = worst.3;
            s.refactor[worst.1] = true;
            changed = true;
        }
        changed
    }

    /// Refuses rates beyond every bound, before anything of the state has changed.
    fn check_rates(&self) -> Result<(), StepError> {
        for (index, a) in self.articulations.iter().enumerate() {
            let rates = &self.scratch.v_plus[a.v0..a.v0 + a.dynamics.tree.dofs];
            let Some(k) = rates.iter().position(|v| v.is_nan() || v.abs() >= LARGEST_RATE) else {
                continue;
            };
            let body = a.dynamics.tree.dof_body[k];
            let drive = &a.drives[k];
            let hint = if index < self.scene.characters.len() && drive.feed_forward.abs() > 0.0 && drive.kp == 0.0 {
                format!(
                    "the explicit torque {:.3e} N m grew without bound: the gains are too large for steps of {} s; use stable PD, \
                     smaller gains or smaller steps (`ambler check` names the largest stable ones)",
                    drive.feed_forward, self.dt
                )
            } else {
                format!(
                    "its gains are kp {:.3e} N m/rad and kd {:.3e} N m s/rad at steps of {} s: look for huge torques, tiny inertias \
                     or bodies that start inside one another (`ambler check`)",
                    drive.kp, drive.kd, self.dt
                )
            };
            return Err(StepError::Diverged {
                time: self.time(),
                character: a.character.name.clone(),
                body: a.character.bodies[body].name.clone(),
                rate: rates[k],
                hint,
            });
        }
        Ok(())
    }

    /// Applies the solution: reported torques, impulses on each articulation, position correction, integration, warm start.
    fn finish(&mut self, forces: &[ExternalForce], actuations: &[Actuation], passes: usize, iterations: usize) {
        let dt = self.dt;
        let mut report = StepReport {
            iterations,
            torque_passes: passes,
            pd_law_met: true,
            contact_points: self.scratch.rows.contacts.len(),
            ..StepReport::default()
        };
        for a in &mut self.articulations {
            for (k, drive) in a.drives.iter().enumerate() {
                let state = self.scratch.saturation[a.v0 + k];
                a.saturation[k] = state;
                let law = drive.law(self.scratch.v_plus[a.v0 + k], dt);
                let torque = if state == 0 {
                    law.clamp(-drive.limit, drive.limit)
                } else {
                    f64::from(state) * drive.limit
                };
                a.applied[k] = torque;
                if state != 0 && (law.clamp(-drive.limit, drive.limit) - torque).abs() > 1e-6 * drive.limit {
                    report.pd_law_met = false;
                }
            }
        }
        self.sum_impulses(forces, actuations);
        let corrected = self.correct_positions(&mut report);

        // impacts that rebound in the next step
        let time = self.time();
        for row in &self.scratch.rows.contacts {
            let point = &mut self.collision.points[row.point];
            let rebounded = point.impact > 0.0;
            point.impact = 0.0;
            if point.restitution > 0.0 && !rebounded && row.impulse.x > 0.0 {
                let mut velocity = gap_velocity(point, &self.links, &self.articulations);
                let under = self.collision.colliders[point.key.colliders[0] as usize].owner;
                velocity -= platform_velocity(under, point, &self.scene, &self.links, &self.articulations, time, dt);
                let closing = -velocity.dot(point.normal);
                let fall = -self.scene.gravity.dot(point.normal);
                let speed = (closing * closing.abs() + 2.0 * fall * point.gap.max(0.0))
                    .max(0.0)
                    .sqrt();
                if speed > 0.02 + 2.0 * fall.max(0.0) * dt {
                    point.impact = speed;
                }
            }
        }

        let s = &mut self.scratch;
        for (index, a) in self.articulations.iter_mut().enumerate() {
            let (dofs, coordinates) = (a.dynamics.tree.dofs, a.dynamics.tree.coordinates);
            let v = &mut self.v[a.v0..a.v0 + dofs];
            v.copy_from_slice(&s.v_plus[a.v0..a.v0 + dofs]);
            let q = &mut self.q[a.q0..a.q0 + coordinates];
            s.q_next.resize(coordinates, 0.0);
            let correction = if corrected {
                &s.correction[a.v0..a.v0 + dofs]
            } else {
                &[][..]
            };
            a.integrate(q, v, correction, &s.impulses[index], dt, &mut s.q_next);
        }

        self.limit_impulses.fill(0.0);
        for (limit, impulse) in s.limits.iter().zip(&s.limit_guess) {
            let link = self.articulations[limit.articulation].link0 + limit.body;
            self.limit_impulses[SLOTS * link + limit.slot] = *impulse;
            report.max_limit_violation = report.max_limit_violation.max(-limit.gap);
        }
        self.warm.clear();
        for row in &s.rows.contacts {
            let point = self.collision.points[row.point];
            if point.impulse != DVec3::ZERO || point.gap <= 0.0 {
                self.warm.push(point);
            }
        }
        self.steps += 1;
        self.report = report;
    }

    /// Impulses from outside on every articulation, and which of them stand on something fixed.
    fn sum_impulses(&mut self, forces: &[ExternalForce], actuations: &[Actuation]) {
        let dt = self.dt;
        let s = &mut self.scratch;
        s.impulses.clear();
        s.impulses.resize(self.articulations.len(), External::default());
        for (index, a) in self.articulations.iter_mut().enumerate() {
            a.root_wrench = Wrench::default();
            let assisted = actuations
                .get(index)
                .is_some_and(|a| a.root != crate::world::RootActuation::None);
            let applied = &a.applied;
            let wrench = match a.dynamics.tree.bodies[0].joint {
                Joint::Free if assisted => Wrench {
                    force: DVec3::new(applied[0], applied[1], applied[2]),
                    torque: DVec3::new(applied[3], applied[4], applied[5]),
                },
                Joint::Planar if assisted => Wrench {
                    force: DVec3::new(0.0, applied[0], applied[1]),
                    torque: DVec3::new(applied[2], 0.0, 0.0),
                },
                _ => continue,
            };
            a.root_wrench = wrench;
            let arm = a.dynamics.bodies[0].x_WC - a.momentum.center_of_mass;
            s.impulses[index].linear += dt * wrench.force;
            s.impulses[index].angular += dt * (wrench.torque + arm.cross(wrench.force));
        }
        for force in forces {
            let Some(link) = link_of(force.target, &self.articulations, self.scene.characters.len()) else {
                continue;
            };
            let index = self.links[link].articulation;
            let a = &self.articulations[index];
            let k = &a.dynamics.bodies[self.links[link].body];
            let arm = k.x_WB + k.R_WB * force.point - a.momentum.center_of_mass;
            s.impulses[index].linear += dt * force.force;
            s.impulses[index].angular += dt * (force.torque + arm.cross(force.force));
        }
        for row in &s.rows.contacts {
            let point = &self.collision.points[row.point];
            let owner = |link: u32| (link != NO_LINK).then(|| self.links[link as usize].articulation);
            let (a, b) = (owner(point.link_a), owner(point.link_b));
            if a == b || point.impulse == DVec3::ZERO {
                continue;
            }
            for (side, sign) in [(a, 1.0), (b, -1.0)] {
                let Some(index) = side else { continue };
                let arm = point.x_W - self.articulations[index].momentum.center_of_mass;
                let external = &mut s.impulses[index];
                external.linear += sign * point.impulse;
                external.angular += sign * arm.cross(point.impulse);
                external.touched = true;
                let rooted = |side: Option<usize>| side.is_none_or(|i| !self.articulations[i].floats());
                external.grounded |= rooted(a) || rooted(b);
            }
        }
        for (limit, impulse) in s.limits.iter().zip(&s.limit_guess) {
            s.impulses[limit.articulation].touched |= limit.body == 0 && *impulse != 0.0;
        }
        // who stands on someone who stands on the ground stands on the ground
        loop {
            let mut spread = false;
            for row in &s.rows.contacts {
                let point = &self.collision.points[row.point];
                if point.link_a == NO_LINK || point.link_b == NO_LINK || point.impulse == DVec3::ZERO {
                    continue;
                }
                let [a, b] = [point.link_a, point.link_b].map(|l| self.links[l as usize].articulation);
                if s.impulses[a].grounded != s.impulses[b].grounded {
                    s.impulses[a].grounded = true;
                    s.impulses[b].grounded = true;
                    spread = true;
                }
            }
            if !spread {
                break;
            }
        }
    }

    /// Split impulse: rates that only move positions, out of penetrations and joint-limit excess. Returns whether there are any.
    fn correct_positions(&mut self, report: &mut StepReport) -> bool {
        let dt = self.dt;
        let s = &mut self.scratch;
        let rates = &mut s.position_correction;
        rates.wanted_contacts.clear();
        rates.wanted_limits.clear();
        let mut needed = false;
        // what is left of a gap is free; of an excess a share goes; what the rows could not see of this step goes at once,
        // as a displacement, because a velocity would add energy
        let mut wanted = |gap: f64, curvature: f64, slop: f64| {
            let unseen = (gap.max(0.0) + curvature).min(0.0);
            let excess = (-gap - slop).max(0.0);
            needed |= excess > 0.0 || unseen < 0.0;
            if gap > 0.0 && unseen == 0.0 {
                -gap / dt
            } else {
                (CORRECTION * excess - unseen) / dt
            }
        };
        for row in &s.rows.contacts {
            let point = &self.collision.points[row.point];
            report.max_penetration = report.max_penetration.max(-point.gap);
            rates.wanted_contacts.push(wanted(point.gap, point.curvature, SLOP));
        }
        for row in &s.rows.limits {
            let limit = &s.limits[row.limit];
            rates.wanted_limits.push(wanted(limit.gap, limit.curvature, LIMIT_SLOP));
        }
        if !needed {
            return false;
        }
        s.u.fill(0.0);
        let heaviest = self
            .articulations
            .iter()
            .map(|a| a.dynamics.tree.mass)
            .fold(0.0, f64::max);
        s.rows.correct(
            &self.chains,
            &mut s.u,
            rates,
            1e-5 * heaviest * 9.81 * dt,
            CORRECTION_ITERATIONS,
        );
        s.correction.copy_from_slice(&s.u);
        for a in &self.articulations {
            a.factor
                .solve_lower(&a.dynamics.tree, &mut s.correction[a.v0..a.v0 + a.dynamics.tree.dofs]);
        }
        for (row, pseudo) in s.rows.contacts.iter().zip(&s.position_correction.contacts) {
            let point = &self.collision.points[row.point];
            for (link, sign) in [(point.link_a, 1.0), (point.link_b, -1.0)] {
                if link != NO_LINK {
                    s.impulses[self.links[link as usize].articulation].correction += sign * *pseudo * point.normal;
                }
            }
            // pushing two moving things apart changes the moment of their momenta: take it out of their spins, half of each
            if *pseudo != 0.0 && point.link_a != NO_LINK && point.link_b != NO_LINK {
                let [a, b] = [point.link_a, point.link_b].map(|l| self.links[l as usize].articulation);
                if a != b && !s.impulses[a].grounded {
                    let velocity = |i: usize| {
                        (self.articulations[i].momentum.linear + s.impulses[i].linear)
                            / self.articulations[i].dynamics.tree.mass
                    };
                    let change = (dt * *pseudo * point.normal).cross(velocity(a) - velocity(b));
                    s.impulses[a].angular -= 0.5 * change;
                    s.impulses[b].angular -= 0.5 * change;
                }
            }
        }
        true
    }
}

fn elapsed(from: Option<Instant>, to: Option<Instant>) -> u64 {
    match (from, to) {
        (Some(from), Some(to)) => to.duration_since(from).as_nanos() as u64,
        _ => 0,
    }
}

fn link_of(target: BodyRef, articulations: &[super::Articulation], characters: usize) -> Option<usize> {
    match target {
        BodyRef::Character { character, body } => Some(articulations[character].link0 + body),
        BodyRef::Prop { prop, body } => Some(articulations[characters + prop].link0 + body),
        BodyRef::Terrain(_) | BodyRef::Platform(_) => None,
    }
}

/// Velocity at `point` of what `under` (the owner of the point's collider b) carries during the step, if it is a platform.
fn platform_velocity(
    under: BodyRef,
    point: &super::ContactPoint,
    scene: &Scene,
    links: &[Link],
    articulations: &[super::Articulation],
    time: f64,
    dt: f64,
) -> DVec3 {
    let BodyRef::Platform(platform) = under else {
        return DVec3::ZERO;
    };
    let Link { articulation, body, .. } = links[point.link_a as usize];
    let rider = articulations[articulation].dynamics.bodies[body].x_WC;
    scene.platforms[platform].carrying_velocity(point.x_W, rider, time, dt)
}

/// Velocity of a's material point relative to b's at the beginning of the step; platforms are left to the caller.
fn gap_velocity(point: &super::ContactPoint, links: &[Link], articulations: &[super::Articulation]) -> DVec3 {
    let mut velocity = DVec3::ZERO;
    for (link, sign) in [(point.link_a, 1.0), (point.link_b, -1.0)] {
        if link != NO_LINK {
            let Link { articulation, body, .. } = links[link as usize];
            let k = &articulations[articulation].dynamics.bodies[body];
            velocity += sign * (k.v_WB + k.w_WB.cross(point.x_W - k.x_WB));
        }
    }
    velocity
}
