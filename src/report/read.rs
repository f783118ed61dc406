//! From a run folder to what a report needs of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ReportError;
use super::table::Table;
use crate::character::Character;
use crate::clip::ClipFile;
use crate::experiment::{LoadedSpec, Prepared, Spec};
use crate::files;

/// A run folder in memory. What an early end, an experiment without recording or an older ambler has left out is `None`;
/// `notes` says why.
#[derive(Debug, Default)]
pub struct Run {
    /// What the report calls it: the folder's name.
    pub label: String,
    pub folder: PathBuf,
    /// `summary.json`.
    pub summary: Option<serde_json::Map<String, serde_json::Value>>,
    /// Text of `experiment.toml`.
    pub experiment: String,
    /// The same as a table.
    pub settings: toml::Table,
    /// The same as this ambler understands it.
    pub spec: Option<Spec>,
    pub metrics: Option<Table>,
    pub characters: Vec<CharacterRun>,
    /// Spans of time in which something was pushed, seconds.
    pub pushes: Vec<[f64; 2]>,
    /// What is missing and why.
    pub notes: Vec<String>,
}

/// What a run says about one character.
#[derive(Debug, Default)]
pub struct CharacterRun {
    pub name: String,
    /// In front of the names of its columns in `metrics.csv`.
    pub prefix: String,
    pub character: Option<Arc<Character>>,
    /// Body weight, N.
    pub weight: Option<f64>,
    /// `motion.clip`, or the further character's own.
    pub clip: Option<ClipFile>,
}

impl Run {
    /// Reads a run folder.
    ///
    /// Errors: what is no run folder, a file that is damaged or cannot be read, a folder that holds no results.
    pub fn read(folder: &Path) -> Result<Run, ReportError> {
        let path = |name: &str| folder.join(name);
        if !folder.is_dir() || !(path("experiment.toml").is_file() || path("summary.json").is_file()) {
            return Err(ReportError::NotARun {
                folder: folder.to_path_buf(),
                found: match (folder.is_dir(), folder.exists()) {
                    (true, _) => "a folder without experiment.toml and summary.json",
                    (false, true) => "a file",
                    (false, false) => "nothing",
                },
            });
        }
        let mut run = Run {
            label: label(folder),
            folder: folder.to_path_buf(),
            ..Run::default()
        };
        let mut characters = run.read_experiment(&path("experiment.toml"))?;
        run.read_summary(&path("summary.json"))?;
        run.read_metrics(&path("metrics.csv"))?;
        let mut clips = run.read_clips()?;
        if run.summary.is_none() && run.metrics.is_none() && clips.is_empty() {
            return Err(ReportError::NoResults {
                folder: folder.to_path_buf(),
            });
        }
        run.read_pushes(clips.first());

        // a single character's columns have no prefix; its name is in the summary
        let names = run.character_names();
        let single = names.len() == 1;
        for (i, name) in names.into_iter().enumerate() {
            let clip = clips.iter().position(|c| c.name == name);
            let clip = clip.or((single && !clips.is_empty()).then_some(0));
            let of_name = characters.iter().position(|(n, _)| *n == name);
            let character = of_name.map(|c| characters.swap_remove(c).1);
            let mass = run
                .summary_of(i)
                .and_then(|s| s.get("mass_kg")?.as_f64())
                .or(character.as_ref().map(|c| c.mass()));
            run.characters.push(CharacterRun {
                prefix: if single { String::new() } else { format!("{name}.") },
                weight: mass.map(|m| m * run.gravity()).filter(|w| *w > 0.0),
                character,
                clip: clip.map(|c| clips.swap_remove(c)),
                name,
            });
        }
        Ok(run)
    }

