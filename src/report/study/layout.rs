//! Panels one above the other over the evaluations, grids of small panels, and curves with gaps.

use std::ops::Range as Span;

use super::super::Figure;
use super::super::axes::{Key, Panel, Range, Sign, decimate, event, legend, legend_height};
use super::super::drawing::{Anchor, Dash, Drawing, Ink, MEDIUM, Stroke};
use super::super::font;
use super::super::scale::Scale;

/// Width of every figure.
pub const WIDTH: f64 = 900.0;
pub const LEFT: f64 = 84.0;
pub const RIGHT: f64 = 14.0;

/// A figure; its name and title are filled in by the list of figures.
pub fn figure(drawing: Drawing, caption: String) -> Figure {
    Figure {
        name: String::new(),
        title: String::new(),
        caption,
        drawing,
    }
}

/// A panel of a stack before it has its place.
pub struct Row {
    pub label: String,
    pub height: f64,
    pub scale: Scale,
    /// In places of the scale.
    pub range: Range,
}

/// The axis that the panels of a stack share.
pub struct Shared<'a> {
    pub scale: Scale,
    pub range: Range,
    pub label: &'a str,
    /// Places of restarts.
    pub restarts: &'a [f64],
}

impl<'a> Shared<'a> {
    /// From 0 to the last evaluation.
    pub fn evaluations(last: f64, restarts: &'a [f64]) -> Shared<'a> {
        Shared {
            scale: Scale::Linear,
            range: Range {
                low: 0.0,
                high: last.max(1.0),
            },
            label: "evaluations",
            restarts,
        }
    }
}

/// Frames one above the other, with a legend above them.
pub fn stack(mut keys: Vec<Key>, shared: &Shared, rows: &[Row]) -> (Drawing, Vec<Panel>) {
    const GAP: f64 = 14.0;
    if !shared.restarts.is_empty() {
        keys.push(restart_key());
    }
    let legend_room = legend_height(WIDTH - LEFT - RIGHT, &keys);
    let heights: f64 = rows.iter().map(|r| r.height + GAP).sum();
    let mut drawing = Drawing::new(WIDTH, 8.0 + legend_room + heights + 26.0);
    legend(&mut drawing, [LEFT, 2.0], WIDTH - RIGHT, &keys);
    let mut top = 8.0 + legend_room;
    let mut panels = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let panel = Panel {
            left: LEFT,
            top,
            width: WIDTH - LEFT - RIGHT,
            height: row.height,
            x: shared.range,
            y: row.range,
        };
        let last = i + 1 == rows.len();
        frame(&mut drawing, &panel, [shared.scale, row.scale], last);
        for restart in shared.restarts {
            event(&mut drawing, &panel, *restart, Ink::Muted);
        }
        let label = font::fitted(&row.label, super::super::drawing::SMALL, row.height + 12.0);
        drawing.upright_text([14.0, top + 0.5 * row.height], label, Ink::Text);
        if last {
            panel.x_label(&mut drawing, shared.label);
        }
        panels.push(panel);
        top += row.height + GAP;
    }
    (drawing, panels)
}

pub fn restart_key() -> Key {
    Key::line("restart", Stroke::new(Ink::Muted, Dash::Dotted).width(1.2))
}

/// Ticks and frame of a panel on scales.
pub fn frame(drawing: &mut Drawing, panel: &Panel, scales: [Scale; 2], x_labels: bool) {
    let room = if panel.width > 400.0 { 80.0 } else { 55.0 };
    let x = scales[0].ticks(panel.x, (panel.width / room).max(2.0));
    let y = scales[1].ticks(panel.y, (panel.height / 30.0).clamp(3.0, 10.0));
    panel.frame_with(drawing, apart(panel, x), y, x_labels);
}

/// Ticks of the x axis whose labels do not touch.
fn apart(panel: &Panel, mut ticks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let mut end = f64::NEG_INFINITY;
    for (value, label) in &mut ticks {
        let half = 0.5 * font::width(label, super::super::drawing::SMALL);
        let middle = panel.at(*value, 0.0)[0];
        match middle - half < end + 6.0 {
            true => label.clear(),
            false if label.is_empty() => {}
            false => end = middle + half,
        }
    }
    ticks
}

