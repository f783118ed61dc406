//! The window: an experiment live, or a recorded run, with hands and a panel.
//!
//! In: an [`Item`] and how to load it. Out: a [`Closed`] report. Physics runs on a thread of its own
//! ([`Live`](crate::experiment::Live)); nothing here can slow it down or change it but by a
//! [`Command`].
//!
//! ```text
//! mouse, keys, panel → Act → Command → Live (thread) → picture → Stage, Overlays, Panel → window
//! ```

mod acts;
mod panel;
mod pick;
mod player;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::DVec3;
use kiss3d::event::{Action, MouseButton, WindowEvent};
use kiss3d::pollster::block_on;
use kiss3d::window::{CanvasSetup, Window};
use thiserror::Error;

use self::acts::Act;
use self::panel::{Panel, Shown};
use self::pick::Ray;
use self::source::{Source, open};
use super::adapter::open_window_context;
use super::{Adapter, AdapterError, Camera, CameraOptions, OverlayKind, OverlaySet, Overlays, Stage, Studio, light};
use crate::experiment::spec::Direction;
use crate::experiment::{Command, Frame, LiveOptions, Prepared, PushRequest, SPEEDS, Status};
use crate::files::write_atomic;
use crate::world::BodyRef;

pub use self::source::Item;

/// How a window begins.
#[derive(Clone, Debug)]
pub struct WindowOptions {
    /// Pixels.
    pub size: (u32, u32),
    /// Times real time, within [`SPEEDS`].
    pub speed: f64,
    pub paused: bool,
    /// All that are of use, if `None`: the ghost where a motion is tracked.
    pub overlays: Option<OverlaySet>,
    pub camera: CameraOptions,
    /// Whether the panel is open.
    pub panel: bool,
    /// Close by itself when the duration of the experiment, or the end of the recording, has been reached.
    pub quit_at_end: bool,
}

/// What happened until the window was closed.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// Of the last thing shown.
    pub name: String,
    /// Seconds simulated or played.
    pub time: f64,
    /// Of a live experiment.
    pub status: Option<Status>,
    pub pictures: u64,
    /// Wall time, from the first picture.
    pub seconds: f64,
    /// Mean of the achieved speed over pictures, while it ran, and mean of what was asked for.
    pub achieved_speed: Option<[f64; 2]>,
    /// Files that were written.
    pub saved: Vec<PathBuf>,
}

/// Why there is no window.
#[derive(Debug, Error)]
pub enum WindowError {
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// The first thing to show cannot be shown.
    #[error("{0}")]
    Open(String),
    #[error("there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set)")]
    NoDisplay,
    #[error("the window cannot be opened: {0}")]
    Window(String),
}

/// Everything about what is shown now.
struct Show {
    item: Item,
    prepared: Arc<Prepared>,
    source: Source,
    stage: Stage,
    overlays: Overlays,
    camera: Camera,
    frame: Frame,
}

/// What the left button does while it is down.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Press {
    Nothing,
    /// A body is held at this point of the world, which sets the depth at which it is dragged.
    Held {
        at: DVec3,
    },
}

struct App<'a> {
    load: &'a dyn Fn(&Path) -> Result<Prepared, String>,
    options: WindowOptions,
    show: Show,
    panel: Panel,
    press: Press,
    message: Option<String>,
    /// Errors and files of the session that have been told.
    told_errors: u64,
    told_saved: Option<PathBuf>,
    told_end: bool,
    saved: Vec<PathBuf>,
    save_picture: bool,
    speeds: (u64, [f64; 2]),
}

/// Opens a window and shows `item` until it is closed. `load` reads an experiment; `opened` is told what draws, once the
/// first picture is there.
pub fn show(
    item: Item,
    load: &dyn Fn(&Path) -> Result<Prepared, String>,
    options: WindowOptions,
    opened: &dyn Fn(&Adapter),
) -> Result<Closed, WindowError> {
    // everything that can go wrong goes wrong before there is a window
    let live = LiveOptions {
        speed: options.speed,
        // until the first picture is there
        paused: true,
    };
    let (prepared, source) = open(&item, load, live).map_err(WindowError::Open)?;
    if cfg!(target_os = "linux")
        && ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .all(|v| std::env::var_os(v).is_none())
    {
        return Err(WindowError::NoDisplay);
    }
    let adapter = open_window_context()?;
    let mut window = open_window(&options, &adapter)?;
    let show = Show::new(item, prepared, source, &options);
    let mut app = App {
        load,
        panel: Panel::new(options.panel),
        show,
        press: Press::Nothing,
        message: None,
        told_errors: 0,
        told_saved: None,
        told_end: false,
        saved: Vec::new(),
        save_picture: false,
        speeds: (0, [0.0; 2]),
        options,
    };
    app.panel.begin(&app.show.prepared, &app.show.source.parameters());
    app.run(&mut window, &|| opened(&adapter))
}

