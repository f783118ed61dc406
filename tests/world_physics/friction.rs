//! Dry friction: when it holds, how it slows, that it has no preferred direction.

use std::f64::consts::TAU;

use ambler::character::Shape;
use ambler::math::rotation::exp;
use ambler::world::Scene;
use glam::{DQuat, DVec3};

use crate::common::*;

fn shapes() -> [(&'static str, Shape, f64); 2] {
    [
        ("block", cuboid(0.2, 0.1, 0.15), 0.1),
        ("foot", cuboid(0.045, 0.03, 0.125), 0.03),
    ]
}

/// Distance along and across the downhill direction after `time` on a slope of tangent `tangent` whose downhill direction
/// is at `heading`: flat ground under gravity that is tilted.
fn slope(
    shape: &Shape,
    height: f64,
    friction: [f64; 2],
    tangent: f64,
    heading: f64,
    time: f64,
    rate: f64,
) -> (f64, f64) {
    let angle = libm::atan(tangent);
    let downhill = exp(DVec3::Y * heading) * DVec3::X;
    let gravity = GRAVITY * (downhill * libm::sin(angle) - DVec3::Y * libm::cos(angle));
    let scene = Scene {
        gravity,
        terrain: vec![ground(friction[0])],
        props: vec![prop(
            with_material(body(shape.clone(), 5.0), friction[1], 0.0),
            DVec3::Y * height,
            DQuat::IDENTITY,
        )],
        ..Scene::default()
    };
    let mut world = World::new(scene, rate);
    world.run(time);
    let moved = world.engine.prop_body(0, 0).position - DVec3::Y * height;
    let along = moved.dot(downhill);
    (along, (moved - along * downhill).length())
}

#[test]
fn sticks_below_and_slides_above_the_friction_angle_in_every_direction() {
    // tan(slope) = 0.995 µ holds for 2 s within 0.1 mm, 1.005 µ slides by g (sin − µ cos) t²/2 (of the discrete sum, ± 1 %),
    // in twelve directions that are no multiple of the shape's own
    let rate = 240.0;
    let time = 2.0;
    let (mut crept, mut wrong) = (0.0_f64, 0.0_f64);
    for (name, shape, height) in shapes() {
        for friction in [0.25, 0.5, 0.9] {
            for i in 0..12 {
                let heading = TAU * f64::from(i) / 12.0 + 0.13;
                let (along, across) = slope(&shape, height, [friction; 2], 0.995 * friction, heading, time, rate);
                crept = crept.max(along.abs()).max(across);
                assert!(
                    along.abs() < 1e-4 && across < 1e-4,
                    "{name} µ {friction} at {heading}: crept {along}"
                );
                let tangent = 1.005 * friction;
                let (along, across) = slope(&shape, height, [friction; 2], tangent, heading, time, rate);
                let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
                let acceleration = GRAVITY * cos * (tangent - friction);
                let expected = 0.5 * acceleration * time * (time + 1.0 / rate);
                wrong = wrong.max((along / expected - 1.0).abs()).max(across / expected);
                assert!(
                    (along / expected - 1.0).abs() < 0.01 && across < 0.01 * expected,
                    "{name} µ {friction} at {heading}: slid {along} instead of {expected}, {across} aside"
                );
            }
        }
    }
    println!("crept at most {:.2e} m, slid wrong by at most {wrong:.2e}", crept);
}

#[test]
fn a_real_slope_holds_and_releases_at_the_friction_angle() {
    // the same with the ground tilted instead of gravity, and on a tilted box
    for on_box in [false, true] {
        for (name, shape, height) in shapes() {
            for heading in [0.3, 1.9, 4.4] {
                for (share, slides) in [(0.995, false), (1.005, true)] {
                    let friction = 0.6;
                    let angle = libm::atan(share * friction);
                    let axis = exp(DVec3::Y * heading) * DVec3::Z;
                    let tilt = exp(axis * -angle);
                    let mut floor = if on_box {
                        let mut t = terrain(
                            ambler::world::TerrainShape::Box {
                                half_extents: vec(5.0, 0.5, 5.0),
                            },
                            friction,
                        );
                        t.position = tilt * vec(0.0, -0.5, 0.0);
                        t
                    } else {
                        ground(friction)
                    };
                    floor.rotation = tilt;
                    let b = with_material(body(shape.clone(), 5.0), friction, 0.0);
                    let start = tilt * vec(0.0, height, 0.0);
                    let scene = Scene {
                        terrain: vec![floor],
                        props: vec![prop(b, start, tilt)],
                        ..Scene::default()
                    };
                    let mut world = World::new(scene, 240.0);
                    world.run(2.0);
                    let moved = (world.engine.prop_body(0, 0).position - start).length();
                    let expected =
                        0.5 * GRAVITY * libm::cos(angle) * (share - 1.0) * friction * 2.0 * (2.0 + 1.0 / 240.0);
                    println!("{name} on box {on_box} heading {heading} share {share}: {moved:.6} m ({expected:.6})");
                    if slides {
                        assert!((moved / expected - 1.0).abs() < 0.01);
                    } else {
                        assert!(moved < 1e-4);
                    }
                }
            }
        }
    }
}

#[test]
fn sliding_slows_by_friction_times_gravity_in_every_direction() {
    // v(t) = v − µ g t straight ahead, whatever the direction, rate and shape; then it stops and stays
    let mut worst = (0.0_f64, 0.0_f64, 0.0_f64);
    for rate in [60.0, 240.0, 1000.0] {
        for (name, shape, height) in shapes() {
            for i in 0..8 {
                let heading = TAU * f64::from(i) / 8.0 + 0.2;
                let friction = 0.3;
                let b = with_material(body(shape.clone(), 5.0), friction, 0.0);
                let scene = Scene {
                    terrain: vec![ground(friction)],
                    props: vec![prop(b, DVec3::Y * height, DQuat::IDENTITY)],
                    ..Scene::default()
                };
                let mut world = World::new(scene, rate);
                let direction = exp(DVec3::Y * heading) * DVec3::X;
                let speed = 1.5;
                world
                    .engine
                    .set_prop(0, DVec3::Y * height, DQuat::IDENTITY, direction * speed, DVec3::ZERO)
                    .unwrap();
                let time = 0.3;
                world.run(time);
                let velocity = world.engine.prop_body(0, 0).velocity;
                let expected = speed - friction * GRAVITY * time;
                let aside = (velocity - velocity.dot(direction) * direction).length();
                worst.0 = worst.0.max((velocity.dot(direction) - expected).abs());
                worst.1 = worst.1.max(aside);
                assert!(
                    (velocity.dot(direction) - expected).abs() < 1e-3,
                    "{name} {rate} {heading}: {velocity}"
                );
                assert!(aside < 1e-3, "{name} {rate} Hz {heading}: {aside} aside");
                world.run(0.5);
                let end = world.engine.prop_body(0, 0).velocity.length();
                worst.2 = worst.2.max(end);
                assert!(end < 1e-6, "{name} {rate} {heading}: still {end}");
            }
        }
    }
    println!(
        "speed wrong by {:.2e}, aside {:.2e}, after the stop {:.2e} m/s",
        worst.0, worst.1, worst.2
    );
}

#[test]
fn friction_of_a_pair_is_the_geometric_mean() {
    // 0.2 and 0.8 hold like 0.4 and 0.4
    let (_, shape, height) = &shapes()[0];
    for pair in [[0.2, 0.8], [0.8, 0.2]] {
        let held = slope(shape, *height, pair, 0.995 * 0.4, 0.7, 1.0, 240.0).0;
        let slid = slope(shape, *height, pair, 1.005 * 0.4, 0.7, 1.0, 240.0).0;
        println!("{pair:?}: {held:.2e} and {slid:.2e} m");
        assert!(held.abs() < 1e-4 && slid > 5e-3);
    }
}

#[test]
fn a_sliding_ball_ends_up_rolling() {
    // sliding friction turns a ball until it rolls at 5/7 of its speed, whatever the friction
    for friction in [0.2, 0.7] {
        let radius = 0.12;
        let scene = Scene {
            terrain: vec![ground(friction)],
            props: vec![prop(
                with_material(body(sphere(radius), 2.0), friction, 0.0),
                DVec3::Y * radius,
                DQuat::IDENTITY,
            )],
            ..Scene::default()
        };
        let mut world = World::new(scene, 240.0);
        let velocity = vec(1.2, 0.0, -0.9);
        world
            .engine
            .set_prop(0, DVec3::Y * radius, DQuat::IDENTITY, velocity, DVec3::ZERO)
            .unwrap();
        world.run(2.0);
        let state = world.engine.prop_body(0, 0);
        let slip = state.velocity + state.angular_velocity.cross(DVec3::Y * -radius);
        println!(
            "µ {friction}: {} m/s, slip {:.2e}",
            state.velocity.length(),
            slip.length()
        );
        assert!((state.velocity - velocity * (5.0 / 7.0)).length() < 2e-3 && slip.length() < 1e-6);
    }
}
