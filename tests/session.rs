//! Experiments that somebody steers: whatever is done by hand is done again by the experiment that is saved, to the bit.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ambler::experiment::spec::Direction;
use ambler::experiment::{
    Command, Frame, HandError, Live, LiveOptions, LoadedSpec, Prepared, PushRequest, RunOptions, SaveError, Session,
    Simulation, Status, StepOutcome, run,
};
use ambler::math::random::uniform;
use ambler::world::BodyRef;
use glam::DVec3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters")
}

fn load(text: &str) -> Result<Prepared, String> {
    let text = format!("format = 1\n{text}");
    let loaded = LoadedSpec::parse(&text, "test.toml", root(), &[]).map_err(|e| e.to_string())?;
    Prepared::new(&loaded).map_err(|e| e.to_string())
}

fn prepare(text: &str) -> Arc<Prepared> {
    Arc::new(load(text).unwrap_or_else(|e| panic!("{e}")))
}

const STAND: &str =
    "[character]\nfile = \"humanoid.toml\"\n[controller]\nkind = \"hold\"\n[[terrain]]\nkind = \"ground\"\n";
const WALK: &str = "[character]\nfile = \"humanoid.toml\"\n[motion]\nfile = \"../clips/walk.bvh\"\nloop = true\n\
                    [controller]\nkind = \"track\"\n[controller.assist]\n[[terrain]]\nkind = \"ground\"\n";
const TWO: &str = "[[characters]]\nname = \"one\"\nfile = \"humanoid.toml\"\n\
                   [[characters]]\nname = \"two\"\nfile = \"humanoid.toml\"\nposition = [0.9, 0, 0]\nheading_deg = 30\n\
                   [characters.controller]\nkind = \"hold\"\nkp_scale = 1.5\n[[terrain]]\nkind = \"ground\"\n";
const PROPS: &str = "[character]\nfile = \"humanoid.toml\"\n[[terrain]]\nkind = \"ground\"\n\
                     [[props]]\nname = \"box\"\nkind = \"box\"\nmass = 3\nsize = [0.3, 0.3, 0.3]\nposition = [0.6, 0.15, 0.4]\n\
                     [[props]]\nkind = \"box\"\nmass = 15\nsize = [0.4, 0.06, 3]\nposition = [2, 0.5, 0]\n\
                     hinge = { axis = [1, 0, 0], range_deg = [-15, 15], damping = 2 }\n";
/// Disturbances and a change that are there before anybody does anything.
const BUSY: &str = "[[disturbances]]\ntime_s = 0.1\nimpulse_ns = 4\ndirection = \"left\"\n\
                    [[disturbances]]\ntime_s = 0.25\nevery_s = 0.05\nforces_n = [[10, 0, 3], [0, 0, 0], [-20, 5, 1]]\n\
                    [[changes]]\ntime_s = 0.2\nparameter = \"controller.kd_scale\"\nvalue = 1.25\n";

fn hash(simulation: &Simulation) -> u64 {
    simulation.engine.state_hash()
}

/// Where an experiment has come to after some steps.
fn hash_after(prepared: &Prepared, steps: u64) -> u64 {
    let mut simulation = Simulation::new(prepared);
    for _ in 0..steps {
        simulation.control();
        simulation.step().unwrap();
    }
    hash(&simulation)
}

fn hash_of_run(prepared: &Prepared) -> String {
    run(prepared, &RunOptions::default(), &mut ()).summary.state_hash
}

fn in_words(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Numbers for a script of deeds.
struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice { seed, thrown: 0 }
    }
    fn below(&mut self, n: usize) -> usize {
        (self.within(0.0, n as f64) as usize).min(n - 1)
    }
    fn within(&mut self, low: f64, high: f64) -> f64 {
        self.thrown += 1;
        low + (high - low) * uniform(self.seed, 7, self.thrown)
    }
    fn vector(&mut self, size: f64) -> DVec3 {
        DVec3::new(
            self.within(-size, size),
            self.within(-size, size),
            self.within(-size, size),
        )
    }
}

fn any_body(session: &Session, dice: &mut Dice) -> BodyRef {
    let prepared = session.prepared();
    let owner = dice.below(prepared.actors.len() + prepared.prop_names.len());
    match prepared.actors.get(owner) {
        Some(actor) => BodyRef::Character {
            character: owner,
            body: dice.below(actor.character.bodies.len()),
        },
        None => BodyRef::Prop {
            prop: owner - prepared.actors.len(),
            body: 0,
        },
    }
}