fn open_window(options: &WindowOptions, adapter: &Adapter) -> Result<Window, WindowError> {
    let (width, height) = options.size;
    // kiss3d has no error for a display that cannot be reached
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let setup = CanvasSetup {
        samples: adapter.num_samples(),
        ..CanvasSetup::default()
    };
    let opened = std::panic::catch_unwind(|| block_on(Window::new_with_setup("ambler", width, height, setup)));
    std::panic::set_hook(quiet);
    let mut window = opened.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        WindowError::Window(text.unwrap_or_else(|| "the window system does not answer".into()))
    })?;
    light(&mut window);
    Ok(window)
}

impl Show {
    fn new(item: Item, prepared: Arc<Prepared>, mut source: Source, options: &WindowOptions) -> Show {
        let frame = source.picture(Instant::now()).unwrap_or_default();
        let tracked = prepared.actors.iter().any(|a| a.tracks());
        let default = match tracked {
            true => OverlaySet::default().with(OverlayKind::Ghost),
            false => OverlaySet::default(),
        };
        Show {
            stage: Stage::new(&prepared),
            overlays: Overlays::new(&prepared, options.overlays.unwrap_or(default)),
            camera: Camera::new(&prepared, &frame, options.size, options.camera),
            item,
            prepared,
            source,
            frame,
        }
    }
}

