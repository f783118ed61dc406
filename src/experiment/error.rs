//! What can be wrong with an experiment before it runs.

use thiserror::Error;

use super::overrides::SetError;
use crate::control::ControlError;
use crate::files::{FileError, TomlError};
use crate::world::{BuildError, StepError};

/// An experiment cannot be run: the input is at fault.
#[derive(Debug, Error)]
pub enum ExperimentError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error(transparent)]
    Set(#[from] SetError),
    /// A value that `--set` put there, or one of a spec that was not read from a file.
    #[error("{source_name}: `{key}`: {message}")]
    Value {
        source_name: String,
        key: String,
        message: String,
    },
    /// A file that the experiment names.
    #[error("{what}: {message}")]
    Input { what: String, message: String },
    #[error("controller of {character}: {error}")]
    Control { character: String, error: ControlError },
    #[error("the world cannot be built: {0}")]
    Build(#[from] BuildError),
    #[error("the start cannot be set: {0}")]
    Start(#[from] StepError),
    /// The run folder.
    #[error("{0}")]
    Folder(String),
}
