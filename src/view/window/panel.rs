//! The panel: values and plots of now, pace, parameters, overlays, saving.

use std::sync::Arc;

use egui_plot::{Legend, Line, Plot, PlotPoints};
use kiss3d::egui;

use super::acts::{Act, BINDINGS};
use super::source::Pace;
use crate::control::Parameter;
use crate::experiment::spec::Direction;
use crate::experiment::{CharacterSample, Prepared, SPEEDS, Sample, Status};
use crate::view::{OVERLAYS, OverlaySet, View};

/// What the panel shows.
pub(super) struct Shown<'a> {
    pub name: &'a str,
    pub prepared: &'a Prepared,
    pub pace: &'a Pace,
    /// `None` for a recording.
    pub status: Option<&'a Status>,
    pub history: &'a [Arc<Sample>],
    pub parameters: &'a [Parameter],
    pub overlays: OverlaySet,
    pub view: View,
    pub pictures_per_second: f64,
    pub message: Option<&'a str>,
}

/// What the panel remembers.
pub(super) struct Panel {
    pub open: bool,
    pub help: bool,
    /// Part of the names of parameters to show.
    filter: String,
    /// Values at the beginning, for the button that sets one back.
    initial: Vec<(String, f64)>,
    pub push_force: f64,
    pub push_duration: f64,
    character: usize,
}

impl Panel {
    pub fn new(open: bool) -> Panel {
        Panel {
            open,
            help: false,
            filter: String::new(),
            initial: Vec::new(),
            push_force: 100.0,
            push_duration: 0.2,
            character: 0,
        }
    }

    /// For another experiment.
    pub fn begin(&mut self, prepared: &Prepared, parameters: &[Parameter]) {
        self.initial = parameters.iter().map(|p| (p.path.clone(), p.value)).collect();
        self.character = 0;
        // a quarter of the weight, in round numbers
        let mass = prepared.actors.first().map_or(40.0, |a| a.character.mass());
        self.push_force = ((0.25 * 9.81 * mass / 10.0).round() * 10.0).max(1.0);
    }

    /// Draws the panel; what was asked for is added to `acts`.
    pub fn draw(&mut self, ctx: &egui::Context, shown: &Shown, acts: &mut Vec<Act>) {
        if self.help {
            keys(ctx, &mut self.help);
        }
        legend(ctx, shown.overlays);
        if !self.open {
            return;
        }
        let height = ctx.content_rect().height();
        egui::Window::new(shown.name)
            .id(egui::Id::new("panel"))
            .default_pos([6.0, 6.0])
            .default_width(260.0)
            .default_height(height - 60.0)
            .max_height(height - 60.0)
            .vscroll(true)
            .show(ctx, |ui| {
                self.time(ui, shown, acts);
                if let Some(message) = shown.message {
                    ui.colored_label(egui::Color32::from_rgb(255, 190, 90), message);
                }
                self.values(ui, shown);
                section(ui, "Plots", true, |ui| plots(ui, shown.history, self.character));
                if shown.status.is_some() {
                    section(ui, "Hands", false, |ui| self.hands(ui, acts));
                    section(ui, "Parameters", false, |ui| self.parameters(ui, shown, acts));
                }
                section(ui, "Show", false, |ui| looks(ui, shown, acts));
                ui.small("F1: all keys. Tab: hide this panel.");
            });
    }

    fn time(&mut self, ui: &mut egui::Ui, shown: &Shown, acts: &mut Vec<Act>) {
        let pace = shown.pace;
        ui.horizontal(|ui| {
            if ui.button(if pace.paused { "go on" } else { "pause" }).clicked() {
                acts.push(Act::TogglePause);
            }
            if ui.button("step").clicked() {
                acts.push(Act::StepOn);
            }
            if ui.button("restart").clicked() {
                acts.push(Act::Restart { repeat: false });
            }
            ui.monospace(format!("{:7.3} s", pace.time));
        });
        if shown.status.is_none() {
            let mut time = pace.time;
            let slider = egui::Slider::new(&mut time, 0.0..=pace.duration)
                .show_value(false)
                .text("time");
            if ui.add(slider).changed() {
                acts.push(Act::Seek(time));
            }
        }
        let mut speed = pace.speed;
        let slider = egui::Slider::new(&mut speed, SPEEDS[0]..=SPEEDS[1])
            .logarithmic(true)
            .suffix("×")
            .text("speed");
        if ui.add(slider).changed() {
            acts.push(Act::Speed(speed));
        }
        let achieved = match shown.status {
            Some(status) if !status.paused => format!("physics at {:.2}× real time, ", status.achieved_speed),
            _ => String::new(),
        };
        ui.small(format!("{achieved}{:.1} pictures/s", shown.pictures_per_second));
        if let Some(end) = shown.status.and_then(|s| s.end) {
            ui.small(format!("end at {:.3} s, state hash {:016x}", end.time, end.state_hash));
        }
    }

