//! The two engines compared with each other.

use std::sync::Arc;

use ambler::character::Joint;
use ambler::math::rotation;
use ambler::world::{
    Actuation, BodyRef, CharacterState, EngineKind, ExternalForce, JointPosition, PdMode, RootActuation, build,
};
use glam::{DQuat, DVec3};

use crate::scenes::{benchmark_humanoid, general_pose, general_tree, ground, scene, state};

/// Both engines move a general tree under gravity, PD, feed-forward, passive damping, armature and an external force the
/// same way, up to the step: the difference falls with it.
#[test]
fn both_engines_agree_in_flight() {
    let mut tree = general_tree();
    for body in &mut tree.bodies {
        body.damping = [0.2, 0.3, 0.1];
        body.armature = [0.02, 0.01, 0.03];
    }
    let tree = Arc::new(tree);
    let (joints, velocities) = general_pose();
    let mut actuation = Actuation::hold_bind_pose(&tree);
    actuation.joints[1].target = JointPosition::Rotation(rotation::exp(DVec3::new(0.9, -0.4, 0.8)));
    actuation.joints[1].target_velocity = DVec3::new(0.5, -0.2, 0.3);
    actuation.joints[2].feed_forward = DVec3::new(2.0, 0.0, 0.0);
    actuation.joints[3].target = JointPosition::Angles([0.4, 0.2]);
    actuation.joints[3].feed_forward = DVec3::new(-1.0, 0.7, 0.0);
    let push = ExternalForce {
        target: BodyRef::Character { character: 0, body: 2 },
        point: DVec3::new(0.02, -0.3, 0.05),
        force: DVec3::new(4.0, -3.0, 6.0),
        torque: DVec3::new(0.3, 0.2, -0.4),
    };
    let spring = RootActuation::Spring {
        position: DVec3::new(0.05, 0.9, 0.1),
        rotation: rotation::exp(DVec3::new(0.1, -0.2, 0.15)),
        velocity: DVec3::new(0.1, 0.2, -0.1),
        angular_velocity: DVec3::new(0.3, -0.2, 0.1),
        kp_linear: 900.0,
        kd_linear: 70.0,
        kp_angular: 30.0,
        kd_angular: 2.0,
    };
    for (mode, root) in [
        (PdMode::Stable, RootActuation::None),
        (PdMode::Explicit, RootActuation::None),
        (PdMode::Stable, spring),
    ] {
        let mut differences = Vec::new();
        for rate in [1000.0, 8000.0] {
            let [ours, theirs] = [EngineKind::Articulated, EngineKind::Rapier].map(|kind| {
                let mut world = build(kind, scene(vec![], vec![], vec![tree.clone()]), 1.0 / rate).unwrap();
                world
                    .set_character(0, DVec3::Y, DQuat::IDENTITY, &joints, &velocities)
                    .unwrap();
                (actuation.mode, actuation.root) = (mode, root);
                for _ in 0..(0.3 * rate) as usize {
                    world.step(std::slice::from_ref(&actuation), &[push]).unwrap();
                }
                state(world.as_ref())
            });
            let mut worst = [0.0_f64; 4];
            for i in 0..tree.bodies.len() {
                let (a, b) = (&ours.bodies[i], &theirs.bodies[i]);
                worst[0] = worst[0].max((a.position - b.position).length());
                worst[1] = worst[1].max((a.velocity - b.velocity).length());
                worst[2] = worst[2].max((ours.joint_velocities[i] - theirs.joint_velocities[i]).length());
                worst[3] = worst[3].max((ours.torques[i] - theirs.torques[i]).length());
            }
            println!("{mode:?} {rate} Hz: position, velocity, rate, torque differ by {worst:?}");
            differences.push(worst);
        }
        let [coarse, fine] = [differences[0], differences[1]];
        for k in 0..4 {
            assert!(
                fine[k] < 0.25 * coarse[k] + 1e-9 && coarse[k] < [0.02, 0.2, 1.0, 5.0][k],
                "{differences:?}"
            );
        }
    }
}

