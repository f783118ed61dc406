//! What is said of generations and of the best so far, from the table of evaluations.

use super::evaluations::Evaluations;

/// The candidates of a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Number of its last candidate's evaluation.
    pub end: f64,
    pub restart: u64,
    /// Smallest, middle and largest cost without failures; NaN if there are none.
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// All generations, in order.
pub fn generations(e: &Evaluations) -> Vec<Generation> {
    let mut generations: Vec<Generation> = Vec::new();
    let mut costs: Vec<f64> = Vec::new();
    let mut current = None;
    let close = |generation: &mut Generation, costs: &mut Vec<f64>| {
        costs.sort_by(f64::total_cmp);
        generation.low = costs.first().copied().unwrap_or(f64::NAN);
        generation.high = costs.last().copied().unwrap_or(f64::NAN);
        generation.median = median_of_sorted(costs);
        costs.clear();
    };
    for row in e.samples() {
        let here = (e.generation[row], e.restart[row]);
        if current != Some(here) {
            if let Some(last) = generations.last_mut() {
                close(last, &mut costs);
            }
            current = Some(here);
            generations.push(Generation {
                end: e.number[row],
                restart: e.restart[row],
                low: f64::NAN,
                median: f64::NAN,
                high: f64::NAN,
            });
        }
        if let Some(last) = generations.last_mut() {
            last.end = e.number[row];
        }
        if !e.outcome[row].is_failure() {
            costs.push(e.cost[row]);
        }
    }
    if let Some(last) = generations.last_mut() {
        close(last, &mut costs);
    }
    generations
}

/// NaN of nothing.
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// Rows of the candidates that were better than all before them.
pub fn improvements(e: &Evaluations) -> Vec<usize> {
    let mut least = f64::INFINITY;
    let mut rows = Vec::new();
    for row in e.samples().filter(|row| e.is_judged(*row)) {
        if e.cost[row] < least {
            least = e.cost[row];
            rows.push(row);
        }
    }
    rows
}

/// Number of evaluations before the first one of each restart.
pub fn restarts(e: &Evaluations) -> Vec<f64> {
    (1..e.len())
        .filter(|i| e.restart[*i] != e.restart[i - 1])
        .map(|i| e.number[i - 1])
        .collect()
}
