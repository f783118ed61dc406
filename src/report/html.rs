//! The page: one HTML file with everything in it.

use std::fmt::Write as _;

use super::compare::{Difference, Row, differences, results};
use super::drawing::Ink;
use super::figures::words;
use super::read::Run;
use super::svg::{Place, escape, to_svg};
use super::{Figure, Report, font};

/// Begins every page of ours.
pub const MARKER: &str = "<!-- ambler report -->";

const STYLE: &str = "
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 940px; padding: 20px 16px 60px; background: var(--paper); color: var(--text);
  font: 15px/1.5 system-ui, 'DejaVu Sans', sans-serif; }
h1 { font-size: 26px; margin: 0 0 2px; } h2 { font-size: 19px; margin: 36px 0 8px; border-bottom: 1px solid var(--grid); }
h3 { font-size: 16px; margin: 0 0 4px; }
p { margin: 6px 0; } .muted, figcaption { color: var(--muted); } figcaption { font-size: 13px; max-width: 860px; margin: 4px 0 0; }
figure { margin: 22px 0 34px; break-inside: avoid; }
svg { display: block; max-width: 100%; height: auto; font-family: 'DejaVu Sans', Verdana, sans-serif; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; } td, th { padding: 3px 14px 3px 0; text-align: left; vertical-align: top; }
tr { border-bottom: 1px solid var(--grid); } thead tr { border-bottom: 2px solid var(--muted); }
.scroll + .scroll { margin-top: 14px; } td.w { text-align: right; max-width: 210px; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } td.m { color: var(--muted); }
.verdict { display: inline-block; padding: 2px 10px; border-radius: 4px; border: 2px solid; font-weight: 600; margin: 6px 0 4px; }
.good { border-color: var(--green); } .bad { border-color: var(--vermillion); }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 6px; }
pre { font-size: 12.5px; line-height: 1.4; white-space: pre-wrap; border: 1px solid var(--grid); padding: 10px; }
code { font-size: 13px; overflow-wrap: anywhere; } summary { cursor: pointer; }
nav a { margin-right: 12px; } a { color: var(--blue); }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } nav { display: none; } h2 { break-after: avoid; } }
";

fn colors(out: &mut String, of: fn(Ink) -> [u8; 3]) {
    for ink in Ink::ALL {
        let [r, g, b] = of(ink);
        let _ = write!(out, "--{}:#{r:02x}{g:02x}{b:02x};", ink.name());
    }
}

fn style() -> String {
    let mut out = String::from("@font-face{font-family:'DejaVu Sans';src:url(data:font/ttf;base64,");
    out += &base64(font::BYTES);
    out += ") format('truetype')}\n:root{--paper:#fff;";
    colors(&mut out, Ink::rgb);
    out += "}\n@media screen and (prefers-color-scheme:dark){:root{--paper:#181818;";
    colors(&mut out, Ink::rgb_in_the_dark);
    out += "}}";
    out + STYLE
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            out.push(match i <= chunk.len() {
                true => DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char,
                false => '=',
            });
        }
    }
    out
}

/// A number of an experiment without zeros that say nothing.
fn plain(value: f64) -> String {
    value.to_string()
}

