//! One run of CMA-ES.

#![allow(non_snake_case)]

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use serde::{Deserialize, Serialize};

use super::settings::{CmaError, Settings, default_population};
use super::space::Space;
use super::stop::{History, Stop};
use super::weights::Weights;
use crate::math::random;

/// State of a run. Equations are numbered as in the tutorial (arXiv 1604.00772v2).
///
/// It moves in inner coordinates: the space's initial value is 0 and its scale 1, and there are no bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cma {
    settings: Settings,
    space: Space,
    /// Of random numbers: which run of a search this is.
    stream: u64,
    population: usize,
    weights: Weights,
    generation: u64,
    mean: Vec<f64>,
    sigma: f64,
    first_sigma: f64,
    /// Row by row.
    C: Vec<f64>,
    /// Eigenvectors of `C` as they were at `decomposed`, column by column, and the roots of the eigenvalues.
    B: Vec<f64>,
    D: Vec<f64>,
    /// Generation of the last decomposition.
    decomposed: u64,
    path_sigma: Vec<f64>,
    path_C: Vec<f64>,
    history: History,
    stop: Option<Stop>,
}

impl Cma {
    /// Begins at the space's initial point with steps of `sigma` times its scales. `stream` distinguishes runs with the same seed.
    pub fn new(space: &Space, sigma: f64, settings: &Settings, stream: u64) -> Result<Cma, CmaError> {
        Cma::begin_at(space, &space.initial, sigma, settings, stream)
    }

    /// The same at another point within the bounds.
    pub fn begin_at(
        space: &Space,
        point: &[f64],
        sigma: f64,
        settings: &Settings,
        stream: u64,
    ) -> Result<Cma, CmaError> {
        space.validate()?;
        let n = space.dimension();
        if point.len() != n {
            return Err(CmaError::Length {
                what: "the first point",
                found: point.len(),
                expected: n,
            });
        }
        if !(sigma.is_finite() && sigma > 0.0) {
            return Err(CmaError::Value {
                what: "sigma".into(),
                value: sigma,
                expected: "a finite number above 0".into(),
            });
        }
        let population = settings.population.unwrap_or(default_population(n));
        if population < 2 {
            return Err(CmaError::Value {
                what: "the population".into(),
                value: population as f64,
                expected: "2 or more".into(),
            });
        }
        let identity: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect();
        Ok(Cma {
            settings: settings.clone(),
            space: space.clone(),
            stream,
            population,
            weights: Weights::new(n, population, settings.active),
            generation: 0,
            mean: space.inner(point),
            sigma,
            first_sigma: sigma,
            C: identity.clone(),
            B: identity,
            D: vec![1.0; n],
            decomposed: 0,
            path_sigma: vec![0.0; n],
            path_C: vec![0.0; n],
            history: History::default(),
            stop: None,
        })
    }

    /// Points per generation.
    pub fn population(&self) -> usize {
        self.population
    }

