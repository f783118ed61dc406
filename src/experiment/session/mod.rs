//! An experiment that somebody steers while it runs.
//!
//! In: a [`Prepared`] experiment, then pushes, drags and changes of parameters at any moment. Out: [`Frame`]s, and everything that
//! was done by hand as disturbances and changes of an experiment, so that it can be saved and run again to the bit.
//!
//! ```text
//! Prepared → Session ── step, frame ──→ Live (own thread, own clock) → picture, status, history → window
//!               ↑ push, grab, drag_to, release, set_parameter
//!               └─ deeds → save_experiment, save_parameters
//! ```
//!
//! Whatever a hand does goes the way that a file goes: it becomes a checked [`DisturbanceSpec`] or [`ChangeSpec`] first, and
//! the world sees only what was resolved from that. Knows nothing of windows, mice and keys.

mod hand;
mod history;
mod live;
mod mobility;
mod save;

use std::sync::Arc;

use glam::DVec3;
use thiserror::Error;

use super::changes::{self, Change};
use super::frame::{BodyPose, Frame};
use super::prepare::Prepared;
use super::pushes::{Push, Pushable};
use super::run::Simulation;
use super::spec::{ChangeSpec, Direction, DisturbanceSpec};
use super::validate::Problem;
use crate::bounds;
use crate::character::Character;
use crate::control::{Parameter, ParameterError};
use crate::world::{BodyRef, StepError};

pub use hand::{Hand, HandSettings};
pub use history::{CharacterSample, Sample};
pub use live::{Command, End, Live, LiveOptions, SPEEDS, Status};
pub use save::{SaveError, Saved};

use hand::Grip;

/// A push with the hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PushRequest {
    /// A body of a character or prop.
    pub target: BodyRef,
    /// Where, in the body's frame, metres; its centre of mass if `None`.
    pub point: Option<DVec3>,
    /// Words are those of the character when the push begins.
    pub direction: Direction,
    /// N.
    pub force_n: f64,
    /// Seconds.
    pub duration_s: f64,
}

/// What was done by hand, as an experiment says it, in the order in which it was done.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Deeds {
    pub disturbances: Vec<DisturbanceSpec>,
    pub changes: Vec<ChangeSpec>,
}

impl Deeds {
    pub fn is_empty(&self) -> bool {
        self.disturbances.is_empty() && self.changes.is_empty()
    }
}

/// What a call of [`Session::step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    Stepped,
    /// Nothing: the duration of the experiment has been reached.
    Finished,
}

/// Something that a hand cannot do. Nothing has changed.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum HandError {
    /// Terrain and platforms do not give way, and there are only so many characters, props and bodies.
    #[error("{0:?} cannot be moved; expected a body of a character or prop of this experiment")]
    NotMovable(BodyRef),
    /// Drag without a grab.
    #[error("nothing is held; grab a body before dragging it")]
    NothingHeld,
    /// A number is not finite or out of its range.
    #[error("{what} is {found}; expected {expected}")]
    BadValue {
        what: &'static str,
        found: String,
        expected: String,
    },
    /// What an experiment file would not accept either.
    #[error("{key}: {message}")]
    Refused { key: String, message: String },
}

impl From<Problem> for HandError {
    fn from(problem: Problem) -> HandError {
        HandError::Refused {
            key: problem.key.trim_start_matches("push.").to_string(),
            message: problem.message,
        }
    }
}

/// A place or offset within what can be simulated.
fn checked_point(what: &'static str, point: DVec3) -> Result<DVec3, HandError> {
    if bounds::within(bounds::LARGEST_LENGTH, &point.to_array()) {
        return Ok(point);
    }
    Err(HandError::BadValue {
        what,
        found: format!("{point:?}"),
        expected: format!("metres within {:e}", bounds::LARGEST_LENGTH),
    })
}

/// An experiment that somebody steers while it runs.
///
/// It starts in the state in which [`run`](super::run) starts and goes through the same states if nothing is done by hand,
/// however often frames are taken. Everything done by hand is recorded: [`Session::save_experiment`] writes an experiment
/// that arrives at the same [`Session::state_hash`] by itself.
///
/// A fall does not end a session, whatever `[fall]` says: who steers decides when it is over.
pub struct Session {
    prepared: Arc<Prepared>,
    simulation: Simulation<'static>,
    /// Whether the controllers have acted for the coming step.
    controlled: bool,
    past_the_end: bool,
    deeds: Deeds,
    /// What is held now.
    grip: Option<Grip>,
    hand_settings: HandSettings,
    /// Parameters that a hand has set.
    touched: Vec<(usize, String)>,
    /// Counts what was done by hand.
    revision: u64,
    saved_revision: u64,
    /// Counts changes of parameters by hand and restarts.
    parameters_revision: u64,
}

