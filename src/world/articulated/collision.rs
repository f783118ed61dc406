#![allow(non_snake_case)]
//! Contact points between everything that may touch, as a function of the state alone.
//!
//! parry keeps contact manifolds frozen while shapes move less than a millimetre, so its contacts depend on history. Here
//! every manifold is computed anew: bounding boxes are swept, and the pairs that overlap are given to parry's convex
//! algorithms with an empty manifold. Meshes and heightfields are visited triangle by triangle with parry's pseudo-normal
//! correction of internal edges, which spares its persistent workspaces. A half space is a few lines of our own: parry
//! tests only one face of a hull against it and allocates in every call.

use glam::{DMat3, DQuat, DVec3};
use rapier3d::geometry::SharedShape;
use rapier3d::math::Pose;
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};
use rapier3d::parry::shape::TypedShape;

use super::reduce;
use crate::world::BodyRef;

/// Marks the absence of a moving link.
pub(super) const NO_LINK: u32 = u32::MAX;

/// Identity of a contact point from step to step: colliders, sub-shapes and features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContactKey {
    pub colliders: [u32; 2],
    pub subshapes: [u32; 2],
    pub features: [u32; 2],
}

/// A point where two bodies touch or may touch within the step; `b` is the collider with the lower index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ContactPoint {
    pub key: ContactKey,
    /// Moving links, [`NO_LINK`] for terrain and platforms.
    pub link_a: u32,
    pub link_b: u32,
    pub x_W: DVec3,
    /// Unit, from b towards a.
    pub normal: DVec3,
    /// Gap, metres; negative when penetrating.
    pub gap: f64,
    pub friction: f64,
    pub restitution: f64,
    /// Impulse on a, N s: of the last step as a guess, then of this one.
    pub impulse: DVec3,
    /// Closing speed of an impact whose rebound is due in the next step, m/s.
    pub impact: f64,
    /// Part of the gap that the step will lose to the rotation of the bodies, metres, not positive.
    pub curvature: f64,
}

/// A shape that takes part in detection.
#[derive(Clone)]
pub(super) struct ColliderEntry {
    pub owner: BodyRef,
    pub link: u32,
    body: u32,
    solid: bool,
    shape: SharedShape,
    kind: Kind,
    /// Pose in the frame of the link (moving) or in the world (fixed).
    local: (DVec3, DQuat),
    pub friction: f64,
    pub restitution: f64,
    link_pose: (DVec3, DQuat),
    pose: Pose,
    R_WS: DMat3,
    low: DVec3,
    high: DVec3,
    /// How far contacts are looked for, metres.
    margin: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    HalfSpace,
    Box(DVec3),
    Capsule { half_length: f64, radius: f64 },
    Ball(f64),
    Hull,
    Heightfield,
    Mesh,
}

/// What [`Collision::add`] needs to know about a shape.
pub(super) struct NewCollider {
    pub owner: BodyRef,
    /// The moving link it is on, [`NO_LINK`] if nothing can move it.
    pub link: u32,
    /// Its body in the numbering of the excluded pairs, [`NO_LINK`] for terrain and platforms.
    pub body: u32,
    /// Whether it collides at all.
    pub solid: bool,
    pub shape: SharedShape,
    pub position: DVec3,
    pub rotation: DQuat,
    pub friction: f64,
    pub restitution: f64,
}

/// All colliders of a world and the contact points of the current step.
#[derive(Clone)]
pub(super) struct Collision {
    pub colliders: Vec<ColliderEntry>,
    /// Sorted by key.
    pub points: Vec<ContactPoint>,
    /// Bodies of one articulation that never collide (parent and child, collision groups), sorted pairs.
    excluded: Vec<(u32, u32)>,
    order: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    manifold: ContactManifold<(), ()>,
    pair_points: Vec<ContactPoint>,
    reduction: reduce::Reduction,
}

impl Collision {
    pub fn new(excluded: Vec<(u32, u32)>) -> Collision {
        Collision {
            colliders: Vec::new(),
            points: Vec::new(),
            excluded,
            order: Vec::new(),
            pairs: Vec::new(),
            manifold: ContactManifold::new(),
            pair_points: Vec::new(),
            reduction: reduce::Reduction::default(),
        }
    }

