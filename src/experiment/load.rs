//! From the text of an experiment file to a checked [`Spec`].

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::overrides;
use super::spec::Spec;
use super::validate::Problem;
use crate::files;

/// A spec together with where it came from.
#[derive(Clone, Debug)]
pub struct LoadedSpec {
    pub spec: Spec,
    /// Folder that its paths are relative to.
    pub folder: PathBuf,
    /// What errors call it.
    pub source_name: String,
    /// Its text, if the spec is what the text says (nothing was changed or `--set`).
    pub text: Option<String>,
}

impl LoadedSpec {
    /// Reads an experiment file, applies `sets` (`path=value`, see [`overrides::apply`]) and checks the result.
    pub fn read(path: &Path, sets: &[String]) -> Result<LoadedSpec, ExperimentError> {
        LoadedSpec::read_changed(path, None, sets)
    }

    /// The same with a `change` to what the file says before the `sets` are applied.
    pub fn read_changed(
        path: &Path,
        change: Option<&dyn Fn(&mut Spec)>,
        sets: &[String],
    ) -> Result<LoadedSpec, ExperimentError> {
        let text = files::read_text(path)?;
        let name = path
            .file_stem()
            .map_or_else(|| "experiment".into(), |s| s.to_string_lossy().into_owned());
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut loaded = LoadedSpec::deserialize(&text, &path.display().to_string(), folder, change, sets)?;
        loaded.check()?;
        // an experiment.toml in a run folder knows its name already
        loaded.spec.name.get_or_insert(name);
        Ok(loaded)
    }

    /// The same for text that is already in memory.
    pub fn parse(
        text: &str,
        source_name: &str,
        folder: PathBuf,
        sets: &[String],
    ) -> Result<LoadedSpec, ExperimentError> {
        let loaded = LoadedSpec::deserialize(text, source_name, folder, None, sets)?;
        loaded.check()?;
        Ok(loaded)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        self.spec.validate().map_err(|problem| self.error(problem))?;
        self.scenarios(&[]).map(|_| ())
    }

    fn deserialize(
        text: &str,
        source_name: &str,
        folder: PathBuf,
        change: Option<&dyn Fn(&mut Spec)>,
        sets: &[String],
    ) -> Result<LoadedSpec, ExperimentError> {
        let changed = || -> Result<Spec, ExperimentError> {
            let mut spec = files::parse_toml::<Spec>(text, source_name)?;
            if let Some(change) = change {
                change(&mut spec);
            }
            Ok(spec)
        };
        let spec = if sets.is_empty() {
            changed()?
        } else {
            let mut table: toml::Table = match change {
                None => files::parse_toml(text, source_name)?,
                Some(_) => toml::Table::try_from(changed()?).map_err(|e| ExperimentError::Value {
                    source_name: source_name.to_string(),
                    key: "experiment".into(),
                    message: e.to_string(),
                })?,
            };
            for set in sets {
                overrides::apply(&mut table, set)?;
            }
            match table.try_into::<Spec>() {
                Ok(spec) => spec,
                Err(error) => {
                    // a mistake in the file itself is better shown where it is
                    files::parse_toml::<Spec>(text, source_name)?;
                    return Err(ExperimentError::Value {
                        source_name: source_name.to_string(),
                        key: format!("--set {}", sets.join(" --set ")),
                        message: overrides::explain(error.message()),
                    });
                }
            }
        };
        Ok(LoadedSpec {
            spec,
            folder,
            source_name: source_name.to_string(),
            text: (sets.is_empty() && change.is_none()).then(|| text.to_string()),
        })
    }

    /// The problem with file and line, where the file says what it is about.
    pub(crate) fn error(&self, problem: Problem) -> ExperimentError {
        match &self.text {
            Some(text) => {
                let (offset, key) = locate(text, &problem.key);
                let mut error = files::error_in_table(text, &self.source_name, offset, key, problem.message);
                error.key = Some(problem.key);
                error.into()
            }
            None => ExperimentError::Value {
                source_name: self.source_name.clone(),
                key: problem.key,
                message: problem.message,
            },
        }
    }
}

