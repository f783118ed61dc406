//! An experiment with parameters, as a function to optimise.
//!
//! In: an experiment and the numbers of it that may change ([`ProblemSpec`]). Out: for values of these numbers the
//! experiment that they make ([`Problem::experiment`]), its text, and what it is worth ([`Evaluator`]).
//!
//! ```text
//! values → experiment table → one experiment per scenario and seed → runs → scores → cost
//! ```

mod address;
mod error;
mod spec;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use address::{Place, nine_digits};
pub use error::ProblemError;
use serde::{Deserialize, Serialize};
pub use spec::{ParameterSpec, Paths};
use toml::Table;

use super::evaluation::{Evaluation, Evaluator, Outcome, Request};
use crate::experiment::overrides::{self, explain};
use crate::experiment::{
    CombineSpec, ExperimentError, InputFile, Judge, LoadedSpec, Prepared, RunOptions, Scenario, ScenarioSpec,
    Simulation, Spec, StoppedBy, TermSpec, combine, controller_parameters, copy_inputs, find_parameter, run,
    term_names,
};
use crate::names::nearest;
use crate::world::StepError;

/// Cost of what could not be simulated at all; what could for a share of its time costs so much less, down to a half of it.
/// A score beyond that half counts as a failure too.
pub const FAILED: f64 = 2e12;

/// An experiment and the numbers of it that may change.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemSpec {
    /// Experiment file, relative to the file in which this stands.
    pub experiment: PathBuf,
    /// Changes to it, under its keys.
    pub set: Table,
    pub parameters: Vec<ParameterSpec>,
    /// In place of the experiment's, unless empty.
    pub objective: Vec<TermSpec>,
    pub scenarios: Vec<ScenarioSpec>,
    pub combine: Option<CombineSpec>,
}

/// What a search has to know of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub initial: f64,
    /// May be infinite.
    pub lower: f64,
    pub upper: f64,
    /// Standard deviation at the beginning, of the parameter or of its natural logarithm.
    pub scale: f64,
    /// Whether its logarithms are searched.
    pub log: bool,
}

/// An experiment with parameters.
pub struct Problem {
    /// The experiment with all its defaults, changes and the objective, before any parameter is written.
    base: Table,
    base_spec: LoadedSpec,
    /// Files that it names, for copies of it.
    inputs: Vec<InputFile>,
    /// The same experiment with paths to those copies.
    portable: Table,
    /// Folder that the paths of `base` are relative to.
    folder: PathBuf,
    source_name: String,
    places: Vec<Place>,
    of_spec: Vec<usize>,
    ranges: Vec<Range>,
    measures: Vec<String>,
    combine: CombineSpec,
    /// Per scenario: what its cost cannot be below, whatever happens.
    least: Vec<f64>,
    warnings: Vec<String>,
    /// Where controllers take the parameters while they act, if they take all of them: parameter, character, path.
    of_controllers: Option<Vec<(usize, usize, String)>>,
    /// Experiments in which only those have to be written, by scenario and seed.
    ready: Mutex<BTreeMap<(usize, u64), Arc<Prepared>>>,
}

/// Experiments that are kept ready at most: with new seeds in every generation old ones are not asked for again.
const MOST_READY: usize = 256;

