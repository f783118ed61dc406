//! Checks of a spec that need nothing but the spec.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::spec::*;
use crate::bounds;
use crate::control::{AXES, LARGEST_OFFSET_DEG, TIME_SCALES};
use crate::names::nearest;

/// Something wrong at `key` (a dotted path, array places in brackets) of a spec.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub key: String,
    pub message: String,
}

pub(super) type Check = Result<(), Problem>;

pub(crate) fn problem<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        key: key.into(),
        message: message.into(),
    })
}

pub(super) fn positive(key: impl Into<String>, value: f64) -> Check {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    problem(key, format!("is {value:?}; expected a finite number above 0"))
}

pub(super) fn not_negative(key: impl Into<String>, value: f64) -> Check {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    problem(key, format!("is {value:?}; expected a finite number, 0 or more"))
}

/// A vector of any length but 0, within what squares and inverses carry.
pub(super) fn direction(key: impl Into<String>, value: [f64; 3]) -> Check {
    let largest = value.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let finite = value.iter().all(|v| v.is_finite());
    if finite && (1e-9..=1e9).contains(&largest) {
        return Ok(());
    }
    problem(
        key,
        format!("is {value:?}; expected a direction, at least one part between 1e-9 and 1e9"),
    )
}

/// `values` between minus and plus `largest`.
pub(super) fn within(key: impl Into<String>, values: &[f64], largest: f64, unit: &str) -> Check {
    match values.iter().find(|v| !bounds::within(largest, &[**v])) {
        None => Ok(()),
        Some(v) => problem(
            key,
            format!("holds {v:?}; expected numbers between -{largest:e} and {largest:e} {unit}"),
        ),
    }
}

/// `value` between 0 and `largest`.
fn up_to(key: impl Into<String>, value: f64, largest: f64, unit: &str) -> Check {
    if (0.0..=largest).contains(&value) {
        return Ok(());
    }
    problem(key, format!("is {value:?}; expected 0 to {largest:e} {unit}"))
}

pub(super) fn place(key: impl Into<String>, value: &[f64]) -> Check {
    within(key, value, bounds::LARGEST_LENGTH, "m")
}

fn speed(key: impl Into<String>, value: &[f64]) -> Check {
    within(key, value, bounds::LARGEST_SPEED, "m/s or rad/s")
}

/// A rotation in degrees. Its digits must still tell where it points.
fn rotation(key: impl Into<String>, value: &[f64]) -> Check {
    within(key, value, bounds::LARGEST_ANGLE, "degrees")
}

fn mass(key: impl Into<String>, value: f64) -> Check {
    if (bounds::SMALLEST_MASS..=bounds::LARGEST_MASS).contains(&value) {
        return Ok(());
    }
    problem(
        key,
        format!(
            "is {value:?}; expected {:e} to {:e} kg",
            bounds::SMALLEST_MASS,
            bounds::LARGEST_MASS
        ),
    )
}

impl Spec {
    /// Whether a run could begin with it, as far as that can be told without opening another file; what is wrong otherwise.
    pub fn check(&self) -> Result<(), String> {
        self.validate().map_err(|p| format!("`{}` {}", p.key, p.message))
    }

    /// Physics steps in the experiment.
    pub fn steps(&self) -> u64 {
        (self.duration_s * self.rate_hz).round() as u64
    }

    /// Physics steps from one call of the controllers to the next.
    pub fn steps_per_control(&self) -> u64 {
        self.control_hz.map_or(1, |c| (self.rate_hz / c).round() as u64)
    }

    /// The characters with the controller and motion that each has.
    pub fn actors(&self) -> Vec<CharacterSpec> {
        let mut actors = self.characters.clone();
        if let Some(character) = &self.character {
            let mut character = character.clone();
            character.controller = character.controller.or_else(|| self.controller.clone());
            character.motion = character.motion.or_else(|| self.motion.clone());
            actors.insert(0, character);
        }
        actors
    }

