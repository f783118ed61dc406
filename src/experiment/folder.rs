//! The run folder: made at the start of a run, filled at its end, whole files only.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::inputs;
use super::prepare::Prepared;
use super::run::RunOutcome;
use crate::files::write_atomic;
use crate::motion::bvh;

const EXPERIMENT: &str = "experiment.toml";
const LOG: &str = "run.log";
const METRICS: &str = "metrics.csv";
const SUMMARY: &str = "summary.json";

/// Whether a file of a run folder holds results.
fn is_result(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_character = name.strip_prefix("motion").is_some_and(|rest| {
        let (stem, ending) = rest.rsplit_once('.').unwrap_or((rest, ""));
        (stem.is_empty() || stem.starts_with('_')) && matches!(ending, "clip" | "bvh")
    });
    name == METRICS || of_character
}

/// A folder that belongs to one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    pub path: PathBuf,
    log: Vec<String>,
}

/// A name as part of a file name.
fn file_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if name.is_empty() { "experiment".into() } else { name }
}

fn failed(doing: &str, path: &Path, error: impl ToString) -> ExperimentError {
    ExperimentError::Folder(format!("cannot {doing} {}: {}", path.display(), error.to_string()))
}

impl RunFolder {
    /// A new folder `base/<name>-<n>` with the first `n` from 1 that is free.
    pub fn numbered(base: &Path, name: &str) -> Result<RunFolder, ExperimentError> {
        std::fs::create_dir_all(base).map_err(|e| failed("make the folder", base, e))?;
        let name = file_name(name);
        for n in 1u32.. {
            let path = base.join(format!("{name}-{n}"));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path, log: Vec::new() }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(failed("make the folder", &path, e)),
            }
        }
        Err(ExperimentError::Folder(format!("{} is full", base.display())))
    }

    /// The folder `path`: new, empty, or, if `force`, an earlier run's. Of two runs that ask for it at once one gets it.
    pub fn at(path: &Path, force: bool) -> Result<RunFolder, ExperimentError> {
        std::fs::create_dir_all(path).map_err(|e| failed("make the folder", path, e))?;
        let entries = std::fs::read_dir(path).map_err(|e| failed("read the folder", path, e))?;
        let names: Vec<String> = entries
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        let taken = || {
            ExperimentError::Folder(format!(
                "{} holds an earlier run; choose another folder or pass --force to replace it",
                path.display()
            ))
        };
        if names.is_empty() {
            // the log is the claim: only one run can create it
            let claim = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path.join(LOG));
            claim.map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => taken(),
                _ => failed("write to", path, e),
            })?;
        } else {
            // a run that was killed at its very beginning has left no experiment
            let begun = |name: &String| name == LOG || name == inputs::FOLDER || name.starts_with(".tmp");
            let is_run = path.join(LOG).is_file() && (path.join(EXPERIMENT).is_file() || names.iter().all(begun));
            if !is_run {
                return Err(ExperimentError::Folder(format!(
                    "{} is not empty and not a run folder; choose another one with --out",
                    path.display()
                )));
            }
            if !force {
                return Err(taken());
            }
        }
        Ok(RunFolder {
            path: path.to_path_buf(),
            log: Vec::new(),
        })
    }

    /// Adds a line to what will be `run.log`.
    pub fn log(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ExperimentError> {
        Ok(write_atomic(&self.path.join(name), bytes)?)
    }

    /// Writes the experiment with copies of all files it names, so that it can be run again from here.
    pub fn begin(&mut self, prepared: &Prepared) -> Result<(), ExperimentError> {
        // read everything first: the run may be a repetition in its own folder
        let mut copies = Vec::new();
        for input in &prepared.inputs {
            let bytes = std::fs::read(&input.original).map_err(|e| failed("read", &input.original, e))?;
            copies.push((input.name.clone(), bytes));
        }
        // what an earlier run left must not be taken for results of this one; its summary goes first
        let summary = self.path.join(SUMMARY);
        if summary.exists() {
            std::fs::remove_file(&summary).map_err(|e| failed("remove", &summary, e))?;
        }
        let entries = std::fs::read_dir(&self.path).map_err(|e| failed("read the folder", &self.path, e))?;
        for path in entries.flatten().map(|e| e.path()).filter(|p| is_result(p)) {
            std::fs::remove_file(&path).map_err(|e| failed("remove", &path, e))?;
        }
        if !copies.is_empty() {
            let folder = self.path.join(inputs::FOLDER);
            std::fs::create_dir_all(&folder).map_err(|e| failed("make the folder", &folder, e))?;
        }
        for (name, bytes) in copies {
            self.write(&format!("{}/{name}", inputs::FOLDER), &bytes)?;
        }
        let text = toml::to_string(&prepared.resolved)
            .map_err(|e| ExperimentError::Folder(format!("the experiment cannot be written: {e}")))?;
        let text = format!(
            "# Everything this run was made of; `ambler run` on this file repeats it to the bit.\n\
             # Written by ambler {}. Quaternions are [x, y, z, w].\n\n{text}",
            env!("CARGO_PKG_VERSION")
        );
        self.write(EXPERIMENT, text.as_bytes())?;
        self.log(format!("ambler {}", env!("CARGO_PKG_VERSION")));
        self.log(format!(
            "experiment {}, engine {}, {} Hz, {} s, seed {}",
            prepared.name,
            prepared.spec.engine.name(),
            prepared.spec.rate_hz,
            prepared.spec.duration_s,
            prepared.spec.seed
        ));
        for warning in &prepared.warnings {
            self.log(format!("warning: {warning}"));
        }
        self.write_log()
    }

    fn write_log(&self) -> Result<(), ExperimentError> {
        let mut text = self.log.join("\n");
        text.push('\n');
        self.write(LOG, text.as_bytes())
    }

    /// Writes the results; `summary.json` comes last, so that where it is everything else is too. What cannot be written
    /// does not keep the rest from being written; the first error is returned.
    pub fn finish(&mut self, prepared: &Prepared, outcome: &RunOutcome) -> Result<(), ExperimentError> {
        let mut result = Ok(());
        let mut keep = |written: Result<(), ExperimentError>| {
            if result.is_ok() {
                result = written;
            }
        };
        if let Some(metrics) = &outcome.metrics {
            keep(self.write(METRICS, &metrics.to_csv()));
        }
        let mut names: Vec<String> = Vec::new();
        for (i, recording) in outcome.recordings.iter().enumerate() {
            let mut name = match i {
                0 => "motion".to_string(),
                _ => format!("motion_{}", file_name(&prepared.actors[i].name)),
            };
            // different names may come to the same file name
            while names.contains(&name) {
                name = format!("{name}_{i}");
            }
            names.push(name.clone());
            let clip = recording.finished(prepared).to_bytes();
            keep(match clip {
                Ok(clip) => self.write(&format!("{name}.clip"), &clip),
                Err(e) => Err(failed("write the recording", &self.path, e)),
            });
            if prepared.spec.recording.bvh {
                keep(match bvh::to_string(&recording.clip()) {
                    Ok(text) => self.write(&format!("{name}.bvh"), text.as_bytes()),
                    Err(e) => Err(failed("write the recording", &self.path, e)),
                });
            }
        }
        let summary = &outcome.summary;
        self.log(match (&summary.error, summary.stopped_by) {
            (Some(error), _) => format!("stopped: {error}"),
            (None, Some(by)) => format!("stopped by {by:?} at {} s", summary.duration_s),
            (None, None) => "completed".to_string(),
        });
        self.log(format!(
            "{} steps, {:.1} us per step, state hash {}",
            summary.steps, summary.us_per_step, summary.state_hash
        ));
        if let Err(error) = &result {
            self.log(format!("not all results could be written: {error}"));
        }
        let logged = self.write_log();
        result?;
        logged?;
        self.write(SUMMARY, summary.to_json().as_bytes())
    }
}
