//! How far the character is from where its controller wants it.

use super::super::axes::{Key, Panel, Range, Sign, legend, legend_height};
use super::super::drawing::{Anchor, Dash, Drawing, Ink, Stroke};
use super::layout::{Curve, TimePlot, WIDTH, figure, over_time as stacked, run_keys};
use super::{Made, View, Who, mean, quantile, words};
use crate::report::font;

/// Bodies, and the errors of their joints over time, degrees.
type Errors<'a> = Vec<(&'a str, &'a [f64])>;

fn joint_errors<'a>(who: &'a Who) -> Errors<'a> {
    let bodies = who.character.columns_between(who.run, "error_", "_deg");
    let column = |body: &'a str| Some((body, who.column(&format!("error_{body}_deg"))?));
    bodies.into_iter().filter_map(column).collect()
}

pub fn over_time(view: &View) -> Made {
    let roots = view.with_column("root_error_m")?;
    let stroke = |who: &Who| {
        if view.compared {
            who.stroke()
        } else {
            Stroke::solid(Ink::Blue)
        }
    };
    let mut joints = Vec::new();
    for who in &view.whos {
        let errors = joint_errors(who);
        if errors.is_empty() {
            continue;
        }
        let mean_of = |i: usize| errors.iter().map(|e| e.1[i]).sum::<f64>() / errors.len() as f64;
        joints.push(Curve {
            x: who.times(),
            y: (0..who.times().len()).map(mean_of).collect(),
            stroke: stroke(who),
        });
    }
    let roots = roots.into_iter().map(|(who, y)| Curve {
        x: who.times(),
        y: y.iter().map(|m| m * 1000.0).collect(),
        stroke: stroke(who),
    });
    let mut plots = Vec::new();
    if !joints.is_empty() {
        plots.push(TimePlot::new("joints, mean (°)", joints, 0.1));
    }
    plots.push(TimePlot::new("root (mm)", roots.collect(), 1.0));
    let mut made = stacked(view, Vec::new(), plots);
    made.caption = format!(
        "Above: angle between each joint and its target, mean over the joints without the root. Below: distance of the root from \
         where the controller wants it, or from its start where the controller has no wish. Sampled at the rows of metrics.csv.{}",
        view.without(|w| w.column("root_error_m").is_some())
    );
    Ok(made)
}

/// A bar and two marks on it.
pub(super) struct Bar {
    pub ink: Ink,
    pub value: f64,
    /// 95th percentile, drawn as a stroke.
    pub most: f64,
    /// Drawn as a dot.
    pub peak: f64,
}

/// Horizontal bars: one row per name, one bar per run in it; `full` is a value with a line across all rows.
pub(super) fn bars(
    view: &View,
    x_label: &str,
    rows: &[(String, Vec<Bar>)],
    keys: Vec<Key>,
    full: Option<f64>,
) -> Drawing {
    const BAR: f64 = 11.0;
    const GAP: f64 = 7.0;
    let mut all_keys = run_keys(view);
    for (key, who) in all_keys.iter_mut().zip(&view.whos) {
        key.sign = Sign::Shade(who.ink, 1.0);
    }
    all_keys.extend(keys);
    let widest = rows.iter().map(|r| font::width(&r.0, 11.0)).fold(40.0, f64::max);
    let left = (widest + 14.0).min(260.0);
    let legend_room = legend_height(WIDTH - left - 14.0, &all_keys);
    let height: f64 = rows.iter().map(|r| r.1.len() as f64 * BAR + GAP).sum();
    let mut drawing = Drawing::new(WIDTH, legend_room + height + 46.0);
    legend(&mut drawing, [left, 2.0], WIDTH - 14.0, &all_keys);
    let values = rows.iter().flat_map(|r| r.1.iter().map(|b| b.peak.max(b.value)));
    let panel = Panel {
        left,
        top: 6.0 + legend_room,
        width: WIDTH - left - 20.0,
        height,
        x: Range::from_zero(values.chain(full), 0.1),
        // ticks of the y axis are the names
        y: Range { low: 0.0, high: 0.0 },
    };
    panel.frame(&mut drawing, true);
    panel.x_label(&mut drawing, x_label);
    let mut y = panel.top + 0.5 * GAP;
    for (name, bars) in rows {
        let middle = y + 0.5 * bars.len() as f64 * BAR;
        let name = font::fitted(name, 11.0, left - 10.0);
        drawing.text([left - 6.0, middle + 4.0], name, Ink::Text, Anchor::End);
        for bar in bars {
            let at = |v: f64| panel.at(v, 0.0)[0];
            let middle = y + 0.5 * BAR;
            drawing.rect([left, y + 1.0], [at(bar.value) - left, BAR - 2.0], bar.ink, 1.0);
            let thin = Stroke::solid(Ink::Muted).width(1.0);
            drawing.line(vec![[at(bar.value), middle], [at(bar.peak), middle]], thin);
            let thick = Stroke::solid(Ink::Text).width(1.6);
            drawing.line(vec![[at(bar.most), y + 1.5], [at(bar.most), y + BAR - 1.5]], thick);
            drawing.dot([at(bar.peak), middle], 2.0, Ink::Text);
            y += BAR;
        }
        y += GAP;
    }
    if let Some(full) = full {
        let x = panel.at(full, 0.0)[0];
        let stroke = Stroke::new(Ink::Text, Dash::Dashed).width(1.0);
        drawing.line(vec![[x, panel.top], [x, panel.bottom()]], stroke);
    }
    drawing
}

/// Names of all runs' joints, those of the first run first.
pub(super) fn union<'a>(lists: impl Iterator<Item = Vec<&'a str>>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in lists.flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

pub fn per_joint(view: &View) -> Made {
    let found: Vec<(&Who, Errors)> = view.whos.iter().map(|w| (w, joint_errors(w))).collect();
    let names = union(found.iter().map(|(_, e)| e.iter().map(|e| e.0).collect()));
    if names.is_empty() {
        view.with_column("root_error_m")?;
        return Err("the character has no joints that a controller drives".into());
    }
    let rows: Vec<(String, Vec<Bar>)> = names
        .iter()
        .map(|name| {
            let bars = found.iter().filter_map(|(who, errors)| {
                let values = errors.iter().find(|e| e.0 == *name)?.1;
                Some(Bar {
                    ink: if view.compared { who.ink } else { Ink::Blue },
                    value: mean(values),
                    most: quantile(values, 0.95),
                    peak: values.iter().copied().fold(0.0, f64::max),
                })
            });
            (words(name), bars.collect())
        })
        .collect();
    let keys = vec![
        Key::line("95th percentile", Stroke::solid(Ink::Text).width(1.6)),
        Key {
            label: "largest".into(),
            sign: Sign::Dot(Ink::Text),
        },
    ];
    let drawing = bars(
        view,
        "angle between joint and target (°), mean over time",
        &rows,
        keys,
        None,
    );
    let caption = format!(
        "Angle between each joint and its target over the run: mean (bar), 95th percentile (stroke) and largest (dot).{}",
        view.without(|w| !joint_errors(w).is_empty())
    );
    Ok(figure(drawing, caption))
}
