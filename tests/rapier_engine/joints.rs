//! Joints: frames, PD law, limits, roots.

use std::sync::Arc;

use ambler::character::{Joint, Limit};
use ambler::math::rotation;
use ambler::world::{Actuation, BodyRef, Engine, ExternalForce, JointPosition, RootActuation, Scene, Wrench};
use glam::{DMat3, DQuat, DVec3};

use crate::scenes::{
    GRAVITY, box_body, box_inertia, character, general_pose, general_tree, ground, scene, state, world,
};

/// A compound pendulum with a general axis swings with the period of its inertia about the axis, on every kind of root.
#[test]
fn pendulum_has_its_period() {
    let axis = DVec3::new(0.6, 0.0, 0.8);
    let center = DVec3::new(0.0, -0.35, 0.0);
    let universal = Joint::Universal {
        axes: [axis, DVec3::new(-0.8, 0.0, 0.6)],
    };
    for joint in [Joint::Hinge { axis }, Joint::Ball, universal] {
        let mut body = box_body("bob", joint, 1.7, DVec3::new(0.05, 0.2, 0.08), center);
        let inertia = axis.dot(body.inertia * axis) + body.mass * center.length_squared();
        body.filter = 0;
        let swing = 0.05;
        let start = match joint {
            Joint::Hinge { .. } => JointPosition::Angle(swing),
            Joint::Ball => JointPosition::Rotation(rotation::exp(axis * swing)),
            _ => JointPosition::Angles([swing, 0.0]),
        };
        // a second inertia axis is excited a little by the product of inertia: keep it diagonal in the swing plane
        let turn = DMat3::from_quat(DQuat::from_rotation_arc(DVec3::X, axis));
        body.inertia = turn * DMat3::from_diagonal(DVec3::new(0.02, 0.03, 0.025)) * turn.transpose();
        let inertia = inertia - axis.dot(box_inertia(1.7, DVec3::new(0.05, 0.2, 0.08)) * axis) + 0.02;
        let mut world = world(scene(vec![], vec![], vec![character("bob", vec![body])]), 1000.0);
        let quiet = [(DVec3::ZERO, DVec3::ZERO)];
        world
            .set_character(0, DVec3::ZERO, rotation::exp(axis * swing), &[start], &quiet)
            .unwrap();
        let actuation = [Actuation::hold_bind_pose(
            &world.scene().characters[0].character.clone(),
        )];
        let side = |w: &dyn Engine| state(w).bodies[0].center_of_mass.dot(axis.cross(DVec3::NEG_Y));
        let (mut crossings, mut before) = (Vec::new(), side(world.as_ref()));
        assert!((before - 0.35 * libm::sin(swing)).abs() < 1e-9);
        while crossings.len() < 5 && world.time() < 10.0 {
            world.step(&actuation, &[]).unwrap();
            let now = side(world.as_ref());
            if (now > 0.0) != (before > 0.0) {
                crossings.push(world.time() - world.dt() * now / (now - before));
            }
            before = now;
        }
        let period = (crossings[4] - crossings[0]) / 2.0;
        let small = std::f64::consts::TAU * libm::sqrt(inertia / (1.7 * GRAVITY * 0.35));
        // period grows with the amplitude as 1 + a²/16
        let expected = small * (1.0 + swing * swing / 16.0);
        assert!(
            (period - expected).abs() < 1e-3 * expected,
            "{joint:?}: {period} instead of {expected}"
        );
    }
}

