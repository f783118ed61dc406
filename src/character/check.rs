//! The linter behind `ambler check`: what is wrong, suspicious or missing in a character, and what to change.

use std::fmt;

use glam::{DQuat, DVec3};

use super::bind::carried_moments;
use super::segment::{Side, side_of, without_side};
use super::stability::axis_inertias;
use super::{Body, Character, Joint, Limit, Role, Shape};
use crate::math::rotation;
use crate::skeleton::Pose;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Will probably not behave as meant.
    Warning,
    /// Cannot be simulated, or explodes.
    Error,
}

/// One thing that [`check`] has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub severity: Severity,
    /// Name of the body, of its joint, or of the character.
    pub body: String,
    /// What was found, with the number.
    pub message: String,
    /// What to do about it.
    pub change: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}: {}; {}", self.body, self.message, self.change)
    }
}

/// Looks for everything in a character that makes simulations explode, sag or disappoint. `pose`, if given, is one that the
/// character shall take (one joint per body, as in [`Character::skeleton`]).
///
/// An empty answer means that nothing was found; an invalid character has one finding, the reason.
pub fn check(character: &Character, pose: Option<&Pose>) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    if let Err(e) = character.validate() {
        let message = format!("`{}` is {}", e.key, e.found);
        findings.add(Severity::Error, &e.body, message, format!("expected {}", e.expected));
        return findings.0;
    }
    masses(character, &mut findings);
    overlaps(character, &mut findings);
    limits(character, pose, &mut findings);
    gains(character, &mut findings);
    if character.bodies.len() > 2 {
        roles(character, &mut findings);
        soles(character, &mut findings);
        symmetry(character, &mut findings);
    }
    findings.0.sort_by_key(|f| std::cmp::Reverse(f.severity));
    findings.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, body: &str, message: impl Into<String>, change: impl Into<String>) {
        self.0.push(Finding {
            severity,
            body: body.to_string(),
            message: message.into(),
            change: change.into(),
        });
    }
}

fn masses(character: &Character, findings: &mut Findings) {
    let legged = character.bodies.iter().any(|b| b.role == Role::LeftFoot);
    let mass = character.mass();
    if legged && !(20.0..=250.0).contains(&mass) {
        let message = format!("the whole character weighs {mass:.2} kg");
        let change = "a grown person has 40 to 120 kg: check the masses, or the scale of the skeleton";
        findings.add(Severity::Warning, &character.name, message, change);
    }
    for body in &character.bodies {
        if let Some(parent) = body.parent.map(|p| &character.bodies[p]) {
            let (heavy, light) = if body.mass > parent.mass {
                (body, parent)
            } else {
                (parent, body)
            };
            let ratio = heavy.mass / light.mass;
            let severity = match ratio {
                r if r > 100.0 => Severity::Error,
                r if r > 25.0 => Severity::Warning,
                r if r > 10.0 => Severity::Note,
                _ => continue,
            };
            let message = format!("`{}` is {ratio:.0} times as heavy as `{}`", heavy.name, light.name);
            let change = format!(
                "keep neighbours within 10: give `{}` at least {:.2} kg, or merge the two",
                light.name,
                0.1 * heavy.mass
            );
            findings.add(severity, &body.name, message, change);
        }
        let least = super::mass_properties::principal_moments(body.inertia)[0];
        let radius = (least / body.mass).sqrt();
        if radius < 0.003 {
            let message = format!(
                "its radius of gyration is {:.2} mm ({least:.2e} kg m²)",
                1000.0 * radius
            );
            let change = format!(
                "give `inertia` at least {:.1e} kg m² about every axis",
                body.mass * 1e-4
            );
            findings.add(Severity::Warning, &body.name, message, change);
        }
    }
}

fn overlaps(character: &Character, findings: &mut Findings) {
    for (a, b, depth) in character.overlaps(&character.bind_frames()) {
        let severity = match depth {
            d if d > 0.005 => Severity::Error,
            d if d > 0.0005 => Severity::Warning,
            _ => Severity::Note,
        };
        let (a, b) = (&character.bodies[a].name, &character.bodies[b].name);
        let message = format!(
            "it overlaps `{b}` by {:.1} mm in the bind pose and will be pushed out",
            1000.0 * depth
        );
        let change = format!(
            "shrink a shape by {:.1} mm, or put one of them into `ignores` of the other",
            1000.0 * depth
        );
        findings.add(severity, a, message, change);
    }
}

