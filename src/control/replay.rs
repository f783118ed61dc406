//! Control tracks: everything a controller asked for, call by call, recorded in a clip and played again.
//!
//! | track | numbers per call | unit |
//! |---|---|---|
//! | `mode` (scalar) | 0 stable, 1 explicit | |
//! | `target_position` | 4 per body: a hinge's angle, a universal joint's two, a ball joint's quaternion | rad |
//! | `target_velocity` | 3 per body | rad/s |
//! | `kp`, `kd`, `feed_forward` | 3 per body | N m/rad, N m s/rad, N m |
//! | `root` | 18: 0 and zeros for no help; 1, force, torque of a wrench; 2, position, rotation, velocity, angular velocity, kp and kd linear, kp and kd angular of a spring | |

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::gains::ControlError;
use super::joint_angles::{position_from_numbers, position_numbers};
use super::{Clock, Controller};
use crate::character::{Character, Joint};
use crate::clip::ClipFile;
use crate::world::{Actuation, CharacterState, JointActuation, PdMode, RootActuation, Wrench, check_actuation};

const MODE: &str = "mode";
const ROOT: &str = "root";
/// Numbers of the root's track.
const ROOT_NUMBERS: usize = 18;
/// Tracks in the order in which they are written: name, unit, numbers per body.
const PER_BODY: [(&str, &str, usize); 5] = [
    ("target_position", "rad", 4),
    ("target_velocity", "rad/s", 3),
    ("kp", "N m/rad", 3),
    ("kd", "N m s/rad", 3),
    ("feed_forward", "N m", 3),
];

/// Adds the empty tracks of a control track for `bodies` bodies to a clip that has none yet.
pub fn add_control_tracks(clip: &mut ClipFile, bodies: usize) {
    clip.add_scalar(MODE, "");
    for (name, unit, numbers) in PER_BODY {
        clip.add_vector(name, unit, numbers * bodies);
    }
    clip.add_vector(ROOT, "", ROOT_NUMBERS);
}

/// Adds what a controller asked for in one call to a clip with [`add_control_tracks`].
pub fn record_actuation(clip: &mut ClipFile, actuation: &Actuation) {
    clip.scalar_tracks[0].values.push(match actuation.mode {
        PdMode::Stable => 0.0,
        PdMode::Explicit => 1.0,
    });
    let [position, velocity, kp, kd, feed_forward, root] = &mut clip.vector_tracks[..] else {
        unreachable!("a control track has six vector tracks");
    };
    for joint in &actuation.joints {
        position.values.extend(position_numbers(&joint.target));
        velocity.values.extend(joint.target_velocity.to_array());
        kp.values.extend(joint.kp.to_array());
        kd.values.extend(joint.kd.to_array());
        feed_forward.values.extend(joint.feed_forward.to_array());
    }
    let end = root.values.len() + ROOT_NUMBERS;
    match actuation.root {
        RootActuation::None => {}
        RootActuation::Wrench(Wrench { force, torque }) => {
            root.values.push(1.0);
            root.values.extend([force, torque].iter().flat_map(DVec3::to_array));
        }
        RootActuation::Spring {
            position,
            rotation,
            velocity,
            angular_velocity,
            kp_linear,
            kd_linear,
            kp_angular,
            kd_angular,
        } => {
            root.values.push(2.0);
            root.values.extend(position.to_array());
            root.values.extend(rotation.to_array());
            root.values
                .extend([velocity, angular_velocity].iter().flat_map(DVec3::to_array));
            root.values.extend([kp_linear, kd_linear, kp_angular, kd_angular]);
        }
    }
    root.values.resize(end, 0.0);
}

/// A track in memory: once if all its samples are equal, as gains mostly are.
#[derive(Clone, Debug)]
struct Numbers {
    arity: usize,
    values: Vec<f64>,
}

impl Numbers {
    fn new(arity: usize, values: &[f64]) -> Numbers {
        let first = values.get(..arity).unwrap_or_default();
        // by their bits: 0 and -0 are different numbers in a replay
        let same = |sample: &[f64]| sample.iter().zip(first).all(|(a, b)| a.to_bits() == b.to_bits());
        let constant = values.chunks_exact(arity).all(same);
        Numbers {
            arity,
            values: if constant { first.to_vec() } else { values.to_vec() },
        }
    }

