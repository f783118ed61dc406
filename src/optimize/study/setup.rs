//! What a study has to know of the function that it makes small, and how it goes about it.

use serde::{Deserialize, Serialize};

use crate::math::random;
use crate::optimize::cma::{SearchSettings, Space};
use crate::optimize::problem::{Range, nine_digits};

/// A number that is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// Name of its column.
    pub name: String,
    /// Only whole numbers.
    pub integer: bool,
    pub range: Range,
}

/// The nearest number of nine digits on the inner side of a bound, which is above a lower one.
fn nine_digits_inside(bound: f64, above: bool) -> f64 {
    let rounded = nine_digits(bound);
    if !bound.is_finite() || rounded == bound || (rounded > bound) == above {
        return rounded;
    }
    // one unit of the ninth digit further
    let text = format!("{bound:.8e}");
    let exponent = text
        .rsplit_once('e')
        .and_then(|(_, e)| e.parse::<i32>().ok())
        .unwrap_or(0);
    let unit: f64 = format!("1e{}", exponent - 8).parse().unwrap_or(0.0);
    nine_digits(if above { rounded + unit } else { rounded - unit })
}

impl Coordinate {
    /// From a coordinate of the search (of a logarithmic parameter its logarithm) to the value that is evaluated and written: nine
    /// significant digits or a whole number, within the bounds.
    pub fn value(&self, x: f64) -> f64 {
        self.written(if self.range.log { libm::exp(x) } else { x })
    }

    /// A value as it is evaluated and written.
    pub fn written(&self, value: f64) -> f64 {
        let value = match self.integer {
            true => value.round(),
            false => nine_digits(value),
        };
        let (lowest, highest) = self.ends();
        // one zero, not two
        value.max(lowest).min(highest) + 0.0
    }

    /// Smallest and largest value that can be written: bounds may have more digits than nine.
    fn ends(&self) -> (f64, f64) {
        let Range { lower, upper, .. } = self.range;
        match self.integer {
            true => (lower.ceil(), upper.floor()),
            false => (nine_digits_inside(lower, true), nine_digits_inside(upper, false)),
        }
    }

    /// What keeps it from being searched, if anything.
    fn problem(&self) -> Option<String> {
        let Range {
            initial, lower, upper, ..
        } = self.range;
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Some(format!("is called {:?}; expected a name on one line", self.name));
        }
        if self.range.log && (initial <= 0.0 || (lower <= 0.0 && lower.is_finite())) {
            return Some(format!(
                "has logarithms, initial value {initial:?} and lower bound {lower:?}; expected them above 0"
            ));
        }
        let (lowest, highest) = self.ends();
        if lowest > highest {
            let what = if self.integer {
                "whole number"
            } else {
                "number of nine digits"
            };
            return Some(format!(
                "has bounds {lower:?} and {upper:?}; expected a {what} between them"
            ));
        }
        None
    }

    /// The coordinate of the search that stands for a value.
    fn inner(&self, value: f64) -> f64 {
        if self.range.log { libm::log(value) } else { value }
    }
}

/// Which seeds an evaluation gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Seeds {
    /// None: those of the function.
    Own,
    /// Always these.
    List(Vec<u64>),
    /// So many new ones in every generation, the same for all its candidates.
    PerGeneration(usize),
}

/// The mean of the distribution on seeds of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// In the first and every so many generations the mean from which candidates are drawn, and the last mean of all at the end.
    pub every: u64,
    pub seeds: Vec<u64>,
}

/// When it is enough.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// No generation begins after so many.
    pub evaluations: Option<u64>,
    /// Seconds since the call, looked at after each generation.
    pub time_s: Option<f64>,
    /// A cost of the best that is good enough.
    pub target: Option<f64>,
}

/// A whole study but for the function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySetup {
    pub name: String,
    pub coordinates: Vec<Coordinate>,
    pub search: SearchSettings,
    /// An evaluation is given up when it is certain to cost more than this quantile of the generation before.
    pub hopeless_quantile: Option<f64>,
    pub seeds: Seeds,
    pub validation: Option<Validation>,
    /// May be changed when a study is resumed; all else may not.
    pub budget: Budget,
}

/// Stream of the random numbers that are seeds.
const STREAM: u64 = 1 << 61;

impl StudySetup {
    /// Where the search takes place.
    pub fn space(&self) -> Space {
        let of = |f: &dyn Fn(&Coordinate) -> f64| self.coordinates.iter().map(f).collect();
        Space {
            initial: of(&|c| c.inner(c.range.initial)),
            scales: of(&|c| c.range.scale),
            lower: of(&|c| {
                if c.range.lower.is_finite() {
                    c.inner(c.range.lower)
                } else {
                    f64::NEG_INFINITY
                }
            }),
            upper: of(&|c| c.inner(c.range.upper)),
        }
    }