/// Does something, or nothing.
fn do_something(session: &mut Session, dice: &mut Dice) {
    match dice.below(8) {
        0 => {
            let target = any_body(session, dice);
            let point = dice.vector(0.1);
            session.grab(target, point).unwrap();
        }
        1 => {
            session.release();
        }
        2 => {
            let target = any_body(session, dice);
            let words = [
                Direction::Forward,
                Direction::Left,
                Direction::Backward,
                Direction::Right,
            ];
            let direction = match target {
                BodyRef::Character { .. } if dice.below(2) == 0 => words[dice.below(4)],
                _ => Direction::Vector((dice.vector(1.0) + DVec3::Y * 0.01).to_array()),
            };
            let point = (dice.below(2) == 0).then(|| dice.vector(0.1));
            let (force_n, duration_s) = (dice.within(-80.0, 120.0), dice.within(0.001, 0.3));
            session
                .push(PushRequest {
                    target,
                    point,
                    direction,
                    force_n,
                    duration_s,
                })
                .unwrap();
        }
        3 => {
            let all = session.parameters();
            let parameter = &all[dice.below(all.len())];
            let value = parameter.value * dice.within(0.5, 1.8);
            session.set_parameter(&parameter.path, value).unwrap();
        }
        4 => {
            session.frame();
        }
        _ => {
            if let Some(hand) = session.hand() {
                session.drag_to(hand.goal + dice.vector(0.3)).unwrap();
            }
        }
    }
}

/// Steps to the end of the experiment with deeds on the way.
fn play(session: &mut Session, seed: u64, steps: u64) {
    let mut dice = Dice::new(seed);
    session.set_past_the_end(true);
    while session.deeds().is_empty() {
        do_something(session, &mut dice);
    }
    for _ in 0..steps {
        while dice.below(12) == 0 {
            do_something(session, &mut dice);
        }
        assert_eq!(session.step().unwrap(), StepOutcome::Stepped);
    }
}

