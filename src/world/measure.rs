//! What follows from body motions and contacts alone: momenta, energies, foot forces, support polygon, limit excess.
//!
//! Both engines fill the bodies and contacts of a [`CharacterState`] and leave the rest to [`derive`], so a controller
//! reads the same definitions on either of them. Nothing here allocates once the vectors have grown to their size.

#![allow(non_snake_case)]

use glam::{DMat3, DQuat, DVec3};

use super::{BodyRef, BodyState, CharacterState, Contact, FootState, JointPosition};
use crate::character::{Character, Limit, Role};

/// Newtons below which a contact point counts as unloaded.
pub(crate) const SMALLEST_LOAD: f64 = 1e-9;

/// Computes everything of `out` that follows from `out.bodies` and `out.contacts`, which must be filled.
///
/// That is centre of mass and its velocity, momenta, energies, feet, centre of pressure and support polygon. Joint
/// positions, rates, torques, time and the external wrench stay as they are.
pub(crate) fn derive(character: &Character, gravity: DVec3, out: &mut CharacterState) {
    let mut mass = 0.0;
    let mut moment = DVec3::ZERO;
    out.linear_momentum = DVec3::ZERO;
    for (body, state) in character.bodies.iter().zip(&out.bodies) {
        mass += body.mass;
        moment += body.mass * state.center_of_mass;
        out.linear_momentum += body.mass * state.velocity;
    }
    out.center_of_mass = moment / mass;
    out.com_velocity = out.linear_momentum / mass;
    out.angular_momentum = DVec3::ZERO;
    for (body, state) in character.bodies.iter().zip(&out.bodies) {
        let arm = state.center_of_mass - out.center_of_mass;
        let relative = state.velocity - out.com_velocity;
        out.angular_momentum +=
            world_inertia(body.inertia, state.rotation) * state.angular_velocity + body.mass * arm.cross(relative);
    }
    out.kinetic_energy = kinetic_energy(character, &out.bodies);
    out.potential_energy = -gravity.dot(moment);
    feet(character, out);
    support(out);
}

/// Kinetic energy of a character whose bodies move as `states` say, joules.
pub(crate) fn kinetic_energy(character: &Character, states: &[BodyState]) -> f64 {
    let energy = |(body, s): (&crate::character::Body, &BodyState)| {
        let spin = world_inertia(body.inertia, s.rotation) * s.angular_velocity;
        0.5 * (body.mass * s.velocity.length_squared() + s.angular_velocity.dot(spin))
    };
    character.bodies.iter().zip(states).map(energy).sum()
}

/// Inertia in world axes of a body with `inertia` in its own axes, turned by `rotation`.
pub(crate) fn world_inertia(inertia: DMat3, rotation: DQuat) -> DMat3 {
    let R_WB = DMat3::from_quat(rotation);
    R_WB * inertia * R_WB.transpose()
}

/// Copies the contacts that touch `character` from `all`, turned so that `a` is this character.
pub(crate) fn contacts_of(character: usize, all: impl Iterator<Item = Contact>, out: &mut Vec<Contact>) {
    let is_own = |r: BodyRef| matches!(r, BodyRef::Character { character: c, .. } if c == character);
    out.clear();
    for contact in all {
        if is_own(contact.a) {
            out.push(contact);
        } else if is_own(contact.b) {
            out.push(Contact {
                a: contact.b,
                b: contact.a,
                normal: -contact.normal,
                force: -contact.force,
                ..contact
            });
        }
    }
}

/// How far a joint is outside its range, radians; 0 inside.
pub(crate) fn limit_excess(limit: &Limit, position: &JointPosition) -> f64 {
    let outside = |value: f64, [low, high]: [f64; 2]| (low - value).max(value - high).max(0.0);
    match (limit, position) {
        (Limit::Range(r), JointPosition::Angle(a)) => outside(*a, r[0]),
        (Limit::Range(r), JointPosition::Angles(a)) => outside(a[0], r[0]).max(outside(a[1], r[1])),
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            JointPosition::Rotation(q),
        ) => {
            let q = center.conjugate() * *q;
            let bone = q * *axis;
            // atan2 stays exact near 0 and 180 degrees, where the arc cosine does not
            let angle = libm::atan2(bone.cross(*axis).length(), bone.dot(*axis));
            let along = q.xyz().dot(*axis);
            let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
            let turn = 2.0 * libm::atan2(sign * along, sign * q.w);
            outside(angle, [0.0, *swing]).max(outside(turn, *twist))
        }
        _ => 0.0,
    }
}

