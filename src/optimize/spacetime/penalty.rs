//! Soft constraints: gaps in the motion cost instead of being forbidden, and the optimum is found by going downhill.

use super::constraints::{Constraints, PER_STEP, Unknowns};
use super::quadratic::{cost_gradient, curvatures};
use super::rod::{Rod, SpacetimeError};

/// `P(z) = J(z) + w |A z − c|²`, m² s, with the weight `w` in seconds.
pub fn penalty(rod: &Rod, z: &Unknowns, weight: f64) -> f64 {
    let gaps: f64 = Constraints::new(rod).gaps(&z.0).iter().map(|g| g * g).sum();
    rod.cost(&z.targets(), &z.motion(rod).heights) + weight * gaps
}

/// `∇P = ∇J + 2 w Aᵀ (A z − c)`, m s.
pub fn penalty_gradient(rod: &Rod, z: &Unknowns, weight: f64) -> Vec<f64> {
    gradient(rod, &Constraints::new(rod), &z.0, weight)
}

fn gradient(rod: &Rod, constraints: &Constraints, z: &[f64], weight: f64) -> Vec<f64> {
    let mut out = cost_gradient(rod, z);
    let forces = constraints.apply_transposed(&constraints.gaps(z));
    out.iter_mut().zip(&forces).for_each(|(g, f)| *g += 2.0 * weight * f);
    out
}

/// Which way is downhill. Steps go to the lowest point along it, which a quadratic function tells exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// Against the gradient. The number of steps grows with the condition of the problem.
    Steepest,
    /// Conjugate directions (R. Fletcher, C. Reeves, "Function minimization by conjugate gradients", 1964): grows with its root.
    Conjugate,
}

/// How far to go.
#[derive(Clone, Debug, PartialEq)]
pub struct DescentSettings {
    pub descent: Descent,
    /// Arrived when the gradient is not longer than this, m s.
    pub tolerance: f64,
    pub max_iterations: usize,
}

impl Default for DescentSettings {
    fn default() -> Self {
        DescentSettings {
            descent: Descent::Conjugate,
            tolerance: 1e-10,
            max_iterations: 200_000,
        }
    }
}

/// The optimum under soft constraints, or how far descent has come.
#[derive(Clone, Debug, PartialEq)]
pub struct PenaltySolution {
    pub unknowns: Unknowns,
    /// `J` of the unknowns, whose states are no motion quite; m² s.
    pub cost: f64,
    /// `P`, m² s.
    pub penalised_cost: f64,
    /// `A z − c`, metres.
    pub gaps: Vec<f64>,
    /// Length of `∇P`, m s.
    pub gradient: f64,
    pub iterations: usize,
    pub arrived: bool,
}

/// Descends on `P` from `start`. It is quadratic and convex, so there is one optimum, `J` at it is less than with hard constraints,
/// and with growing `w` it tends to theirs: `A z − c ≈ λ / 2 w` and `P ≈ J* − |λ|² / 4 w` with `λ` their multipliers (Nocedal and
/// Wright, section 17.1).
pub fn solve_penalty(
    rod: &Rod,
    weight: f64,
    start: &Unknowns,
    settings: &DescentSettings,
) -> Result<PenaltySolution, SpacetimeError> {
    rod.validate()?;
    if !(weight.is_finite() && weight > 0.0) {
        return Err(SpacetimeError::Value {
            what: "the weight of the penalty",
            value: weight,
            expected: "a finite number above 0",
        });
    }
    if start.0.len() != PER_STEP * rod.steps {
        return Err(SpacetimeError::Length {
            what: "the vector of unknowns",
            found: start.0.len(),
            expected: PER_STEP * rod.steps,
        });
    }
    let constraints = Constraints::new(rod);
    let own = curvatures(rod);
    let hessian_times = |p: &[f64]| {
        let mut out = constraints.apply_transposed(&constraints.apply(p));
        for (i, o) in out.iter_mut().enumerate() {
            *o = 2.0 * weight * *o + own[i % PER_STEP] * p[i];
        }
        out
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut z = start.0.clone();
    let mut g = gradient(rod, &constraints, &z, weight);
    let mut squared = dot(&g, &g);
    let mut direction: Vec<f64> = g.iter().map(|g| -g).collect();
    let mut iterations = 0;
    while squared.sqrt() > settings.tolerance && iterations < settings.max_iterations {
        let curvature = dot(&direction, &hessian_times(&direction));
        let length = -dot(&g, &direction) / curvature;
        if !length.is_finite() {
            return Err(SpacetimeError::Singular {
                what: "the step of the descent",
            });
        }
        z.iter_mut().zip(&direction).for_each(|(z, d)| *z += length * d);
        // anew from the gaps, so that rounding does not add up
        g = gradient(rod, &constraints, &z, weight);
        let before = std::mem::replace(&mut squared, dot(&g, &g));
        let keep = match settings.descent {
            Descent::Steepest => 0.0,
            Descent::Conjugate => squared / before,
        };
        direction.iter_mut().zip(&g).for_each(|(d, g)| *d = keep * *d - g);
        iterations += 1;
    }
    let unknowns = Unknowns(z);
    Ok(PenaltySolution {
        cost: rod.cost(&unknowns.targets(), &unknowns.motion(rod).heights),
        penalised_cost: penalty(rod, &unknowns, weight),
        gaps: constraints.gaps(&unknowns.0),
        gradient: squared.sqrt(),
        iterations,
        arrived: squared.sqrt() <= settings.tolerance,
        unknowns,
    })
}
