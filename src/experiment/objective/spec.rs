//! What an experiment file says about its score: terms, and scenarios under which they are measured.

use serde::{Deserialize, Serialize};

use super::quantity::find_measure;
use crate::experiment::spec::Spec;
use crate::experiment::validate::{Check, not_negative, positive, problem};

/// What is wished of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalSpec {
    #[default]
    Minimize,
    Maximize,
}

/// How a deviation becomes a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeSpec {
    #[default]
    Absolute,
    Squared,
}

/// In which runs a term counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenSpec {
    #[default]
    Always,
    /// Only if nobody fell.
    Upright,
    /// Only if somebody fell.
    Fallen,
}

/// One term of a cost: `weight · shape(deviation / per)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermSpec {
    /// Its name in `docs/experiment_format.md`.
    pub measure: String,
    #[serde(default = "one")]
    pub weight: f64,
    /// The deviation is the measure, or minus the measure. `minimize` if neither this nor one of the next three is there.
    pub goal: Option<GoalSpec>,
    /// The deviation is the distance from this.
    pub target: Option<f64>,
    /// The deviation is what the measure lacks.
    pub at_least: Option<f64>,
    /// The deviation is what the measure exceeds.
    pub at_most: Option<f64>,
    #[serde(default)]
    pub shape: ShapeSpec,
    /// In the unit of the measure.
    #[serde(default = "one")]
    pub per: f64,
    #[serde(default)]
    pub when: WhenSpec,
    /// Beginning and end of the time that is measured, seconds; the whole run if absent.
    pub from_s: Option<f64>,
    pub to_s: Option<f64>,
    /// Whose; the first if absent.
    pub character: Option<String>,
    /// For measures of props; the first if absent.
    pub prop: Option<String>,
}

/// One of several circumstances in which an experiment is run to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSpec {
    pub name: String,
    /// Of its cost in the mean.
    #[serde(default = "one")]
    pub weight: f64,
    /// Run once per seed; the experiment's seed if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    /// What differs from the experiment, under its keys.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub set: toml::Table,
}

/// How the costs of several scenarios make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CombineSpec {
    /// Weighted mean.
    #[default]
    Mean,
    /// The largest; weights do not matter.
    Worst,
}

impl CombineSpec {
    pub(crate) fn is_mean(&self) -> bool {
        *self == CombineSpec::Mean
    }
}

fn one() -> f64 {
    1.0
}

impl TermSpec {
    /// Checks all that needs no other file; `spec` is the experiment it stands in.
    pub(crate) fn validate(&self, key: &str, spec: &Spec) -> Check {
        let key = |name: &str| format!("{key}.{name}");
        let measure = match find_measure(&self.measure) {
            Ok(measure) => measure,
            Err(message) => return problem(key("measure"), message),
        };
        not_negative(key("weight"), self.weight)?;
        positive(key("per"), self.per)?;
        let wishes = [
            ("goal", self.goal.is_some()),
            ("target", self.target.is_some()),
            ("at_least", self.at_least.is_some()),
            ("at_most", self.at_most.is_some()),
        ];
        let written: Vec<&str> = wishes.iter().filter(|w| w.1).map(|w| w.0).collect();
        if let [first, second, ..] = written[..] {
            return problem(key(second), format!("there is `{first}` too; write one of them"));
        }
        for (name, value) in [
            ("target", self.target),
            ("at_least", self.at_least),
            ("at_most", self.at_most),
        ] {
            if let Some(value) = value.filter(|v| !v.is_finite()) {
                return problem(key(name), format!("is {value:?}; expected a finite number"));
            }
        }
        if self.goal == Some(GoalSpec::Maximize) && self.shape == ShapeSpec::Squared {
            return problem(
                key("shape"),
                "a square has no largest value; use `target` or `at_least`, or the shape \"absolute\"",
            );
        }
        if !measure.windowed() {
            for (name, value) in [("from_s", self.from_s), ("to_s", self.to_s)] {
                if value.is_some() {
                    return problem(key(name), format!("{} is about whole runs", self.measure));
                }
            }
        }
        if let Some(from) = self.from_s {
            not_negative(key("from_s"), from)?;
            if from >= spec.duration_s {
                return problem(
                    key("from_s"),
                    format!("is {from}; the experiment ends at {} s", spec.duration_s),
                );
            }
        }
        if let Some(to) = self.to_s {
            let from = self.from_s.unwrap_or(0.0);
            if to.is_nan() || to <= from {
                return problem(key("to_s"), format!("is {to}; expected more than {from} s"));
            }
        }
        match (measure.of_prop(), &self.prop, &self.character) {
            (false, Some(_), _) => problem(key("prop"), format!("{} is about a character", self.measure)),
            (true, _, _) if spec.props.is_empty() => problem(
                key("measure"),
                format!("{} needs a prop, and there is none", self.measure),
            ),
            _ => Ok(()),
        }
    }
}

impl Spec {
    pub(crate) fn validate_score(&self) -> Check {
        for (i, term) in self.objective.iter().enumerate() {
            term.validate(&format!("objective[{i}]"), self)?;
        }
        for (i, scenario) in self.scenarios.iter().enumerate() {
            let key = |name: &str| format!("scenarios[{i}].{name}");
            if scenario.name.is_empty() {
                return problem(key("name"), "is empty");
            }
            if self.scenarios[..i].iter().any(|s| s.name == scenario.name) {
                return problem(
                    key("name"),
                    format!(
                        "two scenarios are called \"{}\"; give each a name of its own",
                        scenario.name
                    ),
                );
            }
            positive(key("weight"), scenario.weight)?;
            if let Some(seed) = scenario.seeds.iter().find(|s| **s > i64::MAX as u64) {
                return problem(key("seeds"), format!("holds {seed}; expected less than 2^63"));
            }
            for word in ["scenarios", "objective", "combine", "format", "name"] {
                if let Some(found) = scenario.set.keys().find(|k| k.split('.').next() == Some(word)) {
                    return problem(
                        key("set"),
                        format!("holds `{found}`, which is the same for all scenarios"),
                    );
                }
            }
        }
        Ok(())
    }
}
