//! Running: controllers, steps, measures and samples in a loop.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::changes::Change;
use super::controls::ControlRecording;
use super::error::ExperimentError;
use super::folder::RunFolder;
use super::frame::{BodyPose, ForceAt, forces_at};
use super::measure::{ActorMeasure, advance_targets, joint_error};
use super::metrics::{ActorSample, Metrics};
use super::objective::Judge;
use super::prepare::{ActorController, Prepared};
use super::pushes::Pushing;
use super::recording::Recording;
use super::summary::{StoppedBy, Summary, WorldSums};
use super::writer::{BATCH, Batch, RunWriter};
use crate::control::{Clock, Controller};
use crate::world::{Actuation, CharacterState, Engine, ExternalForce, StepError};

/// A prepared experiment, borrowed for a while or owned together with others.
#[derive(Clone)]
pub enum Held<'a> {
    Borrowed(&'a Prepared),
    Shared(Arc<Prepared>),
}

impl Deref for Held<'_> {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        match self {
            Held::Borrowed(prepared) => prepared,
            Held::Shared(prepared) => prepared,
        }
    }
}

/// A world and the controllers that act in it, step by step.
pub struct Simulation<'a> {
    pub prepared: Held<'a>,
    pub engine: Box<dyn Engine>,
    pub controllers: Vec<ActorController>,
    /// Per character, after the last step.
    pub states: Vec<CharacterState>,
    /// Per character; between two calls of the controllers the targets move on at their rates, so that they always tell
    /// where the joints shall be now.
    pub actuations: Vec<Actuation>,
    pub(super) pushing: Pushing,
    forces: Vec<ExternalForce>,
    /// In the order in which they are made.
    pub(super) changes: Vec<Change>,
    /// How many of them have been made.
    pub(super) changed: usize,
    steps_per_control: u64,
    /// Per character: the root at the start.
    root_starts: Vec<BodyPose>,
}

impl<'a> Simulation<'a> {
    /// At the start of the experiment.
    pub fn new(prepared: &'a Prepared) -> Simulation<'a> {
        Simulation::of(Held::Borrowed(prepared))
    }

    /// The same for an experiment that is kept alive by the simulation, which so can go to another thread.
    pub fn shared(prepared: Arc<Prepared>) -> Simulation<'static> {
        Simulation::of(Held::Shared(prepared))
    }

    fn of(prepared: Held<'a>) -> Simulation<'a> {
        let mut simulation = Simulation {
            engine: prepared.world(),
            controllers: prepared.actors.iter().map(|a| a.controller.clone()).collect(),
            states: vec![CharacterState::default(); prepared.actors.len()],
            actuations: prepared
                .actors
                .iter()
                .map(|a| Actuation::hold_bind_pose(&a.character))
                .collect(),
            pushing: Pushing::new(&prepared.pushes),
            forces: Vec::new(),
            changes: prepared.changes.clone(),
            changed: 0,
            steps_per_control: prepared.spec.steps_per_control(),
            root_starts: Vec::new(),
            prepared,
        };
        simulation.read_states();
        simulation.root_starts = simulation.states.iter().map(|s| BodyPose::from(&s.bodies[0])).collect();
        simulation
    }

    fn read_states(&mut self) {
        for (i, state) in self.states.iter_mut().enumerate() {
            self.engine.read_state(i, state);
        }
    }

    /// Where a character's root should be at `time`: where its controller wants it, or else where it started.
    pub fn root_reference(&self, character: usize, time: f64) -> BodyPose {
        let target = self.controllers[character].root_target(time);
        target.map_or(self.root_starts[character], |t| BodyPose {
            position: t.position,
            rotation: t.rotation,
        })
    }

    /// The disturbances of the last step, where they act now.
    pub fn pushes_now(&self) -> Vec<ForceAt> {
        forces_at(self, &self.forces)
    }

    /// Makes the changes of parameters that are due at `step`.
    pub(super) fn make_changes(&mut self, step: u64) {
        while let Some(change) = self.changes.get(self.changed).filter(|c| c.step <= step) {
            // it was tried when the experiment was prepared
            let made = self.controllers[change.actor].set_parameter(&change.path, change.value);
            debug_assert!(made.is_ok(), "{made:?}");
            self.changed += 1;
        }
    }

    /// Lets the controllers act if it is their turn. Afterwards the actuations hold the targets of this moment.
    pub fn control(&mut self) {
        if !self.engine.steps().is_multiple_of(self.steps_per_control) {
            return;
        }
        self.make_changes(self.engine.steps());
        let clock = Clock {
            time: self.engine.time(),
            dt: self.engine.dt() * self.steps_per_control as f64,
        };
        for ((controller, state), actuation) in self.controllers.iter_mut().zip(&self.states).zip(&mut self.actuations)
        {
            controller.act(state, clock, actuation);
        }
    }

    /// Advances the world by one step and reads the characters' states.
    pub fn step(&mut self) -> Result<(), StepError> {
        let (time, dt) = (self.engine.time(), self.engine.dt());
        self.pushing
            .forces(self.engine.steps(), time, dt, &self.states, &mut self.forces);
        self.engine.step(&self.actuations, &self.forces)?;
        for actuation in &mut self.actuations {
            advance_targets(actuation, dt);
        }
        self.read_states();
        Ok(())
    }
}

/// What a run shall keep, and who may stop it.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Keep the table of `metrics.csv`.
    pub metrics: bool,
    /// Keep the frames of `motion.clip` and `motion.bvh`, and the calls of `controls.clip`.
    pub motion: bool,
    /// The run ends when it becomes true.
    pub stop: Option<&'a AtomicBool>,
    /// The run ends when its score is certain to be larger.
    pub give_up_above: Option<f64>,
}

