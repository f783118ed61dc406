//! Stacked plots over time and grids of small plots.

use super::super::axes::{Key, Panel, Range, Sign, event, legend, legend_height};
use super::super::drawing::{Dash, Drawing, Ink, Stroke};
use super::super::{Figure, Run};
use super::View;

/// Width of every figure.
pub const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;

pub struct Curve<'a> {
    pub x: &'a [f64],
    pub y: Vec<f64>,
    pub stroke: Stroke,
}

/// One of the plots that share a time axis.
pub struct TimePlot<'a> {
    pub label: String,
    pub curves: Vec<Curve<'a>>,
    /// Values with a line across.
    pub levels: Vec<(f64, Stroke)>,
    /// The axis is at least as wide, in its units.
    pub least: f64,
    /// Whether the axis begins at 0.
    pub from_zero: bool,
    pub height: f64,
}

impl<'a> TimePlot<'a> {
    pub fn new(label: &str, curves: Vec<Curve<'a>>, least: f64) -> TimePlot<'a> {
        TimePlot {
            label: label.into(),
            curves,
            levels: Vec::new(),
            least,
            from_zero: true,
            height: 150.0,
        }
    }
}

/// A figure; its name and title are filled in by the list of figures.
pub fn figure(drawing: Drawing, caption: String) -> Figure {
    Figure {
        name: String::new(),
        title: String::new(),
        caption,
        drawing,
    }
}

fn nameless(drawing: Drawing) -> Figure {
    figure(drawing, String::new())
}

/// The legend's entries for the runs that are compared.
pub fn run_keys(view: &View) -> Vec<Key> {
    match view.compared {
        true => view
            .whos
            .iter()
            .map(|w| Key::line(w.run.label.clone(), w.stroke()))
            .collect(),
        false => Vec::new(),
    }
}

/// Times at which something happened to a run.
struct Marks<'a> {
    view: &'a View<'a>,
}

const PUSH: f64 = 0.28;

impl Marks<'_> {
    /// Spans of pushes, with the colour of the run where they differ between runs.
    fn pushes(&self) -> Vec<([f64; 2], Ink)> {
        let runs: Vec<&Run> = self.view.whos.iter().map(|w| w.run).collect();
        let same = runs.windows(2).all(|w| w[0].pushes == w[1].pushes);
        let mut spans = Vec::new();
        for who in &self.view.whos {
            let ink = if same { Ink::Amber } else { who.ink };
            spans.extend(who.run.pushes.iter().map(|p| (*p, ink)));
            if same {
                break;
            }
        }
        spans
    }

    fn falls(&self) -> Vec<(f64, Ink)> {
        let compared = self.view.compared;
        let mark = |w: &super::Who| Some((w.run.fell_at()?, if compared { w.ink } else { Ink::Text }));
        self.view.whos.iter().filter_map(mark).collect()
    }

    /// Spans of help from outside, of a single run.
    fn assisted(&self) -> Vec<[f64; 2]> {
        let [who] = &self.view.whos[..] else { return Vec::new() };
        let columns = ["assist_force_x_n", "assist_force_y_n", "assist_force_z_n"];
        let torques = ["assist_torque_x_nm", "assist_torque_y_nm", "assist_torque_z_nm"];
        let columns: Vec<&[f64]> = columns.iter().chain(&torques).filter_map(|c| who.column(c)).collect();
        let mut spans: Vec<[f64; 2]> = Vec::new();
        let times = who.times();
        let mut open = false;
        for (i, &time) in times.iter().enumerate() {
            let active = columns.iter().any(|c| c[i] != 0.0);
            // what acted in the step before the sample
            let before = if i > 0 { times[i - 1] } else { time };
            match (active, open) {
                (true, false) => spans.push([before, time]),
                (true, true) => {
                    if let Some(last) = spans.last_mut() {
                        last[1] = time;
                    }
                }
                _ => {}
            }
            open = active;
        }
        spans
    }

    fn keys(&self, help: bool) -> Vec<Key> {
        let mut keys = Vec::new();
        if let Some((_, ink)) = self.pushes().first() {
            keys.push(Key {
                label: "push".into(),
                sign: Sign::Shade(*ink, PUSH),
            });
        }
        if help && !self.assisted().is_empty() {
            keys.push(Key::line("help from outside", Stroke::solid(Ink::Purple).width(3.0)));
        }
        if let Some((_, ink)) = self.falls().first() {
            keys.push(Key::line("fall", Stroke::new(*ink, Dash::Dotted).width(1.2)));
        }
        keys
    }

    /// What lies below the curves; `help` says whether help from outside is marked too.
    fn draw(&self, drawing: &mut Drawing, panel: &Panel, help: bool) {
        for (span, ink) in self.pushes() {
            let share = |t: f64| panel.x.share(t).clamp(0.0, 1.0) * panel.width;
            let (from, to) = (share(span[0]), share(span[1]));
            // a push of one step is drawn as wide as can be seen
            let width = (to - from).max(1.5);
            drawing.rect([panel.left + from, panel.top], [width, panel.height], ink, PUSH);
        }
        for span in self.assisted().into_iter().filter(|_| help) {
            let ends = span.map(|t| [panel.at(t, 0.0)[0], panel.top]);
            drawing.line(ends.to_vec(), Stroke::solid(Ink::Purple).width(3.0));
        }
        for (time, ink) in self.falls() {
            event(drawing, panel, time, ink);
        }
    }
}

