//! Which parameters go together among the good candidates, and which the cost follows.

use super::super::axes::{Key, Sign, legend, legend_height};
use super::super::drawing::{Anchor, Drawing, Ink, Stroke};
use super::super::font;
use super::layout::{RIGHT, WIDTH, figure};
use super::rank;
use super::{Made, Study, shown_parameters};

/// Opacity of a correlation of 1, so that numbers on it stay legible.
const FULL: f64 = 0.85;
/// Up to so many parameters the numbers are written too.
const WITH_NUMBERS: usize = 14;
/// Width of the bars' axis.
const BARS: f64 = 150.0;

/// The better half, by cost, of the last third of the judged candidates; and all of the last third.
fn late(study: &Study) -> (Vec<usize>, Vec<usize>) {
    let e = &study.evaluations;
    let all = rank::judged(e);
    let third = all[all.len() - all.len().div_ceil(3)..].to_vec();
    let mut better = third.clone();
    better.sort_by(|a, b| e.cost[*a].total_cmp(&e.cost[*b]).then(a.cmp(b)));
    better.truncate(third.len().div_ceil(2));
    (better, third)
}

fn colored(drawing: &mut Drawing, corner: [f64; 2], size: [f64; 2], value: f64) {
    let ink = if value < 0.0 { Ink::Blue } else { Ink::Vermillion };
    // to hundredths, for short files
    let opacity = (FULL * value.abs() * 100.0).round() / 100.0;
    if opacity > 0.0 {
        drawing.rect(corner, size, ink, opacity);
    }
}

