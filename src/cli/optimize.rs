//! `ambler optimize`: a study from its file to its folder, or on from where it was.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::Verdict;
use super::print::{Failure, note, out};
use super::run::{run_experiment_into, stop_on_signal};
use crate::optimize::ProblemError;
use crate::optimize::study::{
    Claim, LoadedStudy, Options, ProblemFiles, Progress, STUDY, Study, StudyError, StudySummary,
};
use crate::optimize::sweep::{SWEEP, points};

/// What studies and sweeps are called with.
#[derive(Debug, Args)]
pub struct StudyArguments {
    /// Study file (TOML); a sweep needs a [sweep] table in it
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub study: Option<PathBuf>,
    /// Folder for the results, new or empty; studies/NAME-N or sweeps/NAME-N if not given
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Go on in this folder
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Threads; one per core if not given. The result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct OptimizeArguments {
    #[command(flatten)]
    pub study: StudyArguments,
    /// In place of the study's budget of evaluations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_evaluations: Option<u64>,
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Failure {
        match error {
            ProblemError::Experiment(error) => error.into(),
            error => Failure::input(error).with_hint("docs/study_format.md lists every key of a study"),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Failure {
        if error.is_of_machine() {
            return Failure::failed(error)
                .with_hint("what was written is kept; `ambler optimize --resume` goes on from there");
        }
        match error {
            StudyError::Problem(error) => error.into(),
            error => Failure::input(error),
        }
    }
}

pub(super) fn optimize(arguments: &OptimizeArguments) -> Result<Verdict, Failure> {
    let stop = stop_on_signal();
    let claim = match (&arguments.study.resume, &arguments.study.study) {
        (Some(folder), _) => {
            // a folder that is none must not get a lock
            LoadedStudy::of_folder(folder, STUDY)?;
            Claim::lock(folder)?
        }
        (None, Some(file)) => {
            let most = arguments.max_evaluations;
            begin_folder(file, STUDY, arguments.study.out.as_deref(), Path::new("studies"), most)?
        }
        (None, None) => return Err(Failure::input("expected a study file, or --resume DIR")),
    };
    let folder = claim.path.clone();
    // from here on a study that begins and one that goes on are the same
    let mut loaded = LoadedStudy::of_folder(&folder, STUDY)?;
    let problem = loaded.problem()?;
    let mut setup = loaded.setup(&problem)?;
    setup.budget.evaluations = arguments.max_evaluations.or(setup.budget.evaluations);
    let function = loaded.function_bytes(&problem)?;
    let mut study = Study::begin(claim, &setup, &problem, &function)?;
    if let Some(most) = arguments.max_evaluations {
        let known = study.evaluations();
        if loaded.spec.budget.evaluations != Some(most) && most <= known {
            return Err(Failure::input(format!(
                "--max-evaluations is {most}, and the study has made {known} already; expected more"
            )));
        }
        loaded.extend(&folder, most)?;
    }
    if arguments.study.resume.is_some() && !arguments.study.quiet {
        note(format!("going on after {} evaluations", study.evaluations()));
    }
    let options = Options {
        jobs: arguments.study.jobs.map(usize::from),
        stop: Some(stop),
        texts: Some(&problem),
        ..Options::default()
    };
    let mut display = Display::new(arguments.study.quiet, setup.budget.evaluations, setup.budget.time_s);
    let mut made = 0;
    let summary = study.run(&problem, &options, &mut |progress| {
        made = progress.made;
        display.show(progress);
    });
    display.finish();
    let summary = summary?;
    if made == 0 && summary.stopped_by == "budget" {
        note("this study had ended; --max-evaluations with a larger number lets it go on");
    }
    let best_ran = summary.best_cost.is_some() && summary.stopped_by != "interrupt";
    if best_ran {
        run_experiment_into(&folder.join("best.toml"), &folder.join("best"))?;
    }
    if arguments.study.json {
        out(summary.to_json().trim_end());
    } else {
        print_summary(&summary, &folder);
    }
    if summary.stopped_by == "interrupt" {
        note(format!(
            "interrupted; `ambler optimize --resume {}` goes on",
            folder.display()
        ));
        return Ok(Verdict::Bad);
    }
    match summary.best_cost {
        Some(_) => Ok(Verdict::Good),
        None => {
            note(
                "no evaluation gave a result: the reasons are above; check the experiment with its initial values by `ambler run`",
            );
            Ok(Verdict::Bad)
        }
    }
}

/// A folder with everything that a study or sweep is made of; `name` is what its own file is called there, `most` replaces the budget.
pub(super) fn begin_folder(
    file: &Path,
    name: &'static str,
    out: Option<&Path>,
    base: &Path,
    most: Option<u64>,
) -> Result<Claim, Failure> {
    let mut loaded = LoadedStudy::read(file)?;
    loaded.spec.budget.evaluations = most.or(loaded.spec.budget.evaluations);
    let problem = loaded.problem()?;
    let setup = loaded.setup(&problem)?;
    if name == SWEEP {
        points(&loaded, &setup, &problem)?;
    }
    let files = ProblemFiles::new(&loaded, &problem, name)?;
    for warning in problem.warnings() {
        note(format!("warning: {warning}"));
    }
    let claim = match out {
        Some(path) => Claim::new(path)?,
        None => Claim::numbered(base, loaded.name())?,
    };
    files.write(&claim.path)?;
    Ok(claim)
}

/// Tells how far a study is: a bar on a terminal, a line now and then otherwise.
pub(super) struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    evaluations: Option<u64>,
    time_s: Option<f64>,
    began: Instant,
    shown: Option<Instant>,
}

impl Display {
    pub fn new(quiet: bool, evaluations: Option<u64>, time_s: Option<f64>) -> Display {
        let bar = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{bar:30} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Display {
            bar,
            quiet,
            evaluations,
            time_s,
            began: Instant::now(),
            shown: None,
        }
    }

    pub fn show(&mut self, p: &Progress) {
        let pause = match self.bar {
            Some(_) => Duration::from_millis(100),
            None => Duration::from_secs(10),
        };
        let now = Instant::now();
        if self.quiet || now - self.shown.unwrap_or(self.began) < pause {
            return;
        }
        self.shown = Some(now);
        let elapsed = (now - self.began).as_secs_f64();
        let rate = p.made as f64 / elapsed.max(1e-9);
        let by_evaluations = (self.evaluations).map(|most| most.saturating_sub(p.evaluations) as f64 / rate.max(1e-9));
        let by_time = self.time_s.map(|most| (most - elapsed).max(0.0));
        let left = match (by_evaluations, by_time) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let number = |v: Option<f64>| v.map_or("none yet".to_string(), |v| format!("{v:.6}"));
        let mut text = match p.generation {
            // a sweep has none
            0 => format!("{} evaluations: best {}, {rate:.1}/s", p.evaluations, number(p.best)),
            generation => format!(
                "{} evaluations, generation {generation}: best {}, median {}, sigma {:.3}, {rate:.1}/s",
                p.evaluations,
                number(p.best),
                number(p.median),
                p.sigma
            ),
        };
        if p.failures > 0 {
            text += &format!(", {} failed", p.failures);
        }
        if let Some(left) = left {
            let seconds = left.round() as u64;
            text += &format!(", {}:{:02}:{:02} left", seconds / 3600, seconds / 60 % 60, seconds % 60);
        }
        match &self.bar {
            Some(bar) => {
                if let Some(left) = left {
                    bar.set_position((1000.0 * elapsed / (elapsed + left).max(1e-9)) as u64);
                }
                bar.set_message(text);
            }
            None => note(text),
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

pub(super) fn print_summary(s: &StudySummary, folder: &Path) {
    let row = |name: &str, value: String| out(format!("  {name:<14} {value}"));
    let generations = match s.generations {
        0 => String::new(),
        n => format!(" in {n} generations"),
    };
    out(format!("{}: {} evaluations{generations}", s.name, s.evaluations));
    match (s.best_cost, s.best_evaluation) {
        (Some(cost), Some(number)) => {
            let how = if s.validated { ", a validated mean" } else { "" };
            row("best", format!("{cost} (evaluation {number}{how})"));
        }
        _ => row("best", "none: every evaluation failed".into()),
    }
    for (name, value) in &s.measures {
        row("", format!("{name} {value}"));
    }
    row(
        "stopped by",
        format!("{}, {} restarts", s.stopped_by.replace('_', " "), s.restarts),
    );
    let outcomes: Vec<String> = (s.outcomes.iter())
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    row("outcomes", outcomes.join(", "));
    for failure in s.failures.iter().take(5) {
        row(
            "",
            format!("{} times {}: {}", failure.count, failure.outcome, failure.reason),
        );
    }
    row("folder", folder.display().to_string());
}
