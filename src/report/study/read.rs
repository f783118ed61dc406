//! From the folder of a study or a sweep to what a report needs of it.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::super::ReportError;
use super::super::read::label;
use super::evaluations::{Evaluations, Kind, OF_STUDY, OF_SWEEP};
use super::history::History;
use super::parameter::{Parameter, is_known};
use crate::files;
use crate::optimize::cma::Stop;

/// A study folder in memory.
#[derive(Debug, Default)]
pub struct Study {
    /// What the report calls it: the folder's name.
    pub label: String,
    pub folder: PathBuf,
    /// What it calls itself; studies of one name differ by their seeds, or are told apart by the settings.
    pub name: String,
    /// Text of `study.toml` or `sweep.toml`, and the same as a table.
    pub text: String,
    pub settings: Table,
    /// In the order of the table.
    pub parameters: Vec<Parameter>,
    pub(super) evaluations: Evaluations,
    /// Of studies.
    pub(super) history: Option<History>,
    /// `summary.json`.
    pub summary: Option<serde_json::Map<String, serde_json::Value>>,
    /// Row of the best evaluation, and whether that is a validated mean.
    pub(super) best: Option<(usize, bool)>,
    /// Run folders of the best: the scenario's name (empty if it is the only one), and the folder.
    pub(super) motions: Vec<(String, PathBuf)>,
    /// What is missing and why.
    pub notes: Vec<String>,
}

pub const STUDY: &str = "study.toml";
pub const SWEEP: &str = "sweep.toml";
const EVALUATIONS: &str = "evaluations.csv";
const RESULTS: &str = "results.csv";
const HISTORY: &str = "history.csv";
const SUMMARY: &str = "summary.json";

/// How a search converges.
const STOPS: [Stop; 10] = [
    Stop::TolFun,
    Stop::TolFunHistory,
    Stop::TolX,
    Stop::TolUpX,
    Stop::Condition,
    Stop::Stagnation,
    Stop::NoEffectAxis,
    Stop::NoEffectCoordinate,
    Stop::Flat,
    Stop::Noise,
];

impl Study {
    /// Reads the folder of a study.
    ///
    /// Errors: files that cannot be read or are damaged.
    pub fn read(folder: &Path) -> Result<Study, ReportError> {
        let mut study = Study::begin(folder, STUDY)?;
        let path = folder.join(EVALUATIONS);
        if !path.is_file() {
            return Err(ReportError::NoEvaluations {
                folder: folder.to_path_buf(),
                file: EVALUATIONS,
            });
        }
        study.read_history(&folder.join(HISTORY))?;
        let traced: Vec<String> = study
            .history
            .iter()
            .flat_map(|h| h.parameters().map(str::to_string))
            .collect();
        let settings = &study.settings;
        let (evaluations, torn) = Evaluations::read(&path, OF_STUDY, |name| match traced.is_empty() {
            true => is_known(name, settings),
            false => traced.iter().any(|t| t == name),
        })?;
        study.evaluations = evaluations;
        study.note_torn(torn, EVALUATIONS);
        study.read_summary(&folder.join(SUMMARY))?;
        study.finish();
        study.find_motions();
        Ok(study)
    }

    /// Reads the folder of a sweep.
    ///
    /// Errors: files that cannot be read or are damaged.
    pub fn read_sweep(folder: &Path) -> Result<Study, ReportError> {
        let mut sweep = Study::begin(folder, SWEEP)?;
        let path = folder.join(RESULTS);
        if !path.is_file() {
            return Err(ReportError::NoEvaluations {
                folder: folder.to_path_buf(),
                file: RESULTS,
            });
        }
        let settings = &sweep.settings;
        let (evaluations, torn) = Evaluations::read(&path, OF_SWEEP, |name| is_known(name, settings))?;
        sweep.evaluations = evaluations;
        sweep.note_torn(torn, RESULTS);
        if folder.join(SUMMARY).is_file() {
            sweep.read_summary(&folder.join(SUMMARY))?;
        }
        sweep.finish();
        Ok(sweep)
    }

    fn begin(folder: &Path, file: &str) -> Result<Study, ReportError> {
        let path = folder.join(file);
        let mut study = Study {
            label: label(folder),
            folder: folder.to_path_buf(),
            ..Study::default()
        };
        if !path.is_file() {
            study
                .notes
                .push(format!("{file} is missing, and with it bounds and settings"));
            return Ok(study);
        }
        study.text = files::read_text(&path).map_err(ReportError::File)?;
        study.settings =
            files::parse_toml(&study.text, &path.display().to_string()).map_err(|e| ReportError::File(e.into()))?;
        Ok(study)
    }

    fn note_torn(&mut self, torn: bool, file: &str) {
        if torn {
            self.notes.push(format!(
                "the last row of {file} is torn, as one that was being written when the program was killed; it is left out"
            ));
        }
    }