/// Runs of equal numbers, such as the generations between two restarts.
pub fn pieces(restart: &[u64]) -> Vec<Span<usize>> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    for i in 1..=restart.len() {
        if i == restart.len() || restart[i] != restart[begin] {
            pieces.push(begin..i);
            begin = i;
        }
    }
    pieces
}

/// A curve over an increasing x, broken where a value has no place; a single point is a dot.
pub fn curve(drawing: &mut Drawing, panel: &Panel, scale: Scale, x: &[f64], y: &[f64], stroke: Stroke) {
    let places: Vec<f64> = y.iter().map(|v| scale.place(*v)).collect();
    let known: Vec<u64> = places.iter().map(|p| u64::from(p.is_finite())).collect();
    for piece in pieces(&known) {
        if known[piece.start] == 0 {
            continue;
        }
        match piece.len() {
            1 => drawing.dot(
                panel.at(x[piece.start], places[piece.start]),
                stroke.width + 0.8,
                stroke.ink,
            ),
            _ => panel.curve(drawing, &x[piece.clone()], &places[piece], stroke),
        }
    }
}

/// A value that holds until the next one.
pub fn steps(drawing: &mut Drawing, panel: &Panel, scale: Scale, points: &[(f64, f64)], end: f64, stroke: Stroke) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (i, point) in points.iter().enumerate() {
        let until = points.get(i + 1).map_or(end.max(point.0), |next| next.0);
        x.extend([point.0, until]);
        y.extend([point.1, point.1]);
    }
    curve(drawing, panel, scale, &x, &y, stroke);
}

/// The band between two curves, cut off at the edges of the panel. Where there are more points than pixels it reaches from the
/// least to the greatest in each column.
pub fn band(drawing: &mut Drawing, panel: &Panel, scale: Scale, x: &[f64], edges: [&[f64]; 2], ink: Ink, opacity: f64) {
    let (mut xs, mut lows, mut highs) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..x.len() {
        let [low, high] = edges.map(|e| scale.place(e[i]));
        // what is below every number is at the lower edge
        let low = if low.is_finite() { low } else { panel.y.low };
        if high.is_finite() {
            xs.push(x[i]);
            lows.push(low.clamp(panel.y.low, panel.y.high));
            highs.push(high.clamp(panel.y.low, panel.y.high));
        }
    }
    if let ([x], [low], [high]) = (&xs[..], &lows[..], &highs[..]) {
        // a generation alone
        drawing.line(
            vec![panel.at(*x, *low), panel.at(*x, *high)],
            Stroke::solid(ink).width(3.0),
        );
        return;
    }
    let columns = (panel.width / 2.0) as usize;
    let mut points: Vec<[f64; 2]> = Vec::new();
    let over = extremes(&xs, &highs, panel.x, columns, f64::max);
    let under = extremes(&xs, &lows, panel.x, columns, f64::min);
    points.extend(over.iter().map(|p| panel.at(p.0, p.1)));
    points.extend(under.iter().rev().map(|p| panel.at(p.0, p.1)));
    drawing.area(points, ink, opacity);
}

/// One value per column, or all if they are few.
fn extremes(x: &[f64], y: &[f64], range: Range, columns: usize, of: fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
    if x.len() <= 2 * columns {
        return decimate(x, y, range, columns);
    }
    let mut kept: Vec<(usize, f64, f64)> = Vec::new();
    for (x, y) in x.iter().zip(y) {
        let column = (range.share(*x).clamp(0.0, 1.0) * columns as f64) as usize;
        match kept.last_mut() {
            Some(last) if last.0 == column => last.2 = of(last.2, *y),
            _ => kept.push((column, *x, *y)),
        }
    }
    kept.into_iter().map(|k| (k.1, k.2)).collect()
}

/// Points thinned so that none is nearer than about `cell` pixels to another; the first in each square stays. `cell` grows until
/// at most `most` are left. The second result says whether any was left out.
pub fn thinned(points: &[[f64; 2]], most: usize) -> (Vec<[f64; 2]>, bool) {
    if points.len() <= most {
        return (points.to_vec(), false);
    }
    let mut cell = 1.5;
    loop {
        let mut taken = std::collections::BTreeSet::new();
        let square = |p: &[f64; 2]| ((p[0] / cell).floor() as i64, (p[1] / cell).floor() as i64);
        let kept: Vec<[f64; 2]> = points.iter().filter(|p| taken.insert(square(p))).copied().collect();
        if kept.len() <= most || cell > 1e3 {
            return (kept, true);
        }
        cell *= 1.25;
    }
}

