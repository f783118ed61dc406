//! `ambler view`.

use std::path::Path;

use clap::Args;

use super::Verdict;
use super::print::{Failure, note, out};
use super::render::{CameraView, failed, size_within};
use super::run::ExperimentArguments;
use crate::experiment::{Prepared, SPEEDS};
use crate::view::window::{Closed, Item, WindowError, WindowOptions, show};
use crate::view::{Adapter, CameraOptions, OverlaySet, View};

#[derive(Args, Debug)]
pub(super) struct ViewArguments {
    #[command(flatten)]
    pub experiment: ExperimentArguments,
    /// Times real time, 0.05 to 16
    #[arg(long, default_value_t = 1.0)]
    pub speed: f64,
    /// Wait for the space bar
    #[arg(long)]
    pub paused: bool,
    /// Pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1024x768", value_parser = parse_size)]
    pub size: (u32, u32),
    /// Overlays: names with commas, all, none (F1 in the window lists them)
    #[arg(long, value_name = "NAMES", value_parser = |s: &str| OverlaySet::parse(s))]
    pub overlay: Option<OverlaySet>,
    /// Where to look from at first
    #[arg(long)]
    pub camera: Option<CameraView>,
    /// Without the panel (tab opens it)
    #[arg(long)]
    pub no_panel: bool,
    /// Close at the end of the experiment or recording
    #[arg(long)]
    pub quit_at_end: bool,
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    size_within(text, 64..=8192)
}

pub(super) fn view(arguments: &ViewArguments) -> Result<Verdict, Failure> {
    let path = &arguments.experiment.experiment;
    let [slowest, fastest] = SPEEDS;
    if !(slowest..=fastest).contains(&arguments.speed) {
        let found = arguments.speed;
        return Err(Failure::input(format!(
            "--speed is {found}; expected {slowest} to {fastest}"
        )));
    }
    let item = Item::of(path).ok_or_else(|| {
        let message = match path.exists() {
            true => format!("{}: neither a run folder nor a folder with experiments", path.display()),
            false => format!("{}: there is no such file or folder", path.display()),
        };
        Failure::input(message)
    })?;
    let changes = &arguments.experiment;
    if matches!(item, Item::Run(_)) {
        changes.refuse_changes()?;
    }
    let load = |path: &Path| -> Result<Prepared, String> {
        let loaded = ExperimentArguments {
            experiment: path.to_path_buf(),
            ..changes.clone()
        }
        .load();
        let loaded = loaded.map_err(|f| f.message)?;
        Prepared::new(&loaded).map_err(|e| e.to_string())
    };
    let options = WindowOptions {
        size: arguments.size,
        speed: arguments.speed,
        paused: arguments.paused,
        overlays: arguments.overlay,
        camera: CameraOptions {
            view: arguments.camera.map(View::from),
            ..CameraOptions::default()
        },
        panel: !arguments.no_panel,
        quit_at_end: arguments.quit_at_end,
    };
    let opened = |adapter: &Adapter| {
        if let Some(text) = adapter.note {
            note(format!("note: {text}"));
        }
        let name = &adapter.name;
        note(format!(
            "drawn by {name}; F1 in the window lists its keys, escape closes it"
        ));
    };
    let closed = show(item, &load, options, &opened).map_err(|error| {
        let unseen =
            "without a display, `ambler render` makes pictures; `xvfb-run` gives a window one that nobody sees";
        match &error {
            WindowError::Open(_) => Failure::input(error),
            WindowError::Adapter(_) => failed(error),
            WindowError::NoDisplay | WindowError::Window(_) => failed(error).with_hint(unseen),
        }
    })?;
    report(&closed);
    Ok(Verdict::Good)
}

/// What happened, for people and for tests.
fn report(closed: &Closed) {
    out(format!("{}: closed at {:.3} s", closed.name, closed.time));
    if let Some(status) = &closed.status {
        if let Some(end) = status.end {
            out(format!(
                "  end              {:.3} s, {} steps, state hash {:016x}",
                end.time, end.steps, end.state_hash
            ));
        }
        let by_hand = status.disturbances + status.changes;
        if by_hand > 0 {
            out(format!(
                "  by hand          {} pushes and drags, {} changes of parameters{}",
                status.disturbances,
                status.changes,
                if status.unsaved { ", not saved" } else { "" }
            ));
        }
    }
    for path in &closed.saved {
        out(format!("  saved            {}", path.display()));
    }
    let per_second = closed.pictures as f64 / closed.seconds.max(1e-9);
    out(format!(
        "  pictures         {} in {:.1} s, {per_second:.1} a second",
        closed.pictures, closed.seconds
    ));
    if let Some([achieved, asked]) = closed.achieved_speed {
        out(format!(
            "  physics          {achieved:.2} times real time, asked for {asked:.2}"
        ));
    }
}
