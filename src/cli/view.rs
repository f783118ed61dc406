//! `ambler view`.

use std::path::Path;

use clap::Args;

use super::Verdict;
use super::print::{Failure, note, out};
use super::run::ExperimentArguments;
use crate::experiment::Prepared;
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
    /// follow, side, front, top or orbit
    #[arg(long, value_parser = parse_view)]
    pub camera: Option<View>,
    /// Without the panel (tab opens it)
    #[arg(long)]
    pub no_panel: bool,
    /// Close at the end of the experiment or recording
    #[arg(long)]
    pub quit_at_end: bool,
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let expected = || format!("expected WIDTHxHEIGHT in pixels, 64x64 to 8192x8192, such as 800x600; found `{text}`");
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(expected)?;
    let number = |s: &str| s.trim().parse::<u32>().ok().filter(|n| (64..=8192).contains(n));
    number(width).zip(number(height)).ok_or_else(expected)
}

fn parse_view(text: &str) -> Result<View, String> {
    let named = View::ALL.into_iter().find(|v| v.name() == text);
    named.ok_or_else(|| {
        format!(
            "expected one of {}; found `{text}`",
            View::ALL.map(View::name).join(", ")
        )
    })
}

pub(super) fn view(arguments: &ViewArguments) -> Result<Verdict, Failure> {
    let path = &arguments.experiment.experiment;
    let input = |message: String, hint: Option<&str>| Failure {
        code: 2,
        message,
        hint: hint.map(str::to_string),
    };
    if !(arguments.speed.is_finite() && (0.05..=16.0).contains(&arguments.speed)) {
        let message = format!("--speed is {}; expected 0.05 to 16", arguments.speed);
        return Err(input(message, None));
    }
    let item = Item::of(path).ok_or_else(|| {
        let message = match path.exists() {
            true => format!("{}: neither a run folder nor a folder with experiments", path.display()),
            false => format!("{}: there is no such file or folder", path.display()),
        };
        input(message, None)
    })?;
    let changes = &arguments.experiment;
    let changed =
        !changes.sets.is_empty() || changes.seed.is_some() || changes.motion.is_some() || changes.character.is_some();
    if changed && matches!(item, Item::Run(_)) {
        return Err(input(
            format!(
                "{}: a recording cannot be changed by --set, --seed, --motion or --character",
                path.display()
            ),
            Some("view its experiment.toml instead: it is simulated anew"),
        ));
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
            view: arguments.camera,
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
        let (code, hint) = match &error {
            WindowError::Open(_) => (2, None),
            WindowError::Adapter(_) => (1, None),
            WindowError::NoDisplay | WindowError::Window(_) => (
                1,
                Some(
                    "without a display, `ambler render` makes pictures; `xvfb-run` gives a window one that nobody sees",
                ),
            ),
        };
        Failure {
            code,
            message: error.to_string(),
            hint: hint.map(str::to_string),
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
