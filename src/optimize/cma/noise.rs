//! Noise: telling it from differences by evaluating some points again.
//!
//! N. Hansen, A. Niederberger, L. Guzzella, P. Koumoutsakos, "A method for handling uncertainty in evolutionary optimization with an
//! application to feedback control of combustion", IEEE Trans. Evol. Comp. 13(1), 2009 (UH-CMA-ES): if a second evaluation changes the ranks
//! by more than chance would, every point is evaluated more often, and when that has reached its limit, steps are made longer.

use serde::{Deserialize, Serialize};

use super::settings::CmaError;
use crate::math::random;

/// How noise is treated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseSettings {
    /// Evaluations per point at most.
    pub max_evaluations: u32,
    /// The paper's θ: the quantile (of a half) of rank changes that is still taken for chance; smaller tolerates less.
    pub threshold: f64,
    /// Factor on the evaluations per point when there is too much noise, and its inverse when there is not.
    pub growth: f64,
}

impl Default for NoiseSettings {
    fn default() -> Self {
        NoiseSettings {
            max_evaluations: 10,
            threshold: 0.2,
            growth: 1.5,
        }
    }
}

impl NoiseSettings {
    pub(super) fn validate(&self) -> Result<(), CmaError> {
        let value = |what: &str, value: f64, expected: &str| CmaError::Value {
            what: what.into(),
            value,
            expected: expected.into(),
        };
        if self.max_evaluations == 0 {
            return Err(value("max_evaluations", 0.0, "1 or more"));
        }
        if !(self.threshold > 0.0 && self.threshold < 1.0) {
            return Err(value("threshold", self.threshold, "a number between 0 and 1"));
        }
        if !(self.growth > 1.0 && self.growth <= 10.0) {
            return Err(value("growth", self.growth, "more than 1, at most 10"));
        }
        Ok(())
    }
}

/// Stream of the random numbers that decide how many points are evaluated again.
const STREAM: u64 = 1 << 62;

/// What is known of the noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Noise {
    settings: NoiseSettings,
    /// Not rounded.
    evaluations: f64,
    /// The last generation's measure of noise: positive if there is too much.
    uncertainty: f64,
}

impl Noise {
    pub fn new(settings: &NoiseSettings) -> Noise {
        Noise {
            settings: settings.clone(),
            evaluations: 1.0,
            uncertainty: 0.0,
        }
    }

    pub fn evaluations(&self) -> u32 {
        self.evaluations.round() as u32
    }

    pub fn uncertainty(&self) -> f64 {
        self.uncertainty
    }

    /// How many of a generation's points are evaluated again: the first ones, which are as random as any.
    pub fn count(&self, population: usize, seed: u64, generation: u64) -> usize {
        let share = (0.1_f64).max(2.0 / population as f64) * population as f64;
        let chance = random::uniform(seed, STREAM, generation) < share.fract();
        (share as usize + usize::from(chance)).min(population)
    }

    /// Compares costs with those of the second time (of the first points) and returns the factor on the step size that the
    /// noise asks for; `costs` become the means of both.
    pub fn compare(&mut self, costs: &mut [f64], again: &[f64], n: usize) -> f64 {
        let mut second = costs.to_vec();
        second[..again.len()].copy_from_slice(again);
        // ranks among all values of both times; equal ones in order
        let all: Vec<f64> = costs.iter().chain(&second).copied().collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| all[*a].total_cmp(&all[*b]).then(a.cmp(b)));
        let mut rank = vec![0.0; all.len()];
        for (r, i) in order.iter().enumerate() {
            rank[*i] = (r + 1) as f64;
        }
        let population = costs.len();
        let mut sum = 0.0;
        for i in 0..again.len() {
            let (first, other) = (rank[i], rank[population + i]);
            // the two ranks cannot be equal, so one place of difference is none
            let change = (other - first).abs() - 1.0;
            let limit = |rank: f64, above: bool| self.limit(rank - f64::from(u8::from(above)), population);
            sum += 2.0 * change - limit(other, other > first) - limit(first, first > other);
        }
        self.uncertainty = sum / again.len().max(1) as f64;
        for (cost, again) in costs.iter_mut().zip(again) {
            // halves first: a sum of large costs would not be finite
            *cost = 0.5 * *cost + 0.5 * again;
        }
        let most = f64::from(self.settings.max_evaluations);
        if self.uncertainty <= 0.0 {
            self.evaluations = (self.evaluations / self.settings.growth).max(1.0);
            return 1.0;
        }
        if self.evaluations < most {
            self.evaluations = (self.evaluations * self.settings.growth).min(most);
            return 1.0;
        }
        1.0 + 2.0 / (n as f64 + 10.0)
    }

    /// The rank change of a point of this rank that chance explains: a quantile of the distances to all ranks.
    fn limit(&self, rank: f64, population: usize) -> f64 {
        let mut distances: Vec<f64> = (1..2 * population).map(|r| (r as f64 - rank).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let quantile = 0.5 * self.settings.threshold;
        let at = quantile * (distances.len() - 1) as f64;
        let (below, share) = (at as usize, at.fract());
        let above = (below + 1).min(distances.len() - 1);
        distances[below] * (1.0 - share) + distances[above] * share
    }
}
