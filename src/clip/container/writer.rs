//! Content to bytes, segment by segment: what is written is out of memory.

use std::io::Write;

use super::codec::encode_segment;
use super::{ClipFile, ContentError, Event, MAGIC, QUATERNION_ORDER, Rate, UNITS, UP_AXIS, VERSION};
use crate::skeleton::{Pose, Skeleton};

/// Samples per segment of a file that is written as a whole: 4 s at 60 samples per second.
const SEGMENT: usize = 240;

/// Why a part of a clip could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ClipWriteError {
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("the tracks of the samples are not those that the file began with: expected {expected}, found {found}")]
    Tracks { expected: String, found: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Writes a `.clip` file as its samples come, a segment at a time.
pub struct ClipWriter<W: Write> {
    sink: W,
    checksum: crc32fast::Hasher,
    /// Bytes written.
    offset: u64,
    skeleton: Skeleton,
    poses: bool,
    /// Names and arities, scalar tracks first.
    tracks: Vec<(String, usize)>,
    /// Offset and first sample of every segment.
    index: Vec<(u64, u64)>,
    samples: u64,
    /// One chunk.
    buffer: Vec<u8>,
}

/// Names and arities of a file's tracks, in the order of their columns.
fn tracks_of(file: &ClipFile) -> Vec<(String, usize)> {
    let scalars = file.scalar_tracks.iter().map(|t| (t.name.clone(), 1));
    scalars
        .chain(file.vector_tracks.iter().map(|t| (t.name.clone(), t.arity)))
        .collect()
}

impl<W: Write> ClipWriter<W> {
    /// Begins a file with the name, rate, skeleton and tracks of `file`, and with poses if `poses`. Samples, events and
    /// provenance come later.
    pub fn new(sink: W, file: &ClipFile, poses: bool) -> Result<ClipWriter<W>, ClipWriteError> {
        file.validate_head()?;
        let mut writer = ClipWriter {
            sink,
            checksum: crc32fast::Hasher::new(),
            offset: 0,
            skeleton: file.skeleton.clone(),
            poses,
            tracks: tracks_of(file),
            index: Vec::new(),
            samples: 0,
            buffer: Vec::new(),
        };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        writer.chunk(b"HEAD", |out| put_head(out, file, poses))?;
        writer.chunk(b"SKEL", |out| put_skeleton(out, &file.skeleton))?;
        writer.chunk(b"TRKS", |out| {
            put_u32(out, (file.scalar_tracks.len() + file.vector_tracks.len()) as u32);
            for t in &file.scalar_tracks {
                put_track(out, 0, &t.name, &t.unit, 1);
            }
            for t in &file.vector_tracks {
                put_track(out, 1, &t.name, &t.unit, t.arity);
            }
        })?;
        Ok(writer)
    }

    /// Adds the samples of `part`, whose tracks must be those the file began with, as one segment.
    pub fn append(&mut self, part: &ClipFile) -> Result<(), ClipWriteError> {
        part.validate()?;
        self.append_range(part, 0, part.samples())
    }

    /// `part` must be valid.
    fn append_range(&mut self, part: &ClipFile, from: usize, to: usize) -> Result<(), ClipWriteError> {
        if from == to {
            return Ok(());
        }
        let found = tracks_of(part);
        if found != self.tracks || part.frames.is_empty() == self.poses {
            let words = |tracks: &[(String, usize)], poses: bool| {
                let names: Vec<String> = tracks.iter().map(|(name, arity)| format!("{name} ({arity})")).collect();
                format!("{} and {} poses", names.join(", "), if poses { "with" } else { "no" })
            };
            return Err(ClipWriteError::Tracks {
                expected: words(&self.tracks, self.poses),
                found: words(&found, !part.frames.is_empty()),
            });
        }
        let frames = part.frames.get(from..to).unwrap_or_default();
        let joints = if self.poses { self.skeleton.joints.len() } else { 0 };
        let column = |numbers: &dyn Fn(&Pose, &mut Vec<f64>)| {
            let mut values = Vec::new();
            frames.iter().for_each(|f| numbers(f, &mut values));
            values
        };
        let poses: Vec<(Vec<f64>, usize)> = (0..joints)
            .flat_map(|j| {
                let rotations = column(&|f, out| out.extend(f.rotations[j].to_array()));
                let translations = column(&|f, out| out.extend(f.translations[j].to_array()));
                [(rotations, 4), (translations, 3)]
            })
            .collect();
        let mut columns: Vec<(&[f64], usize)> = poses.iter().map(|(values, arity)| (&values[..], *arity)).collect();
        columns.extend(part.scalar_tracks.iter().map(|t| (&t.values[from..to], 1)));
        columns.extend(
            part.vector_tracks
                .iter()
                .map(|t| (&t.values[from * t.arity..to * t.arity], t.arity)),
        );
        self.index.push((self.offset, self.samples));
        let first = self.samples;
        self.chunk(b"SEGM", |out| {
            out.extend(first.to_le_bytes());
            put_u32(out, (to - from) as u32);
            encode_segment(&columns, out);
        })?;
        self.samples += (to - from) as u64;
        Ok(())
    }

    /// Number of samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Ends the file. What it was written to is returned, not flushed.
    pub fn finish(mut self, provenance: &[(String, String)], events: &[Event]) -> Result<W, ClipWriteError> {
        self.chunk(b"PROV", |out| {
            put_u32(out, provenance.len() as u32);
            for (key, value) in provenance {
                put_string(out, key);
                put_string(out, value);
            }
        })?;
        self.chunk(b"EVTS", |out| {
            put_u32(out, events.len() as u32);
            for event in events {
                put_f64(out, event.time);
                put_string(out, &event.name);
                put_string(out, &event.payload);
            }
        })?;
        let (index, samples) = (std::mem::take(&mut self.index), self.samples);
        self.chunk(b"INDX", |out| {
            out.extend(samples.to_le_bytes());
            put_u32(out, index.len() as u32);
            for (offset, first) in &index {
                out.extend(offset.to_le_bytes());
                out.extend(first.to_le_bytes());
            }
        })?;
        self.put(b"END ")?;
        self.put(&4u64.to_le_bytes())?;
        let checksum = self.checksum.clone().finalize();
        self.put(&checksum.to_le_bytes())?;
        Ok(self.sink)
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.sink.write_all(bytes)?;
        self.checksum.update(bytes);
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn chunk(&mut self, tag: &[u8; 4], payload: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        payload(&mut buffer);
        self.put(tag)?;
        self.put(&(buffer.len() as u64).to_le_bytes())?;
        self.put(&buffer)?;
        self.buffer = buffer;
        Ok(())
    }
}

/// All of a file, which must be valid.
pub(super) fn encode(file: &ClipFile) -> Result<Vec<u8>, ClipWriteError> {
    let mut writer = ClipWriter::new(Vec::new(), file, !file.frames.is_empty())?;
    let samples = file.samples();
    for from in (0..samples).step_by(SEGMENT) {
        writer.append_range(file, from, (from + SEGMENT).min(samples))?;
    }
    writer.finish(&file.provenance, &file.events)
}

fn put_head(out: &mut Vec<u8>, file: &ClipFile, poses: bool) {
    put_string(out, &file.name);
    put_string(out, UP_AXIS);
    put_string(out, UNITS);
    put_string(out, QUATERNION_ORDER);
    let (samples, seconds) = match file.rate {
        Rate::Rational { samples, seconds } => (samples, seconds),
        Rate::FrameTime(_) => (0, 0),
    };
    put_u32(out, samples);
    put_u32(out, seconds);
    put_f64(out, file.rate.frame_time());
    out.push(u8::from(file.looped));
    out.push(u8::from(poses));
}

fn put_skeleton(out: &mut Vec<u8>, skeleton: &Skeleton) {
    put_u32(out, skeleton.joints.len() as u32);
    for joint in &skeleton.joints {
        put_string(out, &joint.name);
        put_u32(out, joint.parent.map_or(u32::MAX, |p| p as u32));
        joint.offset.to_array().into_iter().for_each(|v| put_f64(out, v));
        joint.rest.to_array().into_iter().for_each(|v| put_f64(out, v));
        put_u32(out, joint.end_sites.len() as u32);
        for end in &joint.end_sites {
            end.to_array().into_iter().for_each(|v| put_f64(out, v));
        }
    }
}

fn put_track(out: &mut Vec<u8>, kind: u8, name: &str, unit: &str, arity: usize) {
    out.push(kind);
    put_string(out, name);
    put_string(out, unit);
    put_u32(out, arity as u32);
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

fn put_f64(out: &mut Vec<u8>, value: f64) {
    out.extend(value.to_bits().to_le_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len() as u32);
    out.extend(text.as_bytes());
}
