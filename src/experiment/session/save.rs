//! Writing down what was done by hand.

use std::path::{Component, Path, PathBuf};

use thiserror::Error;
use toml::{Table, Value};

use super::Session;
use crate::control::Controller;
use crate::experiment::changes;
use crate::experiment::spec::{ControllerSpec, Spec};
use crate::files::{self, FileError};

/// A file that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    pub path: PathBuf,
    /// Files that the experiment names and that are no longer there: it cannot run without them.
    pub missing: Vec<PathBuf>,
}

/// Nothing was written.
#[derive(Debug, Error)]
pub enum SaveError {
    #[error("{path} is there already; choose another name, or say that it may be replaced")]
    Exists { path: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the experiment cannot be written as TOML: {0}")]
    Toml(String),
}

impl Session {
    /// The experiment with everything that was done by hand. Run from its start it arrives at the state of now; it lasts as long
    /// as the one this session began with, or until now if that is longer. Paths are not yet those of a file elsewhere.
    pub fn experiment(&self) -> Spec {
        let prepared = self.prepared();
        let mut spec = prepared.spec.clone();
        let rate = spec.rate_hz;
        if self.steps() > spec.steps() {
            spec.duration_s = self.steps() as f64 / rate;
        }
        let duration = spec.duration_s;
        // what has been asked for but not begun belongs to a later moment
        let begun = |time: f64| time < duration;
        let deeds = self.deeds();
        (spec.disturbances).extend(deeds.disturbances.iter().filter(|d| begun(d.time_s)).cloned());
        (spec.changes).extend(deeds.changes.iter().filter(|c| begun(c.time_s)).cloned());
        // the session did not stop at a fall
        spec.fall.stop = false;
        spec
    }

    /// The experiment that this session began with, started with the parameters that are in effect now; without changes on the
    /// way and without what was done by hand.
    pub fn experiment_with_parameters(&self) -> Result<Spec, SaveError> {
        let simulation = &self.simulation;
        let mut spec = self.prepared().spec.clone();
        spec.changes.clear();
        let changed = simulation.changes[..simulation.changed].iter();
        let mut paths: Vec<(usize, &str)> = changed.map(|c| (c.actor, c.path.as_str())).collect();
        paths.extend(self.touched.iter().map(|(actor, path)| (*actor, path.as_str())));
        let mut seen: Vec<(usize, &str)> = Vec::new();
        for (actor, path) in paths {
            if seen.contains(&(actor, path)) {
                continue;
            }
            seen.push((actor, path));
            let parameters = simulation.controllers[actor].parameters();
            let Some(parameter) = parameters.iter().find(|p| p.path == path) else {
                continue;
            };
            let controller = controller_of(&mut spec, actor);
            *controller = with_value(controller, path, parameter.value)?;
        }
        Ok(spec)
    }

    /// Writes [`Session::experiment`] into a file, from which it runs with the same inputs.
    ///
    /// # Errors
    /// If there is a file already and `replace` is false, and if it cannot be written. Missing inputs are no error, so that
    /// what was done is not lost.
    pub fn save_experiment(&mut self, path: &Path, replace: bool) -> Result<Saved, SaveError> {
        let deeds = self.deeds();
        let heading = format!(
            "# {} with what was done by hand: {} disturbance(s), {} change(s) of parameters.\n",
            one_line(&self.prepared().name),
            deeds.disturbances.len(),
            deeds.changes.len()
        );
        let saved = self.write(self.experiment(), &heading, path, replace)?;
        self.saved_revision = self.revision;
        Ok(saved)
    }

    /// Writes [`Session::experiment_with_parameters`] into a file, likewise.
    ///
    /// # Errors
    /// As [`Session::save_experiment`].
    pub fn save_parameters(&self, path: &Path, replace: bool) -> Result<Saved, SaveError> {
        let heading = format!("# {} with changed parameters.\n", one_line(&self.prepared().name));
        self.write(self.experiment_with_parameters()?, &heading, path, replace)
    }

