//! Printing that survives closed pipes, and errors as one paragraph with a hint.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::control::ControlError;
use crate::experiment::ExperimentError;
use crate::files::FileError;

static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Prints a line on standard output; a reader that is gone is no reason to stop, a full disk is one to report (once).
pub(super) fn out(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{}", text.as_ref()).and_then(|()| stdout.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && !OUTPUT_LOST.swap(true, Ordering::Relaxed)
    {
        note(format!("error: standard output cannot be written: {error}"));
    }
}

/// Whether something that was printed got lost without its reader having left: the command has failed then.
pub(super) fn output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Prints a line on standard error.
pub(super) fn note(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    /// Bad input.
    pub fn input(message: impl ToString) -> Failure {
        Failure {
            code: 2,
            message: message.to_string(),
            hint: None,
        }
    }

    /// What was asked for did not succeed.
    pub fn failed(message: impl ToString) -> Failure {
        Failure {
            code: 1,
            ..Failure::input(message)
        }
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn print(&self) {
        note(format!("error: {}", self.message));
        if let Some(hint) = &self.hint {
            note(format!("hint: {hint}"));
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Failure {
        let hint = match &error {
            ExperimentError::File(FileError::Io { .. }) => {
                "paths in an experiment are relative to the experiment's file"
            }
            ExperimentError::File(FileError::Toml(_)) => {
                "data/characters/README.md lists every key of a character's file"
            }
            ExperimentError::Toml(_) | ExperimentError::Value { .. } => {
                "docs/experiment_format.md lists every key with its unit"
            }
            ExperimentError::Set(_) => {
                "--set takes the path of a key in the file, like controller.kp_scale=0.5 or props.0.mass=2"
            }
            ExperimentError::Input { .. } => "`ambler check FILE` looks at a file by itself",
            ExperimentError::Control { error, .. } => match error {
                ControlError::MissingJoint { .. } | ControlError::BadClip { .. } => {
                    "set [controller.joints] body = \"joint of the clip\", `missing = \"hold\"`, or fit a character to the clip"
                }
                _ => {
                    "docs/experiment_format.md has the keys of [controller] and [poses], the character's file its bodies"
                }
            },
            ExperimentError::Build(_) | ExperimentError::Start(_) => {
                "`ambler check` names values that cannot be simulated"
            }
            ExperimentError::Folder(_) => "--out chooses the folder of the run",
        };
        Failure::input(error).with_hint(hint)
    }
}