    /// Adds a shape. Fixed ones must be added before moving ones: they are `b` of their contacts.
    pub fn add(&mut self, new: NewCollider) {
        let kind = match new.shape.as_typed_shape() {
            TypedShape::HalfSpace(_) => Kind::HalfSpace,
            TypedShape::Cuboid(c) => Kind::Box(c.half_extents),
            TypedShape::Capsule(c) => Kind::Capsule {
                half_length: c.half_height(),
                radius: c.radius,
            },
            TypedShape::Ball(b) => Kind::Ball(b.radius),
            TypedShape::HeightField(_) => Kind::Heightfield,
            TypedShape::TriMesh(_) => Kind::Mesh,
            _ => Kind::Hull,
        };
        self.order.push(self.colliders.len() as u32);
        let mut entry = ColliderEntry {
            owner: new.owner,
            link: new.link,
            body: new.body,
            solid: new.solid,
            shape: new.shape,
            kind,
            local: (new.position, new.rotation),
            friction: new.friction,
            restitution: new.restitution,
            link_pose: (DVec3::ZERO, DQuat::IDENTITY),
            pose: Pose::IDENTITY,
            R_WS: DMat3::IDENTITY,
            low: DVec3::ZERO,
            high: DVec3::ZERO,
            margin: 0.0,
        };
        entry.place(DVec3::ZERO, DQuat::IDENTITY, 0.0);
        self.colliders.push(entry);
    }

    /// Moves collider `index` with its link's frame (`x_WB`, `q_WB`); contacts are looked for within `margin`.
    pub fn place(&mut self, index: usize, x_WB: DVec3, q_WB: DQuat, margin: f64) {
        self.colliders[index].place(x_WB, q_WB, margin);
    }

    /// Pose of the link whose collider `index` is, as it was last placed.
    pub fn link_pose(&self, index: usize) -> (DVec3, DQuat) {
        self.colliders[index].link_pose
    }

    /// Finds all contact points. `warm` holds the points of the last step, sorted by key; impulses of those that are still
    /// there are carried over.
    pub fn detect(&mut self, warm: &[ContactPoint]) {
        self.sweep();
        self.points.clear();
        let pairs = std::mem::take(&mut self.pairs);
        for &(b, a) in &pairs {
            self.pair_points.clear();
            self.narrow(b as usize, a as usize);
            if !self.pair_points.is_empty() {
                self.pair_points.sort_unstable_by_key(|p| p.key);
                carry_over(&mut self.pair_points, warm, (b, a));
                self.reduction.reduce(&mut self.pair_points);
                self.points.extend_from_slice(&self.pair_points);
            }
        }
        self.pairs = pairs;
    }

    /// Pairs of colliders whose boxes overlap, sorted.
    fn sweep(&mut self) {
        let colliders = &self.colliders;
        // the order is almost right from the last step: insertion sort
        for i in 1..self.order.len() {
            let mut j = i;
            while j > 0 {
                let (left, right) = (self.order[j - 1], self.order[j]);
                let (x_left, x_right) = (colliders[left as usize].low.x, colliders[right as usize].low.x);
                if x_left < x_right || (x_left == x_right && left < right) {
                    break;
                }
                self.order.swap(j - 1, j);
                j -= 1;
            }
        }
        self.pairs.clear();
        for (i, &first) in self.order.iter().enumerate() {
            let one = &colliders[first as usize];
            for &second in &self.order[i + 1..] {
                let other = &colliders[second as usize];
                if other.low.x > one.high.x {
                    break;
                }
                if one.low.y > other.high.y
                    || other.low.y > one.high.y
                    || one.low.z > other.high.z
                    || other.low.z > one.high.z
                    || (one.link == NO_LINK && other.link == NO_LINK)
                    || one.body == other.body
                    || !(one.solid && other.solid)
                {
                    continue;
                }
                let bodies = (one.body.min(other.body), one.body.max(other.body));
                if self.excluded.binary_search(&bodies).is_err() {
                    self.pairs.push((first.min(second), first.max(second)));
                }
            }
        }
        self.pairs.sort_unstable();
    }

