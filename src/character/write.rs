//! Characters written as TOML.

use std::fmt::Write;

use glam::{DQuat, DVec3};

use super::format::FORMAT;
use super::{Body, Character, Joint, Limit, Role, Shape};

impl Character {
    /// The character as a file that [`Character::parse`] reads back to the same bits, in `coordinates = "local"`.
    ///
    /// Entries of axes that a joint does not have are not kept, nor the names of collision groups.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "format = {FORMAT}\nname = {}", quoted(&self.name));
        out.push_str(
            "# Places are in the parent's frame, shapes and axes in the body's; quaternions are [x, y, z, w].\n",
        );
        out.push_str("coordinates = \"local\"\n");
        for body in &self.bodies {
            self.write_body(&mut out, body);
        }
        out
    }

    fn write_body(&self, out: &mut String, body: &Body) {
        let mut line = |key: &str, value: String| {
            let _ = writeln!(out, "{key} = {value}");
        };
        line("\n[[body]]\nname", quoted(&body.name));
        if let Some(p) = body.parent {
            line("parent", quoted(&self.bodies[p].name));
        }
        if body.role != Role::Other {
            line("role", quoted(body.role.name()));
        }
        let joint = match body.joint {
            Joint::Free => "free",
            Joint::Planar => "planar",
            Joint::Fixed => "fixed",
            Joint::Hinge { .. } => "hinge",
            Joint::Universal { .. } => "universal",
            Joint::Ball => "ball",
        };
        line("joint", quoted(joint));
        match body.joint {
            Joint::Hinge { axis } => line("axis", vector(axis)),
            Joint::Universal { axes: [a, b] } => line("axes", format!("[{}, {}]", vector(a), vector(b))),
            _ => {}
        }
        line("position", vector(body.offset));
        if body.rest != DQuat::IDENTITY {
            line("frame", quaternion(body.rest));
        }
        line("mass", format!("{:?}", body.mass));
        line("center_of_mass", vector(body.center_of_mass));
        let i = body.inertia;
        line(
            "inertia",
            list(&[i.x_axis.x, i.y_axis.y, i.z_axis.z, i.x_axis.y, i.x_axis.z, i.y_axis.z]),
        );
        if !body.colliders.is_empty() {
            let mut shapes = String::from("[\n");
            for c in &body.colliders {
                let shape = match &c.shape {
                    Shape::Box { half_extents } => format!("box = {}", vector(*half_extents)),
                    Shape::Capsule { half_length, radius } => {
                        format!("capsule_half_length = {half_length:?}, radius = {radius:?}")
                    }
                    Shape::Sphere { radius } => format!("sphere = {radius:?}"),
                    Shape::Hull { points } => {
                        let points: Vec<String> = points.iter().map(|p| vector(*p)).collect();
                        format!("hull = [{}]", points.join(", "))
                    }
                };
                let _ = write!(shapes, "    {{ {shape}, at = {}", vector(c.position));
                if c.rotation != DQuat::IDENTITY {
                    let _ = write!(shapes, ", rotation = {}", quaternion(c.rotation));
                }
                shapes.push_str(" },\n");
            }
            line("shapes", shapes + "]");
        }
        match body.limit {
            Limit::None => {}
            Limit::Range([first, second]) => {
                line("range", list(&first));
                if matches!(body.joint, Joint::Universal { .. }) {
                    line("range2", list(&second));
                }
            }
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            } => line(
                "swing_twist",
                format!(
                    "{{ axis = {}, center = {}, swing = {swing:?}, twist = {} }}",
                    vector(axis),
                    quaternion(center),
                    list(&twist)
                ),
            ),
        }
        let dofs = body.joint.dofs().min(3);
        for (key, values, unused) in [
            ("torque_limit", body.torque_limit, f64::INFINITY),
            ("kp", body.kp, 0.0),
            ("kd", body.kd, 0.0),
            ("damping", body.damping, 0.0),
            ("armature", body.armature, 0.0),
        ] {
            let used = &values[..dofs];
            if used.iter().any(|v| *v != unused) {
                let same = used.iter().all(|v| *v == used[0]);
                line(key, if same { format!("{:?}", used[0]) } else { list(used) });
            }
        }
        line("friction", format!("{:?}", body.material.friction));
        line("restitution", format!("{:?}", body.material.restitution));
        if body.membership != 1 {
            line("groups", bits(body.membership));
        }
        if body.filter != u32::MAX {
            if body.filter.count_ones() < 16 {
                line("collides_with", bits(body.filter));
            } else {
                line("ignores", bits(!body.filter));
            }
        }
    }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    format!("[{}]", values.join(", "))
}

