//! The equations of motion as linear constraints on targets and states.

use super::rod::{Rod, RodMotion};

/// Targets and states of all steps as one vector, metres: `u_t, y_{t+1}, d_{t+1}` for `t = 0 … N − 1`, with `d = h v` the way of a step.
///
/// Ways instead of velocities make all entries, and all gaps, lengths of about the same size.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknowns(pub Vec<f64>);

/// Unknowns per step, and constraints per step.
pub(super) const PER_STEP: usize = 3;
pub(super) const GAPS_PER_STEP: usize = 2;

impl Unknowns {
    /// From targets (one per step) and a motion (one state more).
    pub fn new(rod: &Rod, targets: &[f64], motion: &RodMotion) -> Unknowns {
        let states = motion.heights.iter().zip(&motion.velocities).skip(1);
        Unknowns(
            (targets.iter().zip(states))
                .flat_map(|(u, (y, v))| [*u, *y, rod.step * v])
                .collect(),
        )
    }

    /// The targets, metres.
    pub fn targets(&self) -> Vec<f64> {
        self.0.chunks_exact(PER_STEP).map(|s| s[0]).collect()
    }

    /// The states, the first one included.
    pub fn motion(&self, rod: &Rod) -> RodMotion {
        let states = |first: f64, at: usize, unit: f64| {
            let rest = self.0.chunks_exact(PER_STEP).map(|s| s[at] / unit);
            std::iter::once(first).chain(rest).collect()
        };
        RodMotion {
            heights: states(rod.reference(0.0), 1, 1.0),
            velocities: states(rod.reference_velocity(0.0), 2, rod.step),
        }
    }
}

/// `A z = c` for the unknowns `z`, two rows per step:
/// `d_{t+1} − (1 − a) d_t + b y_t − b u_t = −h² g` and `y_{t+1} − y_t − d_{t+1} = 0`, with `a = h kd / m`, `b = h² kp / m`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraints {
    steps: usize,
    a: f64,
    b: f64,
    /// `c`: gravity, and in the first rows the state that the block begins with.
    right: Vec<f64>,
}

impl Constraints {
    /// The constraints of a valid rod.
    pub fn new(rod: &Rod) -> Constraints {
        let (a, b) = (rod.damping(), rod.stiffness());
        let mut right = vec![0.0; GAPS_PER_STEP * rod.steps];
        for row in right.iter_mut().step_by(GAPS_PER_STEP) {
            *row = -rod.step * rod.step * rod.gravity;
        }
        let (y, d) = (rod.reference(0.0), rod.step * rod.reference_velocity(0.0));
        right[0] += (1.0 - a) * d - b * y;
        right[1] += y;
        Constraints {
            steps: rod.steps,
            a,
            b,
            right,
        }
    }

    /// How far unknowns are from a motion: `A z − c`, metres, two per step.
    pub fn gaps(&self, z: &[f64]) -> Vec<f64> {
        let mut out = self.apply(z);
        out.iter_mut().zip(&self.right).for_each(|(o, r)| *o -= r);
        out
    }

    /// `c`.
    pub fn right(&self) -> &[f64] {
        &self.right
    }

    /// `A z`.
    pub fn apply(&self, z: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; GAPS_PER_STEP * self.steps];
        self.entries(|row, column, value| out[row] += value * z[column]);
        out
    }

    /// `Aᵀ p`.
    pub fn apply_transposed(&self, p: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; PER_STEP * self.steps];
        self.entries(|row, column, value| out[column] += value * p[row]);
        out
    }

    /// Calls `f` with row, column and value of each entry of `A` that is not zero.
    pub fn entries(&self, mut f: impl FnMut(usize, usize, f64)) {
        for t in 0..self.steps {
            let (u, y, d) = (PER_STEP * t, PER_STEP * t + 1, PER_STEP * t + 2);
            let row = GAPS_PER_STEP * t;
            f(row, d, 1.0);
            f(row, u, -self.b);
            f(row + 1, y, 1.0);
            f(row + 1, d, -1.0);
            if t > 0 {
                // the state before
                let (y, d) = (y - PER_STEP, d - PER_STEP);
                f(row, d, self.a - 1.0);
                f(row, y, self.b);
                f(row + 1, y, -1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random;

    #[test]
    fn a_simulated_motion_leaves_no_gaps_and_any_other_does() {
        // simulation is written in velocities, constraints in ways: they agree to rounding, and a state moved by δ leaves a gap of at least δ
        let rod = Rod::default();
        let targets: Vec<f64> = (0..rod.steps as u64).map(|t| random::normal(3, 1, t)).collect();
        let motion = rod.simulate(&targets).unwrap();
        let constraints = Constraints::new(&rod);
        let z = Unknowns::new(&rod, &targets, &motion);
        assert_eq!(z.targets(), targets);
        assert_eq!(z.motion(&rod).heights, motion.heights);
        assert!(constraints.gaps(&z.0).iter().all(|g| g.abs() < 1e-13));
        for index in [1, 2, 50, 599] {
            let mut moved = z.clone();
            moved.0[index] += 0.01;
            let gaps = constraints.gaps(&moved.0);
            let largest = gaps.iter().fold(0.0_f64, |l, g| l.max(g.abs()));
            // a target is felt only as h² kp / m
            let least = if index % PER_STEP == 0 {
                0.01 * rod.stiffness()
            } else {
                0.01
            };
            assert!(largest >= least - 1e-12, "{index}: {largest}");
        }
    }

    #[test]
    fn the_transposed_is_the_transposed() {
        // p · A z = Aᵀ p · z for general vectors
        let rod = Rod {
            steps: 7,
            ..Rod::default()
        };
        let constraints = Constraints::new(&rod);
        let z: Vec<f64> = (0..21).map(|i| random::normal(1, 2, i)).collect();
        let p: Vec<f64> = (0..14).map(|i| random::normal(1, 3, i)).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (left, right) = (
            dot(&p, &constraints.apply(&z)),
            dot(&constraints.apply_transposed(&p), &z),
        );
        assert!((left - right).abs() < 1e-13, "{left} {right}");
    }
}
