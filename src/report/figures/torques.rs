//! Joint torques and their limits.

use super::super::axes::{Key, Sign};
use super::super::drawing::{Dash, Ink, Stroke};
use super::joints::AXIS_INKS;
use super::layout::{Grid, SmallCurve, SmallPlot, figure, small_multiples};
use super::tracking::{Bar, bars, union};
use super::{Made, View, Who, mean, quantile, words};

/// The torques of one joint.
struct Torques<'a> {
    body: String,
    /// Axis (empty for a hinge), N m over time, and the limit if there is a finite one.
    axes: Vec<(&'a str, &'a [f64], Option<f64>)>,
}

fn limit(who: &Who, body: &str, axis: usize) -> Option<f64> {
    let character = who.character.character.as_ref()?;
    let limit = character.bodies[character.body(body)?].torque_limit[axis];
    limit.is_finite().then_some(limit)
}

/// Torques per joint, from the columns `torque_BODY_nm` and `torque_BODY_AXIS_nm`.
fn torques<'a>(who: &'a Who) -> Vec<Torques<'a>> {
    let columns = who.character.columns_between(who.run, "torque_", "_nm");
    // a body may itself end in `_x`: what has an error column is a body
    let bodies = who.character.columns_between(who.run, "error_", "_deg");
    let mut found: Vec<Torques<'a>> = Vec::new();
    for name in columns {
        let (body, axis) = match bodies.contains(&name) {
            true => (name, ""),
            false => match name.rsplit_once('_') {
                Some((body, axis)) => (body, axis),
                None => continue,
            },
        };
        let Some(values) = who.column(&format!("torque_{name}_nm")) else {
            continue;
        };
        let k = match axis {
            "y" | "2" => 1,
            "z" => 2,
            _ => 0,
        };
        let entry = (axis, values, limit(who, body, k));
        match found.iter_mut().find(|t| t.body == body) {
            Some(known) => known.axes.push(entry),
            None => found.push(Torques {
                body: body.to_string(),
                axes: vec![entry],
            }),
        }
    }
    found
}

fn peak(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| v.abs().max(m))
}

fn torques_of<'a>(view: &'a View) -> Result<Vec<(&'a Who<'a>, Vec<Torques<'a>>)>, String> {
    view.with_column("root_error_m")?;
    let found: Vec<_> = view
        .whos
        .iter()
        .map(|w| (w, torques(w)))
        .filter(|f| !f.1.is_empty())
        .collect();
    match found.is_empty() {
        true => Err("the character has no joints that a controller drives".into()),
        false => Ok(found),
    }
}

/// Limits are drawn where the torque comes to more than this share of them; elsewhere they would flatten the curves.
const NEAR: f64 = 0.4;