/// Looks on while a run goes on.
pub trait Observer {
    /// After every step; whatever takes time here is not part of the speed that is reported only if it is rare.
    fn after_step(&mut self, simulation: &Simulation);
}

/// Looks at nothing.
impl Observer for () {
    fn after_step(&mut self, _simulation: &Simulation) {}
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    pub summary: Summary,
    pub metrics: Option<Metrics>,
    /// One per character.
    pub recordings: Vec<Recording>,
    /// One per character if the experiment asks for them.
    pub controls: Vec<ControlRecording>,
    /// Why it ended early, if a step could not be completed; everything above holds up to that time.
    pub error: Option<StepError>,
}

/// Steps from one sample to the next at about `hz` samples per second.
fn stride(rate_hz: f64, hz: f64) -> u64 {
    (rate_hz / hz).round().max(1.0) as u64
}

/// Runs an experiment from its start to its end, to the first error, or until it is stopped. What the options ask for is
/// kept in memory; [`RunFolder::run`] writes it as it comes.
///
/// In steady state nothing is allocated in a step, apart from the rows and frames that are kept.
pub fn run(prepared: &Prepared, options: &RunOptions, observer: &mut dyn Observer) -> RunOutcome {
    run_and_keep(prepared, options, observer, None).0
}

/// As [`run`]; with a folder the rows and frames go there, and the second result says whether they arrived.
pub(super) fn run_and_keep(
    prepared: &Prepared,
    options: &RunOptions,
    observer: &mut dyn Observer,
    folder: Option<&RunFolder>,
) -> (RunOutcome, Result<(), ExperimentError>) {
    let spec = &prepared.spec;
    let recording = &spec.recording;
    let mut simulation = Simulation::new(prepared);
    let gravity = glam::DVec3::from_array(spec.gravity);
    let mut measures: Vec<ActorMeasure> = prepared
        .actors
        .iter()
        .zip(&simulation.states)
        .map(|(a, s)| ActorMeasure::new(&a.character, gravity, &spec.fall, simulation.engine.as_ref(), s))
        .collect();
    let mut errors: Vec<Vec<f64>> = prepared
        .actors
        .iter()
        .map(|a| vec![0.0; a.character.bodies.len()])
        .collect();
    let mut root_errors = vec![0.0; prepared.actors.len()];

    let steps = spec.steps();
    // errors are sampled even if no table is kept
    let metrics_hz = if recording.metrics_hz > 0.0 {
        recording.metrics_hz
    } else {
        60.0
    };
    let metrics_stride = stride(spec.rate_hz, metrics_hz);
    let motion_stride = stride(spec.rate_hz, recording.motion_hz);
    let keep_metrics = options.metrics && recording.metrics_hz > 0.0;
    let keep_motion = options.motion && recording.motion_hz > 0.0;
    let mut metrics = Metrics::new(&prepared.actors);
    let mut recordings: Vec<Recording> = Vec::new();
    if keep_metrics {
        let rows = (steps / metrics_stride) as usize + 2;
        metrics.reserve(if folder.is_some() { rows.min(BATCH) } else { rows });
    }
    if keep_motion {
        let frame_time = motion_stride as f64 * prepared.dt();
        recordings = Recording::all(prepared, &simulation, frame_time);
    }
    let mut controls: Vec<ControlRecording> = Vec::new();
    if options.motion && recording.controls {
        controls = ControlRecording::all(prepared);
    }
    let writer = folder.map(|f| {
        let metrics = keep_metrics.then_some(&metrics);
        RunWriter::start(f, prepared, metrics, &recordings, &controls)
    });
    let mut rows_waiting = 0;

    let mut judge = (spec.has_score()).then(|| Judge::new(prepared, &simulation, options.give_up_above));
    let mut sums = WorldSums::default();
    let mut stopped_by = None;
    let mut error = None;
    let begin = Instant::now();
    for step in 0..=steps {
        simulation.control();
        // the targets are those of this moment: compare and record before the step
        if step % metrics_stride == 0 || step == steps {
            let time = simulation.engine.time();
            for (i, actor) in prepared.actors.iter().enumerate() {
                let state = &simulation.states[i];
                for (b, body) in actor.character.bodies.iter().enumerate() {
                    let target = &simulation.actuations[i].joints[b].target;
                    errors[i][b] = joint_error(&body.joint, target, &state.joints[b]);
                }
                root_errors[i] = measures[i].root_error(state, simulation.controllers[i].root_target(time));
                measures[i].sample(&errors[i], root_errors[i]);
            }
            if keep_metrics {
                let samples = prepared.actors.iter().enumerate().map(|(i, actor)| ActorSample {
                    character: &actor.character,
                    state: &simulation.states[i],
                    errors: &errors[i],
                    root_error: root_errors[i],
                });
                metrics.sample(simulation.engine.as_ref(), samples);
            }
        }
        if keep_motion && step % motion_stride == 0 {
            recordings.iter_mut().for_each(|r| r.sample(&simulation));
        }
        if step % simulation.steps_per_control == 0 {
            controls.iter_mut().for_each(|c| c.sample(&simulation.actuations));
        }
        if let Some(writer) = &writer
            && step % metrics_stride.min(motion_stride) == 0
        {
            rows_waiting += 1;
            if rows_waiting == BATCH {
                rows_waiting = 0;
                writer.send(take_batch(&mut metrics, &mut recordings, &mut controls));
            }
        }
        if step == steps {
            break;
        }
        if options.stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
            stopped_by = Some(StoppedBy::Interrupt);
            break;
        }
        if let Err(e) = simulation.step() {
            stopped_by = Some(StoppedBy::Error);
            error = Some(e);
            break;
        }
        let report = simulation.engine.last_step();
        sums.max_penetration = sums.max_penetration.max(report.max_penetration);
        sums.max_limit_violation = sums.max_limit_violation.max(report.max_limit_violation);
        sums.law_unmet_steps += u64::from(!report.pd_law_met);
        for (i, measure) in measures.iter_mut().enumerate() {
            measure.after_step(i, &simulation.states, simulation.engine.as_ref(), prepared.dt());
        }
        if let Some(judge) = &mut judge {
            judge.after_step(&simulation, &measures);
            if judge.is_hopeless() && step + 1 < steps {
                stopped_by = Some(StoppedBy::Hopeless);
                break;
            }
        }
        observer.after_step(&simulation);
        if spec.fall.stop && measures.iter().any(|m| m.fell_at.is_some()) {
            stopped_by = Some(StoppedBy::Fall);
            break;
        }
    }
    sums.wall_seconds = begin.elapsed().as_secs_f64();
    sums.steps = simulation.engine.steps();
    sums.time = simulation.engine.time();
    sums.state_hash = simulation.engine.state_hash();
    let mut summary = Summary::new(
        prepared,
        &measures,
        &sums,
        stopped_by,
        error.as_ref().map(StepError::to_string),
    );
    if let Some(judge) = &judge {
        summary.score = Some(judge.score(&summary));
    }
    let written = writer.map_or(Ok(()), |writer| {
        writer.send(take_batch(&mut metrics, &mut recordings, &mut controls));
        recordings.clear();
        controls.clear();
        writer.finish()
    });
    let outcome = RunOutcome {
        summary,
        metrics: (keep_metrics && folder.is_none()).then_some(metrics),
        recordings,
        controls,
        error,
    };
    (outcome, written)
}

/// What has been kept since the last time.
fn take_batch(metrics: &mut Metrics, recordings: &mut [Recording], controls: &mut [ControlRecording]) -> Batch {
    let room = metrics.values.len();
    Batch {
        metrics: std::mem::replace(&mut metrics.values, Vec::with_capacity(room)),
        clips: recordings.iter_mut().map(Recording::take).collect(),
        controls: controls.iter_mut().map(ControlRecording::take).collect(),
    }
}
