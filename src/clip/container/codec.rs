//! Lossless coding of columns of f64.
//!
//! A motion is smooth, so a number's bits, read as an integer, differ little from those of the sample before (or from the
//! straight line through the two before). The differences' high bytes are nearly all zero; put side by side, byte
//! plane by byte plane, deflate makes short work of them. The low bytes of measured or simulated numbers are noise and
//! stay. Differences are of integers and wrap, so every bit pattern survives, −0.0 too.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

pub(super) const RAW: u8 = 0;
pub(super) const FIRST_DIFFERENCE: u8 = 1;
pub(super) const SECOND_DIFFERENCE: u8 = 2;

/// Deflate cannot expand a byte to more than 1032.
const LARGEST_EXPANSION: usize = 1032;

/// Past this level deflate takes several times longer for the last percent.
const DEFLATE_LEVEL: u8 = 6;

/// Why a block could not be decoded: what was expected and what was found.
pub(super) struct BlockError {
    pub expected: String,
    pub found: String,
}

/// Appends the codec byte and the coded `values`, `arity` to a sample.
pub(super) fn encode_block(values: &[f64], arity: usize, out: &mut Vec<u8>) {
    let bits: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
    let (first, second) = (differences(&bits, arity, 1), differences(&bits, arity, 2));
    let (codec, differences) = if size(&second) < size(&first) {
        (SECOND_DIFFERENCE, second)
    } else {
        (FIRST_DIFFERENCE, first)
    };
    let mut planes = Vec::with_capacity(differences.len() * 8);
    for plane in 0..8 {
        planes.extend(differences.iter().map(|d| (d >> (8 * plane)) as u8));
    }
    let packed = compress_to_vec(&planes, DEFLATE_LEVEL);
    if packed.len() < planes.len() {
        out.push(codec);
        out.extend(packed);
    } else {
        out.push(RAW);
        for word in bits {
            out.extend(word.to_le_bytes());
        }
    }
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
        fn every_bit_pattern_survives(words in prop::collection::vec(any::<u64>(), 0..120), arity in 1usize..5, mask in any::<u64>()) {
            // NaNs, denormals and −0.0 among them, noisy or regular
            let values: Vec<f64> = words.iter().take(words.len() / arity * arity).map(|w| f64::from_bits(w & mask)).collect();
            let mut block = Vec::new();
            encode_block(&values, arity, &mut block);
            let back = decode_block(&block, values.len(), arity).ok().unwrap();
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&values));
            prop_assert!(block.len() <= 8 * values.len() + 1);
        }

        #[test]
        fn any_bytes_decode_or_are_refused(block in prop::collection::vec(any::<u8>(), 0..80), count in 0usize..40, arity in 1usize..4) {
            // no panic, and never more values than asked for
            let count = count / arity * arity;
            if let Ok(values) = decode_block(&block, count, arity) {
                prop_assert_eq!(values.len(), count);
            }
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
        // a constant costs next to nothing; a smooth curve less than its own size
        let mut block = Vec::new();
        encode_block(&vec![0.1; 6000], 3, &mut block);
        // deflate takes at least a byte for 1032
        assert!(block.len() < 4 * 6000 * 8 / 1032, "{}", block.len());
        let curve: Vec<f64> = (0..6000).map(|i| 2.0 + libm::sin(f64::from(i) * 0.003)).collect();
        block.clear();
        encode_block(&curve, 1, &mut block);
        assert_eq!(block[0], SECOND_DIFFERENCE);
        assert!(block.len() < 6000 * 8 * 3 / 4, "{}", block.len());
    }
}
