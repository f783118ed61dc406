//! The character file: TOML, `format = 1`. Every key is described in `data/characters/README.md`.
//!
//! A person writes places and directions as they are in the bind pose (Y up, facing +Z, left at +X, soles at y = 0);
//! the resolved [`Character`] has them in body frames. `coordinates = "local"` says that the file has them in body
//! frames already, as files written by [`Character::to_toml`](super::Character::to_toml) do.

use std::fmt;
use std::path::Path;

use glam::{DMat3, DQuat, DVec3};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::mass_properties::MassProperties;
use super::{Body, Character, Collider, Joint, Limit, Material, Role, Shape};
use crate::files::{self, FileError, TomlError};

/// The only format there is so far.
pub const FORMAT: i64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    format: Spanned<i64>,
    name: String,
    #[serde(default)]
    coordinates: Coordinates,
    #[serde(default)]
    mirror: bool,
    #[serde(default)]
    defaults: RawDefaults,
    #[serde(default)]
    body: Vec<Spanned<RawBody>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Default)]
#[serde(rename_all = "snake_case")]
enum Coordinates {
    #[default]
    BindPose,
    Local,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawDefaults {
    density: Option<f64>,
    friction: Option<f64>,
    restitution: Option<f64>,
    torque_limit: Option<f64>,
    kp: Option<f64>,
    kd: Option<f64>,
    damping: Option<f64>,
    armature: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBody {
    name: Spanned<String>,
    parent: Option<Spanned<String>>,
    #[serde(default)]
    role: Role,
    joint: RawJoint,
    axis: Option<[f64; 3]>,
    axes: Option<[[f64; 3]; 2]>,
    position: [f64; 3],
    frame: Option<[f64; 4]>,
    mass: Option<f64>,
    density: Option<f64>,
    center_of_mass: Option<[f64; 3]>,
    /// xx, yy, zz, and optionally xy, xz, yz.
    inertia: Option<Spanned<Vec<f64>>>,
    #[serde(default)]
    shapes: Vec<Spanned<RawShape>>,
    range: Option<[f64; 2]>,
    range_deg: Option<[f64; 2]>,
    range2: Option<[f64; 2]>,
    range2_deg: Option<[f64; 2]>,
    swing_twist: Option<Spanned<RawSwingTwist>>,
    torque_limit: Option<PerAxis>,
    kp: Option<PerAxis>,
    kd: Option<PerAxis>,
    damping: Option<PerAxis>,
    armature: Option<PerAxis>,
    friction: Option<f64>,
    restitution: Option<f64>,
    groups: Option<Vec<String>>,
    ignores: Option<Vec<String>>,
    collides_with: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum RawJoint {
    Free,
    Planar,
    Fixed,
    Hinge,
    Universal,
    Ball,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSwingTwist {
    axis: [f64; 3],
    center: Option<[f64; 4]>,
    center_deg: Option<[f64; 3]>,
    swing: Option<f64>,
    swing_deg: Option<f64>,
    twist: Option<[f64; 2]>,
    twist_deg: Option<[f64; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawShape {
    #[serde(rename = "box")]
    half_extents: Option<[f64; 3]>,
    capsule: Option<[[f64; 3]; 2]>,
    capsule_half_length: Option<f64>,
    sphere: Option<f64>,
    hull: Option<Vec<[f64; 3]>>,
    radius: Option<f64>,
    at: Option<[f64; 3]>,
    rotation: Option<[f64; 4]>,
}

/// One number for every axis, or a list with one per axis.
struct PerAxis(Vec<f64>);

impl<'de> Deserialize<'de> for PerAxis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrList;
        impl<'de> Visitor<'de> for NumberOrList {
            type Value = PerAxis;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or a list of one number per axis")
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<PerAxis, E> {
                Ok(PerAxis(vec![v]))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<PerAxis, E> {
                Ok(PerAxis(vec![v as f64]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PerAxis, A::Error> {
                let mut values = Vec::new();
                while let Some(v) = seq.next_element::<f64>()? {
                    values.push(v);
                }
                Ok(PerAxis(values))
            }
        }
        deserializer.deserialize_any(NumberOrList)
    }
}

impl Character {
    /// Reads a character file and validates it.
    pub fn load(path: &Path) -> Result<Character, FileError> {
        Ok(Character::parse(&files::read_text(path)?, &path.display().to_string())?)
    }

    /// Parses the text of a character file and validates it; `source_name` is what errors call it.
    pub fn parse(text: &str, source_name: &str) -> Result<Character, TomlError> {
        let file: RawFile = files::parse_toml(text, source_name)?;
        let reader = Reader {
            text,
            source_name,
            file: &file,
        };
        reader.character()
    }
}

/// A body under construction: what is known before all names are.
#[derive(Clone)]
struct Draft {
    body: Body,
    /// Byte offset of the body's table in the text.
    table: usize,
    groups: Vec<String>,
    ignores: Option<Vec<String>>,
    collides_with: Option<Vec<String>>,
}

struct Reader<'a> {
    text: &'a str,
    source_name: &'a str,
    file: &'a RawFile,
}

impl Reader<'_> {
    fn error(&self, table: usize, key: &str, message: impl Into<String>) -> TomlError {
        files::error_in_table(self.text, self.source_name, table, key, message)
    }

    fn character(&self) -> Result<Character, TomlError> {
        if *self.file.format.get_ref() != FORMAT {
            let message = format!("is {}; this version reads format {FORMAT}", self.file.format.get_ref());
            let at = self.file.format.span().start;
            return Err(files::error_at(self.text, self.source_name, at, message));
        }
        let mut drafts: Vec<Draft> = Vec::new();
        // joint frames in the bind pose, world axes
        let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
        for raw in &self.file.body {
            let draft = self.draft(raw, &drafts, &mut frames)?;
            drafts.push(draft);
        }
        if self.file.mirror {
            drafts = self.mirror(drafts)?;
        }
        self.assign_groups(&mut drafts)?;
        let character = Character {
            name: self.file.name.clone(),
            bodies: drafts.iter().map(|d| d.body.clone()).collect(),
        };
        character.validate().map_err(|e| {
            let table = drafts.iter().find(|d| d.body.name == e.body).map_or(0, |d| d.table);
            let key = e.key.split('.').next().unwrap_or(e.key);
            self.error(table, key, e.to_string())
        })?;
        Ok(character)
    }

    fn draft(
        &self,
        spanned: &Spanned<RawBody>,
        above: &[Draft],
        frames: &mut Vec<(DVec3, DQuat)>,
    ) -> Result<Draft, TomlError> {
        let table = spanned.span().start;
        let raw = spanned.get_ref();
        let defaults = &self.file.defaults;
        let fail = |key: &str, message: String| self.error(table, key, message);

        let parent = match &raw.parent {
            None => None,
            Some(name) => Some(
                above
                    .iter()
                    .position(|d| d.body.name == *name.get_ref())
                    .ok_or_else(|| {
                        let known = above.iter().map(|d| d.body.name.as_str());
                        TomlError {
                            suggestion: files::nearest(name.get_ref(), known).map(str::to_string),
                            ..fail(
                                "parent",
                                format!("no body `{}` is defined above this one", name.get_ref()),
                            )
                        }
                    })?,
            ),
        };

        // the joint's frame in the bind pose, and in its parent's
        let position = DVec3::from_array(raw.position);
        let given = match raw.frame {
            Some(q) => unit_quaternion(q).ok_or_else(|| fail("frame", not_a_rotation(q)))?,
            None => DQuat::IDENTITY,
        };
        let local = self.file.coordinates == Coordinates::Local;
        let (offset, rest) = match parent.map(|p| frames[p]) {
            Some((x, R)) if !local => (R.conjugate() * (position - x), R.conjugate() * given),
            _ => (position, given),
        };
        frames.push((position, given));
        let (x_body, R_body) = if local {
            (DVec3::ZERO, DQuat::IDENTITY)
        } else {
            (position, given)
        };
        let into = BodyFrame { x_body, R_body };

        let joint = self.joint(raw, table, &into)?;
        let mut colliders = Vec::with_capacity(raw.shapes.len());
        for shape in &raw.shapes {
            let at = shape.span().start;
            colliders.push(
                collider(shape.get_ref(), &into)
                    .map_err(|message| files::error_at(self.text, self.source_name, at, message))?,
            );
        }
        let MassProperties { mass, center, inertia } = self.mass_properties(raw, table, &colliders, &into)?;

        let dofs = if parent.is_some() {
            joint.dofs()
        } else {
            joint.dofs().min(3)
        };
        let per_axis = |key: &str, values: &Option<PerAxis>, default: Option<f64>, unused: f64| {
            let PerAxis(values) = match values {
                Some(v) => v,
                None => &PerAxis(vec![default.unwrap_or(unused)]),
            };
            let mut axes = [unused; 3];
            match values[..] {
                [v] => axes[..dofs].fill(v),
                [a, b, c] => axes = [a, b, c],
                [a, b] if dofs == 2 => axes[..2].copy_from_slice(&[a, b]),
                _ => {
                    let n = values.len();
                    return Err(fail(
                        key,
                        format!("has {n} numbers; expected one, or one per axis ({dofs})"),
                    ));
                }
            }
            Ok(axes)
        };
        let actuated = !matches!(joint, Joint::Free | Joint::Planar | Joint::Fixed);
        let default = |v: Option<f64>| if actuated { v } else { None };
        let body = Body {
            name: raw.name.get_ref().clone(),
            parent,
            role: raw.role,
            offset,
            rest,
            joint,
            mass,
            center_of_mass: center,
            inertia,
            colliders,
            material: Material {
                friction: raw
                    .friction
                    .or(defaults.friction)
                    .unwrap_or(Material::default().friction),
                restitution: raw
                    .restitution
                    .or(defaults.restitution)
                    .unwrap_or(Material::default().restitution),
            },
            membership: 1,
            filter: u32::MAX,
            limit: self.limit(raw, table, &into)?,
            torque_limit: per_axis(
                "torque_limit",
                &raw.torque_limit,
                default(defaults.torque_limit),
                f64::INFINITY,
            )?,
            kp: per_axis("kp", &raw.kp, default(defaults.kp), 0.0)?,
            kd: per_axis("kd", &raw.kd, default(defaults.kd), 0.0)?,
            damping: per_axis("damping", &raw.damping, default(defaults.damping), 0.0)?,
            armature: per_axis("armature", &raw.armature, default(defaults.armature), 0.0)?,
        };
        if raw.ignores.is_some() && raw.collides_with.is_some() {
            return Err(fail(
                "ignores",
                "and `collides_with` are both given; expected one of them".into(),
            ));
        }
        Ok(Draft {
            body,
            table,
            groups: raw.groups.clone().unwrap_or_else(|| vec!["default".into()]),
            ignores: raw.ignores.clone(),
            collides_with: raw.collides_with.clone(),
        })
    }

    fn joint(&self, raw: &RawBody, table: usize, into: &BodyFrame) -> Result<Joint, TomlError> {
        let direction = |key: &str, v: [f64; 3]| {
            into.direction(v)
                .ok_or_else(|| self.error(table, key, format!("is {v:?}; expected a direction")))
        };
        let joint = match (raw.joint, raw.axis, raw.axes) {
            (RawJoint::Hinge, Some(axis), None) => Joint::Hinge {
                axis: direction("axis", axis)?,
            },
            (RawJoint::Universal, None, Some([a, b])) => Joint::Universal {
                axes: [direction("axes", a)?, direction("axes", b)?],
            },
            (RawJoint::Hinge, _, _) => return Err(self.error(table, "axis", "a hinge needs `axis` and no `axes`")),
            (RawJoint::Universal, _, _) => {
                return Err(self.error(table, "axes", "a universal joint needs `axes` and no `axis`"));
            }
            (RawJoint::Free, None, None) => Joint::Free,
            (RawJoint::Planar, None, None) => Joint::Planar,
            (RawJoint::Fixed, None, None) => Joint::Fixed,
            (RawJoint::Ball, None, None) => Joint::Ball,
            (_, axis, _) => {
                let key = if axis.is_some() { "axis" } else { "axes" };
                return Err(self.error(table, key, "only hinge and universal joints have axes"));
            }
        };
        Ok(joint)
    }

    fn limit(&self, raw: &RawBody, table: usize, into: &BodyFrame) -> Result<Limit, TomlError> {
        let fail = |key: &str, message: &str| Err(self.error(table, key, message));
        let range = |radians: Option<[f64; 2]>, degrees: Option<[f64; 2]>| match (radians, degrees) {
            (Some(_), Some(_)) => Err(self.error(
                table,
                "range",
                "is given in radians and in degrees; expected one of them",
            )),
            (None, Some(d)) => Ok(Some(d.map(f64::to_radians))),
            (r, None) => Ok(r),
        };
        let first = range(raw.range, raw.range_deg)?;
        let second = range(raw.range2, raw.range2_deg)?;
        if second.is_some() && raw.joint != RawJoint::Universal {
            return fail(
                "range2_deg",
                "is the range of a universal joint's second angle; this joint has none",
            );
        }
        if raw.joint == RawJoint::Universal && first.is_some() != second.is_some() {
            return fail(
                "range_deg",
                "and `range2_deg` belong together: a universal joint has two angles",
            );
        }
        match (first, &raw.swing_twist) {
            (None, None) => Ok(Limit::None),
            (Some(first), None) => Ok(Limit::Range([first, second.unwrap_or_default()])),
            (Some(_), Some(_)) => fail("swing_twist", "and a range are both given; expected one of them"),
            (None, Some(spanned)) => {
                let st = spanned.get_ref();
                let center = match (st.center, st.center_deg) {
                    (None, None) => DQuat::IDENTITY,
                    (Some(q), None) => match unit_quaternion(q) {
                        Some(q) => into.rotation(q),
                        None => return fail("swing_twist", &format!("`center` {}", not_a_rotation(q))),
                    },
                    (None, Some(v)) => {
                        let v = DVec3::from_array(v.map(f64::to_radians));
                        into.rotation(crate::math::rotation::exp(v))
                    }
                    _ => return fail("swing_twist", "has `center` and `center_deg`; expected one of them"),
                };
                let swing = match (st.swing, st.swing_deg) {
                    (Some(swing), None) => swing,
                    (None, Some(degrees)) => degrees.to_radians(),
                    _ => return fail("swing_twist", "needs one of `swing_deg` and `swing` (radians)"),
                };
                let twist = match (st.twist, st.twist_deg) {
                    (Some(twist), None) => twist,
                    (None, Some(degrees)) => degrees.map(f64::to_radians),
                    _ => return fail("swing_twist", "needs one of `twist_deg` and `twist` (radians)"),
                };
                let Some(axis) = into.direction(st.axis) else {
                    return fail("swing_twist", "`axis` must be the direction of the bone");
                };
                Ok(Limit::SwingTwist {
                    axis,
                    center,
                    swing,
                    twist,
                })
            }
        }
    }

    fn mass_properties(
        &self,
        raw: &RawBody,
        table: usize,
        colliders: &[Collider],
        into: &BodyFrame,
    ) -> Result<MassProperties, TomlError> {
        let volume = MassProperties::of_colliders(colliders, 1.0);
        let mass = match (raw.mass, raw.density) {
            (Some(_), Some(_)) => {
                return Err(self.error(table, "density", "and `mass` are both given; expected one of them"));
            }
            (Some(mass), None) => mass,
            (None, density) => {
                let volume: Option<f64> = colliders
                    .iter()
                    .map(|c| MassProperties::of_shape(&c.shape).map(|p| p.mass))
                    .sum();
                match (density.or(self.file.defaults.density), volume) {
                    (Some(density), Some(volume)) if volume > 0.0 => density * volume,
                    _ => {
                        return Err(self.error(
                            table,
                            "mass",
                            "is missing; expected `mass`, or `density` and a shape with a volume",
                        ));
                    }
                }
            }
        };
        let center = match (raw.center_of_mass, volume) {
            (Some(c), _) => into.point(c),
            (None, Some(v)) => v.center,
            (None, None) => {
                return Err(self.error(
                    table,
                    "center_of_mass",
                    "is missing, and there is no shape to take it from",
                ));
            }
        };
        let inertia = match (&raw.inertia, volume) {
            (Some(values), _) => {
                let i = values.get_ref();
                let [xx, yy, zz, xy, xz, yz] = match i[..] {
                    [xx, yy, zz] => [xx, yy, zz, 0.0, 0.0, 0.0],
                    [xx, yy, zz, xy, xz, yz] => [xx, yy, zz, xy, xz, yz],
                    _ => {
                        let message = format!("has {} numbers; expected xx, yy, zz and perhaps xy, xz, yz", i.len());
                        return Err(self.error(table, "inertia", message));
                    }
                };
                let given = DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz));
                into.tensor(given)
            }
            (None, Some(v)) => v.inertia * mass,
            (None, None) => {
                return Err(self.error(table, "inertia", "is missing, and there is no shape to take it from"));
            }
        };
        Ok(MassProperties { mass, center, inertia })
    }

    /// Adds `right_x` for every `left_x`: after each run of left bodies come their mirror images.
    fn mirror(&self, drafts: Vec<Draft>) -> Result<Vec<Draft>, TomlError> {
        let mut all: Vec<Draft> = Vec::with_capacity(2 * drafts.len());
        let mut run: Vec<Draft> = Vec::new();
        let names: Vec<String> = drafts.iter().map(|d| d.body.name.clone()).collect();
        let find = |all: &[Draft], name: &str| all.iter().position(|d| d.body.name == name);
        let finish = |all: &mut Vec<Draft>, run: &mut Vec<Draft>| -> Result<(), TomlError> {
            for mut draft in run.drain(..) {
                let parent = draft.body.parent.map(|p| &all[p].body);
                if let Some(p) = parent.filter(|p| !p.name.starts_with("left_") && (p.rest.y != 0.0 || p.rest.z != 0.0))
                {
                    let message = format!(
                        "cannot be mirrored: `{}` has a frame turned out of the YZ plane",
                        p.name
                    );
                    return Err(self.error(draft.table, "parent", message));
                }
                let parent_name = parent.map(|p| mirrored_name(&p.name));
                mirror_body(&mut draft.body);
                draft.body.parent = parent_name.and_then(|name| find(all, &name));
                for list in [
                    Some(&mut draft.groups),
                    draft.ignores.as_mut(),
                    draft.collides_with.as_mut(),
                ] {
                    list.into_iter().flatten().for_each(|g| *g = mirrored_name(g));
                }
                all.push(draft);
            }
            Ok(())
        };
        for mut draft in drafts {
            if !draft.body.name.starts_with("left_") {
                finish(&mut all, &mut run)?;
            }
            draft.body.parent = draft.body.parent.and_then(|p| find(&all, &names[p]));
            if draft.body.name.starts_with("left_") {
                run.push(draft.clone());
            }
            all.push(draft);
        }
        finish(&mut all, &mut run)?;
        Ok(all)
    }

    /// Gives every group name a bit, in order of appearance; `default` is bit 0 and `bitN` bit N.
    fn assign_groups(&self, drafts: &mut [Draft]) -> Result<(), TomlError> {
        let mut names: Vec<Option<String>> = vec![None; 32];
        names[0] = Some("default".into());
        let numbered = |name: &str| {
            name.strip_prefix("bit")
                .and_then(|n| n.parse::<usize>().ok())
                .filter(|n| *n < 32)
        };
        for draft in drafts.iter() {
            for name in &draft.groups {
                if let Some(bit) = numbered(name) {
                    names[bit].get_or_insert_with(|| name.clone());
                }
            }
        }
        for draft in drafts.iter() {
            for name in &draft.groups {
                if numbered(name).is_some() || names.iter().flatten().any(|n| n == name) {
                    continue;
                }
                match names.iter().position(Option::is_none) {
                    Some(bit) => names[bit] = Some(name.clone()),
                    None => return Err(self.error(draft.table, "groups", "more than 32 collision groups")),
                }
            }
        }
        let bits = |draft: &Draft, key: &str, list: &[String]| {
            list.iter().try_fold(0u32, |bits, name| {
                let bit = numbered(name).or_else(|| names.iter().position(|n| n.as_ref() == Some(name)));
                bit.map(|bit| bits | 1 << bit).ok_or_else(|| TomlError {
                    suggestion: files::nearest(name, names.iter().flatten().map(String::as_str)).map(str::to_string),
                    ..self.error(draft.table, key, format!("no body is in a group `{name}`"))
                })
            })
        };
        for draft in drafts {
            draft.body.membership = bits(draft, "groups", &draft.groups)?;
            draft.body.filter = match (&draft.ignores, &draft.collides_with) {
                (Some(list), _) => !bits(draft, "ignores", list)?,
                (None, Some(list)) => bits(draft, "collides_with", list)?,
                (None, None) => u32::MAX,
            };
        }
        Ok(())
    }
}

/// Takes what the file says into the frame of the body it says it about.
struct BodyFrame {
    x_body: DVec3,
    R_body: DQuat,
}

impl BodyFrame {
    fn point(&self, p: [f64; 3]) -> DVec3 {
        self.R_body.conjugate() * (DVec3::from_array(p) - self.x_body)
    }

    fn vector(&self, v: [f64; 3]) -> DVec3 {
        self.R_body.conjugate() * DVec3::from_array(v)
    }

    fn direction(&self, v: [f64; 3]) -> Option<DVec3> {
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
    fn rotation(&self, q: DQuat) -> DQuat {
        self.R_body.conjugate() * q * self.R_body
    }

    fn tensor(&self, inertia: DMat3) -> DMat3 {
        if self.R_body == DQuat::IDENTITY {
            return inertia;
        }
        let R = DMat3::from_quat(self.R_body);
        let turned = R.transpose() * inertia * R;
        (turned + turned.transpose()) * 0.5
    }
}

/// Unit up to typing; what is unit to rounding keeps its bits.
fn unit_quaternion([x, y, z, w]: [f64; 4]) -> Option<DQuat> {
    let q = DQuat::from_xyzw(x, y, z, w);
    let length = q.length();
    match length {
        l if (l - 1.0).abs() < 1e-14 => Some(q),
        l if (l - 1.0).abs() < 1e-2 => Some(q.normalize()),
        _ => None,
    }
}

fn not_a_rotation(q: [f64; 4]) -> String {
    format!("is {q:?}; expected a unit quaternion [x, y, z, w]")
}

fn collider(raw: &RawShape, into: &BodyFrame) -> Result<Collider, String> {
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

fn mirrored_name(name: &str) -> String {
    match name.strip_prefix("left_") {
        Some(rest) => format!("right_{rest}"),
        None => name.to_string(),
    }
}

/// Mirror image of a body in the plane x = 0: true vectors change the sign of x, axes of rotation that of y and z.
fn mirror_body(body: &mut Body) {
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
