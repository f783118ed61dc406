//! Runs of CMA-ES one after the other, until nothing more is to be expected.

use serde::{Deserialize, Serialize};

use super::noise::{Noise, NoiseSettings};
use super::run::Cma;
use super::settings::{CmaError, Settings, default_population};
use super::space::Space;
use super::stop::Stop;
use crate::math::random;

/// What happens when a run has ended without the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restarts {
    #[default]
    None,
    /// Another run from elsewhere with twice the population (A. Auger, N. Hansen, "A restart CMA evolution strategy with
    /// increasing population size", CEC 2005).
    Ipop,
    /// The same in turns with runs of small populations and steps, each kind with half of the evaluations (N. Hansen,
    /// "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO 2009).
    Bipop,
}

/// How a search goes about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSettings {
    pub cma: Settings,
    /// Factor on the scales of the space at the beginning.
    pub sigma: f64,
    pub restarts: Restarts,
    /// How often the population is doubled at most; small runs of BIPOP do not count.
    pub max_restarts: u32,
    /// How noise is treated; as if there were none if absent.
    pub noise: Option<NoiseSettings>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            cma: Settings::default(),
            sigma: 1.0,
            restarts: Restarts::None,
            max_restarts: 9,
            noise: None,
        }
    }
}

/// Points are at most this many in a generation, however often populations double.
const LARGEST_POPULATION: usize = 100_000;

/// Stream of the random numbers that place restarts.
const STREAM: u64 = 1 << 63;

/// A search: runs, restarts, noise. In every generation: [`Search::ask`], [`Search::tell`], and if
/// [`Search::reevaluations`] names any points, [`Search::tell_again`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    space: Space,
    settings: SearchSettings,
    run: Cma,
    restart: u32,
    generation: u64,
    evaluations: u64,
    run_evaluations: u64,
    best: Option<(Vec<f64>, f64)>,
    noise: Option<Noise>,
    /// Costs that wait for [`Search::tell_again`].
    waiting: Option<Vec<f64>>,
    ended: Vec<Stop>,
    stop: Option<Stop>,
    bipop: Bipop,
}

/// What the two kinds of runs of BIPOP have spent.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
struct Bipop {
    /// Restarts with large populations so far.
    doublings: u32,
    large: u64,
    small: u64,
    last_large: u64,
    is_small: bool,
}

impl Search {
    /// Begins at the space's initial point.
    pub fn new(space: &Space, settings: &SearchSettings) -> Result<Search, CmaError> {
        if let Some(noise) = &settings.noise {
            noise.validate()?;
        }
        Ok(Search {
            space: space.clone(),
            settings: settings.clone(),
            run: Cma::new(space, settings.sigma, &settings.cma, 0)?,
            restart: 0,
            generation: 0,
            evaluations: 0,
            run_evaluations: 0,
            best: None,
            noise: settings.noise.as_ref().map(Noise::new),
            waiting: None,
            ended: Vec::new(),
            stop: None,
            bipop: Bipop::default(),
        })
    }

    /// The run that is going on.
    pub fn run(&self) -> &Cma {
        &self.run
    }

    /// Runs that have been begun after the first one.
    pub fn restart(&self) -> u32 {
        self.restart
    }

    /// Generations told, over all runs.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Costs told, over all runs, second ones included.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The best point told so far and its cost.
    pub fn best(&self) -> Option<(&[f64], f64)> {
        self.best.as_ref().map(|(x, cost)| (x.as_slice(), *cost))
    }

    /// How many evaluations the cost of each point should be the mean of: more than 1 if noise asks for it.
    pub fn evaluations_per_point(&self) -> u32 {
        self.noise.as_ref().map_or(1, Noise::evaluations)
    }

    /// The noise of the last generation as the paper measures it: positive if it disturbs the ranks; `None` without its treatment.
    pub fn uncertainty(&self) -> Option<f64> {
        self.noise.as_ref().map(Noise::uncertainty)
    }

    /// Why the runs so far have ended, without the one that is going on.
    pub fn ended(&self) -> &[Stop] {
        &self.ended
    }

    /// Why the search is over, if it is.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// The points to evaluate next. Asking twice gives the same ones.
    pub fn ask(&self) -> Vec<Vec<f64>> {
        self.run.ask()
    }

    /// Takes one cost per point. On an error nothing changes.
    pub fn tell(&mut self, costs: &[f64]) -> Result<(), CmaError> {
        let Some(noise) = &self.noise else {
            return self.finish(costs.to_vec(), costs.len());
        };
        if costs.len() != self.run.population() {
            return Err(CmaError::Costs {
                found: costs.len(),
                expected: self.run.population(),
            });
        }
        if let Some((index, value)) = costs.iter().copied().enumerate().find(|c| !c.1.is_finite()) {
            return Err(CmaError::Cost { index, value });
        }
        match noise.count(costs.len(), self.settings.cma.seed, self.generation) {
            0 => self.finish(costs.to_vec(), costs.len()),
            _ => {
                self.waiting = Some(costs.to_vec());
                Ok(())
            }
        }
    }

