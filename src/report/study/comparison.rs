//! Several studies side by side.

use super::super::axes::{Key, Sign, legend, legend_height, short};
use super::super::drawing::{Anchor, Drawing, Ink, SMALL, Stroke};
use super::super::figures::{dash, ink};
use super::super::font;
use super::super::scale::Scale;
use super::generations::{improvements, median_of_sorted};
use super::layout::{RIGHT, Row, Shared, WIDTH, figure, stack, steps};
use super::{MOST_PARAMETERS, Made, Study};

/// Studies of one name: the same search with other seeds, as a rule.
pub struct Group<'a> {
    pub name: &'a str,
    pub studies: Vec<&'a Study>,
    pub stroke: Stroke,
}

/// Groups in the order in which their first studies were given.
pub fn groups(studies: &[Study]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for study in studies {
        match groups.iter_mut().find(|g| g.name == study.name) {
            Some(group) => group.studies.push(study),
            None => groups.push(Group {
                name: &study.name,
                studies: vec![study],
                stroke: Stroke::new(ink(groups.len()), dash(groups.len())),
            }),
        }
    }
    groups
}

/// The colour of a study: that of its group.
pub fn ink_of(studies: &[Study], i: usize) -> Ink {
    let groups = groups(studies);
    let group = groups.iter().find(|g| g.name == studies[i].name);
    group.map_or(Ink::Text, |g| g.stroke.ink)
}

/// Best so far, where it changed.
fn line(study: &Study) -> Vec<(f64, f64)> {
    let e = &study.evaluations;
    improvements(e)
        .into_iter()
        .map(|row| (e.number[row], e.cost[row]))
        .collect()
}