/// What was run, as names and values.
fn facts(run: &Run, compared: bool) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| facts.extend(value.map(|v| (name, v)));
    let spec = run.spec.as_ref();
    add(
        "experiment",
        run.text("name")
            .map(str::to_string)
            .or(spec.and_then(|s| s.name.clone())),
    );
    if compared {
        add("ended", Some(run.verdict()));
    }
    add("engine", run.text("engine").map(str::to_string));
    let rates = (run.number("rate_hz"), run.number("control_hz"));
    add(
        "rate",
        match rates {
            (Some(rate), Some(control)) if rate == control => Some(format!("{} Hz", plain(rate))),
            (Some(rate), Some(control)) => Some(format!("{} Hz, controllers {} Hz", plain(rate), plain(control))),
            (Some(rate), None) => Some(format!("{} Hz", plain(rate))),
            _ => None,
        },
    );
    add("duration", spec.map(|s| format!("{} s", plain(s.duration_s))));
    add("seed", run.number("seed").map(plain));
    let characters: Vec<String> = (run.characters.iter())
        .map(|c| match (&c.character, c.weight) {
            (Some(character), _) => format!(
                "{}: {} bodies, {} degrees of freedom, {:.1} kg",
                c.name,
                character.bodies.len(),
                character.dofs(),
                character.mass()
            ),
            (None, Some(weight)) => format!("{}: {weight:.0} N", c.name),
            (None, None) => c.name.clone(),
        })
        .collect();
    add(
        "character",
        Some(characters.join("; "))
            .filter(|c| !c.is_empty())
            .or(Some("none".into())),
    );
    if let Some(spec) = spec {
        let actors = spec.actors();
        let motions: Vec<String> = (actors.iter())
            .filter_map(|a| Some(a.motion.as_ref()?.file.file_name()?.to_string_lossy().into_owned()))
            .collect();
        add("motion", Some(motions.join("; ")).filter(|m| !m.is_empty()));
        add("pushes", listed(spec.disturbances.iter().map(push)));
        let change = |c: &crate::experiment::spec::ChangeSpec| {
            format!("{} {} from {} s on", c.parameter, plain(c.value), plain(c.time_s))
        };
        add("changes", listed(spec.changes.iter().map(change)));
        if !spec.props.is_empty() {
            let count = spec.props.len();
            add("props", Some(count.to_string()));
        }
    }
    add("ambler", run.text("ambler_version").map(str::to_string));
    facts
}

/// Some of many things; `None` of nothing. The text of the experiment has them all.
fn listed(things: impl ExactSizeIterator<Item = String>) -> Option<String> {
    const MOST: usize = 12;
    let more = things.len().saturating_sub(MOST);
    let mut words: Vec<String> = things.take(MOST).collect();
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    Some(words.join("; ")).filter(|text| !text.is_empty())
}

/// A push in words.
fn push(d: &crate::experiment::spec::DisturbanceSpec) -> String {
    use crate::experiment::spec::Direction;
    let hard = match (d.force_n, d.impulse_ns, d.duration_s) {
        _ if d.forces_n.is_some() => {
            let forces = d.forces_n.as_deref().unwrap_or_default();
            let largest = forces
                .iter()
                .map(|f| glam::DVec3::from_array(*f).length())
                .fold(0.0, f64::max);
            let duration = forces.len() as f64 * d.every_s.unwrap_or_default();
            format!("dragged with up to {largest:.0} N for {duration:.2} s")
        }
        (Some(force), _, Some(duration)) => format!("{} N for {} s", plain(force), plain(duration)),
        (Some(force), _, None) => format!("{} N", plain(force)),
        (None, Some(impulse), Some(duration)) => format!("{} N s over {} s", plain(impulse), plain(duration)),
        (None, impulse, _) => format!("{} N s", plain(impulse.unwrap_or_default())),
    };
    let direction = match d.direction {
        None => String::new(),
        Some(Direction::Forward) => "forward".to_string(),
        Some(Direction::Backward) => "backward".into(),
        Some(Direction::Left) => "to the left".into(),
        Some(Direction::Right) => "to the right".into(),
        Some(Direction::Up) => "up".into(),
        Some(Direction::Down) => "down".into(),
        Some(Direction::Vector([x, y, z])) => format!("along ({}, {}, {})", plain(x), plain(y), plain(z)),
    };
    let body = d.body.as_deref().map_or("root".to_string(), words);
    let whom = match d.prop.as_deref().or(d.character.as_deref()) {
        Some(name) => format!("{name}, {body}"),
        None => body,
    };
    format!("{hard} {direction} ({whom}) at {} s", plain(d.time_s))
}

