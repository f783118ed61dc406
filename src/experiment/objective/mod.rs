//! Scores: what makes a run good, as one number, smaller being better.
//!
//! In: the terms of an experiment ([`TermSpec`]) and a run of it, watched step by step ([`Judge`]). Out: a [`Score`].
//!
//! ```text
//! state after each step → quantity → meter (mean, largest, …) → value → term (goal, shape, weight) → Σ cost
//! ```

mod meter;
mod quantity;
pub(super) mod spec;

use serde::Serialize;

use super::measure::ActorMeasure;
use super::prepare::Prepared;
use super::run::Simulation;
use super::spec::Spec;
use super::summary::Summary;
use super::validate::Problem;
use meter::Meter;
pub use quantity::{MEASURES, MeasureKind};
use quantity::{Watched, find_measure, find_name, find_prop};
pub use spec::{CombineSpec, GoalSpec, ScenarioSpec, ShapeSpec, TermSpec, WhenSpec};

/// Steps between two looks at whether a run is hopeless.
const LOOK_EVERY: u64 = 16;

/// What one run was worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The sum of the terms; smaller is better.
    pub cost: f64,
    pub terms: Vec<TermScore>,
}

/// What one term added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermScore {
    /// The measure, with the character's, prop's and time's distinction where two terms have the same one.
    pub name: String,
    /// In the measure's unit.
    pub value: f64,
    pub cost: f64,
}

/// Names of the terms, each once: what tables call their columns.
pub fn term_names(terms: &[TermSpec]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for term in terms {
        let mut name = term.measure.clone();
        for more in term.character.iter().chain(&term.prop) {
            name = format!("{more}.{name}");
        }
        if let Some(from) = term.from_s {
            name = format!("{name}_from_{from}");
        }
        if let Some(to) = term.to_s {
            name = format!("{name}_to_{to}");
        }
        let mut unique = name.clone();
        let mut count = 2;
        while names.contains(&unique) {
            unique = format!("{name}_{count}");
            count += 1;
        }
        names.push(unique);
    }
    names
}

/// The characters and props that the terms are about.
fn find(terms: &[TermSpec], prepared: &Prepared) -> Result<Vec<(usize, Option<usize>)>, Problem> {
    let mut found = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        let at = |name: &str| format!("objective[{i}].{name}");
        let kind = find_measure(&term.measure).map_err(|message| Problem {
            key: at("measure"),
            message,
        })?;
        let character = match &term.character {
            Some(name) => {
                let names = prepared.actors.iter().map(|a| a.name.as_str());
                find_name("character", names, name).map_err(|message| Problem {
                    key: at("character"),
                    message,
                })?
            }
            None if prepared.actors.is_empty() => {
                return Err(Problem {
                    key: at("measure"),
                    message: "is measured on a character, and the experiment has none".into(),
                });
            }
            None => 0,
        };
        let prop = match kind.of_prop() {
            true => Some(
                find_prop(&prepared.prop_names, term.prop.as_deref()).map_err(|message| Problem {
                    key: at("prop"),
                    message,
                })?,
            ),
            false => None,
        };
        found.push((character, prop));
    }
    Ok(found)
}

/// Whether every character and prop that the terms name is there.
pub(super) fn check(prepared: &Prepared) -> Result<(), Problem> {
    find(&prepared.spec.objective, prepared).map(|_| ())
}

impl TermSpec {
    /// The term's cost for a value, where somebody `fell` or not.
    fn cost(&self, value: f64, fell: bool) -> f64 {
        if !self.counts(fell) {
            return 0.0;
        }
        let deviation = match (self.target, self.at_least, self.at_most) {
            (Some(target), _, _) => (value - target).abs(),
            (_, Some(least), _) => (least - value).max(0.0),
            (_, _, Some(most)) => (value - most).max(0.0),
            _ if self.goal == Some(GoalSpec::Maximize) => -value,
            _ => value,
        };
        self.shaped(deviation)
    }

    fn counts(&self, fell: bool) -> bool {
        match self.when {
            WhenSpec::Always => true,
            WhenSpec::Upright => !fell,
            WhenSpec::Fallen => fell,
        }
    }

    fn shaped(&self, deviation: f64) -> f64 {
        let x = deviation / self.per;
        self.weight
            * match self.shape {
                ShapeSpec::Absolute => x,
                ShapeSpec::Squared => x * x,
            }
    }

