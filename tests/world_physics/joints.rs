//! Joint limits and the PD law.

use std::sync::Arc;

use ambler::character::{Body, Character, Joint, Limit};
use ambler::math::rotation::{angle_between, exp};
use ambler::world::{JointPosition, PdMode, Scene, StepError};
use glam::{DQuat, DVec3};

use crate::common::*;

const REACH: f64 = 0.3;

/// An arm of 2 kg whose centre of mass is 0.3 m along x, on a root joint.
fn arm(joint: Joint) -> Body {
    Body {
        joint,
        ..bob(2.0, vec(REACH, 0.0, 0.0), vec(0.01, 0.02, 0.03))
    }
}

/// Inertia about the joint around z.
const INERTIA: f64 = 0.03 + 2.0 * REACH * REACH;

fn rooted(body: Body, gravity: bool, rate: f64) -> World {
    let character = Arc::new(Character {
        name: "arm".into(),
        bodies: vec![body],
    });
    let scene = Scene {
        gravity: if gravity { vec(0.0, -GRAVITY, 0.0) } else { DVec3::ZERO },
        characters: vec![place(&character, vec(0.0, 2.0, 0.0), 0.0)],
        ..Scene::default()
    };
    World::new(scene, rate)
}

fn gains(world: &mut World, kp: f64, kd: f64) {
    let joint = &mut world.actuations[0].joints[0];
    (joint.kp, joint.kd) = (DVec3::splat(kp), DVec3::splat(kd));
}

fn angle(world: &mut World) -> f64 {
    match world.read(0).joints[0] {
        JointPosition::Angle(angle) => angle,
        ref other => panic!("a hinge has an angle, not {other:?}"),
    }
}

fn rotation(world: &mut World) -> DQuat {
    match world.read(0).joints[0] {
        JointPosition::Rotation(q) => q,
        ref other => panic!("a ball joint has a rotation, not {other:?}"),
    }
}

const HINGE: Joint = Joint::Hinge { axis: DVec3::Z };

