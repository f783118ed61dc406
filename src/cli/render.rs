//! `ambler render`: pictures of an experiment or of a run, without a display.

use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgGroup, Args, ValueEnum};

use super::Verdict;
use super::print::{Failure, note, out};
use super::progress::Progress;
use super::run::{ExperimentArguments, stop_on_signal};
use crate::experiment::{Frame, Playback, Prepared};
use crate::files::{FileError, write_atomic};
use crate::view::{
    Camera, CameraOptions, EncodeError, Film, GifWriter, LiveFilm, OverlayKind, OverlaySet, Overlays, Picture,
    PictureError, Sheet, Stage, Studio, View,
};

/// Between pictures the camera and the trails look at the experiment this often, seconds.
const GLANCE: f64 = 1.0 / 30.0;
/// How long before the first picture they begin to look, seconds.
const LEAD: f64 = 3.0;
/// Pixels of a side of a picture, and of a whole sheet.
const SIDES: RangeInclusive<u32> = 16..=4096;
const LARGEST_SHEET: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CameraView {
    Follow,
    Side,
    Front,
    Top,
    Orbit,
}

impl From<CameraView> for View {
    fn from(view: CameraView) -> View {
        match view {
            CameraView::Follow => View::Follow,
            CameraView::Side => View::Side,
            CameraView::Front => View::Front,
            CameraView::Top => View::Top,
            CameraView::Orbit => View::Orbit,
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["png", "sheet", "gif", "frames"]))]
pub(super) struct RenderArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// One picture at a time: --png FILE.png --at 1.5, or --png at=1.5 --out FILE.png
    #[arg(long, value_name = "FILE or at=SECONDS")]
    png: Option<String>,
    /// A contact sheet of N moments evenly over time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=400))]
    sheet: Option<u32>,
    /// A moving picture
    #[arg(long)]
    gif: bool,
    /// A folder of numbered PNG files
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// The file to write, replacing what is there
    #[arg(long, value_name = "FILE", conflicts_with = "frames")]
    out: Option<PathBuf>,
    /// The moment of --png, seconds [default: 0]
    #[arg(long, value_name = "SECONDS", requires = "png", allow_negative_numbers = true)]
    at: Option<f64>,
    /// Width and height of a picture in pixels [default: 800x600, 400x300 for a GIF, 320x240 for a cell of a sheet]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<(u32, u32)>,
    /// Pictures per second of a GIF or of --frames
    #[arg(long, default_value_t = 20.0, allow_negative_numbers = true)]
    fps: f64,
    /// Begin here, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true)]
    from: f64,
    /// End here, seconds [default: the end]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    to: Option<f64>,
    /// Seconds of the experiment per second of the picture: 0.25 is slow motion
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    speed: f64,
    /// Where to look from: all but orbit go along with the first character
    #[arg(long, default_value = "follow")]
    camera: CameraView,
    /// Turn the camera from the character's front towards its left, degrees
    #[arg(long, value_name = "DEG", allow_negative_numbers = true)]
    azimuth: Option<f64>,
    /// Raise the camera over the horizon, degrees
    #[arg(long, value_name = "DEG", allow_negative_numbers = true)]
    elevation: Option<f64>,
    /// Distance of the camera, metres [default: the characters fill the picture]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    distance: Option<f64>,
    /// What to draw over the bodies: all, none, or some of ghost, skeleton, axes, contacts, reaction, com, cop, support,
    /// targets, assist, pushes, trails, boxes, grid [default: grid,pushes]
    #[arg(long = "overlay", visible_alias = "overlays", value_name = "NAMES")]
    overlays: Option<String>,
    /// Shift the ghost of the reference to the character's left, metres
    #[arg(long, value_name = "M", default_value_t = 0.0, allow_negative_numbers = true)]
    ghost_offset: f64,
    /// Neither times nor a legend in the picture
    #[arg(long)]
    plain: bool,
    /// With --frames: replace the frames that are in the folder
    #[arg(long, requires = "frames")]
    force: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    size_within(text, SIDES)
}

