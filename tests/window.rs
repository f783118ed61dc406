//! The window on a display that nobody sees: Xvfb, with xdotool for mouse and keys. Without the two these tests pass with a
//! message, unless `AMBLER_REQUIRE_TOOLS` is set, as it is in CI.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ambler::experiment::{LoadedSpec, Prepared, RunFolder, RunOptions, run};

/// One window at a time: two of them on two cores are slow.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

struct Display {
    server: Child,
    name: String,
}

impl Drop for Display {
    fn drop(&mut self) {
        // asked kindly it removes its socket
        let asked = Command::new("kill").arg(self.server.id().to_string()).status();
        if !asked.is_ok_and(|s| s.success()) {
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

/// A display of its own; `None` if the tools are not there.
fn display() -> Option<Display> {
    let there = |tool: &str, flag: &str| Command::new(tool).arg(flag).output().is_ok();
    if !(there("Xvfb", "-version") && there("xdotool", "version")) {
        assert!(
            std::env::var_os("AMBLER_REQUIRE_TOOLS").is_none(),
            "Xvfb and xdotool are needed: apt-get install xvfb xdotool mesa-vulkan-drivers"
        );
        eprintln!("skipped: no Xvfb or xdotool (apt-get install xvfb xdotool mesa-vulkan-drivers)");
        return None;
    }
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "640x480x24"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // it says its number when it is ready
    let mut number = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut number)
        .unwrap();
    let name = format!(":{}", number.trim());
    Some(Display { server, name })
}

struct Viewer<'a> {
    display: &'a Display,
    program: Child,
    window: String,
}

impl<'a> Viewer<'a> {
    /// Opens a window on `what` and waits for its first picture.
    fn open(display: &'a Display, folder: &Path, what: &Path, flags: &[&str]) -> Viewer<'a> {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ambler"))
            .arg("view")
            .arg(what)
            .args(["--size", "320x240"])
            .args(flags)
            .current_dir(folder)
            .env("DISPLAY", &display.name)
            .env_remove("WAYLAND_DISPLAY")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(program.stderr.take().unwrap());
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended with {said}");
            said.push_str(&line);
            if line.contains("drawn by") {
                break;
            }
        }
        // nobody reads on, and a full pipe would stop it
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        let mut viewer = Viewer {
            display,
            program,
            window: String::new(),
        };
        viewer.window = viewer
            .tool(&["search", "--name", "^ambler$"])
            .lines()
            .next()
            .unwrap()
            .to_string();
        // without a window manager the focus goes nowhere by itself
        viewer.tool(&["windowfocus", "--sync", &viewer.window.clone()]);
        viewer
    }

    fn tool(&self, arguments: &[&str]) -> String {
        let output = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.display.name)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn key(&self, key: &str) {
        self.tool(&["key", key]);
    }

    /// The mouse, from the window's upper left corner.
    fn mouse(&self, x: u32, y: u32) {
        self.tool(&["mousemove", "--window", &self.window, &x.to_string(), &y.to_string()]);
    }

