//! Experiments as a library: what a run measures and that it measures the truth.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ambler::character::{Character, Limit};
use ambler::clip::Clip;
use ambler::control::{Gains, Hold, Track, TrackOptions};
use ambler::experiment::{LoadedSpec, Prepared, RunFolder, RunOptions, Simulation, Summary, run};
use ambler::math::rotation::exp;
use ambler::motion::bvh;
use ambler::world::{JointPosition, RootActuation};
use glam::DVec3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters")
}

fn prepare(text: &str) -> Prepared {
    let text = format!("format = 1\n{text}");
    let loaded = LoadedSpec::parse(&text, "test.toml", root(), &[]).unwrap_or_else(|e| panic!("{e}"));
    Prepared::new(&loaded).unwrap_or_else(|e| panic!("{e}"))
}

const FLOATING: &str = "gravity = [0, 0, 0]\n[character]\nfile = \"humanoid.toml\"\nheading_deg = 40\n";

/// A clip of the humanoid's skeleton that waves everything at once and wanders `step` metres while it turns by `turn`.
fn wild_clip(character: &Character, step: DVec3, turn: f64) -> Clip {
    let skeleton = character.skeleton();
    let frames = (0..=40)
        .map(|f| {
            let s = f as f64 / 40.0;
            let phase = s * std::f64::consts::TAU;
            let mut pose = skeleton.bind_pose();
            for (j, q) in pose.rotations.iter_mut().enumerate().skip(1) {
                let k = j as f64;
                let axis = DVec3::new((k * 1.3).sin(), (k * 0.7).cos(), (k * 2.1).sin()).normalize();
                *q = exp(axis * 0.15 * ((phase + k).sin() - k.sin()));
            }
            pose.rotations[0] = exp(DVec3::Y * (0.7 + turn * s)) * exp(DVec3::X * 0.1 * phase.sin());
            pose.translations[0] = DVec3::new(3.0, 0.9 + 0.02 * phase.sin(), -2.0) + step * s;
            pose
        })
        .collect();
    Clip::from_frames("wild", skeleton, 1.0 / 40.0, frames, true).unwrap()
}

#[test]
fn a_push_gives_exactly_its_impulse_whatever_the_step_and_the_direction() {
    // without gravity and contacts the momentum after the push is impulse × direction, relative to the heading of 40°
    for rate in [50.0, 120.0, 333.0] {
        for (push, expected) in [
            (
                "impulse_ns = 12\ndirection = \"forward\"\n",
                exp(DVec3::Y * 40f64.to_radians()) * DVec3::Z * 12.0,
            ),
            (
                "force_n = 70\nduration_s = 0.123\ndirection = \"left\"\n",
                exp(DVec3::Y * 40f64.to_radians()) * DVec3::X * 70.0 * 0.123,
            ),
            (
                "impulse_ns = -3\nduration_s = 0.07\ndirection = [1, 2, -2]\npoint = [0.1, 0.2, 0]\n",
                DVec3::new(1.0, 2.0, -2.0) / 3.0 * -3.0,
            ),
        ] {
            let prepared = prepare(&format!(
                "rate_hz = {rate}\nduration_s = 0.5\n{FLOATING}[[disturbances]]\ntime_s = 0.1\nbody = \"thorax\"\n{push}"
            ));
            let mut simulation = Simulation::new(&prepared);
            for _ in 0..prepared.spec.steps() {
                simulation.control();
                simulation.step().unwrap();
            }
            let p = simulation.states[0].linear_momentum;
            assert!(
                (p - expected).length() < 1e-9 * expected.length(),
                "{rate} Hz, {push}: {p} for {expected}"
            );
        }
    }
}