    /// Contact points between colliders `b` < `a` into `pair_points`.
    fn narrow(&mut self, b: usize, a: usize) {
        let (before, after) = self.colliders.split_at(a);
        let (one, two) = (&before[b], &after[0]);
        let prediction = one.margin + two.margin;
        let mut out = Sink {
            points: &mut self.pair_points,
            template: ContactPoint {
                key: ContactKey {
                    colliders: [b as u32, a as u32],
                    ..ContactKey::default()
                },
                link_a: two.link,
                link_b: one.link,
                friction: (one.friction * two.friction).sqrt(),
                restitution: one.restitution.max(two.restitution),
                ..ContactPoint::default()
            },
            prediction,
        };
        let manifold = &mut self.manifold;
        match one.kind {
            Kind::HalfSpace => half_space(one, two, &mut out),
            Kind::Heightfield | Kind::Mesh => {
                let pose_12 = one.pose.inv_mul(&two.pose);
                let region = two.shape.compute_aabb(&pose_12).loosened(prediction);
                let mut visit = |id: u32, triangle: &rapier3d::parry::shape::Triangle| {
                    clear(manifold);
                    let constraints = match one.shape.as_typed_shape() {
                        TypedShape::HeightField(h) => h.triangle_normal_constraints(id),
                        TypedShape::TriMesh(m) => m.triangle_normal_constraints(id),
                        _ => None,
                    };
                    let constraints = constraints.as_ref().map(|c| c as _);
                    let found = DefaultQueryDispatcher.contact_manifold_convex_convex(
                        &pose_12,
                        triangle,
                        &*two.shape,
                        constraints,
                        None,
                        prediction,
                        manifold,
                    );
                    if found.is_ok() {
                        out.template.key.subshapes = [id, 0];
                        out.manifold(manifold, one, two);
                    }
                };
                if let Some(heightfield) = one.shape.as_heightfield() {
                    heightfield.map_elements_in_local_aabb(&region, &mut visit);
                } else if let Some(mesh) = one.shape.as_trimesh() {
                    for id in mesh.bvh().intersect_aabb(&region) {
                        visit(id, &mesh.triangle(id));
                    }
                }
            }
            _ => {
                clear(manifold);
                let pose_12 = one.pose.inv_mul(&two.pose);
                let found = DefaultQueryDispatcher.contact_manifold_convex_convex(
                    &pose_12,
                    &*one.shape,
                    &*two.shape,
                    None,
                    None,
                    prediction,
                    manifold,
                );
                if found.is_ok() {
                    out.manifold(manifold, one, two);
                }
            }
        }
    }
}

impl ColliderEntry {
    fn place(&mut self, x_WB: DVec3, q_WB: DQuat, margin: f64) {
        self.link_pose = (x_WB, q_WB);
        let (position, rotation) = self.local;
        let q_WS = if rotation == DQuat::IDENTITY {
            q_WB
        } else {
            q_WB * rotation
        };
        self.pose = Pose::from_parts(x_WB + q_WB * position, q_WS);
        self.R_WS = DMat3::from_quat(q_WS);
        self.margin = margin;
        let center = self.pose.translation;
        let half = match self.kind {
            Kind::HalfSpace => {
                self.low = DVec3::splat(f64::NEG_INFINITY);
                self.high = DVec3::splat(f64::INFINITY);
                return;
            }
            Kind::Box(h) => self.R_WS.x_axis.abs() * h.x + self.R_WS.y_axis.abs() * h.y + self.R_WS.z_axis.abs() * h.z,
            Kind::Capsule { half_length, radius } => self.R_WS.y_axis.abs() * half_length + DVec3::splat(radius),
            Kind::Ball(radius) => DVec3::splat(radius),
            Kind::Hull | Kind::Heightfield | Kind::Mesh => {
                let Aabb { mins, maxs } = self.shape.compute_aabb(&self.pose);
                self.low = mins - DVec3::splat(margin);
                self.high = maxs + DVec3::splat(margin);
                return;
            }
        };
        self.low = center - half - DVec3::splat(margin);
        self.high = center + half + DVec3::splat(margin);
    }

    /// Radius of a ball about the link's origin that holds the shape.
    pub fn reach(&self) -> f64 {
        let sphere = self.shape.compute_local_bounding_sphere();
        (self.local.0 + self.local.1 * sphere.center).length() + sphere.radius
    }