/// A size such as `800x600`, its sides within a range.
pub(super) fn size_within(text: &str, sides: RangeInclusive<u32>) -> Result<(u32, u32), String> {
    let expected = || {
        format!(
            "expected WIDTHxHEIGHT like 800x600, each from {} to {}",
            sides.start(),
            sides.end()
        )
    };
    let (w, h) = text.split_once(['x', 'X', '×']).ok_or_else(expected)?;
    let side = |s: &str| s.trim().parse().ok().filter(|s| sides.contains(s)).ok_or_else(expected);
    Ok((side(w)?, side(h)?))
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Failure {
        failed(error)
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Failure {
        failed(error)
    }
}

pub(super) fn failed(error: impl ToString) -> Failure {
    Failure {
        code: 1,
        ..Failure::input(error)
    }
}

fn not_written(path: &Path, error: std::io::Error) -> Failure {
    failed(FileError::io(path, error))
}

/// What is asked for, checked.
enum Job {
    Png { file: PathBuf, at: f64 },
    Sheet { file: PathBuf, cells: u32 },
    Gif { file: PathBuf },
    Frames { folder: PathBuf },
}

impl RenderArguments {
    fn number(&self, flag: &str, value: f64, range: std::ops::RangeInclusive<f64>) -> Result<f64, Failure> {
        if range.contains(&value) {
            return Ok(value);
        }
        let (low, high) = (range.start(), range.end());
        Err(Failure::input(format!("--{flag} is {value}; expected {low} to {high}")))
    }

    fn job(&self) -> Result<Job, Failure> {
        let out = || {
            self.out.clone().ok_or_else(|| {
                Failure::input("there is no file to write").with_hint("--out FILE says where the picture goes")
            })
        };
        if let Some(png) = &self.png {
            let (file, at) = match png.strip_prefix("at=") {
                Some(time) => {
                    let time = time.parse().map_err(|_| {
                        Failure::input(format!(
                            "--png at={time}: expected a number of seconds, like --png at=1.5"
                        ))
                    })?;
                    if self.at.is_some() {
                        return Err(Failure::input(
                            "--png at=SECONDS and --at both name a moment; expected one of them",
                        ));
                    }
                    (out()?, time)
                }
                None if self.out.is_some() => {
                    return Err(Failure::input(format!(
                        "--png {png} and --out both name a file; expected one of them"
                    )));
                }
                None => (PathBuf::from(png), self.at.unwrap_or(0.0)),
            };
            return Ok(Job::Png { file, at });
        }
        Ok(match (self.sheet, &self.frames) {
            (Some(cells), _) => Job::Sheet { file: out()?, cells },
            (_, Some(folder)) => Job::Frames { folder: folder.clone() },
            (None, None) => Job::Gif { file: out()? },
        })
    }

    fn camera(&self) -> Result<CameraOptions, Failure> {
        let angle = |flag: &str, value: Option<f64>, most: f64| {
            (value.map(|v| self.number(flag, v, -most..=most).map(f64::to_radians))).transpose()
        };
        Ok(CameraOptions {
            view: Some(self.camera.into()),
            azimuth: angle("azimuth", self.azimuth, 3600.0)?,
            elevation: angle("elevation", self.elevation, 89.0)?,
            distance: (self.distance.map(|d| self.number("distance", d, 0.2..=150.0))).transpose()?,
        })
    }

    fn overlays(&self) -> Result<OverlaySet, Failure> {
        match &self.overlays {
            Some(list) => OverlaySet::parse(list).map_err(Failure::input),
            None => Ok(OverlaySet::default()),
        }
    }

    /// What a legend explains: what was asked for by name.
    fn legend(&self, on: OverlaySet) -> OverlaySet {
        match self.overlays.is_some() && !self.plain {
            true => on,
            false => OverlaySet::NONE,
        }
    }

    fn size(&self, job: &Job) -> (u32, u32) {
        self.size.unwrap_or(match job {
            Job::Png { .. } | Job::Frames { .. } => (800, 600),
            Job::Gif { .. } => (400, 300),
            Job::Sheet { .. } => (320, 240),
        })
    }
}

/// Draws in a thread that ends with the process: see [`Studio`].
pub(super) fn render(arguments: &RenderArguments) -> Result<Verdict, Failure> {
    let arguments = arguments.clone();
    let (sender, result) = std::sync::mpsc::channel();
    let painter = std::thread::Builder::new().name("painter".into()).spawn(move || {
        let _ = sender.send(draw(&arguments));
        loop {
            std::thread::park();
        }
    });
    painter.map_err(|e| failed(format!("no thread to draw in: {e}")))?;
    let ended = "the thread that draws has ended; the message above says why";
    result.recv().unwrap_or_else(|_| Err(failed(ended)))
}

fn draw(arguments: &RenderArguments) -> Result<Verdict, Failure> {
    let job = arguments.job()?;
    let fps = arguments.number("fps", arguments.fps, 0.1..=240.0)?;
    if matches!(job, Job::Gif { .. }) {
        // the format counts in hundredths of a second, and programs take one hundredth for ten
        arguments.number("fps", fps, 0.1..=50.0)?;
    }
    let speed = arguments.number("speed", arguments.speed, 0.001..=1000.0)?;
    arguments.number("ghost-offset", arguments.ghost_offset, -100.0..=100.0)?;
    let (camera, overlays) = (arguments.camera()?, arguments.overlays()?);
    let size = arguments.size(&job);
    if let Job::Sheet { cells, .. } = job {
        let (w, h) = Sheet::size(cells, size, arguments.legend(overlays));
        if w * h > LARGEST_SHEET {
            return Err(Failure::input(format!(
                "a sheet of {cells} pictures of {}x{} has {w}x{h} pixels; expected at most {LARGEST_SHEET} in all",
                size.0, size.1
            )));
        }
    }
    let stop = stop_on_signal();

    let path = &arguments.experiment.experiment;
    let prepared;
    let film = if path.is_dir() {
        arguments.experiment.refuse_changes()?;
        Film::Recorded(Playback::open(path)?)
    } else {
        prepared = Prepared::new(&arguments.experiment.load()?)?;
        for warning in &prepared.warnings {
            note(format!("warning: {warning}"));
        }
        Film::Live(Box::new(LiveFilm::new(&prepared)))
    };
    let duration = film.duration();
    let within = |flag: &str, t: f64| {
        // recordings end at a whole sample
        if t.is_finite() && (0.0..=duration + 1e-9).contains(&t) {
            return Ok(t.min(duration));
        }
        Err(Failure::input(format!(
            "--{flag} is {t} s; expected 0 to {duration} s, the length of {}",
            path.display()
        )))
    };
    let from = within("from", arguments.from)?;
    let to = within("to", arguments.to.unwrap_or(duration))?;
    if from > to {
        return Err(Failure::input(format!("--from {from} is after --to {to}")));
    }
    if let Job::Png { at, .. } = job {
        within("at", at)?;
    }

    let mut shooting = Shooting::new(film, size, camera, overlays, arguments)?;
    let moving = |frames: f64| (0..=(frames + 1e-6) as u64).map(move |i| from + i as f64 * speed / fps);
    let times = moving((to - from) / speed * fps);
    let progress = Progress::new(from, to, "drawn", arguments.quiet);
    let done = match job {
        Job::Png { file, at } => png(&mut shooting, &file, at),
        Job::Sheet { file, cells } => sheet(
            &mut shooting,
            &file,
            (cells, arguments.legend(overlays)),
            (from, to),
            recorded_fall(path),
            &progress,
            stop,
        ),
        Job::Gif { file } => gif(&mut shooting, &file, times, fps, &progress, stop),
        Job::Frames { folder } => frames(&mut shooting, &folder, times, (fps, arguments.force), &progress, stop),
    };
    progress.finish();
    let what = done?;
    if let Some(error) = shooting.film.error() {
        return Err(failed(error).with_hint(format!("{what} shows everything up to that time")));
    }
    out(what);
    Ok(Verdict::Good)
}

/// A film, and everything it takes to make pictures of it.
struct Shooting<'a> {
    film: Film<'a>,
    studio: Studio,
    stage: Stage,
    overlays: Overlays,
    camera: Camera,
    /// Until when camera and trails know the experiment.
    seen: f64,
    stamp: bool,
    legend: OverlaySet,
    first: Frame,
}