/// Characters on roots of every kind move the same way on both engines, up to the step.
#[test]
fn both_engines_agree_on_every_root() {
    let axis = DVec3::new(0.48, 0.6, 0.64);
    let roots = [
        (Joint::Planar, JointPosition::None),
        (Joint::Fixed, JointPosition::None),
        (Joint::Hinge { axis }, JointPosition::Angle(0.4)),
        (
            Joint::Universal { axes: [axis, DVec3::X] },
            JointPosition::Angles([0.3, -0.6]),
        ),
        (
            Joint::Ball,
            JointPosition::Rotation(rotation::exp(DVec3::new(0.5, -0.2, 0.9))),
        ),
    ];
    for (root, position) in roots {
        let mut tree = general_tree();
        tree.bodies[0].joint = root;
        // the limbs of this pose cross each other: only the joints are compared here
        (tree.bodies[0].kp, tree.bodies[0].kd) = ([60.0, 50.0, 40.0], [3.0, 2.0, 4.0]);
        let tree = Arc::new(tree);
        let (mut joints, velocities) = general_pose();
        joints[0] = position;
        let place = tree.bodies[0].offset + DVec3::new(0.0, 0.3, -0.2);
        let turned = DQuat::from_rotation_x(0.3) * tree.bodies[0].rest;
        let mut differences = Vec::new();
        for rate in [1000.0, 8000.0] {
            let [ours, theirs] = [EngineKind::Articulated, EngineKind::Rapier].map(|kind| {
                let mut world = build(kind, scene(vec![], vec![], vec![tree.clone()]), 1.0 / rate).unwrap();
                world.set_character(0, place, turned, &joints, &velocities).unwrap();
                let actuation = [Actuation::hold_bind_pose(&tree)];
                for _ in 0..(0.2 * rate) as usize {
                    world.step(&actuation, &[]).unwrap();
                }
                (state(world.as_ref()), world.energy())
            });
            let mut worst = [(ours.1 - theirs.1).abs(), 0.0, 0.0];
            for (i, (a, b)) in ours.0.bodies.iter().zip(&theirs.0.bodies).enumerate() {
                worst[1] = worst[1].max((a.center_of_mass - b.center_of_mass).length());
                worst[2] = worst[2].max((ours.0.torques[i] - theirs.0.torques[i]).length());
            }
            println!("{root:?} {rate} Hz: energy, position, torque differ by {worst:?}");
            differences.push(worst);
        }
        let [coarse, fine] = [differences[0], differences[1]];
        for k in 0..3 {
            assert!(
                fine[k] < 0.25 * coarse[k] + 1e-9 && coarse[k] < [0.5, 5e-3, 0.5][k],
                "{root:?}: {differences:?}"
            );
        }
    }
}

/// A standing humanoid, an assisted one and a loose box are the same on both engines in all that a controller reads.
#[test]
fn both_engines_agree_at_rest() {
    let humanoid = benchmark_humanoid();
    let states = [EngineKind::Articulated, EngineKind::Rapier].map(|kind| {
        let mut world = build(kind, scene(vec![ground()], vec![], vec![humanoid.clone()]), 1.0 / 240.0).unwrap();
        let mut actuation = Actuation::hold_bind_pose(&humanoid);
        actuation.root = RootActuation::Spring {
            position: humanoid.bodies[0].offset + DVec3::new(0.0, -0.01, 0.02),
            rotation: DQuat::from_rotation_x(0.05),
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            kp_linear: 2000.0,
            kd_linear: 300.0,
            kp_angular: 300.0,
            kd_angular: 40.0,
        };
        for _ in 0..1200 {
            world.step(std::slice::from_ref(&actuation), &[]).unwrap();
        }
        state(world.as_ref())
    });
    let [a, b] = &states;
    let wrench = [a.external_wrench, b.external_wrench];
    println!("{wrench:?}\n{:?}\n{:?}", a.feet, b.feet);
    assert!((wrench[0].force - wrench[1].force).length() < 0.5, "{wrench:?}");
    assert!((wrench[0].torque - wrench[1].torque).length() < 0.2, "{wrench:?}");
    for side in 0..2 {
        assert!((a.feet[side].force.y - b.feet[side].force.y).abs() < 1.0);
        let pressures = [a, b].map(|s| s.feet[side].center_of_pressure.unwrap());
        assert!(
            (pressures[0] - pressures[1]).reject_from_normalized(DVec3::Y).length() < 5e-3,
            "{pressures:?}"
        );
    }
    for i in 0..humanoid.bodies.len() {
        assert!((a.bodies[i].position - b.bodies[i].position).length() < 3e-3);
        assert!(
            (a.torques[i] - b.torques[i]).length() < 1.0 + 0.05 * a.torques[i].length(),
            "{i}"
        );
    }
    let area = |s: &CharacterState| -> f64 {
        let corners = &s.support_polygon;
        let next = corners.iter().cycle().skip(1);
        corners.iter().zip(next).map(|(p, q)| 0.5 * p.cross(*q).y).sum()
    };
    // two feet, 0.27 m wide over all and 0.25 m long
    assert!((area(a) - 0.27 * 0.25).abs() < 1e-3 && (area(b) - area(a)).abs() < 1e-3);
}