#[test]
fn limits_hold_against_large_torques() {
    // 150 N m on an arm of 2 kg (a strong hip on a light leg), 15 about its long axis, run it into its limit at 30 to 40 rad/s
    // and press it there: less than 1.5 degrees beyond at 120 Hz and above, for every kind of limit and in every direction
    // (Light damping, because a torque that is constant in the parent's axes drives an arm round and round along its cone.)
    let torque = vec(15.0, 150.0, 150.0);
    let axes = [DVec3::Z, vec(0.0, 0.8, 0.6)];
    let damped = |joint| Body {
        damping: [0.6; 3],
        ..arm(joint)
    };
    let range = |joint| Body {
        limit: Limit::Range([[-0.7, 0.9], [-0.5, 0.6]]),
        ..damped(joint)
    };
    let cone = |center: DVec3| Body {
        limit: Limit::SwingTwist {
            axis: DVec3::X,
            center: exp(center),
            swing: 0.8,
            twist: [-0.5, 0.7],
        },
        ..damped(Joint::Ball)
    };
    let cases = [
        ("hinge", range(HINGE)),
        ("universal", range(Joint::Universal { axes })),
        ("cone", cone(DVec3::ZERO)),
        ("cone off centre", cone(vec(0.0, 0.3, -0.4))),
    ];
    let mut directions = vec![
        DVec3::X,
        DVec3::Y,
        DVec3::Z,
        vec(0.6, 0.0, 0.8),
        vec(0.0, 0.7, -0.7),
        vec(0.57, 0.57, 0.57),
    ];
    directions.extend(directions.clone().iter().map(|d| -*d));
    let mut failures = Vec::new();
    for (name, body) in cases {
        for rate in [60.0, 120.0, 240.0, 480.0, 1000.0] {
            let mut worst = (0.0_f64, 0.0_f64, DVec3::ZERO);
            for direction in &directions {
                let mut world = rooted(body.clone(), false, rate);
                gains(&mut world, 0.0, 0.0);
                world.actuations[0].joints[0].feed_forward = torque * *direction;
                let mut at_rest = 0.0;
                for i in 0..world.steps_in(1.0) {
                    world.step();
                    let excess = world.engine.last_step().max_limit_violation;
                    if excess > worst.0 {
                        worst.0 = excess;
                        worst.2 = *direction;
                    }
                    if i > world.steps_in(0.8) {
                        at_rest = f64::max(at_rest, excess);
                    }
                }
                worst.1 = worst.1.max(at_rest);
            }
            println!(
                "{name} {rate} Hz: {:.3} degrees beyond, {:.3} when pressed for long (driven by {})",
                worst.0.to_degrees(),
                worst.1.to_degrees(),
                worst.2
            );
            if rate >= 120.0 && worst.0.to_degrees() >= 1.5 {
                failures.push(format!("{name} {rate} Hz: {} degrees", worst.0.to_degrees()));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn hinge_targets_are_reached_all_the_way_round() {
    // ±90, ±135, ±170 degrees without gravity: error below 1e-6 rad after 3 s
    for rate in [60.0, 240.0, 1000.0] {
        for degrees in [90.0, 135.0, 170.0, -90.0, -135.0, -170.0_f64] {
            let mut world = rooted(arm(HINGE), false, rate);
            gains(&mut world, 300.0, 20.0);
            world.actuations[0].joints[0].target = JointPosition::Angle(degrees.to_radians());
            world.run(3.0);
            let error = angle(&mut world) - degrees.to_radians();
            assert!(error.abs() < 1e-6, "{rate} Hz, {degrees}: {error}");
        }
    }
}

/// From the exact middle of its cone, where no direction of swing is defined, a ball joint that would cross its limit
/// within one step is stopped like any other; one whose bone points backwards, where no twist is defined, stays finite.
#[test]
fn a_limit_that_is_undefined_at_the_start_of_a_step_is_met_at_its_end() {
    let limited = |swing: f64, twist: [f64; 2]| Body {
        limit: Limit::SwingTwist {
            axis: DVec3::X,
            center: DQuat::IDENTITY,
            swing,
            twist,
        },
        ..arm(Joint::Ball)
    };
    let backwards = exp(DVec3::Z * std::f64::consts::PI);
    for (body, start, rate) in [
        (limited(0.3, [-0.4, 0.4]), DQuat::IDENTITY, vec(0.0, 30.0, 20.0)),
        (limited(0.3, [-0.4, 0.4]), DQuat::IDENTITY, vec(25.0, 0.0, 30.0)),
        (limited(3.1, [-0.1, 0.1]), backwards, vec(20.0, 5.0, 20.0)),
    ] {
        let mut world = rooted(body, false, 30.0);
        gains(&mut world, 0.0, 0.0);
        let joints = [JointPosition::Rotation(start)];
        world
            .engine
            .set_character(0, vec(0.0, 2.0, 0.0), DQuat::IDENTITY, &joints, &[(DVec3::ZERO, rate)])
            .unwrap();
        world.step();
        // the report is about the pose at the end of a step
        let excess = world.engine.last_step().max_limit_violation;
        assert!(
            excess < 2f64.to_radians() || start != DQuat::IDENTITY,
            "{rate}: {} degrees",
            excess.to_degrees()
        );
        assert!(rotation(&mut world).is_finite());
    }
}

#[test]
fn ball_targets_near_half_a_turn_are_reached() {
    // rotations of up to 180 degrees about any axis: error below 1e-6 rad after 4 s, no matter which way round is chosen
    for rate in [60.0, 240.0, 1000.0] {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z, vec(0.6, -0.48, 0.64)] {
            for degrees in [90.0, 179.0, 180.0, 181.0, -179.999_f64] {
                let mut world = rooted(arm(Joint::Ball), false, rate);
                gains(&mut world, 300.0, 20.0);
                let target = exp(axis * degrees.to_radians());
                world.actuations[0].joints[0].target = JointPosition::Rotation(target);
                world.run(4.0);
                let error = angle_between(rotation(&mut world), target);
                assert!(error < 1e-6, "{rate} Hz, {degrees} about {axis}: {error}");
            }
        }
    }
}

#[test]
fn the_static_error_is_the_sag_under_gravity() {
    // kp e = m g l cos(q) at rest, at every rate, and the torque reported is that
    for rate in RATES {
        for kp in [200.0, 1500.0] {
            let mut world = rooted(arm(HINGE), true, rate);
            gains(&mut world, kp, 0.1 * kp);
            world.run(6.0);
            let q = angle(&mut world);
            let load = 2.0 * GRAVITY * REACH * libm::cos(q);
            let torque = world.read(0).torques[0].x;
            println!("{rate} Hz, kp {kp}: sag {:.6} rad, m g l / kp = {:.6}", -q, load / kp);
            assert!((-q - load / kp).abs() < 1e-9 && (torque - load).abs() < 1e-6);
        }
    }
}

#[test]
fn feed_forward_of_the_load_removes_the_sag() {
    // with the torque of gravity added the target is held to 1e-9 rad
    for rate in [30.0, 240.0, 1000.0] {
        let mut world = rooted(arm(HINGE), true, rate);
        gains(&mut world, 200.0, 20.0);
        world.actuations[0].joints[0].feed_forward.x = 2.0 * GRAVITY * REACH;
        world.run(3.0);
        let q = angle(&mut world);
        println!("{rate} Hz: {q:.1e} rad");
        assert!(q.abs() < 1e-9);
    }
}

#[test]
fn a_moving_target_is_followed_without_lag_only_with_its_velocity() {
    // a target turning at 1.3 rad/s: no lag with the target's rate, kd v / kp + v dt without
    for rate in [30.0, 240.0, 1000.0] {
        for with_rate in [true, false] {
            let mut world = rooted(arm(HINGE), false, rate);
            let (kp, kd, speed) = (200.0, 20.0, 1.3);
            gains(&mut world, kp, kd);
            let mut lag = 0.0;
            for _ in 0..world.steps_in(3.0) {
                let target = speed * world.engine.time();
                lag = target - angle(&mut world);
                world.actuations[0].joints[0].target = JointPosition::Angle(target);
                world.actuations[0].joints[0].target_velocity.x = if with_rate { speed } else { 0.0 };
                world.step();
            }
            let expected = if with_rate { 0.0 } else { speed * (kd / kp + 1.0 / rate) };
            println!("{rate} Hz with rate {with_rate}: lag {lag:.3e}, expected {expected:.3e}");
            assert!((lag - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn a_swinging_target_with_computed_torque_is_followed_exactly_in_the_limit() {
    // with rate and feed-forward of the inertia the error of a sine falls with the step
    let mut last = f64::NAN;
    for rate in [60.0, 120.0, 240.0, 480.0] {
        let mut world = rooted(arm(HINGE), false, rate);
        gains(&mut world, 200.0, 20.0);
        let (size, w) = (0.6, 7.0);
        let mut worst = 0.0_f64;
        for i in 0..world.steps_in(4.0) {
            let t = world.engine.time();
            let joint = &mut world.actuations[0].joints[0];
            joint.target = JointPosition::Angle(size * libm::sin(w * t));
            joint.target_velocity.x = size * w * libm::cos(w * t);
            joint.feed_forward.x = -INERTIA * size * w * w * libm::sin(w * t);
            world.step();
            if i > world.steps_in(2.0) {
                let t = world.engine.time();
                worst = worst.max((angle(&mut world) - size * libm::sin(w * t)).abs());
            }
        }
        println!(
            "{rate} Hz: {worst:.2e} rad, {:.2} times less than at half the rate",
            last / worst
        );
        assert!(last.is_nan() || last / worst > 1.8);
        last = worst;
    }
}

#[test]
fn explicit_pd_diverges_where_theory_says_and_says_so() {
    // kp dt² / I + 2 kd dt / I < 4 is the bound of the explicit law with semi-implicit steps: 3 % below it the arm comes to rest,
    // 3 % above it a typed error names body and gains, and the failed step leaves the state untouched
    for rate in [60.0, 240.0, 1000.0] {
        let dt = 1.0 / rate;
        let kp = 0.2 * INERTIA / (dt * dt);
        let bound = (4.0 * INERTIA - kp * dt * dt) / (2.0 * dt);
        for (share, stable) in [(0.97, true), (1.03, false)] {
            let mut world = rooted(arm(HINGE), false, rate);
            world.actuations[0].mode = PdMode::Explicit;
            gains(&mut world, kp, share * bound);
            world.actuations[0].joints[0].target = JointPosition::Angle(0.3);
            let mut outcome = Ok(());
            for _ in 0..2000 {
                let before = (world.engine.state_hash(), world.engine.steps());
                outcome = world.try_step(&[]);
                if outcome.is_err() {
                    assert_eq!(before, (world.engine.state_hash(), world.engine.steps()));
                    break;
                }
            }
            println!("{rate} Hz, {share} of kd {bound:.1}: {outcome:?}");
            let q = angle(&mut world);
            assert!(q.is_finite());
            if stable {
                assert_eq!(outcome, Ok(()));
                assert!((q - 0.3).abs() < 1e-6, "{q}");
            } else {
                let Err(StepError::Diverged {
                    character, body, hint, ..
                }) = outcome
                else {
                    panic!("expected divergence, got {outcome:?}");
                };
                assert_eq!((character.as_str(), body.as_str()), ("arm", "body"));
                for part in ["explicit", "joint body", "kp", "kd"] {
                    assert!(hint.contains(part), "{hint}");
                }
                // it can go on with other gains
                world.actuations[0].mode = PdMode::Stable;
                world.step();
            }
        }
        // stable PD does not care
        let mut world = rooted(arm(HINGE), false, rate);
        gains(&mut world, kp, 10.0 * bound);
        world.actuations[0].joints[0].target = JointPosition::Angle(0.3);
        for _ in 0..20_000 {
            world.step();
        }
        assert!((angle(&mut world) - 0.3).abs() < 1e-6);
    }
}
