//! Recombination weights and learning rates: the tutorial's table 1 and equations 49 to 58.

use serde::{Deserialize, Serialize};

/// Numbers that depend on dimension and population only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// One per rank, best first; the first `mu` sum to 1, the rest is not positive.
    pub ranks: Vec<f64>,
    pub mu: usize,
    pub mu_eff: f64,
    /// Of the evolution path of the covariance.
    pub cc: f64,
    /// Of the evolution path of the step size.
    pub cs: f64,
    pub damping: f64,
    pub c1: f64,
    pub cmu: f64,
    /// Expected length of a normal vector.
    pub chi: f64,
}

impl Weights {
    /// For `n` dimensions and `population` points; without `active` the bad ranks weigh nothing.
    pub fn new(n: usize, population: usize, active: bool) -> Weights {
        let (lambda, dimension) = (population as f64, n as f64);
        let mu = population / 2;
        let raw: Vec<f64> = (1..=population)
            .map(|i| libm::log(0.5 * (lambda + 1.0)) - libm::log(i as f64))
            .collect();
        let sums = |part: &[f64]| {
            let sum: f64 = part.iter().sum();
            let squares: f64 = part.iter().map(|w| w * w).sum();
            (sum, if squares > 0.0 { sum * sum / squares } else { 0.0 })
        };
        let (good_sum, mu_eff) = sums(&raw[..mu]);
        let (_, mu_eff_bad) = sums(&raw[mu..]);
        let cc = (4.0 + mu_eff / dimension) / (dimension + 4.0 + 2.0 * mu_eff / dimension);
        let cs = (mu_eff + 2.0) / (dimension + mu_eff + 5.0);
        let damping = 1.0 + 2.0 * (((mu_eff - 1.0) / (dimension + 1.0)).max(0.0).sqrt() - 1.0).max(0.0) + cs;
        let c1 = 2.0 / ((dimension + 1.3) * (dimension + 1.3) + mu_eff);
        let cmu = (2.0 * (0.25 + mu_eff + 1.0 / mu_eff - 2.0) / ((dimension + 2.0) * (dimension + 2.0) + mu_eff))
            .min(1.0 - c1);
        let bad_sum: f64 = raw.iter().filter(|w| **w < 0.0).sum();
        // three bounds: as much as the good ones, as their quality, and so that the covariance stays positive
        let bad_total = if active && cmu > 0.0 {
            (1.0 + c1 / cmu)
                .min(1.0 + 2.0 * mu_eff_bad / (mu_eff + 2.0))
                .min((1.0 - c1 - cmu) / (dimension * cmu))
                .max(0.0)
        } else {
            0.0
        };
        let ranks = (raw.iter().enumerate())
            .map(|(i, w)| match (i < mu, *w < 0.0) {
                (true, _) => w / good_sum,
                (false, true) => bad_total * w / -bad_sum,
                (false, false) => 0.0,
            })
            .collect();
        Weights {
            ranks,
            mu,
            mu_eff,
            cc,
            cs,
            damping,
            c1,
            cmu,
            chi: dimension.sqrt() * (1.0 - 1.0 / (4.0 * dimension) + 1.0 / (21.0 * dimension * dimension)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_definition() {
        // the good ones sum to 1 and fall, the bad ones are not positive, and the covariance keeps a positive share of itself
        for n in [1, 2, 3, 10, 40, 200] {
            for population in [2, 3, 4, 9, 10, 15, 100, 1000] {
                let w = Weights::new(n, population, true);
                let good: f64 = w.ranks[..w.mu].iter().sum();
                assert!((good - 1.0).abs() < 1e-12);
                assert!(w.ranks.windows(2).all(|p| p[0] >= p[1]), "{w:?}");
                let bad: f64 = w.ranks[w.mu..].iter().sum();
                assert!(bad <= 0.0);
                // each bad term takes at most n times its weight from any direction
                assert!(
                    1.0 - w.c1 - w.cmu + w.cmu * n as f64 * bad >= -1e-9,
                    "{n} {population} {w:?}"
                );
                assert!(w.cs > 0.0 && w.cs < 1.0 && w.cc > 0.0 && w.cc <= 1.0 && w.c1 + w.cmu <= 1.0);
                assert!(Weights::new(n, population, false).ranks.iter().all(|w| *w >= 0.0));
            }
        }
        // the tutorial's example: n = 10, population 10
        let w = Weights::new(10, 10, true);
        assert!((w.mu_eff - 3.1673).abs() < 1e-3, "{}", w.mu_eff);
    }
}
