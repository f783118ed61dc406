//! The pages of studies, of their comparison, and of sweeps.

use std::fmt::Write as _;

use super::super::Report;
use super::super::axes::short;
use super::super::compare::differences;
use super::super::html::{begin, difference_table, end, figure_list, folded, links, not_shown, swatch};
use super::super::svg::escape;
use super::Study;
use super::comparison::ink_of;
use super::evaluations::Kind;
use super::outcomes::{counts, reasons};
use super::parameter::Bound;
use crate::optimize::Outcome;

/// Reasons of failures in the table.
const MOST_REASONS: usize = 25;

fn number(value: f64) -> String {
    short(value, 6)
}

fn maybe(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or("–".into(), number)
}

/// Names and values of what was done.
fn facts(study: &Study) -> Vec<(&'static str, String)> {
    let e = &study.evaluations;
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| facts.extend(value.map(|v| (name, v)));
    let setting = |key: &str| study.setting(key);
    let plain = |v: &toml::Value| v.as_str().map_or_else(|| v.to_string(), str::to_string);
    let kind = |kind: Kind| (0..e.len()).filter(|i| e.kind[*i] == kind).count();
    add("study", Some(study.name.clone()));
    add("experiment", setting("experiment").map(plain));
    let bounded = study.parameters.iter().filter(|p| p.bounds.is_some()).count();
    add(
        "parameters",
        Some(match (study.parameters.len(), bounded) {
            (n, b) if n == b && n > 0 => format!("{n}, all with bounds"),
            (n, b) => format!("{n}, {b} with bounds"),
        }),
    );
    let mut evaluations = format!("{}: {} of candidates", e.len(), kind(Kind::Sample));
    for (count, words) in [
        (kind(Kind::Reevaluation), "once more"),
        (kind(Kind::Validation), "for validation"),
    ] {
        if count > 0 {
            let _ = write!(evaluations, ", {count} {words}");
        }
    }
    add("evaluations", Some(evaluations));
    add("generations", Some(generation_count(study).to_string()));
    let restarts = e.restart.iter().max().copied().unwrap_or(0);
    let rule = setting("optimizer.restarts").map(plain).filter(|r| r != "none");
    add(
        "restarts",
        Some(match rule {
            Some(rule) => format!("{restarts} ({rule})"),
            None => restarts.to_string(),
        }),
    );
    add("simulated", Some(duration(e.simulated_s.iter().sum())));
    add("seed", setting("optimizer.seed").map(plain));
    add("population at first", population(study));
    let budget = setting("budget").and_then(toml::Value::as_table);
    let budget: Vec<String> = budget
        .into_iter()
        .flatten()
        .map(|(k, v)| format!("{k} = {v}"))
        .collect();
    add("budget", Some(budget.join(", ")).filter(|b| !b.is_empty()));
    add("ambler", study.text_of("ambler_version").map(str::to_string));
    facts
}

fn generation_count(study: &Study) -> u64 {
    let e = &study.evaluations;
    match study.history.as_ref().map(|h| h.len() as u64) {
        Some(count) => count,
        None => e.generation.iter().max().copied().unwrap_or(0),
    }
}

fn population(study: &Study) -> Option<String> {
    let first = *study.history.as_ref()?.column("population")?.first()?;
    Some(first.to_string()).filter(|_| first.is_finite())
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{} h", short(s / 3600.0, 3)),
        s if s >= 120.0 => format!("{} min", short(s / 60.0, 3)),
        s => format!("{} s", short(s, 3)),
    }
}

/// Share of candidates that failed, in words.
fn failures(study: &Study) -> String {
    let counts = counts(&study.evaluations);
    let all: usize = counts.iter().map(|c| c.1).sum();
    let failed: usize = counts.iter().filter(|c| c.0.is_failure()).map(|c| c.1).sum();
    match (failed, all) {
        (0, _) => "none".into(),
        (failed, all) => format!("{failed} ({} %)", short(100.0 * failed as f64 / all as f64, 2)),
    }
}

