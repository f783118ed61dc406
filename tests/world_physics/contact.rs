//! Stacks, levers, rebounds and sliding over cells.

use ambler::character::{Collider, Joint, MassProperties, Shape};
use ambler::math::rotation::{angle_between, exp};
use ambler::world::{Scene, Terrain};
use glam::{DQuat, DVec3};

use crate::common::*;

#[test]
fn a_stack_of_ten_boxes_stands_a_minute() {
    // at 240 Hz no box of the stack leaves its place by a millimetre or sinks deeper than the slop of 0.5 mm allows
    let scene = Scene {
        terrain: vec![ground(0.7)],
        props: (0..10)
            .map(|i| {
                // a little untidy, as stacks are
                let x = 0.004 * libm::sin(f64::from(i) * 2.3);
                let turn = exp(DVec3::Y * 0.05 * libm::cos(f64::from(i)));
                let b = with_material(body(cuboid(0.15, 0.15, 0.15), 12.0), 0.6, 0.0);
                prop(b, vec(x, 0.15 + 0.3 * f64::from(i), -0.5 * x), turn)
            })
            .collect(),
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    let start: Vec<_> = (0..10).map(|i| world.engine.prop_body(i, 0)).collect();
    let (mut drift, mut turn, mut depth) = (0.0_f64, 0.0_f64, 0.0_f64);
    for _ in 0..world.steps_in(60.0) {
        world.step();
        depth = depth.max(world.engine.last_step().max_penetration);
    }
    for (i, s) in start.iter().enumerate() {
        let now = world.engine.prop_body(i, 0);
        drift = drift.max((now.position - s.position).length());
        turn = turn.max(angle_between(now.rotation, s.rotation));
        assert!(now.velocity.length() < 1e-4, "box {i} moves at {}", now.velocity);
    }
    println!(
        "drift {:.4} mm, turn {turn:.2e} rad, penetration {:.4} mm",
        1e3 * drift,
        1e3 * depth
    );
    assert!(drift < 1e-3 && turn < 1e-3 && depth < 1e-3);
}

/// A board of 2.4 m on an axle along z at 0.5 m, friction 0.8.
fn seesaw() -> ambler::character::Body {
    let mut board = with_material(body(cuboid(1.2, 0.02, 0.2), 8.0), 0.8, 0.0);
    board.joint = Joint::Hinge { axis: DVec3::Z };
    board
}

#[test]
fn a_balanced_seesaw_stays_level() {
    // 20 kg at 1 m against 40 kg at 0.5 m: moments cancel, so the board stays level for 10 s, and its mirror image does the
    // same. The load is 13 cm above the axle, so a tilt grows as e^(1.5 t), in 10 s from the solver's rounding to 1e-4 rad
    for mirror in [1.0, -1.0] {
        let weight = |mass: f64, x: f64, half: f64| {
            let b = with_material(body(cuboid(half, half, half), mass), 0.8, 0.0);
            prop(b, vec(mirror * x, 0.52 + half, 0.0), DQuat::IDENTITY)
        };
        let scene = Scene {
            props: vec![
                prop(seesaw(), vec(0.0, 0.5, 0.0), DQuat::IDENTITY),
                weight(20.0, 1.0, 0.1),
                weight(40.0, -0.5, 0.12),
            ],
            ..Scene::default()
        };
        let mut world = World::new(scene, 240.0);
        let mut tilt = 0.0_f64;
        for _ in 0..world.steps_in(10.0) {
            world.step();
            tilt = tilt.max(angle_between(world.engine.prop_body(0, 0).rotation, DQuat::IDENTITY));
        }
        println!("mirror {mirror}: largest tilt {tilt:.2e} rad");
        assert!(tilt < 1e-3);
    }
}

#[test]
fn an_unbalanced_seesaw_turns_as_its_moments_say() {
    // a mass glued by its weight alone: α = m g x / (I + m x²) at the first instant, opposite on the other side
    for side in [1.0, -1.0] {
        let (mass, x) = (10.0, 0.6);
        let b = with_material(body(cuboid(0.05, 0.05, 0.05), mass), 0.8, 0.0);
        let scene = Scene {
            props: vec![
                prop(seesaw(), vec(0.0, 0.5, 0.0), DQuat::IDENTITY),
                prop(b.clone(), vec(side * x, 0.57, 0.0), DQuat::IDENTITY),
            ],
            ..Scene::default()
        };
        let mut world = World::new(scene, 1000.0);
        let time = 0.05;
        world.run(time);
        // the mass sits 7 cm above the axle
        let inertia = seesaw().inertia.z_axis.z + b.inertia.z_axis.z + mass * (x * x + 0.07 * 0.07);
        let expected = -side * mass * GRAVITY * x / inertia * time;
        let found = world.engine.prop_body(0, 0).angular_velocity.z;
        println!("side {side}: {found:.5} rad/s, expected {expected:.5}");
        assert!((found / expected - 1.0).abs() < 1e-3);
    }
}

#[test]
fn restitution_of_a_half_rebounds_to_a_quarter_of_the_height() {
    // sphere and flat box dropped from 0.5 m: apex of the rebound a quarter of it ± 2 %, at 120 Hz and above
    for (name, shape, low) in [("sphere", sphere(0.1), 0.1), ("box", cuboid(0.1, 0.05, 0.2), 0.05)] {
        for rate in [120.0, 240.0, 480.0, 1000.0] {
            // heights that are no multiple of anything
            for drop in [0.5, 0.8137, 1.4621] {
                let b = with_material(body(shape.clone(), 3.0), 0.5, 0.5);
                let scene = Scene {
                    terrain: vec![ground(0.5)],
                    props: vec![prop(b, vec(0.3, low + drop, -0.2), DQuat::IDENTITY)],
                    ..Scene::default()
                };
                let mut world = World::new(scene, rate);
                let (mut bounced, mut apex) = (false, 0.0_f64);
                for _ in 0..world.steps_in(1.5) {
                    world.step();
                    let b = world.engine.prop_body(0, 0);
                    if b.velocity.y > 0.1 {
                        bounced = true;
                    } else if bounced && b.velocity.y < -0.1 {
                        break;
                    }
                    if bounced {
                        apex = apex.max(b.position.y - low);
                    }
                }
                let ratio = apex / drop;
                println!("{name} {rate} Hz from {drop} m: {ratio:.5}");
                assert!(
                    (ratio / 0.25 - 1.0).abs() < 0.02,
                    "{name} {rate} Hz from {drop}: {ratio}"
                );
            }
        }
    }
}

#[test]
fn restitution_of_a_pair_is_the_larger_one() {
    // 0.7 against the ground's 0: speed after the impact 0.7 of that before
    let b = with_material(body(sphere(0.08), 1.3), 0.0, 0.7);
    let scene = Scene {
        terrain: vec![ground(1.0)],
        props: vec![prop(b, vec(0.0, 1.08, 0.0), DQuat::IDENTITY)],
        ..Scene::default()
    };
    let mut world = World::new(scene, 1000.0);
    let (mut before, mut after) = (0.0_f64, 0.0_f64);
    for _ in 0..world.steps_in(0.7) {
        world.step();
        let v = world.engine.prop_body(0, 0).velocity.y;
        before = before.max(-v);
        after = after.max(v);
    }
    println!("{before} down, {after} up: {}", after / before);
    // within the speed that a step of fall adds
    assert!((after / before - 0.7).abs() < 0.005);
}

/// Speed kept after sliding for a second over `floor` without friction.
fn slide(shape: Shape, height: f64, floor: &Terrain, heading: f64) -> f64 {
    let b = with_material(body(shape, 4.0), 0.0, 0.0);
    let scene = Scene {
        terrain: vec![floor.clone()],
        props: vec![prop(b, DVec3::Y * height, exp(DVec3::Y * heading * 0.7))],
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    let velocity = exp(DVec3::Y * heading) * vec(3.2, 0.0, 0.0);
    let start = world.engine.prop_body(0, 0);
    world
        .engine
        .set_prop(0, start.position, start.rotation, velocity, DVec3::ZERO)
        .unwrap();
    world.run(1.0);
    world.engine.prop_body(0, 0).velocity.dot(velocity) / velocity.length_squared()
}

#[test]
fn sliding_over_flat_cells_keeps_the_speed() {
    // no edge between the cells of a flat heightfield or mesh is felt: speed kept to 0.1 % over 3 m, in any direction
    let floors = [
        ("heightfield", heightfield(10.0, 0.25, 0.0, |_, _| 0.0)),
        ("mesh", mesh(10.0, 0.25, 0.0, |_, _| 0.0)),
    ];
    let shapes = [
        ("box", cuboid(0.2, 0.15, 0.25), 0.15),
        ("sphere", sphere(0.2), 0.2),
        ("foot", cuboid(0.045, 0.03, 0.125), 0.03),
        ("capsule", capsule(0.2, 0.1), 0.3),
    ];
    let mut worst = 0.0_f64;
    for (floor_name, floor) in &floors {
        for (name, shape, height) in &shapes {
            for heading in [0.0, 0.4, 1.1, 2.0, 3.9] {
                let kept = slide(shape.clone(), *height, floor, heading);
                println!("{name} over {floor_name}, heading {heading}: {kept:.6}");
                worst = worst.max((kept - 1.0).abs());
            }
        }
    }
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn a_lying_capsule_slides_over_flat_cells() {
    // the same for a capsule on its side, along and across it
    let collider = Collider {
        shape: capsule(0.25, 0.08),
        position: DVec3::ZERO,
        rotation: exp(DVec3::Z * std::f64::consts::FRAC_PI_2),
    };
    let properties = MassProperties::of_colliders(std::slice::from_ref(&collider), 3.0).unwrap();
    for floor in [
        heightfield(10.0, 0.25, 0.0, |_, _| 0.0),
        mesh(10.0, 0.25, 0.0, |_, _| 0.0),
    ] {
        for heading in [0.0, 0.8, 1.57, 2.6] {
            let mut b = with_material(body(sphere(0.1), 3.0), 0.0, 0.0);
            b.inertia = properties.inertia;
            b.colliders = vec![collider.clone()];
            let scene = Scene {
                terrain: vec![floor.clone()],
                props: vec![prop(b, DVec3::Y * 0.08, DQuat::IDENTITY)],
                ..Scene::default()
            };
            let mut world = World::new(scene, 240.0);
            let velocity = exp(DVec3::Y * heading) * vec(3.2, 0.0, 0.0);
            world
                .engine
                .set_prop(0, DVec3::Y * 0.08, DQuat::IDENTITY, velocity, DVec3::ZERO)
                .unwrap();
            world.run(1.0);
            let kept = world.engine.prop_body(0, 0).velocity.dot(velocity) / velocity.length_squared();
            println!("heading {heading}: {kept:.6}");
            assert!((kept - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn ray_casts_hit_terrain_and_props_but_not_characters() {
    // straight down through a character's head onto the board it stands on, and beside it onto the ground
    let character = load("benchmark.toml");
    let scene = Scene {
        terrain: vec![ground(1.0), heightfield(2.0, 0.5, 1.0, |_, _| -0.5)],
        props: vec![prop(
            body(cuboid(0.5, 0.1, 0.5), 5.0),
            vec(0.0, 0.1, 0.0),
            DQuat::IDENTITY,
        )],
        characters: vec![place(&character, vec(0.0, 0.2, 0.0), 0.0)],
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    let down = |world: &World, x: f64| world.engine.cast_ray(vec(x, 3.0, 0.05), DVec3::NEG_Y, 10.0);
    // colliders are where they should be before the first step as well as after it
    for _ in 0..2 {
        let (distance, normal) = down(&world, 0.02).expect("the board");
        assert!(
            (distance - 2.8).abs() < 1e-3 && normal.dot(DVec3::Y) > 0.999,
            "{distance} {normal}"
        );
        let (distance, normal) = down(&world, 0.8).expect("the ground");
        assert!(
            (distance - 3.0).abs() < 1e-9 && normal.dot(DVec3::Y) > 0.999,
            "{distance} {normal}"
        );
        assert_eq!(world.engine.cast_ray(vec(0.8, 3.0, 0.05), DVec3::NEG_Y, 2.9), None);
        assert_eq!(world.engine.cast_ray(vec(0.0, 3.0, 0.0), DVec3::Y, 10.0), None);
        world.step();
    }
}
