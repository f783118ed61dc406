//! Which foot is down when.

use super::super::axes::{Key, Panel, Range, Sign, legend, legend_height};
use super::super::drawing::{Anchor, Dash, Drawing, Ink};
use super::ground::FEET;
use super::layout::{WIDTH, figure};
use super::{Made, View, Who};
use crate::report::font;

/// A foot is down if it carries more than this share of the body weight.
pub const LOADED: f64 = 0.05;

/// Shorter than that a foot has not left the ground, or not come down, seconds.
const FLICKER: f64 = 0.05;

/// Spans of time in which a foot was down.
pub fn stances(times: &[f64], force: &[f64], weight: f64) -> Vec<[f64; 2]> {
    let mut spans: Vec<[f64; 2]> = Vec::new();
    let mut open = false;
    let second = force.get(1).copied().unwrap_or(0.0);
    for (i, (&time, &force)) in times.iter().zip(force).enumerate() {
        // the first row has no step before it, and no forces: the second one decides
        let down = if i == 0 { second } else { force } > LOADED * weight;
        if down && !open {
            match spans.last_mut() {
                Some(last) if time - last[1] < FLICKER => last[1] = time,
                _ => spans.push([time, time]),
            }
        }
        if (down || open)
            && let Some(last) = spans.last_mut()
        {
            // down until the first row in which it is not
            last[1] = time;
        }
        open = down;
    }
    spans.retain(|s| s[1] - s[0] >= FLICKER || s[1] == times.last().copied().unwrap_or(0.0));
    spans
}

/// What a gait comes to.
pub struct Gait {
    /// Left and right.
    pub stances: [Vec<[f64; 2]>; 2],
    /// Shares of the time: left down, right down, both, none.
    pub shares: [f64; 4],
    /// Times at which a foot came down after it had been up, in order.
    pub touchdowns: Vec<f64>,
}

pub fn gait(who: &Who) -> Option<Gait> {
    let weight = who.character.weight?;
    let times = who.times();
    let stances = ["left_foot_force_y_n", "right_foot_force_y_n"].map(|c| Some(stances(times, who.column(c)?, weight)));
    let [Some(left), Some(right)] = stances else {
        return None;
    };
    let (first, last) = (*times.first()?, *times.last()?);
    let total = (last - first).max(1e-9);
    let length = |spans: &[[f64; 2]]| spans.iter().map(|s| s[1] - s[0]).sum::<f64>() / total;
    let mut both = 0.0;
    for l in &left {
        for r in &right {
            both += (l[1].min(r[1]) - l[0].max(r[0])).max(0.0) / total;
        }
    }
    let (l, r) = (length(&left), length(&right));
    // a foot that is down from the beginning has not come down
    let early = first + FLICKER;
    let mut touchdowns: Vec<f64> = left
        .iter()
        .chain(&right)
        .map(|s| s[0])
        .filter(|t| *t > early && who.run.fell_at().is_none_or(|fell| *t < fell))
        .collect();
    touchdowns.sort_by(f64::total_cmp);
    Some(Gait {
        stances: [left, right],
        shares: [l, r, both, (1.0 - l - r + both).max(0.0)],
        touchdowns,
    })
}

