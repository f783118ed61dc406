//! Changes to whole clips: another rate, a part, another height.

use super::{Clip, ClipError, RootMotion};
use crate::skeleton::ModelPose;

/// Frames that [`Clip::resample`] makes at most: ten hours at 1000 Hz.
const MAX_FRAMES: f64 = 3.6e7;

impl Clip {
    /// The same motion with another frame time, seconds.
    ///
    /// A clip that is not looped has exactly this frame time and ends up to one frame earlier. A looped one keeps its
    /// duration and takes the nearest frame time that divides it.
    pub fn resample(&self, frame_time: f64) -> Result<Clip, ClipError> {
        self.validate()?;
        if !(frame_time.is_finite() && frame_time > 0.0) {
            return Err(ClipError::FrameTime {
                clip: self.name.clone(),
                frame_time,
            });
        }
        let duration = self.duration();
        // a last frame that rounding would push just behind the end is kept
        let intervals = duration / frame_time;
        let (intervals, frame_time) = if self.looped && duration > 0.0 {
            let whole = intervals.round().max(1.0);
            (whole, duration / whole)
        } else {
            ((intervals + 1e-9).floor(), frame_time)
        };
        if intervals >= MAX_FRAMES {
            return Err(ClipError::TooManyFrames {
                clip: self.name.clone(),
                frame_time,
                frames: intervals + 1.0,
                limit: MAX_FRAMES,
            });
        }
        let once = self.unlooped();
        let frames = (0..=intervals as usize)
            .map(|i| once.sample(i as f64 * frame_time))
            .collect();
        Clip::from_frames(
            self.name.clone(),
            self.skeleton.clone(),
            frame_time,
            frames,
            self.looped,
        )
    }

    /// The part from `start` to `end` seconds, not looped; `start` becomes time 0 and the frame time stays, so the part
    /// may end up to one frame before `end`.
    pub fn sub_range(&self, start: f64, end: f64) -> Result<Clip, ClipError> {
        self.validate()?;
        let duration = self.duration();
        // a bound written with few digits may lie a rounding error outside
        let slack = 1e-9 * duration;
        if !(start >= -slack && end <= duration + slack && start <= end) {
            return Err(ClipError::Range {
                clip: self.name.clone(),
                start,
                end,
                duration,
            });
        }
        let once = self.unlooped();
        let intervals = ((end - start) / self.frame_time + 1e-9).floor() as usize;
        let frames = (0..=intervals)
            .map(|i| once.sample_with(start + i as f64 * self.frame_time, RootMotion::Restart))
            .collect();
        Clip::from_frames(self.name.clone(), self.skeleton.clone(), self.frame_time, frames, false)
    }

    /// Height of the lowest joint or end site over all frames, metres: what the clip stands on.
    pub fn ground_height(&self) -> f64 {
        let mut model = ModelPose::default();
        let mut lowest = f64::INFINITY;
        for pose in &self.frames {
            self.skeleton.model_pose(pose, &mut model);
            if let Some([low, _]) = self.skeleton.height_range(&model) {
                lowest = lowest.min(low);
            }
        }
        if lowest.is_finite() { lowest } else { 0.0 }
    }

    /// Raises (or lowers) the root of every frame by `height` metres.
    ///
    /// `clip.raise(sole - clip.ground_height())` makes the lowest joint or end site touch `sole`, the height of a joint
    /// over its sole.
    pub fn raise(&mut self, height: f64) {
        for pose in &mut self.frames {
            pose.translations[0].y += height;
        }
    }

    fn unlooped(&self) -> Clip {
        Clip {
            looped: false,
            ..self.clone()
        }
    }
}