/// Poses and joint rates are read as they were set, bodies stand where `R_parent · rest · q` puts them, and body
/// velocities are the derivatives of body positions: the frames of rapier's degrees of freedom are ours.
#[test]
fn joint_frames_are_those_of_the_conventions() {
    let tree = Arc::new(general_tree());
    let free = Scene {
        gravity: DVec3::ZERO,
        ..scene(vec![], vec![], vec![tree.clone()])
    };
    let mut world = world(free, 100_000.0);
    let (joints, velocities) = general_pose();
    let (x, q) = (DVec3::new(0.5, 2.0, 0.7), rotation::exp(DVec3::new(-0.3, 0.8, 0.2)));
    world.set_character(0, x, q, &joints, &velocities).unwrap();
    let before = state(world.as_ref());
    let mut frames = vec![(x, q)];
    for (i, body) in tree.bodies.iter().enumerate().skip(1) {
        let (parent_x, parent_q) = frames[body.parent.unwrap()];
        let local = match (&body.joint, &joints[i]) {
            (Joint::Hinge { axis }, JointPosition::Angle(a)) => rotation::exp(*axis * *a),
            (Joint::Universal { axes }, JointPosition::Angles(a)) => {
                rotation::exp(axes[0] * a[0]) * rotation::exp(axes[1] * a[1])
            }
            (_, JointPosition::Rotation(q)) => *q,
            _ => DQuat::IDENTITY,
        };
        frames.push((parent_x + parent_q * body.offset, parent_q * body.rest * local));
        assert!(
            (before.bodies[i].position - frames[i].0).length() < 1e-12,
            "{}",
            body.name
        );
        assert!(rotation::difference(before.bodies[i].rotation, frames[i].1).length() < 1e-12);
        assert!((before.joint_velocities[i] - velocities[i].1).length() < 1e-12);
    }
    assert_eq!(before.bodies[0].velocity, velocities[0].0);
    let mut limp = Actuation::hold_bind_pose(&tree);
    limp.joints
        .iter_mut()
        .for_each(|j| (j.kp, j.kd) = (DVec3::ZERO, DVec3::ZERO));
    world.step(&[limp], &[]).unwrap();
    let after = state(world.as_ref());
    let dt = world.dt();
    for i in 0..tree.bodies.len() {
        // over one step of 10 µs positions change by the mean velocity up to acceleration · dt
        let v = (after.bodies[i].center_of_mass - before.bodies[i].center_of_mass) / dt;
        let w = rotation::difference(after.bodies[i].rotation, before.bodies[i].rotation) / dt;
        assert!((v - before.bodies[i].velocity).length() < 1e-3, "{i}: {v}");
        assert!((w - before.bodies[i].angular_velocity).length() < 1e-3, "{i}: {w}");
        assert!((after.joint_velocities[i] - before.joint_velocities[i]).length() < 1e-3);
    }
}

/// In zero gravity the joints' PD law changes neither momentum beyond what rapier's integrator loses.
#[test]
fn joint_torques_are_internal() {
    let tree = Arc::new(general_tree());
    let free = Scene {
        gravity: DVec3::ZERO,
        ..scene(vec![], vec![], vec![tree.clone()])
    };
    let (joints, velocities) = general_pose();
    let mut drifts = Vec::new();
    for rate in [240.0, 4800.0] {
        let mut world = world(free.clone(), rate);
        world
            .set_character(0, DVec3::Y, DQuat::IDENTITY, &joints, &velocities)
            .unwrap();
        let before = state(world.as_ref());
        let mut actuation = Actuation::hold_bind_pose(&tree);
        actuation.joints[1].feed_forward = DVec3::new(1.0, -0.5, 0.7);
        actuation.joints[3].feed_forward = DVec3::new(-0.4, 0.3, 0.0);
        for _ in 0..rate as usize {
            world.step(std::slice::from_ref(&actuation), &[]).unwrap();
        }
        let after = state(world.as_ref());
        let linear = (after.linear_momentum - before.linear_momentum).length() / before.linear_momentum.length();
        let angular = (after.angular_momentum - before.angular_momentum).length() / before.angular_momentum.length();
        println!("{rate} Hz: momentum drift in 1 s: linear {linear:.2e}, angular {angular:.2e}");
        drifts.push([linear, angular]);
    }
    // rapier's integrator is of first order: ten times the rate, about a tenth of the drift
    for k in 0..2 {
        assert!(
            drifts[0][k] < 0.1 && drifts[1][k] < 0.3 * drifts[0][k] + 1e-9,
            "{drifts:?}"
        );
    }
}