    fn sample(&self, index: usize) -> &[f64] {
        match self.values.len() == self.arity {
            true => &self.values,
            false => &self.values[index * self.arity..][..self.arity],
        }
    }
}

/// A control track that fits a character.
#[derive(Clone, Debug)]
pub struct ControlTrack {
    joints: Vec<Joint>,
    samples: usize,
    /// Seconds from one call to the next.
    frame_time: f64,
    mode: Numbers,
    /// As in [`PER_BODY`].
    bodies: Vec<Numbers>,
    root: Numbers,
}

fn three(numbers: &[f64]) -> DVec3 {
    DVec3::from_slice(numbers)
}

impl ControlTrack {
    /// Takes the tracks out of a clip.
    ///
    /// # Errors
    /// Tracks are missing or have another size, the clip was recorded of other bodies, or a call of it asks for what
    /// `character` cannot do.
    pub fn from_clip(clip: &ClipFile, character: &Character) -> Result<ControlTrack, ControlError> {
        let bad = |problem: String| {
            Err(ControlError::BadControls {
                clip: clip.name.clone(),
                problem,
            })
        };
        if let Err(error) = clip.validate() {
            return bad(error.to_string());
        }
        let recorded = clip.skeleton.joints.iter().map(|j| j.name.as_str());
        let own = character.bodies.iter().map(|b| b.name.as_str());
        if clip.skeleton.joints.len() != character.bodies.len() {
            return bad(format!(
                "it was recorded of {} bodies and character `{}` has {}",
                clip.skeleton.joints.len(),
                character.name,
                character.bodies.len()
            ));
        }
        if let Some((body, (a, b))) = recorded.zip(own).enumerate().find(|(_, (a, b))| a != b) {
            return bad(format!(
                "body {body} is `{a}` in it and `{b}` in character `{}`",
                character.name
            ));
        }
        let samples = clip.samples();
        if samples == 0 {
            return bad("it is empty".into());
        }
        let Some(mode) = clip.scalar(MODE) else {
            return bad(format!(
                "it has no track `{MODE}`; expected one that `recording.controls` has written"
            ));
        };
        if let Some(word) = mode.values.iter().find(|m| ![0.0, 1.0].contains(*m)) {
            return bad(format!("`{MODE}` is {word}; expected 0 or 1"));
        }
        let vector = |name: &str, arity: usize| match clip.vector(name) {
            Some(track) if track.arity == arity => Ok(Numbers::new(arity, &track.values)),
            Some(track) => Err(format!(
                "`{name}` has {} numbers per call; expected {arity}",
                track.arity
            )),
            None => Err(format!(
                "it has no track `{name}`; expected one that `recording.controls` has written"
            )),
        };
        let bodies = PER_BODY.map(|(name, _, numbers)| vector(name, numbers * character.bodies.len()));
        let bodies: Vec<Numbers> = match bodies.into_iter().collect() {
            Ok(bodies) => bodies,
            Err(problem) => return bad(problem),
        };
        let root = match vector(ROOT, ROOT_NUMBERS) {
            Ok(root) => root,
            Err(problem) => return bad(problem),
        };
        let track = ControlTrack {
            joints: character.bodies.iter().map(|b| b.joint).collect(),
            samples,
            frame_time: clip.rate.frame_time(),
            mode: Numbers::new(1, &mode.values),
            bodies,
            root,
        };
        let mut actuation = Actuation::hold_bind_pose(character);
        for call in 0..samples {
            let kind = track.root.sample(call)[0];
            if ![0.0, 1.0, 2.0].contains(&kind) {
                return bad(format!("call {call}: `{ROOT}` begins with {kind}; expected 0, 1 or 2"));
            }
            track.write(call, &mut actuation);
            if let Err(error) = check_actuation(character, &actuation, call as f64 * track.frame_time) {
                return bad(error.to_string());
            }
        }
        Ok(track)
    }

    /// Number of calls.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Seconds from one call to the next.
    pub fn frame_time(&self) -> f64 {
        self.frame_time
    }

