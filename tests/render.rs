//! Pictures without a display, drawn on the processor where there is no graphics card.

use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ambler::experiment::{Frame, LoadedSpec, Prepared, RunFolder, RunOptions, Simulation};
use ambler::view::{
    Camera, CameraOptions, OVERLAYS, OverlayKind, OverlaySet, Overlays, Picture, Sheet, Stage, Studio, View,
};
use glam::{DVec3, Vec3};

const SIZE: (u32, u32) = (240, 180);

/// One film at a time: two cores are few.
static ALONE: Mutex<()> = Mutex::new(());

type Job = Box<dyn FnOnce() + Send>;

/// Draws in the one thread of all tests, which never ends: what kiss3d keeps belongs to a thread and cannot be taken down
/// at its end.
fn draw(job: impl FnOnce() + Send + 'static) {
    static PAINTER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    let painter = PAINTER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        std::thread::spawn(move || jobs.into_iter().for_each(|job| job()));
        Mutex::new(sender)
    });
    let (done, result) = channel();
    let job = Box::new(move || {
        let _ = done.send(catch_unwind(AssertUnwindSafe(job)));
    });
    painter
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(job)
        .unwrap();
    if let Err(panic) = result.recv().unwrap() {
        resume_unwind(panic);
    }
}

const INSTALL: &str = "pictures need a driver: apt-get install mesa-vulkan-drivers libegl1 libgl1-mesa-dri";

fn prepare(text: &str) -> Prepared {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters");
    Prepared::new(&LoadedSpec::parse(&format!("format = 1\n{text}"), "test", folder, &[]).unwrap()).unwrap()
}

/// Pushed while it holds its pose.
const PUSHED: &str = "duration_s = 3\n[character]\nfile = \"humanoid.toml\"\n[controller]\nkind = \"hold\"\n[[terrain]]\nkind = \"ground\"\n\
                      [[disturbances]]\ntime_s = 0.5\nduration_s = 0.2\nforce_n = 400\ndirection = \"left\"\nbody = \"thorax\"\n";

fn frame_at(prepared: &Prepared, time: f64) -> Frame {
    let mut simulation = Simulation::new(prepared);
    simulation.control();
    while simulation.engine.time() < time - 1e-9 {
        simulation.step().unwrap();
        simulation.control();
    }
    Frame::of(&simulation)
}

/// What it takes to draw one moment.
struct Scene {
    studio: Studio,
    stage: Stage,
    overlays: Overlays,
    camera: Camera,
}

impl Scene {
    fn new(prepared: &Prepared, first: &Frame, view: View) -> Scene {
        let studio = Studio::open(SIZE.0, SIZE.1).unwrap_or_else(|e| panic!("{e}\n{INSTALL}"));
        let options = CameraOptions {
            view: Some(view),
            ..CameraOptions::default()
        };
        Scene {
            studio,
            stage: Stage::new(prepared),
            overlays: Overlays::new(prepared, OverlaySet::NONE),
            camera: Camera::new(prepared, first, SIZE, options),
        }
    }

    fn draw(&mut self, frame: &Frame, on: OverlaySet) -> Picture {
        self.overlays.on = on;
        self.studio
            .draw(&mut self.stage, &self.overlays, &mut self.camera, frame)
            .unwrap()
    }
}

fn differing(a: &Picture, b: &Picture) -> usize {
    a.rgb
        .chunks_exact(3)
        .zip(b.rgb.chunks_exact(3))
        .filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 8))
        .count()
}

/// Whether a pixel near a point of the world is of a colour.
fn is_near(scene: &Scene, picture: &Picture, point: DVec3, is: &dyn Fn([i32; 3]) -> bool) -> bool {
    let [x, y] = scene.camera.project(point, SIZE).unwrap();
    let near = |dx: i32, dy: i32| {
        let (x, y) = (x as i32 + dx, y as i32 + dy);
        let inside = (0..SIZE.0 as i32).contains(&x) && (0..SIZE.1 as i32).contains(&y);
        inside && is(picture.pixel(x as u32, y as u32).map(i32::from))
    };
    (-2..=2).any(|dx| (-2..=2).any(|dy| near(dx, dy)))
}

