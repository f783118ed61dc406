//! Playing a recorded run: time that runs, stops and jumps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::experiment::{ExperimentError, Frame, Playback, Sample};

/// Points kept for the plots.
const HISTORY: usize = 1800;

/// A recording and where in it one is.
pub(super) struct Player {
    playback: Playback,
    time: f64,
    pub paused: bool,
    /// Times real time.
    pub speed: f64,
    last: Option<Instant>,
    history: VecDeque<Arc<Sample>>,
}

impl Player {
    pub fn new(playback: Playback, speed: f64, paused: bool) -> Player {
        Player {
            playback,
            time: 0.0,
            paused,
            speed,
            last: None,
            history: VecDeque::new(),
        }
    }

    pub fn time(&self) -> f64 {
        self.time
    }

    pub fn duration(&self) -> f64 {
        self.playback.duration()
    }

    pub fn frame_time(&self) -> f64 {
        self.playback.frame_time()
    }

    pub fn at_end(&self) -> bool {
        self.time >= self.duration()
    }

    /// Goes to a time, within the recording.
    pub fn seek(&mut self, time: f64) {
        self.time = time.clamp(0.0, self.duration());
    }

    /// Goes on, from the beginning if it was at the end.
    pub fn resume(&mut self) {
        if self.at_end() {
            self.time = 0.0;
        }
        self.paused = false;
    }

    /// The picture of now.
    pub fn picture(&mut self, now: Instant) -> Result<Frame, ExperimentError> {
        let passed = self
            .last
            .map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        self.last = Some(now);
        if !self.paused {
            self.seek(self.time + passed * self.speed);
            self.paused = self.at_end();
        }
        let frame = self.playback.frame(self.time)?;
        self.remember(&frame);
        Ok(frame)
    }

    fn remember(&mut self, frame: &Frame) {
        match self.history.back().map(|s| s.time) {
            Some(last) if frame.time < last => self.history.clear(),
            Some(last) if frame.time == last => return,
            _ => {}
        }
        let sample = Sample::of_frame(frame, self.playback.prepared());
        self.history.push_back(Arc::new(sample));
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
    }

    /// What was shown, oldest first.
    pub fn history(&self) -> Vec<Arc<Sample>> {
        self.history.iter().cloned().collect()
    }
}
