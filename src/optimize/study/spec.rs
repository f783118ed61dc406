//! The study file: which experiment, which of its numbers, what is good, and how long to search.
//!
//! `docs/study_format.md` is the reference for people; the keys stand here in the same order.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Table;

use super::setup::{Budget, Coordinate, Seeds, StudySetup, Validation};
use crate::experiment::{CombineSpec, ScenarioSpec, TermSpec};
use crate::files::{self, FileError};
use crate::optimize::cma::{NoiseSettings, Restarts, SearchSettings, Settings, StopSettings};
use crate::optimize::problem::{ParameterSpec, Problem, ProblemError, ProblemSpec};

/// Version of the format this program writes and reads.
pub const FORMAT: u32 = 1;

/// A whole study, or a sweep. Paths are relative to the file it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    pub format: u32,
    /// Called after its file if not given.
    pub name: Option<String>,
    /// Experiment file.
    pub experiment: PathBuf,
    /// How the costs of scenarios make one; as the experiment says if absent.
    pub combine: Option<CombineSpec>,
    /// Changes to the experiment, under its keys.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    pub set: Table,
    pub parameters: Vec<ParameterSpec>,
    /// In place of the experiment's, unless empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objective: Vec<TermSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioSpec>,
    pub early_stop: Option<EarlyStopSpec>,
    #[serde(default)]
    pub optimizer: OptimizerSpec,
    pub seeds: Option<SeedsSpec>,
    pub validation: Option<ValidationSpec>,
    #[serde(default)]
    pub budget: BudgetSpec,
    /// What `ambler sweep` does with the parameters.
    pub sweep: Option<SweepSpec>,
}

/// When an evaluation is given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyStopSpec {
    /// Of the costs of the generation before: beyond this quantile an evaluation is hopeless.
    #[serde(default = "one")]
    pub quantile: f64,
}

/// How CMA-ES goes about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerSpec {
    #[serde(default = "first")]
    pub seed: u64,
    /// Evaluations per generation; `4 + ⌊3 ln n⌋` if absent.
    pub population: Option<usize>,
    /// Factor on all scales.
    #[serde(default = "one")]
    pub sigma: f64,
    /// Whether bad candidates push the distribution away.
    #[serde(default = "yes")]
    pub active: bool,
    #[serde(default)]
    pub restarts: Restarts,
    /// How often the population is doubled at most.
    #[serde(default = "nine")]
    pub max_restarts: u32,
    /// Costs that differ by less count as equal.
    pub tol_fun: Option<f64>,
    /// Steps below this, in units of the scales, end a run.
    pub tol_x: Option<f64>,
    pub noise: Option<NoiseSpec>,
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        OptimizerSpec {
            seed: first(),
            population: None,
            sigma: one(),
            active: true,
            restarts: Restarts::None,
            max_restarts: nine(),
            tol_fun: None,
            tol_x: None,
            noise: None,
        }
    }
}

/// Evaluating again to tell differences from noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseSpec {
    /// Factor that the number of seeds per evaluation may reach.
    pub max_evaluations: Option<u32>,
    pub threshold: Option<f64>,
    pub growth: Option<f64>,
}

/// The seeds of an evaluation: one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedsSpec {
    /// So many new ones in every generation, the same for all its candidates.
    pub per_generation: Option<usize>,
    /// These, always.
    pub list: Option<Vec<u64>>,
}

/// The mean of the distribution on seeds of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationSpec {
    /// In the first and every so many generations, and at the end.
    #[serde(default = "ten")]
    pub every: u64,
    pub seeds: Vec<u64>,
}

/// When it is enough; whatever comes first.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    /// No generation begins after so many.
    pub evaluations: Option<u64>,
    /// Seconds since the command began, looked at after each generation.
    pub time_s: Option<f64>,
    /// A cost that is good enough.
    pub target: Option<f64>,
}

