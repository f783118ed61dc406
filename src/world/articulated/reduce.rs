//! Reduction of the contact points of a pair to four per direction.
//!
//! Meshes, heightfields and hulls give many points that say the same; four that span the patch carry the same load. Points
//! that carried load in the last step are preferred, so that the choice does not flip between equals from step to step.

use glam::DVec3;

use super::collision::ContactPoint;

/// Normals closer than this (cosine, about 8 degrees) belong to one patch.
const SAME_DIRECTION: f64 = 0.99;
/// Points of a patch closer than this are one, metres.
const SAME_PLACE: f64 = 1e-3;
/// Advantage of a point that carried load, as a factor on its score.
const LOADED: f64 = 1.5;
const KEPT: usize = 4;

/// Buffers of [`Reduction::reduce`].
#[derive(Clone, Default)]
pub(super) struct Reduction {
    patch: Vec<usize>,
    assigned: Vec<bool>,
    keep: Vec<bool>,
}

impl Reduction {
    /// Keeps at most four points per direction, in their order.
    pub fn reduce(&mut self, points: &mut Vec<ContactPoint>) {
        if points.len() <= 2 {
            return;
        }
        self.assigned.clear();
        self.assigned.resize(points.len(), false);
        self.keep.clear();
        self.keep.resize(points.len(), false);
        for first in 0..points.len() {
            if self.assigned[first] {
                continue;
            }
            self.patch.clear();
            for i in first..points.len() {
                if !self.assigned[i] && points[i].normal.dot(points[first].normal) > SAME_DIRECTION {
                    self.assigned[i] = true;
                    self.add_to_patch(points, i);
                }
            }
            self.choose(points);
        }
        let keep = &self.keep;
        let mut index = 0;
        points.retain(|_| {
            index += 1;
            keep[index - 1]
        });
    }

    /// Adds point `i` unless the patch has one in its place; of the two the loaded one stays, or else the deeper.
    fn add_to_patch(&mut self, points: &[ContactPoint], i: usize) {
        let place = self
            .patch
            .iter()
            .position(|&j| (points[j].x_W - points[i].x_W).length() < SAME_PLACE);
        match place {
            None => self.patch.push(i),
            Some(slot) => {
                let rank = |p: &ContactPoint| (p.impulse != DVec3::ZERO, -p.gap);
                let (old, new) = (rank(&points[self.patch[slot]]), rank(&points[i]));
                if (new.0 && !old.0) || (new.0 == old.0 && new.1 > old.1 + 1e-9) {
                    self.patch[slot] = i;
                }
            }
        }
    }

    /// Marks the deepest point of the patch and those that span most together with it.
    fn choose(&mut self, points: &[ContactPoint]) {
        if self.patch.len() <= KEPT {
            for &i in &self.patch {
                self.keep[i] = true;
            }
            return;
        }
        let bonus = |i: usize| if points[i].impulse == DVec3::ZERO { 1.0 } else { LOADED };
        // all that touches lies within a slop of the deepest: prefer what is far out among those that touch
        let deepest = self.patch.iter().map(|&i| points[i].gap).fold(f64::INFINITY, f64::min);
        let touching = |i: usize| 1.0 / (1.0 + ((points[i].gap - deepest) / 2e-3).max(0.0));
        let center = self.patch.iter().map(|&i| points[i].x_W).sum::<DVec3>() / self.patch.len() as f64;
        let mut chosen = [usize::MAX; KEPT];
        for n in 0..KEPT {
            let mut best = (f64::NEG_INFINITY, usize::MAX);
            for &i in &self.patch {
                if chosen[..n].contains(&i) {
                    continue;
                }
                let x = points[i].x_W;
                let span = match n {
                    0 => (x - center).length(),
                    1 => (x - points[chosen[0]].x_W).length(),
                    2 => {
                        let along = points[chosen[1]].x_W - points[chosen[0]].x_W;
                        along.cross(x - points[chosen[0]].x_W).length()
                    }
                    _ => {
                        // area gained over the triangle: farthest outside one of its edges
                        let [a, b, c] = [chosen[0], chosen[1], chosen[2]].map(|k| points[k].x_W);
                        let normal = (b - a).cross(c - a);
                        let outside = |p: DVec3, q: DVec3| -normal.dot((q - p).cross(x - p));
                        outside(a, b).max(outside(b, c)).max(outside(c, a)).max(0.0) / normal.length().max(1e-12)
                    }
                };
                let score = (span + 1e-9) * touching(i) * bonus(i);
                if score > best.0 {
                    best = (score, i);
                }
            }
            chosen[n] = best.1;
            self.keep[best.1] = true;
        }
    }
}