impl Problem {
    /// Reads the experiment and tries it with the initial values. `folder` is that of the file called `source_name`, in which
    /// `spec` stands.
    pub fn new(spec: &ProblemSpec, folder: &Path, source_name: &str) -> Result<Problem, ProblemError> {
        let at = |key: &str, message: String| ProblemError::Value {
            source_name: source_name.to_string(),
            key: key.to_string(),
            message,
        };
        let path = folder.join(&spec.experiment);
        let loaded = LoadedSpec::read(&path, &[])?;
        let mut base = Table::try_from(&loaded.spec).map_err(|e| at("experiment", e.to_string()))?;
        overrides::merge(&mut base, &spec.set).map_err(|e| at("set", e))?;
        let mut changed = spec_of(&base).map_err(|e| at("set", e))?;
        if !spec.objective.is_empty() {
            changed.objective.clone_from(&spec.objective);
        }
        if !spec.scenarios.is_empty() {
            changed.scenarios.clone_from(&spec.scenarios);
        }
        changed.combine = spec.combine.unwrap_or(changed.combine);
        if changed.objective.is_empty() {
            return Err(at(
                "objective",
                "is missing; write [[objective]] tables here or in the experiment, with a `measure` each".into(),
            ));
        }
        let base = Table::try_from(&changed).map_err(|e| at("experiment", e.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let combine = changed.combine;
        let measures = term_names(&changed.objective);
        let (portable, inputs) = copy_inputs(&changed, &folder);
        let portable = Table::try_from(&portable).map_err(|e| at("experiment", e.to_string()))?;
        let base_spec = LoadedSpec {
            spec: changed.clone(),
            folder: folder.clone(),
            source_name: path.display().to_string(),
            text: None,
        };
        let mut problem = Problem {
            base,
            base_spec,
            inputs,
            portable,
            folder,
            source_name: path.display().to_string(),
            places: Vec::new(),
            of_spec: Vec::new(),
            ranges: Vec::new(),
            measures,
            combine,
            least: Vec::new(),
            warnings: Vec::new(),
            of_controllers: None,
            ready: Mutex::default(),
        };
        if spec.parameters.is_empty() {
            return Err(at(
                "parameters",
                "are missing; write [[parameters]] tables, with a `path` each".into(),
            ));
        }
        // what controllers do by default is written nowhere
        let prepared = Prepared::new(&problem.loaded(changed))?;
        let defaults = controller_parameters(&prepared);
        problem.warnings.clone_from(&prepared.warnings);
        for (i, parameter) in spec.parameters.iter().enumerate() {
            let key = format!("parameters[{i}]");
            let places = address::places(parameter, &problem.base).map_err(|e| at(&format!("{key}.path"), e))?;
            for place in places {
                if problem.places.iter().any(|p| p.name == place.name) {
                    let message = format!(
                        "two parameters are called \"{}\"; give each a `name` of its own",
                        place.name
                    );
                    return Err(at(&format!("{key}.name"), message));
                }
                let written = address::written(&place, &problem.base)
                    .or_else(|| defaults.iter().find(|d| d.path == place.paths[0]).map(|d| d.value));
                // alone, so that a mistake has a name
                let mut table = problem.base.clone();
                (place.write(&mut table, parameter.initial.or(written).unwrap_or(1.0)))
                    .and_then(|()| Spec::deserialize(table).map(|_| ()).map_err(|e| explain(e.message())))
                    .map_err(|e| at(&format!("{key}.path"), format!("`{}`: {e}", place.paths.join("`, `"))))?;
                let range = range(parameter, written).map_err(|(name, e)| {
                    let known = defaults.iter().map(|d| d.path.as_str());
                    let meant = match (written.or(parameter.initial), nearest(&place.paths[0], known)) {
                        (None, Some(meant)) => format!("; did you mean `{meant}`?"),
                        _ => String::new(),
                    };
                    at(&format!("{key}.{name}"), e + &meant)
                })?;
                problem.places.push(place);
                problem.of_spec.push(i);
                problem.ranges.push(range);
            }
        }
        problem.of_controllers = problem.find_controllers(&prepared);
        let initial: Vec<f64> = problem.ranges.iter().map(|r| r.initial).collect();
        // the experiment's own seeds, and one of each scenario for what its cost cannot be below, which depends on no seed
        for scenario in problem.experiment(&initial)?.scenarios(&[])? {
            Prepared::new(&scenario.loaded)?;
        }
        for scenario in problem.experiment(&initial)?.scenarios(&[0])? {
            let prepared = Prepared::new(&scenario.loaded)?;
            let judge = Judge::new(&prepared, &Simulation::new(&prepared), None);
            problem.least.push(judge.least());
        }
        Ok(problem)
    }

    /// Where the parameters stand.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// In the order of the places.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// What looks wrong with the experiment but can be run.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// For each parameter the table of the study file that it comes from.
    pub fn of_spec(&self) -> &[usize] {
        &self.of_spec
    }

    /// Files to copy beside an experiment's text, into the folder `inputs`.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    fn loaded(&self, spec: Spec) -> LoadedSpec {
        LoadedSpec {
            spec,
            folder: self.folder.clone(),
            source_name: self.source_name.clone(),
            text: None,
        }
    }

    /// The experiment that `values` of the parameters make; they are rounded to what a file says of them.
    pub fn experiment(&self, values: &[f64]) -> Result<LoadedSpec, ExperimentError> {
        let table = self.write(&self.base, values).map_err(|(key, e)| self.error(key, e))?;
        let spec = spec_of(&table).map_err(|e| self.error("parameters".into(), e))?;
        Ok(self.loaded(spec))
    }

    fn error(&self, key: String, message: String) -> ExperimentError {
        ExperimentError::Value {
            source_name: self.source_name.clone(),
            key,
            message,
        }
    }

    /// Whether there is one finite value for each parameter.
    fn check_values(&self, values: &[f64]) -> Result<(), (String, String)> {
        if values.len() != self.places.len() {
            let message = format!("there are {} values for {} parameters", values.len(), self.places.len());
            return Err(("parameters".into(), message));
        }
        match self.places.iter().zip(values).find(|(_, v)| !v.is_finite()) {
            Some((place, value)) => Err((place.name.clone(), format!("is {value:?}; expected a finite number"))),
            None => Ok(()),
        }
    }

    fn write(&self, base: &Table, values: &[f64]) -> Result<Table, (String, String)> {
        self.check_values(values)?;
        let mut table = base.clone();
        for (place, value) in self.places.iter().zip(values) {
            place
                .write(&mut table, place.round(*value))
                .map_err(|e| (place.name.clone(), e))?;
        }
        Ok(table)
    }

    /// The experiment before any parameter is written, for a folder that has copies of its files in `inputs`.
    pub fn base_text(&self) -> Result<String, ProblemError> {
        Ok(toml::to_string(&self.portable)?)
    }

    /// A complete experiment for a folder that has copies of its files in `inputs`: these values, these seeds for every scenario
    /// (its own if there are none), and a comment of any number of lines.
    pub fn experiment_text(&self, values: &[f64], seeds: &[u64], comment: &str) -> Result<String, ProblemError> {
        let table = self
            .write(&self.portable, values)
            .map_err(|(key, message)| ProblemError::Value {
                source_name: self.source_name.clone(),
                key,
                message,
            })?;
        let mut spec: Spec = table.try_into().map_err(|e: toml::de::Error| ProblemError::Value {
            source_name: self.source_name.clone(),
            key: "parameters".into(),
            message: explain(e.message()),
        })?;
        if !seeds.is_empty() {
            if spec.scenarios.is_empty() {
                spec.scenarios.push(ScenarioSpec {
                    name: "run".into(),
                    weight: 1.0,
                    seeds: Vec::new(),
                    set: Table::new(),
                });
            }
            for scenario in &mut spec.scenarios {
                scenario.seeds = seeds.to_vec();
            }
        }
        let mut text: String = comment
            .lines()
            .map(|line| format!("# {line}").trim_end().to_string() + "\n")
            .collect();
        text.push('\n');
        text.push_str(&toml::to_string(&spec)?);
        Ok(text)
    }
}

impl Problem {
    fn find_controllers(&self, prepared: &Prepared) -> Option<Vec<(usize, usize, String)>> {
        let mut all = Vec::new();
        for (i, place) in self.places.iter().enumerate() {
            // a controller takes whole numbers as any other, so they need no file either
            for path in &place.paths {
                let (actor, own) = find_parameter(prepared, path)?;
                all.push((i, actor, own.to_string()));
            }
        }
        // what a scenario says of a controller counts more than the parameters, so there the file has to decide
        let apart = !prepared.spec.scenarios.iter().any(|s| speaks_of_controllers(&s.set));
        apart.then_some(all)
    }

