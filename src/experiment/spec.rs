//! The experiment file: what it may say, and the checks that need nothing but the file.
//!
//! `docs/experiment_format.md` is the reference for people; the keys stand here in the same order.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

pub use super::objective::spec::{CombineSpec, GoalSpec, ScenarioSpec, ShapeSpec, TermSpec, WhenSpec};
use crate::world::EngineKind;

/// Version of the format this program writes and reads.
pub const FORMAT: u32 = 1;

/// A whole experiment. Paths are relative to the file it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub format: u32,
    /// Called after its file if not given.
    pub name: Option<String>,
    #[serde(default)]
    pub engine: EngineName,
    /// Physics steps per second.
    #[serde(default = "default_rate")]
    pub rate_hz: f64,
    /// Calls of the controllers per second, a divisor of `rate_hz`; every step if absent.
    pub control_hz: Option<f64>,
    /// Seconds simulated.
    pub duration_s: f64,
    /// Seed of everything random, below 2^63.
    #[serde(default)]
    pub seed: u64,
    /// How the scores of several scenarios make one.
    #[serde(default, skip_serializing_if = "CombineSpec::is_mean")]
    pub combine: CombineSpec,
    /// m/s², world axes.
    #[serde(default = "default_gravity")]
    pub gravity: [f64; 3],
    /// The only character; its controller and motion may stand at the top level.
    pub character: Option<CharacterSpec>,
    pub controller: Option<ControllerSpec>,
    pub motion: Option<MotionSpec>,
    /// Several characters, each with its controller and motion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub characters: Vec<CharacterSpec>,
    /// Named poses for `hold`: angles in degrees per body.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub poses: BTreeMap<String, BTreeMap<String, Angles>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terrain: Vec<TerrainSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<PlatformSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub props: Vec<PropSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<DisturbanceSpec>,
    /// Parameters of controllers that change on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSpec>,
    #[serde(default)]
    pub recording: RecordingSpec,
    #[serde(default)]
    pub fall: FallSpec,
    /// What makes a run good: the score is the sum of these terms, smaller being better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objective: Vec<TermSpec>,
    /// Circumstances under which it is run to be judged; itself alone if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioSpec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineName {
    #[default]
    Articulated,
    Rapier,
}

impl EngineName {
    pub fn kind(self) -> EngineKind {
        match self {
            EngineName::Articulated => EngineKind::Articulated,
            EngineName::Rapier => EngineKind::Rapier,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            EngineName::Articulated => "articulated",
            EngineName::Rapier => "rapier",
        }
    }
}

/// A character, from a file or fitted to a skeleton, and where it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CharacterSpec {
    /// What disturbances and file names call it; the name in its file if absent.
    pub name: Option<String>,
    /// Character file (TOML).
    pub file: Option<PathBuf>,
    /// Metres, added to where the character's file puts its root; the height counts from the ground if `stand_on_ground`.
    #[serde(default)]
    pub position: [f64; 3],
    /// Turn about +Y, degrees; 0 faces +Z.
    #[serde(default)]
    pub heading_deg: f64,
    /// Turn about the character's left (+X) before the heading, degrees: 90 lies face down, -90 on the back. For `hold` only.
    #[serde(default)]
    pub tilt_deg: f64,
    /// Start with the lowest point on the ground (terrain, platforms or props) below; at the height of the file otherwise.
    #[serde(default = "yes")]
    pub stand_on_ground: bool,
    #[serde(default)]
    pub start: StartSpec,
    /// Fit the character to the skeleton of a motion instead of reading a file.
    pub fit: Option<FitSpec>,
    /// What differs from `file`, under its keys; a body is called by its name: `body.left_thigh.mass`.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub set: toml::Table,
    pub controller: Option<ControllerSpec>,
    pub motion: Option<MotionSpec>,
}

impl CharacterSpec {
    /// At the origin, still without file or fit.
    pub fn new() -> CharacterSpec {
        CharacterSpec {
            name: None,
            file: None,
            position: [0.0; 3],
            heading_deg: 0.0,
            tilt_deg: 0.0,
            stand_on_ground: true,
            start: StartSpec::Controller,
            fit: None,
            set: toml::Table::new(),
            controller: None,
            motion: None,
        }
    }
}

