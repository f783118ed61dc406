//! The keys of a character file, as they are written. `data/characters/README.md` describes each.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::Role;

/// The only format there is so far.
pub const FORMAT: i64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) format: Spanned<i64>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) coordinates: Coordinates,
    #[serde(default)]
    pub(super) mirror: bool,
    #[serde(default)]
    pub(super) defaults: RawDefaults,
    #[serde(default)]
    pub(super) body: Vec<Spanned<RawBody>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum Coordinates {
    #[default]
    BindPose,
    Local,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDefaults {
    pub(super) density: Option<f64>,
    pub(super) friction: Option<f64>,
    pub(super) restitution: Option<f64>,
    pub(super) torque_limit: Option<f64>,
    pub(super) kp: Option<f64>,
    pub(super) kd: Option<f64>,
    pub(super) damping: Option<f64>,
    pub(super) armature: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBody {
    pub(super) name: Spanned<String>,
    pub(super) parent: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) role: Role,
    pub(super) joint: RawJoint,
    pub(super) axis: Option<[f64; 3]>,
    pub(super) axes: Option<[[f64; 3]; 2]>,
    pub(super) position: [f64; 3],
    pub(super) frame: Option<[f64; 4]>,
    pub(super) mass: Option<f64>,
    pub(super) density: Option<f64>,
    pub(super) center_of_mass: Option<[f64; 3]>,
    /// xx, yy, zz, and optionally xy, xz, yz.
    pub(super) inertia: Option<Spanned<Vec<f64>>>,
    #[serde(default)]
    pub(super) shapes: Vec<Spanned<RawShape>>,
    pub(super) range: Option<[f64; 2]>,
    pub(super) range_deg: Option<[f64; 2]>,
    pub(super) range2: Option<[f64; 2]>,
    pub(super) range2_deg: Option<[f64; 2]>,
    pub(super) swing_twist: Option<Spanned<RawSwingTwist>>,
    pub(super) torque_limit: Option<PerAxis>,
    pub(super) kp: Option<PerAxis>,
    pub(super) kd: Option<PerAxis>,
    pub(super) damping: Option<PerAxis>,
    pub(super) armature: Option<PerAxis>,
    pub(super) friction: Option<f64>,
    pub(super) restitution: Option<f64>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) ignores: Option<Vec<String>>,
    pub(super) collides_with: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawJoint {
    Free,
    Planar,
    Fixed,
    Hinge,
    Universal,
    Ball,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSwingTwist {
    pub(super) axis: [f64; 3],
    pub(super) center: Option<[f64; 4]>,
    pub(super) center_deg: Option<[f64; 3]>,
    pub(super) swing: Option<f64>,
    pub(super) swing_deg: Option<f64>,
    pub(super) twist: Option<[f64; 2]>,
    pub(super) twist_deg: Option<[f64; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShape {
    #[serde(rename = "box")]
    pub(super) half_extents: Option<[f64; 3]>,
    pub(super) capsule: Option<[[f64; 3]; 2]>,
    pub(super) capsule_half_length: Option<f64>,
    pub(super) sphere: Option<f64>,
    pub(super) hull: Option<Vec<[f64; 3]>>,
    pub(super) radius: Option<f64>,
    pub(super) at: Option<[f64; 3]>,
    pub(super) rotation: Option<[f64; 4]>,
}

/// One number for every axis, or a list with one per axis.
pub(super) struct PerAxis(pub(super) Vec<f64>);

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
