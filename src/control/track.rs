//! Tracking a clip.

#![allow(non_snake_case)]

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::gains::{ControlError, copy_actuation, not_negative};
use super::joint_angles::{position_from_rotation, wrap};
use super::parameters::paths;
use super::start::{StartState, body_poses, lowest_gap};
use super::{Clock, Controller, Gains, Parameter, ParameterError, RootTarget};
use crate::character::{Character, Joint};
use crate::clip::Clip;
use crate::math::rotation::{difference, exp, heading as heading_of, slerp};
use crate::names::nearest;
use crate::skeleton::ModelPose;
use crate::world::{Actuation, CharacterState, JointPosition, RootActuation};

/// What becomes of a body for which the clip has no joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MissingJoints {
    /// An error that names it.
    #[default]
    Refuse,
    /// It stays in the bind pose relative to its parent.
    HoldBindPose,
}

/// Spring and damper that help the root along, see [`RootActuation::Spring`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssistGains {
    /// N/m.
    pub kp_linear: f64,
    /// N s/m.
    pub kd_linear: f64,
    /// N m/rad.
    pub kp_angular: f64,
    /// N m s/rad.
    pub kd_angular: f64,
}

impl AssistGains {
    /// Critically damped at 3 Hz for a character of `mass` kilograms with a radius of gyration of 0.4 m.
    pub fn for_mass(mass: f64) -> AssistGains {
        let w = TAU * 3.0;
        let inertia = 0.16 * mass;
        AssistGains {
            kp_linear: mass * w * w,
            kd_linear: 2.0 * mass * w,
            kp_angular: inertia * w * w,
            kd_angular: 2.0 * inertia * w,
        }
    }
}

/// How a clip is tracked.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackOptions {
    pub gains: Gains,
    pub assist: Option<AssistGains>,
    pub missing: MissingJoints,
    /// `(body, joint of the clip)` for bodies whose joint has another name.
    pub joint_map: Vec<(String, String)>,
    /// Start again at the end of the clip, from where the root has come to; the last frame is held otherwise.
    pub looped: bool,
    /// Time in the clip at which the experiment starts, seconds.
    pub start: f64,
    /// Clip seconds per second.
    pub speed: f64,
    /// Turn the motion so that it starts in the direction the character faces; as it stands in the clip otherwise.
    pub align_heading: bool,
}

impl Default for TrackOptions {
    fn default() -> Self {
        TrackOptions {
            gains: Gains::default(),
            assist: None,
            missing: MissingJoints::Refuse,
            joint_map: Vec::new(),
            looped: false,
            start: 0.0,
            speed: 1.0,
            align_heading: true,
        }
    }
}

/// Makes a character follow a clip: target and rate are such that at the end of every step the joints are to be where the
/// clip is then.
///
/// Bodies find their joint by name. What is tracked is the rotation of a body's joint relative to that of its parent
/// body's joint, both in model space and measured from the clip's bind pose, so that joints in between and other hierarchies
/// do no harm; the bind poses of clip and character are assumed to show the same stance. A hinge gets the twist about its
/// axis, a universal joint its two angles.
///
/// The motion is a function of time alone; the state of the character is not looked at.
#[derive(Clone, Debug)]
pub struct Track {
    base: Actuation,
    gains: Gains,
    frame_time: f64,
    frames: usize,
    /// `frames × bodies`, angles unwrapped along the clip.
    joints: Vec<JointPosition>,
    bodies: Vec<Joint>,
    /// Origin and rotation of the root body's frame per frame, in the world before the loop is accumulated.
    root: Vec<(DVec3, DQuat)>,
    /// What one turn of the loop adds: a turn about +Y, then a horizontal shift.
    cycle: Transform,
    /// Placement in the world.
    place: Transform,
    looped: bool,
    start: f64,
    speed: f64,
    assist: Option<AssistGains>,
    root_center_of_mass: DVec3,
    character: Character,
    clearance: f64,
}

/// `x → R_Y(yaw) x + shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transform {
    yaw: f64,
    shift: DVec3,
}

impl Transform {
    const IDENTITY: Transform = Transform {
        yaw: 0.0,
        shift: DVec3::ZERO,
    };

    fn rotation(&self) -> DQuat {
        exp(DVec3::Y * self.yaw)
    }

