//! What `motion.clip` and `motion.bvh` are made of: frames and tracks of one character, or of the props alone.

use std::sync::Arc;

use super::controls::provenance;
use super::frame::ForceAt;
use super::prepare::{Actor, Prepared};
use super::run::Simulation;
use crate::character::Character;
use crate::clip::{Clip, ClipFile, Rate};
use crate::control::position_numbers;
use crate::skeleton::{ModelPose, Pose, Skeleton};
use crate::world::{BodyRef, CharacterState};

/// Contacts kept of a frame; if there are more, the weakest are left out.
pub(super) const CONTACT_SLOTS: usize = 24;

/// Numbers of a contact: point, force, body, whether the character touches itself.
pub(super) const CONTACT_NUMBERS: usize = 8;

/// Pushes kept of a frame; if more act at once, the weakest are left out.
pub(super) const PUSH_SLOTS: usize = 24;

/// Numbers of a push: point, force.
pub(super) const PUSH_NUMBERS: usize = 6;

/// Frames of a character and everything measured with them, sampled at one rate. See `docs/run_folder.md` for the tracks.
#[derive(Clone, Debug)]
pub struct Recording {
    pub file: ClipFile,
    /// Which character; `None` for props alone.
    actor: Option<usize>,
    character: Option<Arc<Character>>,
    /// Bodies of each recorded prop.
    props: Vec<usize>,
    platforms: usize,
    pushes: usize,
    model: ModelPose,
    strongest: Vec<usize>,
}

/// Tracks in the order in which [`Recording::sample`] fills them: name, unit, numbers per body (0: three in all).
const TRACKS: [(&str, &str, usize); 17] = [
    ("body_position", "m", 3),
    ("body_rotation", "", 4),
    ("body_velocity", "m/s", 3),
    ("body_angular_velocity", "rad/s", 3),
    ("joint_position", "rad", 4),
    ("joint_velocity", "rad/s", 3),
    ("target_position", "rad", 4),
    ("target_velocity", "rad/s", 3),
    ("torque", "N m", 3),
    ("left_foot_force", "N", 0),
    ("right_foot_force", "N", 0),
    ("left_foot_center_of_pressure", "m", 0),
    ("right_foot_center_of_pressure", "m", 0),
    ("center_of_pressure", "m", 0),
    ("assist_force", "N", 0),
    ("assist_torque", "N m", 0),
    ("center_of_mass", "m", 0),
];

impl Recording {
    /// One per character; the first has what is not a character's own (props, platforms, pushes, energy), and if there are
    /// no characters there is one for that alone.
    pub fn all(prepared: &Prepared, simulation: &Simulation, frame_time: f64) -> Vec<Recording> {
        let actors = prepared.actors.iter().enumerate();
        let mut recordings: Vec<Recording> = actors.map(|(i, a)| Recording::of_actor(i, a, frame_time)).collect();
        let scene = simulation.engine.scene();
        if recordings.is_empty() && !(scene.props.is_empty() && scene.platforms.is_empty()) {
            recordings.push(Recording {
                file: ClipFile::new(
                    prepared.name.clone(),
                    Skeleton::default(),
                    Rate::from_frame_time(frame_time),
                ),
                actor: None,
                character: None,
                props: Vec::new(),
                platforms: 0,
                pushes: 0,
                model: ModelPose::default(),
                strongest: Vec::new(),
            });
        }
        if let Some(first) = recordings.first_mut() {
            first.file.add_scalar("energy", "J");
            for (prop, name) in scene.props.iter().zip(&prepared.prop_names) {
                let bodies = prop.body.bodies.len();
                first.file.add_vector(format!("prop.{name}"), "m", 7 * bodies);
                first.props.push(bodies);
            }
            first.platforms = scene.platforms.len();
            for i in 0..first.platforms {
                first.file.add_vector(format!("platform.{i}"), "m", 7);
            }
            first.pushes = prepared.pushes.len().min(PUSH_SLOTS);
            if first.pushes > 0 {
                first.file.add_vector("pushes", "m, N", PUSH_NUMBERS * first.pushes);
            }
        }
        recordings
    }

    fn of_actor(index: usize, actor: &Actor, frame_time: f64) -> Recording {
        let bodies = actor.character.bodies.len();
        let rate = Rate::from_frame_time(frame_time);
        let mut file = ClipFile::new(actor.name.clone(), actor.character.skeleton(), rate);
        for (name, unit, per_body) in TRACKS {
            file.add_vector(name, unit, if per_body == 0 { 3 } else { per_body * bodies });
        }
        file.add_vector("root_reference", "m", 7);
        file.add_vector("contacts", "m, N", CONTACT_NUMBERS * CONTACT_SLOTS);
        Recording {
            file,
            actor: Some(index),
            character: Some(actor.character.clone()),
            props: Vec::new(),
            platforms: 0,
            pushes: 0,
            model: ModelPose::default(),
            strongest: Vec::new(),
        }
    }

    /// Adds a frame. Quantities that belong to a step (torques, forces) are those of the last one.
    pub fn sample(&mut self, simulation: &Simulation) {
        let mut next = 0;
        if let Some(actor) = self.actor {
            self.sample_character(actor, simulation);
            next = TRACKS.len() + 2;
        }
        if let Some(energy) = self.file.scalar_tracks.first_mut() {
            energy.values.push(simulation.engine.energy());
        }
        let engine = simulation.engine.as_ref();
        let mut extra = self.file.vector_tracks[next..].iter_mut();
        for (prop, bodies) in self.props.iter().enumerate() {
            let Some(track) = extra.next() else { break };
            for body in 0..*bodies {
                let b = engine.prop_body(prop, body);
                track.values.extend(b.position.to_array());
                track.values.extend(b.rotation.to_array());
            }
        }
        for platform in 0..self.platforms {
            let Some(track) = extra.next() else { break };
            let (position, rotation) = engine.platform_pose(platform);
            track.values.extend(position.to_array());
            track.values.extend(rotation.to_array());
        }
        if let Some(track) = extra.next() {
            let mut now = simulation.pushes_now();
            if now.len() > self.pushes {
                let size = |i: &usize| now[*i].force.length_squared();
                let kept = strongest(now.len(), self.pushes, size, &mut self.strongest);
                now = kept.iter().map(|i| now[*i]).collect();
            }
            now.resize(self.pushes, ForceAt::default());
            for push in now {
                track.values.extend(push.point.to_array());
                track.values.extend(push.force.to_array());
            }
        }
    }

