//! Panels: ranges, ticks, grids, and curves reduced to what can be seen.

use super::drawing::{Anchor, Dash, Drawing, Ink, MEDIUM, SMALL, Stroke};
use super::font;

/// What an axis shows; `low` may be the larger one, the axis then runs the other way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// Larger numbers than these are drawn at the edge, so that differences stay finite.
const LARGEST: f64 = 1e300;

impl Range {
    /// Around all of `values`, with room above and below and at least `least` wide, so that noise is not drawn as if it meant
    /// something.
    pub fn around(values: impl IntoIterator<Item = f64>, least: f64) -> Range {
        let (low, high) = extremes(values);
        let middle = 0.5 * (low + high);
        // an axis cannot be labelled finer than this
        let least = least.max(1e-6 * middle.abs());
        let half = (0.5 * (high - low)).max(0.5 * least);
        Range {
            low: middle - 1.06 * half,
            high: middle + 1.06 * half,
        }
    }

    /// From 0 to beyond the largest of `values`, at least to `least`.
    pub fn from_zero(values: impl IntoIterator<Item = f64>, least: f64) -> Range {
        let (low, high) = extremes(values.into_iter().chain([0.0, least]));
        let room = 0.06 * (high - low);
        Range {
            low: if low < 0.0 { low - room } else { 0.0 },
            high: high + room,
        }
    }

    /// 0 at `low`, 1 at `high`.
    pub fn share(&self, value: f64) -> f64 {
        let span = self.high - self.low;
        if span == 0.0 {
            return 0.5;
        }
        ((value.clamp(-LARGEST, LARGEST) - self.low) / span).clamp(-10.0, 10.0)
    }

    /// Round numbers within the range, about `count` of them, with their labels.
    pub fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let (low, high) = (self.low.min(self.high), self.low.max(self.high));
        let step = round_step((high - low) / count.max(1.0));
        if !(step > 0.0 && step.is_finite()) {
            return Vec::new();
        }
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).max(0.0) as usize;
        let first = libm::ceil(low / step - 1e-9);
        let last = libm::floor(high / step + 1e-9);
        let most = low.abs().max(high.abs());
        (0..=((last - first) as usize).min(50))
            .map(|i| (first + i as f64) * step)
            .map(|value| {
                let label = match most >= 1e6 || step < 1e-5 {
                    true => scientific(value),
                    false => signed(format!("{value:.decimals$}")),
                };
                (value, label)
            })
            .collect()
    }
}

fn extremes(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .into_iter()
        .filter(|v| v.is_finite())
        .map(|v| v.clamp(-LARGEST, LARGEST))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// 1, 2 or 5 times a power of ten, not smaller than `step`.
fn round_step(step: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(step)));
    let factor = step / power;
    power
        * match factor {
            f if f <= 1.0 + 1e-9 => 1.0,
            f if f <= 2.0 + 1e-9 => 2.0,
            f if f <= 5.0 + 1e-9 => 5.0,
            _ => 10.0,
        }
}

/// A number with a true minus sign, and none before 0.
pub fn signed(number: String) -> String {
    match number.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_string(),
        Some(rest) => format!("−{rest}"),
        None => number,
    }
}

/// A number in as few signs as tell `digits` significant ones.
pub fn short(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let exponent = libm::floor(libm::log10(value.abs())) as i32;
    if !(-4..6).contains(&exponent) || !value.is_finite() {
        return power_of_ten(&format!("{value:.*e}", digits.saturating_sub(1)));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let text = format!("{value:.decimals$}");
    signed(match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    })
}

fn scientific(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    power_of_ten(&format!("{value:.1e}"))
}

/// `1.50e-7` as people write it.
fn power_of_ten(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return signed(text.to_string());
    };
    let exponent: String = exponent
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
        })
        .collect();
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    signed(match mantissa {
        "1" => format!("10{exponent}"),
        mantissa => format!("{mantissa}·10{exponent}"),
    })
}

