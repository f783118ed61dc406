//! How the cost went down.

use super::super::axes::Key;
use super::super::drawing::{Ink, Stroke};
use super::super::scale::Scale;
use super::evaluations::Kind;
use super::generations::{generations, improvements, restarts};
use super::layout::{Row, Shared, band, curve, dot, figure, pieces, shade, stack, steps};
use super::{Made, Study};

pub fn figure_of(study: &Study) -> Made {
    let e = &study.evaluations;
    let best: Vec<(f64, f64)> = improvements(e)
        .into_iter()
        .map(|row| (e.number[row], e.cost[row]))
        .collect();
    let generations = generations(e);
    let column = |of: fn(&super::generations::Generation) -> f64| generations.iter().map(of).collect::<Vec<f64>>();
    let (ends, lows, medians, highs) = (
        column(|g| g.end),
        column(|g| g.low),
        column(|g| g.median),
        column(|g| g.high),
    );
    if medians.iter().all(|m| m.is_nan()) {
        return Err(match e.len() {
            0 => "nothing was evaluated yet".into(),
            _ => "every evaluation failed".to_string(),
        });
    }
    let validated: Vec<(f64, f64)> = (0..e.len())
        .filter(|i| e.kind[*i] == Kind::Validation && e.is_judged(*i))
        .map(|i| (e.number[i], e.cost[i]))
        .collect();

    let lines = || {
        let points = best.iter().chain(&validated).map(|p| p.1);
        points.chain(medians.iter().copied()).chain(lows.iter().copied())
    };
    let scale = Scale::of(lines().chain(highs.iter().copied()));
    // on a linear axis single bad candidates would press everything else flat
    let range = match scale {
        Scale::Log => scale.around(lines().chain(highs.iter().copied())),
        Scale::Linear => scale.around(lines()),
    };
    let cut = highs.iter().any(|h| scale.place(*h) > range.high);

    let strokes = [Stroke::solid(Ink::Blue).width(1.8), Stroke::solid(Ink::Vermillion)];
    let mut keys = vec![
        Key::line("best so far", strokes[0]),
        Key::line("median of the generation", strokes[1]),
        shade("range of the generation", Ink::Amber, 0.3),
    ];
    if !validated.is_empty() {
        keys.push(dot("mean of the distribution, validated", Ink::Green));
    }
    if study.best.is_some() {
        keys.push(dot("best of the study", Ink::Text));
    }
    let restarts = restarts(e);
    let shared = Shared::evaluations(study.last_evaluation(), &restarts);
    let mut rows = vec![Row {
        label: match scale {
            Scale::Log => "cost (logarithmic)".into(),
            Scale::Linear => "cost".into(),
        },
        height: 300.0,
        scale,
        range,
    }];
    // where costs may be negative the end is drawn once more, magnified
    let half = 0.5 * study.last_evaluation();
    let at_end = medians
        .iter()
        .chain(&lows)
        .zip(ends.iter().chain(&ends))
        .filter(|(_, end)| **end > half);
    let at_end = scale.around(at_end.map(|(cost, _)| *cost).chain(best.last().map(|b| b.1)));
    let magnified = scale == Scale::Linear && at_end.high - at_end.low < 0.25 * (range.high - range.low);
    if magnified {
        rows.push(Row {
            label: "cost (magnified)".into(),
            height: 200.0,
            scale,
            range: at_end,
        });
    }
    let (mut drawing, panels) = stack(keys, &shared, &rows);
    let runs: Vec<u64> = generations.iter().map(|g| g.restart).collect();
    for panel in &panels {
        // what lies outside is left out
        let shown = |cost: f64| {
            if (0.0..=1.0).contains(&panel.y.share(scale.place(cost))) {
                cost
            } else {
                f64::NAN
            }
        };
        let medians: Vec<f64> = medians.iter().map(|m| shown(*m)).collect();
        let best: Vec<(f64, f64)> = best.iter().map(|b| (b.0, shown(b.1))).collect();
        for piece in pieces(&runs) {
            let edges = [&lows[piece.clone()], &highs[piece.clone()]];
            band(&mut drawing, panel, scale, &ends[piece], edges, Ink::Amber, 0.3);
        }
        for piece in pieces(&runs) {
            let x = &ends[piece.clone()];
            curve(&mut drawing, panel, scale, x, &medians[piece], strokes[1]);
        }
        steps(&mut drawing, panel, scale, &best, study.last_evaluation(), strokes[0]);
        let at = |p: &(f64, f64)| panel.at(p.0, scale.place(p.1));
        let dots = validated.iter().filter(|v| shown(v.1).is_finite()).map(at).collect();
        drawing.dots(dots, 3.0, Ink::Green, 1.0);
        if let Some((row, _)) = study.best.filter(|(row, _)| shown(e.cost[*row]).is_finite()) {
            drawing.dot(at(&(e.number[row], e.cost[row])), 4.0, Ink::Text);
        }
    }

    let mut caption = String::from(
        "Cost over the number of evaluations. Best so far: of the candidates that were judged whole, each with the seeds of its \
         generation. Median and range: of each generation's candidates without those that diverged or were invalid.",
    );
    if (0..e.len()).any(|i| e.outcome[i] == crate::optimize::Outcome::Hopeless) {
        caption += " Candidates given up as hopeless count with the lower bound that their cost is.";
    }
    if !validated.is_empty() {
        caption += " Validated: the distribution's mean on fixed seeds, which can be compared between generations.";
    }
    if let Some((_, validated)) = study.best {
        caption += match validated {
            true => " The best of the study is its best validated mean.",
            false => " The best of the study is its best single evaluation.",
        };
    }
    if magnified {
        caption += " Below: the same, with an axis for the costs of the second half.";
    }
    if cut {
        caption += " The range is cut off at the upper edge.";
    }
    Ok(figure(drawing, caption))
}
