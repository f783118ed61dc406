//! Where is searched: bounds, and a map from all of space into them.
//!
//! The map is the identity between the bounds but for a margin, where a parabola bends it so that it touches the bound with slope
//! 0; beyond that it is mirrored. So it is smooth, reaches the bounds themselves, and sends every point into them. (The
//! boundary transformation of N. Hansen's CMA-ES codes, in words: quadratic in a margin of a twentieth of `1 + |bound|`.)

use serde::{Deserialize, Serialize};

use super::settings::CmaError;

/// The points that are searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// Where the search begins.
    pub initial: Vec<f64>,
    /// Standard deviation at the beginning, per coordinate.
    pub scales: Vec<f64>,
    /// May be minus infinity.
    pub lower: Vec<f64>,
    /// May be infinity.
    pub upper: Vec<f64>,
}

impl Space {
    /// Without bounds.
    pub fn unbounded(initial: &[f64], sigma: f64) -> Space {
        let n = initial.len();
        Space {
            initial: initial.to_vec(),
            scales: vec![sigma; n],
            lower: vec![f64::NEG_INFINITY; n],
            upper: vec![f64::INFINITY; n],
        }
    }

    /// Coordinates of a point.
    pub fn dimension(&self) -> usize {
        self.initial.len()
    }

    /// Whether it can be searched.
    pub fn validate(&self) -> Result<(), CmaError> {
        let n = self.dimension();
        if n == 0 {
            return Err(CmaError::Empty);
        }
        for (what, list) in [("scales", &self.scales), ("lower", &self.lower), ("upper", &self.upper)] {
            if list.len() != n {
                return Err(CmaError::Length {
                    what,
                    found: list.len(),
                    expected: n,
                });
            }
        }
        for i in 0..n {
            let (lower, upper) = (self.lower[i], self.upper[i]);
            let value = |what: &str, value: f64, expected: String| CmaError::Value {
                what: format!("{what} of coordinate {i}"),
                value,
                expected,
            };
            if lower.is_nan() || lower == f64::INFINITY {
                return Err(value("the lower bound", lower, "a number or minus infinity".into()));
            }
            if upper.is_nan() || upper <= lower {
                return Err(value(
                    "the upper bound",
                    upper,
                    format!("more than the lower one, {lower:?}"),
                ));
            }
            let initial = self.initial[i];
            if !initial.is_finite() || initial < lower || initial > upper {
                return Err(value("the initial value", initial, format!("{lower:?} to {upper:?}")));
            }
            let scale = self.scales[i];
            if !(scale.is_finite() && scale > 0.0) {
                return Err(value("the scale", scale, "a finite number above 0".into()));
            }
        }
        Ok(())
    }

    /// A coordinate's bounds and scale, in units of the scale with the initial value at 0.
    fn axis(&self, i: usize) -> Axis {
        Axis {
            lower: (self.lower[i] - self.initial[i]) / self.scales[i],
            upper: (self.upper[i] - self.initial[i]) / self.scales[i],
        }
    }

    /// From the coordinates that the algorithm moves in (scaled, no bounds) to a point of the space.
    pub fn point(&self, inner: &[f64]) -> Vec<f64> {
        (inner.iter().enumerate())
            .map(|(i, x)| {
                let bounded = self.axis(i).bend(*x);
                // rounding must not leave the bounds
                (self.initial[i] + self.scales[i] * bounded).clamp(self.lower[i], self.upper[i])
            })
            .collect()
    }

    /// One of the inner points that [`Space::point`] sends to `point`, which must lie within the bounds.
    pub fn inner(&self, point: &[f64]) -> Vec<f64> {
        (point.iter().enumerate())
            .map(|(i, y)| self.axis(i).unbend((y - self.initial[i]) / self.scales[i]))
            .collect()
    }
}

/// Bounds of one coordinate.
#[derive(Clone, Copy, Debug)]
struct Axis {
    lower: f64,
    upper: f64,
}

impl Axis {
    /// Widths of the two bent margins.
    fn margins(self) -> (f64, f64) {
        let half = 0.5 * (self.upper - self.lower);
        let margin = |bound: f64| half.min((1.0 + bound.abs()) / 20.0);
        (margin(self.lower), margin(self.upper))
    }

    fn bend(self, mut x: f64) -> f64 {
        let (below, above) = self.margins();
        let (low, high) = (self.lower, self.upper);
        // mirror into the range whose ends are sent to the bounds
        let (first, last) = (low - below, high + above);
        if first.is_finite() && last.is_finite() {
            let width = last - first;
            let mut phase = (x - first).rem_euclid(2.0 * width);
            if phase > width {
                phase = 2.0 * width - phase;
            }
            x = first + phase;
        } else if first.is_finite() && x < first {
            x = 2.0 * first - x;
        } else if last.is_finite() && x > last {
            x = 2.0 * last - x;
        }
        if low.is_finite() && x < low + below {
            let d = x - first;
            (low + d * d / (4.0 * below)).clamp(low, high)
        } else if high.is_finite() && x > high - above {
            let d = last - x;
            (high - d * d / (4.0 * above)).clamp(low, high)
        } else {
            x
        }
    }