/// The best in words.
fn best_words(study: &Study) -> String {
    let e = &study.evaluations;
    match study.best {
        None => "none: no evaluation has a cost of its own".into(),
        Some((row, validated)) => format!(
            "{}, evaluation {} in generation {}{}",
            number(e.cost[row]),
            e.number[row],
            e.generation[row],
            if validated {
                ", the distribution's mean on the seeds of the validation"
            } else {
                ""
            }
        ),
    }
}

fn two_columns(out: &mut String, rows: &[(&str, String)]) {
    out.push_str("<div class=\"scroll\"><table><tbody>\n");
    for (name, value) in rows {
        let _ = writeln!(
            out,
            "<tr><td class=\"m\">{}</td><td>{}</td></tr>",
            escape(name),
            escape(value)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn verdict(out: &mut String, study: &Study) {
    let (words, good) = study.verdict();
    let class = if good { "good" } else { "bad" };
    let _ = writeln!(out, "<p class=\"verdict {class}\">{}</p>", escape(&words));
}

fn head(out: &mut String, cells: &[(&str, bool)]) {
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    for (text, is_number) in cells {
        let class = if *is_number { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", escape(text));
    }
    out.push_str("</tr></thead><tbody>\n");
}

const TABLE_END: &str = "</tbody></table></div>\n";

fn parameter_table(out: &mut String, study: &Study) {
    if study.parameters.is_empty() {
        return;
    }
    out.push_str("<h2 id=\"best_parameters\">Best parameters</h2>\n");
    head(
        out,
        &[
            ("parameter", false),
            ("best", true),
            ("lower bound", true),
            ("upper bound", true),
            ("final mean", true),
            ("± std", true),
            ("", false),
        ],
    );
    for (i, parameter) in study.parameters.iter().enumerate() {
        let best = study.best.map(|(row, _)| study.evaluations.parameters[i][row]);
        let last = study.last_distribution(&parameter.name);
        let bound = |value: Option<f64>| match value.and_then(|v| parameter.at_bound(v)) {
            Some(Bound::Lower) => Some("lower"),
            Some(Bound::Upper) => Some("upper"),
            None => None,
        };
        let flag = match (bound(best), bound(last.map(|l| l[0]))) {
            (Some(a), Some(b)) if a == b => format!("at {a} bound"),
            (Some(a), _) => format!("best at {a} bound"),
            (None, Some(b)) => format!("mean at {b} bound"),
            (None, None) => String::new(),
        };
        let _ = writeln!(
            out,
            "<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td><strong>{flag}</strong></td></tr>",
            escape(&parameter.name),
            if parameter.log {
                " <span class=\"muted\">(log)</span>"
            } else {
                ""
            },
            maybe(best),
            maybe(parameter.bounds.map(|b| b[0])),
            maybe(parameter.bounds.map(|b| b[1])),
            maybe(last.map(|l| l[0])),
            match last.map(|l| l[1]).filter(|s| s.is_finite()) {
                // the deviation of a logarithm
                Some(std) if parameter.log => format!("×/÷ {}", short(libm::exp(std), 4)),
                Some(std) => short(std, 2),
                None => "–".into(),
            },
        );
    }
    out.push_str(TABLE_END);
    out.push_str(
        "<p class=\"muted\">Six digits; <code>best_parameters.toml</code> has all. At a bound: within 1 % of the distance of the bounds \
         (of their logarithms, if those are searched). Final mean and standard deviation: of the distribution that the last \
         generation was drawn from; with ×/÷ it is a factor.</p>\n",
    );
}

fn measure_table(out: &mut String, study: &Study) {
    let e = &study.evaluations;
    let (Some((row, _)), false) = (study.best, e.measures.is_empty()) else {
        return;
    };
    out.push_str("<h2 id=\"best_measures\">Measures of the best</h2>\n");
    head(out, &[("measure", false), ("value", true)]);
    for (name, values) in e.measure_names.iter().zip(&e.measures) {
        let value = maybe(Some(values[row]));
        let _ = writeln!(out, "<tr><td>{}</td><td class=\"n\">{value}</td></tr>", escape(name));
    }
    out.push_str(TABLE_END);
}

fn outcome_table(out: &mut String, study: &Study, things: &str) {
    let e = &study.evaluations;
    if e.len() == 0 {
        return;
    }
    out.push_str("<h2 id=\"failures\">How evaluations ended</h2>\n");
    head(out, &[("outcome", false), (things, true), ("share", true)]);
    let counts = counts(e);
    let all: usize = counts.iter().map(|c| c.1).sum();
    for (outcome, count) in counts.iter().filter(|c| c.1 > 0) {
        let share = short(100.0 * *count as f64 / all.max(1) as f64, 3);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{count}</td><td class=\"n\">{share} %</td></tr>",
            outcome.name()
        );
    }
    out.push_str(TABLE_END);
    let reasons = reasons(e);
    if reasons.is_empty() {
        out.push_str("<p>No evaluation failed.</p>\n");
        return;
    }
    head(
        out,
        &[("reason of failure", false), ("outcome", false), ("evaluations", true)],
    );
    for (outcome, reason, count) in reasons.iter().take(MOST_REASONS) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{count}</td></tr>",
            escape(reason),
            outcome.name()
        );
    }
    out.push_str(TABLE_END);
    if reasons.len() > MOST_REASONS {
        let rest: usize = reasons[MOST_REASONS..].iter().map(|r| r.2).sum();
        let more = reasons.len() - MOST_REASONS;
        let _ = writeln!(
            out,
            "<p class=\"muted\">And {more} more reasons, of {rest} evaluations.</p>"
        );
    }
}

/// The page of one study.
fn single(report: &Report, study: &Study) -> String {
    let mut out = begin(&study.label);
    let _ = writeln!(out, "<h1>{}</h1>", escape(&study.label));
    verdict(&mut out, study);
    links(&mut out, report.figures());
    out.push_str("<h2 id=\"study\">What was searched</h2>\n");
    let mut rows = vec![("best cost", best_words(study)), ("failures", failures(study))];
    rows.extend(facts(study));
    two_columns(&mut out, &rows);
    parameter_table(&mut out, study);
    measure_table(&mut out, study);
    outcome_table(&mut out, study, "candidates");
    figure_list(&mut out, report.figures());
    not_shown(&mut out, report, 1);
    if !study.text.is_empty() {
        out.push_str("<h2 id=\"settings\">Settings</h2>\n");
        folded(&mut out, "study.toml: everything the study was made of", &study.text);
    }
    end(&mut out, "the study folder");
    out
}

/// Settings that say what the cost is; studies in which they differ cannot be compared by cost.
const OF_THE_COST: [&str; 7] = [
    "experiment",
    "set",
    "objective",
    "scenarios",
    "combine",
    "seeds",
    "validation",
];

/// The study with the clearly smallest best cost, if costs mean the same in all.
fn winner(studies: &[Study]) -> Result<Option<usize>, &'static str> {
    let same = |key: &&str| studies.windows(2).all(|w| w[0].setting(key) == w[1].setting(key));
    if studies.iter().any(|s| s.settings.is_empty()) {
        return Err("");
    }
    if let Some(key) = OF_THE_COST.iter().find(|key| !same(key)) {
        return Err(key);
    }
    let validated = |s: &Study| s.best.map(|b| b.1);
    let costs: Option<Vec<f64>> = studies.iter().map(Study::best_cost).collect();
    let Some(costs) = costs.filter(|_| studies.windows(2).all(|w| validated(&w[0]) == validated(&w[1]))) else {
        return Ok(None);
    };
    let least = (0..costs.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]));
    Ok(least.filter(|l| {
        let clearly = |i: usize| costs[i] - costs[*l] > 0.01 * costs[i].abs().max(costs[*l].abs());
        (0..costs.len()).filter(|i| i != l).all(clearly)
    }))
}

