//! Linear and logarithmic axes.

use super::axes::{Range, short};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Of positive numbers.
    Log,
}

/// Largest by smallest value from which on an axis is logarithmic: one and a half decades.
const DECADES: f64 = 31.6;

impl Scale {
    /// Logarithmic for what is positive and spans decades.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Scale {
        let (low, high) = values
            .into_iter()
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        match low > 0.0 && low.is_finite() && high / low > DECADES {
            true => Scale::Log,
            false => Scale::Linear,
        }
    }

    /// Where a value is on the axis; NaN if nowhere.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => libm::log10(value),
            Scale::Log => f64::NAN,
        }
    }

    /// Around all of `values`, in places of the axis.
    pub fn around(self, values: impl IntoIterator<Item = f64>) -> Range {
        let places: Vec<f64> = values
            .into_iter()
            .map(|v| self.place(v))
            .filter(|p| p.is_finite())
            .collect();
        // a single value gets an axis as wide as a share of it
        let least = match self {
            Scale::Linear => places.iter().fold(0.0_f64, |m, p| m.max(p.abs())) * 1e-3,
            Scale::Log => 0.1,
        };
        Range::around(places, if least > 0.0 { least } else { 1.0 })
    }

    /// Ticks in places of the axis, about `count` of them with labels.
    pub fn ticks(self, range: Range, count: f64) -> Vec<(f64, String)> {
        let decades = range.high - range.low;
        if self == Scale::Linear || decades < 0.35 {
            return match self {
                Scale::Linear => linear(range, count),
                Scale::Log => narrow(range, count),
            };
        }
        let within = |place: &f64| *place >= range.low - 1e-9 && *place <= range.high + 1e-9;
        let (first, last) = (libm::floor(range.low) as i32, libm::ceil(range.high) as i32);
        // labels for 1, 2, 5 if decades are few, for every so many decades if they are many
        let every = libm::ceil(decades / count.max(1.0)).max(1.0) as i32;
        let fine = 3.0 * decades <= count;
        let mut ticks = Vec::new();
        for decade in first..=last {
            for factor in [1.0, 2.0, 5.0] {
                let place = f64::from(decade) + libm::log10(factor);
                let labelled = if factor == 1.0 { decade % every == 0 } else { fine };
                if within(&place) && (factor == 1.0 || decades < 4.0) {
                    let value = factor * libm::pow(10.0, f64::from(decade));
                    ticks.push((place, if labelled { short(value, 2) } else { String::new() }));
                }
            }
        }
        ticks
    }
}

/// Round numbers whose labels are short however large they are.
fn linear(range: Range, count: f64) -> Vec<(f64, String)> {
    let mut ticks = range.ticks(count);
    let long = ticks.iter().map(|t| t.1.chars().count()).max().unwrap_or(0);
    if long > 7 {
        let step = ticks.windows(2).map(|w| w[1].0 - w[0].0).next().unwrap_or(1.0);
        let most = range.low.abs().max(range.high.abs());
        let digits = (libm::ceil(libm::log10((most / step).max(1.0))) as usize + 1).clamp(1, 9);
        for (value, label) in &mut ticks {
            // what rounding has left of 0
            let value = if value.abs() < 1e-6 * step { 0.0 } else { *value };
            *label = short(value, digits);
        }
    }
    ticks
}

/// Round numbers on less than a third of a decade.
fn narrow(range: Range, count: f64) -> Vec<(f64, String)> {
    let values = Range {
        low: libm::pow(10.0, range.low),
        high: libm::pow(10.0, range.high),
    };
    let ticks = linear(values, count).into_iter();
    ticks
        .filter(|t| t.0 > 0.0)
        .map(|(v, label)| (libm::log10(v), label))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only what is positive and spans decades is drawn on a logarithmic axis.
    #[test]
    fn axes_are_logarithmic_for_positive_values_over_decades() {
        assert_eq!(Scale::of([0.01, 5.0, f64::NAN]), Scale::Log);
        assert_eq!(Scale::of([1.0, 5.0]), Scale::Linear);
        assert_eq!(Scale::of([-1.0, 500.0]), Scale::Linear);
        assert_eq!(Scale::of([0.0, 500.0]), Scale::Linear);
        assert_eq!(Scale::of([]), Scale::Linear);
    }

    /// Over any number of decades there are a few labels, distinct, at their values.
    #[test]
    fn logarithmic_ticks_have_a_few_labels_at_their_values() {
        for (low, high) in [(0.1, 0.13), (0.3, 0.9), (0.2, 30.0), (1e-12, 3.0), (1e-150, 1e150)] {
            let range = Scale::Log.around([low, high]);
            let ticks = Scale::Log.ticks(range, 6.0);
            let labels: Vec<&String> = ticks.iter().map(|t| &t.1).filter(|l| !l.is_empty()).collect();
            assert!((1..=9).contains(&labels.len()), "{low} {high}: {labels:?}");
            assert!(labels.windows(2).all(|w| w[0] != w[1]), "{labels:?}");
            assert!(
                ticks.iter().all(|t| (0.0..=1.0).contains(&range.share(t.0))),
                "{low} {high}"
            );
        }
        let ticks = Scale::Log.ticks(Scale::Log.around([0.2, 30.0]), 6.0);
        let labelled = |l: &str| ticks.iter().find(|t| t.1 == l).map(|t| t.0);
        assert_eq!(labelled("10"), Some(1.0));
    }
}