    /// Every path that leads to a file to be read.
    pub(crate) fn input_paths_mut(&mut self) -> Vec<&mut PathBuf> {
        let mut paths: Vec<&mut PathBuf> = Vec::new();
        for terrain in &mut self.terrain {
            paths.extend(terrain.csv.iter_mut().chain(&mut terrain.file));
        }
        paths.extend(self.props.iter_mut().filter_map(|p| p.file.as_mut()));
        for actor in self.character.iter_mut().chain(&mut self.characters) {
            paths.extend(&mut actor.file);
            paths.extend(actor.fit.iter_mut().filter_map(|f| f.file.as_mut()));
            paths.extend(actor.motion.iter_mut().map(|m| &mut m.file));
            paths.extend(actor.controller.iter_mut().filter_map(|c| c.file.as_mut()));
        }
        paths.extend(self.motion.iter_mut().map(|m| &mut m.file));
        paths.extend(self.controller.iter_mut().filter_map(|c| c.file.as_mut()));
        paths
    }

    /// Key under which the `i`-th of [`Spec::actors`] is written.
    pub(crate) fn actor_key(&self, i: usize) -> String {
        match &self.character {
            Some(_) if i == 0 => "character".to_string(),
            Some(_) => format!("characters[{}]", i - 1),
            None => format!("characters[{i}]"),
        }
    }

    /// Checks everything that can be checked without opening another file.
    pub(crate) fn validate(&self) -> Check {
        if self.format != FORMAT {
            return problem(
                "format",
                format!("is {}; this version of ambler reads format {FORMAT}", self.format),
            );
        }
        if !(10.0..=1e6).contains(&self.rate_hz) {
            return problem("rate_hz", format!("is {:?}; expected 10 to 1000000", self.rate_hz));
        }
        positive("duration_s", self.duration_s)?;
        if self.duration_s * self.rate_hz > 1e10 {
            return problem("duration_s", "asks for more than 10^10 steps");
        }
        if self.steps() == 0 {
            return problem(
                "duration_s",
                format!("is shorter than one step of 1/{} s", self.rate_hz),
            );
        }
        if let Some(control) = self.control_hz {
            positive("control_hz", control)?;
            let ratio = self.rate_hz / control;
            if ratio < 1.0 - 1e-9 || (ratio - ratio.round()).abs() > 1e-6 * ratio {
                return problem(
                    "control_hz",
                    format!(
                        "is {control}; expected rate_hz = {} divided by a whole number",
                        self.rate_hz
                    ),
                );
            }
        }
        if self.seed > i64::MAX as u64 {
            return problem("seed", format!("is {}; expected less than 2^63", self.seed));
        }
        within("gravity", &self.gravity, bounds::LARGEST_GRAVITY, "m/s²")?;
        self.validate_actors()?;
        for (i, terrain) in self.terrain.iter().enumerate() {
            terrain.validate(&format!("terrain[{i}]"))?;
        }
        for (i, platform) in self.platforms.iter().enumerate() {
            platform.validate(&format!("platforms[{i}]"))?;
        }
        for (i, prop) in self.props.iter().enumerate() {
            prop.validate(&format!("props[{i}]"))?;
        }
        for (i, disturbance) in self.disturbances.iter().enumerate() {
            disturbance.validate(&format!("disturbances[{i}]"), self.rate_hz)?;
        }
        for (i, change) in self.changes.iter().enumerate() {
            change.validate(&format!("changes[{i}]"))?;
        }
        not_negative("recording.metrics_hz", self.recording.metrics_hz)?;
        not_negative("recording.motion_hz", self.recording.motion_hz)?;
        not_negative("fall.pelvis_height", self.fall.pelvis_height)?;
        positive("fall.trunk_lean_deg", self.fall.trunk_lean_deg)?;
        self.validate_score()
    }