/// A joint under PD reaches a general target, tracks a moving one without lag, and reports the torque it applied.
#[test]
fn ball_joint_reaches_targets_in_the_parent_frame() {
    let mut body = box_body(
        "arm",
        Joint::Ball,
        2.0,
        DVec3::new(0.05, 0.2, 0.07),
        DVec3::new(0.02, -0.25, 0.0),
    );
    body.rest = DQuat::from_rotation_z(0.4);
    body.damping = [0.3; 3];
    let arm = character("arm", vec![body]);
    let mut world = world(scene(vec![], vec![], vec![arm.clone()]), 240.0);
    let target = rotation::exp(DVec3::new(0.7, -1.9, 0.5));
    let mut actuation = Actuation::hold_bind_pose(&arm);
    actuation.joints[0].target = JointPosition::Rotation(target);
    (actuation.joints[0].kp, actuation.joints[0].kd) = (DVec3::splat(300.0), DVec3::splat(12.0));
    for _ in 0..720 {
        world.step(std::slice::from_ref(&actuation), &[]).unwrap();
    }
    let rest = state(world.as_ref());
    let JointPosition::Rotation(q) = rest.joints[0] else {
        panic!("a ball joint")
    };
    let error = rotation::difference(target, q);
    // at rest the PD torque, in the joint frame, carries the arm: τ_world = −r × m g
    let frame = DQuat::from_rotation_z(0.4);
    let lever = rest.bodies[0].center_of_mass - rest.bodies[0].position;
    let carried = lever.cross(2.0 * GRAVITY * DVec3::Y);
    assert!(
        (frame * rest.torques[0] - carried).length() < 1e-6,
        "{} {carried}",
        frame * rest.torques[0]
    );
    assert!((rest.torques[0] - 300.0 * error).length() < 1e-6);
    // turning the target about a fixed axis at a constant rate
    let spin = DVec3::new(0.2, 0.4, -0.3);
    actuation.joints[0].target_velocity = spin;
    actuation.joints[0].feed_forward = DVec3::new(0.3, 0.1, -0.2);
    for step in 0..480 {
        let angle = spin * (step as f64 * world.dt());
        actuation.joints[0].target = JointPosition::Rotation(rotation::exp(angle) * target);
        let before = state(world.as_ref());
        world.step(std::slice::from_ref(&actuation), &[]).unwrap();
        let now = state(world.as_ref());
        let (JointPosition::Rotation(q), JointPosition::Rotation(goal)) =
            (before.joints[0], actuation.joints[0].target)
        else {
            panic!("a ball joint")
        };
        let lag = spin - now.joint_velocities[0];
        let e = rotation::difference(goal, q);
        let law = 300.0 * (e + world.dt() * lag) + 12.0 * lag + actuation.joints[0].feed_forward;
        assert!((now.torques[0] - law).length() < 1e-9 * (1.0 + law.length()));
        if step > 240 {
            assert!(e.length() < 0.03, "{}", e.length());
        }
    }
}

/// A hinge stops at its limit, and what rapier cannot honour is said when the world is built.
#[test]
fn hinge_limits_hold_and_the_rest_is_noted() {
    let axis = DVec3::X;
    let mut body = box_body(
        "bob",
        Joint::Hinge { axis },
        1.0,
        DVec3::new(0.05, 0.2, 0.05),
        DVec3::new(0.0, -0.3, 0.0),
    );
    body.limit = Limit::Range([[-0.4, 0.25], [0.0; 2]]);
    body.torque_limit = [20.0; 3];
    let bob = character("bob", vec![body]);
    let mut world = world(scene(vec![], vec![], vec![bob.clone()]), 240.0);
    assert_eq!(world.notes().len(), 1);
    assert!(
        world.notes()[0].contains("torque limits") && world.notes()[0].contains("bob"),
        "{:?}",
        world.notes()
    );
    let mut actuation = Actuation::hold_bind_pose(&bob);
    actuation.joints[0].feed_forward = DVec3::splat(30.0);
    for _ in 0..480 {
        world.step(std::slice::from_ref(&actuation), &[]).unwrap();
    }
    let now = state(world.as_ref());
    let JointPosition::Angle(angle) = now.joints[0] else {
        panic!("a hinge")
    };
    assert!((angle - 0.25).abs() < 0.01, "{angle}");
    assert!((world.last_step().max_limit_violation - (angle - 0.25).max(0.0)).abs() < 1e-12);
    assert!(now.saturated[0] && !world.last_step().pd_law_met);
}