    fn write(&self, mut spec: Spec, heading: &str, path: &Path, replace: bool) -> Result<Saved, SaveError> {
        if !replace && path.symlink_metadata().is_ok() {
            return Err(SaveError::Exists {
                path: path.display().to_string(),
            });
        }
        // called after its file
        spec.name = None;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = (folder.canonicalize()).map_err(|error| FileError::io(folder, error))?;
        let mut missing = Vec::new();
        for input in spec.input_paths_mut() {
            let original = self.prepared().folder.join(&*input);
            if !original.exists() {
                missing.push(original.clone());
            }
            *input = relative(&folder, &original);
        }
        let text = toml::to_string(&spec).map_err(|e| SaveError::Toml(e.to_string()))?;
        files::write_atomic(path, format!("{heading}{text}").as_bytes())?;
        Ok(Saved {
            path: path.to_path_buf(),
            missing,
        })
    }
}

fn one_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}

/// Where the controller of an actor is written, or would be.
fn controller_of(spec: &mut Spec, actor: usize) -> &mut ControllerSpec {
    let slot = match &mut spec.character {
        Some(character) if character.controller.is_some() => &mut character.controller,
        Some(_) => &mut spec.controller,
        None => &mut spec.characters[actor].controller,
    };
    slot.get_or_insert_with(ControllerSpec::hold_bind_pose)
}

/// A controller whose parameter at `path` has the value from the start: paths of parameters are those of its table.
fn with_value(controller: &ControllerSpec, path: &str, value: f64) -> Result<ControllerSpec, SaveError> {
    let error = |e: &dyn std::fmt::Display| SaveError::Toml(format!("{path}: {e}"));
    let mut table = Value::Table(Table::try_from(controller).map_err(|e| error(&e))?);
    let mut at = &mut table;
    let keys = changes::keys(path);
    let (last, above) = keys.split_last().ok_or_else(|| error(&"an empty path"))?;
    for key in above {
        at = match at {
            Value::Table(table) => table
                .entry(key.to_string())
                .or_insert_with(|| Value::Table(Table::new())),
            _ => return Err(error(&format!("`{key}` is looked for in what is no table"))),
        };
    }
    let value = Value::Float(value);
    match at {
        Value::Table(table) => _ = table.insert(last.to_string(), value),
        Value::Array(array) => match last.parse().ok().and_then(|i: usize| array.get_mut(i)) {
            Some(slot) => *slot = value,
            None => return Err(error(&format!("`{last}` is no place in an array of {}", array.len()))),
        },
        _ => return Err(error(&format!("`{last}` is looked for in a number"))),
    }
    table.try_into().map_err(|e| error(&e))
}

/// The way from `folder`, which has no links in it, to a file; from the root of the file system if there is none.
fn relative(folder: &Path, file: &Path) -> PathBuf {
    // links in the way would lead `..` elsewhere
    let file = match (file.parent().map(Path::canonicalize), file.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => return file.to_path_buf(),
    };
    let common = (folder.components().zip(file.components()))
        .take_while(|(a, b)| a == b)
        .count();
    let shares_root = folder.components().next() == file.components().next();
    if !shares_root {
        return file;
    }
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_file_leads_from_any_folder_to_it() {
        // folder joined with the way is the file, for files above, beside and below
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(root.join("c")).unwrap();
        for (folder, file, way) in [
            ("a/b", "c/x.bvh", "../../c/x.bvh"),
            ("a", "a/b/x.bvh", "b/x.bvh"),
            ("a", "a/x.bvh", "x.bvh"),
            ("", "c/x.bvh", "c/x.bvh"),
        ] {
            std::fs::write(root.join(file), file).unwrap();
            let found = relative(&root.join(folder), &root.join("a/../").join(file));
            assert_eq!(found, Path::new(way));
            assert_eq!(std::fs::read_to_string(root.join(folder).join(found)).unwrap(), file);
        }
    }
}
