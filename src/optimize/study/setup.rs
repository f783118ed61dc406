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

impl Coordinate {
    /// From a coordinate of the search (of a logarithmic parameter its logarithm) to the value that is evaluated and written: nine
    /// significant digits, within the bounds.
    pub fn value(&self, x: f64) -> f64 {
        self.written(if self.range.log { libm::exp(x) } else { x })
    }

    /// A value as it is evaluated and written.
    pub fn written(&self, value: f64) -> f64 {
        let value = match self.integer {
            true => value.round(),
            false => nine_digits(value),
        };
        // bounds may have more digits than nine
        value.clamp(self.range.lower, self.range.upper)
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

/// The mean of the distribution on seeds of its own, every so many generations and at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
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