/// The root spring carries a character in the air at its target and reports exactly the weight; a wrench is reported too.
#[test]
fn root_assistance_is_reported() {
    let tree = Arc::new(general_tree());
    let (x, q) = (DVec3::new(0.3, 2.0, 0.1), tree.bodies[0].rest);
    let mut world = world(scene(vec![], vec![], vec![tree.clone()]), 240.0);
    let mut actuation = Actuation::hold_bind_pose(&tree);
    actuation.root = RootActuation::Spring {
        position: x,
        rotation: q,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        kp_linear: 5e4,
        kd_linear: 5e3,
        kp_angular: 5e3,
        kd_angular: 500.0,
    };
    for _ in 0..1200 {
        world.step(std::slice::from_ref(&actuation), &[]).unwrap();
    }
    let held = state(world.as_ref());
    let weight = tree.mass() * GRAVITY;
    assert!((held.external_wrench.force - weight * DVec3::Y).length() < 1e-6 * weight);
    assert!((held.bodies[0].position - x).length() < 1.1 * weight / 5e4);
    // limp joints make the root light: a spring that is stiff for it stays stable
    actuation
        .joints
        .iter_mut()
        .for_each(|j| (j.kp, j.kd) = (DVec3::ZERO, DVec3::ZERO));
    for _ in 0..1200 {
        world.step(std::slice::from_ref(&actuation), &[]).unwrap();
    }
    assert!((state(world.as_ref()).bodies[0].position - x).length() < 0.05);
    let wrench = Wrench {
        force: DVec3::new(1.0, weight, -2.0),
        torque: DVec3::new(0.1, 0.2, 0.3),
    };
    actuation.root = RootActuation::Wrench(wrench);
    let before = state(world.as_ref()).linear_momentum;
    world.step(std::slice::from_ref(&actuation), &[]).unwrap();
    let after = state(world.as_ref());
    assert_eq!(after.external_wrench, wrench);
    let impulse = (after.linear_momentum - before) / world.dt();
    assert!((impulse - DVec3::new(1.0, 0.0, -2.0)).length() < 0.5, "{impulse}");
}

/// A planar character stays in the sagittal plane, whatever pushes it.
#[test]
fn planar_root_stays_in_its_plane() {
    let mut tree = general_tree();
    tree.bodies[0].joint = Joint::Planar;
    let tree = Arc::new(tree);
    let mut world = world(scene(vec![ground()], vec![], vec![tree.clone()]), 240.0);
    let start = state(world.as_ref());
    let root = &tree.bodies[0];
    assert!((start.bodies[0].position - root.offset).length() < 1e-12);
    assert!(rotation::difference(start.bodies[0].rotation, root.rest).length() < 1e-12);
    let actuation = [Actuation::hold_bind_pose(&tree)];
    let push = ExternalForce {
        target: BodyRef::Character { character: 0, body: 0 },
        point: DVec3::new(0.1, 0.2, 0.0),
        force: DVec3::new(90.0, 20.0, 60.0),
        torque: DVec3::new(3.0, 2.0, 1.0),
    };
    for _ in 0..120 {
        world.step(&actuation, &[push]).unwrap();
        let now = state(world.as_ref()).bodies[0];
        assert!((now.center_of_mass.x - start.bodies[0].center_of_mass.x).abs() < 1e-12);
        let turn = rotation::difference(now.rotation, start.bodies[0].rotation);
        assert!(turn.y.abs() + turn.z.abs() < 1e-9, "{turn}");
        assert!(now.velocity.x == 0.0 && now.angular_velocity.y == 0.0);
    }
    assert!(state(world.as_ref()).bodies[0].velocity.z > 0.1);
}
