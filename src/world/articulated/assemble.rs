#![allow(non_snake_case)]
//! From contact points and joint limits to constraint rows on the present factors.

use glam::{DMat3, DVec3};

use super::collision::{ContactPoint, NO_LINK};
use super::rows::{ContactRow, LimitRow, NewContact, Side};
use super::{ArticulatedEngine, Articulation, Link};
use crate::world::{BodyRef, Engine, Scene};

impl ArticulatedEngine {
    pub(super) fn build_rows(&mut self) {
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
}

/// Velocity at `point` of what `under` (the owner of the point's collider b) carries during the step, if it is a platform.
pub(super) fn platform_velocity(
    under: BodyRef,
    point: &ContactPoint,
    scene: &Scene,
    links: &[Link],
    articulations: &[Articulation],
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