    /// The runs that are an evaluation, their experiments still to be prepared.
    fn runs(&self, values: &[f64], seeds: &[u64]) -> Result<Vec<Scenario>, ExperimentError> {
        match self.of_controllers {
            // the parameters are given to the controllers
            Some(_) => self.base_spec.scenarios(seeds),
            None => self.experiment(values)?.scenarios(seeds),
        }
    }

    fn prepare(&self, scenario: &Scenario, values: &[f64]) -> Result<Prepared, ExperimentError> {
        let Some(parameters) = &self.of_controllers else {
            return Prepared::new(&scenario.loaded);
        };
        let key = (scenario.place, scenario.loaded.spec.seed);
        let found = self.lock_ready().get(&key).cloned();
        let ready = match found {
            Some(ready) => ready,
            None => {
                let new = Arc::new(Prepared::new(&scenario.loaded)?);
                let mut ready = self.lock_ready();
                if ready.len() >= MOST_READY {
                    ready.clear();
                }
                ready.insert(key, new.clone());
                new
            }
        };
        let set = parameters
            .iter()
            .map(|(i, actor, path)| (*actor, path.as_str(), self.places[*i].round(values[*i])));
        match ready.with_parameters(set) {
            Some(prepared) => Ok(prepared),
            // the long way says what is wrong
            None => {
                let all = self.experiment(values)?.scenarios(&[scenario.loaded.spec.seed])?;
                let written = all.into_iter().find(|s| s.place == scenario.place);
                let lost = || self.error("parameters".into(), "are refused by a controller".into());
                Prepared::new(&written.ok_or_else(lost)?.loaded)
            }
        }
    }

