//! The right half of a body from its left.

use glam::{DMat3, DQuat, DVec3};

use super::{Body, Joint, Limit, Shape};

/// `right_x` for `left_x`; other names stay.
pub(super) fn mirrored_name(name: &str) -> String {
    match name.strip_prefix("left_") {
        Some(rest) => format!("right_{rest}"),
        None => name.to_string(),
    }
}

/// Mirror image of a body in the plane x = 0: true vectors change the sign of x, axes of rotation that of y and z.
pub(super) fn mirror_body(body: &mut Body) {
    let point = |v: DVec3| DVec3::new(-v.x, v.y, v.z);
    let axis = |v: DVec3| DVec3::new(v.x, -v.y, -v.z);
    let rotation = |q: DQuat| DQuat::from_xyzw(q.x, -q.y, -q.z, q.w);
    body.name = mirrored_name(&body.name);
    body.role = body.role.mirrored();
    body.offset = point(body.offset);
    body.rest = rotation(body.rest);
    body.center_of_mass = point(body.center_of_mass);
    let flip = DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0));
    body.inertia = flip * body.inertia * flip;
    for collider in &mut body.colliders {
        collider.position = point(collider.position);
        collider.rotation = rotation(collider.rotation);
        if let Shape::Hull { points } = &mut collider.shape {
            points.iter_mut().for_each(|p| *p = point(*p));
        }
    }
    match &mut body.joint {
        Joint::Hinge { axis: a } => *a = axis(*a),
        Joint::Universal { axes } => *axes = axes.map(axis),
        _ => {}
    }
    if let Limit::SwingTwist {
        axis: bone,
        center,
        twist,
        ..
    } = &mut body.limit
    {
        *bone = point(*bone);
        *center = rotation(*center);
        // the bone is a true vector: a turn about it changes its sense
        *twist = [-twist[1], -twist[0]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::{Character, Role};
    use crate::math::rotation::exp;

    #[test]
    fn equal_joint_angles_on_both_sides_give_mirrored_poses() {
        // a turned frame, a hinge and a ball limit: what the left does in mirror image is what the right does
        let text = r#"
            format = 1
            name = "m"
            mirror = true
            [[body]]
            name = "root"
            joint = "free"
            position = [0, 1, 0]
            mass = 1
            shapes = [{ sphere = 0.1, at = [0, 1, 0] }]
            [[body]]
            name = "left_a"
            parent = "root"
            role = "left_hand"
            joint = "ball"
            position = [0.3, 1.1, 0.2]
            frame = [0.18257418583505536, 0.3651483716701107, 0.5477225575051661, 0.7302967433402214]
            mass = 2
            shapes = [{ box = [0.1, 0.2, 0.3], at = [0.4, 1.2, 0.1] }]
            swing_twist = { axis = [0.6, 0.8, 0], center_deg = [0, 0, 20], swing_deg = 50, twist_deg = [-10, 40] }
            [[body]]
            name = "left_b"
            parent = "left_a"
            joint = "hinge"
            axis = [0, -1, 0.5]
            position = [0.6, 1.3, 0.1]
            mass = 1
            shapes = [{ sphere = 0.1, at = [0.7, 1.35, 0.1] }]
        "#;
        let text: String = text.lines().map(|l| format!("{}\n", l.trim())).collect();
        let character = Character::parse(&text, "m").unwrap();
        let names: Vec<&str> = character.bodies.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names, ["root", "left_a", "left_b", "right_a", "right_b"]);
        let frame = |bodies: [&Body; 2], turn: DQuat, angle: f64| {
            let [a, b] = bodies;
            let Joint::Hinge { axis } = b.joint else { panic!() };
            let R_a = a.rest * turn;
            let R_b = R_a * b.rest * exp(axis * angle);
            (a.offset + R_a * b.offset + R_b * b.center_of_mass, R_b)
        };
        let [_, left_a, left_b, right_a, right_b] = &character.bodies[..] else {
            panic!()
        };
        let turn = exp(DVec3::new(0.4, -0.7, 0.3));
        let mirrored_turn = DQuat::from_xyzw(turn.x, -turn.y, -turn.z, turn.w);
        let (x_left, R_left) = frame([left_a, left_b], turn, 0.6);
        let (x_right, R_right) = frame([right_a, right_b], mirrored_turn, 0.6);
        assert!((x_right - DVec3::new(-x_left.x, x_left.y, x_left.z)).length() < 1e-12);
        assert!(
            R_right
                .dot(DQuat::from_xyzw(R_left.x, -R_left.y, -R_left.z, R_left.w))
                .abs()
                > 1.0 - 1e-12
        );
        assert_eq!((right_a.role, right_a.mass), (Role::RightHand, 2.0));
        // the range of twist changes its sense with the bone
        let (Limit::SwingTwist { axis: l, twist: t, .. }, Limit::SwingTwist { axis: r, twist: u, .. }) =
            (left_a.limit, right_a.limit)
        else {
            panic!()
        };
        assert_eq!((r, u), (DVec3::new(-l.x, l.y, l.z), [-t[1], -t[0]]));
    }
}