/// A grid of small panels before they have their axes.
pub struct Cells {
    pub drawing: Drawing,
    /// Left, top, width and height of each panel.
    pub cells: Vec<[f64; 4]>,
    columns: usize,
}

/// Places for `count` panels of a height, in rows.
pub fn cells(count: usize, columns: usize, height: f64, keys: &[Key]) -> Cells {
    const AXIS: f64 = 66.0;
    const ABOVE: f64 = 26.0;
    const BELOW: f64 = 22.0;
    let legend_room = legend_height(WIDTH - AXIS - RIGHT, keys);
    let rows = count.div_ceil(columns);
    let cell = [WIDTH / columns as f64, ABOVE + height + BELOW];
    let mut drawing = Drawing::new(WIDTH, legend_room + rows as f64 * cell[1] + 24.0);
    legend(&mut drawing, [AXIS, 2.0], WIDTH - RIGHT, keys);
    let place = |i: usize| {
        let (row, column) = ((i / columns) as f64, (i % columns) as f64);
        [
            column * cell[0] + AXIS,
            legend_room + row * cell[1] + ABOVE,
            cell[0] - AXIS - RIGHT,
            height,
        ]
    };
    Cells {
        drawing,
        cells: (0..count).map(place).collect(),
        columns,
    }
}

impl Cells {
    /// Draws the frame of a panel with its axes and its title.
    pub fn panel(&mut self, i: usize, x: (Scale, Range), y: (Scale, Range), title: &str, ink: Ink) -> Panel {
        let [left, top, width, height] = self.cells[i];
        let panel = Panel {
            left,
            top,
            width,
            height,
            x: x.1,
            y: y.1,
        };
        frame(&mut self.drawing, &panel, [x.0, y.0], true);
        let title = font::fitted_end(title, MEDIUM, width + 50.0);
        // over the tick labels too, since names are long
        let at = [left - 50.0, top - 8.0];
        self.drawing.text_of_size(at, title, MEDIUM, ink, Anchor::Start);
        panel
    }

    /// Whether no panel is below this one.
    pub fn is_last_of_column(&self, i: usize) -> bool {
        i + self.columns >= self.cells.len()
    }
}

/// Key of a shaded area.
pub fn shade(label: &str, ink: Ink, opacity: f64) -> Key {
    Key {
        label: label.into(),
        sign: Sign::Shade(ink, opacity),
    }
}

/// Key of a dot.
pub fn dot(label: &str, ink: Ink) -> Key {
    Key {
        label: label.into(),
        sign: Sign::Dot(ink),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many points there are, at most so many are drawn, and they cover what all cover.
    #[test]
    fn thinned_points_cover_what_all_points_cover() {
        let wave = |i: usize| [(i * 37 % 1000) as f64 * 0.3, 60.0 + 50.0 * libm::sin(i as f64 * 0.71)];
        let all: Vec<[f64; 2]> = (0..100_000).map(wave).collect();
        let (kept, left_out) = thinned(&all, 1500);
        assert!(left_out && kept.len() <= 1500 && kept.len() > 700, "{}", kept.len());
        for p in all.iter().step_by(97) {
            let near = kept.iter().any(|q| (p[0] - q[0]).abs() + (p[1] - q[1]).abs() < 16.0);
            assert!(near, "{p:?}");
        }
        assert_eq!(thinned(&all[..100], 1500), (all[..100].to_vec(), false));
    }

    /// A band over many generations reaches to the extremes of all of them.
    #[test]
    fn a_band_of_many_points_keeps_its_extremes() {
        let x: Vec<f64> = (0..50_000).map(f64::from).collect();
        let mut high = vec![1.0; x.len()];
        high[31_234] = 9.0;
        let kept = extremes(&x, &high, Range { low: 0.0, high: 5e4 }, 400, f64::max);
        assert!(kept.len() <= 401 && kept.iter().any(|p| p.1 == 9.0));
    }
}