/// Which values of the parameters a sweep takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesignSpec {
    /// Every combination of the parameters' `levels` or `values`.
    Grid,
    /// Independent, uniform between the bounds.
    Random,
    /// One sample in each of as many slices of every parameter as there are samples.
    LatinHypercube,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    pub design: DesignSpec,
    /// Of random designs.
    pub samples: Option<usize>,
    #[serde(default = "first")]
    pub seed: u64,
}

fn one() -> f64 {
    1.0
}
fn first() -> u64 {
    1
}
fn yes() -> bool {
    true
}
fn nine() -> u32 {
    9
}
fn ten() -> u64 {
    10
}

/// A study file that has been read.
#[derive(Clone, Debug)]
pub struct LoadedStudy {
    pub spec: StudySpec,
    /// Folder that its paths are relative to.
    pub folder: PathBuf,
    /// What errors call it.
    pub source_name: String,
}

impl LoadedStudy {
    /// Reads a study file and checks what needs no other file.
    pub fn read(path: &Path) -> Result<LoadedStudy, ProblemError> {
        let text = files::read_text(path)?;
        let source_name = path.display().to_string();
        let mut spec: StudySpec = files::parse_toml(&text, &source_name).map_err(FileError::from)?;
        let stem = path
            .file_stem()
            .map_or_else(|| "study".into(), |s| s.to_string_lossy().into_owned());
        spec.name.get_or_insert(stem);
        let loaded = LoadedStudy {
            spec,
            folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
            source_name,
        };
        loaded.check()?;
        Ok(loaded)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.spec.name.as_deref().unwrap_or("study")
    }

    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> ProblemError {
        ProblemError::Value {
            source_name: self.source_name.clone(),
            key: key.to_string(),
            message: message.into(),
        }
    }