/// The median of several studies' best so far, from where more than half have one; studies that ended keep theirs.
fn median(lines: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut places: Vec<f64> = lines.iter().flatten().map(|p| p.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut points: Vec<(f64, f64)> = Vec::new();
    for place in places {
        let value = |line: &Vec<(f64, f64)>| match line.partition_point(|p| p.0 <= place) {
            0 => f64::INFINITY,
            n => line[n - 1].1,
        };
        let mut values: Vec<f64> = lines.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        let middle = median_of_sorted(&values);
        if middle.is_finite() && points.last().is_none_or(|last| last.1 != middle) {
            points.push((place, middle));
        }
    }
    points
}

/// Best so far of all studies.
pub fn convergence(studies: &[Study]) -> Made {
    let groups = groups(studies);
    let lines: Vec<Vec<Vec<(f64, f64)>>> = groups
        .iter()
        .map(|g| g.studies.iter().map(|s| line(s)).collect())
        .collect();
    let costs = || lines.iter().flatten().flatten().map(|p| p.1);
    if costs().next().is_none() {
        return Err("no study has an evaluation that did not fail".into());
    }
    let scale = Scale::of(costs());
    let last = studies.iter().map(Study::last_evaluation).fold(0.0, f64::max);
    let mut keys = Vec::new();
    for group in &groups {
        match &group.studies[..] {
            [study] => keys.push(Key::line(study.label.clone(), group.stroke.width(1.8))),
            several => {
                let label = format!("{}: median of {}", group.name, several.len());
                keys.push(Key::line(label, group.stroke.width(2.4)));
                keys.push(Key::line("each", Stroke::solid(group.stroke.ink).width(0.8)));
            }
        }
    }
    let row = Row {
        label: match scale {
            Scale::Log => "best cost so far (logarithmic)".into(),
            Scale::Linear => "best cost so far".into(),
        },
        height: 300.0,
        scale,
        range: scale.around(costs()),
    };
    let (mut drawing, panels) = stack(keys, &Shared::evaluations(last, &[]), &[row]);
    let panel = &panels[0];
    for (group, lines) in groups.iter().zip(&lines) {
        let alone = lines.len() == 1;
        for (study, line) in group.studies.iter().zip(lines) {
            let stroke = match alone {
                true => group.stroke.width(1.8),
                false => Stroke::solid(group.stroke.ink).width(0.8),
            };
            steps(&mut drawing, panel, scale, line, study.last_evaluation(), stroke);
            // where it ended
            if let Some(point) = line.last() {
                let end = panel.at(study.last_evaluation(), scale.place(point.1));
                drawing.dot(end, 2.2, group.stroke.ink);
            }
        }
    }
    for (group, lines) in groups.iter().zip(&lines) {
        if lines.len() > 1 {
            let end = group.studies.iter().map(|s| s.last_evaluation()).fold(0.0, f64::max);
            let stroke = group.stroke.width(2.4);
            steps(&mut drawing, panel, scale, &median(lines), end, stroke);
        }
    }
    let mut caption = String::from(
        "Best cost so far over the number of evaluations, of the candidates that were judged whole. Dots: where a study ended.",
    );
    if lines.iter().any(|l| l.len() > 1) {
        caption += " Studies of one name are a group; its median counts studies that ended with the best they had, and begins where more \
                    than half of them have one.";
    }
    let without: Vec<&str> = studies
        .iter()
        .filter(|s| line(s).is_empty())
        .map(|s| s.label.as_str())
        .collect();
    if !without.is_empty() {
        caption += &format!(" Without a judged candidate: {}.", without.join(", "));
    }
    Ok(figure(drawing, caption))
}

/// The parameters of the best of each study, each on a line of its own.
pub fn parameters(studies: &[Study]) -> Made {
    const ROW: f64 = 20.0;
    let groups = groups(studies);
    let mut names: Vec<&str> = Vec::new();
    for parameter in studies.iter().flat_map(|s| &s.parameters) {
        if !names.contains(&parameter.name.as_str()) {
            names.push(&parameter.name);
        }
    }
    let value = |study: &Study, name: &str| {
        let i = study.parameters.iter().position(|p| p.name == name)?;
        Some(study.evaluations.parameters[i][study.best?.0])
    };
    names.retain(|name| studies.iter().any(|s| value(s, name).is_some()));
    if names.is_empty() {
        return Err("no study has a best evaluation with parameters".into());
    }
    let count = names.len();
    names.truncate(MOST_PARAMETERS);
    let keys: Vec<Key> = (groups.iter())
        .map(|g| Key {
            label: match &g.studies[..] {
                [study] => study.label.clone(),
                several => format!("{} ({})", g.name, several.len()),
            },
            sign: Sign::Dot(g.stroke.ink),
        })
        .collect();
    let (left, right) = (260.0, WIDTH - 100.0);
    let legend_room = legend_height(WIDTH - RIGHT - 10.0, &keys);
    let mut drawing = Drawing::new(WIDTH, legend_room + 14.0 + names.len() as f64 * ROW + 8.0);
    legend(&mut drawing, [10.0, 2.0], WIDTH - RIGHT, &keys);
    for (i, name) in names.iter().enumerate() {
        let y = legend_room + 14.0 + (i as f64 + 0.5) * ROW;
        let values: Vec<f64> = studies.iter().filter_map(|s| value(s, name)).collect();
        // bounds count if all have the same
        let known = studies
            .iter()
            .flat_map(|s| s.parameters.iter().find(|p| p.name == *name));
        let mut known = known.clone().peekable();
        let first = known.peek().copied();
        let same = known.all(|p| first.is_some_and(|f| f.bounds == p.bounds && f.log == p.log));
        let bounds = first.filter(|_| same).and_then(|p| Some((p.bounds?, p.log)));
        let scale = match bounds {
            Some((_, true)) => Scale::Log,
            _ => Scale::Linear,
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [low, high] = bounds.map_or([least, greatest], |b| b.0);
        let (from, to) = (scale.place(low), scale.place(high));
        let share = |v: f64| {
            if to > from {
                ((scale.place(v) - from) / (to - from)).clamp(0.0, 1.0)
            } else {
                0.5
            }
        };
        let fitted = font::fitted_end(name, SMALL, left - 90.0);
        drawing.text([left - 76.0, y + 4.0], fitted, Ink::Text, Anchor::End);
        drawing.line(vec![[left, y], [right, y]], Stroke::solid(Ink::Grid));
        let ends_ink = if bounds.is_some() { Ink::Text } else { Ink::Muted };
        if bounds.is_some() {
            for x in [left, right] {
                drawing.line(
                    vec![[x, y - 5.0], [x, y + 5.0]],
                    Stroke::solid(Ink::Vermillion).width(1.2),
                );
            }
        }
        drawing.text([left - 8.0, y + 4.0], short(low, 4), ends_ink, Anchor::End);
        drawing.text([right + 8.0, y + 4.0], short(high, 4), ends_ink, Anchor::Start);
        // groups a little apart, so that they do not hide one another
        for (g, group) in groups.iter().enumerate() {
            let shift = (g as f64 - 0.5 * (groups.len() - 1) as f64) * (8.0 / groups.len() as f64);
            let values = group.studies.iter().filter_map(|s| value(s, name));
            let dots: Vec<[f64; 2]> = values.map(|v| [left + share(v) * (right - left), y + shift]).collect();
            drawing.dots(dots, 3.0, group.stroke.ink, 0.8);
        }
    }
    let mut caption = String::from(
        "Parameters of the best of each study, between their bounds (vermillion marks; on a logarithmic axis if their logarithms are \
         searched), or between the smallest and the largest of these values where bounds are absent or differ (grey numbers). Studies \
         that end with equal costs at different places say that the parameter does not matter, or that there are several minima.",
    );
    if count > names.len() {
        caption += &format!(" The first {} of {count} parameters are shown.", names.len());
    }
    Ok(figure(drawing, caption))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The median of three and of two, worked by hand; it begins when more than half have a value.
    #[test]
    fn the_median_counts_studies_from_their_first_value_on() {
        let lines = [
            vec![(1.0, 9.0), (4.0, 2.0)],
            vec![(2.0, 5.0)],
            vec![(3.0, 7.0), (5.0, 1.0)],
        ];
        let expected = [(2.0, 9.0), (3.0, 7.0), (4.0, 5.0), (5.0, 2.0)];
        assert_eq!(median(&lines), expected);
        assert_eq!(median(&lines[..2]), [(2.0, 7.0), (4.0, 3.5)]);
    }
}