/// Angle by which rotation `q` of the joint is outside its limit, radians.
fn limit_excess(body: &Body, q: DQuat) -> f64 {
    let outside = |v: f64, [low, high]: [f64; 2]| (low - v).max(v - high).max(0.0);
    match (body.limit, body.joint) {
        (Limit::Range([range, _]), Joint::Hinge { axis }) => outside(rotation::log(q).dot(axis), range),
        (Limit::Range([first, second]), Joint::Universal { axes: [a, b] }) => {
            // the second axis is turned by the first angle alone
            let (before, after) = (b - a * a.dot(b), q * b - a * a.dot(q * b));
            let angle = libm::atan2(a.dot(before.cross(after)), before.dot(after));
            let rest = rotation::exp(a * -angle) * q;
            outside(angle, first).max(outside(rotation::log(rest).dot(b), second))
        }
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            _,
        ) => {
            let q = center.conjugate() * q;
            let bone = q * axis;
            let angle = libm::atan2(bone.cross(axis).length(), bone.dot(axis));
            let q = if q.w < 0.0 { -q } else { q };
            let turn = 2.0 * libm::atan2(q.xyz().dot(axis), q.w);
            outside(angle, [0.0, swing]).max(outside(turn, twist))
        }
        _ => 0.0,
    }
}

fn limits(character: &Character, pose: Option<&Pose>, findings: &mut Findings) {
    for (i, body) in character.bodies.iter().enumerate() {
        let asked = pose
            .and_then(|p| p.rotations.get(i))
            .map(|q| ("the pose asked for", *q));
        for (what, q) in [("the bind pose", DQuat::IDENTITY)].into_iter().chain(asked) {
            let excess = limit_excess(body, q);
            if excess > 1e-6 {
                let message = format!("{what} is {:.1} degrees outside its limits", excess.to_degrees());
                let change = format!(
                    "widen the limit by {:.1} degrees, or choose another pose",
                    excess.to_degrees()
                );
                findings.add(Severity::Warning, &body.name, message, change);
            }
        }
        if let Limit::Range([[low, high], _]) = body.limit
            && high - low < 1f64.to_radians()
        {
            let message = format!("its range is {:.2} degrees", (high - low).to_degrees());
            findings.add(
                Severity::Warning,
                &body.name,
                message,
                "widen it, or make the joint `fixed`",
            );
        }
    }
}

fn gains(character: &Character, findings: &mut Findings) {
    let carried = carried_moments(character);
    let Some(inertias) = axis_inertias(character) else {
        let change = "give every body that moves a mass and an inertia";
        findings.add(
            Severity::Error,
            &character.name,
            "the mass matrix is not positive definite",
            change,
        );
        return;
    };
    for ((body, moment), inertia) in character.bodies.iter().zip(carried).zip(inertias) {
        // axes of a joint usually share their trouble: one finding per joint and kind
        let mut undamped = None;
        let mut slow = None;
        let mut fast: Option<f64> = None;
        let mut tiny: Option<f64> = None;
        for (axis, inertia) in inertia.iter().enumerate() {
            let Some(inertia) = *inertia else { continue };
            let (kp, kd) = (body.kp[axis], body.kd[axis]);
            if kp > 0.0 && kd == 0.0 && body.damping[axis] == 0.0 {
                undamped = Some(kp);
            }
            if kp > 0.0 && kd > 0.0 {
                let time = kd / kp;
                if !(1e-3..=2.0).contains(&time) {
                    slow = Some((kp, kd, time));
                }
            }
            // an oscillation period below 2 ms is finer than any step here resolves
            let period = std::f64::consts::TAU * (inertia / kp).sqrt();
            if kp > 0.0 && period < 2e-3 {
                fast = Some(fast.map_or(period, |p| p.min(period)));
            }
            if inertia < 1e-6 {
                tiny = Some(tiny.map_or(inertia, |i| i.min(inertia)));
            }
        }
        if let Some(kp) = undamped {
            let message = format!("kp is {kp} and kd is 0: it will ring");
            findings.add(
                Severity::Warning,
                &body.name,
                message,
                format!("set kd near {:.1}", 0.1 * kp),
            );
        }
        if let Some((kp, kd, time)) = slow {
            let message = format!("kd / kp is {time:.1e} s (kp {kp}, kd {kd}); expected 1 ms to 2 s");
            let change = format!("units are N m/rad and N m s/rad; for kp {kp} try kd {:.3}", 0.1 * kp);
            findings.add(Severity::Warning, &body.name, message, change);
        }
        if let Some(period) = fast {
            let message = format!("its gains make it oscillate every {:.2} ms", 1000.0 * period);
            let change = "lower kp, or give the joint an `armature`";
            findings.add(Severity::Warning, &body.name, message, change);
        }
        if let Some(inertia) = tiny {
            let message = format!("an axis moves an inertia of only {inertia:.1e} kg m²");
            findings.add(
                Severity::Warning,
                &body.name,
                message,
                "give the joint an `armature` of 1e-3 or more",
            );
        }
        weak(body, moment, findings);
    }
    ankles(character, findings);
}