fn comparison_heads(studies: &[Study]) -> String {
    let mut heads = String::new();
    for (i, study) in studies.iter().enumerate() {
        let color = swatch(ink_of(studies, i));
        let _ = write!(heads, "<th class=\"n\">{color}{}</th>", escape(&study.label));
    }
    heads
}

fn result_table(out: &mut String, studies: &[Study]) {
    let _ = writeln!(
        out,
        "<h2 id=\"results\">Results</h2>\n<div class=\"scroll\"><table><thead><tr><th></th>{}</tr></thead><tbody>",
        comparison_heads(studies)
    );
    let mut row = |label: &str, values: Vec<String>, bold: Option<usize>| {
        let _ = write!(out, "<tr><td>{}</td>", escape(label));
        for (i, value) in values.iter().enumerate() {
            let value = escape(value);
            let _ = match bold == Some(i) {
                // long words may be broken, numbers not
                false if value.len() > 24 => write!(out, "<td class=\"w\">{value}</td>"),
                true => write!(out, "<td class=\"n\"><strong>{value}</strong></td>"),
                false => write!(out, "<td class=\"n\">{value}</td>"),
            };
        }
        out.push_str("</tr>\n");
    };
    let of = |f: &dyn Fn(&Study) -> String| studies.iter().map(f).collect::<Vec<String>>();
    let winner = winner(studies);
    row("name", of(&|s| s.name.clone()), None);
    row("best cost", of(&|s| maybe(s.best_cost())), winner.unwrap_or(None));
    row(
        "which is",
        of(&|s| match s.best {
            Some((_, true)) => "a validated mean".into(),
            Some((_, false)) => "a single evaluation".into(),
            None => "–".into(),
        }),
        None,
    );
    let at = |s: &Study| maybe(s.best.map(|(row, _)| s.evaluations.number[row]));
    row("at evaluation", of(&at), None);
    row(
        "last validation",
        of(&|s| {
            let e = &s.evaluations;
            let last = (0..e.len()).rev().find(|i| e.kind[*i] == Kind::Validation);
            maybe(last.filter(|i| e.is_judged(*i)).map(|i| e.cost[i]))
        }),
        None,
    );
    row("evaluations", of(&|s| s.evaluations.len().to_string()), None);
    row("generations", of(&|s| generation_count(s).to_string()), None);
    let restarts = |s: &Study| s.evaluations.restart.iter().max().copied().unwrap_or(0).to_string();
    row("restarts", of(&restarts), None);
    row("failures", of(&failures), None);
    row("end", of(&|s| s.verdict().0), None);
    let mut measures: Vec<&String> = Vec::new();
    for name in studies.iter().flat_map(|s| &s.evaluations.measure_names) {
        if !measures.contains(&name) {
            measures.push(name);
        }
    }
    for name in measures {
        let value = |s: &Study| {
            let i = s.evaluations.measure_names.iter().position(|n| n == name);
            maybe(i.and_then(|i| Some(s.evaluations.measures[i][s.best?.0])))
        };
        row(&format!("{name} of the best"), of(&value), None);
    }
    out.push_str(TABLE_END);
    let note = match winner {
        Ok(Some(_)) => "Bold: the best cost that is smaller than all others by more than 1 %.".to_string(),
        Ok(None) => String::new(),
        Err("") => "Whether costs mean the same in all studies is not known, since a study.toml is missing.".into(),
        Err(key) => format!("Costs cannot be compared by their numbers: the studies differ in `{key}`."),
    };
    if !note.is_empty() {
        let _ = writeln!(out, "<p class=\"muted\">{}</p>", escape(&note));
    }
}

