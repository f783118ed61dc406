//! A character for any skeleton: shapes from bone lengths, masses from names, gains from the mass carried.
//!
//! ```text
//! Skeleton → which joints become bodies → points each body must reach → shapes → masses → gains → who may touch whom
//! ```
//!
//! Bodies keep the names of the skeleton's joints and their frames, so that a body turns exactly as its joint does. All
//! joints are balls without limits: a motion that was captured can be tracked, whatever axes it turns about.

use std::fmt::Write;

use glam::{DMat3, DQuat, DVec3};
use thiserror::Error;

use super::bind::carried_moments;
use super::mass_properties::{MassProperties, principal_moments};
use super::segment::{Segment, Side, recognise};
use super::{Body, Character, Collider, Joint, Limit, Material, Role, Shape};
use crate::skeleton::{ModelPose, Skeleton};

/// What the fitted character shall be like.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    pub name: String,
    /// Kilograms.
    pub mass: f64,
    /// Depth of the soles below the lowest joint of the feet, metres. `None`: down to y = 0 if the bind pose stands a
    /// little above it, else 1.2 % of the height.
    pub sole_depth: Option<f64>,
    pub friction: f64,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions {
            name: "fitted".into(),
            mass: 70.0,
            sole_depth: None,
            friction: 0.9,
        }
    }
}

/// No character can be built for a skeleton.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum FitError {
    #[error("the skeleton has no joints; a character needs at least one")]
    Empty,
    #[error("joint `{joint}`: {found}; expected {expected}")]
    BadJoint {
        joint: String,
        found: String,
        expected: String,
    },
    #[error("{what} is {found}; expected {expected}")]
    BadOption {
        what: &'static str,
        found: f64,
        expected: &'static str,
    },
    #[error("the skeleton is {height:.3} m from its lowest to its highest point; expected 0.1 to 10 m: {remedy}")]
    Size { height: f64, remedy: String },
    #[error("the fitted character is not valid: {0}")]
    Invalid(#[from] super::CharacterError),
}

// collision groups of fitted characters; bit 0 is everything else, those from bit 4 on are for single bodies
const ARMS: u32 = 1 << 1;
const TRUNK: u32 = 1 << 2;
const THIGHS: u32 = 1 << 3;

/// Builds a character for `skeleton` and says in notes what was assumed.
pub fn fit(skeleton: &Skeleton, options: &FitOptions) -> Result<(Character, Vec<String>), FitError> {
    check_input(skeleton, options)?;
    let mut notes = Vec::new();
    let fitter = Fitter::new(skeleton, options, &mut notes)?;
    let mut character = Character {
        name: options.name.clone(),
        bodies: fitter.parts.iter().map(|part| fitter.body(part)).collect(),
    };
    fitter.distribute_mass(&mut character);
    fitter.set_gains(&mut character);
    fitter.let_pass(&mut character, &mut notes);
    separate_overlapping(&mut character, &mut notes);
    character.validate()?;
    Ok((character, notes))
}

fn check_input(skeleton: &Skeleton, options: &FitOptions) -> Result<(), FitError> {
    let bad = |what, found, expected| Err(FitError::BadOption { what, found, expected });
    if !(options.mass > 0.0 && options.mass.is_finite()) {
        return bad("mass", options.mass, "a positive number of kilograms");
    }
    if !(options.friction >= 0.0 && options.friction.is_finite()) {
        return bad("friction", options.friction, "a number of at least 0");
    }
    if let Some(depth) = options.sole_depth.filter(|d| !(0.0..=0.5).contains(d)) {
        return bad("sole depth", depth, "0 to 0.5 m");
    }
    if skeleton.joints.is_empty() {
        return Err(FitError::Empty);
    }
    let mut names = std::collections::BTreeSet::new();
    for (j, joint) in skeleton.joints.iter().enumerate() {
        let bad = |found: String, expected: &str| {
            Err(FitError::BadJoint {
                joint: joint.name.clone(),
                found,
                expected: expected.into(),
            })
        };
        let parent_is_above = joint.parent.map_or(j == 0, |p| p < j);
        if !parent_is_above {
            return bad(
                "its parent is not above it".into(),
                "parents before children and one root",
            );
        }
        if !joint.offset.is_finite() || joint.end_sites.iter().any(|e| !e.is_finite()) {
            return bad(format!("its offset is {}", joint.offset), "finite numbers");
        }
        if (joint.rest.length() - 1.0).abs() > 1e-6 {
            return bad(format!("its rest rotation is {}", joint.rest), "a unit quaternion");
        }
        if joint.name.is_empty() {
            return bad("it has no name".into(), "a name");
        }
        if !names.insert(joint.name.as_str()) {
            return bad("another joint has the same name".into(), "unique names");
        }
    }
    Ok(())
}

