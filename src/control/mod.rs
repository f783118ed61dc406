//! Controllers: what a character wants to do next.
//!
//! In: [`CharacterState`]. Out: [`Actuation`]. Knows nothing of files and the command line.

use crate::world::{Actuation, CharacterState};

/// Where a controller is in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds since the start of the experiment, at the beginning of the coming step.
    pub time: f64,
    /// Seconds until the next call of the controller.
    pub dt: f64,
}

/// Turns what a character knows into what its joints shall do until the next call.
///
/// The engine applies the [`Actuation`] and nothing else pushes the character.
pub trait Controller: Send {
    /// Writes into `out`, which starts as the character's default gains holding its last targets.
    fn act(&mut self, state: &CharacterState, clock: Clock, out: &mut Actuation);
}