    fn values(&mut self, ui: &mut egui::Ui, shown: &Shown) {
        let Some(now) = shown.history.last() else {
            return;
        };
        if shown.prepared.actors.len() > 1 {
            egui::ComboBox::from_label("character")
                .selected_text(shown.prepared.actors.get(self.character).map_or("", |a| &a.name))
                .show_ui(ui, |ui| {
                    for (i, actor) in shown.prepared.actors.iter().enumerate() {
                        ui.selectable_value(&mut self.character, i, &actor.name);
                    }
                });
        }
        egui::Grid::new("values").num_columns(2).striped(true).show(ui, |ui| {
            let mut row = |name: &str, value: String| {
                ui.label(name);
                ui.monospace(value);
                ui.end_row();
            };
            if let Some(c) = now.characters.get(self.character) {
                row("tracking error", format!("{:7.2} deg", c.tracking_error_deg));
                row("root height", format!("{:7.3} m", c.root_height));
                row("speed", format!("{:7.2} m/s", c.com_speed));
                row("left foot", format!("{:7.0} N", c.foot_forces[0]));
                row("right foot", format!("{:7.0} N", c.foot_forces[1]));
                row("outside help", format!("{:7.0} N", c.assist_force));
            }
            row("energy", format!("{:7.1} J", now.energy));
        });
    }

    fn hands(&mut self, ui: &mut egui::Ui, acts: &mut Vec<Act>) {
        ui.small("Drag a body with the left button. Arrow keys push:");
        ui.add(
            egui::Slider::new(&mut self.push_force, 1.0..=2000.0)
                .logarithmic(true)
                .suffix(" N")
                .text("force"),
        );
        ui.add(
            egui::Slider::new(&mut self.push_duration, 0.01..=2.0)
                .logarithmic(true)
                .suffix(" s")
                .text("for"),
        );
        ui.horizontal(|ui| {
            for (label, direction) in [
                ("forward", Direction::Forward),
                ("back", Direction::Backward),
                ("left", Direction::Left),
                ("right", Direction::Right),
            ] {
                if ui.button(label).clicked() {
                    acts.push(Act::Push(direction));
                }
            }
        });
        ui.horizontal(|ui| {
            if ui.button("save as experiment").clicked() {
                acts.push(Act::SaveExperiment);
            }
            if ui.button("repeat").clicked() {
                acts.push(Act::Restart { repeat: true });
            }
        });
    }

    fn parameters(&mut self, ui: &mut egui::Ui, shown: &Shown, acts: &mut Vec<Act>) {
        ui.horizontal(|ui| {
            ui.label("find");
            ui.text_edit_singleline(&mut self.filter);
        });
        if ui.button("save changed parameters").clicked() {
            acts.push(Act::SaveParameters);
        }
        for parameter in shown.parameters.iter().filter(|p| p.path.contains(&self.filter)) {
            let mut value = parameter.value;
            let [low, high] = parameter.range;
            let initial = self
                .initial
                .iter()
                .find(|(path, _)| *path == parameter.path)
                .map(|(_, v)| *v);
            ui.horizontal(|ui| {
                let slider = egui::Slider::new(&mut value, low..=high)
                    .logarithmic(parameter.log)
                    .clamping(egui::SliderClamping::Never)
                    .suffix(format!(" {}", parameter.unit));
                let moved = ui.add(slider).changed();
                let name = parameter.path.trim_start_matches("controller.");
                let changed = initial.is_some_and(|v| v != parameter.value);
                ui.label(if changed { format!("{name} *") } else { name.to_string() });
                if changed && ui.small_button("back").clicked() {
                    value = initial.unwrap_or(value);
                    acts.push(Act::SetParameter {
                        path: parameter.path.clone(),
                        value,
                    });
                } else if moved && value != parameter.value {
                    acts.push(Act::SetParameter {
                        path: parameter.path.clone(),
                        value,
                    });
                }
            });
        }
    }
}