/// A joint that becomes a body.
struct Part {
    joint: usize,
    /// Index of the parent body.
    parent: Option<usize>,
    side: Option<Side>,
    segment: Segment,
    /// In the bind pose, world axes.
    origin: DVec3,
    rotation: DQuat,
    /// Where its bones end, world axes: joints of child bodies, and ends and joints of what was merged into it.
    child_joints: Vec<(usize, DVec3)>,
    ends: Vec<DVec3>,
}

struct Fitter<'a> {
    skeleton: &'a Skeleton,
    options: &'a FitOptions,
    parts: Vec<Part>,
    /// From the lowest to the highest point of the bind pose, metres.
    height: f64,
    /// Height of the soles in the bind pose.
    sole: f64,
}

impl<'a> Fitter<'a> {
    fn new(skeleton: &'a Skeleton, options: &'a FitOptions, notes: &mut Vec<String>) -> Result<Fitter<'a>, FitError> {
        let mut bind = ModelPose::default();
        skeleton.model_pose(&skeleton.bind_pose(), &mut bind);
        let found = recognise(skeleton);
        // a joint that is an end itself has no bone of its own, whatever an exporter wrote behind it
        let tips = |j: usize| {
            let (x, R) = (bind.positions[j], bind.rotations[j]);
            let real = found[j].1 != Segment::End;
            skeleton.joints[j]
                .end_sites
                .iter()
                .filter(move |_| real)
                .map(move |e| x + R * *e)
        };
        let points: Vec<DVec3> = (0..skeleton.joints.len())
            .flat_map(|j| tips(j).chain([bind.positions[j]]))
            .collect();
        let span = |axis: DVec3| {
            let values = points.iter().map(|p| p.dot(axis));
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            high - low
        };
        // a creature may be longer than high
        let height = span(DVec3::Y).max(0.5 * span(DVec3::Z)).max(0.5 * span(DVec3::X));
        if !(0.1..=10.0).contains(&height) {
            let remedy = match height {
                h if (10.0..=1000.0).contains(&h) => "the file may be in centimetres; import it with --scale 0.01",
                _ => "import it with another --scale",
            };
            return Err(FitError::Size {
                height,
                remedy: remedy.into(),
            });
        }

        let body_of = merge(skeleton, &found, &bind, height, notes);
        let mut parts: Vec<Part> = Vec::new();
        let mut index = vec![usize::MAX; skeleton.joints.len()];
        for j in 0..skeleton.joints.len() {
            let x = bind.positions[j];
            let above = skeleton.joints[j].parent.map(|p| index[p]);
            if body_of[j] == j {
                index[j] = parts.len();
                if let Some(p) = above {
                    parts[p].child_joints.push((index[j], x));
                }
                parts.push(Part {
                    joint: j,
                    parent: above,
                    side: found[j].0,
                    segment: found[j].1,
                    origin: x,
                    rotation: bind.rotations[j],
                    child_joints: Vec::new(),
                    ends: Vec::new(),
                });
            } else if let Some(p) = above {
                index[j] = p;
                parts[p].ends.push(x);
            }
            parts[index[j]].ends.extend(tips(j));
        }