    fn apply(&self, x: DVec3) -> DVec3 {
        self.rotation() * x + self.shift
    }

    /// First `other`, then `self`.
    fn after(&self, other: &Transform) -> Transform {
        Transform {
            yaw: self.yaw + other.yaw,
            shift: self.apply(other.shift),
        }
    }

    /// Itself `n` times, by repeated squaring.
    fn power(&self, mut n: u64) -> Transform {
        let (mut result, mut square) = (Transform::IDENTITY, *self);
        while n > 0 {
            if n & 1 == 1 {
                result = square.after(&result);
            }
            square = square.after(&square);
            n >>= 1;
        }
        result
    }
}

impl Track {
    /// Tracks `clip`, which starts where the root of `character`, in its bind pose, turned by `heading` and moved by
    /// `position`, is seen from above. `position.y` is added to the height of the motion.
    pub fn new(
        character: &Character,
        clip: &Clip,
        position: DVec3,
        heading: f64,
        options: &TrackOptions,
    ) -> Result<Track, ControlError> {
        let base = options.gains.actuation(character)?;
        let bad_clip = |problem: String| ControlError::BadClip {
            clip: clip.name.clone(),
            problem,
        };
        if clip.frames.is_empty() {
            return Err(bad_clip("it has no frames".into()));
        }
        if !(clip.frame_time.is_finite() && clip.frame_time > 0.0) {
            return Err(bad_clip(format!(
                "its frame time is {} s; expected more than 0",
                clip.frame_time
            )));
        }
        if options.looped && clip.frames.len() < 2 {
            return Err(bad_clip("one frame cannot be looped; hold it instead".into()));
        }
        for (what, value) in [("start_s", options.start), ("speed", options.speed)] {
            not_negative(what, value)?;
        }
        if let Some(a) = options.assist {
            not_negative("assist.kp_linear", a.kp_linear)?;
            not_negative("assist.kd_linear", a.kd_linear)?;
            not_negative("assist.kp_angular", a.kp_angular)?;
            not_negative("assist.kd_angular", a.kd_angular)?;
        }
        let joint_of = find_joints(character, clip, options)?;

        // rotation of every body from its bind pose, frame by frame, then relative to its parent's
        let R_bind: Vec<DQuat> = character.bind_frames().iter().map(|frame| frame.1).collect();
        let mut model = ModelPose::default();
        clip.skeleton.model_pose(&clip.skeleton.bind_pose(), &mut model);
        let R_clip_bind = model.rotations.clone();
        let bodies = character.bodies.len();
        let mut joints: Vec<JointPosition> = Vec::with_capacity(clip.frames.len() * bodies);
        let mut root = Vec::with_capacity(clip.frames.len());
        let mut from_bind = vec![DQuat::IDENTITY; bodies];
        for (frame, pose) in clip.frames.iter().enumerate() {
            clip.skeleton.model_pose(pose, &mut model);
            let finite = model.positions.iter().all(|x| x.is_finite()) && model.rotations.iter().all(|q| q.is_finite());
            if !finite {
                return Err(bad_clip(format!("frame {frame} holds numbers that are not finite")));
            }
            for (b, body) in character.bodies.iter().enumerate() {
                let D_parent = body.parent.map_or(DQuat::IDENTITY, |p| from_bind[p]);
                let moves_with_parent = matches!(body.joint, Joint::Fixed) && body.parent.is_some();
                from_bind[b] = match joint_of[b] {
                    Some(j) if !moves_with_parent => (model.rotations[j] * R_clip_bind[j].conjugate()).normalize(),
                    _ => D_parent,
                };
                let q = (R_bind[b].conjugate() * D_parent.conjugate() * from_bind[b] * R_bind[b]).normalize();
                let mut position = position_from_rotation(&body.joint, q);
                if frame > 0 {
                    unwrap_from(&joints[(frame - 1) * bodies + b], &mut position);
                }
                joints.push(position);
            }
            let x_root = joint_of[0].map_or(model.positions[0], |j| model.positions[j]);
            root.push((x_root, (from_bind[0] * R_bind[0]).normalize()));
        }

        let heading_at = |frame: usize| heading_of(root[frame].1 * R_bind[0].conjugate());
        let horizontal = |x: DVec3| DVec3::new(x.x, 0.0, x.z);
        let mut cycle = Transform::IDENTITY;
        if options.looped {
            let last = root.len() - 1;
            cycle.yaw = wrap(heading_at(last) - heading_at(0));
            cycle.shift = horizontal(root[last].0) - cycle.rotation() * horizontal(root[0].0);
        }
        let mut track = Track {
            base,
            gains: options.gains.clone(),
            frame_time: clip.frame_time,
            frames: clip.frames.len(),
            joints,
            bodies: character.bodies.iter().map(|b| b.joint).collect(),
            root,
            cycle,
            place: Transform::IDENTITY,
            looped: options.looped,
            start: options.start,
            speed: options.speed,
            assist: options.assist,
            root_center_of_mass: character.bodies[0].center_of_mass,
            character: character.clone(),
            clearance: position.y,
        };
        // put the start of the motion where the character stands
        let (x_start, R_start) = track.root_at(0.0);
        let yaw_start = heading_of(R_start * R_bind[0].conjugate());
        let yaw = if options.align_heading {
            heading - yaw_start
        } else {
            heading
        };
        let x_stand = exp(DVec3::Y * heading) * character.bodies[0].offset + position;
        let turn = Transform {
            yaw,
            shift: DVec3::ZERO,
        };
        track.place = Transform {
            yaw,
            shift: horizontal(x_stand) - turn.apply(horizontal(x_start)) + DVec3::Y * position.y,
        };
        Ok(track)
    }

