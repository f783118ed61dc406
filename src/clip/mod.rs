//! Motion in memory and the `.clip` container.
//!
//! In: poses over time. Out: samples at any time, files. Knows nothing of controllers.
//!
//! ```text
//! frames → Clip::from_frames → sample / sample_velocity / sub_range / resample
//!               ↑↓
//!           ClipFile (joint tracks, scalar and vector tracks, events, provenance) ⇄ bytes ⇄ file
//! ```

pub mod container;
mod edit;
mod sample;

pub use container::{ClipFile, ClipFileError, ClipReader, ClipWriteError, ClipWriter, Rate};
pub use sample::{PoseVelocity, RootMotion};

use crate::math::rotation::same_hemisphere;
use crate::skeleton::{Pose, Skeleton, SkeletonError};

/// A motion: poses of one skeleton at a fixed rate, with the first frame at time 0.
///
/// A looped clip is closed: its last frame is the same instant of the cycle as its first one, a cycle later.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Clip {
    pub name: String,
    pub skeleton: Skeleton,
    /// Seconds from one frame to the next.
    pub frame_time: f64,
    pub frames: Vec<Pose>,
    /// Whether the motion goes on at its beginning when it has ended.
    pub looped: bool,
}

/// Why something is not a clip.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClipError {
    #[error("clip `{clip}` has no frames; a motion needs at least one pose")]
    Empty { clip: String },
    #[error("clip `{clip}` has a frame time of {frame_time:e} s; expected 1e-7 to 1e20 s")]
    FrameTime { clip: String, frame_time: f64 },
    #[error("clip `{clip}`: {source}")]
    Skeleton { clip: String, source: SkeletonError },
    #[error("clip `{clip}`, frame {frame}: {source}")]
    Frame {
        clip: String,
        frame: usize,
        source: SkeletonError,
    },
    #[error("clip `{clip}`: the range {start} to {end} s is not within 0 to {duration} s or is not increasing")]
    Range {
        clip: String,
        start: f64,
        end: f64,
        duration: f64,
    },
    #[error(
        "clip `{clip}`: resampling to a frame time of {frame_time} s would make {frames} frames; at most {limit} are allowed"
    )]
    TooManyFrames {
        clip: String,
        frame_time: f64,
        frames: f64,
        limit: f64,
    },
}

/// Seconds per frame with which velocities and durations stay numbers.
const FRAME_TIMES: std::ops::RangeInclusive<f64> = 1e-7..=1e20;

impl Clip {
    /// A checked clip with sign-continuous rotations. The frames must fit the skeleton, be finite and at least one.
    pub fn from_frames(
        name: impl Into<String>,
        skeleton: Skeleton,
        frame_time: f64,
        frames: Vec<Pose>,
        looped: bool,
    ) -> Result<Clip, ClipError> {
        let mut clip = Clip {
            name: name.into(),
            skeleton,
            frame_time,
            frames,
            looped,
        };
        clip.validate()?;
        clip.make_sign_continuous();
        Ok(clip)
    }

    /// Checks what [`from_frames`](Self::from_frames) checks, for clips whose fields were set by hand.
    pub fn validate(&self) -> Result<(), ClipError> {
        let clip = || self.name.clone();
        if !FRAME_TIMES.contains(&self.frame_time) {
            return Err(ClipError::FrameTime {
                clip: clip(),
                frame_time: self.frame_time,
            });
        }
        self.skeleton
            .validate()
            .map_err(|source| ClipError::Skeleton { clip: clip(), source })?;
        if self.frames.is_empty() {
            return Err(ClipError::Empty { clip: clip() });
        }
        for (frame, pose) in self.frames.iter().enumerate() {
            self.skeleton.validate_pose(pose).map_err(|source| ClipError::Frame {
                clip: clip(),
                frame,
                source,
            })?;
        }
        Ok(())
    }

    /// Seconds from the first frame to the last; 0 with one frame.
    pub fn duration(&self) -> f64 {
        self.frames.len().saturating_sub(1) as f64 * self.frame_time
    }

    /// Flips quaternions so that those of a joint stay in one hemisphere from frame to frame.
    pub fn make_sign_continuous(&mut self) {
        for f in 1..self.frames.len() {
            let (before, after) = self.frames.split_at_mut(f);
            for (q, previous) in after[0].rotations.iter_mut().zip(&before[f - 1].rotations) {
                *q = same_hemisphere(*q, *previous);
            }
        }
    }
}