        let feet = |p: &&Part| matches!(p.segment, Segment::Foot | Segment::Toes);
        let lowest = parts
            .iter()
            .filter(feet)
            .flat_map(|p| p.ends.iter().copied().chain([p.origin]))
            .map(|x| x.y)
            .fold(f64::INFINITY, f64::min);
        let sole = match options.sole_depth {
            Some(depth) => lowest - depth,
            None if (0.0..0.05 * height).contains(&lowest) && lowest > 0.004 * height => 0.0,
            None => lowest - 0.012 * height,
        };
        if lowest.is_finite() {
            notes.push(format!(
                "soles {:.1} cm below the lowest joint of the feet",
                100.0 * (lowest - sole)
            ));
        } else {
            notes.push("no joint is named like a foot: the character has no soles and no foot roles".into());
        }
        for part in parts.iter().filter(|p| p.segment == Segment::Unknown) {
            let name = &skeleton.joints[part.joint].name;
            notes.push(format!(
                "`{name}` is no part of the body known by name: its mass comes from its volume"
            ));
        }
        Ok(Fitter {
            skeleton,
            options,
            parts,
            height,
            sole,
        })
    }

    fn body(&self, part: &Part) -> Body {
        let joint = &self.skeleton.joints[part.joint];
        let (offset, rest) = match part.parent.map(|p| &self.parts[p]) {
            // exactly the skeleton's numbers where no joint between was merged
            Some(parent) if joint.parent == Some(parent.joint) => (joint.offset, joint.rest),
            Some(parent) => (
                parent.rotation.conjugate() * (part.origin - parent.origin),
                (parent.rotation.conjugate() * part.rotation).normalize(),
            ),
            None => (joint.offset, joint.rest),
        };
        let role = match (part.segment, part.side) {
            (Segment::Pelvis, _) if part.parent.is_none() => Role::Pelvis,
            (Segment::Trunk, _) => Role::Trunk,
            (Segment::Head, _) => Role::Head,
            (Segment::Foot, Some(Side::Left)) => Role::LeftFoot,
            (Segment::Foot, Some(Side::Right)) => Role::RightFoot,
            (Segment::Toes, Some(Side::Left)) => Role::LeftToes,
            (Segment::Toes, Some(Side::Right)) => Role::RightToes,
            (Segment::Hand, Some(Side::Left)) => Role::LeftHand,
            (Segment::Hand, Some(Side::Right)) => Role::RightHand,
            _ => Role::Other,
        };
        let world = self.shape(part);
        let into = part.rotation.conjugate();
        Body {
            name: joint.name.clone(),
            parent: part.parent,
            role,
            offset,
            rest,
            joint: if part.parent.is_none() {
                Joint::Free
            } else {
                Joint::Ball
            },
            mass: 1.0,
            center_of_mass: DVec3::ZERO,
            inertia: DMat3::IDENTITY,
            colliders: vec![Collider {
                position: into * (world.position - part.origin),
                rotation: (into * world.rotation).normalize(),
                ..world
            }],
            material: Material {
                friction: self.options.friction,
                restitution: 0.0,
            },
            membership: 1,
            filter: u32::MAX,
            limit: Limit::None,
            torque_limit: [f64::INFINITY; 3],
            kp: [0.0; 3],
            kd: [0.0; 3],
            damping: [0.0; 3],
            armature: [0.0; 3],
        }
    }

    /// Where the bone of a part ends: at the next part of the same chain, or at the farthest of its ends.
    fn bone_end(&self, part: &Part) -> Option<DVec3> {
        let trunk = |s: Segment| matches!(s, Segment::Trunk | Segment::Neck | Segment::Head);
        let next = part
            .child_joints
            .iter()
            .find(|(c, _)| trunk(part.segment) && trunk(self.parts[*c].segment))
            .or_else(|| part.child_joints.first().filter(|_| part.child_joints.len() == 1));
        if let Some((_, x)) = next {
            return Some(*x);
        }
        if !part.child_joints.is_empty() {
            let sum: DVec3 = part.child_joints.iter().map(|(_, x)| *x).sum();
            return Some(sum / part.child_joints.len() as f64);
        }
        let reach = |x: &DVec3| (*x - part.origin).length();
        part.ends.iter().copied().max_by(|a, b| reach(a).total_cmp(&reach(b)))
    }

    /// The shape of a part in the bind pose, world axes. Widths are fractions of the height, near those of Drillis and
    /// Contini (1966).
    fn shape(&self, part: &Part) -> Collider {
        let h = self.height;
        let end = self.bone_end(part).filter(|e| (*e - part.origin).length() > 0.01 * h);
        let upright_box = |center: DVec3, half_extents: DVec3| Collider {
            shape: Shape::Box { half_extents },
            position: center,
            rotation: DQuat::IDENTITY,
        };
        match part.segment {
            Segment::Pelvis | Segment::Trunk => self.trunk_box(part, end),
            Segment::Foot | Segment::Toes => self.sole_box(part),
            Segment::Hand => {
                let end = end.unwrap_or(part.origin + self.direction_from_parent(part) * 0.1 * h);
                let along = end - part.origin;
                Collider {
                    shape: Shape::Box {
                        half_extents: DVec3::new(0.024 * h, 0.5 * along.length(), 0.009 * h),
                    },
                    position: 0.5 * (part.origin + end),
                    rotation: palm(along),
                }
            }
            _ => {
                let fallback = part.origin + self.direction_from_parent(part) * 0.04 * h;
                let width = match part.segment {
                    // two thighs side by side must not touch
                    Segment::Thigh => {
                        (0.042 * h).min(0.85 * (part.origin.x - self.parts[0].origin.x).abs().max(0.02 * h))
                    }
                    Segment::Shank => 0.026 * h,
                    Segment::UpperArm => 0.027 * h,
                    Segment::Forearm => 0.023 * h,
                    Segment::Head => 0.055 * h,
                    Segment::Neck => 0.03 * h,
                    Segment::Clavicle => 0.025 * h,
                    _ => 0.03 * h,
                };
                let end = end.unwrap_or(fallback);
                let (length, middle) = ((end - part.origin).length(), 0.5 * (part.origin + end));
                let wide = if part.segment == Segment::Head { 0.5 } else { 0.35 };
                let radius = width.min(wide * length).max(0.006 * h);
                // joints lie a little inside the caps, so that neighbours' shapes do not leave gaps
                let half_length = (0.5 * length - 0.8 * radius).max(0.0);
                if length < 1e-9 {
                    return upright_box(middle, DVec3::splat(radius));
                }
                Collider {
                    shape: Shape::Capsule { half_length, radius },
                    position: middle,
                    rotation: DQuat::from_rotation_arc(DVec3::Y, (end - part.origin) / length),
                }
            }
        }
    }

    /// A box along a part of the trunk, as wide as hips or chest.
    fn trunk_box(&self, part: &Part, end: Option<DVec3>) -> Collider {
        let h = self.height;
        let pelvis = part.segment == Segment::Pelvis;
        // the pelvis reaches from the hips to the first joint of the spine
        let joints = part.child_joints.iter().map(|(_, x)| *x);
        let points: Vec<DVec3> = if pelvis {
            joints.chain([part.origin]).collect()
        } else {
            let end = end.unwrap_or(part.origin + self.direction_from_parent(part) * 0.06 * h);
            vec![part.origin, end]
        };
        let low = points.iter().copied().reduce(DVec3::min).unwrap_or(part.origin);
        let high = points.iter().copied().reduce(DVec3::max).unwrap_or(part.origin);
        let half = 0.5 * (high - low);
        let width = if pelvis { 0.078 } else { 0.07 } * h;
        // along the spine neighbours meet without overlap; across it the trunk is at least as wide as a trunk
        let along = half.abs().to_array();
        let least = [width, 0.02 * h, 0.055 * h];
        let long_axis = (0..3).max_by(|a, b| along[*a].total_cmp(&along[*b])).unwrap_or(1);
        let mut half_extents = [0.0; 3];
        for axis in 0..3 {
            let upright = pelvis || long_axis == 1;
            half_extents[axis] = match (upright, axis == long_axis) {
                (true, _) => least[axis].max(if axis == 1 { 0.96 * along[1] } else { 0.0 }),
                (false, true) => 0.96 * along[axis],
                (false, false) => 0.06 * h,
            };
        }
        Collider {
            shape: Shape::Box {
                half_extents: DVec3::from_array(half_extents),
            },
            position: 0.5 * (low + high),
            rotation: DQuat::IDENTITY,
        }
    }

    /// A box on the ground below a foot, from the heel to the toe joint, or below the toes.
    fn sole_box(&self, part: &Part) -> Collider {
        let h = self.height;
        let end = match part.segment {
            Segment::Foot => part.child_joints.first().map(|(_, x)| *x).or(self.bone_end(part)),
            _ => self.bone_end(part),
        };
        let flat = |v: DVec3| DVec3::new(v.x, 0.0, v.z);
        let back = match (part.segment, part.parent) {
            (Segment::Toes, Some(p)) => flat(part.origin - self.parts[p].origin),
            _ => DVec3::ZERO,
        };
        let along = end.map_or(back, |e| flat(e - part.origin));
        // toes go on as the foot points, if their own end is too near to tell
        let along = if along.length() < 0.01 * h { back } else { along };
        let forward = along.try_normalize().unwrap_or(DVec3::Z);
        let reach = end.map_or(0.0, |e| flat(e - part.origin).dot(forward));
        let (from, to, height) = if part.segment == Segment::Foot {
            let ankle = part.origin.y - self.sole;
            let to = if reach > 0.02 * h { reach } else { 0.11 * h };
            (-0.035 * h, to, 0.8 * ankle)
        } else {
            (0.0, reach.max(0.035 * h), 2.0 * (part.origin.y - self.sole))
        };
        let height = height.clamp(0.01 * h, 0.05 * h);
        let middle = flat(part.origin) + forward * 0.5 * (from + to);
        Collider {
            shape: Shape::Box {
                half_extents: DVec3::new(0.025 * h, 0.5 * height, 0.5 * (to - from)),
            },
            position: DVec3::new(middle.x, self.sole + 0.5 * height, middle.z),
            rotation: DQuat::from_rotation_arc(DVec3::Z, forward),
        }
    }

    /// Captured arms hang closer to the body than capsules and boxes allow (up to 10 cm inside, in real clips), and the parts
    /// of a bending trunk press into each other: such pairs do not collide, or contacts would fight the tracking. Captured
    /// toes do not bend as toes do and dip up to 8 cm into the floor at push-off and in swing: toes below a foot touch
    /// nothing, or they would plough, and a motion that is lifted until none dips would hang in the air.
    fn let_pass(&self, character: &mut Character, notes: &mut Vec<String>) {
        for (body, part) in character.bodies.iter_mut().zip(&self.parts) {
            let (group, ignored) = match part.segment {
                Segment::UpperArm | Segment::Forearm | Segment::Hand => (ARMS, TRUNK | THIGHS),
                Segment::Pelvis | Segment::Trunk | Segment::Neck | Segment::Clavicle => (TRUNK, TRUNK | ARMS),
                Segment::Thigh => (THIGHS, ARMS),
                Segment::Toes if part.parent.is_some_and(|p| self.parts[p].segment == Segment::Foot) => {
                    body.filter = 0;
                    continue;
                }
                _ => continue,
            };
            body.membership = group;
            body.filter = !ignored;
        }
        if character.bodies.iter().any(|b| b.filter == 0) {
            notes.push("toes touch nothing: the soles end at their joints".into());
        }
        if self.parts.iter().any(|p| p.segment == Segment::UpperArm) {
            notes.push(
                "arms do not collide with the trunk and the thighs, nor parts of the trunk with each other".into(),
            );
        }
    }

    fn direction_from_parent(&self, part: &Part) -> DVec3 {
        part.parent
            .and_then(|p| (part.origin - self.parts[p].origin).try_normalize())
            .unwrap_or(DVec3::Y)
    }

    /// Masses by segment (de Leva 1996, men), by volume for what has no known name; then inertias from the shapes.
    fn distribute_mass(&self, character: &mut Character) {
        let volume = |i: usize| {
            let shape = &character.bodies[i].colliders[0].shape;
            MassProperties::of_shape(shape).map_or(0.0, |p| p.mass)
        };
        let same = |a: &Part, b: &Part| {
            let central = !matches!(a.segment, Segment::Clavicle) && b.side.is_none();
            a.segment == b.segment && (a.side == b.side || central)
        };
        let has_neck = self.parts.iter().any(|p| p.segment == Segment::Neck);
        let has_toes = self.parts.iter().any(|p| p.segment == Segment::Toes);
        let has_clavicles = self.parts.iter().any(|p| p.segment == Segment::Clavicle);
        let mut masses: Vec<f64> = Vec::with_capacity(self.parts.len());
        for (i, part) in self.parts.iter().enumerate() {
            let fraction = match part.segment {
                Segment::Pelvis => 0.1117,
                Segment::Trunk => 0.3229 - if has_clavicles { 0.03 } else { 0.0 },
                Segment::Clavicle => 0.015,
                Segment::Neck => 0.015,
                Segment::Head => 0.0694 - if has_neck { 0.015 } else { 0.0 },
                Segment::UpperArm => 0.0271,
                Segment::Forearm => 0.0162,
                Segment::Hand => 0.0061,
                Segment::Thigh => 0.1416,
                Segment::Shank => 0.0433,
                Segment::Foot => 0.0137 - if has_toes { 0.0022 } else { 0.0 },
                Segment::Toes => 0.0022,
                Segment::Finger | Segment::End | Segment::Unknown => {
                    masses.push(1000.0 * volume(i));
                    continue;
                }
            };
            // several bodies of one segment share its mass by volume
            let total: f64 = (0..self.parts.len())
                .filter(|k| same(part, &self.parts[*k]))
                .map(volume)
                .sum();
            masses.push(fraction * self.options.mass * volume(i) / total);
        }
        // nothing so light that a stiff joint would shake it
        let least = 0.002 * self.options.mass;
        masses.iter_mut().for_each(|m| *m = m.max(least));
        let scale = self.options.mass / masses.iter().sum::<f64>();
        for (body, mass) in character.bodies.iter_mut().zip(masses) {
            let mass = mass * scale;
            body.mass = mass;
            if let Some(p) = MassProperties::of_colliders(&body.colliders, mass) {
                body.center_of_mass = p.center;
                // radii of gyration of at least 1.5 % of the height
                let least = mass * (0.015 * self.height) * (0.015 * self.height);
                let missing = (least - principal_moments(p.inertia)[0]).max(0.0);
                body.inertia = p.inertia + DMat3::from_diagonal(DVec3::splat(missing));
            }
        }
    }

    /// Gains of the humanoid (`data/characters/humanoid.toml`) scaled by mass and height; where the name says nothing, twenty
    /// times what holds the limb against gravity. Torque limits are half as large again as the humanoid's: a fit must not keep
    /// a real motion from being tracked.
    fn set_gains(&self, character: &mut Character) {
        let carried = carried_moments(character);
        let scale = self.options.mass * self.height / (70.0 * 1.7);
        for ((body, part), moment) in character.bodies.iter_mut().zip(&self.parts).zip(carried) {
            if part.parent.is_none() {
                continue;
            }
            let (kp, damping_time, torque) = match part.segment {
                Segment::Trunk | Segment::Pelvis => (1000.0, 0.1, 450.0),
                Segment::Neck | Segment::Head => (100.0, 0.1, 75.0),
                Segment::Clavicle | Segment::UpperArm => (400.0, 0.1, 150.0),
                Segment::Forearm => (300.0, 0.1, 120.0),
                Segment::Hand => (50.0, 0.1, 30.0),
                Segment::Thigh | Segment::Shank => (1500.0, 0.1, 400.0),
                Segment::Foot => (1500.0, 0.1, 300.0),
                Segment::Toes => (60.0, 0.05, 60.0),
                Segment::Finger | Segment::End | Segment::Unknown => {
                    let kp = (20.0 * moment / scale).clamp(10.0, 1500.0);
                    (kp, 0.1, 0.4 * kp)
                }
            };
            body.kp = [kp * scale; 3];
            body.kd = [kp * scale * damping_time; 3];
            body.torque_limit = [torque * scale; 3];
            body.damping = [0.05 * scale; 3];
            if body.mass < 0.015 * self.options.mass {
                body.armature = [0.002 * scale; 3];
            }
        }
    }
}

