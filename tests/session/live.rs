//! Sessions on a thread of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ambler::experiment::spec::Direction;
use ambler::experiment::{Command, Frame, Live, LiveOptions, Prepared, PushRequest, Session, Status};
use ambler::world::BodyRef;
use glam::DVec3;

use super::{BUSY, STAND, WALK, hash_of_run, in_words, prepare};

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