/// `Σ p f_y / Σ f_y`, summed point by point.
#[derive(Default)]
struct Pressure {
    moment: DVec3,
    load: f64,
}

impl Pressure {
    fn add(&mut self, contact: &Contact) {
        self.moment += contact.point * contact.force.y;
        self.load += contact.force.y;
    }

    fn center(&self) -> Option<DVec3> {
        (self.load > SMALLEST_LOAD).then(|| self.moment / self.load)
    }
}

fn feet(character: &Character, out: &mut CharacterState) {
    let mut whole = Pressure::default();
    let mut pressures = [Pressure::default(), Pressure::default()];
    out.feet = [FootState::default(); 2];
    for contact in out.contacts.iter().filter(|c| !c.is_own()) {
        whole.add(contact);
        let BodyRef::Character { body, .. } = contact.a else {
            continue;
        };
        let side = match character.bodies[body].role {
            Role::LeftFoot | Role::LeftToes => 0,
            Role::RightFoot | Role::RightToes => 1,
            _ => continue,
        };
        out.feet[side].force += contact.force;
        pressures[side].add(contact);
    }
    for (foot, pressure) in out.feet.iter_mut().zip(&pressures) {
        foot.center_of_pressure = pressure.center();
    }
    out.center_of_pressure = whole.center();
}

/// Convex hull of the loaded points, seen from above, by Andrew's monotone chain ("Another efficient algorithm for
/// convex hulls in two dimensions", 1979).
fn support(out: &mut CharacterState) {
    let hull = &mut out.support_polygon;
    hull.clear();
    let loaded = |c: &&Contact| !c.is_own() && c.force.y > SMALLEST_LOAD;
    hull.extend(out.contacts.iter().filter(loaded).map(|c| c.point));
    hull_from_above(hull);
}

