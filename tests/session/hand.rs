//! What hands can do and what they cannot.

use ambler::experiment::spec::Direction;
use ambler::experiment::{HandError, PushRequest, Session, StepOutcome};
use ambler::world::BodyRef;
use glam::DVec3;

use super::{PROPS, prepare};

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
    session.grab(BodyRef::Prop { prop: 0, body: 0 }, DVec3::ZERO).unwrap();
    let mut settings = session.hand_settings();
    settings.frequency_hz = f64::NAN;
    assert!(session.set_hand(settings).is_err());
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
