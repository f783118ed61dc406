//! What `controls.clip` is made of, and how it becomes a controller and a start again.

use std::path::Path;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::inputs;
use super::prepare::{Actor, Prepared};
use super::spec::{CharacterSpec, Spec};
use crate::character::{Character, Joint};
use crate::clip::container::Event;
use crate::clip::{ClipFile, Rate};
use crate::control::{
    ControlError, ControlTrack, Replay, StartState, add_control_tracks, position_from_numbers, position_numbers,
    record_actuation,
};
use crate::math::rotation::exp;
use crate::world::Actuation;

/// Name of the event whose payload is a [`RecordedStart`].
const START: &str = "start";

/// Everything one controller asks for, call by call, and where its character started. See `docs/run_folder.md`.
#[derive(Clone, Debug)]
pub struct ControlRecording {
    pub file: ClipFile,
    actor: usize,
}

/// Where a character started, and what its experiment said of that. Written as TOML, whose numbers read back to the bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedStart {
    /// `position` and `heading_deg` of the character in the experiment.
    position: [f64; 3],
    heading_deg: f64,
    root_position: [f64; 3],
    root_rotation: [f64; 4],
    /// Per body, as in the track `target_position`.
    joints: Vec<[f64; 4]>,
    /// Per body: linear and angular velocity of a free root, rates of a joint in the second half.
    velocities: Vec<[f64; 6]>,
}

impl RecordedStart {
    fn of(actor: &Actor, spec: &CharacterSpec) -> RecordedStart {
        let start = actor.start();
        RecordedStart {
            position: spec.position,
            heading_deg: spec.heading_deg,
            root_position: start.root_position.to_array(),
            root_rotation: start.root_rotation.to_array(),
            joints: start.joints.iter().map(position_numbers).collect(),
            velocities: (start.velocities.iter())
                .map(|(v, w)| [v.x, v.y, v.z, w.x, w.y, w.z])
                .collect(),
        }
    }

    /// Moved by as much as the experiment places the character elsewhere than the recorded one did; the same numbers if it
    /// does not.
    fn placed(&self, character: &Character, spec: &CharacterSpec) -> StartState {
        let joints = character.bodies.iter().zip(&self.joints);
        let mut start = StartState {
            root_position: DVec3::from_array(self.root_position),
            root_rotation: DQuat::from_array(self.root_rotation),
            joints: joints
                .map(|(b, numbers)| position_from_numbers(&b.joint, numbers))
                .collect(),
            velocities: (self.velocities.iter())
                .map(|n| (DVec3::from_slice(n), DVec3::from_slice(&n[3..])))
                .collect(),
        };
        let (from, to) = (DVec3::from_array(self.position), DVec3::from_array(spec.position));
        if self.heading_deg != spec.heading_deg {
            let turn = exp(DVec3::Y * (spec.heading_deg - self.heading_deg).to_radians());
            start.root_position = from + turn * (start.root_position - from);
            start.root_rotation = (turn * start.root_rotation).normalize();
            if matches!(character.bodies[0].joint, Joint::Free | Joint::Planar) {
                let (v, w) = start.velocities[0];
                start.velocities[0] = (turn * v, turn * w);
            }
        }
        if from != to {
            start.root_position += to - from;
        }
        start
    }
}

impl ControlRecording {
    /// One per character.
    pub(super) fn all(prepared: &Prepared) -> Vec<ControlRecording> {
        let specs = prepared.spec.actors();
        let rate = Rate::from_frame_time(control_interval(&prepared.spec));
        let mut recordings = Vec::new();
        for (i, (actor, spec)) in prepared.actors.iter().zip(&specs).enumerate() {
            let mut file = ClipFile::new(actor.name.clone(), actor.character.skeleton(), rate);
            add_control_tracks(&mut file, actor.character.bodies.len());
            file.events.push(Event {
                time: 0.0,
                name: START.into(),
                // a table of numbers can always be written
                payload: toml::to_string(&RecordedStart::of(actor, spec)).unwrap_or_default(),
            });
            file.provenance = provenance(prepared);
            recordings.push(ControlRecording { file, actor: i });
        }
        recordings
    }