    /// Generations that have been told.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Factor on the scales of the space.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    pub(super) fn grow_sigma(&mut self, factor: f64) {
        self.sigma *= factor;
    }

    /// Longest over shortest axis of the distribution.
    pub fn axis_ratio(&self) -> f64 {
        let (short, long) = (self.D.iter()).fold((f64::INFINITY, 0.0_f64), |(s, l), d| (s.min(*d), l.max(*d)));
        long / short
    }

    /// The mean of the distribution, as a point of the space.
    pub fn mean(&self) -> Vec<f64> {
        self.space.point(&self.mean)
    }

    /// Standard deviations of the distribution per coordinate, in the unit of the coordinate.
    pub fn std(&self) -> Vec<f64> {
        let n = self.mean.len();
        (0..n)
            .map(|i| self.sigma * self.C[i * n + i].sqrt() * self.space.scales[i])
            .collect()
    }

    /// Correlations of the coordinates, row by row.
    pub fn correlation(&self) -> Vec<Vec<f64>> {
        let n = self.mean.len();
        (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| self.C[i * n + j] / (self.C[i * n + i] * self.C[j * n + j]).sqrt())
                    .collect()
            })
            .collect()
    }

    /// Why the run has ended, if it has.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// `C^{1/2} z` for candidate `k` of the coming generation.
    fn step(&self, k: usize) -> DVector<f64> {
        let n = self.mean.len();
        // one stream per run and generation; a run has fewer than 2^40 generations
        let stream = (self.stream << 40) | self.generation;
        let z = DVector::from_fn(n, |i, _| {
            random::normal(self.settings.seed, stream, (k * n + i) as u64) * self.D[i]
        });
        DMatrix::from_column_slice(n, n, &self.B) * z
    }

    /// The points to evaluate next, within the bounds. Asking twice gives the same ones.
    pub fn ask(&self) -> Vec<Vec<f64>> {
        (0..self.population)
            .map(|k| {
                let y = self.step(k);
                let x: Vec<f64> = self
                    .mean
                    .iter()
                    .zip(y.iter())
                    .map(|(m, y)| m + self.sigma * y)
                    .collect();
                self.space.point(&x)
            })
            .collect()
    }

    /// Takes the costs of the points of [`Cma::ask`], in their order, and goes on to the next generation. Of equal costs the
    /// earlier one counts as better. On an error nothing changes.
    pub fn tell(&mut self, costs: &[f64]) -> Result<(), CmaError> {
        if costs.len() != self.population {
            return Err(CmaError::Costs {
                found: costs.len(),
                expected: self.population,
            });
        }
        if let Some((index, value)) = costs.iter().copied().enumerate().find(|c| !c.1.is_finite()) {
            return Err(CmaError::Cost { index, value });
        }
        let n = self.mean.len();
        let w = self.weights.clone();
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]).then(a.cmp(b)));
        let steps: Vec<DVector<f64>> = order.iter().map(|k| self.step(*k)).collect();
        let B = DMatrix::from_column_slice(n, n, &self.B);

        // the mean moves to the weighted mean of the better half (41, 42)
        let mut y_w = DVector::zeros(n);
        for (y, weight) in steps.iter().zip(&w.ranks).take(w.mu) {
            y_w.axpy(*weight, y, 1.0);
        }
        for (m, y) in self.mean.iter_mut().zip(y_w.iter()) {
            *m += self.sigma * y;
        }

        // step size (43, 44): steps that add up ask for larger ones
        let whiten = |y: &DVector<f64>| {
            let mut along = B.tr_mul(y);
            along.iter_mut().zip(&self.D).for_each(|(a, d)| *a /= d);
            &B * along
        };
        let white = whiten(&y_w);
        let pull = (w.cs * (2.0 - w.cs) * w.mu_eff).sqrt();
        for (p, y) in self.path_sigma.iter_mut().zip(white.iter()) {
            *p = (1.0 - w.cs) * *p + pull * y;
        }
        let length = self.path_sigma.iter().map(|p| p * p).sum::<f64>().sqrt();
        self.generation += 1;
        let begun = 1.0 - libm::pow(1.0 - w.cs, 2.0 * self.generation as f64);
        // the other path waits while the step size is catching up (45)
        let waits = length / begun.sqrt() >= (1.4 + 2.0 / (n as f64 + 1.0)) * w.chi;
        let h = if waits { 0.0 } else { 1.0 };
        let pull = h * (w.cc * (2.0 - w.cc) * w.mu_eff).sqrt();
        for (p, y) in self.path_C.iter_mut().zip(y_w.iter()) {
            *p = (1.0 - w.cc) * *p + pull * y;
        }

        // covariance (46, 47)
        let missing = (1.0 - h) * w.cc * (2.0 - w.cc);
        let total: f64 = w.ranks.iter().sum();
        let keep = 1.0 + w.c1 * missing - w.c1 - w.cmu * total;
        let factors: Vec<f64> = (steps.iter().zip(&w.ranks))
            .map(|(y, weight)| match *weight < 0.0 {
                // a bad step takes away no more than its length in the present metric
                true => weight * n as f64 / whiten(y).norm_squared(),
                false => *weight,
            })
            .collect();
        for i in 0..n {
            for j in 0..=i {
                let mut c = keep * self.C[i * n + j] + w.c1 * self.path_C[i] * self.path_C[j];
                for (y, factor) in steps.iter().zip(&factors) {
                    c += w.cmu * factor * y[i] * y[j];
                }
                self.C[i * n + j] = c;
                self.C[j * n + i] = c;
            }
        }
        self.sigma *= libm::exp((w.cs / w.damping * (length / w.chi - 1.0)).min(1.0));

        let sorted: Vec<f64> = order.iter().map(|k| costs[*k]).collect();
        self.history.push(&sorted);
        // a decomposition costs n³, so it waits until C has changed by a tenth or so
        let due = 1.0 / ((w.c1 + w.cmu) * n as f64 * 10.0);
        if (self.generation - self.decomposed) as f64 > due && !self.decompose() {
            self.stop = Some(Stop::Condition);
            return Ok(());
        }
        self.stop = self.find_stop();
        Ok(())
    }

    /// Renews `B` and `D`; false if `C` has lost its definiteness to rounding.
    fn decompose(&mut self) -> bool {
        let n = self.mean.len();
        let C = DMatrix::from_row_slice(n, n, &self.C);
        if !C.iter().all(|c| c.is_finite()) {
            return false;
        }
        let Some(eigen) = SymmetricEigen::try_new(C, f64::EPSILON, 0) else {
            return false;
        };
        if eigen.eigenvalues.iter().any(|e| *e <= 0.0) {
            return false;
        }
        self.D = eigen.eigenvalues.iter().map(|e| e.sqrt()).collect();
        self.B = eigen.eigenvectors.as_slice().to_vec();
        self.decomposed = self.generation;
        true
    }

    fn find_stop(&self) -> Option<Stop> {
        let n = self.mean.len();
        let stops = &self.settings.stops;
        if let Some(stop) = self.history.stop(stops, n, self.population) {
            return Some(stop);
        }
        let spread = |i: usize| self.sigma * self.C[i * n + i].sqrt();
        if (0..n).all(|i| spread(i) < stops.tol_x && (self.sigma * self.path_C[i]).abs() < stops.tol_x) {
            return Some(Stop::TolX);
        }
        if (0..n).any(|i| spread(i) > stops.tol_up_x * self.first_sigma.max(1.0)) || !self.sigma.is_finite() {
            return Some(Stop::TolUpX);
        }
        if self.axis_ratio() * self.axis_ratio() > stops.condition {
            return Some(Stop::Condition);
        }
        if (0..n).any(|i| self.mean[i] == self.mean[i] + 0.2 * spread(i)) {
            return Some(Stop::NoEffectCoordinate);
        }
        let axis = (self.generation % n as u64) as usize;
        let along = 0.1 * self.sigma * self.D[axis];
        if (0..n).all(|i| self.mean[i] == self.mean[i] + along * self.B[axis * n + i]) {
            return Some(Stop::NoEffectAxis);
        }
        None
    }
}
