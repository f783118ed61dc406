//! Lossless coding of columns of f64.
//!
//! A motion is smooth, so a number's bits, read as an integer, differ little from those of the sample before (or from the
//! straight line through the two before). The differences' high bytes are nearly all zero; put side by side, byte
//! plane by byte plane, deflate makes short work of them. The low bytes of measured or simulated numbers are noise and
//! stay. Differences are of integers and wrap, so every bit pattern survives, −0.0 too.
//!
//! A version 1 block is one track over all samples. A version 2 segment holds a run of samples of all tracks: the byte planes
//! that are noise are stored as they are, all others go into one deflate stream.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

pub(super) const RAW: u8 = 0;
pub(super) const FIRST_DIFFERENCE: u8 = 1;
pub(super) const SECOND_DIFFERENCE: u8 = 2;

/// Deflate cannot expand a byte to more than 1032.
const LARGEST_EXPANSION: usize = 1032;

/// Of a segment. On a recorded walk level 6 takes three times as long to save another 6 %.
const SEGMENT_LEVEL: u8 = 1;

/// Fewer bytes than this tell nothing about their distribution.
const SMALLEST_HISTOGRAM: usize = 512;

/// Why a block could not be decoded: what was expected and what was found.
pub(super) struct BlockError {
    pub expected: String,
    pub found: String,
}

/// The `count` values of a block, `arity` to a sample. Allocates no more than the block's own size allows for.
pub(super) fn decode_block(block: &[u8], count: usize, arity: usize) -> Result<Vec<f64>, BlockError> {
    let (&codec, data) = block.split_first().ok_or_else(|| BlockError {
        expected: "a codec byte".to_owned(),
        found: "the end of the chunk".to_owned(),
    })?;
    let size_error = |found: String| BlockError {
        expected: format!("{count} values of 8 bytes"),
        found,
    };
    let size = count
        .checked_mul(8)
        .ok_or_else(|| size_error("more than memory holds".to_owned()))?;
    let order = match codec {
        RAW => {
            if data.len() != size {
                return Err(size_error(format!("{} bytes", data.len())));
            }
            let (words, _) = data.as_chunks::<8>();
            return Ok(words.iter().map(|w| f64::from_le_bytes(*w)).collect());
        }
        FIRST_DIFFERENCE => 1,
        SECOND_DIFFERENCE => 2,
        _ => {
            return Err(BlockError {
                expected: "codec 0, 1 or 2".to_owned(),
                found: format!("codec {codec}"),
            });
        }
    };
    if size / LARGEST_EXPANSION > data.len() {
        return Err(size_error(format!("{} packed bytes, too few for so many", data.len())));
    }
    let planes = decompress_to_vec_with_limit(data, size)
        .map_err(|e| size_error(format!("packed data that does not unpack ({:?})", e.status)))?;
    if planes.len() != size {
        return Err(size_error(format!("{} bytes", planes.len())));
    }
    let mut differences = vec![0u64; count];
    if count > 0 {
        for (plane, bytes) in planes.chunks_exact(count).enumerate() {
            for (d, byte) in differences.iter_mut().zip(bytes) {
                *d |= u64::from(*byte) << (8 * plane);
            }
        }
    }
    Ok(integrate(&differences, arity, order))
}