#[test]
fn what_was_done_by_hand_is_done_again_by_the_saved_experiment_to_the_bit() {
    // drags, pushes and changes at random moments: the saved file, run by itself, arrives at the same state
    let folder = tempfile::tempdir().unwrap();
    let mut seed = 0;
    for (name, base) in [
        ("stand", format!("rate_hz = 240\n{STAND}{BUSY}")),
        ("stand at 60 Hz", format!("rate_hz = 60\n{STAND}")),
        (
            "stand at 1000 Hz",
            format!("rate_hz = 1000\ncontrol_hz = 250\n{STAND}{BUSY}"),
        ),
        ("walk", format!("rate_hz = 240\ncontrol_hz = 60\n{WALK}{BUSY}")),
        ("walk at 60 Hz", format!("rate_hz = 60\n{WALK}")),
        ("two", format!("rate_hz = 240\n{TWO}")),
        ("props", format!("rate_hz = 240\n{PROPS}{BUSY}")),
        ("rapier", format!("rate_hz = 240\nengine = \"rapier\"\n{STAND}{BUSY}")),
        (
            "props in rapier",
            format!("rate_hz = 240\nengine = \"rapier\"\ncontrol_hz = 120\n{PROPS}"),
        ),
    ] {
        for _ in 0..3 {
            seed += 1;
            let prepared = prepare(&format!("duration_s = 0.6\n{base}"));
            let mut session = Session::new(prepared.clone());
            // short of, at and beyond the end
            let steps = prepared.spec.steps() * (seed % 3 + 2) / 3;
            play(&mut session, seed, steps);
            let path = folder.path().join(format!("{seed}.toml"));
            assert!(
                session.has_unsaved_deeds(),
                "{name}: a script without deeds tests nothing"
            );
            let saved = session.save_experiment(&path, false).unwrap();
            assert!(saved.missing.is_empty() && !session.has_unsaved_deeds());
            let again = Prepared::read(&path, &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(hash_after(&again, steps), session.state_hash(), "{name}, seed {seed}");
            assert_ne!(
                hash_after(&prepared, steps),
                session.state_hash(),
                "{name}: deeds have an effect"
            );
            if steps >= prepared.spec.steps() {
                assert_eq!(again.spec.steps(), steps, "{name}: it lasts until now");
                assert_eq!(hash_of_run(&again), in_words(session.state_hash()), "{name}");
            }
        }
    }
}

#[test]
fn without_deeds_a_session_is_the_run_however_often_it_is_looked_at() {
    // frames, samples, grabs that are let go and refused deeds leave no trace
    for base in [STAND, WALK] {
        let prepared = prepare(&format!(
            "rate_hz = 240\ncontrol_hz = 80\nduration_s = 0.4\n{base}{BUSY}"
        ));
        let mut session = Session::new(prepared.clone());
        let mut looks = 0;
        while !session.finished() {
            for _ in 0..looks % 3 {
                session.frame();
                session.sample();
            }
            session
                .grab(BodyRef::Character { character: 0, body: 3 }, DVec3::ZERO)
                .unwrap();
            assert!(session.drag_to(DVec3::NAN).is_err());
            assert!(session.release() && !session.release());
            assert!(session.set_parameter("controller.kp_scal", 2.0).is_err());
            session.step().unwrap();
            looks += 1;
        }
        assert_eq!(session.step().unwrap(), StepOutcome::Finished);
        assert!(session.deeds().is_empty() && !session.has_unsaved_deeds());
        assert_eq!(in_words(session.state_hash()), hash_of_run(&prepared));
    }
}

#[test]
fn a_restart_goes_back_to_the_start_and_repeats_what_is_asked_for() {
    // forgetful: the run; repeating: the same states again, more deeds on top of them can be saved likewise
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 120\nduration_s = 0.5\n{WALK}{BUSY}"
    ));
    let mut session = Session::new(prepared.clone());
    play(&mut session, 11, 120);
    session
        .grab(BodyRef::Character { character: 0, body: 2 }, DVec3::X * 0.1)
        .unwrap();
    session.drag_to(DVec3::new(0.5, 1.5, 0.5)).unwrap();
    session.step().unwrap();
    let (after, deeds) = (session.state_hash(), session.deeds().clone());
    session.restart(true);
    assert!(session.hand().is_none(), "a restart lets go");
    assert!(matches!(session.drag_to(DVec3::ZERO), Err(HandError::NothingHeld)));
    assert_eq!((session.steps(), session.deeds()), (0, &deeds));
    for _ in 0..121 {
        session.step().unwrap();
    }
    assert_eq!(session.state_hash(), after);

    session.restart(true);
    play(&mut session, 12, 120);
    assert!(session.deeds().disturbances.len() > deeds.disturbances.len());
    let path = folder.path().join("more.toml");
    session.save_experiment(&path, false).unwrap();
    assert_eq!(
        hash_of_run(&Prepared::read(&path, &[]).unwrap()),
        in_words(session.state_hash())
    );

    session.restart(false);
    assert!(session.deeds().is_empty());
    session.set_past_the_end(false);
    while session.step().unwrap() == StepOutcome::Stepped {}
    assert_eq!(in_words(session.state_hash()), hash_of_run(&prepared));
}

#[test]
fn a_curve_of_forces_gives_exactly_its_impulse_in_exactly_its_steps() {
    // without gravity and contacts the momentum is the sum of forces × time, and it begins to change in the step named
    let rate = 240.0;
    let forces: Vec<DVec3> = (0..10_000)
        .map(|i| DVec3::new((i % 7) as f64 - 3.0, (i % 3) as f64 - 1.0, 0.5))
        .collect();
    let list: Vec<String> = forces
        .iter()
        .map(|f| format!("[{:?}, {:?}, {:?}]", f.x, f.y, f.z))
        .collect();
    let prepared = prepare(&format!(
        "rate_hz = {rate}\nduration_s = 1\ngravity = [0, 0, 0]\n[character]\nfile = \"humanoid.toml\"\n\
         [[disturbances]]\ntime_s = {:?}\nevery_s = {:?}\nforces_n = [{}]\n",
        7.0 / rate,
        3.0 / rate,
        list.join(", ")
    ));
    let mut simulation = Simulation::new(&prepared);
    let mut expected = DVec3::ZERO;
    for step in 0..240 {
        simulation.control();
        simulation.step().unwrap();
        if step >= 7 {
            expected += forces[(step - 7) / 3] / rate;
            let shown: Vec<DVec3> = simulation.pushes_now().iter().map(|p| p.force).collect();
            assert_eq!(shown, [forces[(step - 7) / 3]], "pictures show it");
        }
        let p = simulation.states[0].linear_momentum;
        assert!((p - expected).length() < 1e-9, "{p} for {expected} after step {step}");
    }
}

