//! Correlations between columns of the table.

use super::evaluations::Evaluations;

/// Rows of candidates whose cost judges a motion: not failures, not lower bounds.
pub fn judged(e: &Evaluations) -> Vec<usize> {
    e.samples().filter(|row| e.is_judged(*row)).collect()
}

/// Spearman's rank correlation of each parameter with the cost over some rows; NaN where one of them does not vary.
pub fn with_cost(e: &Evaluations, rows: &[usize]) -> Vec<f64> {
    let of = |column: &[f64]| ranks(&rows.iter().map(|r| column[*r]).collect::<Vec<f64>>());
    let cost = of(&e.cost);
    e.parameters.iter().map(|p| pearson(&of(p), &cost)).collect()
}

/// Ranks from 1; equal values share the mean of theirs.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    while begin < order.len() {
        let same = |i: &usize| values[*i] == values[order[begin]];
        let end = begin + order[begin..].iter().take_while(|i| same(i)).count().max(1);
        for i in &order[begin..end] {
            ranks[*i] = 0.5 * (begin + 1 + end) as f64;
        }
        begin = end;
    }
    ranks
}

/// Pearson's correlation; NaN if one of the columns does not vary.
pub fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len()) as f64;
    if n < 2.0 {
        return f64::NAN;
    }
    // to units in which nothing overflows
    let unit = |v: &[f64]| v.iter().fold(0.0_f64, |m, x| m.max(x.abs())).max(f64::MIN_POSITIVE);
    let (ua, ub) = (unit(a), unit(b));
    let mean = |v: &[f64], u: f64| v.iter().map(|x| x / u).sum::<f64>() / n;
    let (ma, mb) = (mean(a, ua), mean(b, ub));
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x / ua - ma, y / ub - mb);
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    // what is left of a constant by rounding is none
    let varies = |square: f64| square > 1e-24 * n;
    match varies(aa) && varies(bb) {
        true => (ab / (aa * bb).sqrt()).clamp(-1.0, 1.0),
        false => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks depend on the order only, and ties share them (example worked by hand).
    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, -1.0, 3.0, 8.0, 3.0]), [3.0, 1.0, 3.0, 5.0, 3.0]);
        assert!(ranks(&[]).is_empty());
    }

    /// 1 and −1 for what is linear, 0 for what is orthogonal, nothing for what is constant; without overflow.
    #[test]
    fn correlations_are_those_of_the_definition() {
        let a = [1.0, 2.0, 4.0, 7.0];
        assert!((pearson(&a, &a.map(|x| 3.0 - 0.2 * x)) + 1.0).abs() < 1e-12);
        assert!(pearson(&[1.0, -1.0, 1.0, -1.0], &[1.0, 1.0, -1.0, -1.0]).abs() < 1e-15);
        assert!(pearson(&a, &[0.1; 4]).is_nan());
        assert!((pearson(&a.map(|x| x * 1e200), &a.map(|x| x * 1e-200)) - 1.0).abs() < 1e-12);
        assert!(pearson(&[1.0], &[1.0]).is_nan());
    }
}
