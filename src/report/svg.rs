//! SVG of a drawing.
//!
//! Written here and not by plotters, whose SVG has whole pixels only and no broken lines: a dash would be an element.

use std::fmt::Write as _;

use super::drawing::{Anchor, Drawing, Ink, Mark};
use super::font;

/// Where the SVG will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file of its own: white paper, colours as they are.
    File,
    /// Within the page, whose style sheet has the colours.
    Page,
}

/// Begins every SVG file of ours.
pub const MARKER: &str = "<!-- ambler report -->";

fn color(ink: Ink, place: Place) -> String {
    match place {
        Place::Page => format!("var(--{})", ink.name()),
        Place::File => {
            let [r, g, b] = ink.rgb();
            format!("#{r:02x}{g:02x}{b:02x}")
        }
    }
}

/// Text with the signs that SVG and HTML keep for themselves written out. Control characters, which XML refuses, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate to a tenth of a pixel, in as few signs as it takes.
fn push_number(out: &mut String, value: f64) {
    let tenths = (value * 10.0).round() as i64;
    let (sign, tenths) = if tenths < 0 { ("-", -tenths) } else { ("", tenths) };
    let _ = match tenths % 10 {
        0 => write!(out, "{sign}{}", tenths / 10),
        rest => write!(out, "{sign}{}.{rest}", tenths / 10),
    };
}

fn number(value: f64) -> String {
    let mut out = String::new();
    push_number(&mut out, value);
    out
}

fn push_points(out: &mut String, points: &[[f64; 2]]) {
    for (i, p) in points.iter().enumerate() {
        out.push(if i == 0 { 'M' } else { ' ' });
        push_number(out, p[0]);
        out.push(',');
        push_number(out, p[1]);
    }
}

/// The drawing as an SVG element that says for itself (`title`) what it shows.
pub fn to_svg(drawing: &Drawing, title: &str, place: Place) -> String {
    let (w, h) = (number(drawing.width), number(drawing.height));
    let mut out = String::new();
    let _ = match place {
        Place::File => writeln!(
            out,
            "{MARKER}\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"'{}', Verdana, sans-serif\"><title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>",
            font::NAME,
            escape(title)
        ),
        Place::Page => writeln!(
            out,
            "<svg width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\"><title>{}</title>",
            escape(title)
        ),
    };
    for mark in &drawing.marks {
        match mark {
            Mark::Line { points, stroke } => {
                out.push_str("<path d=\"");
                push_points(&mut out, points);
                let _ = write!(
                    out,
                    "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"",
                    color(stroke.ink, place),
                    number(stroke.width)
                );
                let dash = stroke.dash.lengths();
                if !dash.is_empty() {
                    let dash: Vec<String> = dash.iter().map(|d| number(*d)).collect();
                    let _ = write!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
                }
                if points.len() > 2 {
                    out.push_str(" stroke-linejoin=\"round\"");
                }
                out.push_str("/>\n");
            }
            Mark::Area { points, ink, opacity } => {
                out.push_str("<path d=\"");
                push_points(&mut out, points);
                let _ = write!(out, "Z\" fill=\"{}\"", color(*ink, place));
                if *opacity < 1.0 {
                    let _ = write!(out, " fill-opacity=\"{opacity}\"");
                }
                out.push_str("/>\n");
            }
            Mark::Dot { center, radius, ink } => {
                let _ = writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
                    number(center[0]),
                    number(center[1]),
                    number(*radius),
                    color(*ink, place)
                );
            }
            // strokes of no length with round ends: a fifth of the bytes of circles
            Mark::Dots {
                centers,
                radius,
                ink,
                opacity,
            } => {
                out.push_str("<path d=\"");
                for c in centers {
                    out.push('M');
                    push_number(&mut out, c[0]);
                    out.push(',');
                    push_number(&mut out, c[1]);
                    out.push_str("h0");
                }
                let _ = write!(
                    out,
                    "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"",
                    color(*ink, place),
                    number(2.0 * radius)
                );
                if *opacity < 1.0 {
                    let _ = write!(out, " stroke-opacity=\"{opacity}\"");
                }
                out.push_str("/>\n");
            }
            Mark::Text {
                at,
                text,
                size,
                ink,
                anchor,
                upright,
            } => {
                let (x, y) = (number(at[0]), number(at[1]));
                let _ = write!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"",
                    number(*size),
                    color(*ink, place)
                );
                match anchor {
                    Anchor::Start => {}
                    Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
                    Anchor::End => out.push_str(" text-anchor=\"end\""),
                }
                if *upright {
                    let _ = write!(out, " transform=\"rotate(-90 {x} {y})\"");
                }
                let _ = writeln!(out, ">{}</text>", escape(text));
            }
        }
    }
    out.push_str("</svg>\n");
    out
}