pub fn diagram(view: &View) -> Made {
    view.with_column("left_foot_force_y_n")?;
    let found: Vec<(&Who, Gait)> = view.whos.iter().filter_map(|w| Some((w, gait(w)?))).collect();
    if found.is_empty() {
        return Err("the mass of the character is not known, since summary.json is missing".into());
    }
    if found.iter().all(|(_, g)| g.stances.iter().all(Vec::is_empty)) {
        return Err("no foot ever carried 5 % of the body weight".into());
    }
    const ROW: f64 = 18.0;
    let keys: Vec<Key> = ["left foot down", "right foot down"]
        .into_iter()
        .zip(FEET)
        .map(|(label, ink)| Key {
            label: label.into(),
            sign: Sign::Shade(ink, 1.0),
        })
        .collect();
    let widest = found
        .iter()
        .map(|(w, _)| font::width(&w.run.label, 11.0))
        .fold(0.0, f64::max);
    let left = if view.compared {
        (widest + 70.0).min(260.0)
    } else {
        64.0
    };
    let legend_room = legend_height(WIDTH - left, &keys);
    let height = found.len() as f64 * (2.0 * ROW + 10.0);
    let mut drawing = Drawing::new(WIDTH, legend_room + height + 44.0);
    legend(&mut drawing, [left, 2.0], WIDTH - 14.0, &keys);
    let panel = Panel {
        left,
        top: 6.0 + legend_room,
        width: WIDTH - left - 14.0,
        height,
        x: Range {
            low: 0.0,
            high: view.duration().max(1e-3),
        },
        y: Range { low: 0.0, high: 0.0 },
    };
    panel.frame(&mut drawing, true);
    panel.x_label(&mut drawing, "time (s)");
    let mut y = panel.top + 5.0;
    let mut captions = Vec::new();
    for (who, gait) in &found {
        if view.compared {
            let label = font::fitted(&who.run.label, 11.0, left - 52.0);
            drawing.text([4.0, y + ROW + 4.0], label, Ink::Text, Anchor::Start);
        }
        for (foot, spans) in gait.stances.iter().enumerate() {
            let name = ["left", "right"][foot];
            drawing.text([left - 6.0, y + 13.0], name, Ink::Text, Anchor::End);
            for span in spans {
                let (from, to) = (panel.at(span[0], 0.0)[0], panel.at(span[1], 0.0)[0]);
                drawing.rect([from, y + 2.0], [(to - from).max(0.5), ROW - 4.0], FEET[foot], 1.0);
            }
            y += ROW;
        }
        y += 10.0;
        if let Some(fell) = who.run.fell_at() {
            let (top, bottom) = (y - 2.0 * ROW - 10.0, y - 10.0);
            let x = panel.at(fell, 0.0)[0];
            let stroke = super::super::drawing::Stroke::new(Ink::Text, Dash::Dotted).width(1.4);
            drawing.line(vec![[x, top], [x, bottom]], stroke);
        }
        captions.push(in_words(view, who, gait));
    }
    let caption = format!(
        "A foot is down while it carries more than 5 % of the body weight; shorter than 0.05 s it is taken for neither up nor down. {}{}",
        captions.join(" "),
        view.without(|w| gait(w).is_some())
    );
    Ok(figure(drawing, caption))
}

fn in_words(view: &View, who: &Who, gait: &Gait) -> String {
    let of = match view.compared {
        true => format!("{}: d", who.run.label),
        false => "D".to_string(),
    };
    let [left, right, both, none] = gait.shares.map(|s| 100.0 * s);
    let steps = gait.touchdowns.len();
    let cadence = match (gait.touchdowns.first(), gait.touchdowns.last()) {
        (Some(first), Some(last)) if steps > 2 => {
            format!(
                " at {:.0} per minute",
                60.0 * (steps - 1) as f64 / (last - first).max(1e-9)
            )
        }
        _ => String::new(),
    };
    let steps = match steps {
        0 => "no step".to_string(),
        1 => "1 step".to_string(),
        n => format!("{n} steps"),
    };
    format!(
        "{of}uty factor left {left:.0} %, right {right:.0} %; both feet down {both:.0} %, none {none:.0} % of the time; {steps}{cadence}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans last from the first loaded row to the first that is not; gaps and touches of a moment do not count.
    #[test]
    fn stances_are_the_spans_of_load_without_flicker() {
        let times: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.02).collect();
        let loaded = |i: usize| matches!(i, 1..=20 | 22..=30 | 50 | 60..=99);
        let force: Vec<f64> = (0..100).map(|i| if loaded(i) { 300.0 } else { 10.0 }).collect();
        let spans = stances(&times, &force, 700.0);
        let expected = [[0.0, 0.62], [1.2, 1.98]];
        assert_eq!(spans.len(), expected.len(), "{spans:?}");
        for (span, wanted) in spans.iter().zip(expected) {
            assert!(
                (span[0] - wanted[0]).abs() < 1e-12 && (span[1] - wanted[1]).abs() < 1e-12,
                "{span:?}"
            );
        }
    }
}
