//! Experiments that somebody steers: whatever is done by hand is done again by the experiment that is saved, to the bit.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

mod forms;
mod hand;
mod live;
mod save;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ambler::experiment::spec::Direction;
use ambler::experiment::{
    HandError, LoadedSpec, Prepared, PushRequest, RunOptions, Session, Simulation, StepOutcome, run,
};
use ambler::math::random::uniform;
use ambler::world::BodyRef;
use glam::DVec3;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters")
}

pub(crate) fn load(text: &str) -> Result<Prepared, String> {
    let text = format!("format = 1\n{text}");
    let loaded = LoadedSpec::parse(&text, "test.toml", root(), &[]).map_err(|e| e.to_string())?;
    Prepared::new(&loaded).map_err(|e| e.to_string())
}

pub(crate) fn prepare(text: &str) -> Arc<Prepared> {
    Arc::new(load(text).unwrap_or_else(|e| panic!("{e}")))
}

pub(crate) const STAND: &str =
    "[character]\nfile = \"humanoid.toml\"\n[controller]\nkind = \"hold\"\n[[terrain]]\nkind = \"ground\"\n";
pub(crate) const WALK: &str = "[character]\nfile = \"humanoid.toml\"\n[motion]\nfile = \"../clips/walk.bvh\"\nloop = true\n\
                    [controller]\nkind = \"track\"\n[controller.assist]\n[[terrain]]\nkind = \"ground\"\n";
pub(crate) const TWO: &str = "[[characters]]\nname = \"one\"\nfile = \"humanoid.toml\"\n\
                   [[characters]]\nname = \"two\"\nfile = \"humanoid.toml\"\nposition = [0.9, 0, 0]\nheading_deg = 30\n\
                   [characters.controller]\nkind = \"hold\"\nkp_scale = 1.5\n[[terrain]]\nkind = \"ground\"\n";
pub(crate) const PROPS: &str = "[character]\nfile = \"humanoid.toml\"\n[[terrain]]\nkind = \"ground\"\n\
                     [[props]]\nname = \"box\"\nkind = \"box\"\nmass = 3\nsize = [0.3, 0.3, 0.3]\nposition = [0.6, 0.15, 0.4]\n\
                     [[props]]\nkind = \"box\"\nmass = 15\nsize = [0.4, 0.06, 3]\nposition = [2, 0.5, 0]\n\
                     hinge = { axis = [1, 0, 0], range_deg = [-15, 15], damping = 2 }\n";
/// Disturbances and a change that are there before anybody does anything.
pub(crate) const BUSY: &str = "[[disturbances]]\ntime_s = 0.1\nimpulse_ns = 4\ndirection = \"left\"\n\
                    [[disturbances]]\ntime_s = 0.25\nevery_s = 0.05\nforces_n = [[10, 0, 3], [0, 0, 0], [-20, 5, 1]]\n\
                    [[changes]]\ntime_s = 0.2\nparameter = \"controller.kd_scale\"\nvalue = 1.25\n";

fn hash(simulation: &Simulation) -> u64 {
    simulation.engine.state_hash()
}

/// Where an experiment has come to after some steps.
pub(crate) fn hash_after(prepared: &Prepared, steps: u64) -> u64 {
    let mut simulation = Simulation::new(prepared);
    for _ in 0..steps {
        simulation.control();
        simulation.step().unwrap();
    }
    hash(&simulation)
}

pub(crate) fn hash_of_run(prepared: &Prepared) -> String {
    run(prepared, &RunOptions::default(), &mut ()).summary.state_hash
}

pub(crate) fn in_words(hash: u64) -> String {
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
pub(crate) fn play(session: &mut Session, seed: u64, steps: u64) {
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
