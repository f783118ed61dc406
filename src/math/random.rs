//! Counter-based random numbers: a value is a function of (seed, stream, index) and of nothing else.
//!
//! The order of calls, the thread and how many numbers others have drawn do not matter, so runs repeat to the bit and
//! a study can be resumed anywhere. The generator is Philox 4×32 with ten rounds (Salmon, Moraes, Dror, Shaw,
//! "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the seed is its key, stream and index are its counter.

use std::convert::Infallible;
use std::f64::consts::TAU;

use rand::{SeedableRng, TryRng};

const ROUNDS: usize = 10;
const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..ROUNDS {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let p0 = u64::from(MULTIPLIER[0]) * u64::from(counter[0]);
        let p1 = u64::from(MULTIPLIER[1]) * u64::from(counter[2]);
        counter = [
            (p1 >> 32) as u32 ^ counter[1] ^ key[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ counter[3] ^ key[1],
            p0 as u32,
        ];
    }
    counter
}

/// Two independent random words.
pub fn bits(seed: u64, stream: u64, index: u64) -> [u64; 2] {
    let [a, b, c, d] = philox(
        [index as u32, (index >> 32) as u32, stream as u32, (stream >> 32) as u32],
        [seed as u32, (seed >> 32) as u32],
    );
    [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
}

/// Uniform in `[0, 1)`, 53 random bits.
pub fn uniform(seed: u64, stream: u64, index: u64) -> f64 {
    unit_interval(bits(seed, stream, index)[0])
}

/// Uniform in `[low, high)`.
pub fn uniform_in(seed: u64, stream: u64, index: u64, low: f64, high: f64) -> f64 {
    let value = low + (high - low) * uniform(seed, stream, index);
    // rounding may reach the upper end
    if value < high { value } else { low }
}

/// Normal with mean 0 and standard deviation 1 (Box and Muller).
pub fn normal(seed: u64, stream: u64, index: u64) -> f64 {
    let [a, b] = bits(seed, stream, index);
    // 1 − u lies in (0, 1], where the logarithm is finite
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit_interval(a)));
    radius * libm::cos(TAU * unit_interval(b))
}

fn unit_interval(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The stream (seed, stream) as a generator for the `rand` crate; word `n` is a half of `bits(seed, stream, n / 2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRng {
    seed: u64,
    stream: u64,
    /// Position in 64-bit words.
    position: u128,
}

impl CounterRng {
    /// At the beginning of the stream.
    pub fn new(seed: u64, stream: u64) -> CounterRng {
        CounterRng {
            seed,
            stream,
            position: 0,
        }
    }

    /// At the block `index` of the stream: the next word is `bits(seed, stream, index)[0]`.
    pub fn at(seed: u64, stream: u64, index: u64) -> CounterRng {
        CounterRng {
            seed,
            stream,
            position: u128::from(index) * 2,
        }
    }
}

impl TryRng for CounterRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let block = bits(self.seed, self.stream, (self.position / 2) as u64);
        let word = block[(self.position % 2) as usize];
        self.position = self.position.wrapping_add(1);
        Ok(word)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

impl SeedableRng for CounterRng {
    type Seed = [u8; 8];

    /// Stream 0 of the little-endian seed.
    fn from_seed(seed: [u8; 8]) -> CounterRng {
        CounterRng::new(u64::from_le_bytes(seed), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt};

    #[test]
    fn philox_gives_its_published_answers() {
        // known-answer vectors of the Random123 distribution for philox4x32-10
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn a_value_does_not_depend_on_who_asked_before() {
        // the generator at an index gives what the function gives, and interleaving streams changes nothing
        let expected: Vec<u64> = (0..20).flat_map(|i| bits(7, 3, i)).collect();
        let mut rng = CounterRng::new(7, 3);
        let mut other = CounterRng::new(7, 4);
        let found: Vec<u64> = (0..40)
            .map(|_| {
                other.next_u64();
                rng.next_u64()
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(CounterRng::at(7, 3, 11).next_u64(), expected[22]);
        let mut bytes = [0u8; 11];
        CounterRng::new(7, 3).fill_bytes(&mut bytes);
        assert_eq!(bytes[..8], expected[0].to_le_bytes());
        assert_eq!(bytes[8..], expected[1].to_le_bytes()[..3]);
    }

    #[test]
    fn seeds_and_streams_are_different_sequences() {
        // no two of 3000 words agree when any of seed, stream or index differs
        let mut words = Vec::new();
        for seed in [0, 1, 1 << 40] {
            for stream in [0, 1, 1 << 40, u64::MAX, 12] {
                for index in (0..50).chain(u64::MAX - 50..u64::MAX) {
                    words.extend(bits(seed, stream, index));
                }
            }
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        // mean and variance of 100 000 values within five standard errors
        let n = 100_000u64;
        let count = n as f64;
        let moments = |f: &dyn Fn(u64) -> f64| {
            let mean = (0..n).map(f).sum::<f64>() / count;
            let variance = (0..n).map(|i| (f(i) - mean) * (f(i) - mean)).sum::<f64>() / count;
            (mean, variance)
        };
        let (mean, variance) = moments(&|i| uniform(5, 9, i));
        assert!((mean - 0.5).abs() < 5.0 * libm::sqrt(1.0 / 12.0 / count));
        assert!((variance - 1.0 / 12.0).abs() < 5.0 * libm::sqrt(1.0 / 180.0 / count));
        let (mean, variance) = moments(&|i| normal(5, 9, i));
        assert!(mean.abs() < 5.0 / libm::sqrt(count));
        assert!((variance - 1.0).abs() < 5.0 * libm::sqrt(2.0 / count));
        assert!((0..n).all(|i| (2.0..5.0).contains(&uniform_in(1, 2, i, 2.0, 5.0))));
        // and the rand crate's own distributions work on it
        assert!((0..100).all(|_| (3..9).contains(&CounterRng::new(1, 1).random_range(3..9))));
    }
}
