//! Figures of a sweep: curves over one parameter, maps over a grid of two, dots over more.

use super::super::axes::{Key, Panel, Range, Sign};
use super::super::drawing::{Anchor, Drawing, Ink, SMALL, Stroke};
use super::super::figures::file_name;
use super::super::font;
use super::super::scale::Scale;
use super::super::{Figure, Missing};
use super::layout::{Row, Shared, WIDTH, cells, curve, dot, figure, stack, thinned};
use super::rank;
use super::{Collected, Made, Study, shown_parameters};

/// Measures that get curves or maps; more are in the table.
const MOST_MEASURES: usize = 12;
/// Opacity of the smallest value of a map.
const FULL: f64 = 0.8;

/// Every figure of a sweep, and those that cannot be made.
pub fn figures(sweep: &Study) -> (Vec<Figure>, Vec<Missing>) {
    let mut collected = Collected::default();
    let e = &sweep.evaluations;
    let title = "Cost";
    if (0..e.len()).all(|row| e.outcome[row].is_failure()) {
        let why = if e.len() == 0 {
            "nothing was evaluated yet"
        } else {
            "every evaluation failed"
        };
        collected.keep("cost", title, Err(why.into()));
    } else if sweep.parameters.is_empty() {
        collected.keep("cost", title, Err("no column is a parameter".into()));
    } else if sweep.parameters.len() == 1 {
        collected.keep("cost", "Cost and measures", one(sweep));
    } else if let Some(grid) = Grid::of(sweep) {
        collected.keep("cost", title, Ok(map(sweep, &grid, "cost", &e.cost)));
        for (name, values) in e.measure_names.iter().zip(&e.measures).take(MOST_MEASURES) {
            if values.iter().any(|v| v.is_finite()) {
                let drawn = map(sweep, &grid, name, values);
                collected.keep(&format!("measure_{}", file_name(name)), name, Ok(drawn));
            }
        }
    } else {
        collected.keep("cost", "Cost over each parameter", many(sweep));
    }
    (collected.figures, collected.missing)
}

fn scale_of(sweep: &Study, parameter: usize) -> Scale {
    let positive = sweep.evaluations.parameters[parameter].iter().all(|v| *v > 0.0);
    match sweep.parameters[parameter].log && positive {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

fn judged_or_bound(sweep: &Study) -> Vec<usize> {
    let e = &sweep.evaluations;
    (0..e.len()).filter(|row| !e.outcome[*row].is_failure()).collect()
}

fn failed(sweep: &Study) -> Vec<usize> {
    let e = &sweep.evaluations;
    (0..e.len()).filter(|row| e.outcome[*row].is_failure()).collect()
}

/// Cost and measures over the only parameter.
fn one(sweep: &Study) -> Made {
    let e = &sweep.evaluations;
    let x = &e.parameters[0];
    let mut order = judged_or_bound(sweep);
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]).then(a.cmp(b)));
    let places: Vec<f64> = order.iter().map(|row| x[*row]).collect();
    let scale = scale_of(sweep, 0);
    let shared = Shared {
        scale,
        range: scale.around(x.iter().copied()),
        label: &sweep.parameters[0].name,
        restarts: &[],
    };
    let measures = e.measure_names.iter().map(String::as_str).zip(&e.measures);
    let shown: Vec<(&str, Vec<f64>)> = std::iter::once(("cost", &e.cost))
        .chain(measures.take(MOST_MEASURES))
        .map(|(name, values)| (name, order.iter().map(|row| values[*row]).collect::<Vec<f64>>()))
        .filter(|(_, values)| values.iter().any(|v| v.is_finite()))
        .collect();
    let rows: Vec<Row> = (shown.iter())
        .map(|(name, values)| {
            let scale = Scale::of(values.iter().copied());
            Row {
                label: match scale {
                    Scale::Log => format!("{name} (log)"),
                    Scale::Linear => name.to_string(),
                },
                height: if *name == "cost" { 200.0 } else { 110.0 },
                scale,
                range: scale.around(values.iter().copied()),
            }
        })
        .collect();
    let failed = failed(sweep);
    let mut keys = vec![dot("point", Ink::Blue)];
    if !failed.is_empty() {
        keys.push(dot("failed, so without a cost", Ink::Vermillion));
    }
    let (mut drawing, panels) = stack(keys, &shared, &rows);
    // a line between points on the transformed axis
    let along: Vec<f64> = places.iter().map(|v| scale.place(*v)).collect();
    for (((_, values), panel), row) in shown.iter().zip(&panels).zip(&rows) {
        curve(
            &mut drawing,
            panel,
            row.scale,
            &along,
            values,
            Stroke::solid(Ink::Blue).width(1.0),
        );
        let known = along
            .iter()
            .zip(values)
            .filter(|(_, v)| row.scale.place(**v).is_finite());
        let dots: Vec<[f64; 2]> = known.map(|(x, v)| panel.at(*x, row.scale.place(*v))).collect();
        drawing.dots(thinned(&dots, 2000).0, 2.2, Ink::Blue, 1.0);
        let at_foot = |row: &usize| [panel.at(scale.place(x[*row]), 0.0)[0], panel.bottom()];
        let dots: Vec<[f64; 2]> = failed.iter().map(at_foot).collect();
        drawing.dots(thinned(&dots, 500).0, 2.2, Ink::Vermillion, 1.0);
    }
    let caption = format!(
        "Cost and measures over {}; points are joined in the order of the parameter.{}",
        sweep.parameters[0].name,
        match failed.len() {
            0 => String::new(),
            n => format!(" {n} of {} points failed; they are marked on the lower axes.", e.len()),
        }
    );
    Ok(figure(drawing, caption))
}

