//! Bytes to content. Nothing is reserved that the bytes at hand could not fill.

use glam::{DQuat, DVec3};

use super::codec::decode_block;
use super::{
    ARITY, ClipFile, ClipFileError, Event, MAGIC, QUATERNION_ORDER, Rate, ScalarTrack, UNITS, UP_AXIS, VERSION,
    VectorTrack,
};
use crate::skeleton::{Joint, Pose, Skeleton};

/// A part of the file that is read from front to back, and where it lies.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a [u8],
    offset: usize,
    file: &'a str,
}

struct Chunk<'a> {
    tag: [u8; 4],
    payload: Cursor<'a>,
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
    read_content(&chunks, &cursor)
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

struct Head {
    name: String,
    rate: Rate,
    looped: bool,
    samples: usize,
    has_poses: bool,
}

fn read_content(chunks: &[Chunk], end: &Cursor) -> Result<ClipFile, ClipFileError> {
    let [head, skeleton, others @ ..] = chunks else {
        return Err(end.malformed("the chunks `HEAD` and `SKEL`", format!("{} chunks", chunks.len())));
    };
    for (chunk, tag) in [(head, "HEAD"), (skeleton, "SKEL")] {
        if chunk.tag != tag.as_bytes() {
            let found = format!("`{}`", String::from_utf8_lossy(&chunk.tag));
            return Err(chunk.payload.malformed(&format!("the chunk `{tag}`"), found));
        }
    }
    let head = read_head(head.payload)?;
    let skeleton = read_skeleton(skeleton.payload)?;
    let joints = skeleton.joints.len();
    let samples = head.samples;
    let mut file = ClipFile {
        looped: head.looped,
        ..ClipFile::new(head.name, skeleton, head.rate)
    };
    let mut rotations: Vec<Option<Vec<f64>>> = vec![None; joints];
    let mut translations: Vec<Option<Vec<f64>>> = vec![None; joints];
    for chunk in others {
        let mut payload = chunk.payload;
        match &chunk.tag {
            b"PROV" => {
                for _ in 0..payload.u32("the count of provenance entries")? {
                    let key = payload.string("a provenance key")?;
                    file.provenance.push((key, payload.string("a provenance value")?));
                }
                payload.end("the end of the provenance")?;
            }
            b"JTRK" => {
                let joint = payload.u32("the joint of a track")? as usize;
                let kind = payload.u8("the kind of a joint track")?;
                let (tracks, arity) = match kind {
                    0 => (&mut rotations, 4),
                    1 => (&mut translations, 3),
                    _ => return Err(payload.malformed("joint track kind 0 or 1", kind.to_string())),
                };
                let Some(track) = tracks.get_mut(joint) else {
                    return Err(payload.malformed(&format!("a joint below {joints}"), joint.to_string()));
                };
                if track.is_some() {
                    return Err(payload.malformed("one track of each kind per joint", format!("a second of {joint}")));
                }
                *track = Some(payload.block(samples, arity)?);
            }
            b"SCAL" => file.scalar_tracks.push(ScalarTrack {
                name: payload.string("the name of a scalar track")?,
                unit: payload.string("the unit of a scalar track")?,
                values: payload.block(samples, 1)?,
            }),
            b"VECT" => {
                let name = payload.string("the name of a vector track")?;
                let unit = payload.string("the unit of a vector track")?;
                let arity = payload.u32("the arity of a vector track")? as usize;
                if !ARITY.contains(&arity) {
                    return Err(payload.malformed("an arity of 1 to 65535", arity.to_string()));
                }
                file.vector_tracks.push(VectorTrack {
                    name,
                    unit,
                    arity,
                    values: payload.block(samples, arity)?,
                });
            }
            b"EVTS" => {
                for _ in 0..payload.u32("the count of events")? {
                    file.events.push(Event {
                        time: payload.f64("the time of an event")?,
                        name: payload.string("the name of an event")?,
                        payload: payload.string("the payload of an event")?,
                    });
                }
                payload.end("the end of the events")?;
            }
            // additions that a reader can do without come as new chunks of the same version
            _ => {}
        }
    }
    if head.has_poses {
        file.frames = frames(&rotations, &translations, samples, end)?;
    } else if rotations.iter().chain(&translations).any(Option::is_some) {
        return Err(end.malformed("no joint tracks, as `HEAD` says", "some".to_owned()));
    }
    if file.samples() != samples {
        return Err(end.malformed(
            &format!("{samples} samples, as `HEAD` says"),
            file.samples().to_string(),
        ));
    }
    Ok(file)
}

