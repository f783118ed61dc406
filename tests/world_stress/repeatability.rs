//! Invariant: a step is a function of the state; the same state gives the same bits.

use std::sync::Arc;

use ambler::character::Character;
use ambler::math::random::CounterRng;
use ambler::world::{EngineKind, Scene, Snapshot, build};
use glam::{DQuat, DVec3};
use rand::RngExt;
use rayon::prelude::*;

use super::common::{World, body, capsule, cuboid, ground, heightfield, load, place, prop, sphere, vec};
use super::random;

/// Two characters that thrash among loose props on uneven ground.
fn busy_scene(character: &Arc<Character>) -> Scene {
    let mut scene = Scene::default();
    scene.terrain.push(heightfield(12.0, 0.4, 0.9, |x, z| {
        0.04 * libm::sin(1.3 * x) * libm::cos(0.9 * z + 0.4)
    }));
    scene.terrain.push(ground(0.8));
    scene.characters.push(place(character, vec(0.0, 0.1, 0.0), 0.3));
    scene.characters.push(place(character, vec(0.9, 0.1, 0.5), -1.9));
    for i in 0..5 {
        let x = f64::from(i) * 0.5 - 1.2;
        scene.props.push(prop(
            body(cuboid(0.1, 0.12, 0.15), 4.0),
            vec(x, 0.5, 0.8),
            DQuat::from_rotation_y(x),
        ));
        scene.props.push(prop(
            body(capsule(0.12, 0.06), 2.0),
            vec(x, 0.7, -0.8),
            DQuat::from_rotation_x(x),
        ));
        scene
            .props
            .push(prop(body(sphere(0.1), 1.5), vec(x, 1.9, 0.1), DQuat::IDENTITY));
    }
    scene
}

fn retarget(world: &mut World, character: &Character, stream: u64) {
    let mut rng = CounterRng::new(5, stream);
    for actuation in &mut world.actuations {
        let targets = random::pose(character, &mut rng, 0.8);
        for (joint, target) in actuation.joints.iter_mut().zip(targets) {
            joint.target = target;
        }
    }
}

/// One step of the busy world; targets change every 0.3 s as a function of time alone.
fn busy_step(world: &mut World, character: &Character) {
    let step = world.engine.steps();
    retarget(world, character, step / 72);
    world.step();
}

#[test]
fn restoring_at_fifty_random_times_continues_to_the_bit() {
    let character = load("humanoid.toml");
    let scene = busy_scene(&character);
    let mut world = World::new(scene.clone(), 240.0);
    let mut rng = CounterRng::new(23, 0);
    let mut saved: Vec<(Snapshot, u64)> = Vec::new();
    let mut hashes = vec![world.engine.state_hash()];
    let steps = 1200;
    let mut times: Vec<u64> = (0..50).map(|_| rng.random_range(0..steps - 100)).collect();
    times.sort_unstable();
    for step in 0..steps {
        for _ in times.iter().filter(|t| **t == step) {
            let mut snapshot = Snapshot::default();
            world.engine.snapshot(&mut snapshot);
            saved.push((snapshot, step));
        }
        busy_step(&mut world, &character);
        hashes.push(world.engine.state_hash());
    }
    assert!(
        world.engine.last_step().contact_points > 10,
        "the scene is rich in contacts"
    );
    let mut used = world;
    let mut fresh = World::new(scene, 240.0);
    for (k, (snapshot, step)) in saved.iter().enumerate() {
        // into the world that made it and into one that never ran
        let target = if k % 2 == 0 { &mut used } else { &mut fresh };
        target.engine.restore(snapshot).unwrap();
        for later in *step..step + 100 {
            assert_eq!(
                target.engine.state_hash(),
                hashes[later as usize],
                "restored at {step}, differs at {later}"
            );
            busy_step(target, &character);
        }
    }
}

#[test]
fn reset_equals_a_fresh_world() {
    let character = load("humanoid.toml");
    let mut world = World::new(busy_scene(&character), 240.0);
    let run = |world: &mut World| {
        (0..300)
            .map(|_| {
                busy_step(world, &character);
                world.engine.state_hash()
            })
            .collect::<Vec<_>>()
    };
    let first = run(&mut world);
    world.engine.reset();
    let second = run(&mut world);
    assert_eq!(first, second);
    let mut copy = world.engine.boxed_clone();
    let mut contacts = Vec::new();
    copy.contacts(&mut contacts);
    assert!(!contacts.is_empty());
    for _ in 0..50 {
        copy.step(&world.actuations, &[]).unwrap();
        world.step();
    }
    assert_eq!(copy.state_hash(), world.engine.state_hash());
}

#[test]
fn hashes_do_not_depend_on_the_run_or_the_number_of_threads() {
    let character = load("humanoid.toml");
    let rollout = |stream: u64| {
        let mut scene = Scene::default();
        scene.terrain.push(ground(0.9));
        scene
            .characters
            .push(place(&character, DVec3::ZERO, 0.1 * stream as f64));
        let mut world = World::new(scene, 240.0);
        for step in 0..2400 {
            if step % 72 == 0 {
                retarget(&mut world, &character, 1000 * stream + step / 72);
            }
            world.step();
        }
        world.engine.state_hash()
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (0..16).into_par_iter().map(rollout).collect::<Vec<u64>>())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one[3], rollout(3));
    let mut different = one.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 16, "every rollout is another one");
}

#[test]
fn a_snapshot_of_another_scene_is_refused() {
    let character = load("humanoid.toml");
    let mut scene = Scene::default();
    scene.terrain.push(ground(0.9));
    scene.characters.push(place(&character, DVec3::ZERO, 0.0));
    let engine = build(EngineKind::Articulated, scene.clone(), 1.0 / 240.0).unwrap();
    let mut snapshot = Snapshot::default();
    engine.snapshot(&mut snapshot);
    let mut slower = build(EngineKind::Articulated, scene.clone(), 1.0 / 120.0).unwrap();
    assert!(slower.restore(&snapshot).is_err());
    scene
        .props
        .push(prop(body(sphere(0.1), 1.5), vec(1.0, 1.0, 0.0), DQuat::IDENTITY));
    let mut fuller = build(EngineKind::Articulated, scene, 1.0 / 240.0).unwrap();
    assert!(fuller.restore(&snapshot).is_err());
    assert!(fuller.restore(&Snapshot::default()).is_err());
}

#[test]
fn the_hash_of_a_fixed_scene_is_the_same_on_every_machine_and_in_every_build() {
    // one second of two thrashing characters among loose props on hills, computed once. A change of the engine that is meant
    // changes it too and brings the new value; anything else that does has broken old runs
    let character = load("humanoid.toml");
    let mut world = World::new(busy_scene(&character), 240.0);
    for _ in 0..240 {
        busy_step(&mut world, &character);
    }
    let hash = world.engine.state_hash();
    assert_eq!(hash, 0x9d72_2365_8b79_c89d, "{hash:#018x}");
}