    /// Waits for the program's end.
    fn end(mut self) -> Output {
        let begin = Instant::now();
        while self.program.try_wait().unwrap().is_none() {
            if begin.elapsed() > Duration::from_secs(120) {
                let _ = self.program.kill();
                panic!("the window did not close");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.program.wait_with_output().unwrap()
    }
}

/// Waits until a file is there.
fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{} does not appear",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Width, height and RGB of a PNG, once it is whole.
fn picture(path: &Path) -> (u32, u32, Vec<u8>) {
    wait_for(path);
    let begin = Instant::now();
    loop {
        let decoder = png::Decoder::new(BufReader::new(std::fs::File::open(path).unwrap()));
        if let Ok(mut reader) = decoder.read_info() {
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            if let Ok(info) = reader.next_frame(&mut pixels) {
                assert_eq!(info.color_type, png::ColorType::Rgb);
                return (info.width, info.height, pixels);
            }
        }
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{} is not a picture",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn experiment(folder: &Path, duration: f64) -> PathBuf {
    let path = folder.join("standing.toml");
    let character = Path::new(ROOT).join("data/characters/humanoid.toml");
    let text = format!(
        "format = 1\nduration_s = {duration}\n[character]\nfile = {:?}\n[controller]\nkind = \"hold\"\n[[terrain]]\nkind = \"ground\"\n",
        character.display().to_string()
    );
    std::fs::write(&path, text).unwrap();
    path
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_window_draws_hears_keys_and_mouse_and_closes() {
    // a push by key, a drag by mouse, an overlay, a saved experiment and pictures; escape ends it with code 0
    let _alone = ONE_AT_A_TIME.lock();
    let Some(display) = display() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = experiment(folder.path(), 600.0);
    let viewer = Viewer::open(&display, folder.path(), &path, &["--no-panel", "--camera", "front"]);
    viewer.key("F12");
    let (width, height, before) = picture(&folder.path().join("standing_picture_1.png"));
    assert_eq!((width, height), (320, 240));
    // left is blue and right is orange: both legs are there, and the picture is not black
    let count = |pixels: &[u8], is: &dyn Fn(i32, i32, i32) -> bool| {
        pixels
            .chunks_exact(3)
            .filter(|p| is(p[0].into(), p[1].into(), p[2].into()))
            .count()
    };
    assert!(count(&before, &|r, _, b| b > r + 50) > 100, "the left side is missing");
    assert!(count(&before, &|r, _, b| r > b + 50) > 100, "the right side is missing");
    assert_eq!(count(&before, &|r, g, b| r + g + b < 15), 0, "black");

    viewer.key("m");
    viewer.key("b");
    viewer.key("F12");
    let (_, _, overlays) = picture(&folder.path().join("standing_picture_2.png"));
    let changed = before
        .chunks_exact(3)
        .zip(overlays.chunks_exact(3))
        .filter(|(a, b)| a != b)
        .count();
    assert!(changed > 300, "{changed} pixels tell of the overlays");

    // the middle of the picture is the trunk
    viewer.mouse(160, 110);
    viewer.tool(&["mousedown", "1"]);
    for x in [170, 190, 210] {
        std::thread::sleep(Duration::from_millis(400));
        viewer.mouse(x, 105);
    }
    std::thread::sleep(Duration::from_millis(600));
    viewer.tool(&["mouseup", "1"]);
    std::thread::sleep(Duration::from_millis(600));
    viewer.key("Left");
    std::thread::sleep(Duration::from_millis(600));
    viewer.key("s");
    let saved = folder.path().join("standing_hands_1.toml");
    wait_for(&saved);
    viewer.key("Escape");
    let output = viewer.end();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("2 pushes and drags"), "{}", text(&output));
    assert!(text(&output).contains("standing_hands_1.toml"), "{}", text(&output));

    // what was done is an experiment: a curve that pulls to the character's left, and a push
    let loaded = LoadedSpec::read(&saved, &[]).unwrap();
    let [drag, push] = &loaded.spec.disturbances[..] else {
        panic!("{:?}", loaded.spec.disturbances)
    };
    assert!(push.force_n.is_some_and(|f| f > 100.0), "{push:?}");
    assert!(drag.time_s < push.time_s, "{} then {}", drag.time_s, push.time_s);
    let forces = drag.forces_n.as_ref().unwrap();
    let mean = forces.iter().map(|f| f[0]).sum::<f64>() / forces.len() as f64;
    assert!(
        mean > 1.0,
        "mean force to the left {mean} N of {} entries",
        forces.len()
    );
    Prepared::new(&loaded).unwrap();
}

#[test]
fn the_display_does_not_change_the_physics() {
    // slow, fast or headless: the same hash; and the recording plays to its end
    let _alone = ONE_AT_A_TIME.lock();
    let Some(display) = display() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = experiment(folder.path(), 1.5);
    let prepared = Prepared::new(&LoadedSpec::read(&path, &[]).unwrap()).unwrap();
    let expected = run(&prepared, &RunOptions::default(), &mut ()).summary.state_hash;
    for speed in ["0.5", "1", "4"] {
        let viewer = Viewer::open(&display, folder.path(), &path, &["--speed", speed, "--quit-at-end"]);
        let output = viewer.end();
        assert!(output.status.success(), "{output:?}");
        assert!(
            text(&output).contains(&format!("state hash {expected}")),
            "{} at {speed}",
            text(&output)
        );
    }
    let mut run_folder = RunFolder::at(&folder.path().join("r"), false).unwrap();
    run_folder.begin(&prepared).unwrap();
    let options = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    run_folder.run(&prepared, &options, &mut ()).1.unwrap();
    let viewer = Viewer::open(
        &display,
        folder.path(),
        &folder.path().join("r"),
        &["--speed", "4", "--quit-at-end"],
    );
    let output = viewer.end();
    assert!(
        output.status.success() && text(&output).contains("closed at 1.500 s"),
        "{output:?}"
    );
}

#[test]
fn what_cannot_be_shown_is_explained() {
    // no display, a display that is not there, no driver, no such file: exit codes, and errors that say what to do
    let view = |what: &str, environment: &[(&str, &str)], flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ambler"));
        command
            .args(["view", what])
            .args(flags)
            .current_dir(ROOT)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY");
        let output = command.envs(environment.iter().copied()).output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let stand = "examples/stand.toml";
    let no_driver = [
        ("VK_ICD_FILENAMES", "/none"),
        ("VK_DRIVER_FILES", "/none"),
        ("DISPLAY", ":9999"),
    ];
    let (code, error) = view(stand, &no_driver, &[]);
    assert!(code == Some(1) && error.contains("mesa-vulkan-drivers"), "{error}");
    let (code, error) = view("nothing.toml", &[], &[]);
    assert!(code == Some(2) && error.contains("nothing.toml"), "{error}");
    let (code, error) = view("src", &[], &[]);
    assert!(code == Some(2) && error.contains("neither a run folder"), "{error}");
    let (code, error) = view(stand, &[], &["--size", "0x7"]);
    assert!(code == Some(2) && error.contains("WIDTHxHEIGHT"), "{error}");
    let (code, error) = view(stand, &[], &["--speed", "NaN"]);
    assert!(code == Some(2) && error.contains("0.05 to 16"), "{error}");
    let (code, error) = view(stand, &[], &[]);
    if !error.contains("mesa-vulkan-drivers") {
        assert!(
            code == Some(1) && error.contains("no display") && error.contains("render"),
            "{error}"
        );
        let (code, error) = view(stand, &[("DISPLAY", ":9999")], &[]);
        assert!(code == Some(1) && error.contains("cannot be opened"), "{error}");
    }
}