fn blue([r, _, b]: [i32; 3]) -> bool {
    b > r + 50
}

fn orange([r, _, b]: [i32; 3]) -> bool {
    r > b + 50
}

#[test]
fn bodies_are_where_the_camera_projects_them() {
    // left shin blue, right shin orange, from every side; no pixel is black and the ground is not the sky
    draw(bodies_are_where_the_camera_projects_them_in_the_studio);
}

fn bodies_are_where_the_camera_projects_them_in_the_studio() {
    let prepared = prepare(PUSHED);
    let frame = frame_at(&prepared, 0.1);
    let character = &prepared.actors[0].character;
    for view in [View::Follow, View::Front] {
        let mut scene = Scene::new(&prepared, &frame, view);
        let picture = scene.draw(&frame, OverlaySet::NONE);
        for (name, is) in [("left_shin", blue as fn([i32; 3]) -> bool), ("right_shin", orange)] {
            let body = character.body(name).unwrap();
            let middle = frame.characters[0].bodies[body].place(character.bodies[body].center_of_mass);
            assert!(is_near(&scene, &picture, middle, &is), "{name} in {view:?}");
            // a metre further out there is none
            let out = DVec3::X * if name == "left_shin" { 1.0 } else { -1.0 };
            assert!(!is_near(&scene, &picture, middle + out, &is), "{name} in {view:?}");
        }
        assert!(
            picture
                .rgb
                .chunks_exact(3)
                .all(|p| p.iter().map(|c| u32::from(*c)).sum::<u32>() > 15),
            "black"
        );
        assert_ne!(picture.pixel(2, 2), picture.pixel(2, SIZE.1 - 3));
    }
}

#[test]
fn the_ghost_stands_where_the_reference_is() {
    // a pushed character leaves its reference: there the ghost is with the overlay and nothing without
    draw(the_ghost_stands_where_the_reference_is_in_the_studio);
}

fn the_ghost_stands_where_the_reference_is_in_the_studio() {
    let prepared = prepare(PUSHED);
    let frame = frame_at(&prepared, 2.5);
    let character = &prepared.actors[0].character;
    let thorax = character.body("thorax").unwrap();
    let (reference, body) = (
        frame.characters[0].reference[thorax],
        frame.characters[0].bodies[thorax],
    );
    assert!(reference.position.distance(body.position) > 0.5, "it has not fallen");
    let mut scene = Scene::new(&prepared, &frame_at(&prepared, 0.0), View::Front);
    let without = scene.draw(&frame, OverlaySet::NONE);
    let with = scene.draw(&frame, OverlaySet::NONE.with(OverlayKind::Ghost));
    let [x, y] = scene
        .camera
        .project(reference.place(character.bodies[thorax].center_of_mass), SIZE)
        .unwrap();
    assert_ne!(with.pixel(x as u32, y as u32), without.pixel(x as u32, y as u32));
    // the ghost is green over what is behind it
    let [r, g, _] = with.pixel(x as u32, y as u32).map(i32::from);
    assert!(g > r + 5, "{r} {g}");
    assert!(differing(&with, &without) > 500);
    // nowhere else: every pixel it changes is near the middle of a body of the reference
    let reference = &frame.characters[0].reference;
    let places: Vec<_> = (reference.iter().zip(&character.bodies))
        .map(|(pose, body)| scene.camera.project(pose.place(body.center_of_mass), SIZE).unwrap())
        .collect();
    for (i, (a, b)) in with.rgb.chunks_exact(3).zip(without.rgb.chunks_exact(3)).enumerate() {
        let changed = a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 8);
        let (x, y) = ((i % SIZE.0 as usize) as f64, (i / SIZE.0 as usize) as f64);
        // half a thigh is 0.25 m, and 100 pixels are 1 m
        let near = || {
            places
                .iter()
                .any(|p| (p[0] - x).abs() < 18.0 && (p[1] - y).abs() < 30.0)
        };
        assert!(!changed || near(), "the ghost is at {x}, {y}, far from the reference");
    }
    // shifted it is there no more, and what is off cannot be shifted
    scene.stage.ghost_offset = Vec3::new(0.8, 0.0, 0.0);
    let aside = scene.draw(&frame, OverlaySet::NONE.with(OverlayKind::Ghost));
    assert_ne!(aside.pixel(x as u32, y as u32), with.pixel(x as u32, y as u32));
    assert!(scene.draw(&frame, OverlaySet::NONE) == without);
}