    /// Whether it can be searched; what is wrong otherwise.
    pub fn check(&self) -> Result<(), String> {
        for (i, coordinate) in self.coordinates.iter().enumerate() {
            if let Some(problem) = coordinate.problem() {
                return Err(format!("parameter {i} (\"{}\") {problem}", coordinate.name));
            }
            if self.coordinates[..i].iter().any(|c| c.name == coordinate.name) {
                return Err(format!("two parameters are called \"{}\"", coordinate.name));
            }
        }
        self.space().validate().map_err(|e| e.to_string())
    }

    /// The values that a point of the search stands for.
    pub fn values(&self, point: &[f64]) -> Vec<f64> {
        self.coordinates.iter().zip(point).map(|(c, x)| c.value(*x)).collect()
    }

    /// Seeds of the evaluations of a generation (from 1), `times` as many as the study says; `again` for those of second evaluations.
    pub fn seeds(&self, generation: u64, times: u32, again: bool) -> Vec<u64> {
        match &self.seeds {
            Seeds::Own => Vec::new(),
            Seeds::List(list) => list.clone(),
            Seeds::PerGeneration(count) => {
                let count = count * times as usize;
                let first = if again { count } else { 0 };
                (first..first + count)
                    .map(|k| random::bits(self.search.cma.seed, STREAM | generation, k as u64)[0] >> 1)
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coordinate(initial: f64, lower: f64, upper: f64, scale: f64, log: bool) -> Coordinate {
        Coordinate {
            name: "gain".into(),
            integer: false,
            range: Range {
                initial,
                lower,
                upper,
                scale,
                log,
            },
        }
    }

    proptest! {
        #[test]
        fn a_value_has_nine_digits_and_is_within_the_bounds(
            lower in -1e6..1e6f64, width in 1e-3..1e6f64, x in -1e7..1e7f64, log: bool,
        ) {
            // wherever the search goes, the value is one that a file can say, inside, and rounding it again changes nothing
            let lower = if log { lower.abs() + 1e-6 } else { lower };
            let coordinate = coordinate(lower, lower, lower + width, 1.0, log);
            prop_assert_eq!(coordinate.problem(), None);
            let value = coordinate.value(if log { x * 1e-6 } else { x });
            prop_assert!(value >= lower && value <= lower + width, "{value}");
            prop_assert_eq!(nine_digits(value), value);
        }
    }

    #[test]
    fn bounds_that_no_file_can_say_are_kept_all_the_same() {
        // the ends of a range with more than nine digits are the nearest inner numbers of nine; those of whole numbers are whole
        let third = coordinate(0.5, 1.0 / 3.0, 2.0 / 3.0, 1.0, false);
        assert_eq!((third.value(-1e9), third.value(1e9)), (0.333333334, 0.666666666));
        let small = coordinate(-1e-7, -1.00000000049e-7, 0.0, 1.0, false);
        assert_eq!((small.value(-1e9), small.value(1e9).to_bits()), (-1.0e-7, 0));
        let narrow = coordinate(0.333333333333, 0.333333333332, 0.333333333334, 1.0, false);
        assert!(narrow.problem().unwrap().contains("nine digits"));
        let whole = Coordinate {
            integer: true,
            ..coordinate(2.2, 1.5, 4.9, 1.0, false)
        };
        assert_eq!([-9.0, 2.2, 2.6, 9.0].map(|x| whole.value(x)), [2.0, 2.0, 3.0, 4.0]);
        let none = Coordinate {
            integer: true,
            ..coordinate(1.2, 1.1, 1.3, 1.0, false)
        };
        assert!(none.problem().unwrap().contains("whole"));
    }

    #[test]
    fn what_cannot_be_searched_is_refused_with_the_reason() {
        // each mistake names the parameter and its value
        let setup = |coordinates: Vec<Coordinate>| StudySetup {
            name: "s".into(),
            coordinates,
            search: SearchSettings::default(),
            hopeless_quantile: None,
            seeds: Seeds::Own,
            validation: None,
            budget: Budget::default(),
        };
        let good = coordinate(1.0, 0.5, 2.0, 0.1, true);
        setup(vec![good.clone()]).check().unwrap();
        for (bad, part) in [
            (coordinate(1.0, -0.5, 2.0, 0.1, true), "-0.5"),
            (coordinate(3.0, 0.5, 2.0, 0.1, false), "initial value"),
            (coordinate(1.0, 0.5, 2.0, 0.0, false), "scale"),
            (
                Coordinate {
                    name: "a\nb".into(),
                    ..good.clone()
                },
                "a\\nb",
            ),
        ] {
            let error = setup(vec![bad]).check().unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(
            setup(vec![good.clone(), good])
                .check()
                .unwrap_err()
                .contains("two parameters")
        );
        assert!(setup(vec![]).check().unwrap_err().contains("no coordinates"));
    }
}
