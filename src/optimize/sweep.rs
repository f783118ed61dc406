//! Sweeps: an experiment over a design of its parameters, one row each.
//!
//! In: a study file with `[sweep]`. Out: a folder with a table, `results.csv`, that only grows; killed and resumed it ends with
//! the same bytes, on any number of threads.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::evaluation::{Evaluation, Evaluator, Outcome};
use super::problem::{Problem, ProblemError};
use super::study::{
    Best, Claim, Coordinate, Counts, DesignSpec, Job, LoadedStudy, Row, Rows, RowsColumns, Seeds, StudyError,
    StudySetup, StudySummary, evaluate_all,
};
use crate::files::write_replacing;
use crate::math::random;

/// The table.
pub const RESULTS: &str = "results.csv";
/// The study file of a sweep's folder.
pub const SWEEP: &str = "sweep.toml";
const FINGERPRINT: &str = "fingerprint";

/// Rows that a sweep may have.
const MOST: usize = 10_000_000;

/// Streams of the random numbers of designs.
const STREAM: u64 = 1 << 60;

/// The value at a share of the way between the bounds, of a logarithmic parameter by factors.
fn between(coordinate: &Coordinate, share: f64) -> f64 {
    let r = &coordinate.range;
    let value = match r.log {
        true => libm::exp(libm::log(r.lower) + share * (libm::log(r.upper) - libm::log(r.lower))),
        false => r.lower + share * (r.upper - r.lower),
    };
    coordinate.written(value)
}

/// The points of a design, in order.
pub fn points(study: &LoadedStudy, setup: &StudySetup, problem: &Problem) -> Result<Vec<Vec<f64>>, ProblemError> {
    let Some(sweep) = &study.spec.sweep else {
        return Err(study.error("sweep", "is missing; write a [sweep] table with a `design`"));
    };
    let n = setup.coordinates.len();
    let of = problem.of_spec();
    for (coordinate, i) in setup.coordinates.iter().zip(of) {
        let r = &coordinate.range;
        let listed = sweep.design == DesignSpec::Grid && study.spec.parameters[*i].values.is_some();
        let bounded = r.lower.is_finite() && r.upper.is_finite();
        if !(listed || bounded) {
            let key = format!("parameters[{i}].bounds");
            return Err(study.error(&key, "are missing; the design needs to know from where to where"));
        }
    }
    if sweep.design == DesignSpec::Grid {
        let mut axes = Vec::new();
        for (coordinate, i) in setup.coordinates.iter().zip(of) {
            axes.push(axis(study, coordinate, *i)?);
        }
        let count = axes
            .iter()
            .try_fold(1_usize, |c, a| c.checked_mul(a.len()))
            .filter(|c| *c <= MOST);
        let Some(count) = count else {
            return Err(study.error(
                "parameters",
                format!("make a grid of more than {MOST} points; take fewer levels"),
            ));
        };
        // the last parameter changes fastest
        return Ok((0..count)
            .map(|mut k| {
                let mut point = vec![0.0; n];
                for (value, axis) in point.iter_mut().zip(&axes).rev() {
                    *value = axis[k % axis.len()];
                    k /= axis.len();
                }
                point
            })
            .collect());
    }
    let samples = sweep.samples.unwrap_or(1);
    if samples > MOST {
        return Err(study.error("sweep.samples", format!("is {samples}; expected at most {MOST}")));
    }
    let mut all = vec![vec![0.0; n]; samples];
    for (i, coordinate) in setup.coordinates.iter().enumerate() {
        let uniform = |k: usize| random::uniform(sweep.seed, STREAM + i as u64, k as u64);
        let mut slices: Vec<usize> = (0..samples).collect();
        if sweep.design == DesignSpec::LatinHypercube {
            // a random order: that of independent random numbers
            slices.sort_by(|a, b| uniform(samples + a).total_cmp(&uniform(samples + b)).then(a.cmp(b)));
        }
        for (k, point) in all.iter_mut().enumerate() {
            let share = match sweep.design {
                DesignSpec::LatinHypercube => (slices[k] as f64 + uniform(k)) / samples as f64,
                _ => uniform(k),
            };
            point[i] = between(coordinate, share);
        }
    }
    Ok(all)
}

/// The values that a parameter takes in a grid.
fn axis(study: &LoadedStudy, coordinate: &Coordinate, i: usize) -> Result<Vec<f64>, ProblemError> {
    let spec = &study.spec.parameters[i];
    let key = |name: &str| format!("parameters[{i}].{name}");
    match (&spec.values, spec.levels) {
        (Some(_), Some(_)) => Err(study.error(&key("levels"), "there are `values` too; write either")),
        (Some(values), None) => {
            let wrong = |v: &&f64| !v.is_finite() || **v < coordinate.range.lower || **v > coordinate.range.upper;
            match (values.is_empty(), values.iter().find(wrong)) {
                (true, _) => Err(study.error(&key("values"), "is empty")),
                (_, Some(v)) => Err(study.error(
                    &key("values"),
                    format!("holds {v:?}; expected numbers within the bounds"),
                )),
                _ => Ok(values.iter().map(|v| coordinate.written(*v)).collect()),
            }
        }
        (None, Some(levels)) if levels >= 2 => Ok((0..levels)
            .map(|k| between(coordinate, k as f64 / (levels - 1) as f64))
            .collect()),
        (None, Some(levels)) => Err(study.error(&key("levels"), format!("is {levels}; expected 2 or more"))),
        (None, None) => Err(study.error(
            &key("levels"),
            "is missing; a grid needs `levels` or `values` of every parameter",
        )),
    }
}