    fn validate_actors(&self) -> Check {
        if self.character.is_some() && !self.characters.is_empty() {
            return problem(
                "characters",
                "there is a [character] too; write either that or [[characters]]",
            );
        }
        if self.character.is_none() {
            for (key, present) in [
                ("controller", self.controller.is_some()),
                ("motion", self.motion.is_some()),
            ] {
                if present {
                    return problem(
                        key,
                        format!("belongs to a [character]; among [[characters]] it is written [characters.{key}]"),
                    );
                }
            }
        }
        for (i, actor) in self.actors().iter().enumerate() {
            let key = self.actor_key(i);
            actor.validate(&key)?;
            // where the controller is written
            let controller_key = match &self.character {
                Some(c) if c.controller.is_none() => "controller".to_string(),
                _ => format!("{key}.controller"),
            };
            if let Some(controller) = &actor.controller {
                controller.validate(&controller_key, actor, &self.poses)?;
            }
            let motion_key = match &self.character {
                Some(c) if c.motion.is_none() => "motion".to_string(),
                _ => format!("{key}.motion"),
            };
            if let Some(motion) = &actor.motion {
                if let Some(scale) = motion.scale {
                    positive(format!("{motion_key}.scale"), scale)?;
                }
                not_negative(format!("{motion_key}.start_s"), motion.start_s)?;
                not_negative(format!("{motion_key}.speed"), motion.speed)?;
            }
        }
        Ok(())
    }
}

impl CharacterSpec {
    fn validate(&self, key: &str) -> Check {
        match (&self.file, &self.fit) {
            (None, None) => return problem(key, "needs either `file` or a [character.fit] table"),
            (Some(_), Some(_)) => return problem(format!("{key}.fit"), "there is a `file` too; write either"),
            _ => {}
        }
        if self.file.is_none() && !self.set.is_empty() {
            return problem(format!("{key}.set"), "changes what a `file` says, and there is none");
        }
        place(format!("{key}.position"), &self.position)?;
        rotation(format!("{key}.heading_deg"), &[self.heading_deg])?;
        rotation(format!("{key}.tilt_deg"), &[self.tilt_deg])?;
        if let Some(fit) = &self.fit {
            let source = fit.file.is_some() || self.motion.is_some();
            if !source {
                return problem(
                    format!("{key}.fit"),
                    "needs a `file`, or a [motion] whose skeleton is fitted",
                );
            }
            if fit.file.is_none() && (fit.scale.is_some() || fit.up.is_some()) {
                return problem(
                    format!("{key}.fit"),
                    "`scale` and `up` go with its own `file`; for the motion's skeleton set them in [motion]",
                );
            }
            if let Some(scale) = fit.scale {
                positive(format!("{key}.fit.scale"), scale)?;
            }
            if let Some(kilograms) = fit.mass_kg {
                mass(format!("{key}.fit.mass_kg"), kilograms)?;
            }
        }
        Ok(())
    }
}

