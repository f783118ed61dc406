//! Version 1: a chunk per track.

use glam::{DQuat, DVec3};

use super::codec::decode_block;
use super::decode::{Chunk, Cursor, read_conventions, read_events, read_provenance, read_rate, read_skeleton};
use super::{ARITY, ClipFile, ClipFileError, Rate, ScalarTrack, VectorTrack};
use crate::skeleton::Pose;

struct Head {
    name: String,
    rate: Rate,
    looped: bool,
    samples: usize,
    has_poses: bool,
}

pub(super) fn read_content(chunks: &[Chunk], end: &Cursor) -> Result<ClipFile, ClipFileError> {
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
            b"PROV" => read_provenance(payload, &mut file)?,
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
            b"EVTS" => read_events(payload, &mut file)?,
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
    read_conventions(&mut c)?;
    let rate = read_rate(&mut c)?;
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

impl Cursor<'_> {
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
}
