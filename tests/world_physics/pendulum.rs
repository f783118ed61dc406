//! Hinged and ball-rooted pendulums, projectiles, pushes.

use ambler::character::{Body, Collider, Joint};
use ambler::math::rotation::exp;
use ambler::world::{BodyRef, ExternalForce, Scene};
use glam::{DQuat, DVec3};

use crate::common::*;

const MASS: f64 = 1.7;
const LENGTH: f64 = 0.8;

/// A bob hanging at `angle` from the vertical on a hinge (about an axis in the horizontal plane) or a ball joint.
fn pendulum(joint: Joint, angle: f64) -> (Body, DQuat) {
    let body = Body {
        joint,
        ..bob(MASS, vec(0.0, -LENGTH, 0.0), vec(0.03, 0.01, 0.02))
    };
    (body, exp(AXIS * angle))
}

/// The axis of swing: x, about which the bob's inertia is 0.03 kg m².
const AXIS: DVec3 = DVec3::X;

/// Inertia about the pivot.
fn inertia() -> f64 {
    0.03 + MASS * LENGTH * LENGTH
}

/// Period at amplitude `angle`: 2π √(I / m g l) / agm(1, cos(angle / 2)).
fn period(angle: f64) -> f64 {
    let (mut a, mut g) = (1.0, libm::cos(0.5 * angle));
    for _ in 0..20 {
        (a, g) = (0.5 * (a + g), f64::sqrt(a * g));
    }
    std::f64::consts::TAU * (inertia() / (MASS * GRAVITY * LENGTH)).sqrt() / a
}

fn hanging(body: Body, rest: DQuat, rate: f64) -> World {
    let scene = Scene {
        props: vec![prop(body, vec(0.5, 3.0, -1.0), rest)],
        ..Scene::default()
    };
    World::new(scene, rate)
}

#[test]
fn the_period_is_that_of_theory_and_the_step() {
    // semi-implicit Euler shortens a period by (ω dt)²/24 to leading order: at small amplitudes exactly that, at large ones
    // within three times as much
    let joints = [("hinge", Joint::Hinge { axis: AXIS }), ("ball", Joint::Ball)];
    for (name, joint) in joints {
        for angle in [0.05_f64, 0.6, 1.5, 2.5] {
            for rate in [30.0, 60.0, 240.0, 1000.0] {
                let (body, rest) = pendulum(joint, angle);
                let mut world = hanging(body, rest, rate);
                let theory = period(angle);
                let swing = |world: &World| {
                    let bob = world.engine.prop_body(0, 0);
                    (bob.rotation * DVec3::NEG_Y).dot(DVec3::Z)
                };
                // passages through the lowest point, interpolated
                let (mut last, mut first, mut latest, mut passages) = (swing(&world), f64::NAN, 0.0, 0);
                while passages < 11 {
                    world.step();
                    let now = swing(&world);
                    if now * last < 0.0 {
                        latest = world.engine.time() - world.engine.dt() * now / (now - last);
                        if passages == 0 {
                            first = latest;
                        }
                        passages += 1;
                    }
                    last = now;
                    assert!(world.engine.time() < 30.0);
                }
                let found = (latest - first) / 5.0;
                let small = std::f64::consts::TAU / period(0.0) / rate;
                let predicted = 1.0 - small * small / 24.0;
                let ratio = found / theory;
                println!(
                    "{name} {angle} rad {rate} Hz: {ratio:.7} of theory, predicted {predicted:.7} for small swings"
                );
                if angle < 0.1 {
                    assert!((ratio - predicted).abs() < 1e-5 + 0.05 * (1.0 - predicted));
                } else {
                    assert!((ratio - 1.0).abs() < 1e-6 + small * small / 8.0);
                }
            }
        }
    }
}

