//! `ambler bench`.

use clap::{Args, ValueEnum};

use super::Verdict;
use super::print::{Failure, note, out};
use super::run::ExperimentArguments;
use crate::experiment::spec::EngineName;
use crate::experiment::{BenchError, bench as measure};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engines {
    Articulated,
    Rapier,
    Both,
}

#[derive(Args, Debug)]
pub(super) struct BenchArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// Engine to measure; the experiment's own if not given
    #[arg(long)]
    engine: Option<Engines>,
    /// Worlds simulated side by side
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(super) fn bench(arguments: &BenchArguments) -> Result<Verdict, Failure> {
    let loaded = arguments.experiment.load()?;
    let engines = match arguments.engine {
        None => vec![loaded.spec.engine],
        Some(Engines::Articulated) => vec![EngineName::Articulated],
        Some(Engines::Rapier) => vec![EngineName::Rapier],
        Some(Engines::Both) => vec![EngineName::Articulated, EngineName::Rapier],
    };
    if !arguments.json {
        note("settling, then measuring; close what else is running for steady numbers");
    }
    let results = measure(&loaded, &engines, arguments.threads.into()).map_err(|error| match error {
        BenchError::Experiment(error) => Failure::from(error),
        error @ BenchError::Step { .. } => Failure {
            code: 1,
            message: error.to_string(),
            hint: Some("the experiment does not run to its end on this engine; see `ambler run`".into()),
        },
    })?;
    let ratio = match &results[..] {
        [(_, a), (_, b)] => Some(b.us_per_step_median / a.us_per_step_median),
        _ => None,
    };
    if arguments.json {
        let mut json = serde_json::Map::new();
        json.insert("experiment".into(), loaded.spec.name.clone().into());
        json.insert("threads".into(), arguments.threads.into());
        json.insert("rate_hz".into(), loaded.spec.rate_hz.into());
        for (engine, speed) in &results {
            json.insert(
                engine.name().into(),
                serde_json::to_value(speed).map_err(Failure::input)?,
            );
        }
        json.insert("rapier_over_articulated".into(), ratio.into());
        out(serde_json::to_string_pretty(&json).map_err(Failure::input)?);
        return Ok(Verdict::Good);
    }
    for (engine, s) in &results {
        out(format!(
            "{}: {:.2} us per step (median; 5th percentile {:.2}), {:.0} steps/s, {:.0} times real time at {} Hz, {} thread(s)",
            engine.name(),
            s.us_per_step_median,
            s.us_per_step_p5,
            s.steps_per_s,
            s.real_time_factor,
            loaded.spec.rate_hz,
            arguments.threads
        ));
        let p = &s.parts_us;
        out(format!(
            "  of a timed pass, mean us per step: {}, control {:.2}, states {:.2}",
            match engine {
                EngineName::Articulated => format!(
                    "collision {:.2}, dynamics {:.2}, contacts {:.2}, other {:.2}",
                    p.collision, p.dynamics, p.contacts, p.other
                ),
                // what rapier does inside of its step cannot be told apart
                EngineName::Rapier => format!("rapier's step {:.2}, other {:.2}", p.dynamics, p.other),
            },
            p.control,
            p.states
        ));
    }
    if let Some(ratio) = ratio {
        out(format!("rapier takes {ratio:.1} times as long as articulated"));
    }
    Ok(Verdict::Good)
}
