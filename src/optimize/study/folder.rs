//! The folder of a study: its lock, and the files that say what the study is.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::error::StudyError;
use super::spec::{LoadedStudy, StudySpec};
use crate::experiment::file_name;
use crate::files::write_atomic;
use crate::optimize::problem::{Problem, ProblemError};

pub const STUDY: &str = "study.toml";
pub(super) const LOG: &str = "evaluations.csv";
pub(super) const HISTORY: &str = "history.csv";
pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const SUMMARY: &str = "summary.json";
pub(super) const DIARY: &str = "study.log";
const EXPERIMENT: &str = "experiment.toml";
const INPUTS: &str = "inputs";
const LOCK: &str = ".lock";

/// Whether a folder is that of a study, begun at least.
pub fn is_study(path: &Path) -> bool {
    path.join(STUDY).is_file() && path.join(LOG).is_file()
}

/// A folder that this process alone works in, as long as this lives.
pub struct Claim {
    pub path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Makes the folder, which must not hold anything but what a study leaves that was killed before it had begun.
    pub fn new(path: &Path) -> Result<Claim, StudyError> {
        std::fs::create_dir_all(path).map_err(StudyError::io("make the folder", path))?;
        let names = names(path)?;
        // `study.toml` is the last of its files
        let left = |name: &String| [LOCK, EXPERIMENT, INPUTS].contains(&name.as_str()) || name.starts_with(".tmp");
        let killed = names.iter().any(|n| n == LOCK) && names.iter().all(left);
        if !names.is_empty() && !killed {
            return Err(StudyError::NotEmpty(path.to_path_buf()));
        }
        let claim = Claim::lock(path)?;
        claim.tidy();
        Ok(claim)
    }

    /// Removes files that a killed process was writing. They disturb nobody, so it may fail.
    pub(super) fn tidy(&self) {
        for name in names(&self.path).unwrap_or_default() {
            if name.starts_with(".tmp") {
                let _ = std::fs::remove_file(self.path.join(name));
            }
        }
    }

    /// A new folder `base/<name>-<n>` with the first `n` from 1 that is free.
    pub fn numbered(base: &Path, name: &str) -> Result<Claim, StudyError> {
        std::fs::create_dir_all(base).map_err(StudyError::io("make the folder", base))?;
        let mut n = 1_u64;
        loop {
            let path = base.join(format!("{}-{n}", file_name(name)));
            match std::fs::create_dir(&path) {
                Ok(()) => return Claim::lock(&path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => n += 1,
                Err(e) => return Err(StudyError::io("make the folder", &path)(e)),
            }
        }
    }

    /// Claims a folder that exists.
    pub fn lock(path: &Path) -> Result<Claim, StudyError> {
        let file = path.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file)
            .map_err(StudyError::io("write to", &file))?;
        // the system takes the lock from a process that ends, however it ends; a process that this one has just begun holds it too,
        // for the moment until it is another program
        let mut patience = 20;
        loop {
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) if patience > 0 => {
                    patience -= 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => return Err(StudyError::Locked(path.to_path_buf())),
                // where there are no locks, whoever works in a folder twice is not told
                Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => break,
                Err(TryLockError::Error(error)) => return Err(StudyError::io("lock", &file)(error)),
                Ok(()) => break,
            }
        }
        Ok(Claim {
            path: path.to_path_buf(),
            _lock: lock,
        })
    }
}

fn names(path: &Path) -> Result<Vec<String>, StudyError> {
    let read = || StudyError::io("read the folder", path);
    std::fs::read_dir(path)
        .map_err(read())?
        .map(|entry| Ok(entry.map_err(read())?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Files that make a folder independent of where the study came from: the study, its experiment, and copies of what that names.
pub struct ProblemFiles {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl ProblemFiles {
    /// Reads the inputs of a problem and writes the study down; `file` is `study.toml` or `sweep.toml`.
    pub fn new(study: &LoadedStudy, problem: &Problem, file: &str) -> Result<ProblemFiles, StudyError> {
        let mut files = Vec::new();
        for input in problem.inputs() {
            let bytes = std::fs::read(&input.original).map_err(StudyError::io("read", &input.original))?;
            files.push((Path::new(INPUTS).join(&input.name), bytes));
        }
        files.push((EXPERIMENT.into(), problem.base_text()?.into_bytes()));
        // the experiment has the changes, the objective and the scenarios already
        let spec = StudySpec {
            experiment: EXPERIMENT.into(),
            set: toml::Table::new(),
            objective: Vec::new(),
            scenarios: Vec::new(),
            combine: None,
            ..study.spec.clone()
        };
        files.push((file.into(), study_text(&spec)?.into_bytes()));
        Ok(ProblemFiles { files })
    }

    /// Writes them into a folder; the study itself comes last.
    pub fn write(&self, folder: &Path) -> Result<(), StudyError> {
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            if let Some(above) = path.parent() {
                std::fs::create_dir_all(above).map_err(StudyError::io("make the folder", above))?;
            }
            write_atomic(&path, bytes).map_err(ProblemError::from)?;
        }
        Ok(())
    }
}

/// The study file of a folder.
fn study_text(spec: &StudySpec) -> Result<String, StudyError> {
    let text = toml::to_string(spec).map_err(ProblemError::from)?;
    Ok(format!(
        "# Everything that this study was begun with; its experiment and inputs are beside it.\n# Written by ambler {}.\n\n{text}",
        env!("CARGO_PKG_VERSION")
    ))
}

impl LoadedStudy {
    /// Gives the study in `folder`, which must be claimed, another budget of evaluations: it is then the one that it would have been
    /// with that budget from the beginning.
    pub fn extend(&mut self, folder: &Path, evaluations: u64) -> Result<(), StudyError> {
        if self.spec.budget.evaluations == Some(evaluations) {
            return Ok(());
        }
        self.spec.budget.evaluations = Some(evaluations);
        let text = study_text(&self.spec)?;
        Ok(write_atomic(&folder.join(STUDY), text.as_bytes()).map_err(ProblemError::from)?)
    }

    /// What the function of a study's folder is made of: if a byte of it changes, the function is another one. The budget is no part of
    /// it.
    pub fn function_bytes(&self, problem: &Problem) -> Result<Vec<u8>, StudyError> {
        let mut bytes = Vec::new();
        let mut files = vec![self.folder.join(&self.spec.experiment)];
        files.extend(problem.inputs().iter().map(|i| i.original.clone()));
        for file in files {
            let read = std::fs::read(&file).map_err(StudyError::io("read", &file))?;
            bytes.extend((read.len() as u64).to_le_bytes());
            bytes.extend(read);
        }
        Ok(bytes)
    }

    /// The study of a folder that was made for it, in its `study.toml` or `sweep.toml`.
    pub fn of_folder(path: &Path, name: &'static str) -> Result<LoadedStudy, StudyError> {
        let file = path.join(name);
        if !file.is_file() {
            return Err(StudyError::NoStudy {
                path: path.to_path_buf(),
                missing: name,
            });
        }
        Ok(LoadedStudy::read(&file)?)
    }
}