fn several(report: &Report, studies: &[Study]) -> String {
    let labels: Vec<&str> = studies.iter().map(|s| s.label.as_str()).collect();
    let title = labels.join(", ");
    let mut out = begin(&title);
    let _ = writeln!(
        out,
        "<h1>{} studies compared</h1>\n<p class=\"muted\">{}</p>",
        studies.len(),
        escape(&title)
    );
    links(&mut out, report.figures());
    result_table(&mut out, studies);
    let settings: Vec<&toml::Table> = studies.iter().map(|s| &s.settings).collect();
    let none = "None: the studies say the same.";
    difference_table(&mut out, &comparison_heads(studies), &differences(&settings), none);
    figure_list(&mut out, report.figures());
    not_shown(&mut out, report, studies.len());
    out.push_str("<h2 id=\"settings\">Settings</h2>\n");
    for study in studies.iter().filter(|s| !s.text.is_empty()) {
        folded(&mut out, &format!("study.toml of {}", study.label), &study.text);
    }
    end(&mut out, "the study folders");
    out
}

/// The page of a study, or of several compared.
pub fn page(report: &Report, studies: &[Study]) -> String {
    match studies {
        [study] => single(report, study),
        several_studies => several(report, several_studies),
    }
}

/// Rows of the table of a sweep's best points.
const BEST_POINTS: usize = 15;