    fn check(&self) -> Result<(), ProblemError> {
        let spec = &self.spec;
        let error = |key: &str, message: String| Err(self.error(key, message));
        if spec.format != FORMAT {
            return error(
                "format",
                format!("is {}; this version of ambler reads format {FORMAT}", spec.format),
            );
        }
        let positive = |key: &str, value: Option<f64>| match value {
            Some(v) if !(v.is_finite() && v > 0.0) => error(key, format!("is {v:?}; expected a finite number above 0")),
            _ => Ok(()),
        };
        if let Some(early) = &spec.early_stop
            && !(early.quantile > 0.0 && early.quantile <= 1.0)
        {
            return error(
                "early_stop.quantile",
                format!("is {:?}; expected more than 0, at most 1", early.quantile),
            );
        }
        let o = &spec.optimizer;
        positive("optimizer.sigma", Some(o.sigma))?;
        for (key, value) in [("optimizer.tol_fun", o.tol_fun), ("optimizer.tol_x", o.tol_x)] {
            if value.is_some_and(|v| v.is_nan() || v < 0.0) {
                return error(key, format!("is {:?}; expected 0 or more", value.unwrap_or_default()));
            }
        }
        if let Some(population) = o.population.filter(|p| !(2..=100_000).contains(p)) {
            return error("optimizer.population", format!("is {population}; expected 2 to 100000"));
        }
        let largest = |key: &str, seeds: &[u64]| match seeds.iter().find(|s| **s > i64::MAX as u64) {
            Some(seed) => error(key, format!("holds {seed}; expected less than 2^63")),
            None => Ok(()),
        };
        largest("optimizer.seed", &[o.seed])?;
        if let Some(seeds) = &spec.seeds {
            match (seeds.per_generation, &seeds.list) {
                (Some(0), _) => return error("seeds.per_generation", "is 0; expected 1 or more".into()),
                (Some(_), None) => {}
                (None, Some(list)) if !list.is_empty() => largest("seeds.list", list)?,
                (None, Some(_)) => return error("seeds.list", "is empty".into()),
                _ => return error("seeds", "needs one of `per_generation` and `list`".into()),
            }
        }
        let renewed = spec.seeds.as_ref().is_some_and(|s| s.per_generation.is_some());
        if o.noise.is_some() && !renewed {
            return error(
                "optimizer.noise",
                "needs `seeds.per_generation`: with equal seeds a second evaluation equals the first".into(),
            );
        }
        if let Some(validation) = &spec.validation {
            if validation.every == 0 {
                return error("validation.every", "is 0; expected 1 or more generations".into());
            }
            if validation.seeds.is_empty() {
                return error("validation.seeds", "is empty; expected the seeds to validate on".into());
            }
            largest("validation.seeds", &validation.seeds)?;
        }
        if spec.budget.evaluations == Some(0) {
            return error("budget.evaluations", "is 0; expected 1 or more".into());
        }
        positive("budget.time_s", spec.budget.time_s)?;
        if spec.budget.target.is_some_and(|t| !t.is_finite()) {
            return error("budget.target", "is no finite number".into());
        }
        if let Some(sweep) = &spec.sweep {
            let random = sweep.design != DesignSpec::Grid;
            match (random, sweep.samples) {
                (true, None | Some(0)) => {
                    return error(
                        "sweep.samples",
                        "is missing; random designs need to know how many".into(),
                    );
                }
                (false, Some(_)) => {
                    return error(
                        "sweep.samples",
                        "belongs to random designs; a grid has the `levels` or `values` of its parameters".into(),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The experiment with its parameters.
    pub fn problem(&self) -> Result<Problem, ProblemError> {
        let spec = ProblemSpec {
            experiment: self.spec.experiment.clone(),
            set: self.spec.set.clone(),
            parameters: self.spec.parameters.clone(),
            objective: self.spec.objective.clone(),
            scenarios: self.spec.scenarios.clone(),
            combine: self.spec.combine,
        };
        Problem::new(&spec, &self.folder, &self.source_name)
    }

    /// What the search has to know.
    pub fn setup(&self, problem: &Problem) -> Result<StudySetup, ProblemError> {
        let o = &self.spec.optimizer;
        let default = StopSettings::default();
        let setup = StudySetup {
            name: self.name().to_string(),
            coordinates: (problem.places().iter().zip(problem.ranges()))
                .map(|(place, range)| Coordinate {
                    name: place.name.clone(),
                    integer: place.integer,
                    range: range.clone(),
                })
                .collect(),
            search: SearchSettings {
                cma: Settings {
                    seed: o.seed,
                    population: o.population,
                    active: o.active,
                    stops: StopSettings {
                        tol_fun: o.tol_fun.unwrap_or(default.tol_fun),
                        tol_x: o.tol_x.unwrap_or(default.tol_x),
                        ..default
                    },
                },
                sigma: o.sigma,
                restarts: o.restarts,
                max_restarts: o.max_restarts,
                noise: o.noise.as_ref().map(|n| {
                    let default = NoiseSettings::default();
                    NoiseSettings {
                        max_evaluations: n.max_evaluations.unwrap_or(default.max_evaluations),
                        threshold: n.threshold.unwrap_or(default.threshold),
                        growth: n.growth.unwrap_or(default.growth),
                    }
                }),
            },
            hopeless_quantile: self.spec.early_stop.as_ref().map(|e| e.quantile),
            seeds: match &self.spec.seeds {
                None => Seeds::Own,
                Some(SeedsSpec { list: Some(list), .. }) => Seeds::List(list.clone()),
                Some(seeds) => Seeds::PerGeneration(seeds.per_generation.unwrap_or(1)),
            },
            validation: self.spec.validation.as_ref().map(|v| Validation {
                every: v.every,
                seeds: v.seeds.clone(),
            }),
            budget: Budget {
                evaluations: self.spec.budget.evaluations,
                time_s: self.spec.budget.time_s,
                target: self.spec.budget.target,
            },
        };
        setup.check().map_err(|e| self.error("parameters", e))?;
        Ok(setup)
    }
}