fn verdict(out: &mut String, run: &Run) {
    let class = if run.went_well() { "good" } else { "bad" };
    let _ = writeln!(out, "<p class=\"verdict {class}\">{}</p>", escape(&run.verdict()));
}

fn head_of_runs(out: &mut String, runs: &[Run], class: &str) {
    for (i, run) in runs.iter().enumerate() {
        let color = match runs.len() {
            1 => String::new(),
            _ => swatch(super::figures::ink(i)),
        };
        let _ = write!(out, "<th{class}>{color}{}</th>", escape(&run.label));
    }
}

fn result_table(out: &mut String, runs: &[Run], rows: &[Row]) {
    out.push_str("<div class=\"scroll\"><table><thead><tr><th></th>");
    match runs.len() {
        1 => out.push_str("<th class=\"n\">value</th>"),
        _ => head_of_runs(out, runs, " class=\"n\""),
    }
    out.push_str("<th>unit</th><th>meaning</th></tr></thead><tbody>\n");
    for row in rows {
        let _ = write!(out, "<tr><td>{}</td>", escape(row.label));
        for (i, value) in row.values.iter().enumerate() {
            let value = if value.is_empty() {
                "–".to_string()
            } else {
                escape(value)
            };
            let _ = match row.best == Some(i) {
                true => write!(out, "<td class=\"n\"><strong>{value}</strong></td>"),
                false => write!(out, "<td class=\"n\">{value}</td>"),
            };
        }
        let _ = writeln!(
            out,
            "<td>{}</td><td class=\"m\">{}</td></tr>",
            escape(row.unit),
            escape(row.meaning)
        );
    }
    out.push_str("</tbody></table></div>\n");
    if rows.iter().any(|r| r.best.is_some()) {
        out.push_str("<p class=\"muted\">Bold: clearly the smallest, where less is better and all runs reached the same end.</p>\n");
    }
}

