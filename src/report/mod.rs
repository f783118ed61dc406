//! What a run folder shows: figures for papers and one page to read.
//!
//! In: run folders. Out: figures as SVG and PNG, and an HTML page that needs no other file, no network and no script. The same
//! folders give the same bytes. Knows nothing of the command line and does not simulate.
//!
//! ```text
//! folders → Run (read) → Figure (figures: panels, curves → Drawing) → SVG (svg), PNG (png) → page (html)
//! ```
//!
//! A figure that cannot be made is no error: [`Report::missing`] says which and why.

mod axes;
mod compare;
mod drawing;
mod figures;
mod font;
mod html;
mod png;
mod read;
mod strip;
mod svg;
mod table;

use std::path::{Path, PathBuf};

pub use drawing::{Anchor, Dash, Drawing, Ink, Mark, Stroke};
pub use html::MARKER;
pub use read::{CharacterRun, Run};
pub use strip::{Strip, StripError, strip};
pub use svg::MARKER as SVG_MARKER;
pub use table::Table;

use crate::clip::ClipFileError;
use crate::files::FileError;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{}: found {found}; expected a run folder, as made by `ambler run`", folder.display())]
    NotARun { folder: PathBuf, found: &'static str },
    #[error(
        "{}: the run folder holds no results (summary.json, metrics.csv and motion.clip are missing): the run is still going or \
         was killed; wait for it, or repeat it with `ambler run {}`",
        folder.display(), folder.join("experiment.toml").display()
    )]
    NoResults { folder: PathBuf },
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}; the file is damaged: repeat the run, or remove the file for a report without it", path.display())]
    Damaged { path: PathBuf, message: String },
    #[error("{0}; repeat the run, or remove the file for a report without it")]
    Clip(Box<ClipFileError>),
    #[error(transparent)]
    File(FileError),
    #[error("no run folder was given")]
    NoRuns,
}

/// A picture of one aspect of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// For file names: `tracking_error`, or `tracking_error_anna` where there are several characters.
    pub name: String,
    pub title: String,
    /// What is seen and how it was measured.
    pub caption: String,
    pub drawing: Drawing,
}

impl Figure {
    /// SVG as a file of its own, on white.
    pub fn svg(&self) -> String {
        svg::to_svg(&self.drawing, &self.title, svg::Place::File)
    }

    /// PNG on white with `scale` pixels to the unit of the drawing; 2 is 192 to the inch.
    ///
    /// Errors: a picture too large to be painted.
    pub fn png(&self, scale: u32) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        png::to_png(&self.drawing, scale)
    }
}

/// A figure that could not be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    pub title: String,
    pub why: String,
}

/// Some runs and their figures.
#[derive(Debug)]
pub struct Report {
    runs: Vec<Run>,
    figures: Vec<Figure>,
    missing: Vec<Missing>,
}

impl Report {
    /// Reads run folders and draws their figures.
    ///
    /// Errors: a folder that is no run folder or holds no results, and files that are damaged.
    pub fn read<P: AsRef<Path>>(folders: &[P]) -> Result<Report, ReportError> {
        if folders.is_empty() {
            return Err(ReportError::NoRuns);
        }
        let mut runs = Vec::new();
        for folder in folders {
            runs.push(Run::read(folder.as_ref())?);
        }
        read::tell_apart(&mut runs);
        let (figures, missing) = figures::all(&runs);
        Ok(Report { runs, figures, missing })
    }

    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// Figures that could not be made, and why.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// The page.
    pub fn html(&self) -> String {
        html::page(self)
    }
}

/// Whether the file is a page or a picture that a report has written, and may be written again.
pub fn is_ours(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|f| f.take(256).read_to_end(&mut start));
    let has = |marker: &[u8]| start.windows(marker.len()).any(|w| w == marker);
    read.is_ok() && (has(MARKER.as_bytes()) || has(SVG_MARKER.as_bytes()) || has(png::MARKER))
}