    /// The least that the term can cost if its value ends between `low` and `high`. `fell` is whether somebody fell already.
    fn least_cost(&self, [low, high]: [f64; 2], fell: bool) -> f64 {
        if self.weight == 0.0 || (fell && !self.counts(true)) {
            return 0.0;
        }
        let deviation = match (self.target, self.at_least, self.at_most) {
            (Some(target), _, _) => (low - target).max(target - high).max(0.0),
            (_, Some(least), _) => (least - high).max(0.0),
            (_, _, Some(most)) => (low - most).max(0.0),
            _ if self.goal == Some(GoalSpec::Maximize) => -high,
            _ if self.shape == ShapeSpec::Squared => low.max(-high).max(0.0),
            _ => low,
        };
        let cost = self.shaped(deviation);
        // it may still come to nothing if it depends on a fall that has not happened
        if self.when == WhenSpec::Always || fell {
            cost
        } else {
            cost.min(0.0)
        }
    }
}

/// Watches a run and says what it was worth.
pub struct Judge {
    terms: Vec<TermSpec>,
    names: Vec<String>,
    watched: Vec<Watched>,
    meters: Vec<Meter>,
    dt: f64,
    steps: u64,
    give_up_above: Option<f64>,
    least: f64,
    hopeless: bool,
}

impl Judge {
    /// For a run that has not begun. What the terms name has been found when the experiment was prepared. The run is hopeless
    /// when its cost is certain to be larger than `give_up_above`.
    pub fn new(prepared: &Prepared, simulation: &Simulation, give_up_above: Option<f64>) -> Judge {
        let spec = &prepared.spec;
        let mut watched: Vec<Watched> = Vec::new();
        let mut meters = Vec::new();
        for (term, (character, prop)) in spec
            .objective
            .iter()
            .zip(find(&spec.objective, prepared).unwrap_or_default())
        {
            let Ok(kind) = find_measure(&term.measure) else {
                continue;
            };
            let at = match watched.iter().position(|w| w.character == character && w.prop == prop) {
                Some(at) => at,
                None => {
                    watched.push(Watched::new(simulation, character, prop));
                    watched.len() - 1
                }
            };
            meters.push(Meter::new(kind, term, spec, at, &watched[at]));
        }
        let mut judge = Judge {
            terms: spec.objective.clone(),
            names: term_names(&spec.objective),
            watched,
            meters,
            dt: prepared.dt(),
            steps: 0,
            give_up_above,
            least: 0.0,
            hopeless: false,
        };
        judge.least = judge.least_cost(0.0, &|_| None);
        judge
    }

    /// What the cost of the run cannot be below, by what is known so far; minus infinity if there is no limit.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Whether the run was given up for that.
    pub fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    fn least_cost(&self, time: f64, fell_at: &dyn Fn(usize) -> Option<f64>) -> f64 {
        let term = |(term, meter): (&TermSpec, &Meter)| {
            let fell_at = fell_at(meter.character);
            term.least_cost(meter.range(time, fell_at), fell_at.is_some())
        };
        self.terms.iter().zip(&self.meters).map(term).sum()
    }

    /// Looks at what a step made; `measures` are those of the characters, up to now.
    pub(super) fn after_step(&mut self, simulation: &Simulation, measures: &[ActorMeasure]) {
        for watched in &mut self.watched {
            watched.advance(simulation, self.dt, self.steps == 0);
        }
        self.steps += 1;
        for meter in &mut self.meters {
            let watched = &self.watched[meter.watched];
            meter.after_step(simulation, watched, &measures[meter.character], self.dt);
        }
        if let Some(limit) = self.give_up_above
            && self.steps.is_multiple_of(LOOK_EVERY)
        {
            self.least = self.least_cost(simulation.engine.time(), &|c| measures[c].fell_at);
            self.hopeless = self.least > limit;
        }
    }

    /// The score of a run that is over; of a hopeless one the cost is what it cannot be below.
    pub fn score(&self, summary: &Summary) -> Score {
        let terms: Vec<TermScore> = (self.terms.iter().zip(&self.names).zip(&self.meters))
            .map(|((term, name), meter)| {
                let value = meter.value(summary);
                let fell = summary.characters[meter.character].fell_at_s.is_some();
                TermScore {
                    name: name.clone(),
                    value,
                    cost: term.cost(value, fell),
                }
            })
            .collect();
        Score {
            cost: match self.hopeless {
                true => self.least,
                // the sum of nothing would be -0
                false => terms.iter().fold(0.0, |sum, t| sum + t.cost),
            },
            terms,
        }
    }
}

impl Spec {
    /// Whether it says what makes a run good.
    pub fn has_score(&self) -> bool {
        !self.objective.is_empty()
    }
}
