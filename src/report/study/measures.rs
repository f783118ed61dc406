//! What the motion did: each measure of the best so far, and how it goes with the cost.

use super::super::axes::{Key, event};
use super::super::drawing::{Ink, Stroke};
use super::super::scale::Scale;
use super::evaluations::Kind;
use super::generations::{improvements, restarts};
use super::layout::{Shared, cells, dot, figure, restart_key, steps, thinned};
use super::rank;
use super::{Made, Study};

/// More are left to the table.
const MOST: usize = 30;
/// Dots of all scatter plots together.
const DOTS: usize = 40_000;

pub fn figure_of(study: &Study) -> Made {
    let e = &study.evaluations;
    let judged = rank::judged(e);
    let known: Vec<usize> = (0..e.measures.len())
        .filter(|m| judged.iter().any(|row| e.measures[*m][*row].is_finite()))
        .collect();
    if known.is_empty() {
        return Err(match e.measures.is_empty() {
            true => "the table has no measures".into(),
            false => "no evaluation has measures yet".to_string(),
        });
    }
    let shown = &known[..known.len().min(MOST)];
    let best = improvements(e);
    let validated: Vec<usize> = (0..e.len())
        .filter(|i| e.kind[*i] == Kind::Validation && e.is_judged(*i))
        .collect();
    let restarts = restarts(e);
    let shared = Shared::evaluations(study.last_evaluation(), &restarts);
    let cost_scale = Scale::of(judged.iter().map(|row| e.cost[*row]));
    let cost_range = cost_scale.around(judged.iter().map(|row| e.cost[*row]));

    let stroke = Stroke::solid(Ink::Blue).width(1.8);
    let mut keys = vec![Key::line("of the best so far", stroke)];
    if !validated.is_empty() {
        keys.push(dot("of the mean, validated", Ink::Green));
    }
    keys.push(dot("candidate", Ink::Sky));
    keys.push(dot("best of the study", Ink::Text));
    if !restarts.is_empty() {
        keys.push(restart_key());
    }
    let most = (DOTS / shown.len()).clamp(300, 3000);
    let mut grid = cells(2 * shown.len(), 2, 110.0, &keys);
    let mut any_thinned = false;
    for (i, m) in shown.iter().enumerate() {
        let (name, values) = (&e.measure_names[*m], &e.measures[*m]);
        // left: over the evaluations
        let line: Vec<(f64, f64)> = best.iter().map(|row| (e.number[*row], values[*row])).collect();
        let points: Vec<(f64, f64)> = validated.iter().map(|row| (e.number[*row], values[*row])).collect();
        let both = || line.iter().chain(&points).map(|p| p.1);
        let scale = Scale::of(both());
        let y = (scale, scale.around(both()));
        let panel = grid.panel(2 * i, (shared.scale, shared.range), y, name, Ink::Text);
        for restart in &restarts {
            event(&mut grid.drawing, &panel, *restart, Ink::Muted);
        }
        steps(&mut grid.drawing, &panel, scale, &line, study.last_evaluation(), stroke);
        let dots = points.iter().filter(|p| scale.place(p.1).is_finite());
        let dots = dots.map(|p| panel.at(p.0, scale.place(p.1))).collect();
        grid.drawing.dots(dots, 2.6, Ink::Green, 1.0);
        if grid.is_last_of_column(2 * i) {
            panel.x_label(&mut grid.drawing, "evaluations");
        }
        // right: against the cost
        let of_judged = || judged.iter().map(|row| values[*row]);
        let scale = Scale::of(of_judged());
        let x = (scale, scale.around(of_judged()));
        let title = match cost_scale {
            Scale::Log => format!("cost (logarithmic) over {name}"),
            Scale::Linear => format!("cost over {name}"),
        };
        let panel = grid.panel(2 * i + 1, x, (cost_scale, cost_range), &title, Ink::Text);
        let at = |row: &usize| panel.at(scale.place(values[*row]), cost_scale.place(e.cost[*row]));
        let dots: Vec<[f64; 2]> = (judged.iter())
            .filter(|row| scale.place(values[**row]).is_finite())
            .map(at)
            .collect();
        let (dots, left_out) = thinned(&dots, most);
        any_thinned |= left_out;
        grid.drawing.dots(dots, 1.3, Ink::Sky, 0.8);
        // a validated one may lie beside the candidates
        let shown = |range: super::super::axes::Range, place: f64| (0.0..=1.0).contains(&range.share(place));
        if let Some((row, _)) = study.best
            && shown(panel.x, scale.place(values[row]))
            && shown(panel.y, cost_scale.place(e.cost[row]))
        {
            grid.drawing.dot(at(&row), 3.5, Ink::Text);
        }
        if grid.is_last_of_column(2 * i + 1) {
            panel.x_label(&mut grid.drawing, "measure");
        }
    }
    let mut caption = String::from(
        "Left: each measure of the best candidate so far, the mean over its rollouts; units are in the names. Right: every candidate \
         that was judged whole, its cost over the measure; without failures and without those given up as hopeless.",
    );
    if any_thinned {
        caption += &format!(
            " Of {} candidates those are drawn that do not lie upon another.",
            judged.len()
        );
    }
    if known.len() > shown.len() {
        caption += &format!(" Of {} measures the first {} are shown.", known.len(), shown.len());
    }
    Ok(figure(grid.drawing, caption))
}