/// Appends a segment: `tracks` with their arities, all of the same number of samples.
///
/// Layout: per track the order of its differences (1 or 2) and a mask of the planes that are stored; then those planes; then
/// the others, deflated.
pub(super) fn encode_segment(tracks: &[(&[f64], usize)], out: &mut Vec<u8>) {
    let (mut bits, mut stored, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    for (values, arity) in tracks {
        bits.clear();
        bits.extend(values.iter().map(|v| v.to_bits()));
        let (first, second) = (differences(&bits, *arity, 1), differences(&bits, *arity, 2));
        let (order, differences) = if size(&second) < size(&first) {
            (SECOND_DIFFERENCE, second)
        } else {
            (FIRST_DIFFERENCE, first)
        };
        let mut mask = 0u8;
        for plane in 0..8 {
            let bytes = differences.iter().map(|d| (d >> (8 * plane)) as u8);
            if is_noise(bytes.clone()) {
                mask |= 1 << plane;
                stored.extend(bytes);
            } else {
                packed.extend(bytes);
            }
        }
        out.extend([order, mask]);
    }
    out.extend(stored);
    out.extend(compress_to_vec(&packed, SEGMENT_LEVEL));
}

/// Whether deflate would gain less than 10 % from the frequencies of the bytes.
fn is_noise(bytes: impl ExactSizeIterator<Item = u8>) -> bool {
    let count = bytes.len();
    if count < SMALLEST_HISTOGRAM {
        return false;
    }
    let mut histogram = [0u32; 256];
    bytes.for_each(|b| histogram[b as usize] += 1);
    let entropy: f64 = (histogram.iter().filter(|n| **n > 0))
        .map(|n| f64::from(*n) * libm::log2(count as f64 / f64::from(*n)))
        .sum();
    entropy > 0.9 * 8.0 * count as f64
}

/// The values of every track of a segment of `samples` samples; `arities` of the tracks. Allocates no more than the
/// segment's own size allows for.
pub(super) fn decode_segment(segment: &[u8], samples: usize, arities: &[usize]) -> Result<Vec<Vec<f64>>, BlockError> {
    let refuse = |expected: &str, found: String| BlockError {
        expected: expected.to_owned(),
        found,
    };
    let numbers = arities
        .iter()
        .try_fold(0usize, |sum, a| sum.checked_add(a.checked_mul(samples)?))
        .filter(|n| n / (LARGEST_EXPANSION / 8) <= segment.len())
        .ok_or_else(|| {
            let found = format!("{samples} samples in {} bytes", segment.len());
            refuse("no more samples than the segment can hold", found)
        })?;
    let heads = segment.get(..2 * arities.len());
    let heads = heads.ok_or_else(|| refuse("two bytes for every track", format!("{} bytes", segment.len())))?;
    let mut rest = &segment[heads.len()..];
    let mut stored_bytes = 0;
    for (head, arity) in heads.chunks_exact(2).zip(arities) {
        if !matches!(head[0], FIRST_DIFFERENCE | SECOND_DIFFERENCE) {
            return Err(refuse("differences of order 1 or 2", head[0].to_string()));
        }
        stored_bytes += head[1].count_ones() as usize * arity * samples;
    }
    let (mut stored, packed) = rest
        .split_at_checked(stored_bytes)
        .ok_or_else(|| refuse(&format!("{stored_bytes} stored bytes"), format!("{}", rest.len())))?;
    rest = packed;
    let size = 8 * numbers - stored_bytes;
    let unpacked = decompress_to_vec_with_limit(rest, size)
        .map_err(|e| refuse("packed data that unpacks", format!("an error ({:?})", e.status)))?;
    if unpacked.len() != size {
        return Err(refuse(&format!("{size} packed bytes"), unpacked.len().to_string()));
    }
    let mut packed = &unpacked[..];
    let mut tracks = Vec::with_capacity(arities.len());
    for (head, arity) in heads.chunks_exact(2).zip(arities) {
        let count = arity * samples;
        let mut differences = vec![0u64; count];
        for plane in 0..8 {
            // both were measured above
            let source = if head[1] >> plane & 1 == 1 {
                &mut stored
            } else {
                &mut packed
            };
            let (bytes, more) = source.split_at(count);
            *source = more;
            for (d, byte) in differences.iter_mut().zip(bytes) {
                *d |= u64::from(*byte) << (8 * plane);
            }
        }
        tracks.push(integrate(&differences, *arity, u32::from(head[0])));
    }
    Ok(tracks)
}

/// Differences of columns, column after column, with the sign in the lowest bit so that small ones of either sign have
/// zeros above.
fn differences(bits: &[u64], arity: usize, order: u32) -> Vec<u64> {
    let mut out = Vec::with_capacity(bits.len());
    for column in 0..arity {
        let (mut last, mut slope) = (0u64, 0u64);
        for &word in bits.iter().skip(column).step_by(arity) {
            let d = word.wrapping_sub(last).wrapping_sub(slope);
            out.push((d << 1) ^ (((d as i64) >> 63) as u64));
            if order == 2 {
                slope = word.wrapping_sub(last);
            }
            last = word;
        }
    }
    out
}

/// Undoes [`differences`].
fn integrate(differences: &[u64], arity: usize, order: u32) -> Vec<f64> {
    let samples = differences.len() / arity;
    let mut out = vec![0.0; differences.len()];
    for column in 0..arity {
        let (mut last, mut slope) = (0u64, 0u64);
        for sample in 0..samples {
            let coded = differences[column * samples + sample];
            let d = (coded >> 1) ^ (coded & 1).wrapping_neg();
            let word = last.wrapping_add(slope).wrapping_add(d);
            out[sample * arity + column] = f64::from_bits(word);
            if order == 2 {
                slope = word.wrapping_sub(last);
            }
            last = word;
        }
    }
    out
}

/// Significant bits in all: what deflate will roughly need.
fn size(differences: &[u64]) -> u64 {
    differences.iter().map(|d| u64::from(64 - d.leading_zeros())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(block in prop::collection::vec(any::<u8>(), 0..80), count in 0usize..40, arity in 1usize..4) {
            // no panic, and never more values than asked for
            let count = count / arity * arity;
            if let Ok(values) = decode_block(&block, count, arity) {
                prop_assert_eq!(values.len(), count);
            }
        }
    }

    proptest! {
        #[test]
        fn segments_bring_every_bit_pattern_back(
            words in prop::collection::vec(any::<u64>(), 0..2400), shift in 0u32..64, first in 1usize..4, second in 1usize..4,
        ) {
            // two tracks, from noise (all planes stored) to small numbers (all planes packed)
            let samples = words.len() / (first + second);
            let values: Vec<f64> = words.iter().map(|w| f64::from_bits(w >> shift)).collect();
            let (a, b) = (&values[..samples * first], &values[samples * first..samples * (first + second)]);
            let mut segment = Vec::new();
            encode_segment(&[(a, first), (b, second)], &mut segment);
            let back = decode_segment(&segment, samples, &[first, second]).ok().unwrap();
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back[0]), bits(a));
            prop_assert_eq!(bits(&back[1]), bits(b));
        }

        #[test]
        fn any_bytes_are_a_segment_or_refused(
            segment in prop::collection::vec(any::<u8>(), 0..200), samples in 0usize..40, arity in 1usize..4,
        ) {
            // no panic, and never more values than asked for
            if let Ok(tracks) = decode_segment(&segment, samples, &[arity, 1]) {
                prop_assert_eq!((tracks[0].len(), tracks[1].len()), (arity * samples, samples));
            }
        }
    }

    #[test]
    fn a_segment_cannot_ask_for_more_memory_than_it_could_fill() {
        // a promise of 2^61 values, or of more than deflate can expand to, is refused before anything is reserved
        for samples in [usize::MAX, usize::MAX / 8, 1 << 40, 4096] {
            assert!(decode_segment(&[1, 0, 2, 0, 3], samples, &[3, 1]).is_err());
        }
    }

    #[test]
    fn a_block_cannot_ask_for_more_memory_than_it_could_fill() {
        // a promise of 2^61 values, or of more than deflate can expand to, is refused before anything is reserved
        for count in [usize::MAX, usize::MAX / 8, 1 << 40] {
            for codec in 0..3 {
                assert!(decode_block(&[codec, 1, 2, 3], count, 1).is_err());
            }
        }
    }

    #[test]
    fn smooth_and_constant_tracks_are_small() {
        // a constant costs next to nothing; a smooth curve less than its own size, a noisy one no more
        let packed = |values: &[f64], arity: usize| {
            let mut segment = Vec::new();
            encode_segment(&[(values, arity)], &mut segment);
            segment.len()
        };
        // deflate takes at least a byte for 1032
        assert!(packed(&vec![0.1; 6000], 3) < 8 * 6000 * 8 / 1032);
        let curve: Vec<f64> = (0..6000).map(|i| 2.0 + libm::sin(f64::from(i) * 0.003)).collect();
        assert!(packed(&curve, 1) < 6000 * 8 * 3 / 4, "{}", packed(&curve, 1));
        let noise: Vec<f64> = (0..6000)
            .map(|i| crate::math::random::uniform_in(1, 2, i, -1.0, 1.0))
            .collect();
        assert!(packed(&noise, 1) < 6000 * 8 + 64, "{}", packed(&noise, 1));
    }
}
