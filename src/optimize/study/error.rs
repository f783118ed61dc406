//! What can go wrong with a study.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::files::FileError;
use crate::optimize::cma::CmaError;
use crate::optimize::problem::ProblemError;

/// A study cannot begin or go on. What has been written stays.
#[derive(Debug, Error)]
pub enum StudyError {
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error("the search cannot begin: {0}")]
    Search(#[from] CmaError),
    /// Parameters that cannot be searched.
    #[error("the study cannot begin: {0}")]
    Setup(String),
    /// A file cannot be read or written: a full disk, a folder that may not be written to.
    #[error("cannot {doing} {}: {error}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{} is not empty; choose another folder with --out, or go on with a study in it with --resume", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} is no folder of a study: there is no {missing} in it", path.display())]
    NoStudy { path: PathBuf, missing: &'static str },
    #[error("another process is working in {}; wait for it or stop it", .0.display())]
    Locked(PathBuf),
    /// The checkpoint is none, or cut short, or changed.
    #[error("{}: {problem}; put an intact copy in its place, or remove it: the study is then worked out again from its log", path.display())]
    Corrupt { path: PathBuf, problem: String },
    /// The study is another one now.
    #[error("{}: it belongs to another study, or the study has been edited since it began: {what} differ; undo that, or begin a new study in another folder", path.display())]
    Edited { path: PathBuf, what: String },
    /// The log and the checkpoint do not belong together.
    #[error("{}:{line}: {problem}; the log does not belong to the checkpoint beside it", path.display())]
    Log { path: PathBuf, line: u64, problem: String },
}

impl StudyError {
    /// Something that the disk refused.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StudyError {
        let path = path.to_path_buf();
        move |error| StudyError::Io { doing, path, error }
    }

    /// Whether the input is right and the machine is at fault.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, StudyError::Io { .. } | StudyError::Locked(_))
            || matches!(self, StudyError::Problem(ProblemError::File(FileError::Io { .. })))
    }
}