impl Session {
    /// At the start of an experiment, at which nothing has been done by hand.
    pub fn new(prepared: Arc<Prepared>) -> Session {
        Session {
            simulation: Simulation::shared(prepared.clone()),
            prepared,
            controlled: false,
            past_the_end: false,
            deeds: Deeds::default(),
            grip: None,
            hand_settings: HandSettings::default(),
            touched: Vec::new(),
            revision: 0,
            saved_revision: 0,
            parameters_revision: 0,
        }
    }

    /// What it is the session of.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// The simulation, to look at.
    pub fn simulation(&self) -> &Simulation<'static> {
        &self.simulation
    }

    /// Seconds simulated.
    pub fn time(&self) -> f64 {
        self.simulation.engine.time()
    }

    pub fn steps(&self) -> u64 {
        self.simulation.engine.steps()
    }

    /// Hash over the whole state of the world.
    pub fn state_hash(&self) -> u64 {
        self.simulation.engine.state_hash()
    }

    /// Whether the duration of the experiment has been reached.
    pub fn finished(&self) -> bool {
        self.steps() >= self.prepared().spec.steps()
    }

    /// Whether steps may go on past the duration of the experiment; they may not at first.
    pub fn set_past_the_end(&mut self, on: bool) {
        self.past_the_end = on;
    }

    /// Lets the controllers act, once per step.
    fn control(&mut self) {
        if !self.controlled {
            self.simulation.control();
            self.controlled = true;
        }
    }

    /// Advances by one step. After an error the world is as before the step and everything can still be looked at and saved;
    /// trying again mostly fails again, [`Session::restart`] does not.
    pub fn step(&mut self) -> Result<StepOutcome, StepError> {
        if self.finished() && !self.past_the_end {
            return Ok(StepOutcome::Finished);
        }
        self.control();
        self.pull();
        self.simulation.step()?;
        self.controlled = false;
        Ok(StepOutcome::Stepped)
    }

    /// What this moment looks like. However often it is called, the simulation does not notice.
    pub fn frame(&mut self) -> Frame {
        self.control();
        Frame::of(&self.simulation)
    }

    /// The numbers of this moment that are worth a plot.
    pub fn sample(&mut self) -> Sample {
        self.control();
        Sample::of(&self.simulation)
    }

    /// Body of a movable thing.
    fn character_of(&self, target: BodyRef) -> Result<(&Character, usize), HandError> {
        let scene = self.simulation.engine.scene();
        let found = match target {
            BodyRef::Character { character, body } => scene.characters.get(character).map(|p| (&*p.character, body)),
            BodyRef::Prop { prop, body } => scene.props.get(prop).map(|p| (&*p.body, body)),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => None,
        };
        found
            .filter(|(character, body)| *body < character.bodies.len())
            .ok_or(HandError::NotMovable(target))
    }

    fn pose_of(&self, target: BodyRef) -> BodyPose {
        match target {
            BodyRef::Character { character, body } => BodyPose::from(&self.simulation.states[character].bodies[body]),
            BodyRef::Prop { prop, body } => BodyPose::from(&self.simulation.engine.prop_body(prop, body)),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => BodyPose::default(),
        }
    }

    /// A disturbance of `target` that begins with the coming step, without a force yet.
    fn disturbance(&self, target: BodyRef) -> Result<DisturbanceSpec, HandError> {
        let (character, body) = self.character_of(target)?;
        let prepared = self.prepared();
        let (owner, prop) = match target {
            BodyRef::Character { character, .. } => (Some(prepared.actors[character].name.clone()), None),
            BodyRef::Prop { prop, .. } => (None, Some(prepared.prop_names[prop].clone())),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => return Err(HandError::NotMovable(target)),
        };
        Ok(DisturbanceSpec {
            time_s: self.time(),
            duration_s: None,
            impulse_ns: None,
            force_n: None,
            direction: None,
            character: owner,
            prop,
            body: Some(character.bodies[body].name.clone()),
            point: None,
            every_s: None,
            forces_n: None,
        })
    }

    /// Checks a disturbance like that of a file.
    fn resolve(&self, spec: &DisturbanceSpec, target: BodyRef) -> Result<Push, HandError> {
        let prepared = self.prepared();
        spec.validate("push", prepared.spec.rate_hz)?;
        let pushable = Pushable {
            actors: &prepared.actors,
            scene: self.simulation.engine.scene(),
            prop_names: &prepared.prop_names,
            rate_hz: prepared.spec.rate_hz,
        };
        let push = pushable.resolve(spec, "push")?;
        // no two things and no two bodies of a thing have one name
        debug_assert_eq!(push.target(), target);
        Ok(push)
    }

    /// Lets a disturbance act and be recorded. Returns its place among the deeds and among the pushes.
    fn disturb(&mut self, spec: DisturbanceSpec, target: BodyRef) -> Result<(usize, usize), HandError> {
        let push = self.resolve(&spec, target)?;
        self.deeds.disturbances.push(spec);
        self.revision += 1;
        Ok((self.deeds.disturbances.len() - 1, self.simulation.pushing.add(push)))
    }

    /// Pushes with a constant force, beginning with the coming step.
    pub fn push(&mut self, request: PushRequest) -> Result<(), HandError> {
        let spec = DisturbanceSpec {
            duration_s: Some(request.duration_s),
            force_n: Some(request.force_n),
            direction: Some(request.direction),
            point: request.point.map(|p| p.to_array()),
            ..self.disturbance(request.target)?
        };
        self.disturb(spec, request.target).map(|_| ())
    }

    /// The parameters of all controllers, under the paths that a file has for them (`controller.kp_scale`,
    /// `characters.1.controller.gains.left_shin.kp`), with what is in effect now.
    pub fn parameters(&self) -> Vec<Parameter> {
        changes::parameters(&self.prepared().spec, self.simulation.controllers.iter())
    }

    /// Changes one of [`Session::parameters`] from the next call of the controllers on.
    pub fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ParameterError> {
        // controllers that have acted for this step act again in a later one
        let step = self.steps() + u64::from(self.controlled);
        let change = ChangeSpec {
            time_s: step as f64 / self.prepared().spec.rate_hz,
            parameter: path.to_string(),
            value,
        };
        // of changes at the same step that of the hand comes last: it is the later one in the file
        self.simulation.make_changes(step);
        let made = changes::try_change(&self.prepared.spec, &mut self.simulation.controllers, &change)?;
        let touched = (made.actor, made.path);
        if !self.touched.contains(&touched) {
            self.touched.push(touched);
        }
        // a slider that is pulled while nothing moves leaves its last value only
        match self.deeds.changes.last_mut() {
            Some(last) if last.time_s == change.time_s && last.parameter == change.parameter => *last = change,
            _ => self.deeds.changes.push(change),
        }
        self.revision += 1;
        self.parameters_revision += 1;
        Ok(())
    }

    /// Changes whenever [`Session::parameters`] may have.
    fn parameters_revision(&self) -> (u64, usize) {
        (self.parameters_revision, self.simulation.changed)
    }

    /// What was done by hand since the start, or is being repeated.
    pub fn deeds(&self) -> &Deeds {
        &self.deeds
    }

    /// Whether something was done by hand since the deeds were last saved.
    pub fn has_unsaved_deeds(&self) -> bool {
        !self.deeds.is_empty() && self.revision != self.saved_revision
    }

    /// Back to the start, bit for bit. What was done by hand is forgotten, or with `repeat` done again at the same steps, and
    /// more can be done on top of it. Whatever is held is let go.
    pub fn restart(&mut self, repeat: bool) {
        self.simulation = Simulation::shared(self.prepared.clone());
        self.controlled = false;
        self.grip = None;
        self.touched.clear();
        self.parameters_revision += 1;
        if !repeat {
            self.deeds = Deeds::default();
            self.revision += 1;
            return;
        }
        let prepared = &self.prepared;
        let pushable = Pushable {
            actors: &prepared.actors,
            scene: self.simulation.engine.scene(),
            prop_names: &prepared.prop_names,
            rate_hz: prepared.spec.rate_hz,
        };
        // all of them were resolved before, when they were done
        let pushes: Vec<_> = (self.deeds.disturbances.iter())
            .filter_map(|d| pushable.resolve(d, "push").ok())
            .collect();
        let mut tried = self.simulation.controllers.clone();
        let again: Vec<Change> = (self.deeds.changes.iter())
            .filter_map(|c| changes::try_change(&prepared.spec, &mut tried, c).ok())
            .collect();
        for push in pushes {
            self.simulation.pushing.add(push);
        }
        self.simulation.changes.extend(again);
        changes::sort(&mut self.simulation.changes);
    }
}
