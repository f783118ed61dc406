//! Offsets on targets, and control tracks that are recorded and played again.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ambler::clip::ClipFile;
use ambler::experiment::{LoadedSpec, Prepared, RunFolder, RunOptions, Session, Simulation, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters")
}

fn load(text: &str, sets: &[&str]) -> Result<Prepared, String> {
    let text = format!("format = 1\n{text}");
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let loaded = LoadedSpec::parse(&text, "test.toml", root(), &sets).map_err(|e| e.to_string())?;
    Prepared::new(&loaded).map_err(|e| e.to_string())
}

fn prepare(text: &str) -> Prepared {
    load(text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn hash_of_run(prepared: &Prepared) -> String {
    run(prepared, &RunOptions::default(), &mut ()).summary.state_hash
}

/// A bow and a swing of the arms.
const BOW: &str = "duration_s = 0.8\n[character]\nfile = \"humanoid.toml\"\n[controller]\nkind = \"hold\"\nkp_scale = 1.5\n\
                   [controller.offsets]\nknots_s = [0, 0.2, 0.45, 0.7]\nmirror = true\n\
                   [controller.offsets.joints]\nabdomen = { x = [0, 12, 20, 5] }\n\
                   upper_arm = { x = [0, -30, 40, 0], z = [0, 5, 0, -20] }\nforearm = { x = [0, 20, 70, 20] }\n\
                   [[terrain]]\nkind = \"ground\"\n";

#[test]
fn an_offset_set_in_the_file_by_set_or_by_a_change_is_the_same_offset() {
    // the value in the file, `--set` and a change at time 0 lead to one state; another value to another
    let plain = hash_of_run(&prepare(BOW));
    for (from, to, path, value) in [
        (
            "[0, 12, 20, 5]",
            "[0, 12, 17.5, 5]",
            "controller.offsets.joints.abdomen.x.2",
            "17.5",
        ),
        (
            "z = [0, 5,",
            "z = [0, -7.25,",
            "controller.offsets.joints.upper_arm.z.1",
            "-7.25",
        ),
        (
            "mirror = true",
            "mirror = true\ntime_scale = 0.8",
            "controller.offsets.time_scale",
            "0.8",
        ),
    ] {
        let written = hash_of_run(&prepare(&BOW.replace(from, to)));
        let set = load(BOW, &[&format!("{path}={value}")]).unwrap();
        let change = format!("{BOW}[[changes]]\ntime_s = 0\nparameter = \"{path}\"\nvalue = {value}\n");
        assert_eq!(hash_of_run(&set), written, "{path}");
        assert_eq!(hash_of_run(&prepare(&change)), written, "{path}");
        assert_ne!(plain, written, "{path}");
    }
}

#[test]
fn offsets_move_targets_that_follow_a_motion_too() {
    // the targets of a tracked walk differ by the offset alone, from its first knot on and held after its last
    let walk = "duration_s = 1\n[character]\nfile = \"humanoid.toml\"\n[motion]\nfile = \"../clips/walk.bvh\"\nloop = true\n\
                [controller]\nkind = \"track\"\n[controller.assist]\n[[terrain]]\nkind = \"ground\"\n";
    let lean = "[controller.offsets]\nknots_s = [0.25, 0.5]\njoints = { left_shin = { x = [0, 30] } }\n";
    let (plain, leaning) = (prepare(walk), prepare(&format!("{walk}{lean}")));
    let (mut a, mut b) = (Simulation::new(&plain), Simulation::new(&leaning));
    let shin = plain.actors[0].character.body("left_shin").unwrap();
    for _ in 0..plain.spec.steps() {
        a.control();
        b.control();
        let angle = |s: &Simulation| match s.actuations[0].joints[shin].target {
            ambler::world::JointPosition::Angle(angle) => angle.to_degrees(),
            _ => unreachable!("a knee is a hinge"),
        };
        let (offset, time) = (angle(&b) - angle(&a), a.engine.time());
        match time {
            t if t <= 0.25 => assert!(offset.abs() < 1e-12),
            t if t >= 0.5 => assert!((offset - 30.0).abs() < 1e-12),
            _ => assert!((0.0..=30.0).contains(&offset)),
        }
        for (body, (x, y)) in (a.actuations[0].joints.iter()).zip(&b.actuations[0].joints).enumerate() {
            assert!(body == shin || x == y);
        }
        a.step().unwrap();
        b.step().unwrap();
    }
}

#[test]
fn changed_offsets_are_saved_where_they_stand_in_the_file() {
    // a session whose offsets were moved saves an experiment with these values from the start
    let mut session = Session::new(Arc::new(prepare(BOW)));
    session
        .set_parameter("controller.offsets.joints.forearm.x.2", 33.5)
        .unwrap();
    session.set_parameter("controller.offsets.time_scale", 1.25).unwrap();
    let spec = session.experiment_with_parameters().unwrap();
    let offsets = spec.controller.unwrap().offsets.unwrap();
    assert_eq!(offsets.joints["forearm"].x, Some(vec![0.0, 20.0, 33.5, 20.0]));
    assert_eq!(offsets.time_scale, 1.25);
}

#[test]
fn offsets_that_mean_nothing_are_refused_with_their_place() {
    // each message names the key, what was found and what was expected
    for (from, to, parts) in [
        (
            "knots_s = [0, 0.2, 0.45, 0.7]",
            "knots_s = [0, 0.2, 0.2, 0.7]",
            &["offsets.knots_s", "increase"][..],
        ),
        (
            "knots_s = [0, 0.2, 0.45, 0.7]",
            "knots_s = []",
            &["offsets.knots_s", "at least one"],
        ),
        (
            "knots_s = [0, 0.2, 0.45, 0.7]",
            "knots_s = [0, 0.2, nan, 0.7]",
            &["offsets.knots_s", "NaN"],
        ),
        (
            "[0, 12, 20, 5]",
            "[0, 12, 20]",
            &["joints.abdomen.x", "3 values; expected 4"],
        ),
        ("[0, 12, 20, 5]", "[0, 12, 1e9, 5]", &["joints.abdomen.x", "degrees"]),
        ("abdomen = { x =", "abdomen = { w =", &["unknown field `w`", "`x`"]),
        ("abdomen = {", "abdomn = {", &["abdomn", "did you mean `abdomen`"]),
        (
            "forearm = { x = [0, 20, 70, 20] }",
            "forearm = {}",
            &["joints.forearm", "no values"],
        ),
        ("forearm = { x =", "forearm = { y =", &["left_forearm", "x only"]),
        (
            "mirror = true",
            "mirror = true\ntime_scale = 0",
            &["offsets.time_scale", "0.001"],
        ),
    ] {
        assert!(BOW.contains(from));
        let error = load(&BOW.replace(from, to), &[])
            .err()
            .unwrap_or_else(|| panic!("{to} is accepted"));
        for part in parts {
            assert!(error.contains(part), "{to}: {error}");
        }
    }
}

/// Runs with controls recorded and returns the hash of the end.
fn record(prepared: &Prepared, folder: &Path) -> String {
    let options = RunOptions {
        metrics: true,
        motion: true,
        ..RunOptions::default()
    };
    let mut run_folder = RunFolder::at(folder, false).unwrap();
    run_folder.begin(prepared).unwrap();
    let (outcome, written) = run_folder.run(prepared, &options, &mut ());
    written.unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.summary.state_hash
}

const RECORD: &str = "[recording]\ncontrols = true\nbvh = false\n";

/// A controller that replays, as it is written in a file.
fn replay(header: &str, file: &Path) -> String {
    format!(
        "[{header}]\nkind = \"replay\"\nfile = {:?}\n",
        file.display().to_string()
    )
}

const PUSHED: &str = "[[terrain]]\nkind = \"ground\"\n\
                      [[disturbances]]\ntime_s = 0.1\nimpulse_ns = 6\ndirection = \"left\"\nbody = \"thorax\"\n\
                      [[disturbances]]\ntime_s = 0.25\nevery_s = 0.05\nforces_n = [[10, 0, 3], [0, 0, 0], [-20, 5, 1]]\n";

#[test]
fn a_control_track_leads_to_the_same_state_to_the_bit() {
    // whatever the controller: pose with offsets and changed gains, a tracked motion with help, lying, from the bind pose; on both
    // engines, at every rate of control, under pushes; and what the replay records is the track it plays
    let hold = "[controller]\nkind = \"hold\"\nkp_scale = 1.3\ngains = { left_shin = { kd = 77.7 } }\n\
                offsets = { knots_s = [0, 0.2, 0.4], mirror = true, joints = { thigh = { x = [0, -25, 5], y = [0, 3, 1] } } }\n";
    let changes = "[[changes]]\ntime_s = 0.3\nparameter = \"controller.kd_scale\"\nvalue = 0.7\n";
    let walk = "[motion]\nfile = \"../clips/walk.bvh\"\nloop = true\nstart_s = 0.2\n";
    let track = "[controller]\nkind = \"track\"\n[controller.assist]\n";
    let lying = "tilt_deg = 80\nposition = [0.3, 0.2, -1]\nheading_deg = 30\n";
    let placed = "position = [0.3, 0.2, -1]\nheading_deg = 30\n";
    let cases = [
        ("articulated", 240, "", "", hold, changes),
        ("articulated", 60, "", "", hold, changes),
        ("articulated", 80, placed, walk, track, ""),
        ("articulated", 240, lying, "", hold, changes),
        ("articulated", 240, "start = \"bind\"\n", "", hold, ""),
        ("rapier", 240, "", "", hold, changes),
        ("rapier", 48, placed, "", hold, ""),
    ];
    for (i, (engine, control, character, motion, controller, end)) in cases.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let text = |character: &str, motion: &str, controller: &str, end: &str| {
            prepare(&format!(
                "duration_s = 0.75\nengine = \"{engine}\"\ncontrol_hz = {control}\n[character]\nfile = \"humanoid.toml\"\n\
                 {character}{motion}{controller}{PUSHED}{end}{RECORD}"
            ))
        };
        let original = text(character, motion, controller, end);
        assert!(original.warnings.iter().all(|w| w.starts_with("rapier engine")));
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let hash = record(&original, &first);
        // where it stands is told as it was, how it lies and begins is in the track
        let kept = character
            .replace("tilt_deg = 80\n", "")
            .replace("start = \"bind\"\n", "");
        let again = text(&kept, "", &replay("controller", &first.join("controls.clip")), "");
        assert_eq!(record(&again, &second), hash, "case {i}");
        let [a, b] = [&first, &second].map(|f| ClipFile::read(&f.join("controls.clip")).unwrap());
        assert_eq!(a.samples() as f64, (0.75 * control as f64).floor() + 1.0);
        assert_eq!(a.vector_tracks, b.vector_tracks, "case {i}");
        assert_eq!(a.scalar_tracks, b.scalar_tracks, "case {i}");
        assert_eq!(a.events, b.events, "case {i}");
        // a run folder is whole: from its copy of the track the same again
        let copied = Prepared::read(&second.join("experiment.toml"), &[]).unwrap();
        assert_eq!(hash_of_run(&copied), hash, "case {i}");
    }
}

#[test]
fn every_character_has_a_track_of_its_own() {
    // two characters that push each other and a ball; one of them may be replayed while the other acts
    let text = |one: &str, two: &str| {
        prepare(&format!(
            "duration_s = 0.6\nrate_hz = 240\ncontrol_hz = 120\n[[characters]]\nname = \"one\"\nfile = \"humanoid.toml\"\n{one}\
             [[characters]]\nname = \"the other\"\nfile = \"humanoid.toml\"\nposition = [0, 0, 0.45]\nheading_deg = 170\n{two}\
             [[props]]\nkind = \"sphere\"\nmass = 2\nradius = 0.1\nposition = [0.1, 2.0, 0.1]\n{PUSHED}{RECORD}"
        ))
    };
    let one = "[characters.controller]\nkind = \"hold\"\npose_deg = { left_upper_arm = [0, -80, 0] }\n";
    let two = "[characters.controller]\nkind = \"hold\"\nkp_scale = 0.5\n";
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let hash = record(&text(one, two), &first);
    let track = |name: &str| replay("characters.controller", &first.join(name));
    let (one_again, two_again) = (track("controls.clip"), track("controls_the_other.clip"));
    for (i, (one, two)) in [
        (one_again.as_str(), two_again.as_str()),
        (one, two_again.as_str()),
        (one_again.as_str(), two),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(hash_of_run(&text(one, two)), hash, "case {i}");
    }
}

#[test]
fn a_replay_elsewhere_starts_moved_by_the_difference() {
    // the same start turned about the vertical and shifted: seen from the character all is as it was
    let text = |place: &str, controller: &str| {
        prepare(&format!(
            "duration_s = 0.3\n[character]\nfile = \"humanoid.toml\"\n{place}\
             {controller}[[terrain]]\nkind = \"ground\"\n{RECORD}"
        ))
    };
    let hold = "[controller]\nkind = \"hold\"\npose_deg = { left_shin = 30, left_thigh = [-20, 0, 5] }\n";
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let original = text("position = [1, 0, 2]\nheading_deg = 20\n", hold);
    record(&original, &first);
    let elsewhere = text(
        "position = [-3, 0.5, 4]\nheading_deg = -40\n",
        &replay("controller", &first.join("controls.clip")),
    );
    let wanted = text("position = [-3, 0.5, 4]\nheading_deg = -40\n", hold);
    let (a, b) = (wanted.actors[0].start(), elsewhere.actors[0].start());
    assert!(a.root_position.distance(b.root_position) < 1e-12);
    assert!(a.root_rotation.dot(b.root_rotation).abs() > 1.0 - 1e-14);
    assert_eq!((&a.joints, &a.velocities), (&b.joints, &b.velocities));
}

#[test]
fn what_is_replayed_otherwise_than_it_was_recorded_is_said_or_refused() {
    // a longer run, another engine and rate of physics and help are warnings; another rate of control, another character and a file
    // that is none are errors with the reason
    let base = "[character]\nfile = \"humanoid.toml\"\n";
    let ground = "[[terrain]]\nkind = \"ground\"\n";
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let walk = "[motion]\nfile = \"../clips/walk.bvh\"\n[controller]\nkind = \"track\"\n[controller.assist]\n";
    record(
        &prepare(&format!(
            "duration_s = 0.25\ncontrol_hz = 60\n{base}{walk}{ground}{RECORD}"
        )),
        &first,
    );
    let clip = first.join("controls.clip");
    let replayed = |head: &str, base: &str, file: &Path, more: &str| {
        let controller = replay("controller", file);
        load(&format!("{head}{base}{controller}{more}{ground}"), &[])
    };
    let good = replayed("duration_s = 0.25\ncontrol_hz = 60\n", base, &clip, "").unwrap();
    assert_eq!(good.warnings.len(), 1);
    assert!(good.warnings[0].contains("help from outside"));
    let far = replayed(
        "duration_s = 1\ncontrol_hz = 60\nrate_hz = 480\nengine = \"rapier\"\n",
        base,
        &clip,
        "",
    )
    .unwrap();
    for part in ["end at 0.267 s of 1.000 s", "rate_hz 240", "engine articulated"] {
        assert!(
            far.warnings.iter().any(|w| w.contains(part)),
            "{part}: {:?}",
            far.warnings
        );
    }

    let bytes = std::fs::read(&clip).unwrap();
    let bad = folder.path().join("bad.clip");
    let mut corrupt = bytes.clone();
    corrupt[bytes.len() / 2] ^= 4;
    let motion = first.join("motion.clip");
    let head = "duration_s = 0.25\ncontrol_hz = 60\n";
    for (content, head, base, file, more, parts) in [
        (&corrupt[..], head, base, &bad, "", &["bad.clip", "damaged"][..]),
        (&bytes[..100], head, base, &bad, "", &["bad.clip", "cut off"]),
        (&b"kind"[..], head, base, &bad, "", &["bad.clip", "not a .clip"]),
        (&[], head, base, &motion, "", &["motion.clip", "`mode`"]),
        (
            &[],
            head,
            base,
            &folder.path().join("none.clip"),
            "",
            &["none.clip", "cannot read"],
        ),
        (
            &[],
            head,
            "[character]\nfile = \"benchmark.toml\"\n",
            &clip,
            "",
            &["bodies"],
        ),
        (
            &[],
            "duration_s = 0.25\n",
            base,
            &clip,
            "",
            &["60 calls", "makes 240", "control_hz"],
        ),
        (
            &[],
            head,
            "[character]\nfile = \"humanoid.toml\"\ntilt_deg = 3\n",
            &clip,
            "",
            &["tilt_deg"],
        ),
        (
            &[],
            head,
            base,
            &clip,
            "kp_scale = 2\n",
            &["controller.kp_scale", "replay"],
        ),
        (
            &[],
            head,
            base,
            &clip,
            "pose = \"bind\"\n",
            &["controller.pose", "replay"],
        ),
    ] {
        if file == &bad {
            std::fs::write(&bad, content).unwrap();
        }
        let error = replayed(head, base, file, more)
            .err()
            .unwrap_or_else(|| panic!("{parts:?} is accepted"));
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let error = load(&format!("{head}{base}[controller]\nkind = \"replay\"\n{ground}"), &[])
        .err()
        .unwrap();
    assert!(
        error.contains("controller.file") && error.contains("recording.controls"),
        "{error}"
    );
    let error = load(
        &format!("{head}{base}[controller]\nkind = \"hold\"\nfile = \"x.clip\"\n{ground}"),
        &[],
    )
    .err()
    .unwrap();
    assert!(error.contains("controller.file") && error.contains("replay"), "{error}");
}

#[test]
fn controls_are_kept_or_written_alike_and_only_if_asked_for() {
    // in memory and in a folder the same samples; without `recording.controls` there are none; --force leaves nothing of an earlier run
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions {
        motion: true,
        ..RunOptions::default()
    };
    // longer than the parts in which it is written
    let long = BOW.replace("duration_s = 0.8", "duration_s = 5");
    let prepared = prepare(&format!("{long}{RECORD}"));
    let kept = run(&prepared, &options, &mut ());
    record(&prepared, &folder.path().join("a"));
    let written = ClipFile::read(&folder.path().join("a/controls.clip")).unwrap();
    assert_eq!(kept.controls.len(), 1);
    assert_eq!(written, kept.controls[0].file);
    assert_eq!(written.samples(), 1201);
    assert!(run(&prepare(BOW), &options, &mut ()).controls.is_empty());
    let mut again = RunFolder::at(&folder.path().join("a"), true).unwrap();
    again.begin(&prepare(BOW)).unwrap();
    assert!(!folder.path().join("a/controls.clip").exists());
}

#[test]
fn the_command_line_records_and_replays() {
    // the recipe of the documentation: the same hash, and a track that `check` knows for what it is
    let folder = tempfile::tempdir().unwrap();
    let ambler = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ambler"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let humanoid = root().join("humanoid.toml");
    let jump = format!(
        "format = 1\n{}",
        BOW.replace("humanoid.toml", &humanoid.display().to_string())
    );
    std::fs::write(folder.path().join("bow.toml"), &jump).unwrap();
    let hash = |output: &str| {
        let summary: serde_json::Value = serde_json::from_str(output).unwrap();
        summary["state_hash"].as_str().unwrap().to_string()
    };
    let first = ambler(&[
        "run",
        "bow.toml",
        "--set",
        "recording.controls=true",
        "--out",
        "r",
        "--json",
        "-q",
    ]);
    let (before, rest) = jump.split_once("[controller]").unwrap();
    let (_, after) = rest.split_once("[[terrain]]").unwrap();
    let controller = "[controller]\nkind = \"replay\"\nfile = \"r/controls.clip\"\n";
    std::fs::write(
        folder.path().join("again.toml"),
        format!("{before}{controller}[[terrain]]{after}"),
    )
    .unwrap();
    let again = ambler(&["run", "again.toml", "--out", "s", "--json", "-q"]);
    assert_eq!(hash(&first), hash(&again));
    assert!(ambler(&["check", "r/controls.clip"]).contains("clip without poses"));
    assert!(ambler(&["check", "again.toml"]).contains("good"));
}