#[test]
fn a_change_is_a_controller_built_with_the_value_from_its_time_on() {
    // at time 0 it equals the value in the file, between two calls of the controllers it waits for the next one
    let base = |controller: &str, rest: &str| {
        prepare(&format!(
            "rate_hz = 240\ncontrol_hz = 60\nduration_s = 0.5\n{}{rest}",
            WALK.replace("kind = \"track\"\n", &format!("kind = \"track\"\n{controller}"))
        ))
    };
    let change = |time: f64, path: &str, value: f64| {
        format!("[[changes]]\ntime_s = {time:?}\nparameter = \"{path}\"\nvalue = {value:?}\n")
    };
    for (key, path, value) in [
        ("kp_scale = 0.7\n", "controller.kp_scale", 0.7),
        ("gains.left_shin = { kd = 3.5 }\n", "controller.gains.left_shin.kd", 3.5),
        ("kd_scale = 2.5\n", "controller.kd_scale", 2.5),
    ] {
        assert_eq!(
            hash_of_run(&base(key, "")),
            hash_of_run(&base("", &change(0.0, path, value))),
            "{path}"
        );
    }
    let assist = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 60\nduration_s = 0.5\n{}",
        WALK.replace("[controller.assist]\n", "[controller.assist]\nkp_linear = 100\n")
    ));
    let changed = base("", &change(0.0, "controller.assist.kp_linear", 100.0));
    assert_eq!(hash_of_run(&assist), hash_of_run(&changed));

    let between = base("", &change(25.0 / 240.0, "controller.kp_scale", 0.3));
    let on_call = base("", &change(28.0 / 240.0, "controller.kp_scale", 0.3));
    let plain = base("", "");
    assert_eq!(hash_of_run(&between), hash_of_run(&on_call));
    assert_eq!(hash_after(&between, 28), hash_after(&plain, 28));
    assert_ne!(hash_after(&between, 29), hash_after(&plain, 29));
}

