//! Where the distribution was along each parameter.

use super::super::axes::Key;
use super::super::drawing::{Ink, Stroke};
use super::super::scale::Scale;
use super::generations::restarts;
use super::layout::{Shared, band, cells, curve, dot, figure, pieces, restart_key, shade};
use super::parameter::Bound;
use super::{Made, Study, shown_parameters};

const COLUMNS: usize = 3;

pub fn figure_of(study: &Study) -> Made {
    let history = study
        .history
        .as_ref()
        .ok_or("it is drawn from history.csv, which is missing")?;
    let (shown, left_out) = shown_parameters(study);
    if shown.is_empty() || history.len() == 0 {
        return Err("history.csv has no generation with parameters".into());
    }
    let restarts = restarts(&study.evaluations);
    let last = study
        .last_evaluation()
        .max(history.evaluations.last().copied().unwrap_or(0.0));
    let shared = Shared::evaluations(last, &restarts);

    let mean_stroke = Stroke::solid(Ink::Blue);
    let bound_stroke = Stroke::solid(Ink::Vermillion).width(1.2);
    let mut keys = vec![
        Key::line("mean of the distribution", mean_stroke),
        shade("± one standard deviation", Ink::Sky, 0.35),
        Key::line("bound", bound_stroke),
    ];
    if study.best.is_some() {
        keys.push(dot("best of the study", Ink::Text));
    }
    if !restarts.is_empty() {
        keys.push(restart_key());
    }
    let height = if shown.len() > 24 { 76.0 } else { 96.0 };
    let mut grid = cells(shown.len(), COLUMNS, height, &keys);
    let mut at_bounds = Vec::new();
    for (i, index) in shown.into_iter().enumerate() {
        let parameter = &study.parameters[index];
        let Some([mean, std]) = history.trace(&parameter.name) else {
            continue;
        };
        // the deviation of a logarithm is a factor
        let edge = |sign: f64| -> Vec<f64> {
            let pairs = mean.iter().zip(std);
            match parameter.log {
                true => pairs.map(|(m, s)| m * libm::exp(sign * s)).collect(),
                false => pairs.map(|(m, s)| m + sign * s).collect(),
            }
        };
        let (low, high) = (edge(-1.0), edge(1.0));
        let best = study
            .best
            .map(|(row, _)| (study.evaluations.number[row], study.evaluations.parameters[index][row]));
        let scale = if parameter.log { Scale::Log } else { Scale::Linear };
        // between bounds the whole range is shown: how much of it the search uses is what counts
        let range = match parameter.bounds {
            Some(bounds) => scale.around(bounds.into_iter().chain(mean.iter().copied())),
            None => scale.around(
                (low.iter().chain(&high).copied())
                    .chain(best.map(|b| b.1))
                    .chain(mean.iter().copied()),
            ),
        };
        let end = mean.last().copied().unwrap_or(f64::NAN);
        let (title, ink) = match parameter.at_bound(end) {
            Some(bound) => {
                at_bounds.push(parameter.name.as_str());
                let which = if bound == Bound::Lower { "lower" } else { "upper" };
                (format!("{} (at {which} bound)", parameter.name), Ink::Vermillion)
            }
            None => (parameter.name.clone(), Ink::Text),
        };
        let panel = grid.panel(i, (shared.scale, shared.range), (scale, range), &title, ink);
        let last_of_column = grid.is_last_of_column(i);
        let drawing = &mut grid.drawing;
        for restart in &restarts {
            super::super::axes::event(drawing, &panel, *restart, Ink::Muted);
        }
        for bound in parameter.bounds.into_iter().flatten() {
            panel.level(drawing, scale.place(bound), bound_stroke);
        }
        for piece in pieces(&history.restart) {
            let x = &history.evaluations[piece.clone()];
            let edges = [&low[piece.clone()], &high[piece.clone()]];
            band(drawing, &panel, scale, x, edges, Ink::Sky, 0.35);
            curve(drawing, &panel, scale, x, &mean[piece], mean_stroke);
        }
        if let Some((number, value)) = best {
            let place = scale.place(value);
            if (0.0..=1.0).contains(&panel.y.share(place)) {
                drawing.dot(panel.at(number, place), 3.0, Ink::Text);
            }
        }
        if last_of_column {
            panel.x_label(drawing, "evaluations");
        }
    }
    let mut caption = String::from(
        "Mean and standard deviation of the distribution that each generation was drawn from, in the units of the parameters; of parameters whose \
         logarithms are searched the deviation is that of the logarithm. Axes span the bounds where there are any. The dot is the best \
         of the study.",
    );
    caption += &match at_bounds.len() {
        0 => " No mean ended within 1 % of a bound.".to_string(),
        n => format!(
            " The mean ended within 1 % of a bound for {n} of {}: {}. A better value may lie beyond.",
            study.parameters.len(),
            at_bounds.join(", ")
        ),
    };
    caption += &left_out;
    Ok(figure(grid.drawing, caption))
}