/// Replaces points by the corners of their convex hull seen from above, counter-clockwise seen from +Y; fewer than three stay.
pub(crate) fn hull_from_above(hull: &mut Vec<DVec3>) {
    // z before x: counter-clockwise in the (z, x) plane is counter-clockwise seen from +Y
    hull.sort_unstable_by(|a, b| a.z.total_cmp(&b.z).then(a.x.total_cmp(&b.x)));
    hull.dedup_by(|a, b| a.z == b.z && a.x == b.x);
    let count = hull.len();
    if count < 3 {
        return;
    }
    // points on an edge stay out although rounding puts them a hair outside
    let turns_left = |a: DVec3, b: DVec3, c: DVec3| (b - a).cross(c - a).y > 1e-12;
    // the hull grows behind the sorted points, which are dropped at the end: no second buffer
    let chain = |hull: &mut Vec<DVec3>, first: usize, point: DVec3| {
        while hull.len() >= first + 2 && !turns_left(hull[hull.len() - 2], hull[hull.len() - 1], point) {
            hull.pop();
        }
        hull.push(point);
    };
    for i in 0..count {
        let point = hull[i];
        chain(hull, count, point);
    }
    let upper = hull.len() - 1;
    for i in (0..count - 1).rev() {
        let point = hull[i];
        chain(hull, upper, point);
    }
    hull.pop();
    hull.drain(..count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::{Body, Joint, Material};
    use crate::math::rotation;

    fn body(name: &str, role: Role, mass: f64) -> Body {
        Body {
            name: name.into(),
            parent: None,
            role,
            offset: DVec3::ZERO,
            rest: DQuat::IDENTITY,
            joint: Joint::Free,
            mass,
            center_of_mass: DVec3::ZERO,
            inertia: DMat3::from_diagonal(DVec3::new(0.3, 0.4, 0.5)),
            colliders: Vec::new(),
            material: Material::default(),
            membership: 1,
            filter: 1,
            limit: Limit::None,
            torque_limit: [f64::INFINITY; 3],
            kp: [0.0; 3],
            kd: [0.0; 3],
            damping: [0.0; 3],
            armature: [0.0; 3],
        }
    }

    fn contact(body: usize, b: BodyRef, point: DVec3, force: DVec3) -> Contact {
        Contact {
            a: BodyRef::Character { character: 3, body },
            b,
            point,
            normal: DVec3::Y,
            force,
            depth: 0.0,
        }
    }

    fn character() -> Character {
        let mut foot = body("foot", Role::LeftFoot, 1.5);
        foot.parent = Some(0);
        Character {
            name: "man".into(),
            bodies: vec![body("pelvis", Role::Pelvis, 4.0), foot],
        }
    }

    /// Inertia of all bodies together about their common centre of mass, world axes, kg m².
    fn composite_inertia(character: &Character, states: &[BodyState]) -> DMat3 {
        let bodies = || character.bodies.iter().zip(states);
        let mass: f64 = character.bodies.iter().map(|b| b.mass).sum();
        let center = bodies().map(|(b, s)| b.mass * s.center_of_mass).sum::<DVec3>() / mass;
        let mut total = DMat3::ZERO;
        for (b, s) in bodies() {
            let arm = rotation::cross_matrix(s.center_of_mass - center);
            total += world_inertia(b.inertia, s.rotation) - b.mass * arm * arm;
        }
        total
    }

    /// A rigid assembly: momenta and energy are those of one body with composite mass and inertia.
    #[test]
    fn rigid_motion_has_the_momenta_of_one_body() {
        let character = character();
        let (V, w) = (DVec3::new(0.4, -1.0, 2.0), DVec3::new(1.1, 0.7, -0.6));
        let centers = [DVec3::new(0.1, 0.9, -0.3), DVec3::new(-0.4, 0.2, 0.5)];
        let mass = 5.5;
        let center = (4.0 * centers[0] + 1.5 * centers[1]) / mass;
        let mut out = CharacterState::default();
        for (i, x) in centers.into_iter().enumerate() {
            out.bodies.push(BodyState {
                position: x,
                rotation: DQuat::from_rotation_x(0.3 + i as f64),
                center_of_mass: x,
                velocity: V + w.cross(x - center),
                angular_velocity: w,
            });
        }
        let gravity = DVec3::new(0.0, -9.81, 0.0);
        derive(&character, gravity, &mut out);
        let inertia = composite_inertia(&character, &out.bodies);
        assert!((out.linear_momentum - mass * V).length() < 1e-12);
        assert!((out.com_velocity - V).length() < 1e-13);
        assert!((out.angular_momentum - inertia * w).length() < 1e-12);
        let energy = 0.5 * (mass * V.length_squared() + w.dot(inertia * w));
        assert!((out.kinetic_energy - energy).abs() < 1e-12);
        assert!((out.potential_energy - mass * 9.81 * center.y).abs() < 1e-12);
    }

    /// Self contacts load neither feet nor support; the centre of pressure is the force-weighted mean.
    #[test]
    fn feet_and_pressure_count_only_contacts_with_others() {
        let character = character();
        let ground = BodyRef::Terrain(0);
        let own = BodyRef::Character { character: 3, body: 0 };
        let other = BodyRef::Character { character: 2, body: 0 };
        let mut out = CharacterState {
            bodies: vec![BodyState::default(); 2],
            contacts: vec![
                contact(1, ground, DVec3::new(0.1, 0.0, 0.2), DVec3::new(5.0, 30.0, 0.0)),
                contact(1, other, DVec3::new(0.4, 0.1, -0.2), DVec3::new(0.0, 10.0, 2.0)),
                contact(0, ground, DVec3::new(-0.5, 0.0, 0.0), DVec3::new(0.0, 40.0, 0.0)),
                contact(1, own, DVec3::new(9.0, 9.0, 9.0), DVec3::new(0.0, 900.0, 0.0)),
            ],
            ..Default::default()
        };
        derive(&character, DVec3::NEG_Y, &mut out);
        assert_eq!(out.feet[0].force, DVec3::new(5.0, 40.0, 2.0));
        let foot = out.feet[0].center_of_pressure.unwrap();
        assert!((foot - DVec3::new(0.175, 0.025, 0.1)).length() < 1e-14);
        assert_eq!(out.feet[1], FootState::default());
        let whole = out.center_of_pressure.unwrap();
        assert!((whole - DVec3::new((7.0 - 20.0) / 80.0, 1.0 / 80.0, 0.05)).length() < 1e-14);
        assert_eq!(out.support_polygon.len(), 3);
    }

    /// The polygon keeps exactly the corners, counter-clockwise seen from +Y, and filling it again allocates nothing.
    #[test]
    fn support_polygon_is_the_convex_hull_seen_from_above() {
        let character = character();
        let corners = [(-0.3, -0.2), (0.4, -0.25), (0.5, 0.3), (-0.2, 0.35)];
        let inner = [(0.1, 0.1), (0.05, -0.225), (0.0, 0.0), (-0.3, -0.2)];
        let mut out = CharacterState {
            bodies: vec![BodyState::default(); 2],
            ..Default::default()
        };
        for (x, z) in inner.into_iter().chain(corners) {
            let point = DVec3::new(x, 0.01 * x, z);
            out.contacts.push(contact(1, BodyRef::Terrain(0), point, DVec3::Y));
        }
        let unloaded = contact(1, BodyRef::Terrain(0), DVec3::new(5.0, 0.0, 5.0), DVec3::ZERO);
        out.contacts.push(unloaded);
        derive(&character, DVec3::NEG_Y, &mut out);
        let hull = out.support_polygon.clone();
        assert_eq!(hull.len(), 4, "{hull:?}");
        let mut area = DVec3::ZERO;
        for i in 0..4 {
            area += 0.5 * hull[i].cross(hull[(i + 1) % 4]);
        }
        // shoelace formula over the corners
        let expected: f64 = (0..4)
            .map(|i| (corners[i], corners[(i + 1) % 4]))
            .map(|((x, z), (u, v))| 0.5 * (x * v - u * z))
            .sum();
        assert!((area.y - expected.abs()).abs() < 1e-12, "{area} {expected}");
        let capacity = out.support_polygon.capacity();
        derive(&character, DVec3::NEG_Y, &mut out);
        assert_eq!(
            (out.support_polygon.capacity(), &out.support_polygon),
            (capacity, &hull)
        );
    }

    /// Excess of a ball joint is measured from the turned cone and about the bone, whichever sign the quaternion has.
    #[test]
    fn limit_excess_measures_swing_and_twist() {
        let limit = Limit::SwingTwist {
            axis: DVec3::NEG_Y,
            center: DQuat::from_rotation_x(-0.4),
            swing: 0.8,
            twist: [-0.2, 0.5],
        };
        let excess = |swing: f64, twist: f64| {
            let q = DQuat::from_rotation_x(-0.4) * DQuat::from_rotation_z(swing) * DQuat::from_rotation_y(-twist);
            let values = [q, -q].map(|q| limit_excess(&limit, &JointPosition::Rotation(q)));
            assert!((values[0] - values[1]).abs() < 1e-14);
            values[0]
        };
        assert_eq!(excess(0.7, 0.4), 0.0);
        assert!((excess(0.95, 0.4) - 0.15).abs() < 1e-12);
        assert!((excess(0.3, 0.6) - 0.1).abs() < 1e-12);
        assert!((excess(-0.3, -0.5) - 0.3).abs() < 1e-12);
        let range = Limit::Range([[-0.1, 0.2], [-1.0, 1.0]]);
        assert!((limit_excess(&range, &JointPosition::Angle(-0.25)) - 0.15).abs() < 1e-15);
        assert!((limit_excess(&range, &JointPosition::Angles([0.1, 1.5])) - 0.5).abs() < 1e-15);
    }

    /// Contacts are turned so that the character is `a`, with normal and force turned along.
    #[test]
    fn contacts_are_turned_towards_the_character() {
        let other = BodyRef::Prop { prop: 0, body: 0 };
        let all = [
            contact(0, other, DVec3::X, DVec3::new(1.0, 2.0, 3.0)),
            Contact {
                a: other,
                b: BodyRef::Terrain(0),
                ..contact(0, other, DVec3::X, DVec3::ONE)
            },
            Contact {
                a: other,
                b: BodyRef::Character { character: 3, body: 1 },
                ..contact(0, other, DVec3::X, DVec3::new(1.0, 2.0, 3.0))
            },
        ];
        let mut out = Vec::new();
        contacts_of(3, all.iter().copied(), &mut out);
        assert_eq!(out.len(), 2);
        assert_eq!(out[0], all[0]);
        assert_eq!(out[1].a, BodyRef::Character { character: 3, body: 1 });
        assert_eq!((out[1].b, out[1].normal), (other, DVec3::NEG_Y));
        assert_eq!(out[1].force, DVec3::new(-1.0, -2.0, -3.0));
    }
}