    /// The experiment; returns the characters by name as far as they can be read.
    fn read_experiment(&mut self, path: &Path) -> Result<Vec<(String, Arc<Character>)>, ReportError> {
        if !path.is_file() {
            self.notes
                .push("experiment.toml is missing, and with it settings, pushes and torque limits".into());
            return Ok(Vec::new());
        }
        self.experiment = files::read_text(path).map_err(ReportError::File)?;
        self.settings = files::parse_toml(&self.experiment, &path.display().to_string())
            .map_err(|e| ReportError::File(e.into()))?;
        let loaded = match LoadedSpec::read(path, &[]) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.notes.push(format!(
                    "experiment.toml cannot be used by this ambler, so pushes and torque limits are left out: {error}"
                ));
                return Ok(Vec::new());
            }
        };
        self.spec = Some(loaded.spec.clone());
        match Prepared::new(&loaded) {
            Ok(prepared) => Ok(prepared
                .actors
                .iter()
                .map(|a| (a.name.clone(), a.character.clone()))
                .collect()),
            Err(error) => {
                self.notes.push(format!(
                    "the character cannot be read, so torque limits and outlines of feet are left out: {error}"
                ));
                Ok(Vec::new())
            }
        }
    }

    fn read_summary(&mut self, path: &Path) -> Result<(), ReportError> {
        if !path.is_file() {
            self.notes.push(
                "summary.json is missing: the run was killed, is still going, or its results could not all be written"
                    .into(),
            );
            return Ok(());
        }
        let text = files::read_text(path).map_err(ReportError::File)?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| ReportError::Damaged {
            path: path.to_path_buf(),
            message: e.to_string(),
        })?;
        match value {
            serde_json::Value::Object(map) => self.summary = Some(map),
            _ => {
                return Err(ReportError::Damaged {
                    path: path.to_path_buf(),
                    message: "expected an object `{…}` with the results".into(),
                });
            }
        }
        if let Some(error) = self.text("error") {
            let note = format!("the run was stopped by an error: {error}");
            self.notes.push(note);
        }
        Ok(())
    }

    fn read_metrics(&mut self, path: &Path) -> Result<(), ReportError> {
        if path.is_file() {
            let table = Table::read(path)?;
            if table.times().is_empty() {
                self.notes.push("metrics.csv has no rows".into());
            } else {
                self.metrics = Some(table);
            }
            return Ok(());
        }
        let off = self.spec.as_ref().is_some_and(|s| s.recording.metrics_hz == 0.0);
        self.notes.push(match off {
            true => "there is no metrics.csv, since the experiment says recording.metrics_hz = 0".into(),
            false => "metrics.csv is missing".to_string(),
        });
        Ok(())
    }

    /// `motion.clip` first, then those of further characters by name.
    fn read_clips(&mut self) -> Result<Vec<ClipFile>, ReportError> {
        let entries = std::fs::read_dir(&self.folder).map_err(|source| ReportError::Read {
            path: self.folder.clone(),
            source,
        })?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .filter(|n| n == "motion.clip" || (n.starts_with("motion_") && n.ends_with(".clip")))
            .collect();
        names.sort();
        let mut clips = Vec::new();
        for name in names {
            let clip = ClipFile::read(&self.folder.join(&name)).map_err(|e| ReportError::Clip(Box::new(e)))?;
            if clip.samples() == 0 {
                self.notes.push(format!("{name} has no samples"));
            } else {
                clips.push(clip);
            }
        }
        let off = self.spec.as_ref().is_some_and(|s| s.recording.motion_hz == 0.0);
        let someone = self.spec.as_ref().is_none_or(|s| !s.actors().is_empty());
        if clips.is_empty() && someone {
            self.notes.push(match off {
                true => "there is no motion.clip, since the experiment says recording.motion_hz = 0".into(),
                false => "motion.clip is missing".to_string(),
            });
        }
        Ok(clips)
    }

    /// Pushes of the experiment and, if they were recorded, those of a hand.
    fn read_pushes(&mut self, clip: Option<&ClipFile>) {
        let Some(spec) = &self.spec else { return };
        let end = self.duration();
        for push in &spec.disturbances {
            let curve = (push.forces_n.as_ref().zip(push.every_s)).map(|(forces, every)| forces.len() as f64 * every);
            let duration = curve.or(push.duration_s).unwrap_or(1.0 / spec.rate_hz);
            if push.time_s < end {
                self.pushes.push([push.time_s, (push.time_s + duration).min(end)]);
            }
        }
        let Some((clip, track)) = clip.and_then(|c| Some((c, c.vector("pushes")?))) else {
            return;
        };
        let frame = clip.rate.frame_time();
        let mut begun = None;
        for i in 0..=clip.samples() {
            let active = track.sample(i).is_some_and(|s| s.iter().any(|v| *v != 0.0));
            let time = i as f64 * frame;
            match (active, begun) {
                (true, None) => begun = Some(time),
                (false, Some(start)) => {
                    // a recorded force is that of the step before
                    let known = |p: &[f64; 2]| p[0] <= time && start - frame <= p[1];
                    if !self.pushes.iter().any(known) {
                        self.pushes.push([start, time - frame]);
                    }
                    begun = None;
                }
                _ => {}
            }
        }
    }

    fn character_names(&self) -> Vec<String> {
        let listed = self.summary.as_ref().and_then(|s| s.get("characters")?.as_array());
        if let Some(list) = listed {
            let name = |c: &serde_json::Value| Some(c.get("name")?.as_str()?.to_string());
            return list.iter().filter_map(name).collect();
        }
        let columns = self.metrics.as_ref().map_or(&[][..], |m| m.names());
        columns
            .iter()
            .filter_map(|n| n.strip_suffix("com_x_m"))
            .map(|prefix| match prefix.strip_suffix('.') {
                Some(name) => name.to_string(),
                None => "character".to_string(),
            })
            .collect()
    }

    fn summary_of(&self, character: usize) -> Option<&serde_json::Value> {
        self.summary.as_ref()?.get("characters")?.as_array()?.get(character)
    }

    /// A number of the summary, if it is there and finite.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.summary.as_ref()?.get(key)?.as_f64().filter(|v| v.is_finite())
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.summary.as_ref()?.get(key)?.as_str()
    }

    /// Seconds simulated.
    pub fn duration(&self) -> f64 {
        self.number("duration_s")
            .or_else(|| self.metrics.as_ref()?.times().last().copied())
            .or(self.spec.as_ref().map(|s| s.duration_s))
            .unwrap_or(0.0)
    }

    /// m/s².
    pub fn gravity(&self) -> f64 {
        self.spec
            .as_ref()
            .map_or(9.81, |s| glam::DVec3::from_array(s.gravity).length())
    }

    /// Seconds; of the first character to fall.
    pub fn fell_at(&self) -> Option<f64> {
        self.number("fell_at_s")
    }

    /// Whether it is known that the run reached its end on its feet.
    pub fn went_well(&self) -> bool {
        let completed = self.summary.as_ref().and_then(|s| s.get("completed")?.as_bool());
        completed == Some(true) && self.fell_at().is_none()
    }

    /// How it ended, in a few words.
    pub fn verdict(&self) -> String {
        if self.summary.is_none() {
            return "without a summary: killed, or still running".into();
        }
        let duration = self.duration();
        let fell = self.fell_at().map(|t| format!("fell at {t:.2} s"));
        let ended = match self.text("stopped_by") {
            Some("interrupt") => Some(format!("interrupted at {duration:.2} s")),
            Some("error") => Some(format!("stopped by an error at {duration:.3} s")),
            Some("fall") => Some("stopped there".into()),
            Some(other) => Some(format!("stopped by {other} at {duration:.2} s")),
            None => None,
        };
        match (fell, ended) {
            (Some(fell), Some(ended)) => format!("{fell}, {ended}"),
            (Some(fell), None) => format!("{fell} of {duration:.2} s"),
            (None, Some(ended)) => ended,
            (None, None) if self.characters.is_empty() => format!("completed: {duration:.2} s"),
            (None, None) => format!("completed: {duration:.2} s without a fall"),
        }
    }
}