/// A curve with at most two points in each of `columns` equal parts of `range`: the least and the greatest, in the order in
/// which they come, so that no peak is lost. Curves with few points stay as they are.
pub fn decimate(x: &[f64], y: &[f64], range: Range, columns: usize) -> Vec<(f64, f64)> {
    let points = || x.iter().copied().zip(y.iter().copied());
    if x.len().min(y.len()) <= 2 * columns {
        return points().collect();
    }
    let mut kept = Vec::with_capacity(2 * columns + 2);
    let mut column = usize::MAX;
    let mut least = (0.0, f64::INFINITY);
    let mut greatest = least;
    let flush = |least: (f64, f64), greatest: (f64, f64), kept: &mut Vec<(f64, f64)>| {
        if least.0 == greatest.0 {
            kept.push(least);
        } else if least.0 < greatest.0 {
            kept.extend([least, greatest]);
        } else {
            kept.extend([greatest, least]);
        }
    };
    for point in points() {
        let here = (range.share(point.0).clamp(0.0, 1.0) * columns as f64) as usize;
        if here != column {
            if column != usize::MAX {
                flush(least, greatest, &mut kept);
            }
            column = here;
            (least, greatest) = (point, point);
        }
        if point.1 < least.1 {
            least = point;
        }
        if point.1 > greatest.1 {
            greatest = point;
        }
    }
    flush(least, greatest, &mut kept);
    kept
}

/// The place of one plot within a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panel {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Range,
    pub y: Range,
}

impl Panel {
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [
            self.left + self.x.share(x) * self.width,
            self.top + (1.0 - self.y.share(y)) * self.height,
        ]
    }

    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Grid, tick labels, frame. `x_labels` says whether the ticks of the x axis are labelled.
    pub fn frame(&self, drawing: &mut Drawing, x_labels: bool) {
        let label_room = if self.width > 400.0 { 80.0 } else { 45.0 };
        let x_ticks = self.x.ticks(self.width / label_room);
        let y_ticks = self.y.ticks((self.height / 18.0).min(6.0));
        self.frame_with(drawing, x_ticks, y_ticks, x_labels);
        if (self.y.low < 0.0) != (self.y.high < 0.0) {
            let y = self.at(0.0, 0.0)[1];
            let ends = vec![[self.left, y], [self.right(), y]];
            drawing.line(ends, Stroke::solid(Ink::Muted).width(0.6));
        }
    }

    /// The same with ticks from elsewhere, say of a logarithmic axis; those without a label have a line of the grid only.
    pub fn frame_with(
        &self,
        drawing: &mut Drawing,
        x_ticks: Vec<(f64, String)>,
        y_ticks: Vec<(f64, String)>,
        x_labels: bool,
    ) {
        let grid = Stroke::solid(Ink::Grid).width(0.8);
        for (value, label) in x_ticks {
            let x = self.at(value, 0.0)[0];
            drawing.line(vec![[x, self.top], [x, self.bottom()]], grid);
            if x_labels && !label.is_empty() {
                // labels at the very edge move inwards
                let half = 0.5 * font::width(&label, SMALL);
                let at = x.min(drawing.width - half - 1.0);
                drawing.text([at, self.bottom() + 14.0], label, Ink::Text, Anchor::Middle);
            }
        }
        for (value, label) in y_ticks {
            let y = self.at(0.0, value)[1];
            drawing.line(vec![[self.left, y], [self.right(), y]], grid);
            if !label.is_empty() {
                drawing.text([self.left - 5.0, y + 4.0], label, Ink::Text, Anchor::End);
            }
        }
        let (l, t, r, b) = (self.left, self.top, self.right(), self.bottom());
        drawing.line(vec![[l, t], [l, b], [r, b]], Stroke::solid(Ink::Muted).width(0.8));
    }

    pub fn x_label(&self, drawing: &mut Drawing, label: &str) {
        let at = [self.left + 0.5 * self.width, self.bottom() + 30.0];
        drawing.text(at, label, Ink::Text, Anchor::Middle);
    }

    /// Left of the tick labels.
    pub fn y_label(&self, drawing: &mut Drawing, label: &str) {
        let at = [self.left - 46.0, self.top + 0.5 * self.height];
        drawing.upright_text(at, font::fitted(label, SMALL, self.height + 30.0), Ink::Text);
    }

    /// Above the panel, at its left.
    pub fn title(&self, drawing: &mut Drawing, title: &str) {
        let at = [self.left, self.top - 6.0];
        let title = font::fitted(title, MEDIUM, self.width);
        drawing.text_of_size(at, title, MEDIUM, Ink::Text, Anchor::Start);
    }

    /// A curve over an increasing x, reduced to what the panel's width can show.
    pub fn curve(&self, drawing: &mut Drawing, x: &[f64], y: &[f64], stroke: Stroke) {
        let points = decimate(x, y, self.x, self.width as usize);
        drawing.line(points.iter().map(|p| self.at(p.0, p.1)).collect(), stroke);
    }

    /// A curve that goes anywhere. Points nearer than half a pixel to the last one are left out.
    pub fn path(&self, drawing: &mut Drawing, points: impl Iterator<Item = (f64, f64)>, stroke: Stroke) {
        let mut kept: Vec<[f64; 2]> = Vec::new();
        for (x, y) in points {
            let p = self.at(x, y);
            let near = |q: &[f64; 2]| (p[0] - q[0]).abs() < 0.5 && (p[1] - q[1]).abs() < 0.5;
            if !kept.last().is_some_and(near) {
                kept.push(p);
            }
        }
        if kept.len() == 1 {
            drawing.dot(kept[0], stroke.width, stroke.ink);
        }
        drawing.line(kept, stroke);
    }

    /// A line across the panel at a value, if it is in the range.
    pub fn level(&self, drawing: &mut Drawing, value: f64, stroke: Stroke) {
        if (0.0..=1.0).contains(&self.y.share(value)) {
            drawing.line(vec![self.at(self.x.low, value), self.at(self.x.high, value)], stroke);
        }
    }
}

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub label: String,
    pub sign: Sign,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sign {
    Line(Stroke),
    /// A shaded span.
    Shade(Ink, f64),
    Dot(Ink),
}

