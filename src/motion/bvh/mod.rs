//! BVH: the text format that most motion capture comes in.
//!
//! What is read: the hierarchy with any channel order, mixed from joint to joint, 0 to 6 channels; keywords in any
//! case; braces and colons without spaces; CR, LF and CR LF; names with spaces, colons and any script. Rotations are
//! intrinsic in the order of the channels (`Zrotation Xrotation Yrotation` is `Rz Rx Ry`), degrees. A position channel
//! takes the place of that component of the joint's OFFSET; components without a channel keep it. One line of numbers is
//! one frame.
//!
//! What is refused, with the line: several roots, wrong numbers of values, NaN and infinities, fewer frames than the
//! file promises (it has been cut off). More frames than promised are read, with a warning.
//!
//! Imported data is Y up. Data whose up axis is Z is turned by −90 degrees about X, offsets and all, so that the bind
//! pose stands and what faced −Y (as in Blender) faces +Z.

mod parse;
mod write;

use std::path::{Path, PathBuf};

pub use parse::parse;
pub use write::{ExportOptions, to_string, to_string_with, write, write_with};

use crate::clip::{Clip, ClipError};
use crate::files::FileError;
use crate::math::euler::EulerOrder;

/// Which way is up in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UpAxis {
    #[default]
    Y,
    Z,
}

impl std::str::FromStr for UpAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<UpAxis, String> {
        match text {
            "y" | "Y" => Ok(UpAxis::Y),
            "z" | "Z" => Ok(UpAxis::Z),
            _ => Err(format!("`{text}` is not an up axis; expected Y or Z")),
        }
    }
}

/// How to read the file's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportOptions {
    /// Metres per unit of the file: 0.01 for centimetres.
    pub scale: f64,
    pub up: UpAxis,
}

impl Default for ImportOptions {
    fn default() -> Self {
        ImportOptions {
            scale: 1.0,
            up: UpAxis::Y,
        }
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub clip: Clip,
    /// What looks wrong but could be read; each says what to do.
    pub warnings: Vec<String>,
    /// Per joint: the order of its rotation channels if there are three in one of the twelve sequences, for
    /// [`ExportOptions::joint_orders`].
    pub orders: Vec<Option<EulerOrder>>,
}

/// Why a BVH file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BvhError {
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {0}")]
    Write(Box<FileError>),
    #[error("{file}:{line}: expected {expected}, found {found}")]
    Syntax {
        file: String,
        line: usize,
        expected: String,
        found: String,
    },
    #[error("{file}:{line}: `{text}` is not a finite number; expected {expected}")]
    NotFinite {
        file: String,
        line: usize,
        text: String,
        expected: String,
    },
    #[error(
        "{file}:{line}: a second root `{second}` after `{first}`; expected one skeleton: remove the other ROOT, put it into \
         a file of its own, or make it a JOINT below `{first}`"
    )]
    SeveralRoots {
        file: String,
        line: usize,
        first: String,
        second: String,
    },
    #[error(
        "{file}:{line}: frame {frame} has {found} values, expected {expected} (one per channel of the hierarchy, one frame \
         per line); the file may have been cut off or its lines wrapped"
    )]
    FrameWidth {
        file: String,
        line: usize,
        frame: usize,
        found: usize,
        expected: usize,
    },
    #[error(
        "{file}:{line}: the file ends after {found} frames, expected {expected} (from `Frames:`); it seems to have been cut \
         off. If it is whole, write `Frames: {found}`"
    )]
    MissingFrames {
        file: String,
        line: usize,
        found: usize,
        expected: u64,
    },
    #[error(
        "{file}:{line}: {joints} joints times {frames} frames is more than ambler reads ({limit}); cut the file into parts"
    )]
    TooLarge {
        file: String,
        line: usize,
        joints: usize,
        frames: usize,
        limit: usize,
    },
    #[error("{file}: {source}")]
    Clip { file: String, source: ClipError },
    #[error("the scale is {scale}; expected a finite number above 0 (0.01 for centimetres)")]
    Scale { scale: f64 },
    #[error("BVH cannot hold the Euler order {order}; expected three different axes, such as ZXY")]
    Order { order: String },
}

/// Reads a file. The clip is named after it.
///
/// Text that is not UTF-8 is read with a warning; only names can suffer.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, BvhError> {
    let bytes = crate::files::read_bytes(path).map_err(|source| BvhError::Read {
        path: path.to_owned(),
        source,
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut imported = parse(&text, &path.display().to_string(), options)?;
    if matches!(text, std::borrow::Cow::Owned(_)) {
        imported.warnings.push(format!(
            "{}: the text is not UTF-8; characters that could not be read became `\u{fffd}` in joint names",
            path.display()
        ));
    }
    if let Some(stem) = path.file_stem() {
        imported.clip.name = stem.to_string_lossy().into_owned();
    }
    Ok(imported)
}