/// Distinct values of two parameters of which nearly all pairs were evaluated once.
struct Grid {
    axes: [Vec<f64>; 2],
    /// Row of the table for each pair, first axis fastest.
    rows: Vec<Option<usize>>,
}

impl Grid {
    fn of(sweep: &Study) -> Option<Grid> {
        const MOST: usize = 200;
        let e = &sweep.evaluations;
        let [a, b] = &e.parameters[..] else { return None };
        let distinct = |values: &Vec<f64>| {
            let mut values = values.clone();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let axes = [distinct(a), distinct(b)];
        let cells = axes[0].len() * axes[1].len();
        // points of a random design have hardly a value in common; a grid may be unfinished
        let spare = e.len() >= axes[0].len() + axes[1].len() || e.len() == cells;
        if axes.iter().any(|a| a.len() < 2 || a.len() > MOST) || !spare {
            return None;
        }
        let mut rows = vec![None; cells];
        for row in 0..e.len() {
            let find = |axis: &Vec<f64>, value: f64| axis.iter().position(|v| *v == value);
            let at = find(&axes[1], b[row])? * axes[0].len() + find(&axes[0], a[row])?;
            if rows[at].replace(row).is_some() {
                return None;
            }
        }
        Some(Grid { axes, rows })
    }
}

/// Edges of the cells around values, in places of a scale.
fn edges(values: &[f64], scale: Scale) -> Vec<f64> {
    let places: Vec<f64> = values.iter().map(|v| scale.place(*v)).collect();
    let n = places.len();
    let mut edges = vec![places[0] - 0.5 * (places[1] - places[0])];
    edges.extend(places.windows(2).map(|w| 0.5 * (w[0] + w[1])));
    edges.push(places[n - 1] + 0.5 * (places[n - 1] - places[n - 2]));
    edges
}

/// Values as colours over both parameters.
fn map(sweep: &Study, grid: &Grid, name: &str, values: &[f64]) -> Figure {
    let e = &sweep.evaluations;
    let scales = [scale_of(sweep, 0), scale_of(sweep, 1)];
    let [xs, ys] = [0, 1].map(|i| edges(&grid.axes[i], scales[i]));
    let (nx, ny) = (grid.axes[0].len(), grid.axes[1].len());
    let known = |row: usize| !e.outcome[row].is_failure() && values[row].is_finite();
    let shown = || {
        grid.rows
            .iter()
            .flatten()
            .filter(|row| known(**row))
            .map(|row| values[*row])
    };
    let scale = Scale::of(shown());
    let tight = scale.around(shown());
    let (low, high) = shown()
        .map(|v| scale.place(v))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));

    let (left, bar) = (84.0, 150.0);
    let width = WIDTH - left - bar;
    let height = (width * ny as f64 / nx as f64).clamp(160.0, 480.0);
    let mut drawing = Drawing::new(WIDTH, height + 66.0);
    let panel = Panel {
        left,
        top: 16.0,
        width,
        height,
        x: Range {
            low: xs[0],
            high: xs[nx],
        },
        y: Range {
            low: ys[0],
            high: ys[ny],
        },
    };
    let share = |value: f64| match high > low {
        true => (scale.place(value) - low) / (high - low),
        false => 0.0,
    };
    // hundredths, for short files; the smallest is the darkest, and even the largest is not white
    let opacity = |share: f64| ((FULL - (FULL - 0.06) * share) * 100.0).round() / 100.0;
    let (mut failures, mut absent) = (0, 0);
    for j in 0..ny {
        for i in 0..nx {
            let [a, b] = [panel.at(xs[i], ys[j + 1]), panel.at(xs[i + 1], ys[j])];
            let Some(row) = grid.rows[j * nx + i] else {
                absent += 1;
                continue;
            };
            if !known(row) {
                failures += 1;
                let inset = [0.25 * (b[0] - a[0]), 0.25 * (b[1] - a[1])];
                let [l, t, r, f] = [a[0] + inset[0], a[1] + inset[1], b[0] - inset[0], b[1] - inset[1]];
                drawing.line(vec![[l, t], [r, f]], Stroke::solid(Ink::Vermillion));
                drawing.line(vec![[l, f], [r, t]], Stroke::solid(Ink::Vermillion));
                continue;
            }
            let size = [b[0] - a[0], b[1] - a[1]];
            drawing.rect(a, size, Ink::Blue, opacity(share(values[row])));
            let text = super::super::axes::short(values[row], 3);
            if font::width(&text, SMALL) + 6.0 < size[0] && size[1] > 16.0 {
                let at = [a[0] + 0.5 * size[0], a[1] + 0.5 * size[1] + 4.0];
                drawing.text(at, text, Ink::Text, Anchor::Middle);
            }
        }
    }
    // the best
    let best =
        (grid.rows.iter().flatten().filter(|row| known(**row))).min_by(|a, b| e.cost[**a].total_cmp(&e.cost[**b]));
    if let Some(at) = best.and_then(|b| grid.rows.iter().position(|r| r == &Some(*b))) {
        let (i, j) = (at % nx, at / nx);
        let [a, b] = [panel.at(xs[i], ys[j + 1]), panel.at(xs[i + 1], ys[j])];
        let ring = vec![a, [b[0], a[1]], b, [a[0], b[1]], a];
        drawing.line(ring, Stroke::solid(Ink::Text).width(2.0));
    }
    frame(&mut drawing, &panel, grid, scales);
    let names = [0, 1].map(|i| sweep.parameters[i].name.as_str());
    panel.x_label(&mut drawing, &font::fitted_end(names[0], SMALL, width));
    drawing.upright_text(
        [14.0, panel.top + 0.5 * height],
        font::fitted_end(names[1], SMALL, height),
        Ink::Text,
    );
    if low.is_finite() {
        color_bar(&mut drawing, &panel, scale, [low, high], tight, name, opacity);
    }

    let mut caption = format!(
        "{name} over {} and {}; dark is small{}. The frame is around the point with the smallest cost.",
        names[0],
        names[1],
        match scale {
            Scale::Log => ", on a logarithmic scale",
            Scale::Linear => "",
        }
    );
    if failures > 0 {
        caption += &format!(" Crosses: {failures} points that failed, or for which this is not known.");
    }
    if absent > 0 {
        caption += &format!(" Empty: {absent} points that were not evaluated.");
    }
    figure(drawing, caption)
}

