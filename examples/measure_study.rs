//! What a study costs beside its evaluations, what a second thread is worth, and how large a long one becomes.
//!
//!     cargo run --release --locked --example measure_study
//!
//! The first part runs 160 evaluations of the standing humanoid for 10 s, on one thread and on two; the second a cheap function of 30
//! parameters with 10 measures, 10 000 and about 100 000 times.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ambler::experiment::TermSpec;
use ambler::optimize::cma::{Restarts, SearchSettings, Settings, StopSettings};
use ambler::optimize::study::{Budget, Coordinate, Options, Seeds, Study, StudySetup};
use ambler::optimize::{Evaluation, Evaluator, Outcome, ParameterSpec, Paths, Problem, ProblemSpec, Range, Request};

/// Counts the time that evaluations take.
struct Timed<'a> {
    inner: &'a Problem,
    nanoseconds: AtomicU64,
}

impl Evaluator for Timed<'_> {
    fn measures(&self) -> &[String] {
        self.inner.measures()
    }

    fn evaluate(&self, parameters: &[f64], request: &Request) -> Option<Evaluation> {
        let begin = Instant::now();
        let evaluation = self.inner.evaluate(parameters, request);
        self.nanoseconds
            .fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        evaluation
    }
}

/// A bowl that is never flat.
struct Bowl {
    measures: Vec<String>,
}

impl Evaluator for Bowl {
    fn measures(&self) -> &[String] {
        &self.measures
    }

    fn evaluate(&self, x: &[f64], _: &Request) -> Option<Evaluation> {
        let height: f64 = x
            .iter()
            .enumerate()
            .map(|(i, v)| (i + 1) as f64 * libm::pow(v - 0.3 * i as f64, 2.0))
            .sum();
        Some(Evaluation {
            cost: 1.0 + height,
            measures: (0..self.measures.len()).map(|k| height / (k as f64 + 3.0)).collect(),
            outcome: Outcome::Completed,
            reason: None,
            simulated_s: 10.0,
        })
    }
}

fn setup(name: &str, coordinates: Vec<Coordinate>, search: SearchSettings, evaluations: u64) -> StudySetup {
    StudySetup {
        name: name.into(),
        coordinates,
        search,
        hopeless_quantile: None,
        seeds: Seeds::Own,
        validation: None,
        budget: Budget {
            evaluations: Some(evaluations),
            time_s: None,
            target: None,
        },
    }
}

fn size_of(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Resident memory as Linux tells it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.map_or("unknown".into(), |l| l.trim().to_string())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let term = |text: &str| toml::from_str::<TermSpec>(text);
    let parameter = |path: &str, bounds| ParameterSpec {
        path: Paths(vec![path.into()]),
        name: None,
        initial: None,
        bounds: Some(bounds),
        scale: None,
        log: false,
        integer: false,
        levels: None,
        values: None,
    };
    let spec = ProblemSpec {
        experiment: "examples/stand.toml".into(),
        set: toml::Table::new(),
        parameters: vec![
            parameter("controller.gains.left_foot.kp", [1000.0, 3000.0]),
            parameter("controller.gains.right_foot.kp", [1000.0, 3000.0]),
            parameter("controller.gains.left_shin.kp", [1000.0, 3000.0]),
            parameter("controller.kd_scale", [0.5, 2.0]),
        ],
        objective: vec![
            term("measure = \"torque_rms_nm\"")?,
            term("measure = \"fell\"\nweight = 1000")?,
        ],
        scenarios: Vec::new(),
        combine: None,
    };
    let problem = Problem::new(&spec, Path::new(""), "measure_study")?;
    let coordinates: Vec<Coordinate> = (problem.places().iter().zip(problem.ranges()))
        .map(|(place, range)| Coordinate {
            name: place.name.clone(),
            integer: false,
            range: range.clone(),
        })
        .collect();
    let mut search = SearchSettings::default();
    search.cma.population = Some(16);
    let plan = setup("stand", coordinates, search, 160);
    let mut times = Vec::new();
    for jobs in [1, 2] {
        let folder = tempfile::tempdir()?;
        let timed = Timed {
            inner: &problem,
            nanoseconds: AtomicU64::new(0),
        };
        let options = Options {
            jobs: Some(jobs),
            texts: Some(&problem),
            ..Options::default()
        };
        let begin = Instant::now();
        let mut study = Study::create(&folder.path().join("study"), &plan, &timed, b"stand")?;
        let summary = study.run(&timed, &options, &mut |_| ())?;
        let seconds = begin.elapsed().as_secs_f64();
        let inside = 1e-9 * timed.nanoseconds.load(Ordering::Relaxed) as f64 / jobs as f64;
        println!(
            "{jobs} threads: {:.1} evaluations a second, {:.2} % of the time outside of them",
            summary.evaluations as f64 / seconds,
            100.0 * (1.0 - inside / seconds)
        );
        times.push(seconds);
    }
    println!("two threads are {:.2} times as fast as one", times[0] / times[1]);

    let range = Range {
        initial: 1.0,
        lower: -50.0,
        upper: 50.0,
        scale: 0.5,
        log: false,
    };
    let coordinates: Vec<Coordinate> = (0..30)
        .map(|i| Coordinate {
            name: format!("controller.gains.joint_{i}.kp"),
            integer: false,
            range: range.clone(),
        })
        .collect();
    let search = SearchSettings {
        cma: Settings {
            stops: StopSettings {
                tol_fun: 0.0,
                tol_x: 0.0,
                stagnation: false,
                ..StopSettings::default()
            },
            ..Settings::default()
        },
        restarts: Restarts::Ipop,
        ..SearchSettings::default()
    };
    let bowl = Bowl {
        measures: (0..10).map(|k| format!("measure_{k}")).collect(),
    };
    for evaluations in [10_000, 100_000] {
        let folder = tempfile::tempdir()?;
        let folder = folder.path().join("study");
        let plan = setup("bowl", coordinates.clone(), search.clone(), evaluations);
        let mut study = Study::create(&folder, &plan, &bowl, b"bowl")?;
        let summary = study.run(&bowl, &Options::default(), &mut |_| ())?;
        println!(
            "{} evaluations: {:.1} MB on disk, {} of memory",
            summary.evaluations,
            1e-6 * size_of(&folder)? as f64,
            memory()
        );
    }
    Ok(())
}
