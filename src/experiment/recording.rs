//! What `motion.clip` and `motion.bvh` are made of: frames and tracks of one character.

use std::sync::Arc;

use super::prepare::{Actor, Prepared};
use crate::character::Character;
use crate::clip::{Clip, ClipFile, Rate};
use crate::skeleton::{ModelPose, Pose};
use crate::world::{Actuation, CharacterState, Engine, JointPosition};

/// Frames of a character and everything measured with them, sampled at one rate. See `docs/run_folder.md` for the tracks.
#[derive(Clone, Debug)]
pub struct Recording {
    pub file: ClipFile,
    character: Arc<Character>,
    /// Bodies of each recorded prop.
    props: Vec<usize>,
    platforms: usize,
    model: ModelPose,
}

/// Tracks in the order in which [`Recording::sample`] fills them: name, unit, numbers per body (0: three in all).
const TRACKS: [(&str, &str, usize); 14] = [
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
    ("center_of_pressure", "m", 0),
    ("assist_force", "N", 0),
    ("assist_torque", "N m", 0),
];

/// A joint's position in four numbers: one or two angles, or a quaternion.
fn four(position: &JointPosition) -> [f64; 4] {
    match *position {
        JointPosition::None => [0.0; 4],
        JointPosition::Angle(a) => [a, 0.0, 0.0, 0.0],
        JointPosition::Angles([a, b]) => [a, b, 0.0, 0.0],
        JointPosition::Rotation(q) => q.to_array(),
    }
}

impl Recording {
    pub fn new(actor: &Actor, frame_time: f64) -> Recording {
        let bodies = actor.character.bodies.len();
        let mut file = ClipFile::new(
            actor.name.clone(),
            actor.character.skeleton(),
            Rate::from_frame_time(frame_time),
        );
        for (name, unit, per_body) in TRACKS {
            file.add_vector(name, unit, if per_body == 0 { 3 } else { per_body * bodies });
        }
        Recording {
            file,
            character: actor.character.clone(),
            props: Vec::new(),
            platforms: 0,
            model: ModelPose::default(),
        }
    }

    /// Records props and platforms along: position and rotation of every body.
    pub fn add_props(&mut self, engine: &dyn Engine, names: &[String]) {
        for (prop, name) in engine.scene().props.iter().zip(names) {
            let bodies = prop.body.bodies.len();
            self.file.add_vector(format!("prop.{name}"), "m", 7 * bodies);
            self.props.push(bodies);
        }
        self.platforms = engine.scene().platforms.len();
        for i in 0..self.platforms {
            self.file.add_vector(format!("platform.{i}"), "m", 7);
        }
    }

    /// Adds a frame. Quantities that belong to a step (torques, forces) are those of the last one.
    pub fn sample(&mut self, state: &CharacterState, actuation: &Actuation, engine: &dyn Engine) {
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
            tracks[6].values.extend(four(&joint.target));
            tracks[7].values.extend(joint.target_velocity.to_array());
        }
        for ((position, velocity), torque) in state.joints.iter().zip(&state.joint_velocities).zip(&state.torques) {
            tracks[4].values.extend(four(position));
            tracks[5].values.extend(velocity.to_array());
            tracks[8].values.extend(torque.to_array());
        }
        let whole = [
            state.feet[0].force,
            state.feet[1].force,
            state.center_of_pressure.unwrap_or_default(),
            state.external_wrench.force,
            state.external_wrench.torque,
        ];
        for (track, value) in tracks[9..].iter_mut().zip(whole) {
            track.values.extend(value.to_array());
        }
        let mut extra = tracks[TRACKS.len()..].iter_mut();
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
    }

    /// The file with its provenance.
    pub fn finished(&self, prepared: &Prepared) -> ClipFile {
        let mut file = self.file.clone();
        file.add_provenance("made_by", format!("ambler {}", env!("CARGO_PKG_VERSION")));
        file.add_provenance("experiment", prepared.name.clone());
        file.add_provenance("engine", prepared.spec.engine.name());
        file.add_provenance("seed", prepared.spec.seed.to_string());
        file.add_provenance("rate_hz", prepared.spec.rate_hz.to_string());
        let bodies: Vec<&str> = self.character.bodies.iter().map(|b| b.name.as_str()).collect();
        file.add_provenance("bodies", bodies.join(" "));
        file
    }

    /// The frames alone.
    pub fn clip(&self) -> Clip {
        Clip {
            name: self.file.name.clone(),
            skeleton: self.file.skeleton.clone(),
            frame_time: self.file.rate.frame_time(),
            frames: self.file.frames.clone(),
            looped: false,
        }
    }
}