#[test]
fn a_controller_moves_its_character_through_nothing_but_its_actuation() {
    // zero gravity, no contact: tracking a wild clip without assist leaves both momenta as they were; with assist the linear
    // momentum is the sum of the reported forces
    let character = Character::load(&root().join("humanoid.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wild.bvh");
    std::fs::write(
        &path,
        bvh::to_string(&wild_clip(&character, DVec3::new(0.2, 0.0, 0.4), 0.3)).unwrap(),
    )
    .unwrap();
    for assist in [false, true] {
        let prepared = prepare(&format!(
            "rate_hz = 240\nduration_s = 2\n{FLOATING}start = \"bind\"\n[motion]\nfile = \"{}\"\nloop = true\n\
             [controller]\nkind = \"track\"\n{}",
            path.display(),
            if assist { "[controller.assist]\n" } else { "" }
        ));
        let mut simulation = Simulation::new(&prepared);
        let (mut impulse, mut work) = (DVec3::ZERO, 0.0f64);
        for _ in 0..prepared.spec.steps() {
            simulation.control();
            simulation.step().unwrap();
            let state = &simulation.states[0];
            impulse += state.external_wrench.force * prepared.dt();
            work = work.max(state.kinetic_energy);
            if !assist {
                assert!(state.linear_momentum.length() < 1e-9 && state.angular_momentum.length() < 1e-8);
            }
        }
        assert!(work > 0.1, "the character moves");
        let p = simulation.states[0].linear_momentum;
        assert!(
            (p - impulse).length() < 1e-9 * (1.0 + impulse.length()),
            "{p} for {impulse}"
        );
        assert_eq!(impulse != DVec3::ZERO, assist);
        let outcome = run(&prepared, &RunOptions::default(), &mut ());
        assert_eq!(outcome.summary.assist_impulse_ns > 0.0, assist);
    }
}

#[test]
fn a_tracked_character_is_where_the_clip_is_at_every_rate() {
    // with assist, without gravity, joint limits and collisions the joints follow a smooth motion to a fraction of a degree, however often
    // the controller is asked
    let mut character = Character::load(&root().join("humanoid.toml")).unwrap();
    for body in &mut character.bodies {
        body.limit = Limit::None;
        body.filter = 0;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wild.bvh");
    std::fs::write(
        &path,
        bvh::to_string(&wild_clip(&character, DVec3::new(0.2, 0.0, 0.4), 0.3)).unwrap(),
    )
    .unwrap();
    let free = folder.path().join("free.toml");
    std::fs::write(&free, character.to_toml()).unwrap();
    for (rate, control) in [(60.0, 60.0), (240.0, 240.0), (480.0, 60.0)] {
        let prepared = prepare(&format!(
            "rate_hz = {rate}\ncontrol_hz = {control}\nduration_s = 2\ngravity = [0, 0, 0]\n\
             [character]\nfile = \"{}\"\n[motion]\nfile = \"{}\"\nloop = true\n\
             [controller]\nkind = \"track\"\n[controller.assist]\n",
            free.display(),
            path.display()
        ));
        let summary = run(&prepared, &RunOptions::default(), &mut ()).summary;
        let (joints, root) = (summary.tracking_error_mean_deg, summary.root_error_mean_m);
        println!(
            "{rate} Hz, control {control} Hz: {joints:.3} deg, {:?}, root {root:.5} m",
            summary.tracking_error_worst_joint
        );
        assert!(joints < 0.5, "{rate} Hz, control {control} Hz: {joints} deg");
        assert!(root < 0.01, "{rate} Hz, control {control} Hz: {root} m");
    }
}

#[test]
fn a_loop_goes_on_from_where_it_has_come_to() {
    // after n turns of the loop the root has moved by n steps along the turning way, at the speed of the first turn
    let character = Character::load(&root().join("humanoid.toml")).unwrap();
    let step = DVec3::new(0.2, 0.0, 0.4);
    let turn = 0.3;
    let clip = wild_clip(&character, step, turn);
    let options = TrackOptions {
        looped: true,
        ..TrackOptions::default()
    };
    let (position, heading) = (DVec3::new(5.0, 0.0, 6.0), -0.4);
    let track = Track::new(&character, &clip, position, heading, &options).unwrap();
    let start = track.start_state(0.0);
    assert!((start.root_position.x - 5.0).abs() < 1e-12 && (start.root_position.z - 6.0).abs() < 1e-12);
    // it starts in the character's heading although the clip starts at 0.7 rad
    let forward = start.root_rotation * DVec3::Z;
    assert!((forward.x.atan2(forward.z) - heading).abs() < 1e-9);
    let mut expected = DVec3::new(5.0, start.root_position.y, 6.0);
    // the step of the clip, turned from its heading of 0.7 to the character's
    let first_step = exp(DVec3::Y * (heading - 0.7)) * step;
    for n in 0..30 {
        let now = track.start_state(n as f64);
        assert!(
            (now.root_position - expected).length() < 1e-9,
            "turn {n}: {} for {expected}",
            now.root_position
        );
        let before = track.start_state(n as f64 - 1e-7);
        if n > 0 {
            assert!(
                (now.root_position - before.root_position).length() < 1e-5,
                "no jump at turn {n}"
            );
            assert!(now.root_rotation.dot(before.root_rotation).abs() > 1.0 - 1e-9);
        }
        expected += exp(DVec3::Y * (turn * n as f64)) * first_step;
    }
}

#[test]
fn rates_are_the_derivatives_of_positions() {
    // rate · dt, applied to the joint, is the joint dt later: for ball joints in the parent-side frame, for hinges as angles
    let character = Character::load(&root().join("humanoid.toml")).unwrap();
    let clip = wild_clip(&character, DVec3::new(0.2, 0.0, 0.4), 0.3);
    let track = Track::new(&character, &clip, DVec3::ZERO, 0.0, &TrackOptions::default()).unwrap();
    let dt = clip.frame_time / 2.0;
    let time = 0.4 + 0.25 * clip.frame_time;
    let (now, then) = (track.start_state(time), track.start_state(time + dt));
    for (b, body) in character.bodies.iter().enumerate().skip(1) {
        let rate = track.start_state(time + 0.5 * dt).velocities[b].1;
        let error = match (now.joints[b], then.joints[b]) {
            (JointPosition::Angle(a), JointPosition::Angle(c)) => (a + rate.x * dt - c).abs(),
            (JointPosition::Rotation(a), JointPosition::Rotation(c)) => {
                ambler::math::rotation::difference(c, exp(rate * dt) * a).length()
            }
            _ => 0.0,
        };
        // half of the way lies in the frame, where rates are constant
        assert!(error < 1e-9, "{}: {error}", body.name);
        assert!(rate.length() > 1e-3, "{} moves", body.name);
    }
}

#[test]
fn joints_in_between_and_other_orders_do_not_matter() {
    // a clip with an extra joint between two bodies and rest rotations of its own asks for the same targets
    let character = Character::load(&root().join("humanoid.toml")).unwrap();
    let clip = wild_clip(&character, DVec3::ZERO, 0.0);
    let shin = clip.skeleton.joint("left_shin").unwrap();
    let mut other = clip.clone();
    // the thigh's rotation is shared between the thigh and a twist joint above the shin, which has a turned frame
    let rest = exp(DVec3::new(0.4, -0.2, 0.9));
    let helper = ambler::skeleton::Joint {
        name: "left_thigh_twist".into(),
        parent: clip.skeleton.joints[shin].parent,
        offset: DVec3::ZERO,
        rest,
        end_sites: Vec::new(),
    };
    other.skeleton.joints.insert(shin, helper);
    for joint in &mut other.skeleton.joints[shin + 1..] {
        joint.parent = joint.parent.map(|p| if p >= shin { p + 1 } else { p });
    }
    other.skeleton.joints[shin + 1].parent = Some(shin);
    let shin_rest = clip.skeleton.joints[shin].rest;
    other.skeleton.joints[shin + 1].rest = rest.conjugate() * shin_rest;
    for frame in &mut other.frames {
        let bend = exp(DVec3::new(0.1, 0.2, -0.1));
        let q = frame.rotations[shin];
        frame.rotations.insert(shin, bend);
        // R_thigh rest bend rest⁻¹ shin_rest q' = R_thigh shin_rest q
        frame.rotations[shin + 1] = (rest * bend * rest.conjugate() * shin_rest).conjugate() * shin_rest * q;
        frame.translations.insert(shin, DVec3::ZERO);
    }
    let options = TrackOptions::default();
    let a = Track::new(&character, &clip, DVec3::ZERO, 0.0, &options).unwrap();
    let b = Track::new(&character, &other, DVec3::ZERO, 0.0, &options).unwrap();
    for t in [0.0, 0.21, 0.8] {
        for (x, y) in a.start_state(t).joints.iter().zip(&b.start_state(t).joints) {
            match (x, y) {
                (JointPosition::Angle(x), JointPosition::Angle(y)) => assert!((x - y).abs() < 1e-12),
                (JointPosition::Rotation(x), JointPosition::Rotation(y)) => assert!(x.dot(*y).abs() > 1.0 - 1e-14),
                _ => assert_eq!(x, y),
            }
        }
    }
}

#[test]
fn one_prepared_experiment_runs_alike_in_many_threads() {
    // the hash of a run depends on the experiment alone
    let prepared = prepare(
        "rate_hz = 120\nduration_s = 1\n[character]\nfile = \"humanoid.toml\"\nposition = [0, 0.2, 0]\n\
         [controller]\nkind = \"hold\"\nkp_scale = 0.1\n[[terrain]]\nkind = \"ground\"\n\
         [[props]]\nkind = \"box\"\nmass = 3\nsize = [0.3, 0.2, 0.3]\nposition = [0, 1, 0.5]\n",
    );
    let hash = |_: usize| run(&prepared, &RunOptions::default(), &mut ()).summary.state_hash;
    let first = hash(0);
    let hashes: HashSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|i| scope.spawn(move || hash(i))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(hashes, HashSet::from([first]));
}

#[test]
fn a_character_starts_on_whatever_is_below_it_and_slip_is_measured_against_it() {
    // on stairs, on a loose board, on a moving platform: the lowest point starts on the surface; standing still on a platform
    // that swings by 10 cm is no slip
    for (floor, height) in [
        (
            "[[terrain]]\nkind = \"box\"\nsize = [4, 0.5, 4]\nposition = [0, 0.1, 0]\n",
            0.35,
        ),
        (
            "[[terrain]]\nkind = \"ground\"\n[[props]]\nkind = \"box\"\nmass = 5\nsize = [1, 0.04, 1]\nposition = [0, 0.02, 0]\n",
            0.04,
        ),
        (
            "[[platforms]]\nmotion = \"sine\"\nsize = [2, 0.2, 2]\nposition = [0, 0, 0]\namplitude_m = [0, 0, 0.1]\nfrequency_hz = 0.2\n",
            0.1,
        ),
    ] {
        let prepared = prepare(&format!(
            "rate_hz = 240\nduration_s = 3\n[character]\nfile = \"humanoid.toml\"\nposition = [0, 0, -0.1]\n{floor}"
        ));
        let simulation = Simulation::new(&prepared);
        let pelvis = simulation.states[0].bodies[0].position.y;
        assert!((pelvis - 0.93 - height).abs() < 2e-3, "pelvis at {pelvis} over {floor}");
        let summary = run(&prepared, &RunOptions::default(), &mut ()).summary;
        assert_eq!(summary.fell_at_s, None, "{floor}");
        assert!(
            summary.foot_slip_m < 2e-3,
            "{} m of slip on {floor}",
            summary.foot_slip_m
        );
    }
}

#[test]
fn several_characters_have_controllers_and_files_of_their_own() {
    // one holds, one is limp: each has its own results, the totals are over both
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(
        "rate_hz = 120\nduration_s = 2\n[[characters]]\nname = \"anna\"\nfile = \"humanoid.toml\"\nposition = [-1, 0, 0]\n\
         [[characters]]\nname = \"ben\"\nfile = \"humanoid.toml\"\nposition = [1, 0, 0]\n\
         controller = { kind = \"hold\", kp_scale = 0, kd_scale = 0.01 }\n[[terrain]]\nkind = \"ground\"\n",
    );
    let options = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    let outcome = run(&prepared, &options, &mut ());
    let summary = &outcome.summary;
    assert_eq!(summary.characters[0].fell_at_s, None);
    assert!(summary.characters[1].fell_at_s.is_some());
    assert_eq!(summary.fell_at_s, summary.characters[1].fell_at_s);
    assert!(summary.tracking_error_worst_joint.as_ref().unwrap().starts_with("ben."));
    let mut run_folder = ambler::experiment::RunFolder::at(&folder.path().join("r"), false).unwrap();
    run_folder.begin(&prepared).unwrap();
    run_folder.finish(&prepared, &outcome).unwrap();
    for file in ["motion.clip", "motion_ben.clip", "motion_ben.bvh", "summary.json"] {
        assert!(folder.path().join("r").join(file).is_file(), "{file}");
    }
    assert!(outcome.metrics.unwrap().header.iter().any(|h| h == "ben.com_x_m"));
    let again = Prepared::read(&folder.path().join("r/experiment.toml"), &[]).unwrap();
    assert_eq!(
        run(&again, &RunOptions::default(), &mut ()).summary.state_hash,
        summary.state_hash
    );
}

#[test]
fn a_held_pose_is_what_the_file_says_in_each_joints_own_terms() {
    // degrees become angles of hinges and rotation vectors of ball joints; a wrong number of angles is refused
    let character = Character::load(&root().join("humanoid.toml")).unwrap();
    let angles: [(&str, &[f64]); 2] = [("left_shin", &[30.0]), ("right_thigh", &[-20.0, 5.0, 10.0])];
    let pose = ambler::control::pose_from_angles(&character, angles, "pose").unwrap();
    let mut hold = Hold::new(&character, &pose, &Gains::default()).unwrap();
    let mut actuation = ambler::world::Actuation::hold_bind_pose(&character);
    let clock = ambler::control::Clock { time: 0.0, dt: 0.01 };
    ambler::control::Controller::act(&mut hold, &Default::default(), clock, &mut actuation);
    let shin = character.body("left_shin").unwrap();
    assert_eq!(actuation.joints[shin].target, JointPosition::Angle(30f64.to_radians()));
    let thigh = character.body("right_thigh").unwrap();
    let JointPosition::Rotation(q) = actuation.joints[thigh].target else {
        panic!("the hip is a ball joint")
    };
    let w = ambler::math::rotation::log(q);
    assert!((w.to_array().map(f64::to_degrees)[1] - 5.0).abs() < 1e-12);
    assert_eq!(actuation.root, RootActuation::None);
    for wrong in [
        ("left_shin", &[1.0, 2.0][..]),
        ("left_thigh", &[1.0][..]),
        ("pelvis", &[1.0][..]),
    ] {
        let error = ambler::control::pose_from_angles(&character, [wrong], "pose")
            .unwrap_err()
            .to_string();
        assert!(error.contains(wrong.0), "{error}");
    }
}

/// Captured motions of the shared data: file, metres per unit, seconds.
const CAPTURED: [(&str, f64, f64); 6] = [
    ("games105_idle", 1.0, 3.3),
    ("games105_walk60", 1.0, 3.0),
    ("games105_walk_forward", 1.0, 0.98),
    ("games105_walk_and_turn_left", 1.0, 4.1),
    ("games105_run_forward", 1.0, 0.7),
    ("games105_motion", 0.01, 4.1),
];

/// Where they are; `None`, and a note, if they are absent.
fn captured() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/bvh");
    if !folder.is_dir() {
        println!("{} is absent: skipped", folder.display());
        return None;
    }
    Some(folder)
}

/// Tracks a captured motion on the character fitted to it.
fn track_captured(folder: &Path, file: &str, scale: f64, duration: f64, more: &str) -> Summary {
    let prepared = prepare(&format!(
        "duration_s = {duration}\n[character.fit]\n[motion]\nfile = \"{}/{file}.bvh\"\nscale = {scale}\n\
         [controller]\nkind = \"track\"\n{more}[[terrain]]\nkind = \"ground\"\n",
        folder.display()
    ));
    run(&prepared, &RunOptions::default(), &mut ()).summary
}

#[test]
fn captured_motions_are_tracked_on_characters_fitted_to_them() {
    // with assist, the whole clip: mean joint error below 5 degrees, root within 3 cm
    let Some(folder) = captured() else { return };
    for (file, scale, duration) in CAPTURED {
        let summary = track_captured(&folder, file, scale, duration, "[controller.assist]\n");
        let (joints, root) = (summary.tracking_error_mean_deg, summary.root_error_mean_m);
        println!(
            "{file}: {joints:.2} deg, worst {:?} {:.1} deg, root {root:.4} m, assist {:.0} N s, {:.0} % of the weight",
            summary.tracking_error_worst_joint,
            summary.tracking_error_worst_joint_deg,
            summary.assist_impulse_ns,
            100.0 * summary.assist_impulse_ns / (summary.duration_s * 9.81 * summary.characters[0].mass_kg)
        );
        assert!(joints < 5.0, "{file}: {joints} deg");
        assert!(root < 0.03, "{file}: {root} m");
    }
}

#[test]
fn captured_steps_fall_without_assist_and_a_captured_stance_does_not() {
    // copying a motion does not balance: nothing pushes from outside, so who walks, turns or runs falls soon, who idles stands
    let Some(folder) = captured() else { return };
    for (file, scale, _) in CAPTURED {
        let summary = track_captured(&folder, file, scale, 10.0, "");
        println!("{file}: {:?}", summary.fell_at_s);
        assert_eq!(summary.assist_impulse_ns, 0.0);
        assert_eq!(
            summary.fell_at_s.is_none(),
            file == "games105_idle",
            "{file}: {:?}",
            summary.fell_at_s
        );
        assert!(
            summary.fell_at_s.is_none_or(|t| t < 5.0),
            "{file}: {:?}",
            summary.fell_at_s
        );
    }
}

/// An experiment on an engine that cannot honour all of its character says so before it runs; on the other it has nothing to say.
#[test]
fn what_an_engine_cannot_honour_is_a_warning() {
    let stand = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stand.toml");
    let warnings = |engine: &str| Prepared::read(&stand, &[format!("engine={engine}")]).unwrap().warnings;
    assert_eq!(warnings("articulated"), Vec::<String>::new());
    let rapier = warnings("rapier");
    for what in [
        "torque limits are not enforced",
        "swing and twist limits are not enforced",
    ] {
        assert!(
            rapier
                .iter()
                .any(|w| w.starts_with("rapier engine: ") && w.contains(what)),
            "{what}: {rapier:?}"
        );
    }
}

#[test]
fn a_folder_goes_to_one_run_and_what_can_be_written_is() {
    // of two runs that ask for an empty folder one gets it; a result that cannot be written is reported, the others are
    // there, and no summary claims that all are; names that come to the same file name do not overwrite each other
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let mut first = RunFolder::at(&path, false).unwrap();
    assert!(RunFolder::at(&path, false).unwrap_err().to_string().contains("--force"));
    // one that was killed before it wrote anything can be replaced
    assert!(RunFolder::at(&path, true).is_ok());

    let character = |name: &str, x: f64| {
        format!("[[characters]]\nname = \"{name}\"\nfile = \"humanoid.toml\"\nposition = [{x}, 0, 0]\n")
    };
    let characters = character("a", 0.0) + &character("b c", 3.0) + &character("b_c", 6.0);
    let prepared = prepare(&format!("duration_s = 0.02\n{characters}"));
    let options = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    let outcome = run(&prepared, &options, &mut ());
    first.begin(&prepared).unwrap();
    std::fs::create_dir(path.join("metrics.csv")).unwrap();
    let error = first.finish(&prepared, &outcome).unwrap_err().to_string();
    assert!(error.contains("metrics.csv"), "{error}");
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".clip") || n.ends_with(".json"))
        .collect();
    names.sort();
    assert_eq!(names, ["motion.clip", "motion_b_c.clip", "motion_b_c_2.clip"]);
    let log = std::fs::read_to_string(path.join("run.log")).unwrap();
    assert!(log.contains("not all results"), "{log}");
}

#[test]
fn files_of_format_1_keep_opening() {
    // whatever later formats bring: these files mean what they meant
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive");
    let character = Character::load(&archive.join("character_v1.toml")).unwrap();
    let names: Vec<_> = character.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(
        names,
        ["pelvis", "left_thigh", "left_shin", "right_thigh", "right_shin"]
    );
    assert_eq!(character.mass(), 33.0);
    let shin = &character.bodies[4];
    assert_eq!(shin.limit, Limit::Range([[0.0, 150f64.to_radians()], [0.0, 0.0]]));
    assert_eq!(
        (shin.kp[0], shin.kd[0], shin.armature[0], shin.material.friction),
        (200.0, 20.0, 0.01, 0.8)
    );
    assert_eq!(character.bodies[3].torque_limit, [200.0, 100.0, 200.0]);
    let loaded = LoadedSpec::read(&archive.join("experiment_v1.toml"), &[]).unwrap();
    let outcome = run(&Prepared::new(&loaded).unwrap(), &RunOptions::default(), &mut ());
    assert!(outcome.error.is_none());
    assert_eq!((outcome.summary.steps, outcome.summary.fell_at_s), (60, None));
}
