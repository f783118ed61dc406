//! The block on the rod: its motion, and what a motion costs.

use std::f64::consts::TAU;

use thiserror::Error;

use crate::optimize::cma::CmaError;

/// A rod that cannot be simulated, or a problem that has no solution.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum SpacetimeError {
    #[error("{what} is {value:?}; expected {expected}")]
    Value {
        what: &'static str,
        value: f64,
        expected: &'static str,
    },
    #[error(
        "the PD controller is not stable: h kd / m = {damping:?} and h² kp / m = {stiffness:?}, and 2 h kd / m + h² kp / m must be less than 4; \
         make the step or the gains smaller"
    )]
    Unstable { damping: f64, stiffness: f64 },
    #[error("{what} has {found} entries; expected {expected}")]
    Length {
        what: &'static str,
        found: usize,
        expected: usize,
    },
    #[error(
        "the linear system of {what} cannot be solved; is the weight of the targets or the weight of the penalty too extreme?"
    )]
    Singular { what: &'static str },
    #[error(transparent)]
    Search(#[from] CmaError),
}

/// A block that slides on a vertical rod, pulled by gravity and by a PD controller towards a target height, and the sine that it is
/// to follow.
///
/// With `u_t` the target during step `t`, semi-implicit Euler gives
/// `v_{t+1} = v_t + h / m · (kp (u_t − y_t) − kd v_t − m g)`, `y_{t+1} = y_t + h v_{t+1}` for `t = 0 … N − 1`. The block begins on the
/// sine, `y_0 = 0`, with its velocity.
#[derive(Clone, Debug, PartialEq)]
pub struct Rod {
    /// `m`, kilograms.
    pub mass: f64,
    /// `kp`, N/m.
    pub kp: f64,
    /// `kd`, N s/m; the damper pulls towards rest, not towards the target's velocity.
    pub kd: f64,
    /// `g`, m/s², downwards.
    pub gravity: f64,
    /// `h`, seconds.
    pub step: f64,
    /// `N`.
    pub steps: usize,
    /// Of the sine, metres.
    pub amplitude: f64,
    /// Of the sine, seconds.
    pub period: f64,
    /// `ρ`: what a squared target costs compared to a squared error.
    pub regularisation: f64,
}

impl Default for Rod {
    /// Two periods of 2 s and 0.5 m at 50 Hz; the controller has a natural frequency of 10 rad/s and half the critical damping,
    /// so that a block that is shown the sine itself lags by 20° and sags by 0.1 m.
    fn default() -> Self {
        Rod {
            mass: 2.0,
            kp: 200.0,
            kd: 20.0,
            gravity: 9.81,
            step: 0.02,
            steps: 200,
            amplitude: 0.5,
            period: 2.0,
            regularisation: 1e-3,
        }
    }
}

/// Heights and velocities of the block: `steps + 1` of each, from the beginning on.
#[derive(Clone, Debug, PartialEq)]
pub struct RodMotion {
    /// `y`, metres.
    pub heights: Vec<f64>,
    /// `v`, m/s.
    pub velocities: Vec<f64>,
}

impl Rod {
    /// Whether it can be simulated: all numbers finite and positive (gravity: not negative), and the steps small enough for
    /// the PD controller.
    pub fn validate(&self) -> Result<(), SpacetimeError> {
        let values = [
            ("the mass", self.mass),
            ("kp", self.kp),
            ("kd", self.kd),
            ("the step", self.step),
            ("the period", self.period),
            ("the regularisation", self.regularisation),
        ];
        for (what, value) in values {
            if !(value.is_finite() && value > 0.0) {
                return Err(SpacetimeError::Value {
                    what,
                    value,
                    expected: "a finite number above 0",
                });
            }
        }
        for (what, value) in [("gravity", self.gravity), ("the amplitude", self.amplitude)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SpacetimeError::Value {
                    what,
                    value,
                    expected: "a finite number, 0 or more",
                });
            }
        }
        if self.steps == 0 {
            return Err(SpacetimeError::Value {
                what: "the number of steps",
                value: 0.0,
                expected: "1 or more",
            });
        }
        // Jury's conditions for the characteristic polynomial z² − (2 − a − b) z + (1 − a)
        let (damping, stiffness) = (self.damping(), self.stiffness());
        if 2.0 * damping + stiffness >= 4.0 {
            return Err(SpacetimeError::Unstable { damping, stiffness });
        }
        Ok(())
    }

    /// `a = h kd / m`.
    pub(super) fn damping(&self) -> f64 {
        self.step * self.kd / self.mass
    }

    /// `b = h² kp / m`.
    pub(super) fn stiffness(&self) -> f64 {
        self.step * self.step * self.kp / self.mass
    }

    /// Seconds.
    pub fn duration(&self) -> f64 {
        self.steps as f64 * self.step
    }

    /// Height of the sine at a time, metres.
    pub fn reference(&self, time: f64) -> f64 {
        self.amplitude * libm::sin(TAU / self.period * time)
    }

    /// Velocity of the sine at a time, m/s.
    pub fn reference_velocity(&self, time: f64) -> f64 {
        let rate = TAU / self.period;
        self.amplitude * rate * libm::cos(rate * time)
    }

    /// Targets of one who knows no better: the sine at the end of each step.
    pub fn naive_targets(&self) -> Vec<f64> {
        (1..=self.steps).map(|t| self.reference(t as f64 * self.step)).collect()
    }

    /// The motion that targets (metres, one per step) lead to.
    pub fn simulate(&self, targets: &[f64]) -> Result<RodMotion, SpacetimeError> {
        self.validate()?;
        if targets.len() != self.steps {
            return Err(SpacetimeError::Length {
                what: "the list of targets",
                found: targets.len(),
                expected: self.steps,
            });
        }
        let (mut y, mut v) = (self.reference(0.0), self.reference_velocity(0.0));
        let mut motion = RodMotion {
            heights: vec![y],
            velocities: vec![v],
        };
        for u in targets {
            let force = self.kp * (u - y) - self.kd * v - self.mass * self.gravity;
            v += self.step / self.mass * force;
            y += self.step * v;
            motion.heights.push(y);
            motion.velocities.push(v);
        }
        Ok(motion)
    }

    /// `J = h Σ_{t=1}^{N} (y_t − r_t)² + ρ h Σ_{t=0}^{N−1} u_t²`, m² s: an approximation of integrals over time, so that it depends
    /// little on the step. `heights` has one entry more than `targets`, the first of which does not count.
    pub fn cost(&self, targets: &[f64], heights: &[f64]) -> f64 {
        let errors: f64 = (heights.iter().enumerate().skip(1))
            .map(|(t, y)| {
                let error = y - self.reference(t as f64 * self.step);
                error * error
            })
            .sum();
        let squares: f64 = targets.iter().map(|u| u * u).sum();
        self.step * (errors + self.regularisation * squares)
    }

    /// Largest distance to the sine, metres.
    pub fn largest_error(&self, heights: &[f64]) -> f64 {
        (heights.iter().enumerate())
            .map(|(t, y)| (y - self.reference(t as f64 * self.step)).abs())
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_target_brings_the_block_to_rest_below_it() {
        // at rest the spring carries the weight: kp (u − y) = m g
        let rod = Rod {
            steps: 1000,
            ..Rod::default()
        };
        let motion = rod.simulate(&vec![0.7; 1000]).unwrap();
        let expected = 0.7 - rod.mass * rod.gravity / rod.kp;
        assert!((motion.heights[1000] - expected).abs() < 1e-12);
        assert!(motion.velocities[1000].abs() < 1e-12);
    }

    #[test]
    fn the_naive_targets_lag_and_sag_as_the_transfer_function_says() {
        // y / u = kp / (kp − m ω² + i kd ω) in continuous time; at 1 kHz, after the transient, to a percent of the amplitude
        let rod = Rod {
            step: 1e-3,
            steps: 8000,
            ..Rod::default()
        };
        let motion = rod.simulate(&rod.naive_targets()).unwrap();
        let rate = TAU / rod.period;
        let (real, imaginary) = (rod.kp - rod.mass * rate * rate, rod.kd * rate);
        let gain = rod.kp / (real * real + imaginary * imaginary).sqrt();
        let lag = libm::atan2(imaginary, real);
        assert!((lag.to_degrees() - 19.2).abs() < 0.1, "{}", lag.to_degrees());
        let sag = rod.mass * rod.gravity / rod.kp;
        for t in 6000..8000 {
            let time = t as f64 * rod.step;
            let expected = gain * rod.amplitude * libm::sin(rate * time - lag) - sag;
            assert!((motion.heights[t] - expected).abs() < 0.01 * rod.amplitude, "{time}");
        }
    }

    #[test]
    fn the_cost_depends_little_on_the_step() {
        // it approximates an integral with an error of first order: with half the step half the error, so half the change
        let cost = |halvings: u32| {
            let times = 1 << halvings;
            let rod = Rod {
                step: 0.01 / f64::from(times),
                steps: 400 * times as usize,
                ..Rod::default()
            };
            let targets = rod.naive_targets();
            rod.cost(&targets, &rod.simulate(&targets).unwrap().heights)
        };
        let costs = [cost(0), cost(1), cost(2)];
        let (first, second) = (costs[1] - costs[0], costs[2] - costs[1]);
        assert!((first / costs[0]).abs() < 0.1, "{costs:?}");
        assert!((first / second / 2.0 - 1.0).abs() < 0.1, "{costs:?}");
    }

    #[test]
    fn a_rod_that_cannot_be_simulated_is_refused() {
        // each mistake is named, and just within the limit of stability a disturbance dies away
        type Change = fn(&mut Rod);
        let changes: [(Change, &str); 6] = [
            (|r| r.mass = 0.0, "mass"),
            (|r| r.kd = f64::NAN, "kd"),
            (|r| r.steps = 0, "number of steps"),
            (|r| r.gravity = f64::INFINITY, "gravity"),
            (|r| r.regularisation = 0.0, "regularisation"),
            (|r| r.step = 0.2, "not stable"),
        ];
        for (change, part) in changes {
            let mut rod = Rod::default();
            change(&mut rod);
            let error = rod.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = Rod::default().simulate(&[0.0]).unwrap_err();
        assert!(matches!(
            error,
            SpacetimeError::Length {
                found: 1,
                expected: 200,
                ..
            }
        ));
        // 2 a + b = 2 · 20 h / 2 + 100 h² = 4 at h = 0.1236
        for (step, stable) in [(0.1230, true), (0.1240, false)] {
            let rod = Rod { step, ..Rod::default() };
            assert_eq!(rod.validate().is_ok(), stable);
        }
        let rod = Rod {
            step: 0.1230,
            steps: 5000,
            gravity: 0.0,
            ..Rod::default()
        };
        let motion = rod.simulate(&vec![0.0; 5000]).unwrap();
        assert!(motion.heights[5000].abs() < 1e-3, "{}", motion.heights[5000]);
    }
}
