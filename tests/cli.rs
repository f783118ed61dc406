//! The command line as scripts use it: exit codes, files, errors.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ambler::character::Character;
use ambler::clip::{Clip, ClipFile};
use ambler::motion::bvh;
use glam::{DQuat, DVec3};
use serde_json::Value;

fn humanoid() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/humanoid.toml")
}

/// A folder with a standing experiment in it.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::copy(humanoid(), bench.path("humanoid.toml")).unwrap();
        bench.write("stand.toml", STAND);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn ambler(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ambler"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    fn summary(&self, run: &str) -> Value {
        let text = std::fs::read_to_string(self.path(run).join("summary.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Writes a motion of the humanoid's own skeleton that swings the arms for a second.
    fn write_motion(&self, name: &str) {
        let skeleton = Character::load(&humanoid()).unwrap().skeleton();
        let arms = [
            skeleton.joint("left_upper_arm").unwrap(),
            skeleton.joint("right_upper_arm").unwrap(),
        ];
        let frames = (0..31)
            .map(|f| {
                let mut pose = skeleton.bind_pose();
                let swing = 0.3 * (f as f64 / 30.0 * std::f64::consts::TAU).sin();
                pose.rotations[arms[0]] = DQuat::from_rotation_z(-1.2) * DQuat::from_rotation_y(swing);
                pose.rotations[arms[1]] = DQuat::from_rotation_z(1.2) * DQuat::from_rotation_y(swing);
                pose.translations[0] += DVec3::new(0.3, 0.02, -0.7);
                pose
            })
            .collect();
        let clip = Clip::from_frames("swing", skeleton, 1.0 / 30.0, frames, false).unwrap();
        std::fs::write(self.path(name), bvh::to_string(&clip).unwrap()).unwrap();
    }
}

const STAND: &str = r#"format = 1
duration_s = 0.5
rate_hz = 120

[character]
file = "humanoid.toml"

[controller]
kind = "hold"

[[terrain]]
kind = "ground"
"#;

const TRACK: &str = r#"format = 1
duration_s = 0.5
rate_hz = 120

[character]
file = "humanoid.toml"

[motion]
file = "swing.bvh"

[controller]
kind = "track"

[[terrain]]
kind = "ground"
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit code and standard error of a run that must not have panicked.
fn code(output: &Output) -> (i32, String) {
    let stderr = text(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code().unwrap(), stderr)
}

#[test]
fn a_run_leaves_a_complete_folder_from_which_it_repeats_to_the_bit() {
    // every file of the folder is there, every number in it is finite, and running its experiment gives the same hash
    let b = Bench::new();
    b.write_motion("swing.bvh");
    b.write("track.toml", TRACK);
    let output = b.ambler(&["run", "track.toml", "--json"]);
    let (status, stderr) = code(&output);
    assert_eq!(status, 0, "{stderr}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON alone");
    let run = "runs/track-1";
    assert_eq!(printed, b.summary(run));
    for key in [
        "engine",
        "duration_s",
        "steps",
        "fell_at_s",
        "tracking_error_mean_deg",
        "tracking_error_worst_joint",
        "root_error_mean_m",
        "foot_slip_m",
        "max_penetration_m",
        "assist_impulse_ns",
        "real_time_factor",
        "state_hash",
    ] {
        assert!(printed.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(printed["steps"], 60);
    assert_eq!(printed["completed"], true);
    assert_eq!(printed["fell_at_s"], Value::Null);
    for file in [
        "experiment.toml",
        "metrics.csv",
        "motion.clip",
        "motion.bvh",
        "run.log",
        "inputs/humanoid.toml",
        "inputs/swing.bvh",
    ] {
        assert!(b.path(run).join(file).is_file(), "{file} is missing");
    }
    // the originals are not needed again
    std::fs::remove_file(b.path("swing.bvh")).unwrap();
    std::fs::remove_file(b.path("humanoid.toml")).unwrap();
    let again = b.ambler(&["run", "runs/track-1/experiment.toml", "--out", "again"]);
    assert_eq!(code(&again).0, 0, "{}", text(&again.stderr));
    assert_eq!(b.summary("again")["state_hash"], printed["state_hash"]);
    assert_eq!(
        std::fs::read(b.path("again/metrics.csv")).unwrap(),
        std::fs::read(b.path("runs/track-1/metrics.csv")).unwrap()
    );
    let third = b.ambler(&["run", "runs/track-1/experiment.toml", "--quiet"]);
    assert_eq!(code(&third).0, 0);
    assert!(b.path("runs/track-2").is_dir(), "the first run is not overwritten");
}

#[test]
fn the_table_is_finite_and_the_bvh_shows_the_recorded_bodies() {
    // every cell of metrics.csv is a finite number; re-imported joints are within 1e-6 m of the recorded body positions
    let b = Bench::new();
    let output = b.ambler(&["run", "stand.toml", "--out", "r", "--set", "recording.motion_hz=30"]);
    assert_eq!(code(&output).0, 0, "{}", text(&output.stderr));
    let mut table = csv::Reader::from_path(b.path("r/metrics.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let mut rows = 0;
    for row in table.records() {
        let row = row.unwrap();
        rows += 1;
        for (name, cell) in header.iter().zip(&row) {
            assert!(cell.parse::<f64>().is_ok_and(f64::is_finite), "{name} is {cell}");
        }
    }
    assert_eq!(rows, 31, "60 Hz for half a second, both ends included");
    for column in [
        "time_s",
        "error_left_shin_deg",
        "torque_left_thigh_y_nm",
        "root_error_m",
        "assist_force_x_n",
    ] {
        assert!(header.iter().any(|h| h == column), "{column} is missing");
    }

    let file = ClipFile::read(&b.path("r/motion.clip")).unwrap();
    let positions = file.vector("body_position").unwrap();
    let imported = bvh::import(&b.path("r/motion.bvh"), &Default::default()).unwrap().clip;
    assert_eq!(imported.frames.len(), 16);
    assert_eq!(file.frames.len(), 16);
    let mut model = Default::default();
    for (f, frame) in imported.frames.iter().enumerate() {
        imported.skeleton.model_pose(frame, &mut model);
        let recorded = positions.sample(f).unwrap();
        for (body, joint) in file.skeleton.joints.iter().enumerate() {
            let there = imported.skeleton.joint(&joint.name).unwrap();
            let x = DVec3::from_slice(&recorded[3 * body..]);
            assert!(
                (model.positions[there] - x).length() < 1e-6,
                "frame {f}, {}",
                joint.name
            );
        }
    }
}

#[test]
fn exit_codes_tell_done_from_failed_from_bad_input() {
    // 0 done, 1 fell or diverged, 2 bad input; a fall that the experiment allows is done
    let b = Bench::new();
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "stand.toml", "--out", "r", "--force", "--quiet"];
        arguments.extend(more);
        code(&b.ambler(&arguments))
    };
    assert_eq!(run(&[]).0, 0);
    let limp = [
        "--set",
        "controller.kp_scale=0",
        "--set",
        "controller.kd_scale=0",
        "--set",
        "duration_s=3",
    ];
    assert_eq!(run(&limp).0, 1);
    let fell = b.summary("r")["fell_at_s"].as_f64().unwrap();
    assert!(
        (0.2..2.0).contains(&fell),
        "a limp body falls in about a second, not at {fell} s"
    );
    assert_eq!(run(&[&limp[..], &["--set", "fall.fails=false"]].concat()).0, 0);
    assert_eq!(run(&[&limp[..], &["--set", "fall.rule=none"]].concat()).0, 0);
    // without torque limits the explicit law diverges
    let benchmark = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/benchmark.toml");
    let (status, stderr) = run(&[
        "--set",
        "controller.mode=explicit",
        "--character",
        benchmark.to_str().unwrap(),
    ]);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("diverged") && stderr.contains("hint:"), "{stderr}");
    let summary = b.summary("r");
    assert_eq!(
        (&summary["completed"], &summary["stopped_by"]),
        (&Value::Bool(false), &Value::from("error"))
    );
    assert!(
        ClipFile::read(&b.path("r/motion.clip")).is_ok(),
        "what was recorded until then is readable"
    );
    assert_eq!(code(&b.ambler(&["run", "nowhere.toml"])).0, 2);
    assert_eq!(code(&b.ambler(&["run"])).0, 2);
    assert_eq!(code(&b.ambler(&["--help"])).0, 0);
}

#[test]
fn bad_input_is_answered_with_the_place_and_a_hint() {
    // every message names the file, line and key or the joint, what was found, and the nearest known name
    let b = Bench::new();
    b.write_motion("swing.bvh");
    b.write("track.toml", TRACK);
    let whole = std::fs::read_to_string(b.path("swing.bvh")).unwrap();
    let expect = |arguments: &[&str], parts: &[&str]| {
        let (status, stderr) = code(&b.ambler(arguments));
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{arguments:?}: `{part}` is not in {stderr}");
        }
    };
    b.write("typo.toml", &STAND.replace("rate_hz", "rat_hz"));
    expect(
        &["run", "typo.toml"],
        &["error: typo.toml:3", "rat_hz", "did you mean `rate_hz`", "hint:"],
    );
    b.write(
        "nan.toml",
        &STAND.replace("kind = \"hold\"", "kind = \"hold\"\nkp_scale = nan"),
    );
    expect(&["run", "nan.toml"], &["nan.toml:10", "controller.kp_scale", "NaN"]);
    let pose = STAND.replace("kind = \"hold\"", "kind = \"hold\"\npose_deg = { left_shin = inf }");
    b.write("pose.toml", &pose);
    expect(
        &["run", "pose.toml"],
        &["pose_deg.left_shin", "inf", "hint: docs/experiment_format.md"],
    );
    let gain = "\n[controller.gains]\nleft_shinn = { kp = 5 }\n\n[[terrain]]";
    b.write("gain.toml", &STAND.replace("\n[[terrain]]", gain));
    expect(&["run", "gain.toml"], &["left_shinn", "did you mean `left_shin`"]);
    expect(
        &["run", "stand.toml", "--set", "controler.kp_scale=2"],
        &["controler", "did you mean `controller`"],
    );
    expect(
        &["run", "stand.toml", "--set", "terrain.3.friction=2"],
        &["terrain.3.friction", "the array has 1"],
    );

    b.write("swing.bvh", &whole[..whole.len() * 2 / 3]);
    expect(&["run", "track.toml"], &["swing.bvh:"]);
    expect(&["check", "swing.bvh"], &["swing.bvh:"]);
    b.write("swing.bvh", &whole.replace("left_shin", "left_calf"));
    expect(
        &["run", "track.toml"],
        &["left_shin", "left_calf", "[controller.joints]"],
    );
    let head = whole.split("MOTION").next().unwrap();
    b.write("swing.bvh", &format!("{head}MOTION\nFrames: 0\nFrame Time: 0.03\n"));
    expect(&["run", "track.toml"], &["frame"]);
    let broken = std::fs::read_to_string(b.path("humanoid.toml"))
        .unwrap()
        .replace("mass = 7.819", "mass = nan");
    b.write("humanoid.toml", &broken);
    expect(
        &["run", "stand.toml"],
        &["humanoid.toml:", "mass", "hint: data/characters/README.md"],
    );
}

#[test]
fn a_run_folder_is_never_overwritten_by_accident() {
    // a folder with anything in it is refused; --force replaces an earlier run and nothing else
    let b = Bench::new();
    assert_eq!(code(&b.ambler(&["run", "stand.toml", "--out", "r"])).0, 0);
    let (status, stderr) = code(&b.ambler(&["run", "stand.toml", "--out", "r"]));
    assert!(status == 2 && stderr.contains("--force"), "{stderr}");
    assert_eq!(code(&b.ambler(&["run", "stand.toml", "--out", "r", "--force"])).0, 0);
    std::fs::create_dir(b.path("precious")).unwrap();
    b.write("precious/thesis.tex", "x");
    let (status, stderr) = code(&b.ambler(&["run", "stand.toml", "--out", "precious", "--force"]));
    assert!(status == 2 && stderr.contains("not a run folder"), "{stderr}");
    assert!(b.path("precious/thesis.tex").is_file());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_readable_results() {
    // after SIGINT: exit code 1, completed false, stopped_by interrupt, whole files of the time until then
    let b = Bench::new();
    let child = Command::new(env!("CARGO_BIN_EXE_ambler"))
        .args(["run", "stand.toml", "--out", "r", "--set", "duration_s=5000", "--quiet"])
        .current_dir(b.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !b.path("r/run.log").is_file() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output).0, 1, "{}", text(&output.stderr));
    let summary = b.summary("r");
    assert_eq!(summary["completed"], false);
    assert_eq!(summary["stopped_by"], "interrupt");
    let rows = csv::Reader::from_path(b.path("r/metrics.csv"))
        .unwrap()
        .records()
        .count();
    assert!(rows > 1);
    let file = ClipFile::read(&b.path("r/motion.clip")).unwrap();
    assert!(file.frames.len() > 1);
    assert!(bvh::import(&b.path("r/motion.bvh"), &Default::default()).is_ok());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    // with standard output closed the run ends as usual
    let b = Bench::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ambler"))
        .args(["run", "stand.toml", "--out", "r"])
        .current_dir(b.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), (0, String::new()));
}

#[test]
fn a_motion_on_the_command_line_brings_its_own_character() {
    // --motion fits a ragdoll to the file's skeleton, --character keeps a given one; both are in the run folder
    let b = Bench::new();
    b.write_motion("swing.bvh");
    b.write(
        "other.bvh",
        &std::fs::read_to_string(b.path("swing.bvh"))
            .unwrap()
            .replace("left_shin", "left_calf"),
    );
    b.write("track.toml", TRACK);
    let fitted = b.ambler(&[
        "run",
        "track.toml",
        "--motion",
        "other.bvh",
        "--out",
        "a",
        "--set",
        "fall.rule=none",
    ]);
    assert_eq!(code(&fitted).0, 0, "{}", text(&fitted.stderr));
    assert!(
        ClipFile::read(&b.path("a/motion.clip"))
            .unwrap()
            .skeleton
            .joint("left_calf")
            .is_some()
    );
    assert!(b.path("a/inputs/other.bvh").is_file());
    let own = [
        "run",
        "track.toml",
        "--motion",
        "other.bvh",
        "--character",
        "humanoid.toml",
        "--out",
        "b",
    ];
    assert_eq!(code(&b.ambler(&own)).0, 2, "the humanoid has no left_calf");
    // --set has the last word, on the new motion too
    let looped = [
        "run",
        "track.toml",
        "--motion",
        "other.bvh",
        "--out",
        "d",
        "--set",
        "motion.loop=true",
    ];
    assert_eq!(code(&b.ambler(&looped)).0, 0);
    assert!(
        std::fs::read_to_string(b.path("d/experiment.toml"))
            .unwrap()
            .contains("loop = true")
    );
    let again = b.ambler(&["run", "a/experiment.toml", "--out", "c"]);
    assert_eq!(code(&again).0, 0, "{}", text(&again.stderr));
    assert_eq!(b.summary("a")["state_hash"], b.summary("c")["state_hash"]);

    let fit = b.ambler(&["character", "fit", "other.bvh", "--out", "fitted.toml", "--mass", "61"]);
    assert_eq!(code(&fit).0, 0);
    let character = Character::load(&b.path("fitted.toml")).unwrap();
    assert!((character.mass() - 61.0).abs() < 1e-9);
    let check = b.ambler(&["check", "fitted.toml", "other.bvh", "stand.toml", "a/motion.clip"]);
    assert_eq!(code(&check).0, 0, "{}", text(&check.stdout));
}

#[test]
fn check_warns_of_explicit_gains_that_the_step_does_not_bear() {
    // the warning names a joint and the step that would do; stable PD has no such bound
    let b = Bench::new();
    b.write(
        "explicit.toml",
        &STAND.replace("kind = \"hold\"", "kind = \"hold\"\nmode = \"explicit\""),
    );
    let output = b.ambler(&["check", "explicit.toml", "stand.toml"]);
    let printed = text(&output.stdout);
    assert_eq!(code(&output).0, 0);
    let (explicit, stable) = printed.split_once("stand.toml").unwrap();
    assert!(explicit.contains("left_hand") && explicit.contains("Hz"), "{printed}");
    assert!(!stable.contains("explicit"), "{printed}");
}

#[test]
fn bench_reports_the_speed_of_each_engine_as_json() {
    // the keys scripts rely on are there, and the numbers agree with one another
    let b = Bench::new();
    let output = b.ambler(&[
        "bench",
        "stand.toml",
        "--engine",
        "articulated",
        "--threads",
        "2",
        "--json",
    ]);
    assert_eq!(code(&output).0, 0, "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let speed = |key: &str| json["articulated"][key].as_f64().unwrap();
    assert!(speed("us_per_step_p5") > 0.0 && speed("us_per_step_p5") <= speed("us_per_step_median"));
    assert!((speed("real_time_factor") - speed("steps_per_s") / 120.0).abs() < 1e-6 * speed("real_time_factor"));
    assert!(json["articulated"]["parts_us"]["collision"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_examples_read_and_prepare() {
    // every example is free of mistakes; those whose motion is absent are named
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        if text.lines().any(|line| line.starts_with("experiment = ")) {
            let study = ambler::optimize::study::LoadedStudy::read(&path).unwrap();
            let problem = study.problem().unwrap();
            study.setup(&problem).unwrap();
            seen += 1;
            continue;
        }
        let loaded = ambler::experiment::LoadedSpec::read(&path, &[]).unwrap();
        let motion = loaded.spec.motion.as_ref().map(|m| loaded.folder.join(&m.file));
        if let Some(motion) = motion.filter(|m| !m.is_file()) {
            println!("{}: {} is absent, not prepared", path.display(), motion.display());
            continue;
        }
        ambler::experiment::Prepared::new(&loaded).unwrap();
        seen += 1;
    }
    assert!(seen >= 12);
}

#[test]
fn absurd_numbers_are_bad_input_with_their_place() {
    // finite is not enough: each is refused with line and key before anything is simulated, none panics or writes NaN
    let b = Bench::new();
    let box_of = |size: &str| format!("{STAND}\n[[terrain]]\nkind = \"box\"\nsize = {size}\n");
    let platform =
        |motion: &str| format!("{STAND}\n[[platforms]]\nsize = [1, 1, 1]\nposition = [0, -0.5, 0]\n{motion}\n");
    let push = |push: &str| format!("{STAND}\n[[disturbances]]\ntime_s = 0.1\ndirection = \"up\"\n{push}\n");
    let prop = |key: &str| {
        format!("{STAND}\n[[props]]\nkind = \"box\"\nmass = 1\nsize = [1, 1, 1]\n{key}\n").replace("mass = 1\n", {
            if key.starts_with("mass") { "" } else { "mass = 1\n" }
        })
    };
    for (text, key) in [
        (box_of("[1e300, 1, 1]"), "terrain[1].size"),
        (box_of("[1e-300, 1, 1]"), "terrain[1].size"),
        (
            platform("motion = \"linear\"\nvelocity = [1e9, 1e9, 1e9]"),
            "platforms[0].velocity",
        ),
        (
            platform("motion = \"sine\"\namplitude_m = [0, 1, 0]\nfrequency_hz = 1e5"),
            "platforms[0].frequency_hz",
        ),
        (push("impulse_ns = 1e300"), "disturbances[0].impulse_ns"),
        (push("impulse_ns = 1\npoint = [1e300, 0, 0]"), "disturbances[0].point"),
        (prop("mass = 1e300"), "props[0].mass"),
        (prop("mass = 1e-9"), "props[0].mass"),
        (prop("angular_velocity = [1e300, 0, 0]"), "props[0].angular_velocity"),
        (prop("rotation_deg = [1e300, 0, 0]"), "props[0].rotation_deg"),
        (prop("hinge = { axis = [1e200, 0, 0] }"), "props[0].hinge.axis"),
        (
            STAND.replace("duration_s", "gravity = [0, 1e300, 0]\nduration_s"),
            "gravity",
        ),
        (
            STAND.replace("kind = \"hold\"", "kind = \"hold\"\nkp_scale = 1e300"),
            "controller.kp_scale",
        ),
    ] {
        b.write("absurd.toml", &text);
        let (code, stderr) = code(&b.ambler(&["run", "absurd.toml", "--out", "absurd"]));
        assert_eq!(code, 2, "{text}{stderr}");
        assert!(stderr.starts_with("error: absurd.toml:"), "{text}{stderr}");
        assert!(stderr.contains(&format!("`{key}`")), "{text}{stderr}");
        assert!(!b.path("absurd").exists());
    }
}

#[test]
fn a_character_that_cannot_be_run_does_not_pass_the_check_either() {
    // whatever a world refuses about a character, `check` and `run` say with file and line
    let b = Bench::new();
    let good = std::fs::read_to_string(humanoid()).unwrap();
    for (from, to) in [
        ("mass = 3.031", "mass = 1e-9"),
        ("mass = 3.031", "mass = 1e300"),
        ("position = [0.455, 1.391, 0.0]", "position = [1e300, 1.391, 0.0]"),
        ("twist_deg = [-75, 75]", "twist_deg = [-75, 1e9]"),
    ] {
        assert!(good.contains(from), "{from}");
        b.write("bad.toml", &good.replacen(from, to, 1));
        let run = ["run", "stand.toml", "--character", "bad.toml", "--out", "bad"];
        for arguments in [&["check", "bad.toml"][..], &run] {
            let (code, stderr) = code(&b.ambler(arguments));
            assert_eq!(code, 2, "{to}: {stderr}");
            assert!(stderr.contains("bad.toml:"), "{to}: {stderr}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_are_a_failure() {
    // a script that redirects to a full disk must not take the empty file for success
    let b = Bench::new();
    for arguments in [
        &["run", "stand.toml", "--json", "--quiet"][..],
        &["check", "stand.toml"],
        &["character", "fit", "motion.bvh"],
    ] {
        b.write_motion("motion.bvh");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_ambler"))
            .args(arguments)
            .current_dir(b.folder.path())
            .stdout(Stdio::from(full))
            .output()
            .unwrap();
        let (code, stderr) = code(&output);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.contains("standard output cannot be written"), "{stderr}");
    }
    // the run itself is there
    assert_eq!(b.summary("runs/stand-1")["completed"], true);
}

#[cfg(unix)]
#[test]
fn a_pipe_cannot_be_an_input_of_a_run() {
    // it could not be copied into the run folder, and reading it twice would wait forever: it is not even opened, since
    // nobody writes into this one
    let b = Bench::new();
    let pipe = b.path("pipe.bvh");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_ambler"))
        .args(["run", "stand.toml", "--motion", "pipe.bvh"])
        .current_dir(b.folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && begin.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let _ = child.kill();
    let (code, stderr) = code(&child.wait_with_output().unwrap());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("no regular file"), "{stderr}");
}

#[test]
fn replacing_a_run_leaves_nothing_of_the_old_results() {
    // --force with fewer results: what is in the folder afterwards is of the new run
    let b = Bench::new();
    let first = b.ambler(&["run", "stand.toml", "--out", "r"]);
    assert_eq!(code(&first).0, 0, "{}", text(&first.stderr));
    assert!(b.path("r/metrics.csv").is_file() && b.path("r/motion.bvh").is_file());
    let fewer = ["--set", "recording.metrics_hz=0", "--set", "recording.motion_hz=0"];
    let second = b.ambler(&[&["run", "stand.toml", "--out", "r", "--force"][..], &fewer].concat());
    assert_eq!(code(&second).0, 0, "{}", text(&second.stderr));
    for stale in ["r/metrics.csv", "r/motion.bvh", "r/motion.clip"] {
        assert!(!b.path(stale).exists(), "{stale}");
    }
    assert!(b.path("r/summary.json").is_file());
}
