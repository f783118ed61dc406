//! Moving platforms, slopes and stairs under boxes and characters.

use std::f64::consts::TAU;

use ambler::character::Material;
use ambler::math::rotation::exp;
use ambler::world::{Platform, PlatformMotion, Scene, TerrainShape};
use glam::{DQuat, DVec3};

use crate::common::*;

fn platform(motion: PlatformMotion, friction: f64) -> Platform {
    Platform {
        half_extents: vec(2.0, 0.1, 2.0),
        position: vec(0.0, -0.1, 0.0),
        rotation: DQuat::IDENTITY,
        motion,
        material: Material {
            friction,
            restitution: 0.0,
        },
    }
}

fn sine(amplitude: DVec3, frequency: f64) -> PlatformMotion {
    PlatformMotion::Sine { amplitude, frequency }
}

/// A box of 3 kg on a platform; its place relative to the platform's at the start.
fn riding_box(platform: Platform, at: DVec3, friction: f64, rate: f64) -> World {
    let scene = Scene {
        platforms: vec![platform],
        props: vec![prop(
            with_material(body(cuboid(0.2, 0.1, 0.2), 3.0), friction, 0.0),
            at,
            DQuat::IDENTITY,
        )],
        ..Scene::default()
    };
    World::new(scene, rate)
}

#[test]
fn a_platform_carries_a_box() {
    // a box that starts with the platform's velocity stays in its place on it, up and down and sideways, as long as the
    // acceleration is below µ g and g: drift below a millimetre in 5 s
    for rate in [60.0, 240.0, 1000.0] {
        for amplitude in [vec(0.3, 0.0, 0.0), vec(0.0, 0.2, 0.0), vec(0.15, 0.1, -0.2)] {
            let frequency = 0.5;
            let motion = sine(amplitude, frequency);
            let mut world = riding_box(platform(motion, 0.8), vec(0.1, 0.1, 0.0), 0.8, rate);
            let velocity = amplitude * TAU * frequency;
            world
                .engine
                .set_prop(0, vec(0.1, 0.1, 0.0), DQuat::IDENTITY, velocity, DVec3::ZERO)
                .unwrap();
            let mut drift = 0.0_f64;
            for _ in 0..world.steps_in(5.0) {
                world.step();
                let relative = world.engine.prop_body(0, 0).position - world.engine.platform_pose(0).0;
                drift = drift.max((relative - vec(0.1, 0.2, 0.0)).length());
            }
            println!("{rate} Hz, {amplitude}: drift {:.4} mm", 1e3 * drift);
            assert!(drift < 1e-3);
        }
    }
}

#[test]
fn a_platform_that_is_too_quick_leaves_the_box_behind_with_friction() {
    // accelerated beyond µ g the box gains exactly µ g t: constant velocity of 2 m/s under a box at rest
    let friction = 0.3;
    for rate in [60.0, 240.0, 1000.0] {
        let motion = PlatformMotion::Linear {
            velocity: vec(1.2, 0.0, -1.6),
            angular_velocity: DVec3::ZERO,
        };
        let mut world = riding_box(platform(motion, friction), vec(0.0, 0.1, 0.0), friction, rate);
        world.run(0.5);
        let velocity = world.engine.prop_body(0, 0).velocity;
        let expected = friction * GRAVITY * world.engine.time() * vec(0.6, 0.0, -0.8);
        println!("{rate} Hz: {velocity}, expected {expected}");
        assert!((velocity - expected).length() < 2e-3);
    }
}

#[test]
fn a_turning_platform_carries_a_box_round() {
    // at ω² r below µ g the box stays where it is on the turntable for two turns: radius within 2 mm, angle within 2 mrad
    for rate in [60.0, 240.0, 1000.0] {
        let spin = vec(0.0, 1.5, 0.0);
        let motion = PlatformMotion::Linear {
            velocity: DVec3::ZERO,
            angular_velocity: spin,
        };
        let start = vec(0.8, 0.1, 0.0);
        let mut world = riding_box(platform(motion, 1.0), start, 1.0, rate);
        world
            .engine
            .set_prop(0, start, DQuat::IDENTITY, spin.cross(start), spin)
            .unwrap();
        world.run(2.0 * TAU / 1.5);
        let (x, q) = world.engine.platform_pose(0);
        let place = q.conjugate() * (world.engine.prop_body(0, 0).position - x) - vec(0.0, 0.1, 0.0);
        println!("{rate} Hz: {place}, from {start}");
        assert!((place.length() - start.length()).abs() < 2e-3);
        assert!(libm::atan2(place.z, place.x).abs() < 2e-3);
    }
}