impl<'a> Shooting<'a> {
    fn new(
        mut film: Film<'a>,
        size: (u32, u32),
        camera: CameraOptions,
        on: OverlaySet,
        arguments: &RenderArguments,
    ) -> Result<Shooting<'a>, Failure> {
        let first = film.frame(0.0)?.unwrap_or_default();
        // a moving picture has enough of them to do without smooth edges where these cost four times as much
        let still = arguments.png.is_some() || arguments.sheet.is_some();
        let studio = match still {
            true => Studio::open_smooth(size.0, size.1)?,
            false => Studio::open(size.0, size.1)?,
        };
        if let (Some(text), false) = (studio.adapter().note, arguments.quiet) {
            note(format!("note: {text}"));
        }
        let prepared = film.prepared();
        let mut stage = Stage::new(prepared);
        let mut overlays = Overlays::new(prepared, on);
        let camera = Camera::new(prepared, &first, size, camera);
        let aside = camera.left() * arguments.ghost_offset;
        stage.ghost_offset = aside.as_vec3();
        overlays.ghost_offset = aside;
        Ok(Shooting {
            film,
            studio,
            stage,
            overlays,
            camera,
            seen: 0.0,
            stamp: !arguments.plain,
            // a sheet has one for all its cells
            legend: match arguments.sheet {
                Some(_) => OverlaySet::NONE,
                None => arguments.legend(on),
            },
            first,
        })
    }

    /// The picture at a time not before the last one; `None` if the experiment has ended by then.
    fn picture(&mut self, time: f64) -> Result<Option<Picture>, Failure> {
        let trails = self.overlays.on.has(OverlayKind::Trails);
        let lead = if trails { LEAD } else { 1.0 };
        let mut glance = self.seen.max(time - lead);
        while glance + GLANCE < time {
            glance += GLANCE;
            if let Some(frame) = self.film.frame(glance)? {
                self.look(&frame);
            }
        }
        self.seen = time;
        let frame = match time > 0.0 {
            true => self.film.frame(time)?,
            false => Some(self.first.clone()),
        };
        let Some(frame) = frame else {
            return Ok(None);
        };
        self.look(&frame);
        let mut picture = (self.studio).draw(&mut self.stage, &self.overlays, &mut self.camera, &frame)?;
        picture.legend(self.legend);
        if self.stamp {
            picture.stamp(time);
        }
        Ok(Some(picture))
    }

    fn look(&mut self, frame: &Frame) {
        self.camera.follow(frame);
        self.overlays.remember(frame);
    }

    /// Why there is no picture at `time`.
    fn over(&self, time: f64) -> Failure {
        match (self.film.error(), self.film.fell_at()) {
            (Some(error), _) => failed(error),
            (None, Some(fall)) => failed(format!(
                "there is no picture at {time} s: the run ends with the fall at {fall:.2} s"
            ))
            .with_hint("fall.stop = true says so in the experiment; --set fall.stop=false goes on"),
            (None, None) => failed(format!("there is no picture at {time} s: the run has ended")),
        }
    }
}

