//! Motion in memory and the `.clip` container.
//!
//! In: poses over time. Out: samples at any time, files. Knows nothing of controllers.

use crate::skeleton::{Pose, Skeleton};

/// A motion: poses of one skeleton at a fixed rate, with the first frame at time 0.
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