    fn read_history(&mut self, path: &Path) -> Result<(), ReportError> {
        if !path.is_file() {
            self.notes.push(format!(
                "{HISTORY} is missing, and with it step sizes and the distribution of the parameters"
            ));
            return Ok(());
        }
        let (history, torn) = History::read(path)?;
        self.note_torn(torn, HISTORY);
        self.history = Some(history);
        Ok(())
    }

    fn read_summary(&mut self, path: &Path) -> Result<(), ReportError> {
        if !path.is_file() {
            let note = "summary.json is missing: the study was killed, or is still going";
            self.notes.push(note.into());
            return Ok(());
        }
        let text = files::read_text(path).map_err(ReportError::File)?;
        let damaged = |message: String| ReportError::Table {
            path: path.to_path_buf(),
            message,
        };
        match serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))? {
            serde_json::Value::Object(map) => self.summary = Some(map),
            _ => return Err(damaged("expected an object `{…}` with the results".into())),
        }
        Ok(())
    }

    fn finish(&mut self) {
        let named = self.text_of("name").map(str::to_string);
        let written = || Some(self.settings.get("name")?.as_str()?.to_string());
        self.name = named.or_else(written).unwrap_or_else(|| self.label.clone());
        if let Some(message) = self.text_of("message") {
            let message = message.to_string();
            self.notes.push(message);
        }
        let names = &self.evaluations.parameter_names;
        self.parameters = names.iter().map(|n| Parameter::of(n, &self.settings)).collect();
        if self.parameters.is_empty() && self.evaluations.len() > 0 {
            let note = "no column of the table is a parameter of the study, so there is nothing about parameters";
            self.notes.push(note.into());
        }
        self.best = self.find_best();
    }

    /// That of the summary; or by the rule of studies the best validated mean, or else the best of the candidates.
    fn find_best(&self) -> Option<(usize, bool)> {
        let e = &self.evaluations;
        let told = self.number("best_evaluation").and_then(|number| e.row_of(number));
        if let Some(row) = told.filter(|row| e.is_judged(*row)) {
            return Some((row, e.kind[row] == Kind::Validation));
        }
        let best = |kind: Kind| {
            let rows = (0..e.len()).filter(|i| e.kind[*i] == kind && e.is_judged(*i));
            rows.min_by(|a, b| e.cost[*a].total_cmp(&e.cost[*b]))
        };
        let validated = best(Kind::Validation).map(|row| (row, true));
        validated.or_else(|| best(Kind::Sample).map(|row| (row, false)))
    }

    /// `best/` is a run folder, or holds one per scenario.
    fn find_motions(&mut self) {
        let best = self.folder.join("best");
        let is_run = |folder: &Path| folder.join("motion.clip").is_file();
        if is_run(&best) {
            self.motions.push((String::new(), best));
            return;
        }
        let entries = std::fs::read_dir(&best).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_run(p)).collect();
        folders.sort();
        self.motions = folders.into_iter().map(|f| (label(&f), f)).collect();
    }

    /// A number of the summary, if it is there and finite.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.summary.as_ref()?.get(key)?.as_f64().filter(|v| v.is_finite())
    }

    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.summary.as_ref()?.get(key)?.as_str()
    }

    /// A setting by its dotted key.
    pub(super) fn setting(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let mut value = self.settings.get(parts.next()?)?;
        for part in parts {
            value = value.get(part)?;
        }
        Some(value)
    }

    /// The cost of the best evaluation.
    pub fn best_cost(&self) -> Option<f64> {
        self.best.map(|(row, _)| self.evaluations.cost[row])
    }

    /// Number of the last evaluation.
    pub fn last_evaluation(&self) -> f64 {
        self.evaluations.number.last().copied().unwrap_or(0.0)
    }

    /// Mean and standard deviation of a parameter over the last generation's distribution.
    pub(super) fn last_distribution(&self, parameter: &str) -> Option<[f64; 2]> {
        let [mean, std] = self.history.as_ref()?.trace(parameter)?;
        Some([*mean.last()?, *std.last()?]).filter(|d| d[0].is_finite())
    }

    /// How it ended, in a few words, and whether that was by itself.
    pub fn verdict(&self) -> (String, bool) {
        let Some(word) = self.text_of("stopped_by") else {
            return ("without a summary: killed, or still going".into(), false);
        };
        let words = match word {
            "evaluations" | "budget" => "ended: the evaluations of its budget are spent",
            "time" => "ended: the time of its budget is spent",
            "target" => "ended: the target was reached",
            "interrupt" => return ("interrupted; it can be resumed".into(), false),
            word => match STOPS.iter().find(|s| s.name() == word) {
                Some(stop) => return (format!("converged: {}", stop.message()), self.best.is_some()),
                None => return (format!("ended: {word}"), self.best.is_some()),
            },
        };
        (words.into(), self.best.is_some())
    }
}
