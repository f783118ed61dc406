//! The `.clip` container: imported motion, recorded simulations and control trajectories, to the bit.
//!
//! A file holds a skeleton, its joint tracks, named scalar and vector tracks, events and provenance, all sampled at
//! one rate. Every f64 comes back with the bits it was written with.
//!
//! # Layout
//!
//! Little endian throughout. A string is a `u32` length and UTF-8; a count is a `u32`.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | magic `89 41 43 4C 50 0D 0A 1A` (damaged by a transfer as text) |
//! | 4 | version, `u32` |
//! | … | chunks: tag (4 bytes), payload length (`u64`), payload; unknown tags are skipped |
//! | 16 | the chunk `END ` of 4 bytes: CRC-32 of everything before them |
//!
//! Version 2, which is written as its samples come and read segment by segment:
//!
//! | tag | payload |
//! |---|---|
//! | `HEAD` | first; name; up axis `Y`, units `m kg s rad` and quaternion order `xyzw` (strings); rate as samples and seconds (two `u32`, samples per seconds, 0 0 if it is not rational) and frame time (`f64`); looped (`u8`); whether there are poses (`u8`) |
//! | `SKEL` | second; count of joints; per joint: name, parent (`u32`, all ones for the root), offset (3 `f64`), rest rotation (4), count of end sites, end sites (3 each) |
//! | `TRKS` | third; count; per track: 0 scalar or 1 vector (`u8`), name, unit, arity (`u32`); scalars first |
//! | `SEGM` | any number, in order; first sample (`u64`), samples (`u32`), then rotations (4) and translations (3) of every joint if there are poses, and all tracks, coded together (see `codec.rs`) |
//! | `PROV` | count; key and value strings |
//! | `EVTS` | count; time (`f64`), name, payload string |
//! | `INDX` | last before the end; number of samples (`u64`); count; offset of every `SEGM` in the file and its first sample (two `u64`) |
//!
//! Version 1, which is still read: `HEAD` has the number of samples (`u64`) before the last byte; instead of `TRKS`, `SEGM` and `INDX`
//!
//! | tag | payload |
//! |---|---|
//! | `JTRK` | joint (`u32`), 0 rotation or 1 translation (`u8`), block of 4 or 3 columns; both kinds for every joint if there are poses |
//! | `SCAL` | name, unit, block of 1 column |
//! | `VECT` | name, unit, arity (`u32`), block of that many columns |
//!
//! A block is a codec byte and the rest of the chunk: 0 is the values sample by sample as they are; 1 and 2 are columns of
//! first or second differences, byte planes, deflate (see `codec.rs`).
//!
//! What cannot be written is refused: NaN and infinities, tracks of different lengths, two tracks of one name.

mod codec;
mod decode;
mod decode_v1;
mod reader;
mod writer;

use std::path::{Path, PathBuf};

use super::{Clip, ClipError};
use crate::files::{FileError, write_atomic};
use crate::skeleton::{Pose, Skeleton};

pub use reader::ClipReader;
pub use writer::{ClipWriteError, ClipWriter};

const MAGIC: [u8; 8] = [0x89, b'A', b'C', b'L', b'P', 0x0D, 0x0A, 0x1A];

/// The version this code writes, and the newest it reads.
pub const VERSION: u32 = 2;

/// Numbers per sample of a vector track.
const ARITY: std::ops::RangeInclusive<usize> = 1..=65535;

const UP_AXIS: &str = "Y";
const UNITS: &str = "m kg s rad";
const QUATERNION_ORDER: &str = "xyzw";

/// Samples per time, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// `samples` in `seconds`: 60 in 1, 60000 in 1001.
    Rational { samples: u32, seconds: u32 },
    /// Seconds from one sample to the next.
    FrameTime(f64),
}

impl Rate {
    /// Seconds from one sample to the next.
    pub fn frame_time(self) -> f64 {
        match self {
            Rate::Rational { samples, seconds } => f64::from(seconds) / f64::from(samples),
            Rate::FrameTime(t) => t,
        }
    }