#[test]
fn mistakes_in_curves_and_changes_name_their_line_and_what_was_expected() {
    // every refusal says where and what to write instead
    let base = format!("rate_hz = 240\nduration_s = 1\n{STAND}");
    let curve = "[[disturbances]]\ntime_s = 0.5\nevery_s = 0.0125\nforces_n = [[1, 2, 3]]\n";
    let change = "[[changes]]\ntime_s = 0.5\nparameter = \"controller.kp_scale\"\nvalue = 2\n";
    load(&format!("{base}{curve}{change}")).unwrap_or_else(|e| panic!("{e}"));
    for (from, to, parts) in [
        (
            "every_s = 0.0125",
            "every_s = 0.012",
            &["test.toml:12:", "every_s", "0.0083", "0.0125"][..],
        ),
        (
            "every_s = 0.0125",
            "every_s = 0.000001",
            &["every_s", "at least one step"],
        ),
        ("every_s = 0.0125", "every_s = nan", &["every_s", "NaN"]),
        ("every_s = 0.0125\n", "", &["every_s", "missing"]),
        (
            "time_s = 0.5\nevery",
            "time_s = 0.501\nevery",
            &["time_s", "whole number of steps"],
        ),
        ("time_s = 0.5\nevery", "time_s = 1\nevery", &["time_s", "ends at 1"]),
        ("[[1, 2, 3]]", "[]", &["forces_n", "empty"]),
        (
            "[[1, 2, 3]]",
            "[[1, 2, 3], [1, inf, 0]]",
            &["forces_n", "entry 1", "inf"],
        ),
        ("[[1, 2, 3]]", "[[1, 2]]", &["forces_n"]),
        ("forces_n =", "direction = \"up\"\nforces_n =", &["direction", "curve"]),
        ("forces_n =", "force_n = 3\nforces_n =", &["force_n", "curve"]),
        ("forces_n = [[1, 2, 3]]", "", &["every_s", "forces_n"]),
        (
            "controller.kp_scale",
            "controller.kp_scal",
            &["changes[0].parameter", "did you mean `controller.kp_scale`"],
        ),
        (
            "controller.kp_scale",
            "kp_scale",
            &["changes[0].parameter", "controller.gains.left_shin.kp"],
        ),
        (
            "controller.kp_scale",
            "controller.assist.kp_linear",
            &["changes[0].parameter", "there is no parameter"],
        ),
        ("value = 2", "value = -2", &["changes[0].value", "-2", "0 to"]),
        ("value = 2", "value = nan", &["changes[0].value", "NaN"]),
        (
            "time_s = 0.5\npar",
            "time_s = 2\npar",
            &["changes[0].time_s", "ends at 1"],
        ),
    ] {
        let text = format!("{base}{curve}{change}");
        assert!(text.contains(from), "{from}");
        let error = load(&text.replace(from, to))
            .err()
            .unwrap_or_else(|| panic!("{to} is accepted"));
        for part in parts {
            assert!(error.contains(part), "{to}: {error}");
        }
    }
    let text = format!("rate_hz = 240\nduration_s = 1\n{TWO}{change}");
    let error = load(&text).err().unwrap();
    assert!(error.contains("characters.1.controller.kp_scale"), "{error}");
    load(&text.replace("controller.kp_scale", "characters.1.controller.kp_scale")).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn hands_refuse_what_cannot_be_done_and_stay_usable() {
    // terrain, missing bodies, NaN and absurd numbers are typed errors that change nothing
    let prepared = prepare(&format!("rate_hz = 240\nduration_s = 0.3\n{PROPS}"));
    let mut session = Session::new(prepared.clone());
    let head = BodyRef::Character { character: 0, body: 1 };
    for target in [
        BodyRef::Terrain(0),
        BodyRef::Platform(0),
        BodyRef::Prop { prop: 9, body: 0 },
        BodyRef::Prop { prop: 0, body: 1 },
        BodyRef::Character { character: 0, body: 99 },
        BodyRef::Character { character: 1, body: 0 },
    ] {
        assert_eq!(session.grab(target, DVec3::ZERO), Err(HandError::NotMovable(target)));
        let push = PushRequest {
            target,
            point: None,
            direction: Direction::Up,
            force_n: 1.0,
            duration_s: 0.1,
        };
        assert_eq!(session.push(push), Err(HandError::NotMovable(target)));
    }
    let good = PushRequest {
        target: head,
        point: None,
        direction: Direction::Left,
        force_n: 1.0,
        duration_s: 0.1,
    };
    for bad in [
        PushRequest {
            force_n: f64::NAN,
            ..good
        },
        PushRequest { force_n: 1e300, ..good },
        PushRequest {
            duration_s: 0.0,
            ..good
        },
        PushRequest {
            duration_s: f64::INFINITY,
            ..good
        },
        PushRequest {
            direction: Direction::Vector([0.0; 3]),
            ..good
        },
        PushRequest {
            point: Some(DVec3::splat(f64::NAN)),
            ..good
        },
        PushRequest {
            target: BodyRef::Prop { prop: 0, body: 0 },
            ..good
        },
    ] {
        assert!(matches!(session.push(bad), Err(HandError::Refused { .. })), "{bad:?}");
    }
    assert!(matches!(session.drag_to(DVec3::ZERO), Err(HandError::NothingHeld)));
    assert!(session.grab(head, DVec3::splat(1e300)).is_err());
    session.grab(head, DVec3::ZERO).unwrap();
    for goal in [DVec3::splat(1e300), DVec3::new(0.0, f64::NAN, 0.0), DVec3::INFINITY] {
        assert!(matches!(session.drag_to(goal), Err(HandError::BadValue { .. })));
    }
    // the farthest goal there is: the force stays within its bound, and the world within its own
    session.drag_to(DVec3::splat(1e6)).unwrap();
    let weight = prepared.actors[0].character.mass() * 9.81;
    while session.step().unwrap() == StepOutcome::Stepped {
        let force = session.hand().unwrap().force.length();
        assert!((force - 3.0 * weight).abs() < 1e-6 * weight, "{force}");
    }
    let mut settings = session.hand_settings();
    settings.frequency_hz = f64::NAN;
    assert!(session.set_hand(settings).is_err());
}

#[test]
fn a_session_survives_a_world_that_diverges() {
    // the error leaves everything readable; a restart without the deeds is the run again
    let prepared =
        prepare("rate_hz = 240\nduration_s = 0.5\ngravity = [0, 0, 0]\n[character]\nfile = \"humanoid.toml\"\n");
    let mut session = Session::new(prepared.clone());
    let foot = BodyRef::Character {
        character: 0,
        body: prepared.actors[0].character.body("left_foot").unwrap(),
    };
    for _ in 0..9 {
        session
            .push(PushRequest {
                target: foot,
                point: None,
                direction: Direction::Up,
                force_n: 9e8,
                duration_s: 5.0,
            })
            .unwrap();
    }
    let mut failed = None;
    while failed.is_none() && !session.finished() {
        failed = session.step().err();
    }
    let failed = failed.expect("900 MN on a foot").to_string();
    assert!(failed.contains("diverged"), "{failed}");
    let steps = session.steps();
    assert!(session.frame().energy.is_finite());
    assert_eq!(session.step().unwrap_err().to_string(), failed);
    assert_eq!(session.steps(), steps);
    session.restart(false);
    while session.step().unwrap() == StepOutcome::Stepped {}
    assert_eq!(in_words(session.state_hash()), hash_of_run(&prepared));
}

#[test]
fn saved_parameters_start_the_experiment_with_what_is_in_effect() {
    // every parameter of the saved experiment at its start is that of the session, with and without a controller's own table
    let folder = tempfile::tempdir().unwrap();
    for (i, base) in [
        format!("{WALK}{BUSY}"),
        TWO.into(),
        "[character]\nfile = \"humanoid.toml\"\n".to_string(),
        "[character]\nfile = \"humanoid.toml\"\n[character.controller]\nkind = \"hold\"\ngains.left_shin = { kp = 50 }\n"
            .to_string(),
    ]
    .iter()
    .enumerate()
    {
        let Ok(prepared) = load(&format!("rate_hz = 240\nduration_s = 0.5\n{base}")) else {
            panic!("{base}");
        };
        let prepared = Arc::new(prepared);
        let mut session = Session::new(prepared.clone());
        play(&mut session, 21 + i as u64, 100);
        for (j, parameter) in session.parameters().iter().enumerate().step_by(5) {
            session.set_parameter(&parameter.path, 0.5 + j as f64 / 3.0).unwrap();
        }
        let path = folder.path().join(format!("{i}.toml"));
        session.save_parameters(&path, false).unwrap();
        let saved = Prepared::read(&path, &[]).unwrap();
        assert!(saved.spec.changes.is_empty());
        assert_eq!(saved.spec.disturbances, prepared.spec.disturbances);
        assert_eq!(Session::new(Arc::new(saved)).parameters(), session.parameters());
    }
}

#[test]
fn saving_keeps_what_is_there_and_says_which_inputs_are_gone() {
    // an existing file stays unless it may be replaced; a missing input is named and nothing is lost
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("base")).unwrap();
    std::fs::copy(root().join("humanoid.toml"), folder.path().join("base/man.toml")).unwrap();
    let base = folder.path().join("base/lie.toml");
    std::fs::write(
        &base,
        "format = 1\nduration_s = 0.2\n[fall]\nstop = true\n[character]\nfile = \"man.toml\"\n",
    )
    .unwrap();
    let prepared = Arc::new(Prepared::read(&base, &[]).unwrap());
    let mut session = Session::new(prepared);
    session.set_parameter("controller.kp_scale", 0.5).unwrap();
    session.step().unwrap();
    let path = folder.path().join("steered.toml");
    session.save_experiment(&path, false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("file = \"base/man.toml\""), "{text}");
    assert!(matches!(
        session.save_experiment(&path, false),
        Err(SaveError::Exists { .. })
    ));
    session.set_parameter("controller.kp_scale", 0.6).unwrap();
    session.save_experiment(&path, true).unwrap();
    assert_ne!(std::fs::read_to_string(&path).unwrap(), text);
    assert!(matches!(
        session.save_experiment(&folder.path().join("nowhere/x.toml"), false),
        Err(SaveError::File(_))
    ));
    std::fs::remove_file(folder.path().join("base/man.toml")).unwrap();
    let saved = session
        .save_experiment(&folder.path().join("late.toml"), false)
        .unwrap();
    assert_eq!(saved.missing.len(), 1);
    assert!(saved.missing[0].ends_with("base/man.toml"));
}

