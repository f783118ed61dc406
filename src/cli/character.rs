//! `ambler character`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Verdict;
use super::print::{Failure, note, out};
use super::run::Up;
use crate::experiment::{fit_character, read_motion};
use crate::files::write_atomic;

#[derive(Debug, Subcommand)]
pub(super) enum CharacterCommand {
    /// Build a character for the skeleton of a motion
    Fit(FitArguments),
}

#[derive(Args, Debug)]
pub(super) struct FitArguments {
    /// BVH file or clip
    pub motion: PathBuf,
    /// Where to write the character; standard output if not given
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Kilograms of the whole character
    #[arg(long)]
    pub mass: Option<f64>,
    /// Metres per unit of the file: 0.01 for centimetres
    #[arg(long)]
    pub scale: Option<f64>,
    /// Axis that points up in the file
    #[arg(long)]
    pub up: Option<Up>,
}

pub(super) fn character(command: &CharacterCommand) -> Result<Verdict, Failure> {
    let CharacterCommand::Fit(a) = command;
    let (clip, warnings) = read_motion(&a.motion, a.scale, a.up.map(Into::into))?;
    for warning in warnings {
        note(format!("warning: {warning}"));
    }
    let (character, notes) = fit_character(&clip, a.mass)?;
    for text in notes {
        note(format!("note: {text}"));
    }
    let text = character.to_toml();
    match &a.out {
        Some(path) => {
            write_atomic(path, text.as_bytes()).map_err(Failure::input)?;
            out(format!(
                "{}: {} bodies, {} degrees of freedom, {:.1} kg",
                path.display(),
                character.bodies.len(),
                character.dofs(),
                character.mass()
            ));
        }
        None => out(text.trim_end()),
    }
    Ok(Verdict::Good)
}