/// Labels at the values of the grid, as many as there is room for.
fn frame(drawing: &mut Drawing, panel: &Panel, grid: &Grid, scales: [Scale; 2]) {
    let corner = [[panel.left, panel.top], [panel.right(), panel.bottom()]];
    let [[l, t], [r, b]] = corner;
    let edge = vec![[l, t], [r, t], [r, b], [l, b], [l, t]];
    drawing.line(edge, Stroke::solid(Ink::Muted).width(0.8));
    let mut end = f64::NEG_INFINITY;
    for value in &grid.axes[0] {
        let x = panel.at(scales[0].place(*value), 0.0)[0];
        let label = super::super::axes::short(*value, 4);
        let half = 0.5 * font::width(&label, SMALL);
        if x - half > end + 6.0 {
            drawing.text([x, b + 14.0], label, Ink::Text, Anchor::Middle);
            end = x + half;
        }
    }
    let mut above = f64::INFINITY;
    for value in &grid.axes[1] {
        let y = panel.at(0.0, scales[1].place(*value))[1];
        if y < above - 14.0 {
            let label = super::super::axes::short(*value, 4);
            drawing.text([l - 5.0, y + 4.0], label, Ink::Text, Anchor::End);
            above = y;
        }
    }
}

fn color_bar(
    drawing: &mut Drawing,
    panel: &Panel,
    scale: Scale,
    [low, high]: [f64; 2],
    tight: Range,
    name: &str,
    opacity: impl Fn(f64) -> f64,
) {
    const STEPS: usize = 40;
    // whole pixels, so that steps have no seams
    let step = (panel.height.min(260.0) / STEPS as f64).floor();
    let range = match high > low {
        true => Range { low, high },
        false => tight,
    };
    let bar = Panel {
        left: panel.right() + 70.0,
        top: (panel.top + 18.0).round(),
        width: 16.0,
        height: step * STEPS as f64,
        x: Range { low: 0.0, high: 1.0 },
        y: range,
    };
    for i in 0..STEPS {
        let share = (i as f64 + 0.5) / STEPS as f64;
        let top = bar.bottom() - (i + 1) as f64 * step;
        drawing.rect([bar.left, top], [bar.width, step], Ink::Blue, opacity(share));
    }
    for (place, label) in scale.ticks(range, 6.0) {
        let y = bar.at(0.0, place)[1];
        if !label.is_empty() {
            drawing.line(
                vec![[bar.left - 3.0, y], [bar.left, y]],
                Stroke::solid(Ink::Muted).width(0.8),
            );
            drawing.text([bar.left - 6.0, y + 4.0], label, Ink::Text, Anchor::End);
        }
    }
    let title = font::fitted_end(name, SMALL, WIDTH - panel.right() - 24.0);
    drawing.text([panel.right() + 20.0, panel.top + 4.0], title, Ink::Text, Anchor::Start);
}