#[test]
fn the_energy_of_a_pendulum_stays_bounded() {
    // for a minute the energy oscillates by at most ω dt of the swing's and does not drift
    for (name, joint, spin) in [
        ("hinge", Joint::Hinge { axis: AXIS }, DVec3::ZERO),
        ("ball", Joint::Ball, DVec3::ZERO),
        ("ball in a cone", Joint::Ball, vec(0.3, 2.5, 0.8)),
    ] {
        for rate in [30.0, 60.0, 240.0, 1000.0] {
            let (body, rest) = pendulum(joint, 1.2);
            let mut world = hanging(body, rest, rate);
            if spin != DVec3::ZERO {
                world
                    .engine
                    .set_prop(0, vec(0.5, 3.0, -1.0), rest, DVec3::ZERO, spin)
                    .unwrap();
            }
            let start = world.engine.energy();
            let depth = MASS * GRAVITY * LENGTH;
            let mut largest = 0.0_f64;
            let mut means = [0.0; 6];
            for i in 0..world.steps_in(60.0) {
                world.step();
                let change = (world.engine.energy() - start) / depth;
                largest = largest.max(change.abs());
                means[i / world.steps_in(10.0)] += change / world.steps_in(10.0) as f64;
            }
            let drift = means[5] - means[0];
            println!("{name} {rate} Hz: energy within {largest:.2e} of m g l, drift {drift:+.1e} in 50 s");
            assert!(largest < 8.0 / rate, "{name} {rate} Hz: {largest}");
            assert!(drift.abs() < 0.4 / rate, "{name} {rate} Hz: {drift}");
        }
    }
}

#[test]
fn a_spinning_capsule_on_a_ball_joint_does_not_explode() {
    // a limb-shaped body hung by its end with 15 rad/s about its axis and a sideways swing: energy stays within 15 % of what
    // it started with for a minute, at every rate
    for rate in [60.0, 120.0, 240.0, 1000.0] {
        let mut b = body(capsule(0.2, 0.05), 3.0);
        b.colliders = vec![Collider {
            position: vec(0.0, -0.25, 0.0),
            ..b.colliders[0].clone()
        }];
        b.center_of_mass = vec(0.0, -0.25, 0.0);
        b.joint = Joint::Ball;
        let rest = exp(vec(0.9, 0.0, 0.3));
        let mut world = hanging(b, rest, rate);
        world
            .engine
            .set_prop(0, vec(0.5, 3.0, -1.0), rest, DVec3::ZERO, vec(1.0, 15.0, 2.0))
            .unwrap();
        let start = world.engine.energy();
        let bottom = -3.0 * GRAVITY * -(3.0 - 0.25);
        let (mut most, mut least) = (start, start);
        for _ in 0..world.steps_in(60.0) {
            world.step();
            most = most.max(world.engine.energy());
            least = least.min(world.engine.energy());
        }
        println!(
            "{rate} Hz: energy above hanging at rest {:.3} J, within {:+.3} {:+.3} J",
            start - bottom,
            least - start,
            most - start
        );
        assert!(most - start < 0.15 * (start - bottom) && start - least < 0.15 * (start - bottom));
    }
}