impl App<'_> {
    fn run(mut self, window: &mut Window, opened: &dyn Fn()) -> Result<Closed, WindowError> {
        let mut pictures = 0u64;
        let mut begin = Instant::now();
        let mut rate = Rate::default();
        loop {
            let now = Instant::now();
            self.listen(window);
            match self.show.source.picture(now) {
                Ok(frame) => self.show.frame = frame,
                Err(error) => self.message = Some(error),
            }
            let status = self.show.source.status();
            self.hear(status.as_ref());
            self.draw(window, status.as_ref(), rate.per_second(now));
            let goes_on = block_on(window.render_3d(self.show.stage.scene_mut(), self.show.camera.orbit_mut()));
            pictures += 1;
            if pictures == 1 {
                // the first picture takes seconds: shaders are compiled; the clock starts now
                begin = Instant::now();
                opened();
                if !self.options.paused {
                    self.resume();
                }
            }
            if std::mem::take(&mut self.save_picture) {
                self.write_picture(window);
            }
            let at_end = match (&self.show.source, &status) {
                (Source::Recorded(player), _) => player.at_end(),
                (Source::Live(_), Some(status)) => status.end.is_some() && status.paused,
                (Source::Live(_), None) => false,
            };
            if !goes_on || (self.options.quit_at_end && at_end && pictures > 1) {
                break;
            }
        }
        let pace = self.show.source.pace(&self.show.prepared);
        let count = self.speeds.0;
        Ok(Closed {
            name: self.show.prepared.name.clone(),
            time: pace.time,
            status: self.show.source.status(),
            pictures,
            seconds: begin.elapsed().as_secs_f64(),
            achieved_speed: (count > 0).then(|| self.speeds.1.map(|sum| sum / count as f64)),
            saved: self.saved,
        })
    }

    /// Mouse and keys since the last picture, in their order.
    fn listen(&mut self, window: &mut Window) {
        for mut event in window.events().iter() {
            match event.value {
                WindowEvent::Key(key, Action::Press, _) if !window.is_egui_capturing_keyboard() => {
                    if let Some(act) = acts::act_of(key) {
                        self.act(act, window);
                    }
                }
                WindowEvent::MouseButton(MouseButton::Button1, Action::Press, _)
                    if !window.is_egui_capturing_mouse() && self.grab(window) =>
                {
                    // the camera shall not turn
                    event.inhibited = true;
                }
                WindowEvent::MouseButton(MouseButton::Button1, Action::Release, _) if self.press != Press::Nothing => {
                    self.press = Press::Nothing;
                    self.show.source.command(Command::Release);
                }
                WindowEvent::CursorPos(x, y, _) => {
                    if let Press::Held { at } = self.press {
                        event.inhibited = true;
                        let ray = self.ray((x, y), window);
                        self.show.source.command(Command::DragTo(ray.at_depth_of(at)));
                    }
                }
                _ => {}
            }
        }
    }

    fn ray(&self, pixel: (f64, f64), window: &Window) -> Ray {
        Ray::through(pixel, (window.width(), window.height()), self.show.camera.orbit())
    }

    /// Takes hold of what is under the mouse; false if there is nothing, or in a recording.
    fn grab(&mut self, window: &Window) -> bool {
        let (Some(pixel), Source::Live(_)) = (window.cursor_pos(), &self.show.source) else {
            return false;
        };
        let world = self.show.prepared.world();
        let Some(hit) = self.ray(pixel, window).hit(world.scene(), &self.show.frame) else {
            return false;
        };
        self.go_on_past_the_end();
        self.press = Press::Held { at: hit.at };
        self.show.source.command(Command::Grab {
            target: hit.target,
            point: hit.point,
        });
        true
    }

    fn resume(&mut self) {
        match &mut self.show.source {
            Source::Live(live) => {
                live.send(Command::Resume);
            }
            Source::Recorded(player) => player.resume(),
        }
    }

    /// A hand on an experiment that has come to its end wakes it.
    fn go_on_past_the_end(&mut self) {
        if let Some(status) = self.show.source.status()
            && status.paused
            && status.end.is_some_and(|end| end.steps == status.steps)
        {
            self.resume();
        }
    }

    fn act(&mut self, act: Act, window: &mut Window) {
        let size = (window.width(), window.height());
        let pace = self.show.source.pace(&self.show.prepared);
        match act {
            Act::View(view) => return self.show.camera.set_view(view, size),
            Act::Toggle(kind) => return self.show.overlays.on.toggle(kind),
            Act::TogglePanel => return self.panel.open = !self.panel.open,
            Act::ToggleHelp => return self.panel.help = !self.panel.help,
            Act::SavePicture => return self.save_picture = true,
            Act::Quit => return window.close(),
            Act::NextFile => return self.go(1),
            Act::PreviousFile => return self.go(-1),
            Act::TogglePause if pace.paused => return self.resume(),
            _ => {}
        }
        let player = match &mut self.show.source {
            Source::Recorded(player) => player,
            Source::Live(_) => return self.act_live(act, pace.speed),
        };
        match act {
            Act::TogglePause => player.paused = true,
            Act::StepOn => {
                player.paused = true;
                player.seek(player.time() + player.frame_time());
            }
            Act::StepBack => {
                player.paused = true;
                player.seek(player.time() - player.frame_time());
            }
            Act::Faster => player.speed = (2.0 * player.speed).min(SPEEDS[1]),
            Act::Slower => player.speed = (0.5 * player.speed).max(SPEEDS[0]),
            Act::Speed(speed) => player.speed = speed,
            Act::Restart { .. } => {
                player.seek(0.0);
                player.resume();
            }
            Act::Seek(time) => player.seek(time),
            Act::Push(Direction::Left) => player.seek(player.time() - 1.0),
            Act::Push(Direction::Right) => player.seek(player.time() + 1.0),
            _ => self.message = Some("this is a recording: hands are for experiments".into()),
        }
    }

    fn act_live(&mut self, act: Act, speed: f64) {
        let source = &self.show.source;
        match act {
            Act::TogglePause => source.command(Command::Pause),
            Act::StepOn => source.command(Command::StepOnce),
            Act::Faster => source.command(Command::Speed((2.0 * speed).min(SPEEDS[1]))),
            Act::Slower => source.command(Command::Speed((0.5 * speed).max(SPEEDS[0]))),
            Act::Speed(speed) => source.command(Command::Speed(speed)),
            Act::Restart { repeat } => {
                self.show.overlays.forget();
                source.command(Command::Restart { repeat });
            }
            Act::Push(direction) => {
                self.go_on_past_the_end();
                let target = match self.show.prepared.actors.is_empty() {
                    true => BodyRef::Prop { prop: 0, body: 0 },
                    false => BodyRef::Character { character: 0, body: 0 },
                };
                self.show.source.command(Command::Push(PushRequest {
                    target,
                    point: None,
                    direction,
                    force_n: self.panel.push_force,
                    duration_s: self.panel.push_duration,
                }));
            }
            Act::SetParameter { path, value } => source.command(Command::SetParameter { path, value }),
            Act::SaveExperiment => {
                let path = self.free_name("hands", "toml");
                source.command(Command::SaveExperiment { path, replace: false });
            }
            Act::SaveParameters => {
                let path = self.free_name("parameters", "toml");
                source.command(Command::SaveParameters { path, replace: false });
            }
            _ => self.message = Some("a simulation does not go back; r restarts it".into()),
        }
    }

    /// A file in the current folder that is not there yet.
    fn free_name(&self, what: &str, ending: &str) -> PathBuf {
        let name = self.show.item.path().file_stem().unwrap_or_default().to_string_lossy();
        let names = (1..).map(|n| PathBuf::from(format!("{name}_{what}_{n}.{ending}")));
        names.into_iter().find(|p| !p.exists()).unwrap_or_default()
    }

    /// Shows another file of the folder.
    fn go(&mut self, by: isize) {
        let next = self.show.item.neighbour(by);
        if next == self.show.item {
            self.message = Some("there is nothing else in this folder".into());
            return;
        }
        let options = LiveOptions {
            speed: self.show.source.pace(&self.show.prepared).speed,
            paused: false,
        };
        match open(&next, self.load, options) {
            Ok((prepared, source)) => {
                let kept = WindowOptions {
                    overlays: Some(self.show.overlays.on),
                    camera: CameraOptions {
                        view: Some(self.show.camera.view()),
                        ..self.options.camera
                    },
                    ..self.options.clone()
                };
                self.show = Show::new(next, prepared, source, &kept);
                self.panel.begin(&self.show.prepared, &self.show.source.parameters());
                self.press = Press::Nothing;
                (self.message, self.told_errors, self.told_saved) = (None, 0, None);
            }
            // the file is named in the error; the next key press goes on from it
            Err(error) => {
                self.message = Some(error);
                self.show.item = next;
            }
        }
    }

    /// What the session has to say.
    fn hear(&mut self, status: Option<&Status>) {
        let Some(status) = status else {
            return;
        };
        let ended = status.end.is_some();
        if ended && !self.told_end {
            self.message = Some("the experiment has come to its end; space or a hand goes on, r restarts".into());
        }
        self.told_end = ended;
        if status.errors > self.told_errors {
            self.told_errors = status.errors;
            self.message.clone_from(&status.last_error);
        }
        let saved = status.last_saved.as_ref().map(|s| &s.path);
        if let Some(path) = saved.filter(|p| Some(*p) != self.told_saved.as_ref()) {
            self.message = Some(format!("saved {}", path.display()));
            self.told_saved = Some(path.clone());
            self.saved.push(path.clone());
        }
        if !status.paused && status.achieved_speed > 0.0 && status.speed.is_finite() {
            self.speeds.0 += 1;
            self.speeds.1[0] += status.achieved_speed;
            self.speeds.1[1] += status.speed;
        }
    }

    fn draw(&mut self, window: &mut Window, status: Option<&Status>, pictures_per_second: f64) {
        let show = &mut self.show;
        show.overlays.remember(&show.frame);
        show.camera.follow(&show.frame);
        show.stage.show(&show.frame, show.overlays.on);
        show.overlays.draw(window, show.camera.orbit(), &show.frame);
        if let Some(hand) = status.and_then(|s| s.hand) {
            show.overlays.draw_hand(window, show.camera.orbit(), hand.at, hand.goal);
        }
        let pace = show.source.pace(&show.prepared);
        let (history, parameters) = match self.panel.open {
            true => (show.source.history(), show.source.parameters()),
            false => Default::default(),
        };
        let shown = Shown {
            name: &show.prepared.name,
            prepared: &show.prepared,
            pace: &pace,
            status,
            history: &history,
            parameters: &parameters,
            overlays: show.overlays.on,
            view: show.camera.view(),
            pictures_per_second,
            message: self.message.as_deref(),
        };
        let mut acts = Vec::new();
        let panel = &mut self.panel;
        window.draw_ui(|ctx| panel.draw(ctx, &shown, &mut acts));
        for act in acts {
            self.act(act, window);
        }
    }

    /// The picture without the panel, drawn anew: what a window shows cannot be read back everywhere.
    fn write_picture(&mut self, window: &Window) {
        let path = self.free_name("picture", "png");
        let Show {
            stage,
            overlays,
            camera,
            frame,
            ..
        } = &mut self.show;
        let drawn = Studio::open_smooth(window.width(), window.height())
            .and_then(|mut studio| studio.draw(stage, overlays, camera, frame))
            .map_err(|e| e.to_string());
        let written = drawn.and_then(|picture| {
            let png = picture.to_png().map_err(|e| e.to_string())?;
            write_atomic(&path, &png).map_err(|e| e.to_string())
        });
        match written {
            Ok(()) => {
                self.message = Some(format!("saved {}", path.display()));
                self.saved.push(path);
            }
            Err(error) => self.message = Some(format!("{}: {error}", path.display())),
        }
    }
}

/// Pictures per second, over about a second.
#[derive(Default)]
struct Rate {
    marks: std::collections::VecDeque<Instant>,
}

impl Rate {
    fn per_second(&mut self, now: Instant) -> f64 {
        self.marks.push_back(now);
        while self.marks.len() > 3 && now - self.marks[0] > Duration::from_secs(1) {
            self.marks.pop_front();
        }
        let span = (now - self.marks[0]).as_secs_f64();
        match span > 0.0 {
            true => (self.marks.len() - 1) as f64 / span,
            false => 0.0,
        }
    }
}
