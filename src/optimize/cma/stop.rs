//! When a run has come to its end.

use serde::{Deserialize, Serialize};

/// Why a run of CMA-ES ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A cost at or below the target was found.
    Target,
    /// All costs of the last generations lie within `tol_fun`.
    TolFun,
    /// The best costs of the last generations lie within `tol_fun_history`.
    TolFunHistory,
    /// Steps have become smaller than `tol_x` of their first size in every coordinate.
    TolX,
    /// Steps have grown beyond `tol_up_x` of their first size: the first scales were far too small, or there is no minimum.
    TolUpX,
    /// The covariance is so long and narrow that rounding decides.
    Condition,
    /// Neither the best nor the median cost has become better for long.
    Stagnation,
    /// A step along an axis of the distribution does not change the mean.
    NoEffectAxis,
    /// A step in a coordinate does not change the mean.
    NoEffectCoordinate,
    /// Nearly all points of a generation cost the same, twice in a row.
    Flat,
    /// Noise is larger than what evaluating again can undo, and steps have grown without bound.
    Noise,
}

impl Stop {
    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Target => "target",
            Stop::TolFun => "tol_fun",
            Stop::TolFunHistory => "tol_fun_history",
            Stop::TolX => "tol_x",
            Stop::TolUpX => "tol_up_x",
            Stop::Condition => "condition",
            Stop::Stagnation => "stagnation",
            Stop::NoEffectAxis => "no_effect_axis",
            Stop::NoEffectCoordinate => "no_effect_coordinate",
            Stop::Flat => "flat",
            Stop::Noise => "noise",
        }
    }

    /// What it means, for people.
    pub fn message(self) -> &'static str {
        match self {
            Stop::Target => "the target was reached",
            Stop::TolFun => "the costs of the last generations hardly differ",
            Stop::TolFunHistory => "the best costs of the last generations hardly differ",
            Stop::TolX => "the steps have become tiny",
            Stop::TolUpX => "the steps have grown a thousandfold: begin with larger scales",
            Stop::Condition => "the distribution has become too narrow for its length",
            Stop::Stagnation => "neither the best nor the median cost has improved for long",
            Stop::NoEffectAxis => "a step along an axis no longer changes the mean",
            Stop::NoEffectCoordinate => "a step in a coordinate no longer changes the mean",
            Stop::Flat => "nearly all points cost the same",
            Stop::Noise => "noise hides every difference",
        }
    }
}

/// Bounds of the stops; the defaults are those of the tutorial (section B.3) and of pycma.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopSettings {
    /// Stop at a cost at or below this.
    pub target: Option<f64>,
    /// In the unit of the cost.
    pub tol_fun: f64,
    /// In the unit of the cost.
    pub tol_fun_history: f64,
    /// In units of the first scales.
    pub tol_x: f64,
    /// In units of the first scales.
    pub tol_up_x: f64,
    pub condition: f64,
    pub stagnation: bool,
}

impl Default for StopSettings {
    fn default() -> Self {
        StopSettings {
            target: None,
            tol_fun: 1e-11,
            tol_fun_history: 1e-12,
            tol_x: 1e-11,
            tol_up_x: 1e3,
            condition: 1e14,
            stagnation: true,
        }
    }
}

/// Generations that are remembered at most.
const LONGEST: usize = 20_000;

/// Costs of the generations of a run.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    best: Vec<f64>,
    median: Vec<f64>,
    /// Of the last generation: largest minus smallest.
    range: f64,
    flat: u32,
}

impl History {
    /// Adds a generation; `sorted` holds its costs, smallest first, at least one.
    pub fn push(&mut self, sorted: &[f64]) {
        if self.best.len() == LONGEST {
            self.best.drain(..LONGEST / 10);
            self.median.drain(..LONGEST / 10);
        }
        self.best.push(sorted[0]);
        self.median.push(sorted[sorted.len() / 2]);
        self.range = sorted[sorted.len() - 1] - sorted[0];
        // as many equal ones as would be kept for the next mean and more
        let flat = sorted[0] == sorted[(sorted.len() * 3 / 4).min(sorted.len() - 1)];
        self.flat = if flat { self.flat + 1 } else { 0 };
    }

    /// Whether the costs say that nothing more will come; for `n` dimensions and `population` points.
    pub fn stop(&self, settings: &StopSettings, n: usize, population: usize) -> Option<Stop> {
        if settings
            .target
            .is_some_and(|t| self.best.last().is_some_and(|b| *b <= t))
        {
            return Some(Stop::Target);
        }
        let generations = self.best.len();
        let range = |values: &[f64]| {
            let (low, high) =
                (values.iter()).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            high - low
        };
        let window = 10 + (30.0 * n as f64 / population as f64).ceil() as usize;
        if generations >= window {
            let spread = range(&self.best[generations - window..]);
            if spread <= settings.tol_fun_history {
                return Some(Stop::TolFunHistory);
            }
            if spread <= settings.tol_fun && self.range <= settings.tol_fun {
                return Some(Stop::TolFun);
            }
        }
        if self.flat >= 2 {
            return Some(Stop::Flat);
        }
        let least = 120 + 30 * n / population;
        let window = (generations / 5).clamp(least, LONGEST);
        if settings.stagnation && generations >= window.max(2 * least) {
            let part = window * 3 / 10;
            let worse = |values: &[f64]| {
                let recent = &values[generations - window..];
                median(&recent[window - part..]) >= median(&recent[..part])
            };
            if worse(&self.best) && worse(&self.median) {
                return Some(Stop::Stagnation);
            }
        }
        None
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