/// Cost over each of several parameters.
fn many(sweep: &Study) -> Made {
    let e = &sweep.evaluations;
    let (shown, left_out) = shown_parameters(sweep);
    let rows = judged_or_bound(sweep);
    let failed = failed(sweep);
    let cost_scale = Scale::of(rows.iter().map(|row| e.cost[*row]));
    let cost_range = cost_scale.around(rows.iter().map(|row| e.cost[*row]));
    let ranks = rank::with_cost(e, &rank::judged(e));
    let mut keys = vec![dot("point", Ink::Blue)];
    if !failed.is_empty() {
        keys.push(Key {
            label: "failed, so without a cost".into(),
            sign: Sign::Dot(Ink::Vermillion),
        });
    }
    let most = (40_000 / shown.len()).clamp(300, 3000);
    let mut grid = cells(shown.len(), 3, 130.0, &keys);
    let mut any_thinned = false;
    for (i, index) in shown.into_iter().enumerate() {
        let values = &e.parameters[index];
        let scale = scale_of(sweep, index);
        let range = scale.around(values.iter().copied());
        let title = match ranks[index].is_finite() {
            true => {
                let rank = super::super::axes::signed(format!("{:.2}", ranks[index]));
                format!("{} (ρ = {rank})", sweep.parameters[index].name)
            }
            false => sweep.parameters[index].name.clone(),
        };
        let panel = grid.panel(i, (scale, range), (cost_scale, cost_range), &title, Ink::Text);
        let at = |row: &usize| panel.at(scale.place(values[*row]), cost_scale.place(e.cost[*row]));
        let (dots, left_out) = thinned(&rows.iter().map(at).collect::<Vec<_>>(), most);
        any_thinned |= left_out;
        grid.drawing.dots(dots, 1.6, Ink::Blue, 0.8);
        let at_top = |row: &usize| [panel.at(scale.place(values[*row]), 0.0)[0], panel.top];
        let (dots, _) = thinned(&failed.iter().map(at_top).collect::<Vec<_>>(), 300);
        grid.drawing.dots(dots, 1.6, Ink::Vermillion, 1.0);
    }
    let middle = 0.5 * (grid.drawing.height - 24.0);
    let label = match cost_scale {
        Scale::Log => "cost (logarithmic)",
        Scale::Linear => "cost",
    };
    grid.drawing.upright_text([9.0, middle], label, Ink::Text);
    let mut caption = String::from("Cost over each parameter; ρ is Spearman's rank correlation of the two.");
    if !failed.is_empty() {
        caption += &format!(
            " {} of {} points failed; they are marked on the upper edges.",
            failed.len(),
            e.len()
        );
    }
    if any_thinned {
        caption += " Points that lie upon others are left out.";
    }
    caption += &left_out;
    Ok(figure(grid.drawing, caption))
}