/// The overlays that are on, their colours and keys, in the lower right corner.
fn legend(ctx: &egui::Context, overlays: OverlaySet) {
    egui::Area::new(egui::Id::new("legend"))
        .anchor(egui::Align2::RIGHT_BOTTOM, [-6.0, -6.0])
        .interactable(false)
        .show(ctx, |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                for overlay in overlays.entries() {
                    let color = egui::Color32::from_rgb(overlay.color.0, overlay.color.1, overlay.color.2);
                    ui.horizontal(|ui| {
                        let (mark, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
                        ui.painter().rect_filled(mark, 2.0, color);
                        ui.small(format!("{} ({})", overlay.label, overlay.key));
                    });
                }
                ui.small("keys (F1)");
            });
        });
}

fn section(ui: &mut egui::Ui, title: &str, open: bool, content: impl FnOnce(&mut egui::Ui)) {
    egui::CollapsingHeader::new(title).default_open(open).show(ui, content);
}

fn looks(ui: &mut egui::Ui, shown: &Shown, acts: &mut Vec<Act>) {
    ui.horizontal_wrapped(|ui| {
        for view in View::ALL {
            if ui.selectable_label(shown.view == view, view.name()).clicked() {
                acts.push(Act::View(view));
            }
        }
    });
    for overlay in &OVERLAYS {
        let mut on = shown.overlays.has(overlay.kind);
        let label = format!("{} ({})", overlay.label, overlay.key);
        if ui.checkbox(&mut on, label).on_hover_text(overlay.about).changed() {
            acts.push(Act::Toggle(overlay.kind));
        }
    }
    if ui.button("save picture").clicked() {
        acts.push(Act::SavePicture);
    }
}

/// Name, unit and the lines of a plot.
type Curves = (&'static str, &'static [(&'static str, fn(&CharacterSample) -> f64)]);

const CURVES: [Curves; 4] = [
    ("tracking error, deg", &[("error", |c| c.tracking_error_deg)]),
    (
        "force on the feet, N",
        &[("left", |c| c.foot_forces[0]), ("right", |c| c.foot_forces[1])],
    ),
    ("root height, m", &[("height", |c| c.root_height)]),
    ("outside help, N", &[("assist", |c| c.assist_force)]),
];

/// Okabe and Ito's blue and vermilion, which everyone can tell apart, lightened for a dark background.
const LINES: [egui::Color32; 2] = [
    egui::Color32::from_rgb(86, 180, 233),
    egui::Color32::from_rgb(230, 120, 40),
];

/// Name and values of a line; `None` where there is no value.
type Values<'a> = (&'a str, &'a dyn Fn(&Sample) -> Option<f64>);

fn plots(ui: &mut egui::Ui, history: &[Arc<Sample>], character: usize) {
    let mut plot = |name: &str, lines: &[Values]| {
        ui.small(name);
        let mut plot = Plot::new(name)
            .height(66.0)
            .allow_scroll(false)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_boxed_zoom(false)
            .include_y(0.0);
        if lines.len() > 1 {
            plot = plot.legend(Legend::default());
        }
        plot.show(ui, |plot| {
            for ((name, value), color) in lines.iter().zip(LINES) {
                let points: PlotPoints = history.iter().filter_map(|s| Some([s.time, value(s)?])).collect();
                plot.line(Line::new(*name, points).color(color).width(1.5));
            }
        });
    };
    if history.last().is_some_and(|s| !s.characters.is_empty()) {
        for (name, curves) in CURVES {
            let values: Vec<_> = (curves.iter())
                .map(|(line, value)| (*line, move |s: &Sample| s.characters.get(character).map(value)))
                .collect();
            let lines: Vec<Values> = values
                .iter()
                .map(|(line, value)| (*line, value as &dyn Fn(&Sample) -> Option<f64>))
                .collect();
            plot(name, &lines);
        }
    }
    plot("energy, J", &[("energy", &|s| Some(s.energy))]);
}

fn keys(ctx: &egui::Context, open: &mut bool) {
    egui::Window::new("Keys")
        .open(open)
        .default_pos([300.0, 40.0])
        .vscroll(true)
        .show(ctx, |ui| {
            egui::Grid::new("keys").num_columns(2).striped(true).show(ui, |ui| {
                let mut row = |key: &str, about: &str| {
                    ui.monospace(key);
                    ui.label(about);
                    ui.end_row();
                };
                row("left drag", "pull a body; beside bodies, turn the camera");
                row("right drag, wheel", "move the camera, zoom");
                for binding in &BINDINGS {
                    row(binding.label, binding.about);
                }
                for overlay in &OVERLAYS {
                    row(&overlay.key.to_string(), overlay.about);
                }
            });
        });
}
