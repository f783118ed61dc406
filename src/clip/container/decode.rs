//! Bytes to content. Nothing is reserved that the bytes at hand could not fill.

use glam::{DQuat, DVec3};

use super::codec::decode_segment;
use super::{
    ARITY, ClipFile, ClipFileError, Event, MAGIC, QUATERNION_ORDER, Rate, ScalarTrack, UNITS, UP_AXIS, VERSION,
    VectorTrack, decode_v1,
};
use crate::skeleton::{Joint, Pose, Skeleton};

/// A chunk's tag and length.
pub(super) const CHUNK_HEAD: usize = 12;

/// A part of the file that is read from front to back, and where it lies.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub rest: &'a [u8],
    pub offset: usize,
    pub file: &'a str,
}

pub(super) struct Chunk<'a> {
    pub tag: [u8; 4],
    pub payload: Cursor<'a>,
}

pub(super) fn decode(bytes: &[u8], file: &str) -> Result<ClipFile, ClipFileError> {
    let mut cursor = Cursor {
        rest: bytes,
        offset: 0,
        file,
    };
    if !bytes.starts_with(&MAGIC) {
        if MAGIC.starts_with(bytes) {
            return Err(cursor.truncated("the 8 bytes that a .clip file begins with"));
        }
        let found: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02X}")).collect();
        return Err(ClipFileError::NotAClip {
            file: file.to_owned(),
            found: found.join(" "),
        });
    }
    cursor.take(MAGIC.len(), "the magic number")?;
    let version = cursor.u32("the version")?;
    if version == 0 || version > VERSION {
        return Err(ClipFileError::Version {
            file: file.to_owned(),
            found: version,
        });
    }
    let chunks = read_chunks(&mut cursor, bytes)?;
    match version {
        1 => decode_v1::read_content(&chunks, &cursor),
        _ => read_content(&chunks, &cursor),
    }
}

/// Splits the file into chunks and checks that it ends as it should, before anything in it is believed.
fn read_chunks<'a>(cursor: &mut Cursor<'a>, bytes: &[u8]) -> Result<Vec<Chunk<'a>>, ClipFileError> {
    let mut chunks = Vec::new();
    loop {
        let tag = cursor.array::<4>("a chunk (the last is `END `)")?;
        let length = u64::from_le_bytes(cursor.array("the length of a chunk")?);
        let name = String::from_utf8_lossy(&tag).into_owned();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let payload = cursor.part(length, &format!("the {length} bytes of chunk `{name}`"))?;
        if tag != *b"END " {
            chunks.push(Chunk { tag, payload });
            continue;
        }
        let mut payload = payload;
        let offset = payload.offset;
        let stored = payload.u32("the checksum")?;
        payload.end("the end of the checksum")?;
        cursor.end("the end of the file after the checksum")?;
        let computed = crc32fast::hash(&bytes[..offset]);
        if stored != computed {
            return Err(ClipFileError::Checksum {
                file: cursor.file.to_owned(),
                offset,
                stored,
                computed,
            });
        }
        return Ok(chunks);
    }
}

/// What a version 2 file says before its first sample.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Without samples, events and provenance.
    pub empty: ClipFile,
    pub poses: bool,
    /// Numbers per sample of every column group of a segment.
    arities: Vec<usize>,
}

fn read_content(chunks: &[Chunk], end: &Cursor) -> Result<ClipFile, ClipFileError> {
    let (layout, others) = read_layout(chunks, end)?;
    let mut file = layout.empty.clone();
    let mut samples = 0u64;
    let (mut segments, mut indexed) = (Vec::new(), None);
    for chunk in others {
        match &chunk.tag {
            b"SEGM" => {
                let (first, part) = read_segment(&layout, chunk.payload)?;
                if first != samples {
                    return Err(chunk.payload.malformed(
                        &format!("a segment that begins with sample {samples}"),
                        first.to_string(),
                    ));
                }
                segments.push((chunk.payload.offset as u64 - CHUNK_HEAD as u64, first));
                samples += part.samples() as u64;
                file.frames.extend(part.frames);
                for (track, more) in file.scalar_tracks.iter_mut().zip(part.scalar_tracks) {
                    track.values.extend(more.values);
                }
                for (track, more) in file.vector_tracks.iter_mut().zip(part.vector_tracks) {
                    track.values.extend(more.values);
                }
            }
            b"PROV" => read_provenance(chunk.payload, &mut file)?,
            b"EVTS" => read_events(chunk.payload, &mut file)?,
            b"INDX" => indexed = indexed.or(Some(read_index(chunk.payload)?)),
            // additions that a reader can do without come as new chunks of the same version
            _ => {}
        }
    }
    match indexed {
        Some(index) if index == (samples, segments) => Ok(file),
        _ => Err(end.malformed("an index (`INDX`) of the segments", "none or another one".to_owned())),
    }
}

