//! Content to bytes.

use super::codec::encode_block;
use super::{ClipFile, MAGIC, QUATERNION_ORDER, Rate, UNITS, UP_AXIS, VERSION};

/// `file` must be valid.
pub(super) fn encode(file: &ClipFile) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(MAGIC);
    put_u32(&mut out, VERSION);
    chunk(&mut out, b"HEAD", |out| put_head(out, file));
    chunk(&mut out, b"SKEL", |out| put_skeleton(out, file));
    chunk(&mut out, b"PROV", |out| {
        put_u32(out, file.provenance.len() as u32);
        for (key, value) in &file.provenance {
            put_string(out, key);
            put_string(out, value);
        }
    });
    put_joint_tracks(&mut out, file);
    for track in &file.scalar_tracks {
        chunk(&mut out, b"SCAL", |out| {
            put_string(out, &track.name);
            put_string(out, &track.unit);
            encode_block(&track.values, 1, out);
        });
    }
    for track in &file.vector_tracks {
        chunk(&mut out, b"VECT", |out| {
            put_string(out, &track.name);
            put_string(out, &track.unit);
            put_u32(out, track.arity as u32);
            encode_block(&track.values, track.arity, out);
        });
    }
    chunk(&mut out, b"EVTS", |out| {
        put_u32(out, file.events.len() as u32);
        for event in &file.events {
            put_f64(out, event.time);
            put_string(out, &event.name);
            put_string(out, &event.payload);
        }
    });
    out.extend(b"END ");
    out.extend(4u64.to_le_bytes());
    let checksum = crc32fast::hash(&out);
    put_u32(&mut out, checksum);
    out
}

fn put_head(out: &mut Vec<u8>, file: &ClipFile) {
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
    out.extend((file.samples() as u64).to_le_bytes());
    out.push(u8::from(!file.frames.is_empty()));
}

fn put_skeleton(out: &mut Vec<u8>, file: &ClipFile) {
    put_u32(out, file.skeleton.joints.len() as u32);
    for joint in &file.skeleton.joints {
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

fn put_joint_tracks(out: &mut Vec<u8>, file: &ClipFile) {
    if file.frames.is_empty() {
        return;
    }
    for j in 0..file.skeleton.joints.len() {
        let rotations: Vec<f64> = file.frames.iter().flat_map(|f| f.rotations[j].to_array()).collect();
        let translations: Vec<f64> = file.frames.iter().flat_map(|f| f.translations[j].to_array()).collect();
        for (kind, values, arity) in [(0u8, rotations, 4), (1, translations, 3)] {
            chunk(out, b"JTRK", |out| {
                put_u32(out, j as u32);
                out.push(kind);
                encode_block(&values, arity, out);
            });
        }
    }
}

fn chunk(out: &mut Vec<u8>, tag: &[u8; 4], payload: impl FnOnce(&mut Vec<u8>)) {
    out.extend(tag);
    let length_at = out.len();
    out.extend(0u64.to_le_bytes());
    payload(out);
    let length = (out.len() - length_at - 8) as u64;
    out[length_at..length_at + 8].copy_from_slice(&length.to_le_bytes());
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
