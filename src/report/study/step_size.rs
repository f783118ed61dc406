//! How wide the distribution was: step size, axis ratio, population.

use super::super::axes::{Key, Range};
use super::super::drawing::{Dash, Ink, Stroke};
use super::super::scale::Scale;
use super::generations::restarts;
use super::layout::{Row, Shared, curve, figure, pieces, stack};
use super::{Made, Study};

pub fn figure_of(study: &Study) -> Made {
    let history = study
        .history
        .as_ref()
        .ok_or("it is drawn from history.csv, which is missing")?;
    let panels = [
        ("sigma", "step size σ", Ink::Blue, Dash::Solid),
        ("axis_ratio", "axis ratio", Ink::Vermillion, Dash::Solid),
        ("population", "population", Ink::Green, Dash::Solid),
    ];
    let shown: Vec<_> = panels
        .into_iter()
        .filter_map(|(name, label, ink, dash)| Some((label, history.column(name)?, Stroke::new(ink, dash))))
        .filter(|(_, values, _)| values.iter().any(|v| v.is_finite()))
        .collect();
    if shown.is_empty() {
        return Err("history.csv has no generation with a step size".into());
    }
    let rows: Vec<Row> = (shown.iter())
        .map(|(label, values, _)| {
            let scale = Scale::of(values.iter().copied());
            let range = match (scale, *label) {
                (Scale::Linear, "population") => Range::from_zero(values.iter().copied(), 1.0),
                _ => scale.around(values.iter().copied()),
            };
            Row {
                label: label.to_string(),
                height: if *label == "population" { 90.0 } else { 130.0 },
                scale,
                range,
            }
        })
        .collect();
    let restarts = restarts(&study.evaluations);
    let last = study
        .last_evaluation()
        .max(history.evaluations.last().copied().unwrap_or(0.0));
    let shared = Shared::evaluations(last, &restarts);
    let keys: Vec<Key> = shown
        .iter()
        .map(|(label, _, stroke)| Key::line(*label, *stroke))
        .collect();
    let (mut drawing, panels) = stack(keys, &shared, &rows);
    for (((_, values, stroke), panel), row) in shown.iter().zip(&panels).zip(&rows) {
        for piece in pieces(&history.restart) {
            let x = &history.evaluations[piece.clone()];
            curve(&mut drawing, panel, row.scale, x, &values[piece], *stroke);
        }
    }
    let caption = "The distribution that each generation was drawn from. Step size σ: common factor on all standard deviations, in units \
                   of the scales of the parameters. Axis ratio: longest by shortest axis of the distribution in these units; large \
                   where the cost is far more sensitive to some combinations of parameters than to others. Population: candidates per \
                   generation.";
    Ok(figure(drawing, caption.into()))
}