    /// Distance along a ray (unit `direction`) and the surface normal where it first hits the shape of a link at a pose.
    pub fn cast_ray(
        &self,
        (x_WB, q_WB): (DVec3, DQuat),
        origin: DVec3,
        direction: DVec3,
        max_distance: f64,
    ) -> Option<(f64, DVec3)> {
        let pose = Pose::from_parts(x_WB + q_WB * self.local.0, q_WB * self.local.1);
        let ray = rapier3d::geometry::Ray::new(origin, direction);
        let hit = self.shape.cast_ray_and_get_normal(&pose, &ray, max_distance, true)?;
        Some((hit.time_of_impact, hit.normal))
    }
}

/// Empties a manifold so that nothing of an earlier query is reused.
fn clear(manifold: &mut ContactManifold<(), ()>) {
    manifold.points.clear();
    manifold.local_n1 = DVec3::ZERO;
    manifold.local_n2 = DVec3::ZERO;
    manifold.subshape_poses = None;
}

/// Collects points of one pair.
struct Sink<'a> {
    points: &'a mut Vec<ContactPoint>,
    template: ContactPoint,
    prediction: f64,
}

impl Sink<'_> {
    fn manifold(&mut self, manifold: &ContactManifold<(), ()>, one: &ColliderEntry, two: &ColliderEntry) {
        let normal = one.R_WS * manifold.local_n1;
        let known = manifold
            .points
            .iter()
            .filter(|p| !(p.fid1.is_unknown() && p.fid2.is_unknown()))
            .count();
        for p in &manifold.points {
            // parry adds the closest points of two shapes as one more point without features
            let surplus = known >= 2 && p.fid1.is_unknown() && p.fid2.is_unknown();
            if surplus || p.dist > self.prediction || !p.dist.is_finite() {
                continue;
            }
            let on_one = one.pose.translation + one.R_WS * p.local_p1;
            let on_two = two.pose.translation + two.R_WS * p.local_p2;
            self.push([p.fid1.0, p.fid2.0], 0.5 * (on_one + on_two), normal, p.dist);
        }
    }

    fn push(&mut self, features: [u32; 2], x_W: DVec3, normal: DVec3, gap: f64) {
        let mut point = self.template;
        point.key.features = features;
        point.x_W = x_W;
        point.normal = normal;
        point.gap = gap;
        self.points.push(point);
    }
}

/// Points of a shape that are within reach of a half space: corners, ends or the lowest point.
fn half_space(plane: &ColliderEntry, other: &ColliderEntry, out: &mut Sink) {
    let normal = plane.R_WS.y_axis;
    let center = other.pose.translation;
    let height = normal.dot(center - plane.pose.translation);
    let mut vertex = |feature: u32, offset: DVec3, radius: f64| {
        let gap = height + normal.dot(offset) - radius;
        if gap <= out.prediction {
            // halfway between the two surfaces
            out.push(
                [0, feature],
                center + offset - normal * (radius + 0.5 * gap),
                normal,
                gap,
            );
        }
    };
    match other.kind {
        Kind::Ball(radius) => vertex(1, DVec3::ZERO, radius),
        Kind::Capsule { half_length, radius } => {
            let axis = other.R_WS.y_axis * half_length;
            vertex(1, -axis, radius);
            vertex(2, axis, radius);
        }
        Kind::Box(h) => {
            let (x, y, z) = (
                other.R_WS.x_axis * h.x,
                other.R_WS.y_axis * h.y,
                other.R_WS.z_axis * h.z,
            );
            for corner in 0..8_u32 {
                let sign = |bit: u32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
                vertex(corner + 1, x * sign(0) + y * sign(1) + z * sign(2), 0.0);
            }
        }
        _ => {
            if let Some(hull) = other.shape.as_convex_polyhedron() {
                for (i, p) in hull.points().iter().enumerate() {
                    vertex(i as u32 + 1, other.R_WS * *p, 0.0);
                }
            }
        }
    }
}

/// Gives the points of one pair the impulses they had in the last step. Both lists are sorted by key.
fn carry_over(points: &mut [ContactPoint], warm: &[ContactPoint], pair: (u32, u32)) {
    let first = warm.partition_point(|w| w.key.colliders < [pair.0, pair.1]);
    let mut rest = warm[first..].iter().peekable();
    for point in points {
        while rest.next_if(|w| w.key < point.key).is_some() {}
        if let Some(w) = rest.next_if(|w| w.key == point.key) {
            point.impulse = w.impulse;
            point.impact = w.impact;
        }
    }
}
