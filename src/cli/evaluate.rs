//! `ambler evaluate`: one evaluation of a study, for whoever spreads them over machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Verdict;
use super::print::{Failure, out};
use super::run::stop_on_signal;
use crate::files;
use crate::names::nearest;
use crate::optimize::study::{LoadedStudy, STUDY, Seeds};
use crate::optimize::{Evaluator, Problem, Request};

#[derive(Debug, Args)]
pub struct EvaluateArguments {
    /// Study file (TOML), or the folder of a study
    pub study: PathBuf,
    /// Values of the parameters: TOML with `"name" = value`, or JSON with an object or an array; the study's initial values if not given.
    /// `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Seeds of every scenario, separated by commas; those of the study or experiment if not given
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seeds: Vec<u64>,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What is printed of an evaluation.
#[derive(Serialize)]
struct Report<'a> {
    cost: f64,
    outcome: &'static str,
    reason: Option<&'a str>,
    simulated_s: f64,
    measures: BTreeMap<&'a str, f64>,
    parameters: BTreeMap<&'a str, f64>,
    seeds: &'a [u64],
}

pub(super) fn evaluate(arguments: &EvaluateArguments) -> Result<Verdict, Failure> {
    let stop = stop_on_signal();
    let loaded = match arguments.study.is_dir() {
        true => LoadedStudy::of_folder(&arguments.study, STUDY)?,
        false => LoadedStudy::read(&arguments.study)?,
    };
    let problem = loaded.problem()?;
    let setup = loaded.setup(&problem)?;
    let mut values: Vec<f64> = problem.ranges().iter().map(|r| r.initial).collect();
    if let Some(file) = &arguments.params {
        values = read_parameters(file, &problem, &values)?;
    }
    let seeds = match (&arguments.seeds[..], &setup.seeds) {
        ([], Seeds::List(list)) => list.clone(),
        ([], Seeds::PerGeneration(_)) => {
            return Err(Failure::input(
                "the study takes new seeds in every generation, so an evaluation needs --seeds",
            )
            .with_hint("best.toml in the folder of the study names the seeds of the best evaluation"));
        }
        (seeds, _) => seeds.to_vec(),
    };
    let request = Request {
        seeds: &seeds,
        hopeless_above: None,
        stop: Some(stop),
    };
    let Some(evaluation) = problem.evaluate(&values, &request) else {
        return Err(Failure::failed("interrupted"));
    };
    let names = || problem.places().iter().map(|p| p.name.as_str());
    let report = Report {
        cost: evaluation.cost,
        outcome: evaluation.outcome.name(),
        reason: evaluation.reason.as_deref(),
        simulated_s: evaluation.simulated_s,
        measures: problem
            .measures()
            .iter()
            .map(String::as_str)
            .zip(evaluation.measures.iter().copied())
            .collect(),
        parameters: names()
            .zip((problem.places().iter().zip(&values)).map(|(p, v)| p.round(*v)))
            .collect(),
        seeds: &seeds,
    };
    if arguments.json {
        out(serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
    } else {
        out(format!("cost {}, {}", report.cost, report.outcome));
        if let Some(reason) = report.reason {
            out(format!("  {reason}"));
        }
        for (name, value) in &report.measures {
            out(format!("  {name:<32} {value}"));
        }
    }
    Ok(match evaluation.outcome.is_failure() {
        true => Verdict::Bad,
        false => Verdict::Good,
    })
}

/// Values by name or path, the others as they are in `initial`; or all of them in order.
fn read_parameters(file: &Path, problem: &Problem, initial: &[f64]) -> Result<Vec<f64>, Failure> {
    let (text, name) = match file == Path::new("-") {
        true => (
            std::io::read_to_string(std::io::stdin()).map_err(|e| Failure::input(format!("standard input: {e}")))?,
            "standard input".into(),
        ),
        false => (
            files::read_text(file).map_err(Failure::input)?,
            file.display().to_string(),
        ),
    };
    let error = |message: String| Failure::input(format!("{name}: {message}"));
    let given: BTreeMap<String, f64> = match text.trim_start().chars().next() {
        Some('[') if text.trim_start().starts_with("[") && serde_json::from_str::<Vec<f64>>(&text).is_ok() => {
            let list: Vec<f64> = serde_json::from_str(&text).map_err(|e| error(e.to_string()))?;
            if list.len() != initial.len() {
                return Err(error(format!(
                    "there are {} values for {} parameters",
                    list.len(),
                    initial.len()
                )));
            }
            return Ok(list);
        }
        Some('{') => serde_json::from_str(&text).map_err(|e| error(e.to_string()))?,
        _ => {
            let table: toml::Table = files::parse_toml(&text, &name).map_err(Failure::input)?;
            let mut given = BTreeMap::new();
            for (key, value) in table {
                let number = match value {
                    toml::Value::Float(v) => v,
                    toml::Value::Integer(v) => v as f64,
                    other => return Err(error(format!("`{key}` is a {}; expected a number", other.type_str()))),
                };
                given.insert(key, number);
            }
            given
        }
    };
    let mut values = initial.to_vec();
    for (key, value) in given {
        let at = problem
            .places()
            .iter()
            .position(|p| p.name == key || p.paths.contains(&key));
        let Some(at) = at else {
            let known = problem.places().iter().map(|p| p.name.as_str());
            let meant = nearest(&key, known.clone()).map(|n| format!("; did you mean `{n}`?"));
            let all = || format!("; there are {}", known.collect::<Vec<_>>().join(", "));
            return Err(error(format!(
                "there is no parameter `{key}`{}",
                meant.unwrap_or_else(all)
            )));
        };
        values[at] = value;
    }
    Ok(values)
}
