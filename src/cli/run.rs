//! `ambler run`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};

use super::Verdict;
use super::print::{Failure, note, out};
use super::progress::Progress;
use crate::experiment::spec::{CharacterSpec, FitSpec, MotionSpec, Spec, UpAxis};
use crate::experiment::{
    CombineSpec, ExperimentError, LoadedSpec, Observer, Prepared, RunFolder, RunOptions, RunOutcome, Scenario,
    Simulation, StoppedBy, Summary, TotalScore, read_run_motion,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Up {
    #[value(name = "Y", alias = "y")]
    Y,
    #[value(name = "Z", alias = "z")]
    Z,
}

impl From<Up> for UpAxis {
    fn from(up: Up) -> UpAxis {
        match up {
            Up::Y => UpAxis::Y,
            Up::Z => UpAxis::Z,
        }
    }
}

/// What to change in an experiment before it is used.
#[derive(Args, Clone, Debug)]
pub(super) struct ExperimentArguments {
    /// Experiment file (TOML)
    pub experiment: PathBuf,
    /// Replace the motion of the (first) character, for the length of the new one; unless --character is given, a character
    /// is fitted to its skeleton
    #[arg(long, value_name = "FILE.bvh")]
    pub motion: Option<PathBuf>,
    /// Metres per unit of the motion: 0.01 for centimetres
    #[arg(long, requires = "motion")]
    pub scale: Option<f64>,
    /// Axis that points up in the motion
    #[arg(long, requires = "motion")]
    pub up: Option<Up>,
    /// Replace the (first) character
    #[arg(long, value_name = "FILE.toml")]
    pub character: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Change a value of the experiment: controller.kp_scale=0.5, props.0.mass=2, engine=rapier (repeatable)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub experiment: ExperimentArguments,
    /// Run folder; runs/NAME-N if not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the run that is in --out
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl ExperimentArguments {
    /// A run that is over cannot be changed.
    #[cfg(feature = "viewer")]
    pub(super) fn refuse_changes(&self) -> Result<(), Failure> {
        let flag = match self {
            _ if self.motion.is_some() => "--motion",
            _ if self.character.is_some() => "--character",
            _ if self.seed.is_some() => "--seed",
            _ if !self.sets.is_empty() => "--set",
            _ => return Ok(()),
        };
        Err(Failure::input(format!(
            "{flag} changes an experiment, and {} is the folder of a run that is over",
            self.experiment.display()
        ))
        .with_hint("its experiment.toml can be changed and run again"))
    }

    /// The experiment as the command line wants it, every path still to be opened.
    pub(super) fn load(&self) -> Result<LoadedSpec, Failure> {
        self.load_experiment()
            .map_err(|failure| match is_study(&self.experiment) {
                true => Failure::input(format!("{} is a study, not an experiment", self.experiment.display()))
                    .with_hint(
                        "`ambler optimize` searches, `ambler sweep` sweeps, `ambler evaluate` makes one evaluation",
                    ),
                false => failure,
            })
    }

    fn load_experiment(&self) -> Result<LoadedSpec, Failure> {
        let mut sets = self.sets.clone();
        if let Some(seed) = self.seed {
            sets.push(format!("seed={seed}"));
        }
        if self.motion.is_none() && self.character.is_none() {
            return Ok(LoadedSpec::read(&self.experiment, &sets)?);
        }
        let length = match &self.motion {
            Some(motion) => Some(
                read_run_motion(motion, self.scale, self.up.map(UpAxis::from))?
                    .0
                    .duration(),
            ),
            None => None,
        };
        let change = |spec: &mut Spec| {
            // the whole motion and no more: holding its last frame would be measured as bad tracking
            if let Some(length) = length.filter(|l| *l > 0.0) {
                spec.duration_s = length;
            }
            // the motion of the only character may stand at the top level or in its table
            let single = spec.characters.is_empty();
            let actor: &mut CharacterSpec = match (&mut spec.character, spec.characters.first_mut()) {
                (Some(character), _) => character,
                (None, Some(first)) => first,
                (None, None) => spec.character.insert(CharacterSpec::new()),
            };
            if let Some(motion) = &self.motion {
                let place = match actor.motion {
                    Some(_) => &mut actor.motion,
                    None if single => &mut spec.motion,
                    None => &mut actor.motion,
                };
                // the old motion's loop, start and speed are about the old motion
                *place = Some(MotionSpec {
                    file: absolute(motion),
                    scale: self.scale,
                    up: self.up.map(UpAxis::from),
                    looped: None,
                    start_s: 0.0,
                    speed: 1.0,
                });
                actor.file = None;
                actor.fit = Some(FitSpec {
                    mass_kg: actor.fit.as_ref().and_then(|f| f.mass_kg),
                    ..FitSpec::default()
                });
            }
            if let Some(file) = &self.character {
                actor.file = Some(absolute(file));
                actor.fit = None;
            }
            let fitted = actor.file.is_none();
            let controller = match &mut actor.controller {
                Some(own) => Some(own),
                None => spec.controller.as_mut(),
            };
            if let (Some(controller), true, true) = (controller, fitted, self.motion.is_some()) {
                // a fitted character has the clip's own joints; what is said of other bodies means nothing to it
                controller.joints.clear();
                controller.gains.clear();
                controller.offsets = None;
            }
        };
        Ok(LoadedSpec::read_changed(&self.experiment, Some(&change), &sets)?)
    }
}

/// Whether a file that is no experiment looks like a study.
fn is_study(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse::<toml::Table>()
        .is_ok_and(|t| t.contains_key("parameters") && t.contains_key("experiment"))
}

/// A path of the command line, which is not relative to the experiment.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

pub(super) fn run(arguments: &RunArguments) -> Result<Verdict, Failure> {
    // before there is a folder: a signal at any later moment leaves a run that can be read
    let stop = stop_on_signal();
    let loaded = arguments.experiment.load()?;
    let folder = |prepared: &Prepared| match &arguments.out {
        Some(path) => RunFolder::at(path, arguments.force),
        None => RunFolder::numbered(Path::new("runs"), &prepared.name),
    };
    let show = match arguments.json {
        true => Show::Json,
        false => Show::Text,
    };
    run_loaded(&loaded, &folder, stop, arguments.quiet, show)
}

/// Runs an experiment file and all its scenarios into `folder`, in place of what is there, and says nothing.
pub(super) fn run_experiment_into(file: &Path, folder: &Path) -> Result<Verdict, Failure> {
    let loaded = LoadedSpec::read(file, &[])?;
    run_loaded(
        &loaded,
        &|_| RunFolder::at(folder, true),
        stop_on_signal(),
        true,
        Show::Nothing,
    )
}

/// What is printed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    Text,
    Json,
    Nothing,
}

fn run_loaded(
    loaded: &LoadedSpec,
    folder: &dyn Fn(&Prepared) -> Result<RunFolder, ExperimentError>,
    stop: &'static AtomicBool,
    quiet: bool,
    show: Show,
) -> Result<Verdict, Failure> {
    let scenarios = loaded.scenarios(&[])?;
    let prepared = Prepared::new(loaded)?;
    let mut all = Vec::new();
    if let [Scenario { name, .. }] = &scenarios[..]
        && name.is_empty()
    {
        tell_warnings(&prepared, "", show);
    } else {
        for scenario in scenarios {
            let prepared = Prepared::new(&scenario.loaded)?;
            tell_warnings(&prepared, &format!("{}: ", scenario.name), show);
            all.push((scenario, prepared));
        }
    }
    let mut folder = folder(&prepared)?;
    folder.begin(&prepared)?;
    if all.is_empty() {
        return Ok(run_one(&prepared, &mut folder, stop, quiet, show)?.1);
    }
    run_all(TotalScore::new(loaded), &all, folder, stop, quiet, show)
}

fn tell_warnings(prepared: &Prepared, of: &str, show: Show) {
    for warning in prepared.warnings.iter().filter(|_| show != Show::Nothing) {
        note(format!("warning: {of}{warning}"));
    }
}

/// Runs an experiment into its folder and shows what came of it.
fn run_one(
    prepared: &Prepared,
    folder: &mut RunFolder,
    stop: &'static AtomicBool,
    quiet: bool,
    show: Show,
) -> Result<(RunOutcome, Verdict), Failure> {
    let options = RunOptions {
        metrics: true,
        motion: true,
        stop: Some(stop),
        give_up_above: None,
    };
    let mut watch = Watch {
        progress: Progress::new(0.0, prepared.spec.duration_s, "simulated", quiet),
        next_look: 0,
    };
    let (outcome, written) = folder.run(prepared, &options, &mut watch);
    watch.progress.finish();
    match show {
        Show::Text => print_summary(&outcome.summary, &folder.path),
        Show::Json => out(outcome.summary.to_json().trim_end()),
        Show::Nothing => {}
    }
    written.map_err(|error| {
        Failure::failed(format!("not all results could be written: {error}"))
            .with_hint("what could be is in the run folder, without a summary.json; make room and run it again")
    })?;
    let verdict = verdict(prepared, &outcome)?;
    Ok((outcome, verdict))
}

/// Runs every scenario into a folder of its own inside of `folder`, and takes their scores together.
fn run_all(
    mut total: TotalScore,
    scenarios: &[(Scenario, Prepared)],
    mut folder: RunFolder,
    stop: &'static AtomicBool,
    quiet: bool,
    show: Show,
) -> Result<Verdict, Failure> {
    let mut bad = Verdict::Good;
    for (scenario, prepared) in scenarios {
        let mut inside = folder.inside(&scenario.folder)?;
        inside.begin(prepared)?;
        // one document for all
        let each = if show == Show::Json { Show::Nothing } else { show };
        let (outcome, verdict) = run_one(prepared, &mut inside, stop, quiet, each)?;
        if verdict == Verdict::Bad {
            bad = Verdict::Bad;
        }
        if outcome.summary.stopped_by == Some(StoppedBy::Interrupt) {
            return Ok(Verdict::Bad);
        }
        total.add(scenario, &outcome);
    }
    total.finish();
    folder.finish_scenarios(&total)?;
    match show {
        Show::Text => print_total(&total, &folder.path),
        Show::Json => out(total.to_json().trim_end()),
        Show::Nothing => {}
    }
    Ok(bad)
}

fn print_total(total: &TotalScore, folder: &Path) {
    out(format!("{}: {} scenarios", total.name, total.scenarios.len()));
    for scenario in &total.scenarios {
        let fell = scenario
            .fell_at_s
            .map(|t| format!(", fell at {t:.2} s"))
            .unwrap_or_default();
        out(format!("  {:<24} cost {}{fell}", scenario.name, scenario.score.cost));
    }
    if let Some(cost) = total.cost {
        let how = match total.combine {
            CombineSpec::Mean => "mean",
            CombineSpec::Worst => "worst",
        };
        out(format!("  {:<24} {cost} ({how} of all scenarios)", "score"));
    }
    out(format!("  {:<24} {}", "folder", folder.display()));
}

/// A fall, an error and an interrupt are failures, unless the experiment says that a fall is not.
fn verdict(prepared: &Prepared, outcome: &RunOutcome) -> Result<Verdict, Failure> {
    if let Some(error) = &outcome.error {
        return Err(Failure::failed(error).with_hint(
            "the run folder holds everything up to that time; a smaller step (rate_hz) or softer gains may help",
        ));
    }
    let fell = outcome.summary.fell_at_s.is_some() && prepared.spec.fall.fails;
    Ok(match fell || outcome.summary.stopped_by == Some(StoppedBy::Interrupt) {
        true => Verdict::Bad,
        false => Verdict::Good,
    })
}

/// A flag that Ctrl-C (and a terminate signal) raises; the second time the process ends at once.
pub(super) fn stop_on_signal() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    // in a process that has a handler already, that one decides
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &STOP
}

