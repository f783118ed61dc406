//! What can be wrong with a problem before it is evaluated.

use thiserror::Error;

use crate::experiment::ExperimentError;
use crate::files::FileError;

/// A problem that cannot be posed: the input is at fault.
#[derive(Debug, Error)]
pub enum ProblemError {
    /// A key of the study file.
    #[error("{source_name}: `{key}`: {message}")]
    Value {
        source_name: String,
        key: String,
        message: String,
    },
    #[error(transparent)]
    File(#[from] FileError),
    /// The experiment, with the initial values of the parameters.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error("the experiment cannot be written: {0}")]
    Text(#[from] toml::ser::Error),
}