fn fact_table(out: &mut String, runs: &[Run]) {
    let facts: Vec<Vec<(&str, String)>> = runs.iter().map(|r| facts(r, runs.len() > 1)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in facts.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    out.push_str("<div class=\"scroll\"><table>");
    if runs.len() > 1 {
        out.push_str("<thead><tr><th></th>");
        head_of_runs(out, runs, "");
        out.push_str("</tr></thead>");
    }
    out.push_str("<tbody>\n");
    for name in names {
        let _ = write!(out, "<tr><td class=\"m\">{name}</td>");
        for of_run in &facts {
            let value = of_run
                .iter()
                .find(|f| f.0 == name)
                .map_or("–".to_string(), |f| escape(&f.1));
            let _ = write!(out, "<td>{value}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The page of a report.
pub fn page(report: &Report, runs: &[Run]) -> String {
    let labels: Vec<&str> = runs.iter().map(|r| r.label.as_str()).collect();
    let title = labels.join(", ");
    let mut out = begin(&title);
    match runs {
        [run] => {
            let _ = writeln!(out, "<h1>{}</h1>", escape(&run.label));
            verdict(&mut out, run);
        }
        _ => {
            let _ = writeln!(
                out,
                "<h1>{} runs compared</h1>\n<p class=\"muted\">{}</p>",
                runs.len(),
                escape(&title)
            );
        }
    }
    links(&mut out, report.figures());
    out.push_str("<h2 id=\"run\">What was run</h2>\n");
    fact_table(&mut out, runs);
    out.push_str("<h2 id=\"results\">Results</h2>\n");
    let rows = results(runs);
    match rows.is_empty() {
        true => out.push_str("<p>There is no summary.json.</p>\n"),
        false => result_table(&mut out, runs, &rows),
    }
    if runs.len() > 1 {
        let mut heads = String::new();
        head_of_runs(&mut heads, runs, " class=\"n\"");
        let settings: Vec<&toml::Table> = runs.iter().map(|r| &r.settings).collect();
        let none = "None: the experiments of these runs say the same.";
        difference_table(&mut out, &heads, &differences(&settings), none);
    }
    figure_list(&mut out, report.figures());
    not_shown(&mut out, report, runs.len());
    out.push_str("<h2 id=\"experiment\">Experiment</h2>\n");
    for run in runs.iter().filter(|r| !r.experiment.is_empty()) {
        let of = match runs.len() {
            1 => String::new(),
            _ => format!(" of {}", run.label),
        };
        let summary = format!("experiment.toml{of}: everything the run was made of");
        folded(&mut out, &summary, &run.experiment);
    }
    end(
        &mut out,
        if runs.len() > 1 {
            "the run folders"
        } else {
            "the run folder"
        },
    );
    out
}

/// Head of a page.
pub fn begin(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n{MARKER}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{} – ambler report</title>\n<style>{}</style></head><body>\n",
        escape(title),
        style()
    )
}

/// Links to the figures.
pub fn links(out: &mut String, figures: &[Figure]) {
    out.push_str("<nav>");
    for figure in figures {
        let (name, title) = (escape(&figure.name), escape(&figure.title));
        let _ = write!(out, "<a href=\"#{name}\">{title}</a>");
    }
    out.push_str("</nav>\n");
}

/// All figures with their captions.
pub fn figure_list(out: &mut String, figures: &[Figure]) {
    out.push_str("<h2 id=\"figures\">Figures</h2>\n");
    for figure in figures {
        let _ = writeln!(
            out,
            "<figure id=\"{}\"><h3>{}</h3>\n{}<figcaption>{}</figcaption></figure>",
            escape(&figure.name),
            escape(&figure.title),
            to_svg(&figure.drawing, &figure.title, Place::Page),
            escape(&figure.caption)
        );
    }
}

/// What is missing in the folders, and the figures that could not be made.
pub fn not_shown(out: &mut String, report: &Report, folders: usize) {
    let mut missing: Vec<String> = (report.notes().into_iter())
        .map(|(label, note)| match folders {
            1 => escape(note),
            _ => format!("{}: {}", escape(label), escape(note)),
        })
        .collect();
    for figure in report.missing() {
        missing.push(format!("{}: {}.", escape(&figure.title), escape(&figure.why)));
    }
    if !missing.is_empty() {
        out.push_str("<h2 id=\"missing\">Not shown</h2>\n<ul>\n");
        for line in missing {
            let _ = writeln!(out, "<li>{line}</li>");
        }
        out.push_str("</ul>\n");
    }
}

/// A text of the folder, folded away.
pub fn folded(out: &mut String, summary: &str, text: &str) {
    let _ = writeln!(
        out,
        "<details><summary>{}</summary>\n<pre>{}</pre></details>",
        escape(summary),
        escape(text)
    );
}

/// Foot of a page.
pub fn end(out: &mut String, from: &str) {
    let _ = writeln!(
        out,
        "<p class=\"muted\">Written by ambler {} from {from}. Text in pictures: DejaVu Sans.</p>\n</body></html>",
        env!("CARGO_PKG_VERSION")
    );
}

/// A table of settings that differ; `heads` are the cells of its head after the first.
pub fn difference_table(out: &mut String, heads: &str, differences: &[Difference], none: &str) {
    out.push_str("<h2 id=\"differences\">Settings that differ</h2>\n");
    if differences.is_empty() {
        let _ = writeln!(out, "<p>{none}</p>");
        return;
    }
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th>key</th>{heads}</tr></thead><tbody>"
    );
    for difference in differences {
        let _ = write!(out, "<tr><td><code>{}</code></td>", escape(&difference.key));
        for value in &difference.values {
            let value = value.as_deref().map_or("–".to_string(), escape);
            let _ = write!(out, "<td class=\"n\"><code>{value}</code></td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// A cell of a table's head with the colour that stands for something.
pub fn swatch(ink: Ink) -> String {
    format!(
        "<span class=\"swatch\" style=\"background:var(--{})\"></span>",
        ink.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base 64 as in the examples of RFC 4648.
    #[test]
    fn base64_agrees_with_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
