//! What runs and studies show: figures for papers and one page to read.
//!
//! In: folders of runs, studies or sweeps. Out: figures as SVG and PNG, and an HTML page that needs no other file, no network and no script. The same
//! folders give the same bytes. Knows nothing of the command line and does not simulate.
//!
//! ```text
//! folders → Run (read) → Figure (figures: panels, curves → Drawing) → SVG (svg), PNG (png) → page (html)
//!           Study (study/read) → Figure (study) ↗
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
mod scale;
mod strip;
mod study;
mod svg;
mod table;

use std::path::{Path, PathBuf};

pub use drawing::{Anchor, Dash, Drawing, Ink, Mark, Stroke};
pub use html::MARKER;
pub use read::{CharacterRun, Run};
pub use strip::{Strip, StripError, strip};
pub use study::{Parameter, Study};
pub use svg::MARKER as SVG_MARKER;
pub use table::Table;

use crate::clip::ClipFileError;
use crate::files::FileError;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(
        "{}: found {found}; expected a run folder, as made by `ambler run`, or the folder of a study (`ambler optimize`) or of a \
         sweep (`ambler sweep`)", folder.display()
    )]
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
    #[error("{}: {message}; the table is damaged, or belongs to another version of ambler", path.display())]
    Table { path: PathBuf, message: String },
    #[error("{}: there is no {file}, so there is nothing to show; begin with `ambler optimize` or `ambler sweep`", folder.display())]
    NoEvaluations { folder: PathBuf, file: &'static str },
    #[error(
        "{} is the folder of a {first_kind}, {} that of a {other_kind}: they cannot be compared; give folders of one kind",
        first.display(), other.display()
    )]
    Mixed {
        first: PathBuf,
        first_kind: &'static str,
        other: PathBuf,
        other_kind: &'static str,
    },
    #[error("{} sweeps were given; a report is of one sweep", .0)]
    ManySweeps(usize),
    #[error("{0}; repeat the run, or remove the file for a report without it")]
    Clip(Box<ClipFileError>),
    #[error(transparent)]
    File(FileError),
    #[error("no folder was given")]
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

/// What a report is about.
#[derive(Debug)]
enum Subject {
    Runs(Vec<Run>),
    Studies(Vec<Study>),
    Sweep(Box<Study>),
}

/// What a folder is, by the files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Study,
    Sweep,
}

impl Kind {
    fn of(folder: &Path) -> Kind {
        let has = |name: &str| folder.join(name).is_file();
        match () {
            () if has("study.toml") || has("evaluations.csv") => Kind::Study,
            () if has("sweep.toml") || has("results.csv") => Kind::Sweep,
            () => Kind::Run,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Study => "study",
            Kind::Sweep => "sweep",
        }
    }
}

/// Some runs, some studies, or a sweep, and their figures.
#[derive(Debug)]
pub struct Report {
    subject: Subject,
    figures: Vec<Figure>,
    missing: Vec<Missing>,
}

impl Report {
    /// Reads folders and draws their figures: runs, studies, or a sweep.
    ///
    /// Errors: a folder that is neither or holds no results, folders of different kinds, and files that are damaged.
    pub fn read<P: AsRef<Path>>(folders: &[P]) -> Result<Report, ReportError> {
        let folders: Vec<&Path> = folders.iter().map(|f| f.as_ref()).collect();
        let Some(first) = folders.first() else {
            return Err(ReportError::NoRuns);
        };
        let kind = Kind::of(first);
        for other in &folders {
            // what is nothing is said to be nothing, not to be of another kind
            if Kind::of(other) != kind {
                if Kind::of(other) == Kind::Run {
                    Run::read(other)?;
                }
                if kind == Kind::Run {
                    Run::read(first)?;
                }
                return Err(ReportError::Mixed {
                    first: first.to_path_buf(),
                    first_kind: kind.name(),
                    other: other.to_path_buf(),
                    other_kind: Kind::of(other).name(),
                });
            }
        }
        match kind {
            Kind::Run => {
                let mut runs = folders.iter().map(|f| Run::read(f)).collect::<Result<Vec<_>, _>>()?;
                read::tell_apart(&folders, &mut runs.iter_mut().map(|r| &mut r.label).collect::<Vec<_>>());
                let (figures, missing) = figures::all(&runs);
                Ok(Report {
                    subject: Subject::Runs(runs),
                    figures,
                    missing,
                })
            }
            Kind::Study => {
                let mut studies = folders.iter().map(|f| Study::read(f)).collect::<Result<Vec<_>, _>>()?;
                let mut labels: Vec<&mut String> = studies.iter_mut().map(|s| &mut s.label).collect();
                read::tell_apart(&folders, &mut labels);
                let (figures, missing) = study::figures(&studies);
                Ok(Report {
                    subject: Subject::Studies(studies),
                    figures,
                    missing,
                })
            }
            Kind::Sweep => {
                if folders.len() > 1 {
                    return Err(ReportError::ManySweeps(folders.len()));
                }
                let sweep = Study::read_sweep(first)?;
                let (figures, missing) = study::sweep_figures(&sweep);
                Ok(Report {
                    subject: Subject::Sweep(Box::new(sweep)),
                    figures,
                    missing,
                })
            }
        }
    }

    /// The runs it is about; none if it is about something else.
    pub fn runs(&self) -> &[Run] {
        match &self.subject {
            Subject::Runs(runs) => runs,
            _ => &[],
        }
    }

    /// The studies, or the sweep, it is about; none if it is about runs.
    pub fn studies(&self) -> &[Study] {
        match &self.subject {
            Subject::Runs(_) => &[],
            Subject::Studies(studies) => studies,
            Subject::Sweep(sweep) => std::slice::from_ref(sweep),
        }
    }

    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// Figures that could not be made, and why.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// What is missing in the folders and why, with the folder's name.
    pub fn notes(&self) -> Vec<(&str, &str)> {
        let runs = self.runs().iter().map(|r| (&r.label, &r.notes));
        let studies = self.studies().iter().map(|s| (&s.label, &s.notes));
        runs.chain(studies)
            .flat_map(|(label, notes)| notes.iter().map(|n| (label.as_str(), n.as_str())))
            .collect()
    }

    /// The page.
    pub fn html(&self) -> String {
        match &self.subject {
            Subject::Runs(runs) => html::page(self, runs),
            Subject::Studies(studies) => study::page(self, studies),
            Subject::Sweep(sweep) => study::sweep_page(self, sweep),
        }
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
