//! The questions about shapes that parry, the geometry library below rapier, answers: the hull of points, how deep two
//! shapes overlap, and where a ray meets one. Nothing else of this room uses it.

use glam::{DQuat, DVec3};
use rapier3d::math::Pose;
use rapier3d::parry::{query, shape::SharedShape, transformation::try_convex_hull};

use super::{Collider, Shape};

/// Corners and outward triangles of the convex hull; `None` if the points span no volume.
pub(crate) fn convex_hull(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| {
        (l.min(*p), h.max(*p))
    });
    // flat sets are refused before the hull algorithm, which may not notice
    if points.len() < 4 || !low.is_finite() || !high.is_finite() || (high - low).min_element() <= 0.0 {
        return None;
    }
    try_convex_hull(points).ok().filter(|(corners, _)| corners.len() >= 4)
}

/// How far two colliders, each on a body at a position and rotation, reach into each other, metres; 0 if apart.
pub(crate) fn overlap(a: (&Collider, DVec3, DQuat), b: (&Collider, DVec3, DQuat)) -> f64 {
    let place = |(collider, x, rotation): (&Collider, DVec3, DQuat)| {
        Some((
            Pose::from_parts(x + rotation * collider.position, rotation * collider.rotation),
            parry_shape(&collider.shape)?,
        ))
    };
    let (Some((pose_a, shape_a)), Some((pose_b, shape_b))) = (place(a), place(b)) else {
        return 0.0;
    };
    match query::contact(&pose_a, &*shape_a, &pose_b, &*shape_b, 0.0) {
        Ok(Some(contact)) if contact.dist < 0.0 => -contact.dist,
        _ => 0.0,
    }
}

/// Metres along a ray from `origin` in a unit `direction` to a collider on a body at `position` and `rotation`; `None` if it
/// passes.
#[cfg(feature = "viewer")]
pub(crate) fn cast_ray(
    collider: &Collider,
    position: DVec3,
    rotation: DQuat,
    origin: DVec3,
    direction: DVec3,
) -> Option<f64> {
    use rapier3d::parry::query::Ray;
    let pose = Pose::from_parts(position + rotation * collider.position, rotation * collider.rotation);
    let ray = Ray::new(origin, direction);
    parry_shape(&collider.shape)?.cast_ray(&pose, &ray, f64::MAX, true)
}

fn parry_shape(shape: &Shape) -> Option<SharedShape> {
    Some(match shape {
        Shape::Box { half_extents: h } => SharedShape::cuboid(h.x, h.y, h.z),
        Shape::Capsule { half_length, radius } => SharedShape::capsule_y(*half_length, *radius),
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Hull { points } => {
            let (corners, triangles) = convex_hull(points)?;
            SharedShape::convex_mesh(corners, &triangles)?
        }
    })
}