    /// Shifts the motion up or down so that its soles are on the height `ground`, plus the `position.y` it was placed with.
    ///
    /// Every frame has a lowest point of the soles (of all bodies if there are no feet). With a `share` of 0 the lowest of
    /// all frames comes to the ground and no frame is below it. A larger share lets that share of the frames reach into the
    /// ground, so that a few frames with toes pointing down do not keep the others in the air.
    pub fn stand_on(&mut self, ground: f64, share: f64) {
        let bodies = self.bodies.len();
        let mut poses = Vec::with_capacity(bodies);
        let mut lowest = Vec::with_capacity(self.frames);
        for (frame, (x, R)) in self.root.iter().enumerate() {
            let joints = &self.joints[frame * bodies..(frame + 1) * bodies];
            body_poses(&self.character, *x, *R, joints, &mut poses);
            lowest.extend(lowest_gap(&self.character, &poses, true, |_, _| Some(0.0)));
        }
        lowest.sort_by(f64::total_cmp);
        let last = lowest.len().saturating_sub(1);
        if let Some(height) = lowest.get((share.clamp(0.0, 1.0) * last as f64) as usize) {
            self.place.shift.y = ground - height + self.clearance;
        }
    }

    /// Seconds the clip takes once at the speed it is played; infinite at speed 0.
    pub fn duration(&self) -> f64 {
        (self.frames - 1) as f64 * self.frame_time / self.speed
    }

    /// The state in which the motion is at `time`, velocities included.
    pub fn start_state(&self, time: f64) -> StartState {
        let target = self.root(time);
        let bodies = self.bodies.len();
        let mut joints = Vec::with_capacity(bodies);
        let mut velocities = Vec::with_capacity(bodies);
        for b in 0..bodies {
            let (position, rate) = self.joint(b, time);
            joints.push(position);
            velocities.push((DVec3::ZERO, rate));
        }
        if matches!(self.bodies[0], Joint::Free | Joint::Planar) {
            let arm = target.rotation * self.root_center_of_mass;
            velocities[0] = (
                target.velocity + target.angular_velocity.cross(arm),
                target.angular_velocity,
            );
        }
        StartState {
            root_position: target.position,
            root_rotation: target.rotation,
            joints,
            velocities,
        }
    }

    /// Joint positions at `t` seconds in the clip, whatever its start and speed.
    pub fn pose_in_clip(&self, t: f64) -> Vec<JointPosition> {
        let length = (self.frames - 1) as f64 * self.frame_time;
        let t = t.clamp(0.0, length);
        (0..self.bodies.len()).map(|b| self.joint_in_clip(b, t)).collect()
    }

