#![allow(non_snake_case)]
//! A look at the end of the step: what linear rows cannot see.
//!
//! Rows hold joint limits and contacts as they are at the beginning of a step. Within one, a fast limb leaves the cone of
//! its joint along the tangent, a motor that has just saturated reaches a limit that seemed far away, and a spinning hand
//! brings a corner forward that was not among its contact points. So the end of the step is tried: what went wrong there
//! is added to the rows (as a term of second order, or as a row that was missing), and the step is solved again.

use glam::DVec3;

use super::limits::{self, ActiveLimit};
use super::{ArticulatedEngine, NO_LINK};
use crate::character::{Joint, Limit};
use crate::dynamics::advance_positions;
use crate::math::rotation::exp;

/// Limits that are nearer than this are always watched, radians.
pub(super) const LIMIT_MARGIN: f64 = 0.02;
/// Excess over a joint limit at the end of a step for which it is solved again, radians.
const LIMIT_TOLERANCE: f64 = 2e-3;
/// Largest part of the excess that is taken for curvature.
const LIMIT_CURVATURE: f64 = 0.1;
/// Contacts are tried at the end of the step if a link's outermost point turns by more than this within it, metres.
const CONTACT_TRAVEL: f64 = 8e-3;
/// Penetration at the end of a step for which it is solved again, metres.
const CONTACT_TOLERANCE: f64 = 2e-3;
/// Largest part of a penetration that is taken for curvature, metres.
const CONTACT_CURVATURE: f64 = 0.03;
/// Sub-shape index that marks points found at the end of the step.
const AHEAD: u32 = u32::MAX;

impl ArticulatedEngine {
    /// Tries the end of the step at the rates found; returns whether anything must be solved again.
    pub(super) fn look_ahead(&mut self) -> bool {
        let limits = self.update_limits();
        self.update_contacts() || limits
    }

    /// Limits of fast joints.
    fn update_limits(&mut self) -> bool {
        let dt = self.dt;
        let s = &mut self.scratch;
        let mut changed = false;
        for (index, a) in self.articulations.iter().enumerate() {
            for (b, (definition, body)) in a.character.bodies.iter().zip(&a.dynamics.tree.bodies).enumerate() {
                if definition.limit == Limit::None {
                    continue;
                }
                let mut rate = [0.0; 3];
                let n = body.dofs.min(3);
                rate[..n].copy_from_slice(&s.v_plus[a.v0 + body.dof..a.v0 + body.dof + n]);
                let rate = DVec3::from_array(rate);
                // slower joints stay inside of what was collected
                if rate.length() * dt < 0.5 * LIMIT_MARGIN {
                    continue;
                }
                let q = &self.q[a.q0 + body.coordinate..];
                let mut next = [0.0; 4];
                match body.joint {
                    Joint::Ball => next = (exp(rate * dt) * glam::DQuat::from_slice(&q[..4])).to_array(),
                    _ => (0..n).for_each(|i| next[i] = q[i] + dt * rate[i]),
                }
                limits::each(&definition.limit, body, &next, |slot, gap, gradient_at_end| {
                    let known = s
                        .limits
                        .iter()
                        .position(|l| (l.articulation, l.body, l.slot) == (index, b, slot));
                    let start = known.map_or(0.0, |i| s.limits[i].gap.min(0.0));
                    if gap > start - LIMIT_TOLERANCE {
                        return;
                    }
                    let i = known.unwrap_or_else(|| {
                        // where a limit is not defined at the beginning (a bone exactly in the middle of its cone, or
                        // pointing backwards), the row is the one that is right at the end
                        let mut row = ActiveLimit {
                            articulation: index,
                            body: b,
                            slot,
                            gap: gap - dt * DVec3::from_array(gradient_at_end).dot(rate),
                            gradient: gradient_at_end,
                            curvature: 0.0,
                        };
                        limits::each(&definition.limit, body, q, |other, gap, gradient| {
                            if other == slot {
                                (row.gap, row.gradient) = (gap, gradient);
                            }
                        });
                        s.limits.push(row);
                        s.limit_guess.push(0.0);
                        s.limits.len() - 1
                    });
                    let limit = &mut s.limits[i];
                    let linear = limit.gap + dt * DVec3::from_array(limit.gradient).dot(rate);
                    limit.curvature = (gap - linear).clamp(-LIMIT_CURVATURE, 0.0);
                    changed = true;
                });
            }
        }
        changed
    }