/// Byte offset of the header of the table that `key` is in, and the key's last part.
fn locate<'a>(text: &str, key: &'a str) -> (usize, &'a str) {
    let mut rest = key;
    while let Some((table, _)) = rest.rsplit_once('.') {
        let (name, place) = match table.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse().unwrap_or(0)),
            None => (table, 0),
        };
        let headers = [format!("[[{name}]]"), format!("[{name}]")];
        let mut offset = 0;
        let mut count = 0;
        for line in text.split_inclusive('\n') {
            if headers.iter().any(|h| line.starts_with(h.as_str())) {
                if count == place {
                    return (offset, key.rsplit('.').next().unwrap_or(key));
                }
                count += 1;
            }
            offset += line.len();
        }
        rest = table;
    }
    (0, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::{Angles, ChangeSpec, Direction, DisturbanceSpec, EngineName};

    const BASE: &str = "format = 1\nduration_s = 2\nrate_hz = 120\n\n[character]\nfile = \"h.toml\"\n\n[controller]\nkind = \"hold\"\n\n[[terrain]]\nkind = \"ground\"\n\n[[terrain]]\nkind = \"box\"\nsize = [1, 2, 3]\n";

    fn load(text: &str, sets: &[&str]) -> Result<LoadedSpec, ExperimentError> {
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        LoadedSpec::parse(text, "walk.toml", PathBuf::new(), &sets)
    }

    #[test]
    fn a_spec_written_out_reads_back_equal() {
        // serialise, parse: the same spec, so a run folder's copy is the experiment
        let mut spec = load(BASE, &[]).unwrap().spec;
        spec.poses.insert(
            "natural".into(),
            [
                ("knee".to_string(), Angles(vec![10.5])),
                ("hip".to_string(), Angles(vec![1.0, 0.1 + 0.2, -3.0])),
            ]
            .into(),
        );
        spec.disturbances.push(DisturbanceSpec {
            time_s: 1.0 / 3.0,
            duration_s: None,
            impulse_ns: Some(12.5),
            force_n: None,
            direction: Some(Direction::Left),
            character: None,
            prop: None,
            body: Some("pelvis".into()),
            point: Some([0.1, 0.2, 0.3]),
            every_s: None,
            forces_n: None,
        });
        spec.disturbances.push(DisturbanceSpec {
            direction: None,
            impulse_ns: None,
            every_s: Some(7.0 / 120.0),
            forces_n: Some(vec![
                [1e-300, -2.5e-7, 1e8 / 3.0],
                [0.1 + 0.2, 5e-324, -0.0],
                [1e8 - 1.0 / 3.0, 12.0, f64::EPSILON],
            ]),
            time_s: 1.0,
            ..spec.disturbances[0].clone()
        });
        spec.changes.push(ChangeSpec {
            time_s: 41.0 / 120.0,
            parameter: "controller.gains.left_shin.kp".into(),
            value: 1e17 / 3.0,
        });
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(load(&text, &[]).unwrap().spec, spec, "{text}");
    }

    #[test]
    fn mistakes_name_line_key_and_the_nearest_known_word() {
        // whatever is wrong, the message says where and what was expected
        for (from, to, line, parts) in [
            (
                "rate_hz = 120",
                "rat_hz = 120",
                3,
                &["rat_hz", "did you mean `rate_hz`"][..],
            ),
            ("rate_hz = 120", "rate_hz = nan", 3, &["rate_hz", "NaN", "10 to"]),
            ("kind = \"hold\"", "kind = \"hodl\"", 9, &["hodl", "hold"]),
            ("size = [1, 2, 3]", "size = [1, -2, 3]", 16, &["terrain[1].size", "-2"]),
            (
                "size = [1, 2, 3]",
                "slope_deg = 3",
                16,
                &["terrain[1].slope_deg", "box"],
            ),
            ("size = [1, 2, 3]", "", 14, &["terrain[1].size", "missing"]),
            (
                "duration_s = 2",
                "duration_s = 2\ncontrol_hz = 50",
                3,
                &["control_hz", "whole number"],
            ),
            ("format = 1", "format = 7", 1, &["format", "7"]),
            (
                "kind = \"hold\"",
                "kind = \"hold\"\npose = \"naturl\"",
                10,
                &["naturl", "bind"],
            ),
            ("kind = \"hold\"", "kind = \"track\"", 9, &["no motion", "--motion"]),
        ] {
            let error = load(&BASE.replace(from, to), &[]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("walk.toml:{line}:")), "{to}: {error}");
            for part in parts {
                assert!(error.contains(part), "{to}: {error}");
            }
        }
    }

    #[test]
    fn a_set_value_is_read_as_if_it_stood_in_the_file() {
        // --set changes exactly its key, and unknown keys get the nearest name
        let spec = load(BASE, &["rate_hz=60", "terrain.1.size.0=5", "engine=rapier"])
            .unwrap()
            .spec;
        assert_eq!(spec.rate_hz, 60.0);
        assert_eq!(spec.terrain[1].size, Some([5.0, 2.0, 3.0]));
        assert_eq!(spec.engine, EngineName::Rapier);
        let error = load(BASE, &["rat_hz=60"]).unwrap_err().to_string();
        assert!(error.contains("rate_hz"), "{error}");
        let error = load(BASE, &["rate_hz=-1"]).unwrap_err().to_string();
        assert!(error.contains("`rate_hz`") && error.contains("-1"), "{error}");
    }
}