impl Default for CharacterSpec {
    fn default() -> Self {
        CharacterSpec::new()
    }
}

/// The pose a character starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSpec {
    /// The one its controller wants, velocities included.
    #[default]
    Controller,
    /// The bind pose, at rest.
    Bind,
}

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSpec {
    /// BVH or clip whose skeleton is fitted; the character's motion if absent.
    pub file: Option<PathBuf>,
    /// Metres per unit of the file, with `file` only.
    pub scale: Option<f64>,
    pub up: Option<UpAxis>,
    /// Kilograms of the whole character.
    pub mass_kg: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MotionSpec {
    /// BVH or clip.
    pub file: PathBuf,
    /// Metres per unit of the file.
    pub scale: Option<f64>,
    pub up: Option<UpAxis>,
    /// Whether it starts again at its end; as the clip says if absent.
    #[serde(rename = "loop")]
    pub looped: Option<bool>,
    /// Time in the clip at the start, seconds.
    #[serde(default)]
    pub start_s: f64,
    /// Clip seconds per second.
    #[serde(default = "one")]
    pub speed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpAxis {
    Y,
    Z,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerKind {
    Hold,
    Track,
    Replay,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    pub kind: ControllerKind,
    /// `replay`: the control track of a run.
    pub file: Option<PathBuf>,
    #[serde(default)]
    pub mode: ModeSpec,
    /// Factors on the character's gains.
    #[serde(default = "one")]
    pub kp_scale: f64,
    #[serde(default = "one")]
    pub kd_scale: f64,
    /// `hold`: name of a pose in `[poses]`, or `bind`.
    pub pose: Option<String>,
    /// `hold`: time in the motion whose pose is held, seconds.
    pub frame_s: Option<f64>,
    /// `track`: turn the motion so that it starts in the character's heading.
    #[serde(default = "yes")]
    pub align_heading: bool,
    /// `track`: shift the motion so that the lowest point of the soles over the clip is on the ground.
    #[serde(default = "yes")]
    pub align_ground: bool,
    /// `track`: share of the clip's frames whose soles may then be below the ground, 0 to 1.
    #[serde(default = "fifth")]
    pub sink_share: f64,
    /// `track`: what bodies without a joint in the clip do.
    #[serde(default)]
    pub missing: MissingSpec,
    /// `hold`: angles in degrees per body.
    pub pose_deg: Option<BTreeMap<String, Angles>>,
    /// `track`: joint of the clip per body, where the names differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joints: BTreeMap<String, String>,
    /// Gains of single bodies, in place of the character's and of the factors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gains: BTreeMap<String, GainSpec>,
    /// `track`: help from outside at the root. It is measured and reported.
    pub assist: Option<AssistSpec>,
    /// Curves over time that are added to the targets.
    pub offsets: Option<OffsetsSpec>,
}

impl ControllerSpec {
    /// What a character without a controller does.
    pub fn hold_bind_pose() -> ControllerSpec {
        ControllerSpec {
            kind: ControllerKind::Hold,
            file: None,
            mode: ModeSpec::Stable,
            kp_scale: 1.0,
            kd_scale: 1.0,
            pose: None,
            frame_s: None,
            align_heading: true,
            align_ground: true,
            sink_share: fifth(),
            missing: MissingSpec::Error,
            pose_deg: None,
            joints: BTreeMap::new(),
            gains: BTreeMap::new(),
            assist: None,
            offsets: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeSpec {
    #[default]
    Stable,
    Explicit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingSpec {
    #[default]
    Error,
    Hold,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainSpec {
    /// N m/rad.
    pub kp: Option<f64>,
    /// N m s/rad.
    pub kd: Option<f64>,
}

/// Gains of the root assist; those left out are critically damped at 3 Hz for the character's mass.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistSpec {
    /// N/m.
    pub kp_linear: Option<f64>,
    /// N s/m.
    pub kd_linear: Option<f64>,
    /// N m/rad.
    pub kp_angular: Option<f64>,
    /// N m s/rad.
    pub kd_angular: Option<f64>,
}

/// Curves through knots, added to the targets of a controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffsetsSpec {
    /// Times of the knots, seconds, increasing. Before the first and after the last the value is held.
    pub knots_s: Vec<f64>,
    /// Factor on the times of the knots.
    #[serde(default = "one")]
    pub time_scale: f64,
    /// Names without `left_` and `right_` stand for both sides, the right one mirrored.
    #[serde(default)]
    pub mirror: bool,
    /// Per joint.
    #[serde(default)]
    pub joints: BTreeMap<String, OffsetAxesSpec>,
}

/// Offsets of one joint: degrees about its axes, one value per knot.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffsetAxesSpec {
    pub x: Option<Vec<f64>>,
    pub y: Option<Vec<f64>>,
    pub z: Option<Vec<f64>>,
}

impl OffsetAxesSpec {
    /// Number and values of the axes that have some.
    pub(crate) fn written(&self) -> impl Iterator<Item = (usize, &Vec<f64>)> {
        let axes = [&self.x, &self.y, &self.z].into_iter().enumerate();
        axes.filter_map(|(axis, values)| Some((axis, values.as_ref()?)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerrainKind {
    Ground,
    Box,
    Slope,
    Stairs,
    Heightfield,
    Mesh,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerrainSpec {
    pub kind: TerrainKind,
    /// Metres: the point on the plane (ground, slope), the centre (box, heightfield), the foot of the first step (stairs), the
    /// origin (mesh).
    #[serde(default)]
    pub position: [f64; 3],
    /// Rotation vector, degrees.
    #[serde(default)]
    pub rotation_deg: [f64; 3],
    #[serde(default = "one")]
    pub friction: f64,
    #[serde(default)]
    pub restitution: f64,
    /// Box: full size x, y, z, metres.
    pub size: Option<[f64; 3]>,
    /// Slope: degrees, going up towards +Z.
    pub slope_deg: Option<f64>,
    /// Stairs, going up towards +Z.
    pub steps: Option<usize>,
    pub rise_m: Option<f64>,
    pub run_m: Option<f64>,
    pub width_m: Option<f64>,
    /// Heightfield: full size x, z, metres.
    pub size_xz: Option<[f64; 2]>,
    /// Heightfield: rows along +Z, columns along +X, metres.
    pub heights: Option<Vec<Vec<f64>>>,
    /// Heightfield: CSV file of the heights, without header.
    pub csv: Option<PathBuf>,
    /// Heightfield: random hills from the experiment's seed.
    pub noise: Option<NoiseSpec>,
    /// Mesh: OBJ file.
    pub file: Option<PathBuf>,
    /// Mesh: metres per unit of the file.
    pub scale: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseSpec {
    /// Heights lie between plus and minus this, metres.
    pub amplitude_m: f64,
    /// Distance between hills, metres.
    pub wavelength_m: f64,
    /// Cells along x and z.
    pub cells: [usize; 2],
    /// Levels of detail, each of half the wavelength and height of the one before.
    #[serde(default = "three")]
    pub octaves: usize,
    /// Metres around the origin that stay flat, so that a character can start there.
    #[serde(default)]
    pub flat_radius_m: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformMotionKind {
    Sine,
    Linear,
}

/// A box that moves as told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlatformSpec {
    pub motion: PlatformMotionKind,
    /// Full size, metres.
    pub size: [f64; 3],
    /// Centre, metres.
    pub position: [f64; 3],
    #[serde(default)]
    pub rotation_deg: [f64; 3],
    #[serde(default = "one")]
    pub friction: f64,
    #[serde(default)]
    pub restitution: f64,
    /// Sine: metres.
    pub amplitude_m: Option<[f64; 3]>,
    pub frequency_hz: Option<f64>,
    /// Linear: m/s.
    pub velocity: Option<[f64; 3]>,
    /// Linear: rad/s.
    pub angular_velocity: Option<[f64; 3]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PropKind {
    Box,
    Sphere,
    Capsule,
    Hull,
    Character,
}

/// A loose thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropSpec {
    pub kind: PropKind,
    /// What disturbances call it; `prop0` and so on if absent.
    pub name: Option<String>,
    /// Kilograms; all kinds but `character`.
    pub mass: Option<f64>,
    /// Centre of the shape, metres; for `character` added to where the file puts it.
    #[serde(default)]
    pub position: [f64; 3],
    /// Rotation vector, degrees; not for `character`.
    #[serde(default)]
    pub rotation_deg: [f64; 3],
    /// m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// rad/s.
    #[serde(default)]
    pub angular_velocity: [f64; 3],
    #[serde(default = "one")]
    pub friction: f64,
    #[serde(default)]
    pub restitution: f64,
    /// Box: full size, metres.
    pub size: Option<[f64; 3]>,
    /// Sphere and capsule: metres.
    pub radius: Option<f64>,
    /// Capsule: distance of the centres of its ends along y, metres.
    pub length: Option<f64>,
    /// Hull: points, metres.
    pub points: Option<Vec<[f64; 3]>>,
    /// `character`: its file.
    pub file: Option<PathBuf>,
    /// Turns about an axis fixed in the world (a seesaw, a door) instead of being free.
    pub hinge: Option<HingeSpec>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HingeSpec {
    /// In the prop's frame.
    pub axis: [f64; 3],
    /// Point on the axis in the prop's frame, metres from its centre.
    #[serde(default)]
    pub point: [f64; 3],
    /// Degrees.
    pub range_deg: Option<[f64; 2]>,
    /// N m s/rad.
    #[serde(default)]
    pub damping: f64,
}

/// A push, or a force along a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisturbanceSpec {
    pub time_s: f64,
    /// Spread over this time, seconds; required for a force, one step for an impulse if absent.
    pub duration_s: Option<f64>,
    /// N s; either this or `force_n`.
    pub impulse_ns: Option<f64>,
    /// N.
    pub force_n: Option<f64>,
    /// Of the force: `forward`, `backward`, `left`, `right` (of the character at the start of the push), `up`, `down`, or a vector
    /// in the world. Required but for a curve.
    pub direction: Option<Direction>,
    /// Name of the character; the first if absent.
    pub character: Option<String>,
    /// Name of a prop, instead of a character.
    pub prop: Option<String>,
    /// The root if absent.
    pub body: Option<String>,
    /// Where it acts, in the body's frame, metres; the centre of mass if absent.
    pub point: Option<[f64; 3]>,
    /// Curve: how long each of `forces_n` acts, seconds; a whole number of steps.
    pub every_s: Option<f64>,
    /// Curve, instead of the other forms: N, world axes, one after the other.
    pub forces_n: Option<Vec<[f64; 3]>>,
}

/// A parameter of a controller that changes on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    /// It is changed before the first call of the controllers at or after this time.
    pub time_s: f64,
    /// Where it stands in this file: `controller.kp_scale`, `characters.1.controller.gains.left_shin.kp`.
    pub parameter: String,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingSpec {
    /// Rows of `metrics.csv` per second, rounded to what divides `rate_hz`; 0 for none.
    #[serde(default = "sixty")]
    pub metrics_hz: f64,
    /// Frames of `motion.clip` and `motion.bvh` per second, rounded likewise; 0 for none.
    #[serde(default = "sixty")]
    pub motion_hz: f64,
    /// Whether `motion.bvh` is written.
    #[serde(default = "yes")]
    pub bvh: bool,
    /// Whether `controls.clip` is written: everything the controllers ask for.
    #[serde(default)]
    pub controls: bool,
}

impl Default for RecordingSpec {
    fn default() -> Self {
        RecordingSpec {
            metrics_hz: 60.0,
            motion_hz: 60.0,
            bvh: true,
            controls: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallRule {
    /// The pelvis is low or the trunk leans.
    #[default]
    PelvisOrTrunk,
    /// Nothing is a fall.
    None,
}

/// What counts as a fall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FallSpec {
    #[serde(default)]
    pub rule: FallRule,
    /// Share of the pelvis's start height over the ground.
    #[serde(default = "pelvis_height")]
    pub pelvis_height: f64,
    /// Degrees between the trunk and the vertical.
    #[serde(default = "trunk_lean")]
    pub trunk_lean_deg: f64,
    /// End the run when it has fallen.
    #[serde(default)]
    pub stop: bool,
    /// Whether a fall makes the run a failure (exit code 1).
    #[serde(default = "yes")]
    pub fails: bool,
}

impl Default for FallSpec {
    fn default() -> Self {
        FallSpec {
            rule: FallRule::PelvisOrTrunk,
            pelvis_height: pelvis_height(),
            trunk_lean_deg: trunk_lean(),
            stop: false,
            fails: true,
        }
    }
}

fn default_rate() -> f64 {
    240.0
}
fn default_gravity() -> [f64; 3] {
    [0.0, -9.81, 0.0]
}
fn fifth() -> f64 {
    0.2
}

fn yes() -> bool {
    true
}
fn one() -> f64 {
    1.0
}
fn three() -> usize {
    3
}
fn sixty() -> f64 {
    60.0
}
fn pelvis_height() -> f64 {
    0.65
}
fn trunk_lean() -> f64 {
    60.0
}

/// Angles of one joint: a number, or an array of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Angles(pub Vec<f64>);

impl Serialize for Angles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0[..] {
            [angle] => serializer.serialize_f64(angle),
            _ => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Angles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnglesVisitor;
        impl<'de> Visitor<'de> for AnglesVisitor {
            type Value = Angles;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an angle in degrees or an array of them")
            }
            fn visit_f64<E: de::Error>(self, angle: f64) -> Result<Angles, E> {
                Ok(Angles(vec![angle]))
            }
            fn visit_i64<E: de::Error>(self, angle: i64) -> Result<Angles, E> {
                Ok(Angles(vec![angle as f64]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Angles, A::Error> {
                let mut angles = Vec::new();
                while let Some(angle) = seq.next_element()? {
                    angles.push(angle);
                }
                Ok(Angles(angles))
            }
        }
        deserializer.deserialize_any(AnglesVisitor)
    }
}

/// Direction of a push.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction {
    Forward,
    Backward,
    Left,
    Right,
    Up,
    Down,
    /// In the world; its length does not matter.
    Vector([f64; 3]),
}

const DIRECTIONS: [(&str, Direction); 6] = [
    ("forward", Direction::Forward),
    ("backward", Direction::Backward),
    ("left", Direction::Left),
    ("right", Direction::Right),
    ("up", Direction::Up),
    ("down", Direction::Down),
];

impl Serialize for Direction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match DIRECTIONS.iter().find(|(_, d)| d == self) {
            Some((name, _)) => serializer.serialize_str(name),
            None => match self {
                Direction::Vector(v) => v.serialize(serializer),
                _ => unreachable!("every named direction is in the table"),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Direction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DirectionVisitor;
        impl<'de> Visitor<'de> for DirectionVisitor {
            type Value = Direction;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"forward\", \"backward\", \"left\", \"right\", \"up\", \"down\" or a vector [x, y, z]")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Direction, E> {
                let known = &["forward", "backward", "left", "right", "up", "down"];
                DIRECTIONS
                    .iter()
                    .find(|(name, _)| *name == word)
                    .map(|(_, d)| *d)
                    .ok_or_else(|| E::unknown_variant(word, known))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Direction, A::Error> {
                let mut v = [0.0; 3];
                for (i, component) in v.iter_mut().enumerate() {
                    *component = seq.next_element()?.ok_or_else(|| de::Error::invalid_length(i, &self))?;
                }
                match seq.next_element::<f64>()? {
                    None => Ok(Direction::Vector(v)),
                    Some(_) => Err(de::Error::invalid_length(4, &self)),
                }
            }
        }
        deserializer.deserialize_any(DirectionVisitor)
    }
}
