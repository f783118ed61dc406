//! Studies: searches for good parameters that can be killed at any moment.
//!
//! In: a function ([`Evaluator`](super::Evaluator)) and what is to be searched ([`StudySetup`], from a study file by
//! [`LoadedStudy`]). Out: a folder ([`Study`]) that always holds all that is needed to go on, and the best parameters.
//!
//! ```text
//! study.toml → LoadedStudy → Problem + StudySetup → Study::create | Study::resume → run → best, mean, history, summary
//!                                                     generation: ask → evaluate on all cores → log → tell → checkpoint
//! ```
//!
//! What a generation asks for is a function of the checkpoint; what an evaluation gives is a function of what is asked. So a study that
//! was killed and resumed ends with the files of one that never stopped, byte for byte, on any number of threads. The log is written in
//! the order of asking, whatever finishes first, and rows beyond the checkpoint are taken as finished evaluations.

mod checkpoint;
mod error;
mod folder;
mod log;
mod parallel;
mod run;
mod setup;
mod spec;
mod summary;

pub use error::StudyError;
pub use folder::{Claim, ProblemFiles, STUDY, is_study};
pub use log::{Columns as RowsColumns, Row, Rows};
pub use parallel::{Job, evaluate_all};
pub use run::{Options, Progress, Study, Texts};
pub use setup::{Budget, Coordinate, Seeds, StudySetup, Validation};
pub use spec::{
    BudgetSpec, DesignSpec, EarlyStopSpec, LoadedStudy, NoiseSpec, OptimizerSpec, SeedsSpec, StudySpec, SweepSpec,
    ValidationSpec,
};
pub(super) use summary::Counts;
pub use summary::{Best, FailureCount, StudySummary};