#[test]
fn a_passive_chain_of_limbs_gains_no_energy() {
    // three limbs on undamped ball joints, swinging and spinning: in 20 s energy rises by less than 3 % and falls by less
    // than 10 % of what moves them, at every rate
    for rate in [60.0, 120.0, 240.0, 1000.0] {
        let limb = |parent: Option<usize>| {
            let mut b = body(capsule(0.2, 0.05), 3.0);
            b.colliders.clear();
            b.center_of_mass = vec(0.0, -0.25, 0.0);
            b.joint = Joint::Ball;
            b.parent = parent;
            if parent.is_some() {
                b.offset = vec(0.0, -0.5, 0.0);
            }
            b
        };
        let mut bodies = vec![limb(None), limb(Some(0)), limb(Some(1))];
        for (i, b) in bodies.iter_mut().enumerate() {
            b.name = format!("limb {i}");
        }
        let character = std::sync::Arc::new(ambler::character::Character {
            name: "chain".into(),
            bodies,
        });
        let scene = Scene {
            characters: vec![place(&character, vec(0.0, 3.0, 0.0), 0.0)],
            ..Scene::default()
        };
        let mut world = World::new(scene, rate);
        let joints: Vec<_> = [vec(0.9, 0.0, 0.3), vec(-0.3, 0.2, 0.5), vec(0.4, 0.0, -0.2)]
            .map(|r| ambler::world::JointPosition::Rotation(exp(r)))
            .to_vec();
        let rates = vec![
            (DVec3::ZERO, vec(1.0, 4.0, 0.5)),
            (DVec3::ZERO, vec(0.0, -8.0, 1.0)),
            (DVec3::ZERO, vec(2.0, 6.0, 0.0)),
        ];
        world
            .engine
            .set_character(0, vec(0.0, 3.0, 0.0), DQuat::IDENTITY, &joints, &rates)
            .unwrap();
        let start = world.engine.energy();
        let (mut most, mut least) = (start, start);
        for _ in 0..world.steps_in(20.0) {
            world.step();
            most = most.max(world.engine.energy());
            least = least.min(world.engine.energy());
        }
        // above the chain hanging at rest
        let size = start - 3.0 * GRAVITY * (2.75 + 2.25 + 1.75);
        println!(
            "{rate} Hz: {size:.2} J above rest, within {:+.4} {:+.4} of that",
            (least - start) / size,
            (most - start) / size
        );
        assert!(most - start < 0.03 * size && start - least < 0.1 * size);
    }
}

#[test]
fn a_projectile_flies_its_parabola() {
    // x + v t + g t²/2 to 1e-10 m at every rate, while it spins
    for rate in RATES {
        let gravity = vec(1.0, -GRAVITY, 0.5);
        let scene = Scene {
            gravity,
            props: vec![prop(
                body(cuboid(0.1, 0.2, 0.3), 2.0),
                vec(0.0, 1.0, 0.0),
                DQuat::IDENTITY,
            )],
            ..Scene::default()
        };
        let mut world = World::new(scene, rate);
        let (x, v) = (vec(0.0, 1.0, 0.0), vec(3.0, 5.0, -2.0));
        world
            .engine
            .set_prop(0, x, DQuat::IDENTITY, v, vec(1.0, 2.0, -4.0))
            .unwrap();
        world.run(2.0);
        let t = world.engine.time();
        let error = (world.engine.prop_body(0, 0).center_of_mass - (x + v * t + 0.5 * gravity * t * t)).length();
        println!("{rate} Hz: {error:.1e} m after {t} s");
        assert!(error < 1e-10);
    }
}

#[test]
fn a_constant_push_accelerates_evenly() {
    // forces of one step do not pile up in the next: equal Δv per step against friction, nothing when it ends but friction
    let friction = 0.4;
    let scene = Scene {
        terrain: vec![ground(friction)],
        props: vec![prop(
            with_material(body(cuboid(0.2, 0.2, 0.2), 10.0), friction, 0.0),
            vec(0.0, 0.2, 0.0),
            DQuat::IDENTITY,
        )],
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    let push = ExternalForce {
        target: BodyRef::Prop { prop: 0, body: 0 },
        // low, so that it does not tip over
        point: vec(0.0, -0.2, 0.0),
        force: vec(100.0, 0.0, 0.0),
        torque: DVec3::ZERO,
    };
    let expected = (100.0 / 10.0 - friction * GRAVITY) / 240.0;
    let mut last = 0.0;
    for step in 0..120 {
        world.try_step(&[push]).unwrap();
        let now = world.engine.prop_body(0, 0).velocity.x;
        if step > 0 {
            assert!(
                (now - last - expected).abs() < 1e-6,
                "step {step}: {} instead of {expected}",
                now - last
            );
        }
        last = now;
    }
    world.step();
    let now = world.engine.prop_body(0, 0).velocity.x;
    assert!((now - last + friction * GRAVITY / 240.0).abs() < 1e-6);
}