impl Key {
    pub fn line(label: impl Into<String>, stroke: Stroke) -> Key {
        Key {
            label: label.into(),
            sign: Sign::Line(stroke),
        }
    }
}

/// Height of a row of a legend.
pub const LEGEND_ROW: f64 = 18.0;

/// Draws a legend from `[left, top]` to the right edge of the drawing, in as many rows as it takes; returns its height. On a drawing
/// without width it only measures.
pub fn legend(drawing: &mut Drawing, [left, top]: [f64; 2], right: f64, keys: &[Key]) -> f64 {
    const SAMPLE: f64 = 24.0;
    const GAP: f64 = 18.0;
    if keys.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (left, top + 12.0);
    for key in keys {
        let label = font::fitted(&key.label, SMALL, right - left - SAMPLE - 6.0);
        let width = SAMPLE + 5.0 + font::width(&label, SMALL);
        if x > left && x + width > right {
            (x, y) = (left, y + LEGEND_ROW);
        }
        let middle = y - 4.0;
        match key.sign {
            Sign::Line(stroke) => drawing.line(vec![[x, middle], [x + SAMPLE, middle]], stroke),
            Sign::Shade(ink, opacity) => drawing.rect([x, middle - 5.0], [SAMPLE, 10.0], ink, opacity),
            Sign::Dot(ink) => drawing.dot([x + 0.5 * SAMPLE, middle], 3.5, ink),
        }
        drawing.text([x + SAMPLE + 5.0, y], label, Ink::Text, Anchor::Start);
        x += width + GAP;
    }
    y - top + 6.0
}