/// Waits for something to become true of a live session.
fn wait(live: &Live, what: &str, mut done: impl FnMut(&Status) -> bool) -> Status {
    let begin = Instant::now();
    loop {
        let status = live.status();
        if done(&status) {
            return status;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: {status:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_pace_and_those_who_look_on_do_not_change_the_result() {
    // at every speed, with readers, pauses and single steps, the state at the end is that of the run
    let prepared = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 120\nduration_s = 0.5\n{WALK}{BUSY}"
    ));
    let expected = hash_of_run(&prepared);
    for speed in [0.25, 1.0, 4.0, f64::INFINITY] {
        let options = LiveOptions { speed, paused: true };
        let live = Live::start(Session::new(prepared.clone()), options).unwrap();
        let stop = AtomicBool::new(false);
        let end = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut time, mut pictures) = (0.0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let picture: Frame = live.picture(Instant::now());
                    assert!(
                        picture.time >= time,
                        "pictures go forward: {} after {time}",
                        picture.time
                    );
                    time = picture.time;
                    pictures += 1;
                }
                assert!(pictures > 10);
            });
            for _ in 0..3 {
                live.send(Command::StepOnce);
            }
            wait(&live, "single steps", |s| s.steps == 3 && s.paused);
            std::thread::sleep(Duration::from_millis(60));
            assert_eq!(
                live.picture(Instant::now()).time,
                3.0 / 240.0,
                "a step is seen soon, however long the pause"
            );
            live.send(Command::Resume);
            wait(&live, "some way", |s| s.steps > 20);
            live.send(Command::Pause);
            let paused = wait(&live, "pause", |s| s.paused);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(live.status().steps, paused.steps, "a pause stands still");
            if paused.end.is_none() {
                live.send(Command::StepOnce);
                live.send(Command::Resume);
            }
            let begin = Instant::now();
            let status = wait(&live, "end", |s| s.end.is_some() && s.paused);
            // half a second takes two at a quarter
            if speed == 0.25 {
                assert!(begin.elapsed() > Duration::from_millis(1200));
            }
            stop.store(true, Ordering::Relaxed);
            status.end.unwrap()
        });
        assert_eq!(
            (in_words(end.state_hash), end.steps),
            (expected.clone(), 120),
            "at {speed} times real time"
        );
        assert!((end.time - 0.5).abs() < 1e-12);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(
            live.picture(Instant::now()).time,
            end.time,
            "the last picture is the end"
        );
        let history = live.history();
        assert_eq!(history.len(), 31, "60 samples a second and one at the end");
        assert!(history.windows(2).all(|w| w[0].time < w[1].time));
        assert!(history[30].characters[0].assist_force > 0.0 && history[30].characters[0].root_height > 0.5);
    }
}

