//! How evaluations ended.

use super::super::axes::{Range, event};
use super::super::drawing::Ink;
use super::super::scale::Scale;
use super::evaluations::Evaluations;
use super::generations::restarts;
use super::layout::{Row, Shared, figure, shade, stack};
use super::{Made, Study};
use crate::optimize::Outcome;

/// Columns at most; with fewer generations there is one per generation.
const COLUMNS: usize = 100;

fn ink(outcome: Outcome) -> (Ink, f64) {
    match outcome {
        Outcome::Completed => (Ink::Green, 0.75),
        Outcome::Fell => (Ink::Amber, 1.0),
        Outcome::Hopeless => (Ink::Grid, 1.0),
        Outcome::Diverged => (Ink::Vermillion, 1.0),
        Outcome::Invalid => (Ink::Purple, 1.0),
    }
}

/// How many candidates ended how, over all of the study.
pub fn counts(e: &Evaluations) -> Vec<(Outcome, usize)> {
    let count = |outcome| e.samples().filter(|row| e.outcome[*row] == outcome).count();
    Outcome::ALL.into_iter().map(|o| (o, count(o))).collect()
}

/// Reasons of failures among all evaluations, the most frequent first.
pub fn reasons(e: &Evaluations) -> Vec<(Outcome, &str, usize)> {
    let mut found = std::collections::BTreeMap::new();
    for row in (0..e.len()).filter(|row| e.outcome[*row].is_failure()) {
        *found.entry((e.outcome[row], e.reason[row])).or_insert(0) += 1;
    }
    let text = |reason: Option<u32>| reason.map_or("no reason was given", |r| e.reasons[r as usize].as_str());
    let mut list: Vec<_> = found.into_iter().map(|((o, r), count)| (o, text(r), count)).collect();
    list.sort_by(|a, b| b.2.cmp(&a.2).then(a.1.cmp(b.1)));
    list
}

pub fn figure_of(study: &Study) -> Made {
    let e = &study.evaluations;
    let rows: Vec<usize> = e.samples().collect();
    if rows.is_empty() {
        return Err("nothing was evaluated yet".into());
    }
    // columns of whole generations
    let mut begins: Vec<usize> = (0..rows.len())
        .filter(|i| *i == 0 || e.generation[rows[*i]] != e.generation[rows[i - 1]])
        .collect();
    let every = begins.len().div_ceil(COLUMNS);
    begins = begins.into_iter().step_by(every).collect();
    begins.push(rows.len());

    let counts = counts(e);
    let happened: Vec<(Outcome, usize)> = counts.into_iter().filter(|c| c.1 > 0).collect();
    let keys = (happened.iter())
        .map(|(outcome, count)| {
            let (ink, opacity) = ink(*outcome);
            let share = 100.0 * *count as f64 / rows.len() as f64;
            let share = if share < 1.0 {
                format!("{share:.2}")
            } else {
                format!("{share:.0}")
            };
            shade(&format!("{}: {count} ({share} %)", outcome.name()), ink, opacity)
        })
        .collect();
    let restarts = restarts(e);
    let shared = Shared::evaluations(study.last_evaluation(), &restarts);
    let row = Row {
        label: "share of candidates (%)".into(),
        height: 150.0,
        scale: Scale::Linear,
        range: Range { low: 0.0, high: 100.0 },
    };
    let (mut drawing, panels) = stack(keys, &shared, &[row]);
    let panel = &panels[0];
    for pair in begins.windows(2) {
        let column = &rows[pair[0]..pair[1]];
        let from = match pair[0] {
            0 => 0.0,
            first => e.number[rows[first - 1]],
        };
        let to = e.number[rows[pair[1] - 1]];
        let mut below = 0.0;
        for (outcome, _) in &happened {
            let count = column.iter().filter(|row| e.outcome[**row] == *outcome).count();
            if count == 0 {
                continue;
            }
            let share = 100.0 * count as f64 / column.len() as f64;
            let (corner, other) = (panel.at(from, below + share), panel.at(to, below));
            let (ink, opacity) = ink(*outcome);
            // a column is no wider than its evaluations, less a gap where that can be seen
            let width = other[0] - corner[0];
            let gap = if width > 4.0 { 1.0 } else { 0.0 };
            drawing.rect(corner, [(width - gap).max(0.3), other[1] - corner[1]], ink, opacity);
            below += share;
        }
    }
    // once more, above the columns
    for restart in &restarts {
        event(&mut drawing, panel, *restart, Ink::Text);
    }
    let caption = format!(
        "How the rollouts of the candidates ended; of several rollouts of a candidate the worst counts. Each column is {}. Hopeless: \
         given up because the cost could no longer be better than that of the generation before. The reasons of failures are in the \
         table above.",
        match every {
            1 => "a generation".to_string(),
            n => format!("{n} generations"),
        }
    );
    Ok(figure(drawing, caption))
}
