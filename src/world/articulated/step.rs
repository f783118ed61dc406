#![allow(non_snake_case)]
//! One step of the world.

use std::time::Instant;

use glam::DVec3;

use super::ahead::LIMIT_MARGIN;
use super::limits::{self, ActiveLimit, SLOTS};
use super::{ArticulatedEngine, Link, link_of};
use crate::dynamics::NONE;
use crate::world::{Actuation, BodyRef, Engine, ExternalForce, StepError, blame, validate};

/// Metres within which contacts are always looked for.
const MARGIN: f64 = 0.01;
/// How much farther than a step at its present speed a body's contacts are looked for.
const MARGIN_STEPS: f64 = 1.5;
/// Gauss-Seidel iterations; a warm start needs one or two, an impact all of them. Long steps make the implicit gains weigh
/// more than the masses and converge slowly (a character on a loose board at 30 Hz creeps with 100 iterations), so they may
/// take as many per simulated second as steps of 1/120 s.
const MAX_ITERATIONS: usize = 100;
const MAX_ITERATIONS_PER_SECOND: f64 = 12e3;
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
        self.prepare(actuations, forces);
        self.factorize(true)?;
        self.center_velocity_products();
        let factored = self.clock();
        self.detect();
        self.collect_limits();
        let detected = self.clock();
        let mut dynamics_time = elapsed(start, factored);
        let mut contact_time = 0;

        // solve until every torque is within its limit and nothing is missed at the end of the step
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
        self.check_rates(actuations)?;

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

    pub(super) fn free_twists(&mut self) {
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
    fn prepare(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) {
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
    fn check_rates(&self, actuations: &[Actuation]) -> Result<(), StepError> {
        for (index, a) in self.articulations.iter().enumerate() {
            let rates = &self.scratch.v_plus[a.v0..a.v0 + a.dynamics.tree.dofs];
            let fastest = rates
                .iter()
                .map(|v| if v.is_nan() { f64::INFINITY } else { v.abs() })
                .enumerate()
                .filter(|(_, rate)| *rate >= LARGEST_RATE)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((k, _)) = fastest else {
                continue;
            };
            let body = a.dynamics.tree.dof_body[k];
            let actuation = actuations.get(index);
            return Err(StepError::Diverged {
                time: self.time(),
                character: a.character.name.clone(),
                body: a.character.bodies[body].name.clone(),
                rate: rates[k],
                hint: blame::divergence_hint(&a.character, body, actuation, self.dt),
            });
        }
        Ok(())
    }
}

fn elapsed(from: Option<Instant>, to: Option<Instant>) -> u64 {
    match (from, to) {
        (Some(from), Some(to)) => to.duration_since(from).as_nanos() as u64,
        _ => 0,
    }
}
