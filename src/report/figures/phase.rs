//! Angle against rate.

use super::super::axes::Key;
use super::super::drawing::{Dash, Stroke};
use super::ground::FEET;
use super::joints::{Trace, traces, traces_of};
use super::layout::{Grid, SmallCurve, SmallPlot, small_multiples};
use super::tracking::union;
use super::{Made, View, words};

/// Hips, knees and ankles by what their bodies are called in character files and skeletons.
const LEG: [(&str, &[&str]); 3] = [
    ("hip", &["thigh", "hip", "upleg", "upperleg", "femur"]),
    ("knee", &["shin", "knee", "lowerleg", "calf", "tibia", "leg"]),
    ("ankle", &["foot", "ankle"]),
];

/// The joint of the leg and the side (0 left, 1 right) that a body stands for.
fn of_leg(body: &str) -> Option<(usize, usize)> {
    let name: String = body.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let ends = |letter: &str| body.to_lowercase().ends_with(&format!("_{letter}"));
    let side = if name.contains("left") || name.starts_with('l') || ends("l") {
        0
    } else if name.contains("right") || name.starts_with('r') || ends("r") {
        1
    } else {
        return None;
    };
    let joint = LEG
        .iter()
        .position(|(_, names)| names.iter().any(|n| name.contains(n)))?;
    Some((joint, side))
}

/// Bodies to show, grouped into plots: title and bodies.
fn groups(found: &[Trace], compared: bool) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (joint, (title, _)) in LEG.iter().enumerate() {
        let mut sides = [None, None];
        for trace in found {
            if let Some((j, side)) = of_leg(&trace.body)
                && j == joint
                && sides[side].is_none()
            {
                sides[side] = Some(trace.body.clone());
            }
        }
        let sides: Vec<String> = sides.into_iter().flatten().collect();
        match compared {
            true => groups.extend(sides.into_iter().map(|body| (words(&body), vec![body]))),
            false if !sides.is_empty() => groups.push((title.to_string(), sides)),
            false => {}
        }
    }
    if groups.is_empty() {
        let mut order: Vec<&Trace> = found.iter().collect();
        order.sort_by(|a, b| b.range().total_cmp(&a.range()));
        groups.extend(order.iter().take(6).map(|t| (words(&t.body), vec![t.body.clone()])));
    }
    groups
}

pub fn plots(view: &View) -> Made {
    let found = traces_of(view)?;
    let groups = groups(&found[0].1, view.compared);
    let sided = |body: &str| of_leg(body).map_or(0, |(_, side)| side);
    let mut plots = Vec::new();
    for (title, bodies) in &groups {
        let mut curves = Vec::new();
        let mut axis = None;
        for body in bodies {
            for (who, traces) in &found {
                let Some(trace) = traces.iter().find(|t| t.body == *body) else {
                    continue;
                };
                let wanted = *axis.get_or_insert(trace.liveliest().map_or("", |c| c.axis));
                let Some(coordinate) = trace.coordinate(wanted) else {
                    continue;
                };
                let dashes = [Dash::Solid, Dash::Dashed];
                let side = sided(body);
                let stroke = match view.compared {
                    true => who.stroke(),
                    false => Stroke::new(FEET[side], dashes[side]),
                };
                curves.push(SmallCurve {
                    x: coordinate.actual.as_slice().into(),
                    y: coordinate.rate.clone(),
                    stroke: stroke.width(0.9),
                    over_time: false,
                });
            }
        }
        let title = match axis {
            Some(axis) if !axis.is_empty() => format!("{title}, {axis}"),
            _ => title.clone(),
        };
        plots.push(SmallPlot {
            title,
            curves,
            levels: Vec::new(),
            least: [1.0, 5.0],
        });
    }
    let mut keys = Vec::new();
    let shown = union(groups.iter().map(|g| g.1.iter().map(String::as_str).collect()));
    if !view.compared && shown.iter().any(|b| of_leg(b).is_some()) {
        keys.push(Key::line("left", Stroke::new(FEET[0], Dash::Solid)));
        keys.push(Key::line("right", Stroke::new(FEET[1], Dash::Dashed)));
    }
    let grid = Grid {
        columns: 3,
        height: 190.0,
        x_label: "angle (°)",
        y_label: "rate (°/s)",
    };
    let mut made = small_multiples(view, keys, &grid, plots);
    made.caption = format!(
        "Angle against rate of {}, from motion.clip; of a ball joint the component of the rotation vector that moves most. A steady gait \
         draws the same loop in every cycle, a character that comes to rest ends in a point on the line of rate 0.{}",
        match shown.iter().any(|b| of_leg(b).is_some()) {
            true => "hips, knees and ankles",
            false => "the joints that move most",
        },
        view.without(|w| traces(w.character).is_ok())
    );
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Legs are found under the names of common skeletons, and nothing else is taken for one.
    #[test]
    fn hips_knees_and_ankles_are_found_by_name() {
        for (name, expected) in [
            ("left_thigh", Some((0, 0))),
            ("RightUpLeg", Some((0, 1))),
            ("right_shin", Some((1, 1))),
            ("LeftLeg", Some((1, 0))),
            ("lFoot", Some((2, 0))),
            ("thigh_R", Some((0, 1))),
            ("left_forearm", None),
            ("abdomen", None),
        ] {
            assert_eq!(of_leg(name), expected, "{name}");
        }
    }
}