#[test]
fn a_live_session_is_steered_saved_and_repeated() {
    // commands arrive at whatever step they arrive at; what is saved arrives where the session did
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&format!("rate_hz = 240\nduration_s = 2\n{STAND}"));
    let live = Live::start(Session::new(prepared.clone()), LiveOptions::default()).unwrap();
    let chest = BodyRef::Character { character: 0, body: 2 };
    live.send(Command::Grab {
        target: chest,
        point: DVec3::Y * 0.1,
    });
    for i in 0..10 {
        live.send(Command::DragTo(DVec3::new(0.03 * f64::from(i), 1.2, 0.2)));
        live.send(Command::SetParameter {
            path: "controller.kp_scale".into(),
            value: 1.0 + 0.1 * f64::from(i),
        });
        std::thread::sleep(Duration::from_millis(15));
    }
    let status = live.status();
    assert!(
        status.hand.is_some_and(|h| h.force.length() > 1.0) && status.unsaved,
        "{status:?}"
    );
    live.send(Command::Release);
    live.send(Command::Push(PushRequest {
        target: chest,
        point: None,
        direction: Direction::Backward,
        force_n: 60.0,
        duration_s: 0.1,
    }));
    live.send(Command::Grab {
        target: BodyRef::Terrain(0),
        point: DVec3::ZERO,
    });
    live.send(Command::Speed(f64::NAN));
    live.send(Command::Speed(f64::INFINITY));
    let first = wait(&live, "end", |s| s.end.is_some());
    assert_eq!(
        (first.errors, first.disturbances, first.changes > 5),
        (2, 2, true),
        "{first:?}"
    );
    let scale = live
        .parameters()
        .iter()
        .find(|p| p.path == "controller.kp_scale")
        .unwrap()
        .value;
    assert_eq!(scale, 1.9);
    let path = folder.path().join("steered.toml");
    live.send(Command::SaveExperiment {
        path: path.clone(),
        replace: false,
    });
    live.send(Command::SaveParameters {
        path: path.clone(),
        replace: false,
    });
    let saved = wait(&live, "saved", |s| s.errors == 3);
    assert!(!saved.unsaved && saved.last_error.unwrap().contains("already"));
    let end = in_words(first.end.unwrap().state_hash);
    assert_eq!(hash_of_run(&Prepared::read(&path, &[]).unwrap()), end);

    live.send(Command::Restart { repeat: true });
    let again = wait(&live, "the same end", |s| {
        s.end.is_some() && s.commands > saved.commands
    });
    assert_eq!(in_words(again.end.unwrap().state_hash), end);
    live.send(Command::Restart { repeat: false });
    let plain = wait(&live, "the plain end", |s| {
        s.end.is_some() && s.commands > again.commands
    });
    assert_eq!(in_words(plain.end.unwrap().state_hash), hash_of_run(&prepared));
    // on past the end; a slider that never rests does not keep time from passing
    live.send(Command::Speed(0.1));
    live.send(Command::Resume);
    let mut slow = 0;
    wait(&live, "past the end", |s| {
        slow += 1;
        live.send(Command::Speed(if slow % 2 == 0 { 0.1 } else { 0.1001 }));
        s.steps > 500 && !s.paused
    });
    let session = live.stop().unwrap();
    assert!(session.steps() > 500 && session.finished());
}

