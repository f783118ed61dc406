//! Experiments: specs, running, recording, metrics.
//!
//! In: an experiment file ([`LoadedSpec`]). Out: a [`RunOutcome`] in memory, or a [`RunFolder`]. Knows nothing of the
//! command line and of windows.
//!
//! ```text
//! experiment.toml → LoadedSpec → Prepared (files read, world built) → run → RunOutcome → RunFolder
//! ```
//!
//! A [`Prepared`] experiment can be run any number of times and from several threads without touching a file.

#![allow(
    clippy::result_large_err,
    reason = "errors carry names and values; they are rare and end a run"
)]

mod bench;
mod changes;
mod controls;
mod error;
mod folder;
mod frame;
mod heights;
mod inputs;
mod load;
mod measure;
mod metrics;
mod objective;
pub mod overrides;
mod playback;
mod prepare;
mod pushes;
mod recording;
mod run;
mod scenarios;
mod scene;
mod score;
mod session;
pub mod spec;
mod summary;
mod validate;
mod writer;

pub use bench::{BenchError, EngineSpeed, PartTimes, bench};
pub use changes::{controller_parameters, find_parameter};
pub use controls::ControlRecording;
pub use error::ExperimentError;
pub use folder::RunFolder;
pub(crate) use folder::file_name;
pub use frame::{BodyPose, CharacterFrame, ContactAt, ForceAt, Frame};
pub use inputs::{InputFile, fit_character, read_motion, read_run_motion};
pub use load::LoadedSpec;
pub use measure::{ActorMeasure, advance_targets, driven, joint_error};
pub use metrics::Metrics;
pub use objective::{
    CombineSpec, GoalSpec, Judge, MEASURES, MeasureKind, ScenarioSpec, Score, ShapeSpec, TermScore, TermSpec, WhenSpec,
    term_names,
};
pub use playback::Playback;
pub use prepare::{Actor, ActorController, Prepared, copy_inputs};
pub use recording::Recording;
pub use run::{Held, Observer, RunOptions, RunOutcome, Simulation, run};
pub use scenarios::{Scenario, combine};
pub use score::{ScenarioScore, TotalScore};
pub use session::{
    CharacterSample, Command, Deeds, End, Hand, HandError, HandSettings, Live, LiveOptions, PushRequest, SPEEDS,
    Sample, SaveError, Saved, Session, Status, StepOutcome,
};
pub use spec::Spec;
pub use summary::{CharacterSummary, StoppedBy, Summary};