#[test]
fn every_overlay_appears_and_disappears() {
    // each changes the picture when on, and off it is the same as before
    draw(every_overlay_appears_and_disappears_in_the_studio);
}

fn every_overlay_appears_and_disappears_in_the_studio() {
    let walk = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/walk.toml");
    let push = "disturbances=[{time_s=0.5, duration_s=0.5, force_n=200, direction=\"left\"}]";
    let prepared = Prepared::read(&walk, &[push.into()]).unwrap();
    let first = frame_at(&prepared, 0.0);
    let mut scene = Scene::new(&prepared, &first, View::Follow);
    for i in 0..=60 {
        scene.overlays.remember(&frame_at(&prepared, f64::from(i) / 60.0));
    }
    // while the push lasts, the moment that stands on most ground: there is something to show of everything
    let width = |frame: &Frame| {
        let support = &frame.characters[0].support_polygon;
        let reach = |a: &DVec3| support.iter().map(|b| a.distance(*b)).fold(0.0, f64::max);
        support.iter().map(reach).fold(0.0, f64::max)
    };
    let moments = (35..=55).map(|i| frame_at(&prepared, f64::from(i) / 60.0));
    let frame = moments.max_by(|a, b| width(a).total_cmp(&width(b))).unwrap();
    scene.camera.follow(&frame);
    let bare = scene.draw(&frame, OverlaySet::NONE);
    for overlay in &OVERLAYS {
        let on = scene.draw(&frame, OverlaySet::NONE.with(overlay.kind));
        assert!(
            differing(&on, &bare) > 10,
            "{}: {} pixels",
            overlay.name,
            differing(&on, &bare)
        );
    }
    let again = scene.draw(&frame, OverlaySet::NONE);
    assert_eq!(differing(&again, &bare), 0, "something stays");
}

#[test]
fn between_two_moments_the_picture_is_another() {
    // half-way the character is neither here nor there
    draw(between_two_moments_the_picture_is_another_in_the_studio);
}