/// A joint that cannot hold what it carries at arm's length.
fn weak(body: &Body, moment: f64, findings: &mut Findings) {
    let axes = match body.joint {
        Joint::Hinge { .. } => 1,
        Joint::Universal { .. } => 2,
        Joint::Ball => 3,
        _ => return,
    };
    let strongest = |values: [f64; 3]| values[..axes].iter().copied().fold(0.0, f64::max);
    let (kp, limit) = (strongest(body.kp), strongest(body.torque_limit));
    if limit < moment {
        let message = format!("its torque limit of {limit} N m is below the {moment:.1} N m that hold its limb level");
        findings.add(
            Severity::Warning,
            &body.name,
            message,
            format!("raise `torque_limit` above {moment:.0}"),
        );
    }
    // a joint without gains is meant to be loose
    if kp > 0.0 && kp < moment {
        let message = format!("kp {kp} lets the limb it carries sag by more than a radian ({moment:.1} N m)");
        findings.add(
            Severity::Warning,
            &body.name,
            message,
            format!("raise kp above {:.0}", 10.0 * moment),
        );
    }
}

/// An inverted pendulum on ankles softer than `m g h` falls over whatever the damping.
fn ankles(character: &Character, findings: &mut Findings) {
    let feet = character
        .bodies
        .iter()
        .filter(|b| matches!(b.role, Role::LeftFoot | Role::RightFoot));
    let (mut stiffness, mut limit, mut ankle, mut count) = (0.0, 0.0, 0.0, 0);
    let frames = character.bind_frames();
    for foot in feet {
        let highest = |values: [f64; 3]| values[..foot.joint.dofs().min(3)].iter().copied().fold(0.0, f64::max);
        stiffness += highest(foot.kp);
        limit += highest(foot.torque_limit);
        if let Some(i) = character.body(&foot.name) {
            ankle += frames[i].0.y;
        }
        count += 1;
    }
    if count == 0 || stiffness == 0.0 {
        return;
    }
    let mass = character.mass();
    let center: DVec3 = (character.bodies.iter().zip(&frames))
        .map(|(b, (x, R))| (*x + *R * b.center_of_mass) * b.mass)
        .sum::<DVec3>()
        / mass;
    let topple = mass * 9.81 * (center.y - ankle / f64::from(count));
    if stiffness < topple {
        let message =
            format!("its ankles have kp {stiffness:.0} N m/rad together; m g h is {topple:.0}, so it topples");
        let change = format!(
            "raise kp of the feet above {:.0} each, or balance by a controller",
            topple / f64::from(count)
        );
        findings.add(Severity::Warning, &character.name, message, change);
    }
    // the centre of pressure can go 10 cm before the ankle only with this torque
    if limit < 0.1 * mass * 9.81 {
        let message =
            format!("its ankles have {limit:.0} N m together, too weak to carry the weight 10 cm before them");
        findings.add(
            Severity::Warning,
            &character.name,
            message,
            format!("raise `torque_limit` of the feet above {:.0} in sum", 0.1 * mass * 9.81),
        );
    }
}

fn roles(character: &Character, findings: &mut Findings) {
    let missing: Vec<&str> = [
        Role::Pelvis,
        Role::Trunk,
        Role::Head,
        Role::LeftFoot,
        Role::RightFoot,
        Role::LeftHand,
        Role::RightHand,
    ]
    .into_iter()
    .filter(|role| !character.bodies.iter().any(|b| b.role == *role))
    .map(Role::name)
    .collect();
    if !missing.is_empty() {
        let message = format!("no body has the role {}", missing.join(", "));
        let change = "set `role` of those bodies: measures and controllers ask for them (falling, feet, balance)";
        findings.add(Severity::Note, &character.name, message, change);
    }
}

