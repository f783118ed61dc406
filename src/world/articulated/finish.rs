#![allow(non_snake_case)]
//! The end of a step: what the solution did is reported, positions are corrected, everything moves, and what the next step
//! starts from is remembered.

use glam::DVec3;

use super::assemble::platform_velocity;
use super::collision::{ContactPoint, NO_LINK};
use super::limits::SLOTS;
use super::momentum::External;
use super::{ArticulatedEngine, Articulation, Link, link_of};
use crate::character::Joint;
use crate::world::{Actuation, Engine, ExternalForce, StepReport, Wrench};

/// Penetration that is left alone, metres.
const SLOP: f64 = 0.5e-3;
/// Excess over a joint limit that is left alone, radians.
const LIMIT_SLOP: f64 = 1e-3;
/// Share of the remaining penetration that is removed per step.
const CORRECTION: f64 = 0.2;
/// Iterations of the position correction.
const CORRECTION_ITERATIONS: usize = 30;

impl ArticulatedEngine {
    /// Applies the solution: reported torques, impulses on each articulation, position correction, integration, warm start.
    pub(super) fn finish(
        &mut self,
        forces: &[ExternalForce],
        actuations: &[Actuation],
        passes: usize,
        iterations: usize,
    ) {
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

/// Velocity of a's material point relative to b's at the beginning of the step; platforms are left to the caller.
fn gap_velocity(point: &ContactPoint, links: &[Link], articulations: &[Articulation]) -> DVec3 {
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