    /// Turn of the loop and seconds in it at experiment time `time`.
    fn clip_time(&self, time: f64) -> (u64, f64) {
        let t = (self.start + self.speed * time).max(0.0);
        let length = (self.frames - 1) as f64 * self.frame_time;
        if !self.looped || length == 0.0 {
            return (0, t.min(length));
        }
        let turn = (t / length).floor();
        (turn as u64, (t - turn * length).clamp(0.0, length))
    }

    /// Frame before `t` and how far on to the next.
    fn frame_at(&self, t: f64) -> (usize, f64) {
        let at = t / self.frame_time;
        let frame = (at.floor() as usize).min(self.frames.saturating_sub(2));
        (frame, (at - frame as f64).clamp(0.0, 1.0))
    }

    fn joint_in_clip(&self, body: usize, t: f64) -> JointPosition {
        let (frame, s) = self.frame_at(t);
        let a = &self.joints[frame * self.bodies.len() + body];
        let b = &self.joints[(frame + 1).min(self.frames - 1) * self.bodies.len() + body];
        match (a, b) {
            (JointPosition::Angle(a), JointPosition::Angle(b)) => JointPosition::Angle(a + s * (b - a)),
            (JointPosition::Angles(a), JointPosition::Angles(b)) => {
                JointPosition::Angles([a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])])
            }
            (JointPosition::Rotation(a), JointPosition::Rotation(b)) => JointPosition::Rotation(slerp(*a, *b, s)),
            _ => *a,
        }
    }

    /// Two times around `t`, half a frame away but within the turn, between which velocities are taken. The seam of a
    /// loop that does not quite close is thus not mistaken for a motion.
    fn window(&self, t: f64) -> (f64, f64) {
        let length = (self.frames - 1) as f64 * self.frame_time;
        (
            (t - 0.5 * self.frame_time).max(0.0),
            (t + 0.5 * self.frame_time).min(length),
        )
    }

    /// Position and rate of a joint at experiment time `time`.
    fn joint(&self, body: usize, time: f64) -> (JointPosition, DVec3) {
        let (_, t) = self.clip_time(time);
        let position = self.joint_in_clip(body, t);
        if self.at_rest(time) {
            return (position, DVec3::ZERO);
        }
        let (before, after) = self.window(t);
        let (a, b) = (self.joint_in_clip(body, before), self.joint_in_clip(body, after));
        let per_second = self.speed / (after - before);
        let rate = match (a, b) {
            (JointPosition::Angle(a), JointPosition::Angle(b)) => DVec3::X * (b - a),
            (JointPosition::Angles(a), JointPosition::Angles(b)) => DVec3::new(b[0] - a[0], b[1] - a[1], 0.0),
            (JointPosition::Rotation(a), JointPosition::Rotation(b)) => difference(b, a),
            _ => DVec3::ZERO,
        };
        (position, rate * per_second)
    }

    /// Whether the motion has ended or stands still.
    fn at_rest(&self, time: f64) -> bool {
        let length = (self.frames - 1) as f64 * self.frame_time;
        self.frames < 2 || self.speed == 0.0 || (!self.looped && self.start + self.speed * time >= length)
    }

    fn root_in_clip(&self, t: f64) -> (DVec3, DQuat) {
        let (frame, s) = self.frame_at(t);
        let (x_a, R_a) = self.root[frame];
        let (x_b, R_b) = self.root[(frame + 1).min(self.frames - 1)];
        (x_a.lerp(x_b, s), slerp(R_a, R_b, s))
    }

    fn root_at(&self, time: f64) -> (DVec3, DQuat) {
        let (turn, t) = self.clip_time(time);
        let (x, R) = self.root_in_clip(t);
        let T = self.place.after(&self.cycle.power(turn));
        (T.apply(x), (T.rotation() * R).normalize())
    }

    /// Where the root is at experiment time `time`, and how it moves.
    fn root(&self, time: f64) -> RootTarget {
        let (turn, t) = self.clip_time(time);
        let T = self.place.after(&self.cycle.power(turn));
        let R_T = T.rotation();
        let (x, R) = self.root_in_clip(t);
        let (mut velocity, mut angular_velocity) = (DVec3::ZERO, DVec3::ZERO);
        if !self.at_rest(time) {
            let (before, after) = self.window(t);
            let ((x_a, R_a), (x_b, R_b)) = (self.root_in_clip(before), self.root_in_clip(after));
            let per_second = self.speed / (after - before);
            velocity = R_T * (x_b - x_a) * per_second;
            angular_velocity = R_T * difference(R_b, R_a) * per_second;
        }
        RootTarget {
            position: T.apply(x),
            rotation: (R_T * R).normalize(),
            velocity,
            angular_velocity,
        }
    }
}