#[test]
fn a_bounce_on_a_rising_platform_counts_its_speed() {
    // restitution 0.5 of the speed relative to a platform that rises at 1 m/s: the ball leaves at 1 + 0.5 (v + 1)
    let motion = PlatformMotion::Linear {
        velocity: vec(0.0, 1.0, 0.0),
        angular_velocity: DVec3::ZERO,
    };
    let scene = Scene {
        gravity: DVec3::ZERO,
        platforms: vec![platform(motion, 0.0)],
        props: vec![prop(
            with_material(body(sphere(0.1), 2.0), 0.0, 0.5),
            vec(0.0, 1.1, 0.0),
            DQuat::IDENTITY,
        )],
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    world
        .engine
        .set_prop(0, vec(0.0, 1.1, 0.0), DQuat::IDENTITY, vec(0.0, -2.0, 0.0), DVec3::ZERO)
        .unwrap();
    world.run(1.0);
    let velocity = world.engine.prop_body(0, 0).velocity;
    println!("{velocity}");
    assert!((velocity - vec(0.0, 2.5, 0.0)).length() < 1e-9);
}

#[test]
fn a_standing_character_rides_a_platform() {
    // up and down and sideways at 0.3 Hz the character stays up and its feet stay in place on the platform to a millimetre
    for file in ["benchmark.toml", "humanoid.toml"] {
        let character = load(file);
        for rate in [60.0, 240.0, 1000.0] {
            for amplitude in [vec(0.0, 0.15, 0.0), vec(0.1, 0.0, 0.0), vec(0.0, 0.0, 0.05)] {
                let scene = Scene {
                    platforms: vec![platform(sine(amplitude, 0.3), 1.0)],
                    characters: vec![place(&character, DVec3::ZERO, 0.0)],
                    ..Scene::default()
                };
                let mut world = World::new(scene, rate);
                let (root, joints) = natural_pose(&character);
                world.pose(0, vec(0.0, root, 0.0), DQuat::IDENTITY, &joints);
                let velocity = amplitude * TAU * 0.3;
                let mut rates = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
                rates[0].0 = velocity;
                world
                    .engine
                    .set_character(0, vec(0.0, root, 0.0), DQuat::IDENTITY, &joints, &rates)
                    .unwrap();
                let foot = character.body("left_foot").unwrap();
                let start = world.read(0).bodies[foot].position;
                let (mut slip, mut sink) = (0.0_f64, 0.0_f64);
                for _ in 0..world.steps_in(10.0) {
                    world.step();
                    let shift = world.engine.platform_pose(0).0 - vec(0.0, -0.1, 0.0);
                    let s = world.read(0);
                    slip = slip.max((s.bodies[foot].position - start - shift).length());
                    sink = sink.max((s.bodies[0].position.y - root - shift.y).abs());
                }
                println!(
                    "{file} {rate} Hz {amplitude}: foot moves {:.4} mm on the platform, pelvis {:.2} mm",
                    1e3 * slip,
                    1e3 * sink
                );
                assert!(slip < 1e-3 && sink < 0.02);
            }
        }
    }
}

#[test]
fn a_character_stands_on_a_slope_and_on_stairs() {
    // 8 degrees sideways with ankles that follow, and with one foot of the bind pose's width on each side of nothing: the third
    // stair, 30 s without slipping or sinking
    let character = load("benchmark.toml");
    let (root, joints) = natural_pose(&character);
    for rate in [60.0, 240.0] {
        let stairs = terrain(
            TerrainShape::Stairs {
                steps: 5,
                rise: 0.15,
                run: 0.4,
                width: 2.0,
            },
            1.0,
        );
        let mut slope = ground(1.0);
        let tilt = exp(DVec3::X * 4.0_f64.to_radians());
        slope.rotation = tilt;
        for (name, floor, at) in [
            ("stairs", stairs, vec(0.0, 0.45, 0.95)),
            ("slope", slope, vec(0.0, 0.0, 0.0)),
        ] {
            let scene = Scene {
                terrain: vec![floor],
                characters: vec![place(&character, DVec3::ZERO, 0.0)],
                ..Scene::default()
            };
            let mut world = World::new(scene, rate);
            let mut joints = joints.clone();
            if name == "slope" {
                // soles along the slope
                for side in ["left_foot", "right_foot"] {
                    let foot = character.body(side).unwrap();
                    if let ambler::world::JointPosition::Rotation(q) = &mut joints[foot] {
                        *q = tilt * *q;
                    }
                }
            }
            world.pose(0, at + vec(0.0, root + 0.002, 0.0), DQuat::IDENTITY, &joints);
            let foot = character.body("right_foot").unwrap();
            world.run(5.0);
            let settled = world.read(0).bodies[foot].position;
            world.run(25.0);
            let s = world.read(0);
            let slip = (s.bodies[foot].position - settled).length();
            let sink = s.bodies[0].position.y - at.y - root;
            println!(
                "{name} {rate} Hz: slip {:.5} mm, pelvis {:.2} mm",
                1e3 * slip,
                1e3 * sink
            );
            assert!(slip < 1e-4 && sink.abs() < 0.03);
        }
    }
}
