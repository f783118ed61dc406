//! The run folder: made at the start of a run, filled at its end, whole files only.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::inputs;
use super::prepare::Prepared;
use super::run::RunOutcome;
use super::run::{Observer, RunOptions, run_and_keep};
use super::score::TotalScore;
use super::writer::{Batch, RunWriter};
use crate::files::{NewFile, write_atomic};

pub(super) const EXPERIMENT: &str = "experiment.toml";
const LOG: &str = "run.log";
pub(super) const METRICS: &str = "metrics.csv";
/// What recordings of motions and controls are called, followed by the names of further characters.
pub(super) const MOTION: &str = "motion";
pub(super) const CONTROLS: &str = "controls";
const SUMMARY: &str = "summary.json";
pub(super) const SCORE: &str = "score.json";
/// What `ambler report` makes of the results.
const REPORT: &str = "report.html";

/// Whether a file of a run folder holds results, or what a killed run had of them.
fn is_result(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with(".tmp") && path.is_file() {
        return true;
    }
    let of_character = [MOTION, CONTROLS].iter().any(|stem| {
        let rest = name.strip_prefix(stem).and_then(|rest| rest.rsplit_once('.'));
        rest.is_some_and(|(rest, ending)| {
            (rest.is_empty() || rest.starts_with('_')) && matches!(ending, "clip" | "bvh")
        })
    });
    name == METRICS || name == REPORT || name == SCORE || of_character
}

/// A folder that belongs to one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    pub path: PathBuf,
    log: Vec<String>,
}

/// Bytes of a name in a file name: most file systems take 255 in all.
const LONGEST_NAME: usize = 200;

/// A name as part of a file name.
pub(crate) fn file_name(name: &str) -> String {
    let mut name: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    name.truncate(name.floor_char_boundary(LONGEST_NAME));
    if name.is_empty() { "experiment".into() } else { name }
}

pub(super) fn failed(doing: &str, path: &Path, error: impl ToString) -> ExperimentError {
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

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ExperimentError> {
        let path = self.path.join(name);
        write_atomic(&path, bytes).map_err(|e| ExperimentError::Folder(format!("cannot write the results: {e}")))
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

    /// A run folder inside of this one, in place of what an earlier run may have left there.
    pub fn inside(&self, name: &str) -> Result<RunFolder, ExperimentError> {
        RunFolder::at(&self.path.join(name), true)
    }

    /// Ends a folder that holds the runs of several scenarios.
    pub fn finish_scenarios(&mut self, score: &TotalScore) -> Result<(), ExperimentError> {
        self.log(match score.cost {
            Some(cost) => format!("completed, cost {cost}"),
            None => "not all scenarios could be run to their ends".into(),
        });
        self.write_log()?;
        self.write(SCORE, score.to_json().as_bytes())
    }

    fn write_log(&self) -> Result<(), ExperimentError> {
        let mut text = self.log.join("\n");
        text.push('\n');
        self.write(LOG, text.as_bytes())
    }

    pub(super) fn create(&self, name: &str) -> Result<NewFile, ExperimentError> {
        Ok(NewFile::create(&self.path.join(name))?)
    }

    /// Runs the experiment and writes what comes of it while it runs; the table and recordings are in the folder and not in
    /// the outcome; of a long run memory holds the poses for the BVH file, if there is one, and no more. What cannot be written does not keep the rest from
    /// being written; the first error is returned beside the outcome.
    pub fn run(
        &mut self,
        prepared: &Prepared,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> (RunOutcome, Result<(), ExperimentError>) {
        let (outcome, results) = run_and_keep(prepared, options, observer, Some(self));
        let written = self.end(&outcome, results);
        (outcome, written)
    }

    /// Writes the results of a run that kept them in memory.
    pub fn finish(&mut self, prepared: &Prepared, outcome: &RunOutcome) -> Result<(), ExperimentError> {
        let metrics = outcome.metrics.as_ref();
        let writer = RunWriter::start(self, prepared, metrics, &outcome.recordings, &outcome.controls);
        writer.send(Batch {
            metrics: metrics.map_or(Vec::new(), |m| m.values.clone()),
            clips: outcome.recordings.iter().map(|r| r.file.clone()).collect(),
            controls: outcome.controls.iter().map(|c| c.file.clone()).collect(),
        });
        self.end(outcome, writer.finish())
    }

    /// `summary.json` comes last, so that where it is everything else is too.
    fn end(&mut self, outcome: &RunOutcome, results: Result<(), ExperimentError>) -> Result<(), ExperimentError> {
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
        if let Err(error) = &results {
            self.log(format!("not all results could be written: {error}"));
        }
        let logged = self.write_log();
        results?;
        logged?;
        self.write(SUMMARY, summary.to_json().as_bytes())
    }
}