/// The first three chunks, and the others.
pub(super) fn read_layout<'a, 'b>(
    chunks: &'b [Chunk<'a>],
    end: &Cursor,
) -> Result<(Layout, &'b [Chunk<'a>]), ClipFileError> {
    let [head, skeleton, tracks, others @ ..] = chunks else {
        let found = format!("{} chunks", chunks.len());
        return Err(end.malformed("the chunks `HEAD`, `SKEL` and `TRKS`", found));
    };
    for (chunk, tag) in [(head, "HEAD"), (skeleton, "SKEL"), (tracks, "TRKS")] {
        if chunk.tag != tag.as_bytes() {
            let found = format!("`{}`", String::from_utf8_lossy(&chunk.tag));
            return Err(chunk.payload.malformed(&format!("the chunk `{tag}`"), found));
        }
    }
    let mut c = head.payload;
    let name = c.string("the name of the clip")?;
    read_conventions(&mut c)?;
    let rate = read_rate(&mut c)?;
    let looped = c.flag("whether the clip is looped")?;
    let poses = c.flag("whether there are poses")?;
    c.end("the end of `HEAD`")?;
    let mut empty = ClipFile {
        looped,
        ..ClipFile::new(name, read_skeleton(skeleton.payload)?, rate)
    };
    if poses && empty.skeleton.joints.is_empty() {
        return Err(end.malformed("a skeleton for the poses", "no joints".to_owned()));
    }
    let mut c = tracks.payload;
    for _ in 0..c.u32("the count of tracks")? {
        let kind = c.u8("the kind of a track")?;
        let name = c.string("the name of a track")?;
        let unit = c.string("the unit of a track")?;
        let arity = c.u32("the arity of a track")? as usize;
        match kind {
            0 if arity == 1 && empty.vector_tracks.is_empty() => empty.scalar_tracks.push(ScalarTrack {
                name,
                unit,
                values: Vec::new(),
            }),
            1 if ARITY.contains(&arity) => empty.vector_tracks.push(VectorTrack {
                name,
                unit,
                arity,
                values: Vec::new(),
            }),
            _ => {
                let found = format!("kind {kind} with arity {arity}");
                return Err(c.malformed(
                    "scalar tracks (kind 0, arity 1), then vector tracks (kind 1, arity 1 to 65535)",
                    found,
                ));
            }
        }
    }
    c.end("the end of `TRKS`")?;
    let joints = if poses { empty.skeleton.joints.len() } else { 0 };
    let mut arities: Vec<usize> = [4, 3].repeat(joints);
    arities.extend(empty.scalar_tracks.iter().map(|_| 1));
    arities.extend(empty.vector_tracks.iter().map(|t| t.arity));
    Ok((Layout { empty, poses, arities }, others))
}

/// The first sample of a segment, and its samples.
pub(super) fn read_segment(layout: &Layout, mut c: Cursor) -> Result<(u64, ClipFile), ClipFileError> {
    let first = u64::from_le_bytes(c.array("the first sample of a segment")?);
    let samples = c.u32("the number of samples of a segment")? as usize;
    let columns = decode_segment(c.rest, samples, &layout.arities).map_err(|e| c.malformed(&e.expected, e.found))?;
    let mut part = layout.empty.clone();
    let joints = if layout.poses { part.skeleton.joints.len() } else { 0 };
    if joints > 0 {
        part.frames = (0..samples)
            .map(|s| Pose {
                translations: (0..joints)
                    .map(|j| DVec3::from_slice(&columns[2 * j + 1][3 * s..]))
                    .collect(),
                rotations: (0..joints)
                    .map(|j| DQuat::from_slice(&columns[2 * j][4 * s..]))
                    .collect(),
            })
            .collect();
    }
    let mut values = columns.into_iter().skip(2 * joints);
    let tracks = part.scalar_tracks.iter_mut().map(|t| &mut t.values);
    for track in tracks.chain(part.vector_tracks.iter_mut().map(|t| &mut t.values)) {
        // as many columns as arities
        *track = values.next().unwrap_or_default();
    }
    Ok((first, part))
}

/// Number of samples, and offset and first sample of every segment.
pub(super) fn read_index(mut c: Cursor) -> Result<(u64, Vec<(u64, u64)>), ClipFileError> {
    let samples = u64::from_le_bytes(c.array("the number of samples")?);
    let mut segments = Vec::new();
    for _ in 0..c.u32("the count of segments")? {
        let offset = u64::from_le_bytes(c.array("the offset of a segment")?);
        segments.push((offset, u64::from_le_bytes(c.array("the first sample of a segment")?)));
    }
    c.end("the end of the index")?;
    Ok((samples, segments))
}

