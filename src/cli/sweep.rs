//! `ambler sweep`: an experiment over a design of its parameters.

use std::path::Path;

use super::Verdict;
use super::optimize::{Display, StudyArguments, begin_folder, print_summary};
use super::print::{Failure, note, out};
use super::run::stop_on_signal;
use crate::optimize::study::{Claim, LoadedStudy, Progress};
use crate::optimize::sweep::{SWEEP, Sweep};

pub(super) fn sweep(arguments: &StudyArguments) -> Result<Verdict, Failure> {
    let stop = stop_on_signal();
    let claim = match (&arguments.resume, &arguments.study) {
        (Some(folder), _) => {
            // a folder that is none must not get a lock
            LoadedStudy::of_folder(folder, SWEEP)?;
            Claim::lock(folder)?
        }
        (None, Some(file)) => begin_folder(file, SWEEP, arguments.out.as_deref(), Path::new("sweeps"), None)?,
        (None, None) => return Err(Failure::input("expected a study file with [sweep], or --resume DIR")),
    };
    let loaded = LoadedStudy::of_folder(&claim.path, SWEEP)?;
    let problem = loaded.problem()?;
    let mut sweep = Sweep::begin(claim, &loaded, &problem)?;
    let mut display = Display::new(arguments.quiet, Some(sweep.len() as u64), None);
    let mut first = None;
    let result = sweep.run(
        &problem,
        arguments.jobs.map(usize::from),
        Some(stop),
        &mut |rows, best| {
            let before = *first.get_or_insert(rows - 1);
            display.show(&Progress {
                evaluations: rows as u64,
                made: (rows - before) as u64,
                generation: 0,
                restart: 0,
                best,
                median: None,
                sigma: 0.0,
                failures: 0,
            });
        },
    );
    display.finish();
    let summary = result?;
    if arguments.json {
        out(summary.to_json().trim_end());
    } else {
        print_summary(&summary, sweep.folder());
    }
    if summary.stopped_by == "interrupt" {
        note(format!(
            "interrupted; `ambler sweep --resume {}` goes on",
            sweep.folder().display()
        ));
        return Ok(Verdict::Bad);
    }
    Ok(match summary.best_cost {
        Some(_) => Verdict::Good,
        None => Verdict::Bad,
    })
}
