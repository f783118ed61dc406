//! A smooth function of time through given values that never goes beyond them.

/// Cubic Hermite pieces between knots, with a continuous derivative; before the first knot and after the last the value
/// is held.
///
/// Slopes at inner knots are the weighted harmonic means of F. N. Fritsch and J. Butland, "A method for constructing
/// local monotone piecewise cubic interpolants", SIAM J. Sci. Stat. Comput. 5(2), 1984; they are 0 where the values turn.
/// Slopes at both ends are 0, since the value is held there. The curve is monotone between any two knots, so bounds of the
/// values are bounds of the curve.
#[derive(Clone, Debug, PartialEq)]
pub struct MonotoneSpline {
    times: Vec<f64>,
    values: Vec<f64>,
    /// Per knot.
    slopes: Vec<f64>,
}

impl MonotoneSpline {
    /// Through `values` at `times`, which increase and are as many.
    ///
    /// # Panics
    /// If there is none, or not as many of one as of the other.
    pub fn new(times: Vec<f64>, values: Vec<f64>) -> MonotoneSpline {
        assert!(
            !times.is_empty() && times.len() == values.len(),
            "a spline takes one value per knot and at least one knot"
        );
        let mut slopes = vec![0.0; times.len()];
        for i in 1..times.len() - 1 {
            let (before, after) = (times[i] - times[i - 1], times[i + 1] - times[i]);
            let (rise, next) = (
                (values[i] - values[i - 1]) / before,
                (values[i + 1] - values[i]) / after,
            );
            if rise * next > 0.0 {
                let (w, w_next) = (2.0 * after + before, after + 2.0 * before);
                slopes[i] = (w + w_next) / (w / rise + w_next / next);
            }
        }
        MonotoneSpline { times, values, slopes }
    }

    /// Value and derivative at `t`.
    pub fn sample(&self, t: f64) -> (f64, f64) {
        let next = self.times.partition_point(|knot| *knot <= t);
        if next == 0 {
            return (self.values[0], 0.0);
        }
        if next == self.times.len() {
            return (self.values[next - 1], 0.0);
        }
        let i = next - 1;
        let h = self.times[next] - self.times[i];
        let s = (t - self.times[i]) / h;
        let rest = 1.0 - s;
        let (y, y_next) = (self.values[i], self.values[next]);
        let (m, m_next) = (self.slopes[i], self.slopes[next]);
        let value = y * (1.0 + 2.0 * s) * rest * rest
            + y_next * s * s * (3.0 - 2.0 * s)
            + h * s * rest * (m * rest - m_next * s);
        let rate = 6.0 * s * rest * (y_next - y) / h + m * rest * (1.0 - 3.0 * s) + m_next * s * (3.0 * s - 2.0);
        (value, rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn knots() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((0.02..1.5f64, -3.0..3.0f64), 1..9).prop_map(|steps| {
            let mut time = -0.7;
            let times = steps.iter().map(|(step, _)| {
                time += step;
                time
            });
            (times.collect(), steps.iter().map(|(_, value)| *value).collect())
        })
    }

    proptest! {
        #[test]
        fn the_rate_is_the_derivative_of_the_value((times, values) in knots(), t in -1.0..12.0f64) {
            // central differences agree everywhere, across knots too: the curve is C1
            let spline = MonotoneSpline::new(times, values);
            let h = 1e-6;
            let difference = (spline.sample(t + h).0 - spline.sample(t - h).0) / (2.0 * h);
            let (_, rate) = spline.sample(t);
            // second derivatives reach 6 * 2 * 6 / 0.02^2, and within h of a knot the error is of first order in it
            prop_assert!((difference - rate).abs() < 0.5, "{} for {}", difference, rate);
            // away from knots it is of second order; rounding of values up to 3 gives 1e-9
            let near = (t - h, t + h);
            let at_knot = spline.times.iter().any(|k| (near.0..=near.1).contains(k));
            prop_assert!(at_knot || (difference - rate).abs() < 1e-5, "{} for {}", difference, rate);
        }

        #[test]
        fn the_curve_stays_between_neighbouring_values((times, values) in knots(), share in 0.0..1.0f64) {
            // at the knots it is exactly the value, between two it is between theirs up to rounding
            let spline = MonotoneSpline::new(times.clone(), values.clone());
            for (i, (t, value)) in times.iter().zip(&values).enumerate() {
                prop_assert_eq!(spline.sample(*t).0, *value);
                if let Some((t_next, next)) = times.get(i + 1).zip(values.get(i + 1)) {
                    let (between, _) = spline.sample(t + share * (t_next - t));
                    prop_assert!(between >= value.min(*next) - 1e-14 && between <= value.max(*next) + 1e-14);
                }
            }
            prop_assert_eq!(spline.sample(times[0] - 1.0), (values[0], 0.0));
            prop_assert_eq!(spline.sample(times[times.len() - 1] + 1.0), (values[values.len() - 1], 0.0));
        }
    }

    #[test]
    fn equal_steps_on_a_line_are_followed_exactly() {
        // inner pieces of a straight line are straight: the harmonic mean of equal slopes is the slope
        let spline = MonotoneSpline::new(vec![0.0, 1.0, 2.5, 3.0], vec![1.0, 3.0, 6.0, 7.0]);
        for t in [1.0, 1.3, 2.0, 2.4] {
            let (value, rate) = spline.sample(t);
            assert!((value - (1.0 + 2.0 * t)).abs() < 1e-14 && (rate - 2.0).abs() < 1e-14);
        }
    }
}