/// Turns +Y to the direction of a hand's bone with the palm's thin side up or down as far as it goes.
fn palm(along: DVec3) -> DQuat {
    let y = along.normalize_or(DVec3::Y);
    let up = if y.y.abs() < 0.9 { DVec3::Y } else { DVec3::X };
    let z = (up - y * up.dot(y)).normalize();
    DQuat::from_mat3(&DMat3::from_cols(y.cross(z), y, z)).normalize()
}

/// Which body each joint belongs to: its own, or that of the nearest ancestor that has one.
fn merge(
    skeleton: &Skeleton,
    found: &[(Option<Side>, Segment)],
    bind: &ModelPose,
    height: f64,
    notes: &mut Vec<String>,
) -> Vec<usize> {
    let n = skeleton.joints.len();
    // distance from each joint to the farthest joint or end below it, and whether any joint with a body is below
    let mut reach = vec![0.0f64; n];
    let mut below = vec![false; n];
    let mut keep = vec![true; n];
    for j in (1..n).rev() {
        let joint = &skeleton.joints[j];
        for end in &joint.end_sites {
            reach[j] = reach[j].max(end.length());
        }
        let bone = (0..n).filter(|k| skeleton.joints[*k].parent == Some(j));
        let bone = bone
            .map(|k| (bind.positions[k] - bind.positions[j]).length())
            .fold(0.0, f64::max);
        reach[j] = reach[j].max(bone);
        let short = reach[j] < 0.012 * height;
        let known = !matches!(found[j].1, Segment::Unknown | Segment::Finger | Segment::End);
        keep[j] = match found[j].1 {
            Segment::Finger => false,
            // hands, feet and toes may end without an end site; their size is known
            _ if !below[j] && known => true,
            Segment::End => false,
            _ => !short,
        };
        if let Some(p) = joint.parent {
            below[p] |= keep[j] || below[j];
        }
    }
    let mut body_of: Vec<usize> = Vec::with_capacity(n);
    let mut merged = String::new();
    let mut count = 0;
    for (j, joint) in skeleton.joints.iter().enumerate() {
        body_of.push(match joint.parent {
            Some(p) if !keep[j] => {
                count += 1;
                let _ = write!(merged, "{}{}", if count > 1 { ", " } else { "" }, joint.name);
                body_of[p]
            }
            _ => j,
        });
    }
    if count > 0 {
        notes.push(format!(
            "{count} joints are part of their parents' bodies (fingers, ends, short bones): {merged}"
        ));
    }
    body_of
}

