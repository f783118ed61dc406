//! Standing on all kinds of floors.

use std::sync::Arc;

use ambler::character::{Character, Role};
use ambler::world::{BodyRef, Scene, Terrain};
use glam::{DQuat, DVec3};

use crate::common::*;

/// What a minute of standing looked like.
#[derive(Debug)]
struct Stand {
    /// Largest change of the pelvis' height, metres.
    sink: f64,
    /// Largest horizontal movement of a foot's frame relative to the floor or board, metres.
    slip: f64,
    /// Of the vertical ground force over the last half: mean / weight − 1, and standard deviation in newtons.
    mean_error: f64,
    deviation: f64,
}

/// Holds the natural pose for `duration` seconds; the soles start at `height` on `floor`, or on a board of 5 kg and 4 cm lying there. The
/// feet may turn until they fit the floor for `settling` seconds.
fn stand(
    character: &Arc<Character>,
    floor: &Terrain,
    height: f64,
    board: bool,
    settling: f64,
    rate: f64,
    duration: f64,
) -> Stand {
    let mut scene = Scene {
        terrain: vec![floor.clone()],
        characters: vec![place(character, DVec3::ZERO, 0.0)],
        ..Scene::default()
    };
    let mut height = height;
    if board {
        scene.props.push(prop(
            body(cuboid(0.4, 0.02, 0.3), 5.0),
            vec(0.0, height + 0.02, 0.05),
            DQuat::IDENTITY,
        ));
        height += 0.04;
    }
    let mut world = World::new(scene, rate);
    let (root, joints) = natural_pose(character);
    world.pose(0, vec(0.0, root + height, 0.0), DQuat::IDENTITY, &joints);
    let feet: Vec<usize> = (0..character.bodies.len())
        .filter(|&b| matches!(character.bodies[b].role, Role::LeftFoot | Role::RightFoot))
        .collect();
    let weight = character.mass() * GRAVITY;
    let steps = world.steps_in(duration);
    let mut result = Stand {
        sink: 0.0,
        slip: 0.0,
        mean_error: 0.0,
        deviation: 0.0,
    };
    let places = |world: &mut World| -> Vec<DVec3> {
        let (x, back) = if board {
            let board = world.engine.prop_body(0, 0);
            (board.position, board.rotation.conjugate())
        } else {
            (DVec3::ZERO, DQuat::IDENTITY)
        };
        let state = world.read(0);
        feet.iter()
            .map(|&f| (back * (state.bodies[f].position - x)).with_y(0.0))
            .collect()
    };
    let mut at_start: Vec<DVec3> = places(&mut world);
    let start_height = world.read(0).bodies[0].position.y;
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut contacts = Vec::new();
    for i in 0..steps {
        world.step();
        let state = world.read(0);
        result.sink = result.sink.max((state.bodies[0].position.y - start_height).abs());
        if i + 1 == world.steps_in(settling) {
            at_start = places(&mut world);
            result.slip = 0.0;
        }
        for (now, then) in places(&mut world).iter().zip(&at_start) {
            result.slip = result.slip.max((*now - *then).length());
        }
        if i >= steps / 2 {
            world.engine.contacts(&mut contacts);
            let on_character = |r: BodyRef| matches!(r, BodyRef::Character { .. });
            let force: f64 = contacts
                .iter()
                .map(|c| match (on_character(c.a), on_character(c.b)) {
                    (true, false) => c.force.y,
                    (false, true) => -c.force.y,
                    _ => 0.0,
                })
                .sum::<f64>()
                - weight;
            sum += force;
            squares += force * force;
            count += 1.0;
        }
    }
    result.mean_error = sum / count / weight;
    result.deviation = (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt();
    result
}

fn stands(name: &str, floor: &Terrain, height: f64, board: bool, settling: f64) {
    let mut failures = Vec::new();
    for file in ["benchmark.toml", "humanoid.toml"] {
        let character = load(file);
        for rate in RATES {
            let r = stand(&character, floor, height, board, settling, rate, 60.0);
            println!(
                "{name:12} {file:15} {rate:6.0} Hz: pelvis {:.3} mm, slip {:.5} mm, force {:+.2e} of weight, sd {:.5} N",
                1e3 * r.sink,
                1e3 * r.slip,
                r.mean_error,
                r.deviation
            );
            let good = r.sink < 0.01 && r.slip < 1e-4 && r.mean_error.abs() < 1e-4 && r.deviation < 0.01;
            if !good {
                failures.push((file, rate, r));
            }
        }
    }
    assert!(failures.is_empty(), "{name}: {failures:#?}");
}

#[test]
fn stands_a_minute_on_flat_ground() {
    // a natural pose held for 60 s: pelvis within 1 cm, feet within 0.1 mm, ground force the weight ± 0.01 %, sd < 0.01 N
    stands("ground", &ground(1.0), 0.0, false, 0.0);
}

#[test]
fn stands_a_minute_on_a_flat_heightfield() {
    // the same on a heightfield of 25 cm cells
    stands("heightfield", &heightfield(8.0, 0.25, 1.0, |_, _| 0.1), 0.1, false, 0.0);
}

#[test]
fn stands_a_minute_on_a_bumpy_heightfield() {
    // the same on bumps of 3 mm over 20 cm cells, on which the feet may settle for 10 s
    let bumps = |x: f64, z: f64| 0.003 * libm::sin(9.0 * x + 1.0) * libm::cos(7.0 * z);
    stands("bumps", &heightfield(8.0, 0.2, 1.0, bumps), 0.003, false, 10.0);
}

#[test]
fn stands_a_minute_on_a_mesh() {
    // the same on a mesh of triangles of 30 cm
    stands("mesh", &mesh(6.0, 0.3, 1.0, |_, _| -0.2), -0.2, false, 0.0);
}

#[test]
fn stands_a_minute_on_a_loose_board() {
    // the same on a board of 5 kg that lies on the ground
    stands("board", &ground(1.0), 0.0, true, 0.0);
}