pub fn over_time(view: &View) -> Made {
    let found = torques_of(view)?;
    let names = union(found.iter().map(|(_, t)| t.iter().map(|t| t.body.as_str()).collect()));
    let mut plots = Vec::new();
    for name in names {
        let (mut curves, mut levels) = (Vec::new(), Vec::new());
        let mut title = words(name);
        let mut wanted: Option<&str> = None;
        for (who, torques) in &found {
            let Some(joint) = torques.iter().find(|t| t.body == name) else {
                continue;
            };
            let strongest = joint.axes.iter().max_by(|a, b| peak(a.1).total_cmp(&peak(b.1)));
            let wanted = *wanted.get_or_insert(strongest.map_or("", |a| a.0));
            if curves.is_empty() {
                let shown = |a: &&(&str, &[f64], Option<f64>)| !view.compared || a.0 == wanted;
                let mut limits: Vec<f64> = joint.axes.iter().filter(shown).filter_map(|a| a.2).collect();
                limits.dedup();
                let limits: Vec<String> = limits.iter().map(f64::to_string).collect();
                if view.compared {
                    title = format!("{title} {wanted}");
                }
                if !limits.is_empty() {
                    title = format!("{title} (limit {})", limits.join(", "));
                }
            }
            for (k, (axis, values, limit)) in joint.axes.iter().enumerate() {
                if view.compared && *axis != wanted {
                    continue;
                }
                let stroke = match view.compared {
                    true => who.stroke(),
                    false => Stroke::solid(AXIS_INKS[k % 3]),
                };
                if let Some(limit) = limit.filter(|l| peak(values) > NEAR * l) {
                    let line = Stroke::new(if view.compared { Ink::Text } else { stroke.ink }, Dash::Dashed);
                    levels.extend([(limit, line.width(0.9)), (-limit, line.width(0.9))]);
                }
                curves.push(SmallCurve {
                    x: who.times().into(),
                    y: values.to_vec(),
                    stroke: stroke.width(1.1),
                    over_time: true,
                });
            }
        }
        plots.push(SmallPlot {
            title,
            curves,
            levels,
            least: [1.0, 0.5],
        });
    }
    let mut keys = Vec::new();
    if !view.compared {
        for (axis, ink) in ["x, hinge, or 1st axis", "y, or 2nd axis", "z"]
            .into_iter()
            .zip(AXIS_INKS)
        {
            keys.push(Key::line(axis, Stroke::solid(ink).width(1.1)));
        }
    }
    if plots.iter().any(|p| !p.levels.is_empty()) {
        keys.push(Key::line("limit", Stroke::new(Ink::Text, Dash::Dashed).width(0.9)));
    }
    let grid = Grid {
        columns: 3,
        height: 92.0,
        x_label: "time (s)",
        y_label: "torque (N m)",
    };
    let mut made = small_multiples(view, keys, &grid, plots);
    let known = found.iter().any(|(w, _)| w.character.character.is_some());
    made.caption = format!(
        "Torques as they were applied in the step before each row of metrics.csv, joint axes.{}{}{}",
        if view.compared {
            " Of joints with several axes the one with the largest torque in the first run is shown."
        } else {
            ""
        },
        if known {
            " Limits (N m, in the order of the axes; one number if they are equal) stand in the titles and are drawn where 40 % of them is exceeded."
        } else {
            " The limits are not known, since the character's file cannot be read."
        },
        view.without(|w| !torques(w).is_empty())
    );
    Ok(made)
}

pub fn share(view: &View) -> Made {
    let found = torques_of(view)?;
    let names = union(found.iter().map(|(_, t)| t.iter().map(|t| t.body.as_str()).collect()));
    let mut rows = Vec::new();
    for name in names {
        let mut row = Vec::new();
        for (who, torques) in &found {
            let Some(joint) = torques.iter().find(|t| t.body == name) else {
                continue;
            };
            // of all axes the one nearest to its limit, moment by moment
            let shares: Vec<f64> = (0..who.times().len())
                .filter_map(|i| {
                    let of = |a: &(&str, &[f64], Option<f64>)| Some(100.0 * a.1[i].abs() / a.2.filter(|l| *l > 0.0)?);
                    joint.axes.iter().filter_map(of).reduce(f64::max)
                })
                .collect();
            if shares.is_empty() {
                continue;
            }
            row.push(Bar {
                ink: if view.compared { who.ink } else { Ink::Blue },
                value: mean(&shares),
                most: quantile(&shares, 0.95),
                peak: shares.iter().copied().fold(0.0, f64::max),
            });
        }
        if !row.is_empty() {
            rows.push((words(name), row));
        }
    }
    if rows.is_empty() {
        return Err(match found.iter().any(|(w, _)| w.character.character.is_some()) {
            true => "no joint of the character has a torque limit".into(),
            false => "the limits are in the character's file, which cannot be read".into(),
        });
    }
    let keys = vec![
        Key::line("95th percentile", Stroke::solid(Ink::Text).width(1.6)),
        Key {
            label: "largest".into(),
            sign: Sign::Dot(Ink::Text),
        },
        Key::line("limit", Stroke::new(Ink::Text, Dash::Dashed).width(1.0)),
    ];
    let drawing = bars(
        view,
        "share of the torque limit (%), mean over time",
        &rows,
        keys,
        Some(100.0),
    );
    let caption = format!(
        "Torque as a share of its limit, of the axis that is nearest to its own at each moment: mean (bar), 95th percentile (stroke) and \
         largest (dot). A joint at 100 % could not do all that the controller asked for.{}",
        view.without(|w| w.character.character.is_some())
    );
    Ok(figure(drawing, caption))
}