/// Lets bodies that reach into each other in the bind pose, or almost do, pass through each other.
fn separate_overlapping(character: &mut Character, notes: &mut Vec<String>) {
    let pairs = character.overlaps(&character.bind_frames());
    let mut bit_of: Vec<Option<u32>> = vec![None; character.bodies.len()];
    let mut next = 4u32;
    let mut names = Vec::new();
    for (a, b, _) in pairs {
        for i in [a, b] {
            if bit_of[i].is_none() {
                // more than 28 such bodies share the last group
                bit_of[i] = Some(next.min(31));
                next += 1;
            }
        }
        if let (Some(bit_a), Some(bit_b)) = (bit_of[a], bit_of[b]) {
            character.bodies[a].filter &= !(1 << bit_b);
            character.bodies[b].filter &= !(1 << bit_a);
        }
        names.push(format!("{}/{}", character.bodies[a].name, character.bodies[b].name));
    }
    for (i, bit) in bit_of.iter().enumerate() {
        let Some(bit) = bit else { continue };
        // who ignored the body's group goes on ignoring it
        let group = std::mem::replace(&mut character.bodies[i].membership, 1 << bit);
        for other in &mut character.bodies {
            if other.filter & group == 0 {
                other.filter &= !(1 << bit);
            }
        }
    }
    if !names.is_empty() {
        notes.push(format!(
            "pairs that overlap in the bind pose do not collide: {}",
            names.join(", ")
        ));
    }
}