/// The page of a sweep.
pub fn sweep_page(report: &Report, sweep: &Study) -> String {
    let e = &sweep.evaluations;
    let mut out = begin(&sweep.label);
    let _ = writeln!(out, "<h1>{}</h1>", escape(&sweep.label));
    links(&mut out, report.figures());
    out.push_str("<h2 id=\"sweep\">What was swept</h2>\n");
    let design = (sweep.setting("sweep.design")).and_then(|v| v.as_str());
    let mut rows = vec![
        ("sweep", sweep.name.clone()),
        ("parameters", sweep.parameters.len().to_string()),
        ("points", e.len().to_string()),
        ("failures", failures(sweep)),
        ("simulated", duration(e.simulated_s.iter().sum())),
    ];
    if let Some(design) = design {
        rows.insert(1, ("design", design.to_string()));
    }
    if let Some(experiment) = sweep.setting("experiment").and_then(|v| v.as_str()) {
        rows.insert(1, ("experiment", experiment.to_string()));
    }
    two_columns(&mut out, &rows);

    let mut order: Vec<usize> = (0..e.len()).filter(|row| !e.outcome[*row].is_failure()).collect();
    order.sort_by(|a, b| e.cost[*a].total_cmp(&e.cost[*b]).then(a.cmp(b)));
    order.truncate(BEST_POINTS);
    if !order.is_empty() {
        out.push_str("<h2 id=\"best_points\">Best points</h2>\n");
        let names = e.parameter_names.iter().chain(&e.measure_names);
        let mut cells = vec![("index", true), ("cost", true), ("outcome", false)];
        cells.extend(names.map(|n| (n.as_str(), true)));
        head(&mut out, &cells);
        for row in order {
            let outcome: Outcome = e.outcome[row];
            let _ = write!(
                out,
                "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>",
                e.number[row],
                number(e.cost[row]),
                outcome.name()
            );
            for column in e.parameters.iter().chain(&e.measures) {
                let _ = write!(out, "<td class=\"n\">{}</td>", maybe(Some(column[row])));
            }
            out.push_str("</tr>\n");
        }
        out.push_str(TABLE_END);
    }
    outcome_table(&mut out, sweep, "points");
    figure_list(&mut out, report.figures());
    not_shown(&mut out, report, 1);
    if !sweep.text.is_empty() {
        out.push_str("<h2 id=\"settings\">Settings</h2>\n");
        folded(&mut out, "sweep.toml: everything the sweep was made of", &sweep.text);
    }
    end(&mut out, "the folder of the sweep");
    out
}