    fn unbend(self, y: f64) -> f64 {
        let (below, above) = self.margins();
        let (low, high) = (self.lower, self.upper);
        if low.is_finite() && y < low + below {
            low - below + 2.0 * (below * (y - low).max(0.0)).sqrt()
        } else if high.is_finite() && y > high - above {
            high + above - 2.0 * (above * (high - y).max(0.0)).sqrt()
        } else {
            y
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axes() -> impl Strategy<Value = Axis> {
        let bound = || prop_oneof![Just(f64::NEG_INFINITY), -1e3..1e3];
        (bound(), 1e-3..1e3, any::<bool>()).prop_map(|(lower, width, open)| Axis {
            lower,
            upper: match (open, lower.is_finite()) {
                (true, _) => f64::INFINITY,
                (false, true) => lower + width,
                (false, false) => width,
            },
        })
    }

    proptest! {
        #[test]
        fn every_point_lands_within_the_bounds(axis in axes(), x in -1e6..1e6f64) {
            // whatever goes in, what comes out is feasible
            let y = axis.bend(x);
            prop_assert!(y >= axis.lower && y <= axis.upper, "{y}");
        }

        #[test]
        fn the_way_back_leads_to_the_same_point(axis in axes(), u in 0.0..=1.0f64) {
            // a feasible point, sent back and in again, is itself to rounding
            let low = axis.lower.max(-2e3);
            let high = axis.upper.min(low + 4e3);
            let y = low + u * (high - low);
            let again = axis.bend(axis.unbend(y));
            let size = y.abs().max(1.0);
            prop_assert!((again - y).abs() <= 1e-9 * size, "{y} {again}");
        }

        #[test]
        fn the_map_is_smooth(axis in axes(), x in -1e3..1e3f64) {
            // differences over a step h are at most h, and the slope changes by at most h over the narrower margin, times a constant
            let (below, above) = axis.margins();
            let h = 1e-3 * below.min(above).min(1.0);
            let f = |x: f64| axis.bend(x);
            let (a, b) = ((f(x) - f(x - h)) / h, (f(x + h) - f(x)) / h);
            let rounding = 1e-12 * (1.0 + x.abs() + f(x).abs()) / h;
            prop_assert!(a.abs() <= 1.0 + rounding && b.abs() <= 1.0 + rounding);
            prop_assert!((b - a).abs() <= 2e-3 + 2.0 * rounding, "{a} {b}");
        }
    }

    #[test]
    fn most_of_the_space_is_not_bent() {
        // between the margins the map is the identity, bit for bit in inner coordinates
        let space = Space {
            initial: vec![2.0, -1.0],
            scales: vec![0.5, 3.0],
            lower: vec![0.0, f64::NEG_INFINITY],
            upper: vec![10.0, f64::INFINITY],
        };
        space.validate().unwrap();
        assert_eq!(space.point(&[1.0, -2.0]), [2.5, -7.0]);
        assert_eq!(space.point(&space.inner(&[0.0, 1e9])), [0.0, 1e9]);
        assert_eq!(space.point(&space.inner(&[10.0, 4.0])), [10.0, 4.0]);
    }

    #[test]
    fn a_space_that_cannot_be_searched_is_refused() {
        // each mistake names coordinate, value and what was expected
        let good = Space {
            initial: vec![1.0, 2.0],
            scales: vec![1.0, 1.0],
            lower: vec![0.0, 0.0],
            upper: vec![3.0, 3.0],
        };
        assert!(good.validate().is_ok());
        type Change = fn(&mut Space);
        let changes: [(Change, &str); 8] = [
            (|s| s.initial.clear(), "no coordinates"),
            (|s| s.scales.truncate(1), "scales has 1"),
            (|s| s.scales[1] = 0.0, "scale of coordinate 1"),
            (|s| s.scales[0] = f64::NAN, "scale of coordinate 0"),
            (|s| s.initial[1] = 4.0, "initial value of coordinate 1"),
            (|s| s.upper[0] = 0.0, "upper bound of coordinate 0"),
            (|s| s.lower[0] = f64::NAN, "lower bound of coordinate 0"),
            (|s| s.initial[0] = f64::INFINITY, "initial value of coordinate 0"),
        ];
        for (change, part) in changes {
            let mut space = good.clone();
            change(&mut space);
            let error = space.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
