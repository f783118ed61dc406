//! Offsets on targets, and control tracks that are recorded and played again.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ambler::experiment::{LoadedSpec, Prepared, RunOptions, Session, Simulation, run};

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