impl Controller for Track {
    fn act(&mut self, _state: &CharacterState, clock: Clock, out: &mut Actuation) {
        copy_actuation(&self.base, out);
        // the law adds dt times the rate to the target: with the rate of mid-step that is where the clip is at the end
        let middle = clock.time + 0.5 * clock.dt;
        for (body, joint) in out.joints.iter_mut().enumerate() {
            joint.target = self.joint(body, clock.time).0;
            joint.target_velocity = self.joint(body, middle).1;
        }
        if let Some(gains) = self.assist {
            let (now, then) = (self.root(clock.time), self.root(middle));
            out.root = RootActuation::Spring {
                position: now.position,
                rotation: now.rotation,
                velocity: then.velocity,
                angular_velocity: then.angular_velocity,
                kp_linear: gains.kp_linear,
                kd_linear: gains.kd_linear,
                kp_angular: gains.kp_angular,
                kd_angular: gains.kd_angular,
            };
        }
    }

    fn root_target(&self, time: f64) -> Option<RootTarget> {
        matches!(self.bodies[0], Joint::Free | Joint::Planar).then(|| self.root(time))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut all = self.gains.parameters(&self.character, &self.base);
        if let Some(assist) = self.assist {
            all.extend(assist.parameters(self.character.mass()));
        }
        all
    }

    fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ParameterError> {
        let assist = self.assist.as_mut().and_then(|a| a.set_parameter(path, value));
        assist
            .or_else(|| (self.gains).set_parameter(&self.character, path, value, &mut self.base))
            .unwrap_or_else(|| Err(ParameterError::unknown(path, paths(self.parameters()))))
    }
}

/// Joint of the clip for every body, `None` where there is none and none is needed.
fn find_joints(character: &Character, clip: &Clip, options: &TrackOptions) -> Result<Vec<Option<usize>>, ControlError> {
    let names = || clip.skeleton.joints.iter().map(|j| j.name.as_str());
    for (body, _) in &options.joint_map {
        super::find_body(character, body, "joint_map")?;
    }
    let mut found = Vec::with_capacity(character.bodies.len());
    for body in &character.bodies {
        let mapped = options.joint_map.iter().find(|(b, _)| *b == body.name);
        let name = mapped.map_or(body.name.as_str(), |(_, joint)| joint.as_str());
        let joint = clip.skeleton.joint(name).or_else(|| {
            let plain = plain(name);
            names().position(|n| self::plain(n) == plain)
        });
        let needed = match body.joint {
            Joint::Fixed => mapped.is_some(),
            _ => options.missing == MissingJoints::Refuse || mapped.is_some() || body.parent.is_none(),
        };
        if joint.is_none() && needed {
            return Err(ControlError::MissingJoint {
                clip: clip.name.clone(),
                character: character.name.clone(),
                body: body.name.clone(),
                nearest: nearest(name, names()).map(str::to_string),
                known: names().map(str::to_string).collect(),
            });
        }
        found.push(joint);
    }
    Ok(found)
}

/// A name without what people write differently: case, separators, `mixamorig:` and the like.
fn plain(name: &str) -> String {
    let name = name.rsplit(':').next().unwrap_or(name);
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Moves the angles of `position` by whole turns next to those of `previous`, the sign of a quaternion likewise.
fn unwrap_from(previous: &JointPosition, position: &mut JointPosition) {
    match (previous, position) {
        (JointPosition::Angle(a), JointPosition::Angle(b)) => *b = a + wrap(*b - a),
        (JointPosition::Angles(a), JointPosition::Angles(b)) => {
            for i in 0..2 {
                b[i] = a[i] + wrap(b[i] - a[i]);
            }
        }
        (JointPosition::Rotation(a), JointPosition::Rotation(b)) if a.dot(*b) < 0.0 => *b = -*b,
        _ => {}
    }
}