    fn lock_ready(&self) -> MutexGuard<'_, BTreeMap<(usize, u64), Arc<Prepared>>> {
        // whole experiments are put in and taken out, so a panic elsewhere cannot have spoilt it
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether changes to an experiment reach into a controller.
fn speaks_of_controllers(set: &Table) -> bool {
    fn inside(value: &toml::Value) -> bool {
        match value {
            toml::Value::Table(table) => speaks_of_controllers(table),
            toml::Value::Array(array) => array.iter().any(inside),
            _ => false,
        }
    }
    let named = |key: &String| key.split('.').any(|k| matches!(k, "controller" | "characters"));
    set.iter().any(|(key, value)| named(key) || inside(value))
}

/// A checked experiment from its table.
fn spec_of(table: &Table) -> Result<Spec, String> {
    let spec: Spec = table
        .clone()
        .try_into()
        .map_err(|e: toml::de::Error| explain(e.message()))?;
    spec.check().map(|()| spec)
}

fn range(spec: &ParameterSpec, written: Option<f64>) -> Result<Range, (&'static str, String)> {
    let [lower, upper] = spec.bounds.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
    if lower.is_nan() || upper.is_nan() || lower >= upper {
        return Err((
            "bounds",
            format!("are {lower:?} and {upper:?}; expected a smaller and a larger number"),
        ));
    }
    let initial = match spec.initial.or(written) {
        Some(initial) => initial,
        None => {
            let message = "is missing, and the experiment does not say what it is".to_string();
            return Err(("initial", message));
        }
    };
    if !initial.is_finite() || initial < lower || initial > upper {
        let whose = if spec.initial.is_some() {
            ""
        } else {
            " in the experiment"
        };
        return Err((
            "initial",
            format!("is {initial:?}{whose}; expected {lower:?} to {upper:?}"),
        ));
    }
    if spec.log && (initial <= 0.0 || (spec.bounds.is_some() && lower <= 0.0)) {
        return Err(("log", "needs an initial value and bounds above 0".into()));
    }
    let finite = lower.is_finite() && upper.is_finite();
    let scale = match (spec.scale, finite) {
        (Some(scale), _) if scale.is_finite() && scale > 0.0 => scale,
        (Some(scale), _) => return Err(("scale", format!("is {scale:?}; expected a finite number above 0"))),
        (None, true) if spec.log => (libm::log(upper) - libm::log(lower)) / 5.0,
        (None, true) => (upper - lower) / 5.0,
        // a sweep over listed values asks for no scale
        (None, false) if spec.values.is_some() => 1.0,
        (None, false) => {
            return Err((
                "scale",
                "is missing; it can be left out only beside finite `bounds`".into(),
            ));
        }
    };
    Ok(Range {
        initial,
        lower,
        upper,
        scale,
        log: spec.log,
    })
}

/// A message without its numbers: equal for all failures of one kind.
fn without_numbers(message: &str) -> String {
    let mut words = String::new();
    let mut in_number = false;
    for c in message.replace(['\n', '\r'], " ").chars() {
        let of_number = c.is_ascii_digit() || (in_number && matches!(c, '.' | 'e' | 'E' | '-' | '+' | '_'));
        if of_number && !in_number {
            words.push('#');
        }
        if !of_number {
            words.push(c);
        }
        in_number = of_number;
    }
    words
}

fn reason(error: &StepError) -> String {
    match error {
        StepError::Diverged { character, body, .. } => format!("diverged at {character}/{body}"),
        StepError::BadInput {
            character, body, what, ..
        } => format!(
            "{} of {character}/{body} out of range",
            what.split('[').next().unwrap_or(what)
        ),
    }
}

impl Evaluator for Problem {
    fn measures(&self) -> &[String] {
        &self.measures
    }

