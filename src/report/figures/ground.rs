//! Forces from outside: the ground's on the feet, and help at the root.

use super::super::axes::Key;
use super::super::drawing::{Dash, Ink, Stroke};
use super::layout::{Curve, TimePlot, over_time};
use super::{Made, View};

/// Colours of the left and of the right foot, everywhere.
pub const FEET: [Ink; 2] = [Ink::Blue, Ink::Vermillion];

pub fn forces(view: &View) -> Made {
    let total = view.with_column("ground_force_y_n")?;
    let weight = view.whos.iter().find_map(|w| w.character.weight);
    let line = Stroke::new(Ink::Text, Dash::Dotted).width(1.2);
    let columns = [
        ("left_foot_force_y_n", "left foot (N)"),
        ("right_foot_force_y_n", "right foot (N)"),
        ("ground_force_y_n", "total (N)"),
    ];
    let mut keys = Vec::new();
    let mut plots = Vec::new();
    if view.compared {
        for (column, label) in columns {
            let curves = view.with_column(column).unwrap_or_default();
            let curves = curves.into_iter().map(|(who, y)| Curve {
                x: who.times(),
                y: y.to_vec(),
                stroke: who.stroke(),
            });
            let mut plot = TimePlot::new(label, curves.collect(), 10.0);
            plot.levels.extend(weight.map(|w| (w, line)));
            plots.push(plot);
        }
    } else {
        let who = total[0].0;
        let strokes = [
            Stroke::solid(FEET[0]),
            Stroke::new(FEET[1], Dash::Dashed),
            Stroke::solid(Ink::Muted).width(1.0),
        ];
        let mut curves = Vec::new();
        for ((column, label), stroke) in columns.into_iter().zip(strokes) {
            if let Some(y) = who.column(column) {
                let y = y.to_vec();
                let x = who.times();
                keys.push(Key::line(label.trim_end_matches(" (N)"), stroke));
                curves.push(Curve { x, y, stroke });
            }
        }
        // the total below the feet
        curves.reverse();
        let mut plot = TimePlot::new("vertical force (N)", curves, 10.0);
        plot.height = 220.0;
        plot.levels.extend(weight.map(|w| (w, line)));
        plots.push(plot);
    }
    if weight.is_some() {
        keys.push(Key::line("body weight", line));
    }
    let mut made = over_time(view, keys, plots);
    let weight = weight.map(|w| format!(" Body weight is {w:.0} N.")).unwrap_or_default();
    made.caption = format!(
        "Vertical force on the feet and, as the total, on the whole character from everything it touches (terrain, props, other \
         characters), in the step before each row of metrics.csv.{weight} What a mean total lacks to the body weight was carried by help \
         from outside.{}",
        view.without(|w| w.column("ground_force_y_n").is_some())
    );
    Ok(made)
}

fn norms<'a>(who: &'a super::Who, names: [&str; 3]) -> Option<Vec<f64>> {
    let [x, y, z]: [Option<&'a [f64]>; 3] = names.map(|n| who.column(n));
    let (x, y, z) = (x?, y?, z?);
    let norm = |i: usize| (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]).sqrt();
    Some((0..x.len()).map(norm).collect())
}

const FORCE: [&str; 3] = ["assist_force_x_n", "assist_force_y_n", "assist_force_z_n"];
const TORQUE: [&str; 3] = ["assist_torque_x_nm", "assist_torque_y_nm", "assist_torque_z_nm"];

pub fn assist(view: &View) -> Made {
    view.with_column(FORCE[0])?;
    let stroke = |who: &super::Who, ink| {
        if view.compared {
            who.stroke()
        } else {
            Stroke::solid(ink)
        }
    };
    let (mut forces, mut torques) = (Vec::new(), Vec::new());
    for who in &view.whos {
        for (names, list, ink) in [(FORCE, &mut forces, Ink::Purple), (TORQUE, &mut torques, Ink::Green)] {
            if let Some(y) = norms(who, names) {
                list.push(Curve {
                    x: who.times(),
                    y,
                    stroke: stroke(who, ink),
                });
            }
        }
    }
    if forces.iter().chain(&torques).all(|c| c.y.iter().all(|v| *v == 0.0)) {
        return Err("there was none: every force came from joints, contacts and pushes".into());
    }
    let mut made = over_time(
        view,
        Vec::new(),
        vec![
            TimePlot::new("force (N)", forces, 1.0),
            TimePlot::new("torque (N m)", torques, 1.0),
        ],
    );
    made.caption = format!(
        "Magnitude of the external force and torque at the root that the controller asked for (`[controller.assist]`), in the step before \
         each row. A character that balances by itself needs none.{}",
        view.without(|w| w.column(FORCE[0]).is_some())
    );
    Ok(made)
}