fn vector(v: DVec3) -> String {
    list(&v.to_array())
}

fn quaternion(q: DQuat) -> String {
    list(&q.to_array())
}

fn bits(mask: u32) -> String {
    let names: Vec<String> = (0..32)
        .filter(|b| mask >> b & 1 == 1)
        .map(|b| format!("\"bit{b}\""))
        .collect();
    format!("[{}]", names.join(", "))
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use glam::DMat3;
    use proptest::prelude::*;

    use super::*;
    use crate::character::{Collider, Material};
    use crate::math::rotation::exp;

    fn vector() -> impl Strategy<Value = DVec3> {
        [-2.0..2.0f64, -2.0..2.0, -2.0..2.0].prop_map(DVec3::from_array)
    }

    fn joint_and_limit() -> impl Strategy<Value = (Joint, Limit)> {
        let unit = || vector().prop_filter_map("too short", |v| v.try_normalize());
        let range = || [-3.0..0.0f64, 0.0..3.0];
        prop_oneof![
            Just((Joint::Fixed, Limit::None)),
            (unit(), range()).prop_map(|(axis, r)| (Joint::Hinge { axis }, Limit::Range([r, [0.0; 2]]))),
            (unit(), range(), range()).prop_map(|(a, r, s)| {
                let axes = [a, a.any_orthonormal_vector()];
                (Joint::Universal { axes }, Limit::Range([r, s]))
            }),
            (unit(), vector(), 0.1..3.0f64, range()).prop_map(|(axis, c, swing, twist)| {
                let center = exp(c);
                (
                    Joint::Ball,
                    Limit::SwingTwist {
                        axis,
                        center,
                        swing,
                        twist,
                    },
                )
            }),
        ]
    }

    fn body(name: &'static str, parent: Option<usize>) -> impl Strategy<Value = Body> {
        let shape = prop_oneof![
            (0.01..1.0f64).prop_map(|r| Shape::Box {
                half_extents: DVec3::new(r, 0.3, 0.7 * r)
            }),
            (0.0..1.0f64, 0.01..0.5f64).prop_map(|(half_length, radius)| Shape::Capsule { half_length, radius }),
            (0.01..1.0f64).prop_map(|radius| Shape::Sphere { radius }),
            (0.2..1.0f64).prop_map(|s| Shape::Hull {
                points: vec![DVec3::ZERO, DVec3::X * s, DVec3::Y * s * s, DVec3::new(0.1, 0.2, 1.0)]
            }),
        ];
        let place = (vector(), vector(), vector(), vector());
        let numbers = (0.01..90.0f64, 0.0..2000.0f64, 0.0..1.0f64, any::<u32>(), any::<u32>());
        (joint_and_limit(), shape, place, numbers).prop_map(move |((joint, limit), shape, place, numbers)| {
            let (offset, turn, center_of_mass, position) = place;
            let (mass, gain, friction, membership, filter) = numbers;
            let dofs = joint.dofs();
            let axes = |unused: f64| std::array::from_fn(|i| if i < dofs { gain / (1.0 + i as f64) } else { unused });
            Body {
                name: name.into(),
                parent,
                role: Role::LeftToes,
                offset,
                rest: exp(turn),
                joint,
                mass,
                center_of_mass,
                inertia: DMat3::from_diagonal(DVec3::new(1.0, 1.1, 0.9)) * mass,
                colliders: vec![Collider {
                    shape,
                    position,
                    rotation: exp(position),
                }],
                material: Material {
                    friction,
                    restitution: friction,
                },
                membership,
                filter,
                limit,
                torque_limit: axes(f64::INFINITY),
                kp: axes(0.0),
                kd: axes(0.0),
                damping: axes(0.0),
                armature: axes(0.0),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_character_reads_back_to_the_same_bits(a in body("a \"quoted\"\n name", None), b in body("b", Some(0))) {
            // load(to_toml(c)) == c, for every joint, limit, shape, group and number
            let character = Character { name: "c".into(), bodies: vec![a, b] };
            let text = character.to_toml();
            let again = Character::parse(&text, "c.toml");
            prop_assert_eq!(again, Ok(character), "{}", text);
        }
    }
}