    /// The law of the first call.
    pub fn mode(&self) -> PdMode {
        mode(self.mode.sample(0))
    }

    /// Whether any call asked for help from outside.
    pub fn has_assist(&self) -> bool {
        self.root.values.chunks_exact(ROOT_NUMBERS).any(|root| root[0] != 0.0)
    }

    /// What was asked for in a call, to the bit.
    fn write(&self, call: usize, out: &mut Actuation) {
        out.mode = mode(self.mode.sample(call));
        let [position, velocity, kp, kd, feed_forward] = [0, 1, 2, 3, 4].map(|i| self.bodies[i].sample(call));
        out.joints.clear();
        out.joints.extend(self.joints.iter().enumerate().map(|(body, joint)| {
            let at = 3 * body;
            JointActuation {
                target: position_from_numbers(joint, &position[4 * body..4 * body + 4]),
                target_velocity: three(&velocity[at..]),
                kp: three(&kp[at..]),
                kd: three(&kd[at..]),
                feed_forward: three(&feed_forward[at..]),
            }
        }));
        let root = self.root.sample(call);
        out.root = match root[0] {
            1.0 => RootActuation::Wrench(Wrench {
                force: three(&root[1..]),
                torque: three(&root[4..]),
            }),
            2.0 => RootActuation::Spring {
                position: three(&root[1..]),
                rotation: DQuat::from_slice(&root[4..]),
                velocity: three(&root[8..]),
                angular_velocity: three(&root[11..]),
                kp_linear: root[14],
                kd_linear: root[15],
                kp_angular: root[16],
                kd_angular: root[17],
            },
            _ => RootActuation::None,
        };
    }
}

fn mode(numbers: &[f64]) -> PdMode {
    match numbers[0] {
        0.0 => PdMode::Stable,
        _ => PdMode::Explicit,
    }
}

/// Asks for what a control track holds, call by call.
///
/// It has to be called as often as the recorded controller was. After the last call of the track its targets are held, at
/// rest, and nothing helps from outside. The state of the character is not looked at.
#[derive(Clone, Debug)]
pub struct Replay {
    track: Arc<ControlTrack>,
}

impl Replay {
    pub fn new(track: ControlTrack) -> Replay {
        Replay { track: Arc::new(track) }
    }

    pub fn track(&self) -> &ControlTrack {
        &self.track
    }
}

