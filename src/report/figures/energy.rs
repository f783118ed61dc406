//! Mechanical energy.

use super::super::axes::Key;
use super::super::drawing::{Dash, Ink, Stroke};
use super::super::read::{CharacterRun, Run};
use super::layout::{Curve, TimePlot, over_time};
use super::{Made, View, Who};

fn from_start(values: &[f64]) -> Vec<f64> {
    let start = values.first().copied().unwrap_or(0.0);
    values.iter().map(|v| v - start).collect()
}

/// Kinetic energy, and potential energy and their sum from the start.
fn parts(who: &Who) -> Option<[Vec<f64>; 3]> {
    let kinetic = who.column("kinetic_energy_j")?;
    let potential = who.column("potential_energy_j")?;
    let sum: Vec<f64> = kinetic.iter().zip(potential).map(|(k, p)| k + p).collect();
    Some([kinetic.to_vec(), from_start(potential), from_start(&sum)])
}

pub fn of_character(view: &View) -> Made {
    view.with_column("kinetic_energy_j")?;
    let labels = ["kinetic", "potential, from its start", "sum, from its start"];
    let strokes = [
        Stroke::solid(Ink::Vermillion),
        Stroke::new(Ink::Blue, Dash::Dashed),
        Stroke::solid(Ink::Text).width(1.0),
    ];
    let mut keys = Vec::new();
    let plots = if view.compared {
        let mut plots = [
            TimePlot::new("kinetic (J)", Vec::new(), 1.0),
            TimePlot::new("Δ potential (J)", Vec::new(), 1.0),
            TimePlot::new("Δ sum (J)", Vec::new(), 1.0),
        ];
        for who in &view.whos {
            for (y, plot) in parts(who).into_iter().flatten().zip(&mut plots) {
                let stroke = who.stroke();
                plot.curves.push(Curve {
                    x: who.times(),
                    y,
                    stroke,
                });
            }
        }
        plots.into_iter().collect()
    } else {
        let who = &view.whos[0];
        let mut curves = Vec::new();
        for ((y, label), stroke) in parts(who).into_iter().flatten().zip(labels).zip(strokes) {
            keys.push(Key::line(label, stroke));
            curves.push(Curve {
                x: who.times(),
                y,
                stroke,
            });
        }
        let mut plot = TimePlot::new("energy (J)", curves, 1.0);
        plot.height = 200.0;
        vec![plot]
    };
    let starts: Vec<String> = (view.whos.iter())
        .filter_map(|w| Some((w, w.column("potential_energy_j")?.first()?)))
        .map(|(w, start)| match view.compared {
            true => format!("{start:.1} J ({})", w.run.label),
            false => format!("{start:.1} J"),
        })
        .collect();
    let mut made = over_time(view, keys, plots);
    made.caption = format!(
        "Kinetic energy of the character, change of its potential energy, and change of their sum. The potential energy at the start, \
         relative to the height 0, was {}.{}",
        starts.join(", "),
        view.without(|w| w.column("kinetic_energy_j").is_some())
    );
    Ok(made)
}

/// Of everything that moves, for runs without characters.
pub fn of_world(runs: &[Run]) -> Made {
    let none = CharacterRun::default();
    let view = View {
        whos: (runs.iter().enumerate())
            .map(|(i, run)| Who {
                run,
                character: &none,
                ink: super::ink(i),
                dash: super::dash(i),
            })
            .collect(),
        compared: runs.len() > 1,
    };
    let curves = view.with_column("energy_j")?.into_iter().map(|(who, y)| Curve {
        x: who.times(),
        y: y.to_vec(),
        stroke: who.stroke(),
    });
    let mut plot = TimePlot::new("energy (J)", curves.collect(), 1.0);
    plot.height = 200.0;
    plot.from_zero = false;
    let mut made = over_time(&view, Vec::new(), vec![plot]);
    made.caption = "Kinetic and potential energy of everything that moves. The run has no character, so there is nothing else to draw.".into();
    Ok(made)
}
