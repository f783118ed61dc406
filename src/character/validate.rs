//! What every character must satisfy before it may enter a world.

use glam::{DQuat, DVec3};
use thiserror::Error;

use crate::bounds::{self, within};

use super::mass_properties::{MassProperties, principal_moments};
use super::{Body, Character, Joint, Limit, Shape};

/// A body cannot be simulated; the keys are those of the TOML format.
#[derive(Debug, Error, Clone, PartialEq)]
#[error("body `{body}`: `{key}` is {found}; expected {expected}")]
pub struct CharacterError {
    pub body: String,
    pub key: &'static str,
    pub found: String,
    pub expected: String,
}

impl Character {
    /// Checks that every number is finite and in its range, that names are unique, that parents come before their
    /// children, that free and planar joints are only at the root, and that masses and inertias are those of a
    /// possible body.
    pub fn validate(&self) -> Result<(), CharacterError> {
        if self.bodies.is_empty() {
            return Err(CharacterError {
                body: String::new(),
                key: "body",
                found: "missing".into(),
                expected: "at least one body".into(),
            });
        }
        for (i, body) in self.bodies.iter().enumerate() {
            check_place(self, i)?;
            check_joint(body)?;
            check_mass(body)?;
            check_colliders(body)?;
            check_gains(body)?;
        }
        Ok(())
    }
}

fn error<T>(
    body: &Body,
    key: &'static str,
    found: impl ToString,
    expected: impl ToString,
) -> Result<T, CharacterError> {
    Err(CharacterError {
        body: body.name.clone(),
        key,
        found: found.to_string(),
        expected: expected.to_string(),
    })
}

fn check_place(character: &Character, i: usize) -> Result<(), CharacterError> {
    let body = &character.bodies[i];
    if body.name.is_empty() {
        return error(body, "name", "empty", "a name");
    }
    if character.bodies[..i].iter().any(|b| b.name == body.name) {
        return error(
            body,
            "name",
            format!("`{}` a second time", body.name),
            "a name of its own",
        );
    }
    match body.parent {
        None if i > 0 => {
            return error(
                body,
                "parent",
                "missing",
                "a body above this one: only the first is a root",
            );
        }
        Some(_) if i == 0 => return error(body, "parent", "given", "none: the first body is the root"),
        Some(p) if p >= i => {
            let name = character
                .bodies
                .get(p)
                .map_or("beyond the last body", |b| b.name.as_str());
            return error(body, "parent", format!("`{name}`"), "a body defined before this one");
        }
        _ => {}
    }
    if i > 0 && matches!(body.joint, Joint::Free | Joint::Planar) {
        return error(
            body,
            "joint",
            "free or planar",
            "fixed, hinge, universal or ball: it has a parent",
        );
    }
    place(body, "position", body.offset)?;
    unit_quaternion(body, "frame", body.rest)
}

fn check_joint(body: &Body) -> Result<(), CharacterError> {
    match body.joint {
        Joint::Hinge { axis } => unit(body, "axis", axis)?,
        Joint::Universal { axes: [a, b] } => {
            unit(body, "axes", a)?;
            unit(body, "axes", b)?;
            if a.cross(b).length() < 0.1 {
                return error(body, "axes", format!("{a} and {b}"), "two axes that are not parallel");
            }
        }
        _ => {}
    }
    let range = |key: &'static str, [low, high]: [f64; 2]| {
        if !within(bounds::LARGEST_ANGLE, &[low, high]) || low > high {
            return error(
                body,
                key,
                format!("[{low:?}, {high:?}]"),
                "two angles, the lower bound not above the upper one",
            );
        }
        Ok(())
    };
    match (body.limit, body.joint) {
        (Limit::None, _) => Ok(()),
        (Limit::Range([first, second]), Joint::Hinge { .. } | Joint::Universal { .. }) => {
            range("range", first)?;
            range("range2", second)
        }
        (Limit::Range(_), _) => error(
            body,
            "range",
            "given",
            "none: only hinge and universal joints have angles",
        ),
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            Joint::Ball,
        ) => {
            unit(body, "swing_twist.axis", axis)?;
            unit_quaternion(body, "swing_twist.center", center)?;
            if !(swing > 0.0 && swing <= std::f64::consts::PI) {
                return error(
                    body,
                    "swing_twist.swing",
                    swing,
                    "an angle over 0, up to 180 degrees (radians here)",
                );
            }
            if !within(2.0 * std::f64::consts::PI, &twist) {
                return error(
                    body,
                    "swing_twist.twist",
                    format!("{twist:?}"),
                    "angles within a turn to either side (radians here)",
                );
            }
            range("swing_twist.twist", twist)
        }
        (Limit::SwingTwist { .. }, _) => error(body, "swing_twist", "given", "none: only ball joints swing and twist"),
    }
}

