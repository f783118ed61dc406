//! `summary.json` of a study: what it came to. Nothing in it depends on the clock or on threads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::optimize::evaluation::{Evaluation, Outcome};

/// The best evaluation so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    pub cost: f64,
    /// Its number in the log, from 1.
    pub evaluation: u64,
    pub generation: u64,
    pub parameters: Vec<f64>,
    pub seeds: Vec<u64>,
    pub measures: Vec<f64>,
    /// Whether it is the mean of a distribution on the seeds of the validation.
    pub validated: bool,
}

/// How often evaluations failed for a reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureCount {
    pub outcome: &'static str,
    pub reason: String,
    pub count: u64,
}

/// Kinds of reasons that are counted apart; more than these are counted together.
const MOST_REASONS: usize = 100;

/// How evaluations ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    outcomes: [u64; 5],
    reasons: BTreeMap<(u8, String), u64>,
}

impl Counts {
    pub fn add(&mut self, evaluation: &Evaluation) {
        let kind = evaluation.outcome as u8;
        self.outcomes[kind as usize] += 1;
        if evaluation.outcome.is_failure() {
            let mut key = (kind, evaluation.reason.clone().unwrap_or_default());
            if self.reasons.len() >= MOST_REASONS && !self.reasons.contains_key(&key) {
                key.1 = "other reasons".into();
            }
            *self.reasons.entry(key).or_default() += 1;
        }
    }

    pub fn failures(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// If there were evaluations and all of them failed: that, in words.
    pub fn all_failed(&self) -> Option<String> {
        if self.total() == 0 || self.failures() < self.total() {
            return None;
        }
        let reasons = self.by_reason();
        let most = reasons.first()?;
        Some(format!(
            "all {} evaluations failed, {} of them {}: {}",
            self.total(),
            most.count,
            most.outcome,
            most.reason
        ))
    }

    pub fn total(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    fn by_outcome(&self) -> BTreeMap<&'static str, u64> {
        Outcome::ALL
            .iter()
            .map(|o| (o.name(), self.outcomes[*o as usize]))
            .collect()
    }

    fn by_reason(&self) -> Vec<FailureCount> {
        let mut all: Vec<FailureCount> = (self.reasons.iter())
            .map(|((kind, reason), count)| FailureCount {
                outcome: Outcome::ALL[*kind as usize].name(),
                reason: reason.clone(),
                count: *count,
            })
            .collect();
        all.sort_by_key(|f| std::cmp::Reverse(f.count));
        all
    }
}

/// What a study came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudySummary {
    pub format: u32,
    pub ambler_version: &'static str,
    pub name: String,
    /// `null` if nothing could be evaluated.
    pub best_cost: Option<f64>,
    pub best_evaluation: Option<u64>,
    /// Whether the best is a validated mean.
    pub validated: bool,
    pub evaluations: u64,
    pub generations: u64,
    pub restarts: u32,
    /// `target`, `budget`, `time`, `interrupt`, or a stop of CMA-ES.
    pub stopped_by: &'static str,
    pub failed: u64,
    pub outcomes: BTreeMap<&'static str, u64>,
    pub failures: Vec<FailureCount>,
    /// What has to be known before anything else, if there is such a thing: that every evaluation failed.
    pub message: Option<String>,
    /// Of the best evaluation.
    pub measures: BTreeMap<String, f64>,
    /// Of the best evaluation.
    pub parameters: BTreeMap<String, f64>,
}

impl StudySummary {
    pub(in crate::optimize) fn new(
        name: &str,
        best: Option<&Best>,
        counts: &Counts,
        measures: &[String],
        parameters: &[String],
    ) -> StudySummary {
        let table = |names: &[String], of: &dyn Fn(&Best) -> Vec<f64>| -> BTreeMap<String, f64> {
            let values = best.map(of).unwrap_or_default();
            names.iter().cloned().zip(values).collect()
        };
        StudySummary {
            format: super::spec::FORMAT,
            ambler_version: env!("CARGO_PKG_VERSION"),
            name: name.to_string(),
            best_cost: best.map(|b| b.cost),
            best_evaluation: best.map(|b| b.evaluation),
            validated: best.is_some_and(|b| b.validated),
            evaluations: counts.total(),
            generations: 0,
            restarts: 0,
            stopped_by: "interrupt",
            failed: counts.failures(),
            outcomes: counts.by_outcome(),
            failures: counts.by_reason(),
            message: counts.all_failed(),
            measures: table(measures, &|b| b.measures.clone()),
            parameters: table(parameters, &|b| b.parameters.clone()),
        }
    }

    /// As it stands in `summary.json`.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
        json.push('\n');
        json
    }
}