impl Controller for Replay {
    fn act(&mut self, _state: &CharacterState, clock: Clock, out: &mut Actuation) {
        // a time before the start counts as the start
        let call = (clock.time / self.track.frame_time).round() as usize;
        let last = self.track.samples - 1;
        self.track.write(call.min(last), out);
        if call > last {
            out.root = RootActuation::None;
            for joint in &mut out.joints {
                joint.target_velocity = DVec3::ZERO;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clip::Rate;
    use crate::math::random::uniform;
    use crate::math::rotation::exp;
    use crate::world::JointPosition;

    fn humanoid() -> Character {
        Character::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/humanoid.toml")).unwrap()
    }

    /// Something different for every call.
    fn wild(character: &Character, call: u64) -> Actuation {
        let number = |i: u64| 2.0 * uniform(5, call, i) - 1.0;
        let vector = |i: u64| DVec3::new(number(i), number(i + 1), -0.0);
        let mut actuation = Actuation::hold_bind_pose(character);
        actuation.mode = if call % 5 == 1 {
            PdMode::Explicit
        } else {
            PdMode::Stable
        };
        for (i, joint) in actuation.joints.iter_mut().enumerate() {
            let i = 20 * i as u64;
            match &mut joint.target {
                JointPosition::Angle(a) => *a = number(i),
                JointPosition::Rotation(q) => *q = exp(vector(i)),
                _ => {}
            }
            joint.target_velocity = vector(i + 3);
            joint.kd = vector(i + 6).abs();
            joint.feed_forward = vector(i + 9);
        }
        actuation.root = match call % 3 {
            0 => RootActuation::None,
            1 => RootActuation::Wrench(Wrench {
                force: vector(1000),
                torque: vector(1003),
            }),
            _ => RootActuation::Spring {
                position: vector(1006),
                rotation: exp(vector(1009)),
                velocity: vector(1012),
                angular_velocity: vector(1015),
                kp_linear: number(1018).abs(),
                kd_linear: number(1019).abs(),
                kp_angular: number(1020).abs(),
                kd_angular: number(1021).abs(),
            },
        };
        actuation
    }

    fn recorded(character: &Character, calls: u64) -> ClipFile {
        let rate = Rate::from_frame_time(1.0 / 120.0);
        let mut clip = ClipFile::new("wild", character.skeleton(), rate);
        add_control_tracks(&mut clip, character.bodies.len());
        for call in 0..calls {
            record_actuation(&mut clip, &wild(character, call));
        }
        clip
    }

    fn replayed(replay: &mut Replay, call: u64) -> Actuation {
        let mut out = Actuation::default();
        let (dt, state) = (1.0 / 120.0, CharacterState::default());
        // times are sums of steps in an engine, not exact multiples
        let time = dt * call as f64 * (1.0 + 1e-13);
        replay.act(&state, Clock { time, dt }, &mut out);
        out
    }

    #[test]
    fn whatever_a_controller_asks_for_is_asked_for_again_to_the_bit() {
        // actuation, tracks, bytes, tracks, actuation: the same, modes and all kinds of help included
        let character = humanoid();
        let bytes = recorded(&character, 300).to_bytes().unwrap();
        let clip = ClipFile::from_bytes(&bytes, "wild.clip").unwrap();
        let mut replay = Replay::new(ControlTrack::from_clip(&clip, &character).unwrap());
        assert_eq!(replay.track().samples(), 300);
        assert!(replay.track().has_assist());
        for call in 0..300 {
            let (expected, found) = (wild(&character, call), replayed(&mut replay, call));
            // the text of a number tells -0 from 0
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "call {call}");
        }
    }

    #[test]
    fn after_its_end_the_last_targets_are_held_at_rest_without_help() {
        // gains, mode and feed-forward are those of the last call
        let character = humanoid();
        let mut replay = Replay::new(ControlTrack::from_clip(&recorded(&character, 6), &character).unwrap());
        let mut expected = wild(&character, 5);
        expected.root = RootActuation::None;
        expected.joints.iter_mut().for_each(|j| j.target_velocity = DVec3::ZERO);
        assert_eq!(replayed(&mut replay, 6), expected);
        assert_eq!(replayed(&mut replay, 600), expected);
        assert_ne!(replayed(&mut replay, 5), expected);
    }

    #[test]
    fn a_track_that_does_not_fit_is_refused_with_the_reason() {
        // other bodies, lost tracks, and numbers that no joint can follow
        let character = humanoid();
        let benchmark = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/benchmark.toml");
        let other = Character::load(&benchmark).unwrap();
        let good = recorded(&character, 4);
        let refused = |clip: &ClipFile, part: &str| {
            let error = ControlTrack::from_clip(clip, &character).unwrap_err().to_string();
            assert!(error.contains("wild") && error.contains(part), "{part}: {error}");
        };
        let error = ControlTrack::from_clip(&good, &other).unwrap_err().to_string();
        assert!(error.contains("bodies"), "{error}");
        let changed = |change: &dyn Fn(&mut ClipFile)| {
            let mut clip = good.clone();
            change(&mut clip);
            clip
        };
        refused(&changed(&|c| c.skeleton.joints[3].name = "hat".into()), "`hat`");
        refused(&changed(&|c| c.scalar_tracks.clear()), "`mode`");
        refused(&changed(&|c| _ = c.vector_tracks.remove(2)), "`kp`");
        refused(&changed(&|c| c.vector_tracks[0].arity *= 2), "`target_position`");
        refused(&changed(&|c| c.scalar_tracks[0].values[2] = 0.5), "0.5");
        refused(&changed(&|c| c.vector_tracks[3].values[3] = -1.0), "kd");
        refused(&changed(&|c| c.vector_tracks[0].values[4] = 7.0), "abdomen");
        refused(&changed(&|c| c.vector_tracks[1].values[9] = f64::NAN), "NaN");
        refused(&changed(&|c| c.vector_tracks[5].values[18] = 3.0), "call 1");
        refused(&good.without_samples(), "empty");
    }
}