fn read_head(mut c: Cursor) -> Result<Head, ClipFileError> {
    let name = c.string("the name of the clip")?;
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
    let (samples, seconds) = (c.u32("the rate")?, c.u32("the rate")?);
    let frame_time = c.f64("the frame time")?;
    let rate = if samples == 0 && seconds == 0 {
        Rate::FrameTime(frame_time)
    } else {
        Rate::Rational { samples, seconds }
    };
    let looped = c.flag("whether the clip is looped")?;
    let count = u64::from_le_bytes(c.array("the number of samples")?);
    let samples = usize::try_from(count)
        .map_err(|_| c.malformed("a number of samples that memory could hold", count.to_string()))?;
    let has_poses = c.flag("whether there are poses")?;
    c.end("the end of `HEAD`")?;
    Ok(Head {
        name,
        rate,
        looped,
        samples,
        has_poses,
    })
}

fn read_skeleton(mut c: Cursor) -> Result<Skeleton, ClipFileError> {
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

fn frames(
    rotations: &[Option<Vec<f64>>],
    translations: &[Option<Vec<f64>>],
    samples: usize,
    end: &Cursor,
) -> Result<Vec<Pose>, ClipFileError> {
    let complete = |tracks: &'_ [Option<Vec<f64>>], kind: &str| match tracks.iter().position(Option::is_none) {
        Some(joint) => Err(end.malformed(
            &format!("a {kind} track of every joint"),
            format!("none of joint {joint}"),
        )),
        None => Ok(()),
    };
    complete(rotations, "rotation")?;
    complete(translations, "translation")?;
    if rotations.is_empty() {
        return Err(end.malformed("a skeleton for the poses", "no joints".to_owned()));
    }
    let poses = (0..samples).map(|s| Pose {
        translations: translations
            .iter()
            .flatten()
            .map(|t| DVec3::from_slice(&t[3 * s..]))
            .collect(),
        rotations: rotations
            .iter()
            .flatten()
            .map(|r| DQuat::from_slice(&r[4 * s..]))
            .collect(),
    });
    Ok(poses.collect())
}

impl<'a> Cursor<'a> {
    fn truncated(&self, expected: &str) -> ClipFileError {
        ClipFileError::Truncated {
            file: self.file.to_owned(),
            offset: self.offset + self.rest.len(),
            expected: expected.to_owned(),
        }
    }

    fn malformed(&self, expected: &str, found: String) -> ClipFileError {
        ClipFileError::Malformed {
            file: self.file.to_owned(),
            offset: self.offset,
            expected: expected.to_owned(),
            found,
        }
    }

    fn take(&mut self, count: usize, expected: &str) -> Result<&'a [u8], ClipFileError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.truncated(expected));
        };
        self.rest = rest;
        self.offset += count;
        Ok(taken)
    }

    fn part(&mut self, count: usize, expected: &str) -> Result<Cursor<'a>, ClipFileError> {
        let offset = self.offset;
        Ok(Cursor {
            rest: self.take(count, expected)?,
            offset,
            file: self.file,
        })
    }

    fn array<const N: usize>(&mut self, expected: &str) -> Result<[u8; N], ClipFileError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, expected)?);
        Ok(array)
    }

    fn u8(&mut self, expected: &str) -> Result<u8, ClipFileError> {
        self.array(expected).map(|[byte]| byte)
    }

    fn u32(&mut self, expected: &str) -> Result<u32, ClipFileError> {
        self.array(expected).map(u32::from_le_bytes)
    }

    fn f64(&mut self, expected: &str) -> Result<f64, ClipFileError> {
        self.array(expected).map(f64::from_le_bytes)
    }

    fn vector(&mut self, expected: &str) -> Result<DVec3, ClipFileError> {
        Ok(DVec3::new(
            self.f64(expected)?,
            self.f64(expected)?,
            self.f64(expected)?,
        ))
    }

    fn flag(&mut self, expected: &str) -> Result<bool, ClipFileError> {
        match self.u8(expected)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(&format!("0 or 1 for {expected}"), other.to_string())),
        }
    }

    fn string(&mut self, expected: &str) -> Result<String, ClipFileError> {
        let length = self.u32(expected)? as usize;
        let bytes = self.take(length, expected)?;
        String::from_utf8(bytes.to_vec()).map_err(|e| self.malformed(&format!("UTF-8 in {expected}"), e.to_string()))
    }

    /// The rest of the chunk as a block of `samples` times `arity` values.
    fn block(&mut self, samples: usize, arity: usize) -> Result<Vec<f64>, ClipFileError> {
        let count = samples.checked_mul(arity).ok_or_else(|| {
            self.malformed(
                "a track that memory could hold",
                format!("{samples} samples of {arity}"),
            )
        })?;
        decode_block(self.rest, count, arity).map_err(|e| self.malformed(&e.expected, e.found))
    }

    fn end(&self, expected: &str) -> Result<(), ClipFileError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed(expected, format!("{} more bytes", self.rest.len())))
        }
    }
}