pub(super) fn read_provenance(mut c: Cursor, file: &mut ClipFile) -> Result<(), ClipFileError> {
    for _ in 0..c.u32("the count of provenance entries")? {
        let key = c.string("a provenance key")?;
        file.provenance.push((key, c.string("a provenance value")?));
    }
    c.end("the end of the provenance")
}

pub(super) fn read_events(mut c: Cursor, file: &mut ClipFile) -> Result<(), ClipFileError> {
    for _ in 0..c.u32("the count of events")? {
        file.events.push(Event {
            time: c.f64("the time of an event")?,
            name: c.string("the name of an event")?,
            payload: c.string("the payload of an event")?,
        });
    }
    c.end("the end of the events")
}

pub(super) fn read_conventions(c: &mut Cursor) -> Result<(), ClipFileError> {
    for (what, expected) in [
        ("up axis", UP_AXIS),
        ("units", UNITS),
        ("quaternion order", QUATERNION_ORDER),
    ] {
        let found = c.string(&format!("the {what}"))?;
        if found != expected {
            return Err(c.malformed(&format!("{what} `{expected}`"), format!("`{found}`")));
        }
    }
    Ok(())
}

pub(super) fn read_rate(c: &mut Cursor) -> Result<Rate, ClipFileError> {
    let (samples, seconds) = (c.u32("the rate")?, c.u32("the rate")?);
    let frame_time = c.f64("the frame time")?;
    Ok(if samples == 0 && seconds == 0 {
        Rate::FrameTime(frame_time)
    } else {
        Rate::Rational { samples, seconds }
    })
}

pub(super) fn read_skeleton(mut c: Cursor) -> Result<Skeleton, ClipFileError> {
    let mut joints = Vec::new();
    for _ in 0..c.u32("the count of joints")? {
        let name = c.string("the name of a joint")?;
        let parent = match c.u32("the parent of a joint")? {
            u32::MAX => None,
            p => Some(p as usize),
        };
        let offset = c.vector("the offset of a joint")?;
        let mut rest = [0.0; 4];
        for x in &mut rest {
            *x = c.f64("the rest rotation of a joint")?;
        }
        let mut end_sites = Vec::new();
        for _ in 0..c.u32("the count of end sites")? {
            end_sites.push(c.vector("an end site")?);
        }
        joints.push(Joint {
            name,
            parent,
            offset,
            rest: DQuat::from_array(rest),
            end_sites,
        });
    }
    c.end("the end of `SKEL`")?;
    Ok(Skeleton { joints })
}

impl<'a> Cursor<'a> {
    pub(super) fn truncated(&self, expected: &str) -> ClipFileError {
        ClipFileError::Truncated {
            file: self.file.to_owned(),
            offset: self.offset + self.rest.len(),
            expected: expected.to_owned(),
        }
    }

    pub(super) fn malformed(&self, expected: &str, found: String) -> ClipFileError {
        ClipFileError::Malformed {
            file: self.file.to_owned(),
            offset: self.offset,
            expected: expected.to_owned(),
            found,
        }
    }

    pub(super) fn take(&mut self, count: usize, expected: &str) -> Result<&'a [u8], ClipFileError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.truncated(expected));
        };
        self.rest = rest;
        self.offset += count;
        Ok(taken)
    }

    pub(super) fn part(&mut self, count: usize, expected: &str) -> Result<Cursor<'a>, ClipFileError> {
        let offset = self.offset;
        Ok(Cursor {
            rest: self.take(count, expected)?,
            offset,
            file: self.file,
        })
    }

    pub(super) fn array<const N: usize>(&mut self, expected: &str) -> Result<[u8; N], ClipFileError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, expected)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, expected: &str) -> Result<u8, ClipFileError> {
        self.array(expected).map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self, expected: &str) -> Result<u32, ClipFileError> {
        self.array(expected).map(u32::from_le_bytes)
    }

    pub(super) fn f64(&mut self, expected: &str) -> Result<f64, ClipFileError> {
        self.array(expected).map(f64::from_le_bytes)
    }

    pub(super) fn vector(&mut self, expected: &str) -> Result<DVec3, ClipFileError> {
        Ok(DVec3::new(
            self.f64(expected)?,
            self.f64(expected)?,
            self.f64(expected)?,
        ))
    }

    pub(super) fn flag(&mut self, expected: &str) -> Result<bool, ClipFileError> {
        match self.u8(expected)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(&format!("0 or 1 for {expected}"), other.to_string())),
        }
    }

    pub(super) fn string(&mut self, expected: &str) -> Result<String, ClipFileError> {
        let length = self.u32(expected)? as usize;
        let bytes = self.take(length, expected)?;
        String::from_utf8(bytes.to_vec()).map_err(|e| self.malformed(&format!("UTF-8 in {expected}"), e.to_string()))
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), ClipFileError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed(expected, format!("{} more bytes", self.rest.len())))
        }
    }
}
