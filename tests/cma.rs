//! CMA-ES needs as many evaluations as an independent implementation, restarts where one run fails, and can be saved at any time.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::Path;

use ambler::math::random;
use ambler::optimize::cma::{Restarts, Search, SearchSettings, Settings, Space, Stop, StopSettings};
use rayon::prelude::*;

type Function = fn(&[f64]) -> f64;

fn exponent(i: usize, n: usize) -> f64 {
    i as f64 / (n as f64 - 1.0)
}

fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}
fn ellipsoid(x: &[f64]) -> f64 {
    x.iter()
        .enumerate()
        .map(|(i, v)| 10f64.powf(6.0 * exponent(i, x.len())) * v * v)
        .sum()
}
fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2)
        .map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2))
        .sum()
}
fn cigar(x: &[f64]) -> f64 {
    x[0] * x[0] + 1e6 * sphere(&x[1..])
}
fn different_powers(x: &[f64]) -> f64 {
    x.iter()
        .enumerate()
        .map(|(i, v)| v.abs().powf(2.0 + 10.0 * exponent(i, x.len())))
        .sum()
}
fn rastrigin(x: &[f64]) -> f64 {
    x.iter()
        .map(|v| 10.0 + v * v - 10.0 * (std::f64::consts::TAU * v).cos())
        .sum()
}

fn settings(seed: u64, target: f64) -> SearchSettings {
    SearchSettings {
        cma: Settings {
            seed,
            stops: StopSettings {
                target: Some(target),
                ..StopSettings::default()
            },
            ..Settings::default()
        },
        ..SearchSettings::default()
    }
}

/// Runs a search to its end, or for so many evaluations.
fn minimise(search: &mut Search, function: impl Fn(&[f64]) -> f64, most: u64) {
    while search.stopped().is_none() && search.evaluations() < most {
        let costs: Vec<f64> = search.ask().iter().map(|x| function(x)).collect();
        search.tell(&costs).unwrap();
    }
}

#[test]
fn it_needs_as_many_evaluations_as_pycma() {
    // median over 15 seeds within 15 % on each of eight problems, and the target reached as often, but for chance: of two times
    // 15 runs of which one in 15 fails, one side has three failures more than the other in one comparison of forty
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/cma_reference.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = reference["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap();
        let name = case["function"].as_str().unwrap();
        let function: Function = match name {
            "sphere" => sphere,
            "ellipsoid" => ellipsoid,
            "rosenbrock" => rosenbrock,
            "cigar" => cigar,
            "different_powers" => different_powers,
            other => panic!("unknown function {other}"),
        };
        let (n, target) = (number("dimension") as usize, number("target"));
        let mut counts: Vec<Option<u64>> = (1..=15u64)
            .into_par_iter()
            .map(|seed| {
                let space = Space::unbounded(&vec![number("start"); n], 1.0);
                let settings = SearchSettings {
                    sigma: number("sigma"),
                    ..settings(seed, target)
                };
                let mut search = Search::new(&space, &settings).unwrap();
                assert_eq!(search.run().population(), number("population") as usize);
                minimise(&mut search, function, 400_000);
                (search.stopped() == Some(Stop::Target)).then_some(search.evaluations())
            })
            .collect();
        let reached = counts.iter().flatten().count();
        counts.retain(Option::is_some);
        counts.sort();
        let median = counts[counts.len() / 2].unwrap() as f64;
        let expected = number("evaluations_median");
        println!(
            "{name} {n}: {median} evaluations, pycma {expected} ({:+.1} %), reached {reached} of 15, pycma {}",
            100.0 * (median / expected - 1.0),
            number("reached")
        );
        assert!(
            (median / expected - 1.0).abs() <= 0.15,
            "{name} {n}: {median} evaluations, pycma {expected}"
        );
        assert!(
            reached as f64 >= number("reached") - 2.0,
            "{name} {n}: reached {reached} times"
        );
    }
}

#[test]
fn restarts_solve_what_one_run_does_not() {
    // 10-D Rastrigin to 1e-8: a single run rarely, IPOP in at least 13 of 15 seeds, BIPOP likewise
    let solved = |restarts: Restarts| -> usize {
        (1..=15u64)
            .into_par_iter()
            .filter(|seed| {
                let space = Space {
                    initial: (0..10).map(|i| random::uniform_in(*seed, 77, i, -5.0, 5.0)).collect(),
                    scales: vec![1.0; 10],
                    lower: vec![-5.0; 10],
                    upper: vec![5.0; 10],
                };
                let settings = SearchSettings {
                    sigma: 2.0,
                    restarts,
                    ..settings(*seed, 1e-8)
                };
                let mut search = Search::new(&space, &settings).unwrap();
                minimise(&mut search, rastrigin, 300_000);
                search.stopped() == Some(Stop::Target)
            })
            .count()
    };
    let (one, ipop, bipop) = (solved(Restarts::None), solved(Restarts::Ipop), solved(Restarts::Bipop));
    println!("10-D Rastrigin: one run {one}, IPOP {ipop}, BIPOP {bipop} of 15");
    assert!(one <= 5, "{one}");
    assert!(ipop >= 13, "{ipop}");
    assert!(bipop >= 13, "{bipop}");
}
