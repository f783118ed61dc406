//! `score.json`: what an experiment with an objective was worth, over all its scenarios.

use serde::Serialize;

use super::LoadedSpec;
use super::objective::{CombineSpec, Score};
use super::run::RunOutcome;
use super::scenarios::{Scenario, combine};

/// What one scenario was worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioScore {
    pub name: String,
    /// In the mean.
    pub weight: f64,
    /// Folder of its run, beside `score.json`.
    pub folder: String,
    pub fell_at_s: Option<f64>,
    /// Why it ended early, if a step could not be completed.
    pub error: Option<String>,
    pub state_hash: String,
    pub score: Score,
}

/// What an experiment was worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TotalScore {
    pub name: String,
    /// Smaller is better. Not there if a scenario could not be run to its end.
    pub cost: Option<f64>,
    pub combine: CombineSpec,
    pub scenarios: Vec<ScenarioScore>,
}

impl TotalScore {
    /// Nothing has run yet.
    pub fn new(loaded: &LoadedSpec) -> TotalScore {
        TotalScore {
            name: loaded.spec.name.clone().unwrap_or_default(),
            cost: None,
            combine: loaded.spec.combine,
            scenarios: Vec::new(),
        }
    }

    /// Adds what came of a scenario; `None` if its experiment has no objective.
    pub fn add(&mut self, scenario: &Scenario, outcome: &RunOutcome) -> Option<()> {
        let summary = &outcome.summary;
        self.scenarios.push(ScenarioScore {
            name: scenario.name.clone(),
            weight: scenario.weight,
            folder: scenario.folder.clone(),
            fell_at_s: summary.fell_at_s,
            error: summary.error.clone(),
            state_hash: summary.state_hash.clone(),
            score: summary.score.clone()?,
        });
        Some(())
    }

    /// Takes the costs together, when all scenarios have been added.
    pub fn finish(&mut self) {
        let whole = self.scenarios.iter().all(|s| s.error.is_none());
        let costs: Vec<(f64, f64)> = self.scenarios.iter().map(|s| (s.weight, s.score.cost)).collect();
        self.cost = (whole && !costs.is_empty()).then(|| combine(&costs, self.combine));
    }

    /// As it stands in `score.json`.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
        json.push('\n');
        json
    }
}
