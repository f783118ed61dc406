//! `ambler report`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Verdict;
use super::print::{Failure, note, out};
use crate::files::write_atomic;
use crate::report::{Report, ReportError, is_ours};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlotFormat {
    Svg,
    Png,
    Both,
}

#[derive(Args, Debug)]
pub(super) struct ReportArguments {
    /// Folders of runs (`ambler run`) or of studies (`ambler optimize`), several are compared; or of a sweep (`ambler sweep`)
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Page to write; FOLDER/report.html if not given, for several folders report.html in the current folder
    #[arg(long, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Also write every plot as a file of its own into this folder
    #[arg(long, value_name = "PLOTS_FOLDER")]
    plots: Option<PathBuf>,
    /// What the plots are written as: PNG has twice as many pixels as the page shows, for print
    #[arg(long, value_name = "FORMAT", requires = "plots", default_value = "svg")]
    format: PlotFormat,
    /// Replace files that no report has written
    #[arg(long)]
    force: bool,
}

/// Pixels of PNGs per unit of the page.
const PRINT: u32 = 2;

pub(super) fn report(arguments: &ReportArguments) -> Result<Verdict, Failure> {
    let page = match (&arguments.out, &arguments.folders[..]) {
        (Some(path), _) => path.clone(),
        (None, [folder]) => folder.join("report.html"),
        (None, _) => PathBuf::from("report.html"),
    };
    let report = Report::read(&arguments.folders).map_err(|error| {
        let hint = match &error {
            ReportError::NotARun { .. } => {
                Some("runs are in `runs/NAME-N` unless --out of `ambler run` said otherwise")
            }
            _ => None,
        };
        let failure = Failure::input(error);
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    // everything is refused or everything is written
    let mut files: Vec<(PathBuf, Vec<u8>)> = vec![(page.clone(), report.html().into_bytes())];
    if let Some(folder) = &arguments.plots {
        for figure in report.figures() {
            let path = |ending: &str| folder.join(format!("{}.{ending}", figure.name));
            if arguments.format != PlotFormat::Png {
                files.push((path("svg"), figure.svg().into_bytes()));
            }
            if arguments.format != PlotFormat::Svg {
                let png = figure.png(PRINT).map_err(|e| Failure {
                    code: 1,
                    message: format!("{}: {e}", path("png").display()),
                    hint: None,
                })?;
                files.push((path("png"), png));
            }
        }
    }
    for (path, _) in &files {
        refuse_foreign(path, arguments.force)?;
    }
    if let Some(folder) = &arguments.plots {
        make_folder(folder)?;
    }
    if let Some(folder) = page.parent().filter(|p| !p.as_os_str().is_empty()) {
        make_folder(folder)?;
    }
    for (path, bytes) in &files {
        write_atomic(path, bytes).map_err(Failure::input)?;
    }
    for (label, text) in report.notes() {
        note(format!("note: {label}: {text}"));
    }
    for missing in report.missing() {
        note(format!("note: no plot `{}`: {}", missing.title, missing.why));
    }
    out(page.display().to_string());
    if let Some(folder) = &arguments.plots {
        out(format!("{}: {} plots", folder.display(), report.figures().len()));
    }
    Ok(Verdict::Good)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::input(format!("cannot make the folder {}: {e}", folder.display())))
}

/// A file that a report has written may be written again, any other one may not.
fn refuse_foreign(path: &Path, force: bool) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(
            Failure::input(format!("{} is a folder; expected a file to write", path.display()))
                .with_hint("--out takes the name of the page, like report.html; --plots takes a folder"),
        );
    }
    if path.exists() && !force && !is_ours(path) {
        return Err(Failure::input(format!(
            "{} exists and was not written by `ambler report`",
            path.display()
        ))
        .with_hint("choose another name with --out or --plots, or pass --force to replace it"));
    }
    Ok(())
}
