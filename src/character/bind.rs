//! A whole character in its bind pose: frames, overlaps, weights, and the skeleton of its joints.

use glam::{DQuat, DVec3};

use super::{Body, Character, geometry};
use crate::skeleton::Skeleton;

impl Character {
    /// Place and rotation of every body's frame in the bind pose.
    pub fn bind_frames(&self) -> Vec<(DVec3, DQuat)> {
        let mut frames: Vec<(DVec3, DQuat)> = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let (x, R) = body.parent.map_or((DVec3::ZERO, DQuat::IDENTITY), |p| frames[p]);
            frames.push((x + R * body.offset, R * body.rest));
        }
        frames
    }

    /// Whether the filters of two bodies let them collide; parent and child never do.
    pub fn may_collide(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.bodies[a], &self.bodies[b]);
        let adjacent = x.parent == Some(b) || y.parent == Some(a);
        a != b && !adjacent && x.filter & y.membership != 0 && y.filter & x.membership != 0
    }

    /// Pairs of bodies that may collide and reach into each other when body frames are at the given places and rotations
    /// (one per body; [`Character::bind_frames`] for the bind pose), and how deep (metres).
    pub fn overlaps(&self, frames: &[(DVec3, DQuat)]) -> Vec<(usize, usize, f64)> {
        let mut pairs = Vec::new();
        for a in 0..self.bodies.len() {
            for b in (a + 1..self.bodies.len()).filter(|b| self.may_collide(a, *b)) {
                let mut depth = 0.0f64;
                for c in &self.bodies[a].colliders {
                    for d in &self.bodies[b].colliders {
                        let (x, y) = (frames[a], frames[b]);
                        depth = depth.max(geometry::overlap((c, x.0, x.1), (d, y.0, y.1)));
                    }
                }
                if depth > 0.0 {
                    pairs.push((a, b, depth));
                }
            }
        }
        pairs
    }

    /// Height of the lowest point of all shapes when body frames are at the given places and rotations (one per body); NaN
    /// without shapes. With it a character or a clip is set down on the ground.
    pub fn lowest_point(&self, frames: &[(DVec3, DQuat)]) -> f64 {
        let mut lowest = f64::NAN;
        for (body, (x, R)) in self.bodies.iter().zip(frames).filter(|(body, _)| body.filter != 0) {
            for c in &body.colliders {
                let down = (*R * c.rotation).conjugate() * DVec3::NEG_Y;
                lowest = lowest.min((*x + *R * c.position).y - c.shape.extent(down));
            }
        }
        lowest
    }

    /// The character's joints as a skeleton, one per body, with an end site where the last body of a chain ends.
    pub fn skeleton(&self) -> Skeleton {
        let joints = (self.bodies.iter().enumerate())
            .map(|(i, body)| {
                let leaf = !self.bodies.iter().any(|b| b.parent == Some(i));
                crate::skeleton::Joint {
                    name: body.name.clone(),
                    parent: body.parent,
                    offset: body.offset,
                    rest: body.rest,
                    end_sites: if leaf { vec![bone_tip(body)] } else { Vec::new() },
                }
            })
            .collect();
        Skeleton { joints }
    }
}

/// Where a straight line from the joint through the centre of mass leaves a body's shapes, as far as their bounds tell.
fn bone_tip(body: &Body) -> DVec3 {
    let direction = body.center_of_mass.normalize_or(DVec3::Y);
    let reach = body
        .colliders
        .iter()
        .map(|c| c.position.dot(direction) + c.shape.extent(c.rotation.conjugate() * direction));
    direction * reach.fold(body.center_of_mass.length(), f64::max)
}

/// Largest moment of gravity on each joint: weight of all it carries times the distance of their common centre of mass
/// in the bind pose, N m.
pub(crate) fn carried_moments(character: &Character) -> Vec<f64> {
    let frames = character.bind_frames();
    let mut weights: Vec<(f64, DVec3)> = (character.bodies.iter().zip(&frames))
        .map(|(b, (x, R))| (b.mass, (*x + *R * b.center_of_mass) * b.mass))
        .collect();
    for i in (1..weights.len()).rev() {
        if let Some(p) = character.bodies[i].parent {
            let (mass, first) = weights[i];
            weights[p].0 += mass;
            weights[p].1 += first;
        }
    }
    (weights.iter().zip(&frames))
        .map(|((mass, first), (x, _))| 9.81 * mass * (*first / *mass - *x).length())
        .collect()
}