/// Height that [`legend`] will take.
pub fn legend_height(width: f64, keys: &[Key]) -> f64 {
    legend(&mut Drawing::default(), [0.0, 0.0], width, keys)
}

/// The vertical line of an event.
pub fn event(drawing: &mut Drawing, panel: &Panel, time: f64, ink: Ink) {
    if (0.0..=1.0).contains(&panel.x.share(time)) {
        let x = panel.at(time, 0.0)[0];
        let stroke = Stroke::new(ink, Dash::Dotted).width(1.2);
        drawing.line(vec![[x, panel.top], [x, panel.bottom()]], stroke);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every peak of a long curve survives, in its column, and the number of points is bounded by the columns.
    #[test]
    fn decimation_keeps_the_extremes_of_every_column() {
        let n = 36_000;
        let x: Vec<f64> = (0..n).map(|i| i as f64 / 240.0).collect();
        let mut y: Vec<f64> = x.iter().map(|t| 3.0 + libm::sin(7.3 * t)).collect();
        // single samples that a stride would miss
        y[12_345] = 40.0;
        y[23_451] = -17.0;
        let columns = 300;
        let range = Range {
            low: 0.0,
            high: x[n - 1],
        };
        let kept = decimate(&x, &y, range, columns);
        assert!(kept.len() <= 2 * (columns + 1), "{}", kept.len());
        assert!(kept.contains(&(x[12_345], 40.0)) && kept.contains(&(x[23_451], -17.0)));
        assert!(kept.windows(2).all(|w| w[0].0 < w[1].0), "times increase");
        for c in 0..columns {
            let within = |t: f64| (range.share(t) * columns as f64) as usize == c;
            let top = |points: &mut dyn Iterator<Item = (f64, f64)>| {
                points.filter(|p| within(p.0)).fold(f64::MIN, |m, p| m.max(p.1))
            };
            let all = top(&mut x.iter().copied().zip(y.iter().copied()));
            assert_eq!(top(&mut kept.iter().copied()), all, "column {c}");
        }
    }

    /// A curve with no more points than can be seen is not touched.
    #[test]
    fn short_curves_are_kept_whole() {
        let (x, y) = ([0.0, 1.0, 5.0], [2.0, -1.0, 4.0]);
        let kept = decimate(&x, &y, Range { low: 0.0, high: 5.0 }, 100);
        assert_eq!(kept, vec![(0.0, 2.0), (1.0, -1.0), (5.0, 4.0)]);
    }

    /// Ticks are round, within the range, and labelled with as many decimals as tell them apart.
    #[test]
    fn ticks_are_round_numbers_with_distinct_labels() {
        let range = Range {
            low: -0.013,
            high: 0.0271,
        };
        let ticks = range.ticks(5.0);
        let labels: Vec<&str> = ticks.iter().map(|t| t.1.as_str()).collect();
        assert_eq!(labels, ["−0.01", "0.00", "0.01", "0.02"]);
        for (low, high) in [(0.0, 3e7), (1e-9, 4e-9), (-1e300, 1e300), (652.0, 652.001), (5.0, -5.0)] {
            let ticks = Range { low, high }.ticks(5.0);
            assert!((2..=12).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            for pair in ticks.windows(2) {
                assert_ne!(pair[0].1, pair[1].1, "{low} {high}");
            }
        }
    }

    /// Ranges are finite and not empty, whatever they shall hold.
    #[test]
    fn ranges_of_odd_values_are_finite_and_not_empty() {
        for values in [
            vec![],
            vec![f64::NAN],
            vec![5.0; 3],
            vec![-1e308, 1e308],
            vec![0.0, 1e-300],
        ] {
            for range in [
                Range::around(values.clone(), 0.1),
                Range::from_zero(values.clone(), 0.1),
            ] {
                assert!(
                    range.low < range.high && (range.high - range.low).is_finite(),
                    "{range:?}"
                );
                assert!(range.share(3.0).is_finite());
            }
        }
    }
}