/// A sweep and its folder.
pub struct Sweep {
    claim: Claim,
    name: String,
    names: Vec<String>,
    measures: Vec<String>,
    seeds: Vec<u64>,
    points: Vec<Vec<f64>>,
    rows: Rows,
}

impl Sweep {
    /// Begins or goes on in a folder that was claimed and has the sweep's files.
    pub fn begin(claim: Claim, study: &LoadedStudy, problem: &Problem) -> Result<Sweep, StudyError> {
        let setup = study.setup(problem)?;
        let points = points(study, &setup, problem)?;
        let seeds = match &setup.seeds {
            Seeds::Own => Vec::new(),
            Seeds::List(list) => list.clone(),
            // a sweep has no generations, so there is one set for all
            Seeds::PerGeneration(_) => setup.seeds(1, 1, false),
        };
        let names: Vec<String> = setup.coordinates.iter().map(|c| c.name.clone()).collect();
        let measures = problem.measures().to_vec();
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(&study.function_bytes(problem)?);
        points.iter().flatten().for_each(|v| hash.update(&v.to_le_bytes()));
        seeds.iter().for_each(|s| hash.update(&s.to_le_bytes()));
        let fingerprint = format!("{:016x}\n", hash.digest());
        let path = claim.path.join(FINGERPRINT);
        match std::fs::read_to_string(&path) {
            Ok(found) if found != fingerprint => {
                return Err(StudyError::Edited {
                    path,
                    what: "the design, the experiment or its inputs are others".into(),
                });
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                write_replacing(&path, fingerprint.as_bytes(), true).map_err(StudyError::io("write", &path))?;
            }
            Err(e) => return Err(StudyError::io("read", &path)(e)),
        }
        let columns = RowsColumns::new(&["index"], &measures, &names);
        let path = claim.path.join(RESULTS);
        let rows = match path.exists() {
            true => Rows::open(&path, columns, None)?,
            false => Rows::create(&path, columns)?,
        };
        Ok(Sweep {
            claim,
            name: study.name().to_string(),
            names,
            measures,
            seeds,
            points,
            rows,
        })
    }

    /// Rows of the whole design.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether the design has no points, which no design has.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Evaluates what has not been evaluated. The observer is told the number of rows and the best cost after each. The summary is also in
    /// the folder.
    pub fn run(
        &mut self,
        problem: &Problem,
        jobs: Option<usize>,
        stop: Option<&AtomicBool>,
        observer: &mut (dyn FnMut(usize, Option<f64>) + Send),
    ) -> Result<StudySummary, StudyError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.unwrap_or(0))
            .build()
            .map_err(|e| StudyError::io("start threads for", &self.claim.path)(std::io::Error::other(e)))?;
        let mut counts = Counts::default();
        let mut best: Option<Best> = None;
        let mut take = |k: usize, parameters: &[f64], seeds: &[u64], evaluation: &Evaluation| {
            counts.add(evaluation);
            let counted = !evaluation.outcome.is_failure() && evaluation.outcome != Outcome::Hopeless;
            if counted && best.as_ref().is_none_or(|b| evaluation.cost < b.cost) {
                best = Some(Best {
                    cost: evaluation.cost,
                    evaluation: k as u64 + 1,
                    generation: 0,
                    parameters: parameters.to_vec(),
                    seeds: seeds.to_vec(),
                    measures: evaluation.measures.clone(),
                    validated: false,
                });
            }
            best.as_ref().map(|b| b.cost)
        };
        let key = |k: usize| vec![(k + 1).to_string()];
        let mut first = 0;
        while first < self.points.len() {
            let Some(evaluation) = self.rows.take(&key(first), &self.points[first])? else {
                break;
            };
            take(first, &self.points[first], &self.seeds, &evaluation);
            first += 1;
        }
        let jobs: Vec<Job> = (self.points[first..].iter())
            .map(|p| Job {
                parameters: p.clone(),
                seeds: self.seeds.clone(),
                hopeless_above: None,
            })
            .collect();
        let mut error = None;
        let measures = self.measures.len();
        let rows = &mut self.rows;
        let whole = evaluate_all(&jobs, problem, &pool, stop, &mut |i, evaluation| {
            let row = Row::new(key(first + i), evaluation, jobs[i].parameters.clone(), measures);
            if let Err(e) = rows.push(&row) {
                error = Some(e);
                return false;
            }
            let best = take(first + i, &row.parameters, &jobs[i].seeds, &row.evaluation);
            observer(first + i + 1, best);
            true
        });
        if let Some(error) = error {
            return Err(error);
        }
        self.rows.sync()?;
        let summary = StudySummary {
            stopped_by: if whole { "design" } else { "interrupt" },
            ..StudySummary::new(&self.name, best.as_ref(), &counts, &self.measures, &self.names)
        };
        if whole {
            if let Some(best) = &best {
                let comment = format!(
                    "Sweep {}: row {} of results.csv.\nScore: {}",
                    self.name, best.evaluation, best.cost
                );
                let text = problem.experiment_text(&best.parameters, &best.seeds, &comment)?;
                self.replace("best.toml", text.as_bytes())?;
            }
            self.replace("summary.json", summary.to_json().as_bytes())?;
        }
        Ok(summary)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StudyError> {
        let path = self.claim.path.join(name);
        write_replacing(&path, bytes, true).map_err(StudyError::io("write", &path))
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.claim.path
    }
}