fn between_two_moments_the_picture_is_another_in_the_studio() {
    let prepared = prepare(PUSHED);
    let (a, b) = (frame_at(&prepared, 0.7), frame_at(&prepared, 1.3));
    let mut scene = Scene::new(&prepared, &a, View::Front);
    let middle = a.between(&b, 1.0);
    let pictures = [a, middle, b].map(|f| scene.draw(&f, OverlaySet::NONE));
    assert!(differing(&pictures[0], &pictures[1]) > 50 && differing(&pictures[1], &pictures[2]) > 50);
}

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pushed.toml");
        let character = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/humanoid.toml");
        let text = format!("format = 1\n{PUSHED}")
            .replace("\"humanoid.toml\"", &format!("{:?}", character.display().to_string()));
        std::fs::write(file, text).unwrap();
        Folder { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ambler"));
        command
            .arg("render")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path());
        command
    }

    fn render(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn good(&self, arguments: &str) -> String {
        let output = self.render(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments}: {error}\n{INSTALL}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn png(path: &Path) -> Picture {
    let mut reader = png::Decoder::new(BufReader::new(std::fs::File::open(path).unwrap()))
        .read_info()
        .unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    // sheets may have a palette
    assert_eq!(info.color_type, png::ColorType::Rgb);
    Picture {
        width: info.width,
        height: info.height,
        rgb,
    }
}

#[test]
fn a_run_is_drawn_as_its_experiment() {
    // played back and simulated, the same moment gives the same picture, and both spellings of --png do
    let folder = Folder::new();
    let prepared = Prepared::read(&folder.path("pushed.toml"), &[]).unwrap();
    let mut run = RunFolder::at(&folder.path("run"), false).unwrap();
    run.begin(&prepared).unwrap();
    let keep = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    run.run(&prepared, &keep, &mut ()).1.unwrap();
    let overlays = "--overlay ghost,contacts,reaction,com,cop,support,pushes,grid --size 160x120 -q";
    folder.good(&format!("pushed.toml --png at=0.6 --out live.png {overlays}"));
    folder.good(&format!("run --png played.png --at 0.6 {overlays}"));
    let (live, played) = (png(&folder.path("live.png")), png(&folder.path("played.png")));
    assert_eq!((live.width, live.height), (160, 120));
    assert!(differing(&live, &played) < 20, "{} pixels", differing(&live, &played));
    let error = String::from_utf8(folder.render("run --png x.png --set seed=3").stderr).unwrap();
    assert!(error.contains("--set"), "{error}");
}

fn cut(picture: &Picture, (x, y): (u32, u32), (width, height): (u32, u32)) -> Picture {
    let pixels = (y..y + height).flat_map(|v| (x..x + width).map(move |u| (u, v)));
    Picture {
        width,
        height,
        rgb: pixels.flat_map(|(u, v)| picture.pixel(u, v)).collect(),
    }
}

#[test]
fn a_gif_has_the_colours_of_what_appears_later() {
    // a push that begins after the first frame is red, although nothing red is in the first frame
    let red = |p: &&[u8]| p[3] > 0 && p[0] > 180 && p[1] < 60 && p[2] < 70;
    let folder = Folder::new();
    folder.good("pushed.toml --gif --out w.gif --size 160x120 --fps 10 --to 0.6 --camera front -q");
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options
        .read_info(std::fs::File::open(folder.path("w.gif")).unwrap())
        .unwrap();
    let mut reds = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        reds.push(frame.buffer.chunks_exact(4).filter(red).count());
    }
    assert!(reds[0] == 0 && reds[6] >= 8, "{reds:?}");
}

#[test]
fn a_sheet_has_its_cells_and_a_gif_its_frames() {
    // cells differ; the GIF has the size, number of pictures and length that were asked for, and goes round
    let folder = Folder::new();
    folder.good("pushed.toml --sheet 6 --size 100x80 --out sheet.png -q");
    let sheet = png(&folder.path("sheet.png"));
    let cell = (100, 80);
    let (width, height) = Sheet::size(6, cell, OverlaySet::NONE);
    assert_eq!((u64::from(sheet.width), u64::from(sheet.height)), (width, height));
    let layout = Sheet::new(6, cell, "", OverlaySet::NONE);
    let cells: Vec<_> = (0..6).map(|i| cut(&sheet, layout.corner(i), cell)).collect();
    for (i, a) in cells.iter().enumerate() {
        for (j, b) in cells[..i].iter().enumerate() {
            assert!(differing(a, b) > 10, "cells {i} and {j} are the same");
        }
    }
    folder.good("pushed.toml --gif --size 96x72 --fps 12 --from 0.5 --to 2.5 --speed 2 --out a.gif -q");
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options
        .read_info(std::fs::File::open(folder.path("a.gif")).unwrap())
        .unwrap();
    assert_eq!((decoder.width(), decoder.height()), (96, 72));
    assert_eq!(decoder.repeat(), gif::Repeat::Infinite);
    let (mut count, mut delay) = (0, 0);
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        count += 1;
        delay += u32::from(frame.delay);
    }
    // 2 s at twice the speed, both ends shown
    assert_eq!(count, 13);
    assert!((delay as i32 - 108).abs() <= 1, "{delay} hundredths");
    let output = folder.render("pushed.toml --frames film --size 64x48 --fps 10 --to 0.3");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("ffmpeg") && said.contains("yuv420p"), "{said}");
    for i in 0..4 {
        assert!(folder.path(&format!("film/frame_{i:05}.png")).is_file(), "{i}");
    }
    let again = folder.render("pushed.toml --frames film --size 64x48 --fps 10 --to 0.3 -q");
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
    // of the longer sequence nothing is left
    folder.good("pushed.toml --frames film --size 64x48 --fps 10 --to 0.1 -q --force");
    assert_eq!(std::fs::read_dir(folder.path("film")).unwrap().count(), 2);
}

