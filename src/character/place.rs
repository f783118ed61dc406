//! From the coordinates of a character file into the frame of a body.

use glam::{DMat3, DQuat, DVec3};

use super::format::RawShape;
use super::{Collider, Shape};

/// Takes what the file says into the frame of the body it says it about.
pub(super) struct BodyFrame {
    pub(super) x_body: DVec3,
    pub(super) R_body: DQuat,
}

impl BodyFrame {
    pub(super) fn point(&self, p: [f64; 3]) -> DVec3 {
        self.R_body.conjugate() * (DVec3::from_array(p) - self.x_body)
    }

    fn vector(&self, v: [f64; 3]) -> DVec3 {
        self.R_body.conjugate() * DVec3::from_array(v)
    }

    pub(super) fn direction(&self, v: [f64; 3]) -> Option<DVec3> {
        let v = self.vector(v);
        let length = v.length();
        // what is unit already keeps its bits
        match length {
            l if (l - 1.0).abs() < 1e-14 => Some(v),
            l if l > 1e-9 && l.is_finite() => Some(v / l),
            _ => None,
        }
    }

    /// An orientation.
    fn orientation(&self, q: DQuat) -> DQuat {
        self.R_body.conjugate() * q
    }

    /// A rotation from one direction to another, in the body's axes.
    pub(super) fn rotation(&self, q: DQuat) -> DQuat {
        self.R_body.conjugate() * q * self.R_body
    }

    pub(super) fn tensor(&self, inertia: DMat3) -> DMat3 {
        if self.R_body == DQuat::IDENTITY {
            return inertia;
        }
        let R = DMat3::from_quat(self.R_body);
        let turned = R.transpose() * inertia * R;
        (turned + turned.transpose()) * 0.5
    }
}

/// Unit up to typing; what is unit to rounding keeps its bits.
pub(super) fn unit_quaternion([x, y, z, w]: [f64; 4]) -> Option<DQuat> {
    let q = DQuat::from_xyzw(x, y, z, w);
    let length = q.length();
    match length {
        l if (l - 1.0).abs() < 1e-14 => Some(q),
        l if (l - 1.0).abs() < 1e-2 => Some(q.normalize()),
        _ => None,
    }
}

pub(super) fn not_a_rotation(q: [f64; 4]) -> String {
    format!("is {q:?}; expected a unit quaternion [x, y, z, w]")
}

pub(super) fn collider(raw: &RawShape, into: &BodyFrame) -> Result<Collider, String> {
    let kinds = [
        raw.half_extents.is_some(),
        raw.capsule.is_some(),
        raw.capsule_half_length.is_some(),
        raw.sphere.is_some(),
        raw.hull.is_some(),
    ];
    if kinds.iter().filter(|k| **k).count() != 1 {
        return Err("a shape is one of `box`, `capsule`, `capsule_half_length`, `sphere`, `hull`".into());
    }
    let rotation = match raw.rotation {
        Some(q) => into.orientation(unit_quaternion(q).ok_or_else(|| format!("`rotation` {}", not_a_rotation(q)))?),
        None => into.orientation(DQuat::IDENTITY),
    };
    let at = || {
        raw.at
            .map(|p| into.point(p))
            .ok_or("`at` is missing; expected the place of the shape's centre")
    };
    let radius = || raw.radius.ok_or("`radius` is missing; a capsule needs it");
    if raw.radius.is_some() && !kinds[1] && !kinds[2] {
        return Err("`radius` belongs to a capsule; a sphere's radius is the value of `sphere`".into());
    }
    if let Some([a, b]) = raw.capsule {
        if raw.at.is_some() || raw.rotation.is_some() {
            return Err("a `capsule` is placed by its two end points; `at` and `rotation` do not apply".into());
        }
        let (a, b) = (into.point(a), into.point(b));
        let along = b - a;
        return Ok(Collider {
            shape: Shape::Capsule {
                half_length: 0.5 * along.length(),
                radius: radius()?,
            },
            position: (a + b) * 0.5,
            rotation: along
                .try_normalize()
                .map_or(DQuat::IDENTITY, |d| DQuat::from_rotation_arc(DVec3::Y, d)),
        });
    }
    if let Some(half_length) = raw.capsule_half_length {
        let shape = Shape::Capsule {
            half_length,
            radius: radius()?,
        };
        return Ok(Collider {
            shape,
            position: at()?,
            rotation,
        });
    }
    if let Some(points) = &raw.hull {
        // without a place of their own the points are where the file's coordinates say
        let (position, rotation, points) = match raw.at {
            Some(p) => (
                into.point(p),
                rotation,
                points.iter().map(|p| DVec3::from_array(*p)).collect(),
            ),
            None => (
                DVec3::ZERO,
                DQuat::IDENTITY,
                points.iter().map(|p| into.point(*p)).collect(),
            ),
        };
        return Ok(Collider {
            shape: Shape::Hull { points },
            position,
            rotation,
        });
    }
    let shape = match (raw.half_extents, raw.sphere) {
        (Some(h), _) => Shape::Box {
            half_extents: DVec3::from_array(h),
        },
        (None, radius) => Shape::Sphere {
            radius: radius.unwrap_or_default(),
        },
    };
    Ok(Collider {
        shape,
        position: at()?,
        rotation,
    })
}