impl ControllerSpec {
    fn validate(&self, key: &str, actor: &CharacterSpec, poses: &BTreeMap<String, BTreeMap<String, Angles>>) -> Check {
        up_to(format!("{key}.kp_scale"), self.kp_scale, bounds::LARGEST_GAIN, "")?;
        up_to(format!("{key}.kd_scale"), self.kd_scale, bounds::LARGEST_GAIN, "")?;
        if !(0.0..=1.0).contains(&self.sink_share) {
            return problem(
                format!("{key}.sink_share"),
                format!("is {}; expected 0 to 1", self.sink_share),
            );
        }
        for (body, gains) in &self.gains {
            for (name, gain) in [("kp", gains.kp), ("kd", gains.kd)] {
                if let Some(gain) = gain {
                    let unit = if name == "kp" { "N m/rad" } else { "N m s/rad" };
                    up_to(format!("{key}.gains.{body}.{name}"), gain, bounds::LARGEST_GAIN, unit)?;
                }
            }
        }
        if let Some(offsets) = &self.offsets {
            offsets.validate(&format!("{key}.offsets"))?;
        }
        let only = |kind: &str, present: &[(&str, bool)]| -> Check {
            match present.iter().find(|(_, p)| *p) {
                Some((name, _)) => problem(
                    format!("{key}.{name}"),
                    format!("belongs to a controller of kind \"{kind}\""),
                ),
                None => Ok(()),
            }
        };
        if self.kind != ControllerKind::Replay {
            only("replay", &[("file", self.file.is_some())])?;
        }
        match self.kind {
            ControllerKind::Replay => self.validate_replay(key, actor)?,
            ControllerKind::Hold => {
                only(
                    "track",
                    &[
                        ("assist", self.assist.is_some()),
                        ("missing", self.missing != MissingSpec::Error && self.frame_s.is_none()),
                    ],
                )?;
                let ways = [self.pose.is_some(), self.pose_deg.is_some(), self.frame_s.is_some()];
                if ways.iter().filter(|w| **w).count() > 1 {
                    return problem(key, "write one of `pose`, `pose_deg` and `frame_s`, not several");
                }
                if let Some(pose) = self.pose.as_deref().filter(|p| *p != "bind")
                    && !poses.contains_key(pose)
                {
                    let known: Vec<&str> = poses.keys().map(String::as_str).chain(["bind"]).collect();
                    let near = nearest(pose, known.iter().copied());
                    let hint = near.map(|n| format!(" (did you mean \"{n}\"?)")).unwrap_or_default();
                    return problem(
                        format!("{key}.pose"),
                        format!("is \"{pose}\"{hint}; known poses: {}", known.join(", ")),
                    );
                }
                if let Some(frame) = self.frame_s {
                    not_negative(format!("{key}.frame_s"), frame)?;
                    if actor.motion.is_none() {
                        return problem(format!("{key}.frame_s"), "needs a [motion] to take the frame from");
                    }
                }
            }
            ControllerKind::Track => {
                only(
                    "hold",
                    &[
                        ("pose", self.pose.is_some()),
                        ("pose_deg", self.pose_deg.is_some()),
                        ("frame_s", self.frame_s.is_some()),
                    ],
                )?;
                if actor.motion.is_none() {
                    return problem(
                        format!("{key}.kind"),
                        "is \"track\", but there is no motion; add a [motion] with a `file`, or pass --motion",
                    );
                }
                if actor.tilt_deg != 0.0 {
                    return problem(
                        format!("{key}.kind"),
                        "is \"track\", which does not know `tilt_deg`; the motion says how the character lies",
                    );
                }
                if let Some(assist) = &self.assist {
                    for (name, gain) in [
                        ("kp_linear", assist.kp_linear),
                        ("kd_linear", assist.kd_linear),
                        ("kp_angular", assist.kp_angular),
                        ("kd_angular", assist.kd_angular),
                    ] {
                        if let Some(gain) = gain {
                            up_to(format!("{key}.assist.{name}"), gain, bounds::LARGEST_GAIN, "")?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl ControllerSpec {
    /// Whatever the recorded controller was told is in what it asked for.
    fn validate_replay(&self, key: &str, actor: &CharacterSpec) -> Check {
        let plain = ControllerSpec {
            kind: ControllerKind::Replay,
            file: self.file.clone(),
            ..ControllerSpec::hold_bind_pose()
        };
        if self.file.is_none() {
            let message = "is missing; expected the controls.clip of a run with `recording.controls = true`";
            return problem(format!("{key}.file"), message);
        }
        if actor.tilt_deg != 0.0 {
            let message = "is \"replay\", which does not know `tilt_deg`; the recording says how the character lies";
            return problem(format!("{key}.kind"), message);
        }
        let changed = [
            ("mode", self.mode != plain.mode),
            ("kp_scale", self.kp_scale != plain.kp_scale),
            ("kd_scale", self.kd_scale != plain.kd_scale),
            ("pose", self.pose.is_some()),
            ("pose_deg", self.pose_deg.is_some()),
            ("frame_s", self.frame_s.is_some()),
            ("align_heading", self.align_heading != plain.align_heading),
            ("align_ground", self.align_ground != plain.align_ground),
            ("sink_share", self.sink_share != plain.sink_share),
            ("missing", self.missing != plain.missing),
            ("joints", !self.joints.is_empty()),
            ("gains", !self.gains.is_empty()),
            ("assist", self.assist.is_some()),
            ("offsets", self.offsets.is_some()),
        ];
        match changed.iter().find(|(_, changed)| *changed) {
            Some((name, _)) => problem(
                format!("{key}.{name}"),
                "does not belong to a controller of kind \"replay\": everything is in its `file`",
            ),
            None => Ok(()),
        }
    }
}

/// Seconds between two knots at least: what is nearer is a typing mistake, and asks for enormous rates.
const SMALLEST_KNOT_STEP: f64 = 1e-3;
/// Seconds.
const LARGEST_KNOT: f64 = 1e6;

impl OffsetsSpec {
    fn validate(&self, key: &str) -> Check {
        let knots = format!("{key}.knots_s");
        if self.knots_s.is_empty() {
            return problem(knots, "is empty; expected at least one time");
        }
        within(&knots, &self.knots_s, LARGEST_KNOT, "s")?;
        if let Some(pair) = self.knots_s.windows(2).find(|k| k[1] - k[0] < SMALLEST_KNOT_STEP) {
            return problem(
                knots,
                format!(
                    "has {:?} after {:?}; expected times that increase by 1 ms at least",
                    pair[1], pair[0]
                ),
            );
        }
        if !TIME_SCALES.contains(&self.time_scale) {
            return problem(
                format!("{key}.time_scale"),
                format!(
                    "is {:?}; expected {:?} to {:?}",
                    self.time_scale,
                    TIME_SCALES.start(),
                    TIME_SCALES.end()
                ),
            );
        }
        for (joint, axes) in &self.joints {
            for (axis, values) in axes.written() {
                let key = format!("{key}.joints.{joint}.{}", AXES[axis]);
                within(&key, values, LARGEST_OFFSET_DEG, "degrees")?;
                if values.len() != self.knots_s.len() {
                    let (found, expected) = (values.len(), self.knots_s.len());
                    return problem(key, format!("has {found} values; expected {expected}, one per knot"));
                }
            }
            if axes.written().next().is_none() {
                let key = format!("{key}.joints.{joint}");
                return problem(key, "has no values; expected `x`, `y` or `z` with one value per knot");
            }
        }
        Ok(())
    }
}

/// Refuses keys that are written but do not belong to `kind`, and misses those that must be there.
fn keys_of_kind(key: &str, kind: &str, required: &[&str], optional: &[&str], written: &[(&str, bool)]) -> Check {
    for (name, present) in written {
        let known = required.contains(name) || optional.contains(name);
        if *present && !known {
            let mut keys: Vec<&str> = required.iter().chain(optional).copied().collect();
            keys.sort_unstable();
            let keys = if keys.is_empty() {
                "none".to_string()
            } else {
                keys.join(", ")
            };
            return problem(
                format!("{key}.{name}"),
                format!("does not belong to the kind \"{kind}\"; its own keys: {keys}"),
            );
        }
    }
    match required.iter().find(|r| !written.iter().any(|(n, p)| n == *r && *p)) {
        Some(missing) => problem(
            format!("{key}.{missing}"),
            format!("is missing; the kind \"{kind}\" needs it"),
        ),
        None => Ok(()),
    }
}

fn material(key: &str, friction: f64, restitution: f64) -> Check {
    up_to(format!("{key}.friction"), friction, bounds::LARGEST_FRICTION, "")?;
    if (0.0..=1.0).contains(&restitution) {
        return Ok(());
    }
    problem(
        format!("{key}.restitution"),
        format!("is {restitution}; expected 0 to 1"),
    )
}

fn size(key: &str, name: &str, sizes: &[f64]) -> Check {
    match sizes.iter().find(|s| !bounds::is_size(**s)) {
        None => Ok(()),
        Some(s) => problem(
            format!("{key}.{name}"),
            format!(
                "holds {s:?}; expected {:e} to {:e} m",
                bounds::SMALLEST_SIZE,
                bounds::LARGEST_LENGTH
            ),
        ),
    }
}

impl TerrainSpec {
    fn validate(&self, key: &str) -> Check {
        let (kind, required, optional): (&str, &[&str], &[&str]) = match self.kind {
            TerrainKind::Ground => ("ground", &[], &[]),
            TerrainKind::Box => ("box", &["size"], &[]),
            TerrainKind::Slope => ("slope", &["slope_deg"], &[]),
            TerrainKind::Stairs => ("stairs", &["steps", "rise_m", "run_m", "width_m"], &[]),
            TerrainKind::Heightfield => ("heightfield", &["size_xz"], &["heights", "csv", "noise"]),
            TerrainKind::Mesh => ("mesh", &["file"], &["scale"]),
        };
        let written = [
            ("size", self.size.is_some()),
            ("slope_deg", self.slope_deg.is_some()),
            ("steps", self.steps.is_some()),
            ("rise_m", self.rise_m.is_some()),
            ("run_m", self.run_m.is_some()),
            ("width_m", self.width_m.is_some()),
            ("size_xz", self.size_xz.is_some()),
            ("heights", self.heights.is_some()),
            ("csv", self.csv.is_some()),
            ("noise", self.noise.is_some()),
            ("file", self.file.is_some()),
            ("scale", self.scale.is_some()),
        ];
        keys_of_kind(key, kind, required, optional, &written)?;
        place(format!("{key}.position"), &self.position)?;
        rotation(format!("{key}.rotation_deg"), &self.rotation_deg)?;
        material(key, self.friction, self.restitution)?;
        size(key, "size", self.size.as_ref().map_or(&[], |s| &s[..]))?;
        size(key, "size_xz", self.size_xz.as_ref().map_or(&[], |s| &s[..]))?;
        for (name, value) in [
            ("rise_m", self.rise_m),
            ("run_m", self.run_m),
            ("width_m", self.width_m),
        ] {
            size(key, name, value.as_slice())?;
        }
        if let Some(scale) = self.scale {
            positive(format!("{key}.scale"), scale)?;
        }
        for row in self.heights.iter().flatten() {
            place(format!("{key}.heights"), row)?;
        }
        if let Some(slope) = self.slope_deg
            && !(slope.is_finite() && slope.abs() < 90.0)
        {
            return problem(
                format!("{key}.slope_deg"),
                format!("is {slope}; expected between -90 and 90"),
            );
        }
        if self.steps.is_some_and(|s| s == 0 || s > 10_000) {
            return problem(format!("{key}.steps"), "expected 1 to 10000");
        }
        if self.kind == TerrainKind::Heightfield {
            let sources = [self.heights.is_some(), self.csv.is_some(), self.noise.is_some()];
            if sources.iter().filter(|s| **s).count() != 1 {
                return problem(
                    key,
                    "a heightfield takes its heights from one of `heights`, `csv` and `noise`",
                );
            }
        }
        if let Some(noise) = &self.noise {
            let largest = bounds::LARGEST_LENGTH;
            up_to(format!("{key}.noise.amplitude_m"), noise.amplitude_m, largest, "m")?;
            size(key, "noise.wavelength_m", &[noise.wavelength_m])?;
            up_to(format!("{key}.noise.flat_radius_m"), noise.flat_radius_m, largest, "m")?;
            if noise.cells.iter().any(|c| *c == 0 || *c > 4096) {
                return problem(format!("{key}.noise.cells"), "expected 1 to 4096 along each side");
            }
            if noise.octaves == 0 || noise.octaves > 16 {
                return problem(format!("{key}.noise.octaves"), "expected 1 to 16");
            }
        }
        Ok(())
    }
}

impl PlatformSpec {
    fn validate(&self, key: &str) -> Check {
        let (kind, required, optional): (&str, &[&str], &[&str]) = match self.motion {
            PlatformMotionKind::Sine => ("sine", &["amplitude_m", "frequency_hz"], &[]),
            PlatformMotionKind::Linear => ("linear", &[], &["velocity", "angular_velocity"]),
        };
        let written = [
            ("amplitude_m", self.amplitude_m.is_some()),
            ("frequency_hz", self.frequency_hz.is_some()),
            ("velocity", self.velocity.is_some()),
            ("angular_velocity", self.angular_velocity.is_some()),
        ];
        keys_of_kind(key, kind, required, optional, &written)?;
        size(key, "size", &self.size)?;
        place(format!("{key}.position"), &self.position)?;
        rotation(format!("{key}.rotation_deg"), &self.rotation_deg)?;
        let amplitude = self.amplitude_m.unwrap_or_default();
        let frequency = self.frequency_hz.unwrap_or_default();
        place(format!("{key}.amplitude_m"), &amplitude)?;
        speed(format!("{key}.velocity"), &self.velocity.unwrap_or_default())?;
        speed(
            format!("{key}.angular_velocity"),
            &self.angular_velocity.unwrap_or_default(),
        )?;
        up_to(
            format!("{key}.frequency_hz"),
            frequency,
            bounds::LARGEST_FREQUENCY,
            "Hz",
        )?;
        let fastest = amplitude.map(|a| (std::f64::consts::TAU * frequency * a).abs());
        if !bounds::within(bounds::LARGEST_SPEED, &fastest) {
            let largest = bounds::LARGEST_SPEED;
            return problem(
                format!("{key}.frequency_hz"),
                format!("is {frequency:?}; with this amplitude the platform would be faster than {largest:e} m/s"),
            );
        }
        material(key, self.friction, self.restitution)
    }
}

impl PropSpec {
    fn validate(&self, key: &str) -> Check {
        let (kind, required): (&str, &[&str]) = match self.kind {
            PropKind::Box => ("box", &["size", "mass"]),
            PropKind::Sphere => ("sphere", &["radius", "mass"]),
            PropKind::Capsule => ("capsule", &["radius", "length", "mass"]),
            PropKind::Hull => ("hull", &["points", "mass"]),
            PropKind::Character => ("character", &["file"]),
        };
        let written = [
            ("mass", self.mass.is_some()),
            ("size", self.size.is_some()),
            ("radius", self.radius.is_some()),
            ("length", self.length.is_some()),
            ("points", self.points.is_some()),
            ("file", self.file.is_some()),
            ("hinge", self.hinge.is_some()),
        ];
        let optional: &[&str] = if self.kind == PropKind::Character {
            &[]
        } else {
            &["hinge"]
        };
        keys_of_kind(key, kind, required, optional, &written)?;
        if let Some(kilograms) = self.mass {
            mass(format!("{key}.mass"), kilograms)?;
        }
        size(key, "radius", self.radius.as_slice())?;
        size(key, "length", self.length.as_slice())?;
        size(key, "size", self.size.as_ref().map_or(&[], |s| &s[..]))?;
        place(format!("{key}.position"), &self.position)?;
        rotation(format!("{key}.rotation_deg"), &self.rotation_deg)?;
        speed(format!("{key}.velocity"), &self.velocity)?;
        speed(format!("{key}.angular_velocity"), &self.angular_velocity)?;
        for point in self.points.iter().flatten() {
            place(format!("{key}.points"), point)?;
        }
        if let Some(hinge) = &self.hinge {
            direction(format!("{key}.hinge.axis"), hinge.axis)?;
            place(format!("{key}.hinge.point"), &hinge.point)?;
            up_to(
                format!("{key}.hinge.damping"),
                hinge.damping,
                bounds::LARGEST_GAIN,
                "N m s/rad",
            )?;
            if let Some([low, high]) = hinge.range_deg
                && !(bounds::within(bounds::LARGEST_ANGLE, &[low, high]) && low < high)
            {
                return problem(
                    format!("{key}.hinge.range_deg"),
                    "expected two finite angles, the lower one first",
                );
            }
        }
        material(key, self.friction, self.restitution)
    }
}