#[test]
fn software_vulkan_draws_too() {
    // the driver that mesa-vulkan-drivers brings shows the character
    let folder = Folder::new();
    let output = folder
        .command("pushed.toml --png at=0.2 --size 120x160 --out v.png --camera front -q")
        .env("WGPU_BACKEND", "vulkan")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{INSTALL}",
        String::from_utf8_lossy(&output.stderr)
    );
    let picture = png(&folder.path("v.png"));
    let count = |is: fn([i32; 3]) -> bool| {
        picture
            .rgb
            .chunks_exact(3)
            .filter(|p| is([p[0], p[1], p[2]].map(i32::from)))
            .count()
    };
    assert!(
        count(blue) > 50 && count(orange) > 50,
        "{} {}",
        count(blue),
        count(orange)
    );
}

#[test]
fn without_a_driver_the_error_names_the_package() {
    // nothing is written and the exit code is 1
    let folder = Folder::new();
    let mut command = folder.command("pushed.toml --png at=0.2 --out x.png -q");
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
        command.env(variable, "/none");
    }
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("mesa-vulkan-drivers"), "{error}");
    assert_eq!(folder.files(), ["pushed.toml"]);
}

#[test]
fn bad_flags_say_what_was_expected() {
    // exit code 2, the flag is named, no file appears
    let folder = Folder::new();
    for (arguments, named) in [
        ("pushed.toml --png at=99 --out x.png", "at"),
        ("pushed.toml --png at=NaN --out x.png", "at"),
        ("pushed.toml --png x.png --size 0x0", "size"),
        ("pushed.toml --png x.png --size 100000x100000", "size"),
        ("pushed.toml --gif --out x.gif --fps 0", "fps"),
        ("pushed.toml --gif --out x.gif --fps NaN", "fps"),
        ("pushed.toml --gif --out x.gif --from 2 --to 1", "from"),
        ("pushed.toml --gif --out x.gif --speed -1", "speed"),
        ("pushed.toml --sheet 0 --out x.png", "sheet"),
        ("pushed.toml --png x.png --overlay goast", "ghost"),
        ("pushed.toml --png x.png --camera above", "camera"),
        ("nothing.toml --png x.png", "nothing.toml"),
        (". --png x.png", "run folder"),
        ("pushed.toml", "--png"),
    ] {
        let output = folder.render(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(named), "{arguments}: {error}");
    }
    assert_eq!(folder.files(), ["pushed.toml"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_film_takes_no_more_memory_than_a_short_one() {
    // peak memory of 3 s and of 24 s differs by less than a tenth
    let _alone = ALONE.lock();
    let folder = Folder::new();
    let peak = |duration: u32| {
        let arguments = format!("pushed.toml --set duration_s={duration} --gif --size 64x48 --fps 20 --out m.gif -q");
        let mut child = folder
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0u64;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find(|l| l.starts_with("VmHWM"));
            let kilobytes = line
                .and_then(|l| l.split_whitespace().nth(1))
                .and_then(|n| n.parse().ok());
            peak = peak.max(kilobytes.unwrap_or(0));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
        peak
    };
    let (short, long) = (peak(3), peak(24));
    assert!(
        short > 0 && (long as f64) < 1.1 * short as f64,
        "{short} kB, then {long} kB"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_film_leaves_nothing() {
    // after SIGINT there is neither a half picture nor a temporary file
    let folder = Folder::new();
    let arguments = "pushed.toml --set duration_s=600 --gif --size 64x48 --fps 20 --out long.gif -q";
    let mut child = folder
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while folder.files().len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not begin to write");
        assert!(child.try_wait().unwrap().is_none(), "{INSTALL}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(asked.success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(folder.files(), ["pushed.toml"]);
}