    /// Which points of the generation just told are to be evaluated once more, with other random circumstances.
    pub fn reevaluations(&self) -> std::ops::Range<usize> {
        match (&self.noise, &self.waiting) {
            (Some(noise), Some(costs)) => 0..noise.count(costs.len(), self.settings.cma.seed, self.generation),
            _ => 0..0,
        }
    }

    /// Takes the costs of [`Search::reevaluations`]. On an error nothing changes.
    pub fn tell_again(&mut self, again: &[f64]) -> Result<(), CmaError> {
        let expected = self.reevaluations().len();
        if again.len() != expected {
            return Err(CmaError::Costs {
                found: again.len(),
                expected,
            });
        }
        if let Some((index, value)) = again.iter().copied().enumerate().find(|c| !c.1.is_finite()) {
            return Err(CmaError::Cost { index, value });
        }
        let (Some(mut costs), Some(noise)) = (self.waiting.take(), &mut self.noise) else {
            return Ok(());
        };
        let told = costs.len() + again.len();
        let factor = noise.compare(&mut costs, again, self.space.dimension());
        // longer steps are for the run that the noise was found in, not for the next one
        let restart = self.restart;
        self.finish(costs, told)?;
        if self.restart == restart {
            self.run.grow_sigma(factor);
        }
        Ok(())
    }

    fn finish(&mut self, costs: Vec<f64>, told: usize) -> Result<(), CmaError> {
        let points = self.run.ask();
        self.run.tell(&costs)?;
        self.generation += 1;
        self.evaluations += told as u64;
        self.run_evaluations += told as u64;
        for (point, cost) in points.into_iter().zip(costs) {
            if self.best.as_ref().is_none_or(|(_, best)| cost < *best) {
                self.best = Some((point, cost));
            }
        }
        // a small run may spend half of what the last large one did
        let spent = self.bipop.is_small && self.run_evaluations > self.bipop.last_large / 2;
        let stop = match (self.run.stopped(), spent) {
            // it is noise that makes steps longer and longer
            (Some(Stop::TolUpX), _) if self.uncertainty().is_some_and(|u| u > 0.0) => Stop::Noise,
            (Some(stop), _) => stop,
            (None, true) => Stop::Stagnation,
            (None, false) => return Ok(()),
        };
        let over = stop == Stop::Target
            || self.settings.restarts == Restarts::None
            || self.bipop.doublings >= self.settings.max_restarts;
        if over {
            self.stop = Some(stop);
            return Ok(());
        }
        self.ended.push(stop);
        self.begin_again()
    }

    /// Begins the next run, elsewhere.
    fn begin_again(&mut self) -> Result<(), CmaError> {
        match self.bipop.is_small {
            true => self.bipop.small += self.run_evaluations,
            false => {
                self.bipop.large += self.run_evaluations;
                self.bipop.last_large = self.run_evaluations;
            }
        }
        self.restart += 1;
        self.run_evaluations = 0;
        let (seed, n) = (self.settings.cma.seed, self.space.dimension());
        let uniform = |index: u64| random::uniform(seed, STREAM | u64::from(self.restart), index);
        let first = self.settings.cma.population.unwrap_or(default_population(n));
        let doubled = |times: u32| {
            let factor = 1_usize.checked_shl(times).unwrap_or(usize::MAX);
            first.saturating_mul(factor).min(LARGEST_POPULATION)
        };
        self.bipop.is_small =
            self.settings.restarts == Restarts::Bipop && self.bipop.small < self.bipop.large && self.restart > 1;
        let (population, sigma) = match self.bipop.is_small {
            true => {
                let large = doubled(self.bipop.doublings) as f64;
                let u = uniform(0);
                let ratio = (0.5 * large / first as f64).max(1.0);
                let population = first as f64 * libm::pow(ratio, u * u);
                (
                    population as usize,
                    self.settings.sigma * libm::pow(10.0, -2.0 * uniform(1)),
                )
            }
            false => {
                self.bipop.doublings += 1;
                (doubled(self.bipop.doublings), self.settings.sigma)
            }
        };
        let start: Vec<f64> = (0..n)
            .map(|i| {
                let (lower, upper) = (self.space.lower[i], self.space.upper[i]);
                match lower.is_finite() && upper.is_finite() {
                    true => lower + uniform(2 + i as u64) * (upper - lower),
                    false => {
                        let z = random::normal(seed, STREAM | u64::from(self.restart), (1 << 32) + i as u64);
                        (self.space.initial[i] + self.settings.sigma * self.space.scales[i] * z).clamp(lower, upper)
                    }
                }
            })
            .collect();
        let settings = Settings {
            population: Some(population.max(2)),
            ..self.settings.cma.clone()
        };
        self.run = Cma::begin_at(&self.space, &start, sigma, &settings, u64::from(self.restart))?;
        Ok(())
    }
}