pub fn figure_of(study: &Study) -> Made {
    let e = &study.evaluations;
    let (shown, left_out) = shown_parameters(study);
    let (better, third) = late(study);
    if shown.is_empty() {
        return Err("no column is a parameter".into());
    }
    if better.len() < 4 {
        return Err(format!(
            "it needs four good candidates at least, and there are {}",
            better.len()
        ));
    }
    // logarithms of what was searched by its logarithm
    let column = |index: usize| -> Vec<f64> {
        let log = study.parameters[index].log;
        let value = |row: &usize| match (log, e.parameters[index][*row]) {
            (true, v) if v > 0.0 => libm::log(v),
            (_, v) => v,
        };
        better.iter().map(value).collect()
    };
    let columns: Vec<Vec<f64>> = shown.iter().map(|i| column(*i)).collect();
    let all = rank::judged(e);
    let ranks = [rank::with_cost(e, &all), rank::with_cost(e, &third)];

    let n = shown.len();
    let names: Vec<&str> = shown.iter().map(|i| study.parameters[*i].name.as_str()).collect();
    let size = if n > 40 { 9.0 } else { 11.0 };
    let row_size = if n > 40 { 10.0 } else { 11.0 };
    let name_room = names
        .iter()
        .map(|name| font::width(name, size))
        .fold(40.0, f64::max)
        .min(190.0);
    let cell = ((WIDTH - name_room - BARS - 60.0) / n as f64).clamp(9.6, 34.0);
    // rows high enough for their names
    let row = cell.max(12.0);
    let (side, down) = (cell * n as f64, row * n as f64);
    let (left, bar_left) = (name_room + 8.0, name_room + 8.0 + side + 34.0);
    let bar_width = BARS.min(WIDTH - RIGHT - bar_left);

    let bar_inks = [Ink::Text, Ink::Sky];
    let key = |label: &str, sign: Sign| Key {
        label: label.into(),
        sign,
    };
    let keys = [
        key("correlation 1", Sign::Shade(Ink::Vermillion, FULL)),
        key("0.5", Sign::Shade(Ink::Vermillion, 0.5 * FULL)),
        key("−0.5", Sign::Shade(Ink::Blue, 0.5 * FULL)),
        key("−1", Sign::Shade(Ink::Blue, FULL)),
        key(
            "rank correlation with the cost: whole study",
            Sign::Shade(bar_inks[0], 0.75),
        ),
        key("last third", Sign::Shade(bar_inks[1], 1.0)),
    ];
    let legend_room = legend_height(WIDTH - RIGHT - 10.0, &keys);
    let top = legend_room + 12.0;
    let mut drawing = Drawing::new(WIDTH, top + down + name_room + 16.0);
    legend(&mut drawing, [10.0, 2.0], WIDTH - RIGHT, &keys);

    let at = |i: usize| i as f64 * cell;
    for (i, name) in names.iter().enumerate() {
        let middle = top + (i as f64 + 0.5) * row + 0.36 * row_size;
        let fitted = font::fitted_end(name, row_size, name_room);
        drawing.text_of_size([left - 5.0, middle], fitted, row_size, Ink::Text, Anchor::End);
        let fitted = font::fitted_end(name, size, name_room);
        let foot = [left + at(i) + 0.5 * cell + 0.36 * size, top + down + 6.0];
        drawing.upright_text_of_size(foot, fitted, size, Ink::Text, Anchor::End);
    }
    let mut unknown = false;
    for i in 0..n {
        for j in 0..n {
            let value = if i == j {
                1.0
            } else {
                rank::pearson(&columns[i], &columns[j])
            };
            unknown |= value.is_nan();
            let corner = [left + at(j), top + i as f64 * row];
            // neutral on the diagonal, where it says nothing
            match i == j {
                true => drawing.rect(corner, [cell, row], Ink::Grid, 1.0),
                false if value.is_finite() => colored(&mut drawing, corner, [cell, row], value),
                false => {}
            }
            if n <= WITH_NUMBERS && i != j && value.is_finite() {
                let text = super::super::axes::signed(format!("{value:.1}"));
                let at = [corner[0] + 0.5 * cell, corner[1] + 0.5 * row + 4.0];
                drawing.text(at, text, Ink::Text, Anchor::Middle);
            }
        }
    }
    let edge = vec![
        [left, top],
        [left + side, top],
        [left + side, top + down],
        [left, top + down],
        [left, top],
    ];
    drawing.line(edge, Stroke::solid(Ink::Muted).width(0.8));

    // bars beside the rows
    let zero = bar_left + 0.5 * bar_width;
    let place = |value: f64| zero + 0.5 * bar_width * value;
    let halves = bar_width > 120.0;
    for (value, label) in [(-1.0, "−1"), (-0.5, "−0.5"), (0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
        let label = if halves || value != 0.5 && value != -0.5 {
            label
        } else {
            ""
        };
        let ink = if value == 0.0 { Ink::Muted } else { Ink::Grid };
        let x = place(value);
        drawing.line(vec![[x, top], [x, top + down]], Stroke::solid(ink).width(0.8));
        if !label.is_empty() {
            drawing.text([x, top + down + 14.0], label, Ink::Text, Anchor::Middle);
        }
    }
    for (i, index) in shown.iter().enumerate() {
        for (k, (ranks, ink)) in ranks.iter().zip(bar_inks).enumerate() {
            let value = ranks[*index];
            if value.is_finite() {
                let (from, to) = (zero.min(place(value)), zero.max(place(value)));
                let height = 0.36 * row.min(24.0);
                let middle = top + (i as f64 + 0.5) * row;
                let y = if k == 0 { middle - height } else { middle };
                let opacity = if k == 0 { 0.75 } else { 1.0 };
                drawing.rect([from, y], [(to - from).max(0.6), height], ink, opacity);
            }
        }
    }

    let noise = 2.0 / (better.len() as f64).sqrt();
    let mut caption = format!(
        "Squares: Pearson's correlation between parameters{} over the better half of the last third of the candidates that were judged \
         whole ({} of {}), that is, along which combinations the search still moved. Even between \
         independent parameters values up to ±{:.2} are to be expected. Bars: Spearman's rank correlation of each parameter with the cost, over all {} judged candidates and over their last \
         third; to the right: larger values cost more.",
        match study.parameters.iter().any(|p| p.log) {
            true => " (or their logarithms, where those are searched)",
            false => "",
        },
        better.len(),
        all.len(),
        noise,
        all.len(),
    );
    if all.last().is_some_and(|last| e.restart[third[0]] != e.restart[*last]) {
        caption += " The last third spans restarts, so it mixes distributions around different means.";
    }
    if unknown {
        caption += " White: a parameter that did not vary there.";
    }
    caption += &left_out;
    Ok(figure(drawing, caption))
}
