//! Few unknowns: targets as a cubic spline, states by simulation.

use nalgebra::{DMatrix, DVector};

use super::rod::{Rod, SpacetimeError};
use crate::optimize::cma::{Search, SearchSettings, Space, Stop};

/// Uniform cubic B-splines over the duration of a rod: `k` coefficients, `k − 3` segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spline {
    coefficients: usize,
}

impl Spline {
    /// With at least four coefficients.
    pub fn new(coefficients: usize) -> Result<Spline, SpacetimeError> {
        if coefficients < 4 {
            return Err(SpacetimeError::Value {
                what: "the number of coefficients",
                value: coefficients as f64,
                expected: "4 or more",
            });
        }
        Ok(Spline { coefficients })
    }

    pub fn coefficients(self) -> usize {
        self.coefficients
    }

    /// The targets that coefficients (metres, one for each) stand for, one in the middle of each step.
    pub fn targets(self, rod: &Rod, coefficients: &[f64]) -> Vec<f64> {
        let segments = self.coefficients - 3;
        (0..rod.steps)
            .map(|t| {
                let at = (t as f64 + 0.5) / rod.steps as f64 * segments as f64;
                let segment = (at as usize).min(segments - 1);
                let x = at - segment as f64;
                let (x2, x3) = (x * x, x * x * x);
                let weights = [
                    1.0 - 3.0 * x + 3.0 * x2 - x3,
                    4.0 - 6.0 * x2 + 3.0 * x3,
                    1.0 + 3.0 * x + 3.0 * x2 - 3.0 * x3,
                    x3,
                ];
                let sum: f64 = (weights.iter().zip(&coefficients[segment..])).map(|(w, c)| w * c).sum();
                sum / 6.0
            })
            .collect()
    }

    /// Coefficients whose spline is about the sine: its heights where each has most to say.
    pub fn naive(self, rod: &Rod) -> Vec<f64> {
        let segment = rod.duration() / (self.coefficients - 3) as f64;
        (0..self.coefficients)
            .map(|i| rod.reference((i as f64 - 1.0) * segment))
            .collect()
    }
}

/// The best spline.
#[derive(Clone, Debug, PartialEq)]
pub struct SplineSolution {
    /// Metres.
    pub coefficients: Vec<f64>,
    /// One per step, metres.
    pub targets: Vec<f64>,
    /// `J` of the simulated motion, m² s.
    pub cost: f64,
}

/// Minimises [`Rod::cost`] over splines in closed form.
///
/// The simulated heights are affine in the targets, and these are linear in the coefficients, so `J` is a sum of squares of
/// affine functions: one simulation without targets and one per coefficient give them, and linear least squares (QR) the optimum.
/// A spline may not have more coefficients than the rod has steps.
pub fn solve_collocation(rod: &Rod, spline: Spline) -> Result<SplineSolution, SpacetimeError> {
    let (n, k) = (rod.steps, spline.coefficients);
    let root = rod.regularisation.sqrt();
    let at_rest = rod.simulate(&vec![0.0; n])?;
    if k > n {
        return Err(SpacetimeError::Length {
            what: "the list of coefficients (with more than there are steps the best ones are not unique)",
            found: k,
            expected: n,
        });
    }
    let mut matrix = DMatrix::zeros(2 * n, k);
    for column in 0..k {
        let mut unit = vec![0.0; k];
        unit[column] = 1.0;
        let targets = spline.targets(rod, &unit);
        let motion = rod.simulate(&targets)?;
        for t in 0..n {
            matrix[(t, column)] = motion.heights[t + 1] - at_rest.heights[t + 1];
            matrix[(n + t, column)] = root * targets[t];
        }
    }
    let mut right = DVector::zeros(2 * n);
    for t in 0..n {
        right[t] = rod.reference((t + 1) as f64 * rod.step) - at_rest.heights[t + 1];
    }
    let qr = matrix.qr();
    let projected = qr.q().tr_mul(&right);
    let solution = (qr.r().solve_upper_triangular(&projected))
        .filter(|s| s.iter().all(|s| s.is_finite()))
        .ok_or(SpacetimeError::Singular {
            what: "the least squares of the spline",
        })?;
    finish(rod, spline, solution.as_slice())
}

fn finish(rod: &Rod, spline: Spline, coefficients: &[f64]) -> Result<SplineSolution, SpacetimeError> {
    let targets = spline.targets(rod, coefficients);
    let motion = rod.simulate(&targets)?;
    Ok(SplineSolution {
        coefficients: coefficients.to_vec(),
        cost: rod.cost(&targets, &motion.heights),
        targets,
    })
}

/// What CMA-ES has found, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedSpline {
    pub solution: SplineSolution,
    pub evaluations: u64,
    /// Why it ended; `None` if `max_evaluations` ended it.
    pub stop: Option<Stop>,
}

/// Minimises [`Rod::cost`] over splines by CMA-ES, which is told the cost of simulated motions and nothing else. Begins with
/// [`Spline::naive`] and deviations of `settings.sigma` metres.
pub fn search_collocation(
    rod: &Rod,
    spline: Spline,
    settings: &SearchSettings,
    max_evaluations: u64,
) -> Result<SearchedSpline, SpacetimeError> {
    rod.validate()?;
    let mut search = Search::new(&Space::unbounded(&spline.naive(rod), 1.0), settings)?;
    while search.stopped().is_none() && search.evaluations() < max_evaluations {
        let costs = (search.ask().iter())
            .map(|x| finish(rod, spline, x).map(|s| s.cost))
            .collect::<Result<Vec<f64>, _>>()?;
        search.tell(&costs)?;
        // without noise a second evaluation says the same
        let again = costs[search.reevaluations()].to_vec();
        search.tell_again(&again)?;
    }
    let naive = spline.naive(rod);
    let best = search.best().map_or(naive.as_slice(), |(x, _)| x);
    Ok(SearchedSpline {
        solution: finish(rod, spline, best)?,
        evaluations: search.evaluations(),
        stop: search.stopped(),
    })
}
