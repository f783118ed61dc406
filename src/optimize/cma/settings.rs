//! What a run of CMA-ES needs to be told, and what can be wrong with it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::stop::StopSettings;

/// A search that cannot be begun, or costs that cannot be taken.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum CmaError {
    #[error("there is nothing to search: a point has no coordinates")]
    Empty,
    #[error("{what} has {found} entries; expected {expected}, one per coordinate")]
    Length {
        what: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("{what} is {value:?}; expected {expected}")]
    Value { what: String, value: f64, expected: String },
    #[error("{found} costs for {expected} points")]
    Costs { found: usize, expected: usize },
    #[error("the cost of point {index} is {value:?}; expected a finite number")]
    Cost { index: usize, value: f64 },
}

/// How a run goes about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Of all random numbers.
    pub seed: u64,
    /// Points per generation, at least 2; `4 + ⌊3 ln n⌋` if absent.
    pub population: Option<usize>,
    /// Whether bad points push the covariance away (Jastrebski and Arnold 2006).
    pub active: bool,
    pub stops: StopSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seed: 1,
            population: None,
            active: true,
            stops: StopSettings::default(),
        }
    }
}

/// The population that CMA-ES takes by default in `n` dimensions.
pub fn default_population(n: usize) -> usize {
    4 + (3.0 * libm::log(n as f64)).floor() as usize
}