/// Corners (of boxes and hulls) and lowest points (of round shapes) of a body in the bind pose.
fn sole_points(body: &Body, (x, R): (DVec3, DQuat)) -> (Vec<DVec3>, bool) {
    let mut points = Vec::new();
    let mut round = true;
    for c in &body.colliders {
        let center = x + R * c.position;
        let turn = R * c.rotation;
        match &c.shape {
            Shape::Box { half_extents: h } => {
                round = false;
                for i in 0..8 {
                    let sign = DVec3::new([-1.0, 1.0][i & 1], [-1.0, 1.0][i >> 1 & 1], [-1.0, 1.0][i >> 2 & 1]);
                    points.push(center + turn * (*h * sign));
                }
            }
            Shape::Hull { points: corners } => {
                round = false;
                points.extend(corners.iter().map(|p| center + turn * *p));
            }
            Shape::Capsule { half_length, radius } => {
                let end = turn * DVec3::Y * *half_length;
                points.extend([center + end, center - end].map(|p| p - DVec3::Y * *radius));
            }
            Shape::Sphere { radius } => points.push(center - DVec3::Y * *radius),
        }
    }
    (points, round)
}

fn soles(character: &Character, findings: &mut Findings) {
    let frames = character.bind_frames();
    let mut lowest = Vec::new();
    for (body, frame) in character.bodies.iter().zip(frames) {
        let foot = matches!(body.role, Role::LeftFoot | Role::RightFoot);
        if !foot && !matches!(body.role, Role::LeftToes | Role::RightToes) {
            continue;
        }
        let (points, round) = sole_points(body, frame);
        let low = points.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        if !low.is_finite() {
            findings.add(
                Severity::Warning,
                &body.name,
                "it has no shape to stand on",
                "give it a box with a flat sole",
            );
            continue;
        }
        lowest.push((body.name.as_str(), low));
        let resting = points.iter().filter(|p| p.y < low + 0.002).count();
        if foot && (round || resting < 3) {
            let message = match round {
                true => "its sole is round: it stands on a line".to_string(),
                false => format!("its sole is not level: {resting} of its corners are within 2 mm of the lowest"),
            };
            findings.add(
                Severity::Warning,
                &body.name,
                message,
                "use a box that lies flat in the bind pose",
            );
        }
    }
    let ground = lowest.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    for (name, y) in lowest {
        if y - ground > 0.005 {
            let message = format!("its sole is {:.1} mm above the lowest one", 1000.0 * (y - ground));
            findings.add(
                Severity::Warning,
                name,
                message,
                "put all soles at one height in the bind pose",
            );
        }
    }
}