#[test]
fn physics_that_cannot_keep_up_says_so_and_does_not_fall_behind() {
    // asked for more than the machine has, the achieved speed is what was achieved
    let crowd: String = (0..12)
        .map(|i| format!("[[characters]]\nname = \"c{i}\"\nfile = \"humanoid.toml\"\nposition = [{i}, 0, 0]\n"))
        .collect();
    let prepared = prepare(&format!(
        "rate_hz = 4000\nduration_s = 60\n{crowd}[[terrain]]\nkind = \"ground\"\n"
    ));
    let live = Live::start(
        Session::new(prepared),
        LiveOptions {
            speed: 16.0,
            paused: false,
        },
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let begin = Instant::now();
    live.send(Command::Pause);
    let status = wait(&live, "pause", |s| s.paused);
    assert!(
        begin.elapsed() < Duration::from_millis(300),
        "commands are heard at once"
    );
    assert!(status.time < 9.0, "{status:?}");
    live.send(Command::Resume);
    std::thread::sleep(Duration::from_millis(300));
    let status = live.status();
    assert!(
        status.achieved_speed > 0.0 && status.achieved_speed < 15.0,
        "{status:?}"
    );
    assert_eq!(status.speed, 16.0);
}

#[test]
fn what_is_held_comes_to_rest_near_its_goal_whatever_it_weighs_and_at_every_rate() {
    // a hand of half a kilogram, a head with 70 kg below it and a loose box follow the goal and do not tremble
    for (engine, rate) in [
        ("articulated", 60.0),
        ("articulated", 240.0),
        ("articulated", 1000.0),
        ("rapier", 240.0),
    ] {
        let prepared = prepare(&format!(
            "rate_hz = {rate}\nengine = \"{engine}\"\nduration_s = 2.5\n{PROPS}"
        ));
        let body = |name| BodyRef::Character {
            character: 0,
            body: prepared.actors[0].character.body(name).unwrap(),
        };
        for (name, target, way, near) in [
            ("hand", body("left_hand"), DVec3::new(0.2, 0.3, 0.2), 0.42),
            ("head", body("head"), DVec3::new(0.0, 0.5, 0.0), 0.2),
            (
                "box",
                BodyRef::Prop { prop: 0, body: 0 },
                DVec3::new(0.1, 0.5, 0.0),
                0.12,
            ),
        ] {
            let mut session = Session::new(prepared.clone());
            session.grab(target, DVec3::new(0.05, 0.05, 0.02)).unwrap();
            session.drag_to(session.hand().unwrap().at + way).unwrap();
            let mut last = session.hand().unwrap();
            while session.step().unwrap() == StepOutcome::Stepped {
                let hand = session.hand().unwrap();
                if session.time() > 2.0 {
                    let speed = (hand.at - last.at).length() * rate;
                    let jump = (hand.force - last.force).length();
                    assert!(
                        speed < 0.3 && jump < 10.0,
                        "{name}, {engine} at {rate} Hz: {speed} m/s, {jump} N"
                    );
                }
                last = hand;
            }
            let off = (last.goal - last.at).length();
            assert!(
                off < near && off < way.length(),
                "{name}, {engine} at {rate} Hz: {off} m off"
            );
        }
    }
}

#[test]
fn the_program_checks_and_runs_what_was_saved_and_the_copy_in_its_run_folder() {
    // check finds nothing to say, run arrives at the hash of the session, and so does the run folder's own experiment
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 120\nduration_s = 0.4\n{WALK}{BUSY}"
    ));
    let mut session = Session::new(prepared);
    play(&mut session, 31, 130);
    let path = folder.path().join("by hand.toml");
    session.save_experiment(&path, false).unwrap();
    let ambler = |arguments: &[&Path]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ambler"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    };
    let word = Path::new;
    assert!(ambler(&[word("check"), &path]).contains("(experiment)"));
    let expected = in_words(session.state_hash());
    for (experiment, out) in [(path.as_path(), "first"), (word("first/experiment.toml"), "second")] {
        let arguments = [
            word("run"),
            experiment,
            word("--out"),
            word(out),
            word("--json"),
            word("--set"),
            word("fall.fails=false"),
        ];
        let summary = ambler(&arguments);
        assert!(summary.contains(&expected), "{summary} for {expected}");
    }
}