fn check_mass(body: &Body) -> Result<(), CharacterError> {
    if !(bounds::SMALLEST_MASS..=bounds::LARGEST_MASS).contains(&body.mass) {
        let expected = "a positive number of kilograms, 1e-6 to 1e9";
        return error(body, "mass", format!("{:?}", body.mass), expected);
    }
    place(body, "center_of_mass", body.center_of_mass)?;
    let entries = body.inertia.to_cols_array();
    if !within(bounds::LARGEST_INERTIA, &entries) {
        return error(body, "inertia", format!("{entries:?}"), "numbers within 1e18 kg m²");
    }
    let scale = entries.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let skew = body.inertia - body.inertia.transpose();
    if skew.to_cols_array().iter().any(|v| v.abs() > 1e-9 * scale) {
        return error(body, "inertia", format!("{entries:?}"), "a symmetric matrix");
    }
    let [a, b, c] = principal_moments(body.inertia);
    if a < bounds::SMALLEST_INERTIA {
        return error(
            body,
            "inertia",
            format!("{a:.3e} kg m² about a principal axis"),
            "positive principal moments, at least 1e-12 kg m²",
        );
    }
    // a rod meets a + b = c up to rounding
    if a + b < c * (1.0 - 1e-9) {
        return error(
            body,
            "inertia",
            format!("principal moments {a:.4e}, {b:.4e}, {c:.4e}"),
            "the two smaller ones to sum to at least the largest",
        );
    }
    Ok(())
}

fn check_colliders(body: &Body) -> Result<(), CharacterError> {
    for collider in &body.colliders {
        place(body, "shapes.at", collider.position)?;
        unit_quaternion(body, "shapes.rotation", collider.rotation)?;
        match &collider.shape {
            Shape::Box { half_extents: h } if !h.to_array().into_iter().all(bounds::is_size) => {
                return error(body, "shapes.box", h, "three positive half extents, 1e-6 to 1e6 m");
            }
            Shape::Capsule { half_length, radius } if !(bounds::is_size(*radius) && bounds::is_size(*half_length)) => {
                let found = format!("half length {half_length:?}, radius {radius:?}");
                return error(
                    body,
                    "shapes.capsule",
                    found,
                    "a positive radius and length, 1e-6 to 1e6 m; without length it is a sphere",
                );
            }
            Shape::Sphere { radius } if !bounds::is_size(*radius) => {
                return error(
                    body,
                    "shapes.sphere",
                    format!("{radius:?}"),
                    "a positive radius, 1e-6 to 1e6 m",
                );
            }
            Shape::Hull { points } if !points.iter().all(|p| within(bounds::LARGEST_LENGTH, &p.to_array())) => {
                return error(
                    body,
                    "shapes.hull",
                    "beyond 1000 km",
                    "points with coordinates within 1e6 m",
                );
            }
            Shape::Hull { .. } if MassProperties::of_shape(&collider.shape).is_none() => {
                return error(
                    body,
                    "shapes.hull",
                    "without volume",
                    "at least four finite points not in one plane",
                );
            }
            _ => {}
        }
    }
    let material = body.material;
    if !(0.0..=bounds::LARGEST_FRICTION).contains(&material.friction) {
        return error(
            body,
            "friction",
            format!("{:?}", material.friction),
            "a number from 0 to 1e6",
        );
    }
    if !(0.0..=1.0).contains(&material.restitution) {
        return error(body, "restitution", material.restitution, "a number from 0 to 1");
    }
    Ok(())
}

fn check_gains(body: &Body) -> Result<(), CharacterError> {
    for (key, values) in [
        ("kp", body.kp),
        ("kd", body.kd),
        ("damping", body.damping),
        ("armature", body.armature),
    ] {
        for v in values {
            if !(0.0..=bounds::LARGEST_GAIN).contains(&v) {
                return error(body, key, format!("{v:?}"), "a number from 0 to 1e18");
            }
        }
    }
    for v in body.torque_limit {
        if v.is_nan() || v < 0.0 {
            return error(body, "torque_limit", v, "a number of at least 0, or inf for no limit");
        }
    }
    Ok(())
}

fn place(body: &Body, key: &'static str, v: DVec3) -> Result<(), CharacterError> {
    if within(bounds::LARGEST_LENGTH, &v.to_array()) {
        Ok(())
    } else {
        error(body, key, format!("{:?}", v.to_array()), "coordinates within 1e6 m")
    }
}

fn unit(body: &Body, key: &'static str, v: DVec3) -> Result<(), CharacterError> {
    if (v.length() - 1.0).abs() < 1e-6 {
        Ok(())
    } else {
        error(body, key, v, "a vector of length 1")
    }
}

fn unit_quaternion(body: &Body, key: &'static str, q: DQuat) -> Result<(), CharacterError> {
    if (q.length() - 1.0).abs() < 1e-6 {
        Ok(())
    } else {
        error(body, key, q, "a quaternion [x, y, z, w] of length 1")
    }
}
