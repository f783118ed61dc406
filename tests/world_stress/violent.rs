//! Invariant: whatever its targets do, a character stays finite, within its torque and joint limits, and out of the ground.

use ambler::character::{Character, Limit};
use ambler::math::random::CounterRng;
use ambler::math::rotation::log;
use ambler::math::swing_twist::twist_angle;
use ambler::world::{BodyRef, JointPosition, Scene};
use glam::DVec3;

use super::common::{World, ground, load, place};
use super::random;

/// Radians beyond the limit.
fn excess(limit: &Limit, position: &JointPosition) -> f64 {
    match (limit, position) {
        (Limit::Range(r), JointPosition::Angle(a)) => (r[0][0] - a).max(a - r[0][1]),
        (Limit::Range(r), JointPosition::Angles(a)) => (0..2)
            .map(|i| (r[i][0] - a[i]).max(a[i] - r[i][1]))
            .fold(f64::NEG_INFINITY, f64::max),
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            JointPosition::Rotation(q),
        ) => {
            let q = center.conjugate() * *q;
            let bend = log(glam::DQuat::from_rotation_arc(*axis, q * *axis)).length();
            let turn = twist_angle(q, *axis);
            (bend - swing).max(twist[0] - turn).max(turn - twist[1])
        }
        _ => 0.0,
    }
}

struct Worst {
    ground: f64,
    own: f64,
    limit: f64,
    torque: f64,
    unmet: f64,
}

fn thrash(character: &std::sync::Arc<Character>, rate: f64, seconds: f64) -> Worst {
    let mut scene = Scene::default();
    scene.terrain.push(ground(1.0));
    scene.characters.push(place(character, DVec3::ZERO, 0.0));
    let mut world = World::new(scene, rate);
    let mut rng = CounterRng::new(17, 0);
    let mut worst = Worst {
        ground: 0.0,
        own: 0.0,
        limit: 0.0,
        torque: 0.0,
        unmet: 0.0,
    };
    let steps = world.steps_in(seconds);
    let period = world.steps_in(0.3);
    for step in 0..steps {
        if step % period == 0 {
            let targets = random::pose(character, &mut rng, 0.8);
            for (joint, target) in world.actuations[0].joints.iter_mut().zip(targets) {
                joint.target = target;
            }
        }
        world.step();
        if !world.engine.last_step().pd_law_met {
            worst.unmet += 1.0 / steps as f64;
        }
        let state = world.read(0);
        assert!(state.kinetic_energy.is_finite());
        for contact in &state.contacts {
            let depth = if matches!(contact.b, BodyRef::Terrain(_)) {
                &mut worst.ground
            } else {
                &mut worst.own
            };
            *depth = depth.max(contact.depth);
        }
        for ((body, torque), joint) in character.bodies.iter().zip(&state.torques).zip(&state.joints) {
            for axis in 0..body.joint.dofs().min(3) {
                if body.parent.is_some() {
                    worst.torque = worst.torque.max(torque[axis].abs() / body.torque_limit[axis]);
                }
            }
            worst.limit = worst.limit.max(excess(&body.limit, joint));
        }
    }
    worst
}

#[test]
fn random_targets_at_full_gains_break_nothing() {
    let character = load("humanoid.toml");
    for rate in [60.0, 120.0, 240.0, 480.0, 1000.0] {
        let w = thrash(&character, rate, 60.0);
        println!(
            "{rate} Hz: ground {:.1} mm, self {:.1} mm, limits {:.2} deg, torque {:.6} of its limit, law unmet in {:.2} % of steps",
            w.ground * 1e3,
            w.own * 1e3,
            w.limit.to_degrees(),
            w.torque,
            w.unmet * 100.0
        );
        assert!(w.torque <= 1.0, "{rate} Hz: torque {} of its limit", w.torque);
        assert!(w.unmet < 0.04, "{rate} Hz: law unmet in {} of the steps", w.unmet);
        if rate >= 120.0 {
            assert!(
                w.limit < 1.5_f64.to_radians(),
                "{rate} Hz: {} rad beyond a limit",
                w.limit
            );
        }
        if rate == 240.0 {
            assert!(w.ground < 12e-3, "{rate} Hz: {} m into the ground", w.ground);
            assert!(w.own < 12e-3, "{rate} Hz: {} m into itself", w.own);
        }
    }
}