    /// The whole number of samples in 1 s or 1001 s that has exactly this frame time, or else the frame time itself.
    pub fn from_frame_time(frame_time: f64) -> Rate {
        for seconds in [1u32, 1001] {
            let samples = (f64::from(seconds) / frame_time).round();
            if (1.0..=f64::from(u32::MAX)).contains(&samples) && f64::from(seconds) / samples == frame_time {
                return Rate::Rational {
                    samples: samples as u32,
                    seconds,
                };
            }
        }
        Rate::FrameTime(frame_time)
    }
}

/// One number per sample.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ScalarTrack {
    pub name: String,
    /// Such as `N` or `rad/s`; empty without one.
    pub unit: String,
    pub values: Vec<f64>,
}

/// `arity` numbers per sample.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct VectorTrack {
    pub name: String,
    /// Such as `N` or `rad/s`; empty without one.
    pub unit: String,
    pub arity: usize,
    /// Sample by sample, `arity` numbers each.
    pub values: Vec<f64>,
}

impl VectorTrack {
    /// The numbers of one sample; `None` beyond the end.
    pub fn sample(&self, index: usize) -> Option<&[f64]> {
        self.values.get(index.checked_mul(self.arity)?..)?.get(..self.arity)
    }
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Event {
    /// Seconds from the first sample.
    pub time: f64,
    pub name: String,
    /// Free text, such as JSON.
    pub payload: String,
}

/// The content of a `.clip` file, and what a recording is built in: push to the tracks, then [`write`](Self::write).
#[derive(Clone, Debug, PartialEq)]
pub struct ClipFile {
    pub name: String,
    /// May be empty if there are no poses.
    pub skeleton: Skeleton,
    pub rate: Rate,
    pub looped: bool,
    /// Keys and values: what made the file, from what.
    pub provenance: Vec<(String, String)>,
    /// Joint tracks, sample by sample; empty, or as many as every other track has samples.
    pub frames: Vec<Pose>,
    pub scalar_tracks: Vec<ScalarTrack>,
    pub vector_tracks: Vec<VectorTrack>,
    pub events: Vec<Event>,
}

/// Why a `.clip` file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ClipFileError {
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {0}")]
    Write(Box<FileError>),
    #[error("{file}: not a .clip file: expected it to begin with 89 41 43 4C 50 0D 0A 1A, found {found}")]
    NotAClip { file: String, found: String },
    #[error("{file}: version {found} of the .clip format; expected 1 to {VERSION}: a newer ambler is needed")]
    Version { file: String, found: u32 },
    #[error("{file}: byte {offset}: the data ends before {expected}; the file is cut off or damaged")]
    Truncated {
        file: String,
        offset: usize,
        expected: String,
    },
    #[error("{file}: byte {offset}: expected {expected}, found {found}; the file is damaged or its writer was wrong")]
    Malformed {
        file: String,
        offset: usize,
        expected: String,
        found: String,
    },
    #[error("{file}: byte {offset}: checksum {stored:08x}, but the content has {computed:08x}; the file is damaged")]
    Checksum {
        file: String,
        offset: usize,
        stored: u32,
        computed: u32,
    },
    #[error("{file}: {source}")]
    Content { file: String, source: ContentError },
}

/// What is wrong with the content of a [`ClipFile`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ContentError {
    #[error(transparent)]
    Clip(#[from] ClipError),
    #[error("the rate {rate:?} is not one; expected a finite frame time above 0 or two numbers above 0")]
    Rate { rate: Rate },
    #[error("track `{track}` has {found} values, expected {expected} ({samples} samples)")]
    Length {
        track: String,
        found: usize,
        expected: usize,
        samples: usize,
    },
    #[error("vector track `{track}` has arity {arity}; expected 1 to 65535 numbers per sample")]
    Arity { track: String, arity: usize },
    #[error("two tracks are called `{track}`; names must differ")]
    DuplicateTrack { track: String },
    #[error("track `{track}`, sample {sample}: {value} is not finite; NaN and infinities are not stored")]
    NotFinite { track: String, sample: usize, value: f64 },
    #[error("event {index} `{name}` is at {time} s; expected a finite time")]
    EventTime { index: usize, name: String, time: f64 },
}

