//! Characters written as TOML.

use std::fmt::Write;

use glam::{DQuat, DVec3};

use super::toml::FORMAT;
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
