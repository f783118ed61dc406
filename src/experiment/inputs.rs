//! The files that an experiment names: reading motions, fitting characters, and copies for the run folder.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::spec::UpAxis;
use crate::character::{Character, FitOptions, fit};
use crate::clip::{Clip, ClipFile};
use crate::motion::bvh;

/// Folder of a run folder that holds copies of the files the experiment names.
pub const FOLDER: &str = "inputs";

/// A file to be copied into the run folder.
#[derive(Clone, Debug, PartialEq)]
pub struct InputFile {
    pub original: PathBuf,
    /// Its name in the folder `inputs`.
    pub name: String,
}

/// Collects input files and gives each a name of its own.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub files: Vec<InputFile>,
}

impl Inputs {
    /// Replaces `path` (relative to `folder`) by that of its copy.
    pub fn take_path(&mut self, folder: &Path, path: &mut PathBuf) {
        let original = folder.join(&*path);
        let known = self.files.iter().find(|f| f.original == original);
        let name = match known {
            Some(file) => file.name.clone(),
            None => {
                let stem = original
                    .file_name()
                    .map_or_else(|| "file".into(), |n| n.to_string_lossy().into_owned());
                let mut name = stem.clone();
                let mut count = 2;
                while self.files.iter().any(|f| f.name == name) {
                    name = format!("{count}_{stem}");
                    count += 1;
                }
                self.files.push(InputFile {
                    original,
                    name: name.clone(),
                });
                name
            }
        };
        *path = Path::new(FOLDER).join(name);
    }
}

/// Whether a file is a `.clip`, by its ending or its first bytes.
fn is_clip(path: &Path) -> bool {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("clip")) {
        return true;
    }
    // what is read from a pipe is gone: clips come as files only
    if !path.is_file() {
        return false;
    }
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut magic));
    read.is_ok() && magic == *b"\x89ACL"
}

/// Reads a BVH file or a clip; the warnings say what looks wrong. A clip is in metres and Y up already.
pub fn read_motion(
    path: &Path,
    scale: Option<f64>,
    up: Option<UpAxis>,
) -> Result<(Clip, Vec<String>), ExperimentError> {
    let error = |message: String| ExperimentError::Input {
        what: "motion".into(),
        message,
    };
    if is_clip(path) {
        if scale.is_some() || up.is_some() {
            let message = format!(
                "{}: `scale` and `up` are for BVH; a clip is in metres, Y up",
                path.display()
            );
            return Err(error(message));
        }
        let clip = ClipFile::read(path)
            .map_err(|e| error(e.to_string()))?
            .to_clip()
            .map_err(|e| error(format!("{}: {e}", path.display())))?;
        return Ok((clip, Vec::new()));
    }
    let options = bvh::ImportOptions {
        scale: scale.unwrap_or(1.0),
        up: match up {
            Some(UpAxis::Z) => bvh::UpAxis::Z,
            _ => bvh::UpAxis::Y,
        },
    };
    let imported = bvh::import(path, &options).map_err(|e| error(e.to_string()))?;
    Ok((imported.clip, imported.warnings))
}

/// [`read_motion`] for a run, which reads its inputs more than once and copies them: a pipe, which would be empty the
/// second time and wait forever, is refused before it is opened.
pub fn read_run_motion(
    path: &Path,
    scale: Option<f64>,
    up: Option<UpAxis>,
) -> Result<(Clip, Vec<String>), ExperimentError> {
    refuse_pipe(path)?;
    read_motion(path, scale, up)
}

/// Refuses what is there but cannot be copied into the run folder.
pub(crate) fn refuse_pipe(path: &Path) -> Result<(), ExperimentError> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(ExperimentError::Input {
            what: path.display().to_string(),
            message: "is no regular file; expected one that can be copied into the run folder".into(),
        }),
        // what is missing or a folder is told by whoever reads it
        _ => Ok(()),
    }
}

/// Builds a character for the skeleton of `clip`; the notes say what was assumed.
pub fn fit_character(clip: &Clip, mass_kg: Option<f64>) -> Result<(Character, Vec<String>), ExperimentError> {
    let default = FitOptions::default();
    let options = FitOptions {
        name: clip.name.clone(),
        mass: mass_kg.unwrap_or(default.mass),
        ..default
    };
    fit(&clip.skeleton, &options).map_err(|e| ExperimentError::Input {
        what: format!("no character can be fitted to {}", clip.name),
        message: e.to_string(),
    })
}
