//! Heights of a heightfield: from a table, or random hills.

use super::spec::NoiseSpec;
use crate::math::random::uniform_in;

/// Whether `heights` is a grid of finite numbers with at least two rows and columns.
pub(crate) fn check(heights: &[Vec<f64>]) -> Result<(), String> {
    let columns = heights.first().map_or(0, Vec::len);
    if heights.len() < 2 || columns < 2 {
        return Err(format!(
            "there are {} rows and {columns} columns; expected at least two of each",
            heights.len()
        ));
    }
    for (r, row) in heights.iter().enumerate() {
        if row.len() != columns {
            return Err(format!(
                "row {} has {} numbers, the first one {columns}",
                r + 1,
                row.len()
            ));
        }
        if let Some(h) = row.iter().find(|h| !h.is_finite()) {
            return Err(format!("row {} holds {h}; expected finite numbers", r + 1));
        }
    }
    Ok(())
}

/// Heights in metres from CSV without a header; rows along +Z, columns along +X.
pub(crate) fn parse_csv(text: &str) -> Result<Vec<Vec<f64>>, String> {
    let mut heights = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let row = line
            .split(',')
            .map(|cell| {
                cell.trim()
                    .parse::<f64>()
                    .map_err(|_| format!("line {}: `{}` is not a number", i + 1, cell.trim()))
            })
            .collect::<Result<Vec<f64>, String>>()?;
        heights.push(row);
    }
    check(&heights)?;
    Ok(heights)
}

/// Random hills: value noise on lattices of halving wavelength (Perlin, "An image synthesizer", 1985, with values in place of
/// gradients), flat near the middle. The result is a function of the noise, `seed` and `stream`.
pub(crate) fn hills(noise: &NoiseSpec, size: [f64; 2], seed: u64, stream: u64) -> Vec<Vec<f64>> {
    let lattice = |octave: usize, i: i64, k: i64| {
        // 24 bits per side are 16 million hills
        let index = (octave as u64) << 48 | (i as u64 & 0xff_ffff) << 24 | (k as u64 & 0xff_ffff);
        uniform_in(seed, stream, index, -1.0, 1.0)
    };
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let total: f64 = (0..noise.octaves).map(|o| libm::ldexp(1.0, -(o as i32))).sum();
    let height = |x: f64, z: f64| {
        let mut sum = 0.0;
        for octave in 0..noise.octaves {
            let share = libm::ldexp(1.0, -(octave as i32));
            let (u, w) = (x / (noise.wavelength_m * share), z / (noise.wavelength_m * share));
            let (i, k) = (u.floor(), w.floor());
            let (s, t) = (fade(u - i), fade(w - k));
            let at = |di: i64, dk: i64| lattice(octave, i as i64 + di, k as i64 + dk);
            let near = at(0, 0) * (1.0 - s) + at(1, 0) * s;
            let far = at(0, 1) * (1.0 - s) + at(1, 1) * s;
            sum += share * (near * (1.0 - t) + far * t);
        }
        let distance = (x * x + z * z).sqrt();
        // rises from the flat part over one wavelength
        let rise = ((distance - noise.flat_radius_m) / noise.wavelength_m).clamp(0.0, 1.0);
        let weight = if noise.flat_radius_m > 0.0 { fade(rise) } else { 1.0 };
        noise.amplitude_m * weight * sum / total
    };
    let along = |i: usize, cells: usize, size: f64| size * (i as f64 / cells as f64 - 0.5);
    (0..=noise.cells[1])
        .map(|r| {
            let z = along(r, noise.cells[1], size[1]);
            (0..=noise.cells[0])
                .map(|c| height(along(c, noise.cells[0], size[0]), z))
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hills_repeat_with_the_seed_stay_in_bounds_and_leave_the_middle_flat() {
        // same seed, same hills; another seed, others; never beyond the amplitude; 0 within the flat radius
        let noise = NoiseSpec {
            amplitude_m: 0.3,
            wavelength_m: 1.5,
            cells: [40, 30],
            octaves: 3,
            flat_radius_m: 1.0,
        };
        let size = [10.0, 8.0];
        let a = hills(&noise, size, 7, 0);
        assert_eq!((a.len(), a[0].len()), (31, 41));
        assert_eq!(a, hills(&noise, size, 7, 0));
        assert_ne!(a, hills(&noise, size, 8, 0));
        assert!(a.iter().flatten().all(|h| h.abs() <= 0.3));
        assert!(a.iter().flatten().any(|h| h.abs() > 0.05));
        assert_eq!(a[15][20], 0.0);
    }

    #[test]
    fn a_table_of_heights_must_be_a_grid_of_finite_numbers() {
        // ragged rows, words, infinities and single rows are refused with the place
        assert_eq!(parse_csv("0, 1\n2,3\n\n").unwrap(), [[0.0, 1.0], [2.0, 3.0]]);
        assert!(parse_csv("0,1\n2\n").unwrap_err().contains("row 2"));
        assert!(parse_csv("0,1\n2,x\n").unwrap_err().contains("line 2"));
        assert!(parse_csv("0,1\n2,inf\n").unwrap_err().contains("inf"));
        assert!(parse_csv("0,1\n").is_err());
    }
}
