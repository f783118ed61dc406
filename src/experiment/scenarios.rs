//! Several circumstances under which one experiment is run to be judged.
//!
//! In: an experiment with `[[scenarios]]`. Out: one experiment for each of them and each of its seeds, and one cost for all.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::folder::file_name;
use super::inputs::Inputs;
use super::load::LoadedSpec;
use super::objective::{CombineSpec, ScenarioSpec};
use super::overrides::{self, explain};
use super::spec::Spec;
use super::validate::Problem;

/// One experiment of several that make a score.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Empty for an experiment without scenarios and seeds.
    pub name: String,
    /// Of its run, inside of a folder for all.
    pub folder: String,
    /// Place among the `[[scenarios]]`, of which it is a run with one seed.
    pub place: usize,
    /// In the mean.
    pub weight: f64,
    pub loaded: LoadedSpec,
}

impl LoadedSpec {
    /// The experiments whose scores make the score of this one: one for each scenario and each seed. `seeds` take the place of
    /// those of the scenarios, unless it is empty.
    pub fn scenarios(&self, seeds: &[u64]) -> Result<Vec<Scenario>, ExperimentError> {
        let itself = [ScenarioSpec {
            name: String::new(),
            weight: 1.0,
            seeds: Vec::new(),
            set: toml::Table::new(),
        }];
        let specs = match self.spec.scenarios.is_empty() {
            true => &itself[..],
            false => &self.spec.scenarios,
        };
        let mut all: Vec<Scenario> = Vec::new();
        for (i, scenario) in specs.iter().enumerate() {
            let base = self.scenario_spec(scenario).map_err(|message| {
                self.error(Problem {
                    key: format!("scenarios[{i}].set"),
                    message,
                })
            })?;
            let own = if seeds.is_empty() { &scenario.seeds } else { seeds };
            let runs: Vec<Option<u64>> = match own.is_empty() {
                true => vec![None],
                false => own.iter().map(|s| Some(*s)).collect(),
            };
            for seed in &runs {
                let mut spec = base.clone();
                let mut name = scenario.name.clone();
                if let Some(seed) = seed {
                    spec.seed = *seed;
                    // a single seed needs no mention
                    if runs.len() > 1 {
                        name = format!("{name} seed {seed}").trim().to_string();
                    }
                }
                if !name.is_empty() {
                    spec.name = Some(format!("{}, {name}", spec.name.as_deref().unwrap_or("experiment")));
                }
                let mut folder = file_name(&name);
                while all.iter().any(|s| s.folder == folder) {
                    folder.push('_');
                }
                all.push(Scenario {
                    name,
                    folder,
                    place: i,
                    weight: scenario.weight / runs.len() as f64,
                    loaded: LoadedSpec {
                        spec,
                        folder: self.folder.clone(),
                        source_name: match scenario.name.is_empty() {
                            true => self.source_name.clone(),
                            false => format!("{}, scenario \"{}\"", self.source_name, scenario.name),
                        },
                        text: if scenario.set.is_empty() {
                            self.text.clone()
                        } else {
                            None
                        },
                    },
                });
            }
        }
        Ok(all)
    }

    fn scenario_spec(&self, scenario: &ScenarioSpec) -> Result<Spec, String> {
        let mut spec = self.spec.clone();
        spec.scenarios.clear();
        if !scenario.set.is_empty() {
            let mut table = toml::Table::try_from(spec).map_err(|e| e.to_string())?;
            overrides::merge(&mut table, &scenario.set)?;
            spec = table.try_into().map_err(|e: toml::de::Error| explain(e.message()))?;
        }
        spec.validate()
            .map_err(|p| format!("makes `{}` wrong: it {}", p.key, p.message))?;
        Ok(spec)
    }
}

/// The cost of several runs with their weights.
pub fn combine(costs: &[(f64, f64)], how: CombineSpec) -> f64 {
    match how {
        CombineSpec::Mean => {
            let weights = costs.iter().fold(0.0, |sum, c| sum + c.0);
            costs.iter().fold(0.0, |sum, c| sum + c.0 * c.1) / weights
        }
        CombineSpec::Worst => costs.iter().map(|c| c.1).fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Replaces every path to a file in changes of an experiment by that of its copy.
pub(crate) fn take_paths(set: &mut toml::Table, folder: &Path, inputs: &mut Inputs) {
    for (key, value) in set.iter_mut() {
        let last = key.rsplit('.').next().unwrap_or(key);
        match value {
            toml::Value::String(path) if matches!(last, "file" | "csv") => {
                let mut copy = PathBuf::from(&*path);
                inputs.take_path(folder, &mut copy);
                *path = copy.to_string_lossy().into_owned();
            }
            _ => take_paths_of(value, folder, inputs),
        }
    }
}

fn take_paths_of(value: &mut toml::Value, folder: &Path, inputs: &mut Inputs) {
    match value {
        toml::Value::Table(table) => take_paths(table, folder, inputs),
        toml::Value::Array(array) => array.iter_mut().for_each(|v| take_paths_of(v, folder, inputs)),
        _ => {}
    }
}