fn png(shooting: &mut Shooting, file: &Path, at: f64) -> Result<String, Failure> {
    let picture = shooting.picture(at)?.ok_or_else(|| shooting.over(at))?;
    write_atomic(file, &picture.to_png()?).map_err(failed)?;
    Ok(file.display().to_string())
}

fn sheet(
    shooting: &mut Shooting,
    file: &Path,
    (cells, legend): (u32, OverlaySet),
    (from, to): (f64, f64),
    recorded_fall: Option<f64>,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<String, Failure> {
    let prepared = shooting.film.prepared();
    let spec = &prepared.spec;
    let title = format!("{}: {} engine, {} Hz", prepared.name, spec.engine.name(), spec.rate_hz);
    let mut sheet = Sheet::new(cells, shooting.studio.size(), &title, legend);
    for cell in 0..cells {
        let time = from + (to - from) * f64::from(cell) / f64::from(cells.max(2) - 1);
        refuse_stop(stop)?;
        match shooting.picture(time)? {
            Some(picture) => sheet.put(cell, &picture),
            None if cell == 0 => return Err(shooting.over(time)),
            None => break,
        }
        progress.at(time);
    }
    let verdict = match (&shooting.film, shooting.film.error()) {
        (_, Some(error)) => format!("stopped by an error: {error}"),
        (Film::Recorded(_), None) => fall_in_words(recorded_fall, shooting.film.duration()),
        (Film::Live(_), None) => fall_in_words(shooting.film.fell_at(), to),
    };
    write_atomic(file, &sheet.finish(&verdict).to_png()?).map_err(failed)?;
    Ok(file.display().to_string())
}

fn fall_in_words(fell_at: Option<f64>, until: f64) -> String {
    match fell_at {
        Some(t) => format!("fell at {t:.2} s"),
        None => format!("{until:.2} s without a fall"),
    }
}

/// When the run in a folder fell, as its summary says.
fn recorded_fall(folder: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(folder.join("summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
    summary.get("fell_at_s")?.as_f64()
}

fn gif(
    shooting: &mut Shooting,
    file: &Path,
    times: impl Iterator<Item = f64>,
    fps: f64,
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<String, Failure> {
    let (to, temporary) = open(file)?;
    let mut writer: Option<GifWriter<Box<dyn Write>>> = None;
    let mut to = Some(to);
    for time in times {
        refuse_stop(stop)?;
        let Some(picture) = shooting.picture(time)? else {
            break;
        };
        if let Some(to) = to.take() {
            writer = Some(GifWriter::new(to, std::slice::from_ref(&picture), fps)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&picture)?;
        }
        progress.at(time);
    }
    let Some(writer) = writer else {
        return Err(shooting.over(0.0));
    };
    let mut to = writer.finish()?;
    to.flush().map_err(|e| not_written(file, e))?;
    drop(to);
    if let Some(temporary) = temporary {
        temporary.persist(file).map_err(|e| not_written(file, e.error))?;
    }
    Ok(file.display().to_string())
}

/// A file beside its place, which is gone if it is not finished; a pipe or device is written to as it is.
fn open(file: &Path) -> Result<(Box<dyn Write>, Option<tempfile::TempPath>), Failure> {
    let special = std::fs::metadata(file).is_ok_and(|m| !m.is_file());
    if special {
        let to = std::fs::OpenOptions::new().write(true).open(file);
        return Ok((Box::new(BufWriter::new(to.map_err(|e| not_written(file, e))?)), None));
    }
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // what any new file gets: the umask is applied to it
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let (to, path) = (builder.tempfile_in(folder).map_err(|e| not_written(file, e))?).into_parts();
    Ok((Box::new(BufWriter::new(to)), Some(path)))
}

fn frames(
    shooting: &mut Shooting,
    folder: &Path,
    times: impl Iterator<Item = f64>,
    (fps, force): (f64, bool),
    progress: &Progress,
    stop: &AtomicBool,
) -> Result<String, Failure> {
    std::fs::create_dir_all(folder).map_err(|e| not_written(folder, e))?;
    let ours = |name: &str| name.starts_with("frame_") && name.ends_with(".png");
    let there: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|e| not_written(folder, e))?
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(ours))
        .map(|entry| entry.path())
        .collect();
    if !there.is_empty() && !force {
        return Err(Failure::input(format!("{} holds frames already", folder.display()))
            .with_hint("--force replaces them; leftovers of a longer sequence would end up in the film"));
    }
    for file in there {
        std::fs::remove_file(&file).map_err(|e| not_written(&file, e))?;
    }
    let mut count = 0;
    for time in times {
        refuse_stop(stop)?;
        let Some(picture) = shooting.picture(time)? else {
            break;
        };
        write_atomic(&folder.join(format!("frame_{count:05}.png")), &picture.to_png()?).map_err(failed)?;
        count += 1;
        progress.at(time);
    }
    // H.264 wants even sides
    note(format!(
        "an MP4 of them: ffmpeg -framerate {fps} -i {}/frame_%05d.png -vf \"crop=trunc(iw/2)*2:trunc(ih/2)*2\" -c:v libx264 \
         -crf 18 -pix_fmt yuv420p -movflags +faststart {}.mp4",
        folder.display(),
        folder.display()
    ));
    Ok(format!("{count} frames in {}", folder.display()))
}

fn refuse_stop(stop: &AtomicBool) -> Result<(), Failure> {
    match stop.load(Ordering::Relaxed) {
        true => Err(failed("interrupted; nothing was written").with_hint("frames of --frames that were done are kept")),
        false => Ok(()),
    }
}