    fn evaluate(&self, parameters: &[f64], request: &Request) -> Option<Evaluation> {
        let nothing = vec![f64::NAN; self.measures.len()];
        let invalid = |error: ExperimentError, simulated_s: f64| Evaluation {
            cost: FAILED,
            measures: nothing.clone(),
            outcome: Outcome::Invalid,
            reason: Some(without_numbers(&error.to_string())),
            simulated_s,
        };
        if let Err((key, message)) = self.check_values(parameters) {
            return Some(invalid(self.error(key, message), 0.0));
        }
        let scenarios = match self.runs(parameters, request.seeds) {
            Ok(scenarios) => scenarios,
            Err(error) => return Some(invalid(error, 0.0)),
        };
        let planned: f64 = scenarios.iter().map(|s| s.loaded.spec.duration_s).sum();
        // what is known of the costs, certain ones first
        let mut costs: Vec<(f64, f64)> = scenarios.iter().map(|s| (s.weight, self.least[s.place])).collect();
        let mut outcome = Outcome::Completed;
        let mut simulated_s = 0.0;
        let mut sums = vec![0.0; self.measures.len()];
        let mut weights = 0.0;
        let mut cost_of_failure = None;
        for (i, scenario) in scenarios.iter().enumerate() {
            let prepared = match self.prepare(scenario, parameters) {
                Ok(prepared) => prepared,
                Err(error) => return Some(invalid(error, simulated_s)),
            };
            let options = RunOptions {
                stop: request.stop,
                give_up_above: request.hopeless_above.map(|h| self.limit(&costs, i, h)),
                ..RunOptions::default()
            };
            let result = run(&prepared, &options, &mut ());
            let summary = &result.summary;
            simulated_s += summary.duration_s;
            if summary.stopped_by == Some(StoppedBy::Interrupt) {
                return None;
            }
            // an experiment with an objective has a score
            let score = summary.score.as_ref()?;
            costs[i].1 = score.cost;
            if let Some(error) = &result.error {
                if matches!(error, StepError::BadInput { .. }) {
                    outcome = Outcome::Invalid;
                }
                cost_of_failure = Some((reason(error), simulated_s));
                break;
            }
            if score.cost.is_nan() || score.cost.abs() >= 0.5 * FAILED {
                cost_of_failure = Some((format!("the score is beyond {:e}", 0.5 * FAILED), simulated_s));
                break;
            }
            for (sum, term) in sums.iter_mut().zip(&score.terms) {
                *sum += scenario.weight * term.value;
            }
            weights += scenario.weight;
            if summary.fell_at_s.is_some() {
                outcome = outcome.max(Outcome::Fell);
            }
            let hopeless = request
                .hopeless_above
                .is_some_and(|h| combine(&costs, self.combine) > h);
            let given_up = summary.stopped_by == Some(StoppedBy::Hopeless);
            if given_up || (hopeless && i + 1 < scenarios.len()) {
                outcome = outcome.max(Outcome::Hopeless);
                break;
            }
        }
        let measures = sums
            .iter()
            .map(|s| if weights > 0.0 { s / weights } else { f64::NAN })
            .collect();
        Some(match cost_of_failure {
            Some((reason, time)) => Evaluation {
                // later failures are better, so that a search has a slope to follow
                cost: FAILED * (1.0 - 0.5 * (time / planned).min(1.0)),
                measures: nothing,
                outcome: outcome.max(Outcome::Diverged),
                reason: Some(reason),
                simulated_s,
            },
            None => Evaluation {
                cost: combine(&costs, self.combine),
                measures,
                outcome,
                reason: None,
                simulated_s,
            },
        })
    }
}

impl Problem {
    /// The cost of run `i` beyond which the whole is certain to cost more than `hopeless`.
    fn limit(&self, costs: &[(f64, f64)], i: usize, hopeless: f64) -> f64 {
        match self.combine {
            CombineSpec::Worst => hopeless,
            CombineSpec::Mean => {
                let weights: f64 = costs.iter().map(|c| c.0).sum();
                let others: f64 = (costs.iter().enumerate())
                    .filter(|(k, _)| *k != i)
                    .map(|(_, (weight, cost))| weight * cost)
                    .sum();
                (hopeless * weights - others) / costs[i].0
            }
        }
    }
}