    /// Contacts of fast links.
    fn update_contacts(&mut self) -> bool {
        let dt = self.dt;
        let mut twists = std::mem::take(&mut self.scratch.twist_ahead);
        self.twists(&self.scratch.v_plus, &mut twists);
        let turns = |(link, twist): (&super::Link, &(DVec3, DVec3))| twist.0.length() * link.reach * dt;
        if self.links.iter().zip(&twists).map(turns).fold(0.0, f64::max) < CONTACT_TRAVEL {
            self.scratch.twist_ahead = twists;
            return false;
        }
        self.place_ahead();
        let buffer = std::mem::take(&mut self.scratch.found_ahead);
        let now = std::mem::replace(&mut self.collision.points, buffer);
        self.collision.detect(&[]);
        let found = std::mem::replace(&mut self.collision.points, now);
        let mut changed = false;
        for point in found.iter().filter(|p| p.gap < -CONTACT_TOLERANCE) {
            changed |= self.add_ahead(*point, &twists);
        }
        if changed {
            self.collision.points.sort_unstable_by_key(|p| p.key);
        }
        self.scratch.found_ahead = found;
        self.scratch.twist_ahead = twists;
        changed
    }

    /// Places all colliders where the rates found would bring them.
    fn place_ahead(&mut self) {
        let s = &mut self.scratch;
        for a in &self.articulations {
            let tree = &a.dynamics.tree;
            s.q_next.clear();
            s.q_next.extend_from_slice(&self.q[a.q0..a.q0 + tree.coordinates]);
            advance_positions(tree, &mut s.q_next, &s.v_plus[a.v0..a.v0 + tree.dofs], self.dt);
            tree.poses(&s.q_next, &mut s.poses_ahead);
            for (b, (x, q)) in s.poses_ahead.iter().enumerate() {
                let link = &self.links[a.link0 + b];
                for c in link.collider..link.collider + link.colliders {
                    self.collision.place(c, *x, *q, 0.0);
                }
            }
        }
    }

    /// Adds the row of a penetration found at the end of the step, in terms of its material points at the beginning.
    fn add_ahead(&mut self, mut point: super::ContactPoint, twists: &[(DVec3, DVec3)]) -> bool {
        let dt = self.dt;
        let half = 0.5 * point.gap * point.normal;
        // the material points at the beginning of the step, and how far they come along the normal at the rates found
        let mut start = [point.x_W; 2];
        let mut travel = 0.0;
        for (i, (link, sign)) in [(point.link_a, 1.0), (point.link_b, -1.0)].into_iter().enumerate() {
            let at_end = point.x_W + sign * half;
            start[i] = at_end;
            if link == NO_LINK {
                continue;
            }
            let l = link as usize;
            let k = &self.articulations[self.links[l].articulation].dynamics;
            let body = &k.bodies[self.links[l].body];
            let (x_end, q_end) = self.collision.link_pose(self.links[l].collider);
            start[i] = body.x_WB + body.q_WB * (q_end.conjugate() * (at_end - x_end));
            let (angular, linear) = twists[l];
            travel += sign * dt * point.normal.dot(linear + angular.cross(start[i] - k.reference));
        }
        let gap = point.normal.dot(start[0] - start[1]);
        let curvature = (point.gap - (gap + travel)).clamp(-CONTACT_CURVATURE, 0.0);
        // a linear row sees it, or it was there before and the position correction is at work
        if curvature > -0.5 * CONTACT_TOLERANCE && gap < 0.0 {
            return false;
        }
        point.key.subshapes[1] = AHEAD;
        point.x_W = 0.5 * (start[0] + start[1]);
        point.gap = gap;
        point.curvature = curvature;
        match self.collision.points.iter().position(|p| p.key == point.key) {
            Some(i) => {
                point.impulse = self.collision.points[i].impulse;
                self.collision.points[i] = point;
            }
            None => self.collision.points.push(point),
        }
        true
    }
}