fn symmetry(character: &Character, findings: &mut Findings) {
    let sides: Vec<Option<Side>> = character.bodies.iter().map(|b| side_of(&b.name)).collect();
    let keys: Vec<String> = character.bodies.iter().map(|b| without_side(&b.name)).collect();
    for (i, left) in character.bodies.iter().enumerate() {
        if sides[i] != Some(Side::Left) {
            continue;
        }
        let partner = (0..keys.len()).find(|k| sides[*k] == Some(Side::Right) && keys[*k] == keys[i]);
        let Some(right) = partner.map(|k| &character.bodies[k]) else {
            let change = "add the body, or rename the pair to left_x and right_x";
            findings.add(Severity::Note, &left.name, "it has no partner on the right", change);
            continue;
        };
        for (what, l, r) in [
            ("mass", left.mass, right.mass),
            ("distance from its parent", left.offset.length(), right.offset.length()),
            ("kp", left.kp[0], right.kp[0]),
            ("kd", left.kd[0], right.kd[0]),
        ] {
            let difference = (l - r).abs() / l.max(r).max(1e-9);
            if difference > 0.03 {
                let message = format!("its {what} is {l:.4}, that of `{}` {r:.4}", right.name);
                findings.add(
                    Severity::Note,
                    &left.name,
                    message,
                    "make both sides equal, if they are meant to be",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn humanoid() -> Character {
        Character::load(Path::new("data/characters/humanoid.toml")).unwrap()
    }

    #[test]
    fn the_shipped_characters_have_nothing_to_complain_about() {
        // no warning and no error in what we ship ourselves, and hanging arms are inside the humanoid's limits
        for name in ["humanoid", "benchmark"] {
            let character = Character::load(Path::new(&format!("data/characters/{name}.toml"))).unwrap();
            let skeleton = character.skeleton();
            let mut pose = skeleton.bind_pose();
            for (arm, angle) in [("left_upper_arm", -1.45), ("right_upper_arm", 1.45)] {
                pose.rotations[skeleton.joint(arm).unwrap()] = DQuat::from_rotation_z(angle);
            }
            let bad: Vec<String> = check(&character, Some(&pose))
                .iter()
                .filter(|f| f.severity > Severity::Note)
                .map(Finding::to_string)
                .collect();
            assert!(bad.is_empty(), "{name}: {bad:#?}");
        }
    }

    /// Breaks the humanoid and expects one finding that contains `expected`.
    fn finds(expected: &str, severity: Severity, body: &str, break_it: impl Fn(&mut Character)) {
        let mut character = humanoid();
        break_it(&mut character);
        let found = check(&character, None);
        let hit = found
            .iter()
            .any(|f| f.severity == severity && f.body == body && f.to_string().contains(expected));
        assert!(hit, "expected `{expected}` about {body} in {found:#?}");
    }

    #[test]
    fn every_kind_of_mistake_is_found_and_names_its_body() {
        // one broken number each, reported for the body it is in
        let at = |c: &Character, name: &str| c.body(name).unwrap();
        finds("times as heavy", Severity::Error, "left_hand", |c| {
            let i = at(c, "left_hand");
            c.bodies[i].mass = 0.005;
        });
        finds("overlaps", Severity::Error, "left_thigh", |c| {
            for name in ["left_thigh", "right_thigh"] {
                let i = at(c, name);
                c.bodies[i].offset.x *= 0.5;
            }
        });
        finds("outside its limits", Severity::Warning, "left_shin", |c| {
            let i = at(c, "left_shin");
            c.bodies[i].limit = Limit::Range([[0.2, 2.0], [0.0; 2]]);
        });
        finds("kd / kp", Severity::Warning, "head", |c| {
            let i = at(c, "head");
            c.bodies[i].kd = [0.01; 3];
        });
        finds("hold its limb", Severity::Warning, "left_upper_arm", |c| {
            let i = at(c, "left_upper_arm");
            c.bodies[i].torque_limit = [3.0; 3];
        });
        finds("not level", Severity::Warning, "left_foot", |c| {
            let i = at(c, "left_foot");
            c.bodies[i].colliders[0].rotation = DQuat::from_rotation_x(0.1);
        });
        finds("topples", Severity::Warning, "humanoid", |c| {
            for name in ["left_foot", "right_foot"] {
                let i = at(c, name);
                c.bodies[i].kp = [100.0; 3];
                c.bodies[i].kd = [10.0; 3];
            }
        });
        finds("`left_foot`", Severity::Error, "left_foot", |c| {
            let i = at(c, "right_foot");
            c.bodies[i].name = "left_foot".into();
        });
        finds("role head", Severity::Note, "humanoid", |c| {
            let i = at(c, "head");
            c.bodies[i].role = Role::Other;
        });
        finds("its kp is", Severity::Note, "left_forearm", |c| {
            let i = at(c, "right_forearm");
            c.bodies[i].kp[0] = 200.0;
        });
        finds("`inertia` is principal", Severity::Error, "left_shin", |c| {
            let i = at(c, "left_shin");
            c.bodies[i].inertia = glam::DMat3::from_diagonal(DVec3::new(0.01, 0.01, 0.03));
        });
    }

    #[test]
    fn the_angles_of_a_universal_joint_are_measured_about_its_own_axes() {
        // excess is that of the angle that is outside, for axes in any position
        let mut body = humanoid().bodies.remove(1);
        let a = DVec3::new(0.6, 0.0, 0.8);
        let axes = [a, DVec3::new(-0.8, 0.0, 0.6)];
        body.joint = Joint::Universal { axes };
        body.limit = Limit::Range([[-0.2, 0.5], [-0.4, 0.3]]);
        let at = |x: f64, y: f64| limit_excess(&body, rotation::exp(axes[0] * x) * rotation::exp(axes[1] * y));
        assert!(at(0.45, -0.35) < 1e-12);
        assert!((at(0.7, 0.1) - 0.2).abs() < 1e-12 && (at(0.3, -0.9) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_character_with_a_number_that_is_none_is_refused_by_body_and_key() {
        // NaN, infinity and signs are caught wherever they are
        type Break = (&'static str, fn(&mut Body));
        let breaks: [Break; 8] = [
            ("mass", |b| b.mass = f64::NAN),
            ("kp", |b| b.kp[0] = f64::INFINITY),
            ("damping", |b| b.damping[0] = -1.0),
            ("torque_limit", |b| b.torque_limit[0] = f64::NAN),
            ("axis", |b| {
                b.joint = Joint::Hinge {
                    axis: DVec3::new(0.0, 0.0, 2.0),
                }
            }),
            ("joint", |b| b.joint = Joint::Free),
            ("frame", |b| b.rest = DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0)),
            ("friction", |b| b.material.friction = -0.1),
        ];
        for (key, break_it) in breaks {
            let mut character = humanoid();
            let i = character.body("left_shin").unwrap();
            break_it(&mut character.bodies[i]);
            let error = character.validate().unwrap_err();
            assert_eq!((error.body.as_str(), error.key), ("left_shin", key));
        }
    }
}
