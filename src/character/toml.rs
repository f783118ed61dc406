//! The character file: TOML, `format = 1`. Every key is described in `data/characters/README.md`.
//!
//! A person writes places and directions as they are in the bind pose (Y up, facing +Z, left at +X, soles at y = 0);
//! the resolved [`Character`] has them in body frames. `coordinates = "local"` says that the file has them in body
//! frames already, as files written by [`Character::to_toml`](super::Character::to_toml) do.

use std::path::Path;

use glam::{DMat3, DQuat, DVec3};
use toml::Spanned;

use super::format::{Coordinates, FORMAT, PerAxis, RawBody, RawFile, RawJoint};
use super::mass_properties::MassProperties;
use super::mirror::{mirror_body, mirrored_name};
use super::place::{BodyFrame, collider, not_a_rotation, unit_quaternion};
use super::{Body, Character, Collider, Joint, Limit, Material};
use crate::files::{self, FileError, TomlError};

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
    /// About `key`, or its form in degrees, of the table that starts at byte `table`.
    fn error(&self, table: usize, key: &str, message: impl Into<String>) -> TomlError {
        let message = message.into();
        let at = |key: &str| files::error_in_table(self.text, self.source_name, table, key, message.as_str());
        let (exact, degrees) = (at(key), at(&format!("{key}_deg")));
        if degrees.line > exact.line { degrees } else { exact }
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
            let table = drafts
                .iter()
                .rev()
                .find(|d| d.body.name == e.body)
                .map_or(0, |d| d.table);
            let key = e.key.split('.').next().unwrap_or(e.key);
            self.error(table, key, format!("is {}; expected {}", e.found, e.expected))
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
                            suggestion: crate::names::nearest(name.get_ref(), known).map(str::to_string),
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
                    suggestion: crate::names::nearest(name, names.iter().flatten().map(String::as_str))
                        .map(str::to_string),
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

#[cfg(test)]
mod tests {
    use super::*;

    const PENDULUM: &str = r#"format = 1
name = "pendulum"

[[body]]
name = "post"
joint = "fixed"
position = [0, 2, 0]
shapes = [{ box = [0.1, 0.1, 0.1], at = [0, 2, 0] }]
mass = 1

[[body]]
name = "arm"
parent = "post"
joint = "hinge"
axis = [1, 0, 0]
position = [0, 1.9, 0]
shapes = [{ capsule = [[0, 1.8, 0], [0, 1.2, 0]], radius = 0.04 }]
mass = 2
kp = 30
range_deg = [-90, 45]
"#;

    fn refused(from: &str, to: &str) -> TomlError {
        assert!(PENDULUM.contains(from));
        Character::parse(&PENDULUM.replacen(from, to, 1), "p.toml").unwrap_err()
    }

    #[test]
    fn what_is_written_in_the_bind_pose_is_resolved_into_body_frames() {
        // places relative to the joint, angles in radians, inertia from the shape
        let character = Character::parse(PENDULUM, "p.toml").unwrap();
        let arm = &character.bodies[1];
        assert!((arm.offset - DVec3::new(0.0, -0.1, 0.0)).length() < 1e-12);
        assert!((arm.center_of_mass - DVec3::new(0.0, -0.4, 0.0)).length() < 1e-12);
        let Limit::Range([[low, high], _]) = arm.limit else {
            panic!()
        };
        assert!(
            (low + std::f64::consts::FRAC_PI_2).abs() < 1e-15 && (high - std::f64::consts::FRAC_PI_4).abs() < 1e-15
        );
        assert_eq!((arm.kp, arm.torque_limit[0]), ([30.0, 0.0, 0.0], f64::INFINITY));
        // a rod of 0.68 m and 2 kg, roughly
        assert!((0.05..0.08).contains(&arm.inertia.x_axis.x) && arm.inertia.y_axis.y < 0.002);
    }

    #[test]
    fn mistakes_are_found_at_their_line_with_the_name_that_was_meant() {
        // typing, sense and physics: each error names file, line, key and what to write
        for (from, to, line, key, suggestion, words) in [
            ("kp = 30", "kpp = 30", 19, "body[1].kpp", Some("kp"), "unknown field"),
            (
                "joint = \"hinge\"",
                "joint = \"hing\"",
                14,
                "body[1].joint",
                Some("hinge"),
                "unknown variant",
            ),
            (
                "parent = \"post\"",
                "parent = \"past\"",
                13,
                "body[1].parent",
                Some("post"),
                "no body `past`",
            ),
            ("mass = 2", "mass = -2", 18, "body[1].mass", None, "positive"),
            ("mass = 2", "mass = nan", 18, "body[1].mass", None, "NaN"),
            ("axis = [1, 0, 0]", "", 11, "body[1].axis", None, "a hinge needs `axis`"),
            (
                "axis = [1, 0, 0]",
                "axis = [0, 0, 0]",
                15,
                "body[1].axis",
                None,
                "direction",
            ),
            ("kp = 30", "kp = [1, 2]", 19, "body[1].kp", None, "has 2 numbers"),
            (
                "kp = 30",
                "kp = \"stiff\"",
                19,
                "body[1].kp",
                None,
                "a number or a list",
            ),
            (
                "range_deg = [-90, 45]",
                "range_deg = [45, -90]",
                20,
                "body[1].range_deg",
                None,
                "lower bound",
            ),
            (", radius = 0.04", "", 17, "body[1].shapes", None, "`radius` is missing"),
            ("format = 1", "format = 7", 1, "format", None, "reads format 1"),
            (
                "name = \"arm\"",
                "name = \"post\"",
                12,
                "body[1].name",
                None,
                "a second time",
            ),
            ("mass = 1", "", 4, "body[0].mass", None, "is missing"),
            (
                "kp = 30",
                "ignores = [\"amrs\"]",
                19,
                "body[1].ignores",
                None,
                "no body is in a group",
            ),
        ] {
            let error = refused(from, to);
            assert_eq!((error.line, error.suggestion.as_deref()), (line, suggestion), "{error}");
            assert_eq!(error.key.as_deref(), Some(key), "{error}");
            assert!(
                error.to_string().starts_with("p.toml:") && error.message.contains(words),
                "{error}"
            );
        }
    }

    #[test]
    fn collision_groups_are_named_and_parents_never_touch_children() {
        // `ignores` takes away, `collides_with` allows only what it lists
        let text = PENDULUM.replace("kp = 30", "groups = [\"arms\"]\nignores = [\"default\"]");
        let character = Character::parse(&text, "p.toml").unwrap();
        assert_eq!((character.bodies[1].membership, character.bodies[1].filter), (2, !1));
        assert!(!character.may_collide(0, 1));
    }
}