impl ClipFile {
    /// Without samples, tracks or events yet.
    pub fn new(name: impl Into<String>, skeleton: Skeleton, rate: Rate) -> ClipFile {
        ClipFile {
            name: name.into(),
            skeleton,
            rate,
            looped: false,
            provenance: Vec::new(),
            frames: Vec::new(),
            scalar_tracks: Vec::new(),
            vector_tracks: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Adds an empty track; its index in `scalar_tracks`.
    pub fn add_scalar(&mut self, name: impl Into<String>, unit: impl Into<String>) -> usize {
        self.scalar_tracks.push(ScalarTrack {
            name: name.into(),
            unit: unit.into(),
            values: Vec::new(),
        });
        self.scalar_tracks.len() - 1
    }

    /// Adds an empty track of `arity` numbers per sample; its index in `vector_tracks`.
    pub fn add_vector(&mut self, name: impl Into<String>, unit: impl Into<String>, arity: usize) -> usize {
        self.vector_tracks.push(VectorTrack {
            name: name.into(),
            unit: unit.into(),
            arity,
            values: Vec::new(),
        });
        self.vector_tracks.len() - 1
    }

    /// Adds a key and its value to the provenance.
    pub fn add_provenance(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.provenance.push((key.into(), value.into()));
    }

    /// The value of the first provenance entry called `key`.
    pub fn provenance(&self, key: &str) -> Option<&str> {
        self.provenance
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// The scalar track called `name`.
    pub fn scalar(&self, name: &str) -> Option<&ScalarTrack> {
        self.scalar_tracks.iter().find(|t| t.name == name)
    }

    /// The vector track called `name`.
    pub fn vector(&self, name: &str) -> Option<&VectorTrack> {
        self.vector_tracks.iter().find(|t| t.name == name)
    }

    /// Number of samples: of the poses, or without poses of the first track.
    pub fn samples(&self) -> usize {
        if !self.frames.is_empty() {
            return self.frames.len();
        }
        match (self.scalar_tracks.first(), self.vector_tracks.first()) {
            (Some(t), _) => t.values.len(),
            (None, Some(t)) => t.values.len() / t.arity.max(1),
            (None, None) => 0,
        }
    }

    /// The same without poses and values.
    pub(crate) fn without_samples(&self) -> ClipFile {
        let mut empty = ClipFile {
            looped: self.looped,
            provenance: self.provenance.clone(),
            events: self.events.clone(),
            ..ClipFile::new(self.name.clone(), self.skeleton.clone(), self.rate)
        };
        for t in &self.scalar_tracks {
            empty.add_scalar(t.name.clone(), t.unit.clone());
        }
        for t in &self.vector_tracks {
            empty.add_vector(t.name.clone(), t.unit.clone(), t.arity);
        }
        empty
    }

    /// Checks everything but the samples and events: rate, skeleton, names and arities of the tracks.
    fn validate_head(&self) -> Result<(), ContentError> {
        let rate_is_fine = match self.rate {
            Rate::Rational { samples, seconds } => samples > 0 && seconds > 0,
            Rate::FrameTime(t) => t.is_finite() && t > 0.0,
        };
        if !rate_is_fine {
            return Err(ContentError::Rate { rate: self.rate });
        }
        if !(self.skeleton.joints.is_empty() && self.frames.is_empty()) {
            self.skeleton.validate().map_err(|source| ClipError::Skeleton {
                clip: self.name.clone(),
                source,
            })?;
        }
        if let Some(t) = self.vector_tracks.iter().find(|t| !ARITY.contains(&t.arity)) {
            return Err(ContentError::Arity {
                track: t.name.clone(),
                arity: t.arity,
            });
        }
        let scalars = self.scalar_tracks.iter().map(|t| &t.name);
        let mut names: Vec<&String> = scalars.chain(self.vector_tracks.iter().map(|t| &t.name)).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ContentError::DuplicateTrack { track: pair[0].clone() }),
            None => Ok(()),
        }
    }

    /// Checks that the content is whole: see the module page for what is refused.
    pub fn validate(&self) -> Result<(), ContentError> {
        self.validate_head()?;
        for (frame, pose) in self.frames.iter().enumerate() {
            self.skeleton.validate_pose(pose).map_err(|source| ClipError::Frame {
                clip: self.name.clone(),
                frame,
                source,
            })?;
        }
        let samples = self.samples();
        for t in &self.scalar_tracks {
            check_values(&t.name, &t.values, 1, samples)?;
        }
        for t in &self.vector_tracks {
            check_values(&t.name, &t.values, t.arity, samples)?;
        }
        match self.events.iter().enumerate().find(|(_, e)| !e.time.is_finite()) {
            Some((index, event)) => Err(ContentError::EventTime {
                index,
                name: event.name.clone(),
                time: event.time,
            }),
            None => Ok(()),
        }
    }

    /// The poses as a clip, bit by bit; an error if there are none.
    pub fn to_clip(&self) -> Result<Clip, ClipError> {
        let clip = Clip {
            name: self.name.clone(),
            skeleton: self.skeleton.clone(),
            frame_time: self.rate.frame_time(),
            frames: self.frames.clone(),
            looped: self.looped,
        };
        clip.validate()?;
        Ok(clip)
    }

    /// A file that holds `clip` and nothing else.
    pub fn from_clip(clip: &Clip) -> ClipFile {
        ClipFile {
            looped: clip.looped,
            frames: clip.frames.clone(),
            ..ClipFile::new(
                clip.name.clone(),
                clip.skeleton.clone(),
                Rate::from_frame_time(clip.frame_time),
            )
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<ClipFile, ClipFileError> {
        let bytes = crate::files::read_bytes(path).map_err(|source| ClipFileError::Read {
            path: path.to_owned(),
            source,
        })?;
        ClipFile::from_bytes(&bytes, &path.display().to_string())
    }

    /// Writes a file, which appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), ClipFileError> {
        let bytes = self.to_bytes().map_err(|source| ClipFileError::Content {
            file: path.display().to_string(),
            source,
        })?;
        write_atomic(path, &bytes).map_err(|e| ClipFileError::Write(Box::new(e)))
    }

    /// The content of a file in the current version.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ContentError> {
        self.validate()?;
        match writer::encode(self) {
            Ok(bytes) => Ok(bytes),
            Err(ClipWriteError::Content(error)) => Err(error),
            Err(error) => unreachable!("a file agrees with itself and memory takes everything: {error}"),
        }
    }

    /// Reads the content of a file of any version so far. `source_name` is what errors call it.
    pub fn from_bytes(bytes: &[u8], source_name: &str) -> Result<ClipFile, ClipFileError> {
        let file = decode::decode(bytes, source_name)?;
        file.validate().map_err(|source| ClipFileError::Content {
            file: source_name.to_owned(),
            source,
        })?;
        Ok(file)
    }
}

fn check_values(track: &str, values: &[f64], arity: usize, samples: usize) -> Result<(), ContentError> {
    let expected = samples.saturating_mul(arity);
    if values.len() != expected {
        return Err(ContentError::Length {
            track: track.to_owned(),
            found: values.len(),
            expected,
            samples,
        });
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(ContentError::NotFinite {
            track: track.to_owned(),
            sample: i / arity,
            value: values[i],
        }),
    }
}
