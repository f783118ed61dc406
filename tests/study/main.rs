//! Studies: whatever interrupts them, they end as if nothing had; and what they say is what was evaluated.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

mod budget;
mod damage;
mod disk;
mod kill;
mod rules;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ambler::math::random::{bits, normal};
use ambler::optimize::cma::{NoiseSettings, Restarts, SearchSettings};
use ambler::optimize::study::{Budget, Coordinate, Options, Seeds, Study, StudySetup, StudySummary, Validation};
use ambler::optimize::{Evaluation, Evaluator, Outcome as Ending, Range, Request};

/// A long valley with noise from the seeds, where some regions fail and some fall, and which gives up the hopeless.
pub struct Valley {
    pub noise: f64,
    /// Beyond this value of the first parameter nothing can be simulated.
    pub fails_above: f64,
    /// Longest time of an evaluation; each takes another one.
    pub longest: Duration,
    measures: Vec<String>,
}

impl Valley {
    pub fn new(noise: f64) -> Valley {
        Valley {
            noise,
            fails_above: f64::INFINITY,
            longest: Duration::ZERO,
            measures: vec!["length_m".into(), "noise".into()],
        }
    }
}

impl Evaluator for Valley {
    fn measures(&self) -> &[String] {
        &self.measures
    }

    fn evaluate(&self, x: &[f64], request: &Request) -> Option<Evaluation> {
        if !self.longest.is_zero() {
            let number = x.iter().fold(7, |h: u64, v| h.rotate_left(9) ^ v.to_bits());
            let share = bits(1, 0, number)[0] as f64 / u64::MAX as f64;
            std::thread::sleep(self.longest.mul_f64(share));
        }
        if request.stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
            return None;
        }
        let failure = |outcome, reason: &str| Evaluation {
            cost: 1e12 + x[0],
            measures: vec![f64::NAN; 2],
            outcome,
            reason: Some(reason.into()),
            simulated_s: 0.5,
        };
        if x[0] > self.fails_above {
            return Some(match x[1] > 0.0 {
                true => failure(Ending::Diverged, "diverged at pelvis, \"left\""),
                false => failure(Ending::Invalid, "too stiff"),
            });
        }
        let length: f64 = x
            .iter()
            .zip([1.0, 3.0, 10.0, 30.0].iter().cycle())
            .map(|(x, s)| (s * (x - 1.0)).powi(2))
            .sum();
        let mut noise = 0.0;
        for seed in request.seeds {
            noise +=
                self.noise * normal(*seed, 3, x.iter().fold(0, |h, v| h ^ v.to_bits())) / request.seeds.len() as f64;
        }
        let cost = length + noise;
        let hopeless = request.hopeless_above.filter(|h| cost > *h);
        Some(Evaluation {
            // given up as soon as it is certain
            cost: hopeless.map_or(cost, |h| h + 0.25 * (cost - h)),
            measures: vec![length.sqrt(), noise],
            outcome: match hopeless {
                Some(_) => Ending::Hopeless,
                None if x[1] < 0.2 => Ending::Fell,
                None => Ending::Completed,
            },
            reason: None,
            simulated_s: 10.0 * request.seeds.len().max(1) as f64,
        })
    }
}

pub fn coordinate(name: &str, initial: f64, lower: f64, upper: f64, scale: f64, log: bool) -> Coordinate {
    Coordinate {
        name: name.into(),
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

/// Four parameters: with and without bounds, linear and logarithmic, with awkward names.
pub fn plan(evaluations: u64) -> StudySetup {
    StudySetup {
        name: "valley".into(),
        coordinates: vec![
            coordinate("controller.kp_scale", 0.4, 0.1, 10.0, 0.4, true),
            coordinate("left, knee", 0.0, f64::NEG_INFINITY, f64::INFINITY, 0.5, false),
            coordinate("c", 2.0, -1.0 / 3.0, 2.5, 0.3, false),
            coordinate("d", 1.5, 0.0, f64::INFINITY, 0.2, false),
        ],
        search: SearchSettings::default(),
        hopeless_quantile: None,
        seeds: Seeds::Own,
        validation: None,
        budget: Budget {
            evaluations: Some(evaluations),
            ..Budget::default()
        },
    }
}

/// The same with everything that a study can have.
pub fn full_plan(evaluations: u64) -> StudySetup {
    let mut plan = plan(evaluations);
    plan.search.cma.seed = 11;
    plan.search.cma.population = Some(10);
    plan.search.restarts = Restarts::Ipop;
    plan.search.noise = Some(NoiseSettings {
        max_evaluations: 4,
        ..NoiseSettings::default()
    });
    plan.seeds = Seeds::PerGeneration(2);
    plan.validation = Some(Validation {
        every: 3,
        seeds: vec![901, 902, 903],
    });
    plan.hopeless_quantile = Some(0.8);
    plan
}

pub fn options(jobs: usize) -> Options<'static> {
    Options {
        jobs: Some(jobs),
        ..Options::default()
    }
}

pub fn create(folder: &Path, plan: &StudySetup, evaluator: &dyn Evaluator) -> Study {
    Study::create(folder, plan, evaluator, b"valley").unwrap()
}

pub fn resume(folder: &Path, plan: &StudySetup, evaluator: &dyn Evaluator) -> Study {
    Study::resume(folder, plan, evaluator, b"valley").unwrap()
}

/// What came of a session.
pub struct Outcome {
    pub summary: StudySummary,
    /// Evaluations that it made itself.
    pub made: u64,
}

/// Runs until it ends, or is stopped after so many evaluations.
pub fn run_until(study: &mut Study, evaluator: &dyn Evaluator, evaluations: u64, jobs: usize) -> Outcome {
    let stop = AtomicBool::new(false);
    let mut made = 0;
    let options = Options {
        stop: Some(&stop),
        ..options(jobs)
    };
    let summary = study
        .run(evaluator, &options, &mut |progress| {
            made = progress.made;
            stop.store(made >= evaluations, Ordering::Relaxed);
        })
        .unwrap();
    Outcome { summary, made }
}

pub fn run(study: &mut Study, evaluator: &dyn Evaluator, jobs: usize) -> Outcome {
    run_until(study, evaluator, u64::MAX, jobs)
}

/// A whole study in one session.
pub fn run_whole(folder: &Path, plan: &StudySetup, evaluator: &dyn Evaluator, jobs: usize) -> Outcome {
    run(&mut create(folder, plan, evaluator), evaluator, jobs)
}

/// Files of a study that are the same for the same study.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_file() && !["study.log", ".lock"].contains(&name.as_str()) {
            all.insert(name, std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Asserts that two folders hold the same study, to the byte.
pub fn assert_same(found: &Path, expected: &Path) {
    let (found, expected) = (files(found), files(expected));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    for (name, bytes) in &expected {
        assert!(
            found[name] == *bytes,
            "{name} differs:\n{}\n---\n{}",
            String::from_utf8_lossy(&found[name]),
            String::from_utf8_lossy(bytes)
        );
    }
}

/// The rows of a table by column name.
pub fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names = reader.headers().unwrap().clone();
    reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            names
                .iter()
                .zip(row.iter())
                .map(|(n, v)| (n.to_string(), v.to_string()))
                .collect()
        })
        .collect()
}

pub fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column}: {}", row[column]))
}