    /// Adds what the controllers have just asked for.
    pub(super) fn sample(&mut self, actuations: &[Actuation]) {
        record_actuation(&mut self.file, &actuations[self.actor]);
    }

    /// The samples so far, which are forgotten here.
    pub(super) fn take(&mut self) -> ClipFile {
        let empty = self.file.without_samples();
        std::mem::replace(&mut self.file, empty)
    }
}

/// What made a clip of this experiment.
pub(super) fn provenance(prepared: &Prepared) -> Vec<(String, String)> {
    let entries = [
        ("made_by", format!("ambler {}", env!("CARGO_PKG_VERSION"))),
        ("experiment", prepared.name.clone()),
        ("engine", prepared.spec.engine.name().into()),
        ("seed", prepared.spec.seed.to_string()),
        ("rate_hz", prepared.spec.rate_hz.to_string()),
    ];
    entries.map(|(key, value)| (key.into(), value)).into()
}

/// Seconds from one call of the controllers to the next.
fn control_interval(spec: &Spec) -> f64 {
    spec.steps_per_control() as f64 / spec.rate_hz
}

/// A replay of the control track in `path` and the start of its character; what looks wrong goes to `warnings`.
pub(super) fn read_replay(
    path: &Path,
    spec: &Spec,
    actor: &CharacterSpec,
    character: &Character,
    warnings: &mut Vec<String>,
) -> Result<(Replay, StartState), ExperimentError> {
    let input = |message: String| ExperimentError::Input {
        what: "controls".into(),
        message,
    };
    inputs::refuse_pipe(path)?;
    let clip = ClipFile::read(path).map_err(|e| input(e.to_string()))?;
    let refused = |problem: String| input(format!("{}: {problem}", path.display()));
    let track = ControlTrack::from_clip(&clip, character).map_err(|e: ControlError| refused(e.to_string()))?;
    let (recorded, interval) = (track.frame_time(), control_interval(spec));
    if (recorded - interval).abs() > 1e-9 * interval {
        return Err(refused(format!(
            "it was recorded at {} calls of the controller per second and this experiment makes {}; set `control_hz`, and \
             `rate_hz` to a multiple of it",
            1.0 / recorded,
            1.0 / interval
        )));
    }
    let text = clip.events.iter().find(|e| e.name == START).map(|e| e.payload.as_str());
    let start: RecordedStart = text
        .ok_or_else(|| "it has no event `start`; expected one that `recording.controls` has written".to_string())
        .and_then(|text| toml::from_str(text).map_err(|e| format!("its event `start` says {}", e.message())))
        .map_err(refused)?;
    if start.joints.len() != character.bodies.len() || start.velocities.len() != character.bodies.len() {
        let counts = (start.joints.len(), start.velocities.len(), character.bodies.len());
        return Err(refused(format!(
            "its event `start` has {} joints and {} velocities; expected {} of both",
            counts.0, counts.1, counts.2
        )));
    }

    let held_from = track.samples() as f64 * recorded;
    if held_from < spec.duration_s - 1e-9 {
        warnings.push(format!(
            "{}: the controls end at {held_from:.3} s of {:.3} s; the last targets are held from there",
            path.display(),
            spec.duration_s
        ));
    }
    let (rate, engine) = (spec.rate_hz.to_string(), spec.engine.name());
    for (key, now) in [("rate_hz", rate.as_str()), ("engine", engine)] {
        if let Some(then) = clip.provenance(key).filter(|then| *then != now) {
            warnings.push(format!(
                "{}: recorded with {key} {then}, and it is {now} here: the same controls will lead elsewhere",
                path.display()
            ));
        }
    }
    if track.has_assist() {
        warnings.push(format!(
            "{}: the controls hold help from outside at the root",
            path.display()
        ));
    }
    let start = start.placed(character, actor);
    Ok((Replay::new(track), start))
}
