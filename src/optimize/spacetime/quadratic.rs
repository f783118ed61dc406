//! The closed form: a quadratic cost under linear constraints is one linear system.

#![allow(non_snake_case)]

use nalgebra::{DMatrix, DVector};

use super::constraints::{Constraints, PER_STEP, Unknowns};
use super::rod::{Rod, SpacetimeError};

/// The optimum under hard constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticSolution {
    pub unknowns: Unknowns,
    /// `λ`, m s, one per constraint: moving the right side `c` of a constraint by δ changes the optimal cost by `−λ δ`.
    pub multipliers: Vec<f64>,
    /// `J`, m² s, of the unknowns.
    pub cost: f64,
    /// Size of the linear system.
    pub size: usize,
}

impl QuadraticSolution {
    /// Largest entry of `∇J(z) + Aᵀ λ` (m s) and of `A z − c` (m): both vanish at the optimum.
    pub fn residuals(&self, rod: &Rod) -> [f64; 2] {
        let constraints = Constraints::new(rod);
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |l, v| l.max(v.abs()));
        let mut gradient = cost_gradient(rod, &self.unknowns.0);
        let forces = constraints.apply_transposed(&self.multipliers);
        gradient.iter_mut().zip(&forces).for_each(|(g, f)| *g += f);
        [largest(&gradient), largest(&constraints.gaps(&self.unknowns.0))]
    }
}

/// Second derivatives of `J` (it has no mixed ones): of a target, a height, a way.
pub(super) fn curvatures(rod: &Rod) -> [f64; PER_STEP] {
    [2.0 * rod.step * rod.regularisation, 2.0 * rod.step, 0.0]
}

/// `∇J` with respect to the unknowns, m s.
pub(super) fn cost_gradient(rod: &Rod, z: &[f64]) -> Vec<f64> {
    let [of_u, of_y, _] = curvatures(rod);
    (z.chunks_exact(PER_STEP).enumerate())
        .flat_map(|(t, s)| {
            let error = s[1] - rod.reference((t + 1) as f64 * rod.step);
            [of_u * s[0], of_y * error, 0.0]
        })
        .collect()
}

/// Minimises [`Rod::cost`] over targets and states under the equations of motion.
///
/// The optimum satisfies the conditions of Karush, Kuhn and Tucker, `[H Aᵀ; A 0] [z; λ] = [−∇J(0); c]` (J. Nocedal, S. Wright,
/// "Numerical Optimization", 2nd edition, eq. 16.4). `A` has full rank, as every constraint has a state of its own, and `H` is
/// positive on its kernel, where targets determine states: the solution is unique. The system is solved as a dense one, with
/// `5 N` rows.
pub fn solve_quadratic(rod: &Rod) -> Result<QuadraticSolution, SpacetimeError> {
    rod.validate()?;
    let constraints = Constraints::new(rod);
    let (n, m) = (PER_STEP * rod.steps, constraints.right().len());
    let mut K = DMatrix::zeros(n + m, n + m);
    let curvatures = curvatures(rod);
    for i in 0..n {
        K[(i, i)] = curvatures[i % PER_STEP];
    }
    constraints.entries(|row, column, value| {
        K[(n + row, column)] = value;
        K[(column, n + row)] = value;
    });
    let mut right = DVector::zeros(n + m);
    for (i, g) in cost_gradient(rod, &vec![0.0; n]).iter().enumerate() {
        right[i] = -g;
    }
    right.rows_mut(n, m).copy_from_slice(constraints.right());
    let solution = (K.lu().solve(&right))
        .filter(|s| s.iter().all(|s| s.is_finite()))
        .ok_or(SpacetimeError::Singular {
            what: "the quadratic programme",
        })?;
    let unknowns = Unknowns(solution.as_slice()[..n].to_vec());
    let cost = rod.cost(&unknowns.targets(), &unknowns.motion(rod).heights);
    Ok(QuadraticSolution {
        unknowns,
        multipliers: solution.as_slice()[n..].to_vec(),
        cost,
        size: n + m,
    })
}