    fn sample_character(&mut self, actor: usize, simulation: &Simulation) {
        let (state, actuation) = (&simulation.states[actor], &simulation.actuations[actor]);
        self.model.positions.clear();
        self.model.rotations.clear();
        self.model.positions.extend(state.bodies.iter().map(|b| b.position));
        self.model.rotations.extend(state.bodies.iter().map(|b| b.rotation));
        let mut pose = Pose::default();
        self.file.skeleton.local_pose(&self.model, &mut pose);
        self.file.frames.push(pose);

        let tracks = &mut self.file.vector_tracks;
        for (body, joint) in state.bodies.iter().zip(&actuation.joints) {
            tracks[0].values.extend(body.position.to_array());
            tracks[1].values.extend(body.rotation.to_array());
            tracks[2].values.extend(body.velocity.to_array());
            tracks[3].values.extend(body.angular_velocity.to_array());
            tracks[6].values.extend(position_numbers(&joint.target));
            tracks[7].values.extend(joint.target_velocity.to_array());
        }
        for ((position, velocity), torque) in state.joints.iter().zip(&state.joint_velocities).zip(&state.torques) {
            tracks[4].values.extend(position_numbers(position));
            tracks[5].values.extend(velocity.to_array());
            tracks[8].values.extend(torque.to_array());
        }
        let whole = [
            state.feet[0].force,
            state.feet[1].force,
            state.feet[0].center_of_pressure.unwrap_or_default(),
            state.feet[1].center_of_pressure.unwrap_or_default(),
            state.center_of_pressure.unwrap_or_default(),
            state.external_wrench.force,
            state.external_wrench.torque,
            state.center_of_mass,
        ];
        for (track, value) in tracks[9..].iter_mut().zip(whole) {
            track.values.extend(value.to_array());
        }
        let root = simulation.root_reference(actor, simulation.engine.time());
        let reference = &mut tracks[TRACKS.len()].values;
        reference.extend(root.position.to_array());
        reference.extend(root.rotation.to_array());
        sample_contacts(state, &mut self.strongest, &mut tracks[TRACKS.len() + 1].values);
    }

    /// The samples so far, which are forgotten here.
    pub(super) fn take(&mut self) -> ClipFile {
        let mut empty = self.file.without_samples();
        // the next part will be as long
        for (track, last) in empty.scalar_tracks.iter_mut().zip(&self.file.scalar_tracks) {
            track.values.reserve(last.values.len());
        }
        for (track, last) in empty.vector_tracks.iter_mut().zip(&self.file.vector_tracks) {
            track.values.reserve(last.values.len());
        }
        std::mem::replace(&mut self.file, empty)
    }

    /// What made the recording.
    pub(super) fn provenance(&self, prepared: &Prepared) -> Vec<(String, String)> {
        let mut entries = provenance(prepared);
        if let Some(character) = &self.character {
            let bodies: Vec<&str> = character.bodies.iter().map(|b| b.name.as_str()).collect();
            entries.push(("bodies".into(), bodies.join(" ")));
        }
        entries
    }

    /// The file with its provenance.
    pub fn finished(&self, prepared: &Prepared) -> ClipFile {
        ClipFile {
            provenance: self.provenance(prepared),
            ..self.file.clone()
        }
    }

    /// The frames alone.
    pub fn clip(&self) -> Clip {
        Clip {
            frames: self.file.frames.clone(),
            ..self.clip_without_frames()
        }
    }

    pub(super) fn clip_without_frames(&self) -> Clip {
        Clip {
            name: self.file.name.clone(),
            skeleton: self.file.skeleton.clone(),
            frame_time: self.file.rate.frame_time(),
            frames: Vec::new(),
            looped: false,
        }
    }
}

/// The largest `slots` of the numbers below `count`, in their order; `kept` is room for them.
fn strongest(count: usize, slots: usize, size: impl Fn(&usize) -> f64, kept: &mut Vec<usize>) -> &[usize] {
    kept.clear();
    kept.extend(0..count);
    if count > slots {
        kept.sort_by(|a, b| size(b).total_cmp(&size(a)));
        kept.truncate(slots);
        kept.sort_unstable();
    }
    kept
}

/// The strongest contacts in the order of the engine; `room` is scratch.
fn sample_contacts(state: &CharacterState, room: &mut Vec<usize>, out: &mut Vec<f64>) {
    let size = |i: &usize| state.contacts[*i].force.length_squared();
    let kept = strongest(state.contacts.len(), CONTACT_SLOTS, size, room);
    let end = out.len() + CONTACT_NUMBERS * CONTACT_SLOTS;
    for contact in kept.iter().map(|i| &state.contacts[*i]) {
        out.extend(contact.point.to_array());
        out.extend(contact.force.to_array());
        out.push(match contact.a {
            BodyRef::Character { body, .. } => body as f64,
            _ => 0.0,
        });
        out.push(f64::from(u8::from(contact.is_own())));
    }
    out.resize(end, 0.0);
}