/// Looks at a run every so many steps: that costs nothing that could be measured.
struct Watch {
    progress: Progress,
    next_look: u64,
}

impl Observer for Watch {
    fn after_step(&mut self, simulation: &Simulation) {
        let steps = simulation.engine.steps();
        if steps >= self.next_look {
            self.next_look = steps + 64;
            self.progress.at(simulation.engine.time());
        }
    }
}

/// A dozen lines for people.
fn print_summary(s: &Summary, folder: &Path) {
    let ending = match (s.stopped_by, s.fell_at_s) {
        (Some(StoppedBy::Error), _) => format!("stopped by an error at {:.3} s", s.duration_s),
        (Some(StoppedBy::Hopeless), _) => format!("given up at {:.3} s", s.duration_s),
        (Some(StoppedBy::Interrupt), _) => format!("interrupted at {:.3} s", s.duration_s),
        (_, Some(t)) => format!("fell at {t:.2} s of {:.2} s", s.duration_s),
        (_, None) => format!("{:.2} s without a fall", s.duration_s),
    };
    out(format!("{}: {ending}", s.name));
    let row = |name: &str, value: String| out(format!("  {name:<16} {value}"));
    row("engine", format!("{} at {} Hz, {} steps", s.engine, s.rate_hz, s.steps));
    let worst = s.tracking_error_worst_joint.as_ref();
    row(
        "tracking error",
        match worst {
            Some(joint) => format!(
                "{:.2} deg mean, worst {joint} {:.2} deg",
                s.tracking_error_mean_deg, s.tracking_error_worst_joint_deg
            ),
            None => "no joints".into(),
        },
    );
    row("root error", format!("{:.1} mm mean", 1e3 * s.root_error_mean_m));
    row("foot slip", format!("{:.2} mm at most", 1e3 * s.foot_slip_m));
    row("penetration", format!("{:.2} mm at most", 1e3 * s.max_penetration_m));
    row(
        "torque limits",
        format!("reached in {:.1} % of the steps", 100.0 * s.saturated_share),
    );
    row("outside help", help_in_words(s));
    row(
        "speed",
        format!(
            "{:.1} times real time, {:.1} us per step",
            s.real_time_factor, s.us_per_step
        ),
    );
    if let Some(score) = &s.score {
        for term in &score.terms {
            row("", format!("{} {:.6}, cost {:.6}", term.name, term.value, term.cost));
        }
        row("score", format!("{}", score.cost));
    }
    row("state hash", s.state_hash.clone());
    row("folder", folder.display().to_string());
}

fn help_in_words(s: &Summary) -> String {
    if s.assist_impulse_ns == 0.0 && s.assist_angular_impulse_nms == 0.0 {
        return "none: every force came from joints and contacts".into();
    }
    let mass: f64 = s.characters.iter().map(|c| c.mass_kg).sum();
    let share = s.assist_impulse_ns / (mass * 9.81 * s.duration_s.max(1e-9));
    format!(
        "{:.1} N s and {:.1} N m s at the root, on average {:.1} % of the body weight",
        s.assist_impulse_ns,
        s.assist_angular_impulse_nms,
        100.0 * share
    )
}
