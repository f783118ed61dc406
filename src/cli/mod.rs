//! Argument parsing and printing.
//!
//! In: the command line. Out: text on standard output (results) and standard error (everything else), and an exit code:
//! 0 done, 1 the thing asked for failed (fell, diverged, check failed), 2 bad input. A reader that closes the pipe early is
//! no error; output that cannot be written is a failure.

mod bench;
mod character;
mod check;
mod evaluate;
mod optimize;
mod print;
mod progress;
#[cfg(feature = "viewer")]
mod render;
mod report;
mod run;
mod sweep;
#[cfg(feature = "viewer")]
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use print::Failure;

#[derive(Debug, Parser)]
#[command(name = "ambler", version, about = "Physics-based character control: ragdolls that track motion", long_about = None)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an experiment into a run folder and sum it up
    Run(run::RunArguments),
    /// Look for mistakes in characters, experiments, studies, BVH files and clips
    Check(check::CheckArguments),
    /// Make characters
    #[command(subcommand)]
    Character(character::CharacterCommand),
    /// Measure how fast an experiment is simulated
    Bench(bench::BenchArguments),
    /// Search for good parameters of an experiment by CMA-ES; may be killed and resumed at any time
    Optimize(optimize::OptimizeArguments),
    /// Run an experiment over a grid or a random design of its parameters
    Sweep(optimize::StudyArguments),
    /// Evaluate one vector of parameters of a study
    Evaluate(evaluate::EvaluateArguments),
    /// Write a page with the plots of one run, or of several compared
    Report(report::ReportArguments),
    /// Draw pictures of an experiment or of a run folder: PNG, contact sheet, GIF, frames
    #[cfg(feature = "viewer")]
    Render(Box<render::RenderArguments>),
    /// Watch an experiment live, or play back a run folder, in a window
    #[cfg(feature = "viewer")]
    View(Box<view::ViewArguments>),
}

/// Done, or done with a result that counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad,
}

/// Where nobody is logged in (containers, CI), Mesa's chooser among several graphics cards prints errors about a missing
/// `XDG_RUNTIME_DIR` that are none; there is nothing to choose.
#[cfg(feature = "viewer")]
fn quiet_drivers() {
    let unset = |name: &str| std::env::var_os(name).is_none();
    if cfg!(target_os = "linux") && unset("XDG_RUNTIME_DIR") && unset("NODEVICE_SELECT") {
        // SAFETY: the program has only this thread yet
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// What `ambler` does with the arguments it was called with.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // help and version are no mistakes; a closed pipe is not one either
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let result = match &arguments.command {
        Command::Run(a) => run::run(a),
        Command::Check(a) => check::check(a),
        Command::Character(a) => character::character(a),
        Command::Bench(a) => bench::bench(a),
        Command::Optimize(a) => optimize::optimize(a),
        Command::Sweep(a) => sweep::sweep(a),
        Command::Evaluate(a) => evaluate::evaluate(a),
        Command::Report(a) => report::report(a),
        #[cfg(feature = "viewer")]
        Command::Render(a) => {
            quiet_drivers();
            render::render(a)
        }
        #[cfg(feature = "viewer")]
        Command::View(a) => {
            quiet_drivers();
            view::view(a)
        }
    };
    match result {
        Ok(Verdict::Good) if print::output_lost() => ExitCode::from(1),
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::from(1),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}
