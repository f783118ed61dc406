//! Controllers: what a character wants to do next.
//!
//! In: [`CharacterState`]. Out: [`Actuation`]. Knows nothing of files and the command line.
//!
//! ```text
//! Clip ── Track ─┐            Offsets
//!                ├─ act(state, clock) → Actuation → World::step
//! pose ── Hold ──┤
//! Clip ── Replay ┘
//! ```
//!
//! [`Offsets`] move the targets of any of them.
//!
//! A controller also knows the [`StartState`] in which it would like to find its character.

mod gains;
mod hold;
mod joint_angles;
mod offsets;
mod parameters;
mod replay;
mod start;
mod track;

use glam::{DQuat, DVec3};

pub use gains::{BodyGains, ControlError, Gains, find_body};
pub use hold::{Hold, pose_from_angles};
pub use joint_angles::{joint_rotation, position_from_rotation, universal_angles};
pub(crate) use joint_angles::{position_from_numbers, position_numbers};
pub use offsets::{AXES, LARGEST_OFFSET_DEG, OffsetCurve, OffsetOptions, Offsets, TIME_SCALES, WithOffsets};
pub use parameters::{Parameter, ParameterError};
pub use replay::{ControlTrack, Replay, add_control_tracks, record_actuation};
pub use start::{StartState, body_poses, lowest_gap};
pub use track::{AssistGains, MissingJoints, Track, TrackOptions};

use crate::world::{Actuation, CharacterState};

/// Where a controller is in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds since the start of the experiment, at the beginning of the coming step.
    pub time: f64,
    /// Seconds until the next call of the controller.
    pub dt: f64,
}

/// Where a controller wants the frame of the root body to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RootTarget {
    pub position: DVec3,
    pub rotation: DQuat,
    /// Of the origin of the root's frame, m/s.
    pub velocity: DVec3,
    /// World axes, rad/s.
    pub angular_velocity: DVec3,
}

/// Turns what a character knows into what its joints shall do until the next call.
///
/// The engine applies the [`Actuation`] and nothing else pushes the character.
pub trait Controller: Send {
    /// Writes into `out`, which starts as the character's default gains holding its last targets.
    fn act(&mut self, state: &CharacterState, clock: Clock, out: &mut Actuation);

    /// Where the root would be at `time` if all went as the controller wants; `None` if it has no wish.
    /// Only measures look at it.
    fn root_target(&self, _time: f64) -> Option<RootTarget> {
        None
    }

    /// What may be changed while it acts, with what is in effect now.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// Changes one of [`Controller::parameters`] from the next call of [`Controller::act`] on, which then acts as if the
    /// value had been there from the start; where the controller is in its motion does not change.
    fn set_parameter(&mut self, path: &str, _value: f64) -> Result<(), ParameterError> {
        Err(ParameterError::unknown(path, Vec::new()))
    }
}