impl CharacterRun {
    /// A column of this character.
    pub fn column<'a>(&self, run: &'a Run, name: &str) -> Option<&'a [f64]> {
        run.metrics.as_ref()?.column(&format!("{}{name}", self.prefix))
    }

    /// What stands between `prefix` and `suffix` in the names of this character's columns, in their order.
    pub fn columns_between<'a>(&'a self, run: &'a Run, prefix: &str, suffix: &str) -> Vec<&'a str> {
        let start = format!("{}{prefix}", self.prefix);
        let names = run.metrics.as_ref().map_or(&[][..], |m| m.names());
        names
            .iter()
            .filter_map(|n| n.strip_prefix(&start)?.strip_suffix(suffix))
            .collect()
    }

    /// Times of the samples of the clip, seconds.
    pub fn clip_times(&self) -> Vec<f64> {
        let Some(clip) = &self.clip else { return Vec::new() };
        let frame = clip.rate.frame_time();
        (0..clip.samples()).map(|i| i as f64 * frame).collect()
    }
}

/// The folder's name, or for `.` and the like that of what it stands for.
pub(super) fn label(folder: &Path) -> String {
    let named = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned());
    named(folder)
        .or_else(|| named(&folder.canonicalize().ok()?))
        .unwrap_or_else(|| "folder".into())
}

/// Makes labels differ: by the folders above, or else by numbers.
pub(super) fn tell_apart(folders: &[&Path], labels: &mut [&mut String]) {
    let same = |labels: &[&mut String], i: usize| (0..labels.len()).any(|j| j != i && labels[j] == labels[i]);
    let alike: Vec<usize> = (0..labels.len()).filter(|i| same(labels, *i)).collect();
    for &i in &alike {
        if let Some(above) = folders[i].parent().and_then(|p| p.file_name()) {
            *labels[i] = format!("{}/{}", above.to_string_lossy(), labels[i]);
        }
    }
    let mut count = 1;
    for i in 1..labels.len() {
        if (0..i).any(|j| labels[j] == labels[i]) {
            count += 1;
            *labels[i] = format!("{} ({count})", labels[i]);
        }
    }
}