/// Plots one above the other with a common time axis, pushes, falls and help marked.
pub fn over_time(view: &View, keys: Vec<Key>, plots: Vec<TimePlot>) -> Figure {
    let marks = Marks { view };
    let mut all_keys = run_keys(view);
    all_keys.extend(keys);
    all_keys.extend(marks.keys(true));
    let legend_room = legend_height(WIDTH - LEFT - RIGHT, &all_keys);
    const GAP: f64 = 14.0;
    let heights: f64 = plots.iter().map(|p| p.height + GAP).sum();
    let mut drawing = Drawing::new(WIDTH, 6.0 + legend_room + heights + 26.0);
    legend(&mut drawing, [LEFT, 2.0], WIDTH - RIGHT, &all_keys);
    let mut top = 8.0 + legend_room;
    let x = Range {
        low: 0.0,
        high: view.duration().max(1e-3),
    };
    let count = plots.len();
    for (i, plot) in plots.iter().enumerate() {
        let levels = plot.levels.iter().map(|l| l.0);
        let values = plot.curves.iter().flat_map(|c| c.y.iter().copied()).chain(levels);
        let panel = Panel {
            left: LEFT,
            top,
            width: WIDTH - LEFT - RIGHT,
            height: plot.height,
            x,
            y: match plot.from_zero {
                true => Range::from_zero(values, plot.least),
                false => Range::around(values, plot.least),
            },
        };
        panel.frame(&mut drawing, i + 1 == count);
        marks.draw(&mut drawing, &panel, true);
        for (value, stroke) in &plot.levels {
            panel.level(&mut drawing, *value, *stroke);
        }
        for curve in &plot.curves {
            panel.curve(&mut drawing, curve.x, &curve.y, curve.stroke);
        }
        panel.y_label(&mut drawing, &plot.label);
        if i + 1 == count {
            panel.x_label(&mut drawing, "time (s)");
        }
        top += plot.height + GAP;
    }
    nameless(drawing)
}

/// A curve of a small plot: points in its axes.
pub struct SmallCurve<'a> {
    pub x: std::borrow::Cow<'a, [f64]>,
    pub y: Vec<f64>,
    pub stroke: Stroke,
    /// Whether x increases, as time does.
    pub over_time: bool,
}

pub struct SmallPlot<'a> {
    pub title: String,
    pub curves: Vec<SmallCurve<'a>>,
    pub levels: Vec<(f64, Stroke)>,
    /// The axes are at least as wide.
    pub least: [f64; 2],
}

/// How a grid of small plots looks.
pub struct Grid<'a> {
    pub columns: usize,
    pub height: f64,
    pub x_label: &'a str,
    pub y_label: &'a str,
}

/// Small plots in rows. Over time they share the time axis and show pushes and falls.
pub fn small_multiples(view: &View, keys: Vec<Key>, grid: &Grid, plots: Vec<SmallPlot>) -> Figure {
    const AXIS: f64 = 44.0;
    const ABOVE: f64 = 24.0;
    const BELOW: f64 = 20.0;
    let marks = Marks { view };
    let over_time = plots.iter().all(|p| p.curves.iter().all(|c| c.over_time));
    let mut all_keys = run_keys(view);
    all_keys.extend(keys);
    if over_time {
        all_keys.extend(marks.keys(false));
    }
    let left = 20.0;
    let legend_room = legend_height(WIDTH - left - AXIS - RIGHT, &all_keys);
    let columns = grid.columns.min(plots.len()).max(1);
    let rows = plots.len().div_ceil(columns);
    let cell = [(WIDTH - left - 4.0) / columns as f64, ABOVE + grid.height + BELOW];
    let mut drawing = Drawing::new(WIDTH, legend_room + rows as f64 * cell[1] + 24.0);
    legend(&mut drawing, [left + AXIS, 2.0], WIDTH - RIGHT, &all_keys);
    let time = Range {
        low: 0.0,
        high: view.duration().max(1e-3),
    };
    for (i, plot) in plots.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let levels = plot.levels.iter().map(|l| l.0);
        let panel = Panel {
            left: left + column as f64 * cell[0] + AXIS,
            top: legend_room + row as f64 * cell[1] + ABOVE,
            width: cell[0] - AXIS - 10.0,
            height: grid.height,
            x: match over_time {
                true => time,
                false => Range::around(plot.curves.iter().flat_map(|c| c.x.iter().copied()), plot.least[0]),
            },
            y: Range::around(
                plot.curves.iter().flat_map(|c| c.y.iter().copied()).chain(levels),
                plot.least[1],
            ),
        };
        panel.frame(&mut drawing, true);
        if over_time {
            marks.draw(&mut drawing, &panel, false);
        }
        panel.title(&mut drawing, &plot.title);
        for (value, stroke) in &plot.levels {
            panel.level(&mut drawing, *value, *stroke);
        }
        for curve in &plot.curves {
            match curve.over_time {
                true => panel.curve(&mut drawing, &curve.x, &curve.y, curve.stroke),
                false => panel.path(
                    &mut drawing,
                    curve.x.iter().copied().zip(curve.y.iter().copied()),
                    curve.stroke,
                ),
            }
        }
        // the last plot of every column
        if i + columns >= plots.len() {
            panel.x_label(&mut drawing, grid.x_label);
        }
    }
    let middle = legend_room + 0.5 * rows as f64 * cell[1];
    drawing.upright_text([14.0, middle], grid.y_label, Ink::Text);
    nameless(drawing)
}
