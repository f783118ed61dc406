//! Behaviour of the rapier engine: standing, analytic motions, exact snapshots, refusals.

use std::sync::Arc;

use ambler::character::{Body, Character, Collider, Joint, Limit, Material, Role, Shape};
use ambler::math::rotation;
use ambler::world::{
    Actuation, BodyRef, BuildError, CharacterState, Contact, Engine, EngineKind, ExternalForce, JointPosition, PdMode,
    Placement, Platform, PlatformMotion, Prop, RootActuation, Scene, Snapshot, StepError, Terrain, TerrainShape,
    Wrench, build,
};
use glam::{DMat3, DQuat, DVec3};

const GRAVITY: f64 = 9.81;

fn box_inertia(mass: f64, h: DVec3) -> DMat3 {
    let s = h * h;
    DMat3::from_diagonal(mass / 3.0 * DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y))
}

/// A box that hangs on `joint`; its centre is at `center` in its own frame.
fn box_body(name: &str, joint: Joint, mass: f64, half_extents: DVec3, center: DVec3) -> Body {
    Body {
        name: name.into(),
        parent: None,
        role: Role::Other,
        offset: DVec3::ZERO,
        rest: DQuat::IDENTITY,
        joint,
        mass,
        center_of_mass: center,
        inertia: box_inertia(mass, half_extents),
        colliders: vec![Collider {
            shape: Shape::Box { half_extents },
            position: center,
            rotation: DQuat::IDENTITY,
        }],
        material: Material::default(),
        membership: 1,
        filter: 1,
        limit: Limit::None,
        torque_limit: [f64::INFINITY; 3],
        kp: [0.0; 3],
        kd: [0.0; 3],
        damping: [0.0; 3],
        armature: [0.0; 3],
    }
}

fn character(name: &str, bodies: Vec<Body>) -> Arc<Character> {
    Arc::new(Character {
        name: name.into(),
        bodies,
    })
}

fn ground() -> Terrain {
    Terrain {
        shape: TerrainShape::Ground,
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        material: Material::default(),
    }
}

fn scene(terrain: Vec<Terrain>, props: Vec<Arc<Character>>, characters: Vec<Arc<Character>>) -> Scene {
    Scene {
        terrain,
        props: props.into_iter().map(|body| Prop { body }).collect(),
        characters: characters
            .into_iter()
            .map(|character| Placement {
                character,
                position: DVec3::ZERO,
                heading: 0.0,
            })
            .collect(),
        ..Scene::default()
    }
}

fn world(scene: Scene, rate: f64) -> Box<dyn Engine> {
    build(EngineKind::Rapier, scene, 1.0 / rate).expect("a good scene")
}

fn state(world: &dyn Engine) -> CharacterState {
    let mut out = CharacterState::default();
    world.read_state(0, &mut out);
    out
}

/// The 16-body, 43-degree-of-freedom humanoid of the solver comparison.
fn benchmark_humanoid() -> Arc<Character> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/benchmark.toml");
    Arc::new(Character::load(&path).expect("the project's own character"))
}

/// The humanoid stands on its own feet for ten seconds and the ground carries exactly its weight.
#[test]
fn humanoid_stands_and_the_ground_carries_its_weight() {
    let humanoid = benchmark_humanoid();
    let mut world = world(scene(vec![ground()], vec![], vec![humanoid.clone()]), 240.0);
    let actuations = [Actuation::hold_bind_pose(&humanoid)];
    let weight = humanoid.mass() * GRAVITY;
    let start = state(world.as_ref());
    let (mut sum, mut count, mut slip) = (DVec3::ZERO, 0.0, 0.0_f64);
    let mut middle = start.clone();
    for step in 0..2400 {
        world.step(&actuations, &[]).unwrap();
        let now = state(world.as_ref());
        if step == 1200 {
            middle = now.clone();
        }
        if step > 1200 {
            let force: DVec3 = now.contacts.iter().map(|c| c.force).sum();
            assert!(force.is_finite());
            sum += force;
            count += 1.0;
            for foot in ["left_foot", "right_foot"] {
                let foot = humanoid.body(foot).unwrap();
                slip = slip.max((now.bodies[foot].position - middle.bodies[foot].position).length());
            }
        }
    }
    let end = state(world.as_ref());
    let mean = sum / count;
    println!("mean ground force {mean}, weight {weight}, slip {slip:.2e} m");
    assert!((mean.y - weight).abs() < 1e-3 * weight, "{mean} instead of {weight}");
    assert!(mean.x.abs() + mean.z.abs() < 1e-2 * weight, "{mean}");
    assert!((end.bodies[0].position - start.bodies[0].position).length() < 0.02);
    assert!(slip < 2e-4, "{slip}");
    assert!(end.feet.iter().all(|f| f.force.y > 0.3 * weight));
    let pressure = end.center_of_pressure.unwrap();
    assert!(
        (pressure - end.center_of_mass)
            .reject_from_normalized(DVec3::Y)
            .length()
            < 5e-3
    );
    assert!(end.support_polygon.len() >= 4);
}

/// A dropped box falls as the discrete integrator predicts, then rests with the ground carrying its weight.
#[test]
fn dropped_box_falls_and_rests() {
    let half = DVec3::new(0.2, 0.1, 0.3);
    let mut body = box_body("crate", Joint::Free, 3.0, half, DVec3::new(0.03, -0.02, 0.01));
    body.offset = DVec3::new(0.4, 1.0, -0.2);
    body.rest = DQuat::from_rotation_y(0.7);
    let mut world = world(
        scene(vec![ground()], vec![character("crate", vec![body])], vec![]),
        240.0,
    );
    let dt = world.dt();
    let start = world.prop_body(0, 0).center_of_mass;
    for n in 1..=60 {
        world.step(&[], &[]).unwrap();
        // semi-implicit Euler: v_n = -g n dt, y_n = y_0 - g dt² n (n + 1) / 2
        let fallen = GRAVITY * dt * dt * (n * (n + 1)) as f64 / 2.0;
        let now = world.prop_body(0, 0);
        assert!((now.center_of_mass - start + DVec3::Y * fallen).length() < 1e-12);
    }
    let mut contacts = Vec::new();
    for _ in 0..480 {
        world.step(&[], &[]).unwrap();
    }
    world.contacts(&mut contacts);
    let force: DVec3 = contacts
        .iter()
        .map(|c| turned(c, BodyRef::Prop { prop: 0, body: 0 }))
        .sum();
    assert!((force.y - 3.0 * GRAVITY).abs() < 1e-3 * 3.0 * GRAVITY, "{force}");
    assert!((world.prop_body(0, 0).center_of_mass.y - 0.1).abs() < 2e-3);
    assert_eq!(world.last_step().contact_points, contacts.len());
}

/// Force of a contact on `body`, zero if it does not touch it.
fn turned(contact: &Contact, body: BodyRef) -> DVec3 {
    if contact.a == body {
        contact.force
    } else if contact.b == body {
        -contact.force
    } else {
        DVec3::ZERO
    }
}

/// On a slope the contact forces on a resting box, friction included, balance its weight; on a steeper one it slides
/// with the force of friction opposing it. The same for two welded boxes, which rapier solves as a multibody.
#[test]
fn friction_holds_a_box_on_a_slope() {
    for (slope, holds) in [(0.3_f64, true), (0.6, false)] {
        for welded in [false, true] {
            let material = Material {
                friction: 0.5,
                restitution: 0.0,
            };
            let rotation = DQuat::from_rotation_x(slope);
            let mut body = box_body("crate", Joint::Free, 2.0, DVec3::new(0.3, 0.1, 0.3), DVec3::ZERO);
            body.offset = rotation * DVec3::new(0.2, 0.1, 0.1);
            body.rest = rotation;
            body.material = material;
            let mut bodies = vec![body];
            if welded {
                let mut lid = box_body("lid", Joint::Fixed, 0.5, DVec3::new(0.3, 0.02, 0.3), DVec3::ZERO);
                lid.parent = Some(0);
                lid.offset = DVec3::new(0.0, 0.12, 0.0);
                bodies.push(lid);
            }
            let weight = GRAVITY * bodies.iter().map(|b| b.mass).sum::<f64>();
            let tilted = Terrain {
                rotation,
                material,
                ..ground()
            };
            let mut world = world(scene(vec![tilted], vec![character("crate", bodies)], vec![]), 240.0);
            for _ in 0..240 {
                world.step(&[], &[]).unwrap();
            }
            let mut contacts = Vec::new();
            world.contacts(&mut contacts);
            let on_crate = |c: &Contact| turned(c, BodyRef::Prop { prop: 0, body: 0 });
            let force: DVec3 = contacts.iter().map(on_crate).sum();
            let speed = world.prop_body(0, 0).velocity.length();
            if holds {
                assert!((force - weight * DVec3::Y).length() < 1e-2 * weight, "{welded} {force}");
                assert!(speed < 2e-3, "{welded} {speed}");
            } else {
                let acceleration = GRAVITY * (libm::sin(slope) - 0.5 * libm::cos(slope));
                assert!(
                    (speed - acceleration).abs() < 0.02 * acceleration,
                    "{welded} {speed} {acceleration}"
                );
                // it slides down along the rotated +Z, friction points up
                let (normal, along) = (force.dot(rotation * DVec3::Y), force.dot(rotation * DVec3::NEG_Z));
                assert!((along - 0.5 * normal).abs() < 0.01 * normal, "{welded} {force}");
            }
        }
    }
}

/// Bodies on the two sides of a joint never collide, universal joints included, whatever their shapes overlap.
#[test]
fn neighbours_never_collide() {
    let axes = [DVec3::X, DVec3::Z];
    for joint in [
        Joint::Universal { axes },
        Joint::Ball,
        Joint::Hinge { axis: DVec3::X },
        Joint::Fixed,
    ] {
        let trunk = box_body("trunk", Joint::Free, 4.0, DVec3::splat(0.2), DVec3::ZERO);
        let mut limb = box_body(
            "limb",
            joint,
            1.0,
            DVec3::new(0.05, 0.2, 0.05),
            DVec3::new(0.0, -0.1, 0.0),
        );
        limb.parent = Some(0);
        let mut tip = limb.clone();
        tip.name = "tip".into();
        let free = |bodies| Scene {
            gravity: DVec3::ZERO,
            ..scene(vec![], vec![], vec![character("pair", bodies)])
        };
        let run = |bodies: Vec<Body>| {
            let mut world = world(free(bodies), 240.0);
            let actuation = [Actuation::hold_bind_pose(
                &world.scene().characters[0].character.clone(),
            )];
            world.step(&actuation, &[]).unwrap();
            world.last_step().contact_points
        };
        assert_eq!(run(vec![trunk.clone(), limb.clone()]), 0, "{joint:?}");
        // siblings are no neighbours: the two limbs stand in the same place
        assert!(run(vec![trunk, limb, tip]) > 0, "{joint:?}");
    }
}

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

/// A small tree with every kind of joint, general frames and offset centres of mass.
fn general_tree() -> Character {
    let turn = |x: f64, y: f64, z: f64| DQuat::from_euler(glam::EulerRot::XYZ, x, y, z);
    let mut root = box_body(
        "root",
        Joint::Free,
        6.0,
        DVec3::new(0.2, 0.1, 0.15),
        DVec3::new(0.02, -0.03, 0.05),
    );
    root.offset = DVec3::new(0.1, 1.5, -0.3);
    root.rest = turn(0.2, -0.4, 0.1);
    let part = |name: &str, parent, joint, offset, rest| Body {
        parent: Some(parent),
        offset,
        rest,
        kp: [80.0; 3],
        kd: [6.0; 3],
        ..box_body(
            name,
            joint,
            1.5,
            DVec3::new(0.05, 0.15, 0.06),
            DVec3::new(0.01, -0.16, 0.02),
        )
    };
    let axes = [DVec3::new(0.0, 0.6, 0.8), DVec3::X];
    Character {
        name: "tree".into(),
        bodies: vec![
            root,
            part("ball", 0, Joint::Ball, DVec3::new(0.2, -0.1, 0.0), turn(0.5, 0.3, -0.2)),
            part(
                "hinge",
                1,
                Joint::Hinge {
                    axis: DVec3::new(0.8, 0.0, -0.6),
                },
                DVec3::new(0.0, -0.4, 0.0),
                turn(0.1, 0.0, 0.4),
            ),
            part(
                "universal",
                0,
                Joint::Universal { axes },
                DVec3::new(-0.25, 0.0, 0.1),
                turn(-0.3, 0.2, 0.0),
            ),
            part(
                "fixed",
                3,
                Joint::Fixed,
                DVec3::new(0.0, -0.4, 0.05),
                turn(0.0, 0.6, 0.0),
            ),
        ],
    }
}

fn general_pose() -> (Vec<JointPosition>, Vec<(DVec3, DVec3)>) {
    let joints = vec![
        JointPosition::None,
        JointPosition::Rotation(rotation::exp(DVec3::new(0.6, -0.9, 0.4))),
        JointPosition::Angle(0.7),
        JointPosition::Angles([-0.5, 0.8]),
        JointPosition::None,
    ];
    let velocities = vec![
        (DVec3::new(0.3, -0.2, 0.5), DVec3::new(0.4, 1.1, -0.6)),
        (DVec3::ZERO, DVec3::new(0.9, -0.3, 0.5)),
        (DVec3::ZERO, DVec3::new(-1.2, 0.0, 0.0)),
        (DVec3::ZERO, DVec3::new(0.7, 0.8, 0.0)),
        (DVec3::ZERO, DVec3::ZERO),
    ];
    (joints, velocities)
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

/// A level seesaw with balanced loads stays level; a box nailed to the world stays where it is.
#[test]
fn seesaw_and_fixed_props_work() {
    let mut plank = box_body(
        "plank",
        Joint::Hinge { axis: DVec3::X },
        8.0,
        DVec3::new(0.2, 0.03, 1.3),
        DVec3::ZERO,
    );
    plank.offset = DVec3::new(0.0, 0.6, 0.0);
    let load = |name: &str, mass: f64, z: f64| {
        let mut body = box_body(name, Joint::Free, mass, DVec3::splat(0.1), DVec3::ZERO);
        body.offset = DVec3::new(0.0, 0.73, z);
        character(name, vec![body])
    };
    let mut nail = box_body("nail", Joint::Fixed, 5.0, DVec3::splat(0.1), DVec3::ZERO);
    nail.offset = DVec3::new(2.0, 1.0, 0.0);
    let props = vec![
        character("seesaw", vec![plank]),
        load("light", 20.0, 1.0),
        load("heavy", 40.0, -0.5),
        character("nail", vec![nail]),
    ];
    let mut world = world(scene(vec![ground()], props, vec![]), 240.0);
    for _ in 0..720 {
        world.step(&[], &[]).unwrap();
    }
    let tilt = rotation::log(world.prop_body(0, 0).rotation);
    assert!(tilt.length() < 5e-3, "{tilt}");
    assert!((world.prop_body(1, 0).center_of_mass.y - 0.73).abs() < 1e-2);
    assert_eq!(world.prop_body(3, 0).center_of_mass, DVec3::new(2.0, 1.0, 0.0));
    let rate = DVec3::new(0.3, 0.0, 0.0);
    let tilted = DQuat::from_rotation_x(0.2);
    world
        .set_prop(0, DVec3::new(0.0, 0.6, 0.0), tilted, DVec3::ZERO, rate)
        .unwrap();
    let placed = world.prop_body(0, 0);
    assert!(rotation::difference(placed.rotation, tilted).length() < 1e-12);
    assert!((placed.angular_velocity - rate).length() < 1e-12);
    assert!((placed.position - DVec3::new(0.0, 0.6, 0.0)).length() < 1e-12);
}

/// A platform is where its motion says and carries what lies on it.
#[test]
fn platform_carries_a_box() {
    let velocity = DVec3::new(0.4, 0.0, 0.2);
    let mut body = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    body.offset = DVec3::new(0.0, 0.15, 0.0);
    let mut scene = scene(vec![ground()], vec![character("crate", vec![body])], vec![]);
    scene.platforms.push(Platform {
        half_extents: DVec3::new(1.0, 0.025, 1.0),
        position: DVec3::new(0.0, 0.025, 0.0),
        rotation: DQuat::IDENTITY,
        motion: PlatformMotion::Linear {
            velocity,
            angular_velocity: DVec3::ZERO,
        },
        material: Material::default(),
    });
    let mut world = world(scene, 240.0);
    for _ in 0..480 {
        world.step(&[], &[]).unwrap();
    }
    let (place, _) = world.platform_pose(0);
    assert!((place - DVec3::new(0.8, 0.025, 0.4)).length() < 1e-12);
    let carried = world.prop_body(0, 0);
    assert!((carried.velocity - velocity).length() < 1e-3, "{}", carried.velocity);
}

/// Rays see terrain, platforms and props where they are now, even before the first step, and never characters.
#[test]
fn rays_see_the_world_but_no_characters() {
    let mut low = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    low.offset = DVec3::new(0.0, 0.4, 0.0);
    let mut high = box_body("man", Joint::Free, 2.0, DVec3::splat(0.1), DVec3::ZERO);
    high.offset = DVec3::new(0.0, 1.0, 0.0);
    let world = world(
        scene(
            vec![ground()],
            vec![character("crate", vec![low])],
            vec![character("man", vec![high])],
        ),
        240.0,
    );
    let down = |x: f64| world.cast_ray(DVec3::new(x, 2.0, 0.0), DVec3::NEG_Y, 5.0);
    let (distance, normal) = down(0.05).expect("the crate");
    assert!((distance - 1.5).abs() < 1e-12 && (normal - DVec3::Y).length() < 1e-12);
    assert!((down(0.5).expect("the ground").0 - 2.0).abs() < 1e-12);
    assert_eq!(world.cast_ray(DVec3::Y, DVec3::Y, 100.0), None);
    assert_eq!(world.cast_ray(DVec3::new(0.5, 2.0, 0.0), DVec3::NEG_Y, 1.9), None);
}

/// A tree tumbling over ground, props and its own limbs under changing targets: contact-rich and never at rest.
fn tumbling_world() -> (Box<dyn Engine>, Arc<Character>) {
    let tree = Arc::new(general_tree());
    let mut body = box_body("crate", Joint::Free, 2.0, DVec3::splat(0.15), DVec3::ZERO);
    body.offset = DVec3::new(0.1, 0.2, -0.3);
    let scene = scene(vec![ground()], vec![character("crate", vec![body])], vec![tree.clone()]);
    (world(scene, 240.0), tree)
}

fn tumble(world: &mut dyn Engine, tree: &Character) {
    let mut actuation = Actuation::hold_bind_pose(tree);
    let phase = (world.steps() / 40) as f64;
    actuation.joints[1].target = JointPosition::Rotation(rotation::exp(DVec3::new(libm::sin(phase), 0.5, -0.7)));
    actuation.joints[2].target = JointPosition::Angle(libm::cos(1.7 * phase));
    actuation.joints[3].target = JointPosition::Angles([libm::sin(2.3 * phase), 0.4]);
    world.step(&[actuation], &[]).unwrap();
}

/// Restoring at any time, a clone, a reset and a fresh world all continue bit for bit.
#[test]
fn snapshots_clones_and_resets_are_exact() {
    let (mut world, tree) = tumbling_world();
    let fresh = world.state_hash();
    let steps = 720;
    let mut hashes = vec![fresh];
    let mut snapshots = Vec::new();
    for step in 0..steps {
        if step % 45 == 7 {
            let mut snapshot = Snapshot::default();
            world.snapshot(&mut snapshot);
            snapshots.push((step, snapshot));
        }
        tumble(world.as_mut(), &tree);
        hashes.push(world.state_hash());
    }
    assert!(hashes.windows(2).all(|h| h[0] != h[1]));
    let mut copy = world.boxed_clone();
    assert_eq!(copy.state_hash(), world.state_hash());
    for (step, snapshot) in snapshots.iter().rev() {
        copy.restore(snapshot).unwrap();
        assert_eq!((copy.steps(), copy.state_hash()), (*step as u64, hashes[*step]));
        for hash in &hashes[step + 1..(step + 60).min(steps)] {
            tumble(copy.as_mut(), &tree);
            assert_eq!(copy.state_hash(), *hash);
        }
        let mut again = Snapshot::default();
        copy.restore(snapshot).unwrap();
        copy.snapshot(&mut again);
        assert_eq!(&again, snapshot);
    }
    world.reset();
    assert_eq!(world.state_hash(), fresh);
    let (mut other, _) = tumbling_world();
    for hash in hashes.iter().skip(1).take(200) {
        tumble(world.as_mut(), &tree);
        tumble(other.as_mut(), &tree);
        assert_eq!((world.state_hash(), other.state_hash()), (*hash, *hash));
    }
    let mut elsewhere = build(EngineKind::Rapier, scene(vec![ground()], vec![], vec![]), 0.01).unwrap();
    assert!(elsewhere.restore(&snapshots[0].1).is_err());
    assert!(elsewhere.restore(&Snapshot::default()).is_err());
}

/// Gains that are not finite, targets of the wrong kind and forces on nothing are refused by name; nothing moves.
#[test]
fn bad_actuations_are_refused_and_change_nothing() {
    let (mut world, tree) = tumbling_world();
    for _ in 0..50 {
        tumble(world.as_mut(), &tree);
    }
    let before = world.state_hash();
    let good = Actuation::hold_bind_pose(&tree);
    type Spoil = fn(&mut Actuation);
    let spoils: [(&str, Spoil); 8] = [
        ("kp[1]", |a| a.joints[1].kp.y = f64::NAN),
        ("kd[0]", |a| a.joints[2].kd.x = f64::INFINITY),
        ("kd[1]", |a| a.joints[3].kd.y = -1.0),
        ("feed-forward", |a| a.joints[1].feed_forward.z = f64::NEG_INFINITY),
        ("target velocity", |a| a.joints[1].target_velocity.x = f64::NAN),
        ("joint position", |a| {
            a.joints[2].target = JointPosition::Rotation(DQuat::IDENTITY)
        }),
        ("joint position", |a| {
            a.joints[1].target = JointPosition::Rotation(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.5))
        }),
        ("force", |a| {
            a.root = RootActuation::Wrench(Wrench {
                force: DVec3::NAN,
                torque: DVec3::ZERO,
            })
        }),
    ];
    for (what, spoil) in spoils {
        let mut bad = good.clone();
        spoil(&mut bad);
        let error = world.step(&[bad], &[]).expect_err(what);
        let text = error.to_string();
        assert!(
            matches!(error, StepError::BadInput { .. }) && text.contains(what) && text.contains("tree/"),
            "{text}"
        );
    }
    let mut short = good.clone();
    short.joints.pop();
    assert!(world.step(&[short], &[]).is_err());
    assert!(world.step(&[], &[]).is_err());
    let force = |target, point| ExternalForce {
        target,
        point,
        force: DVec3::X,
        torque: DVec3::ZERO,
    };
    for bad in [
        force(BodyRef::Terrain(0), DVec3::ZERO),
        force(BodyRef::Prop { prop: 0, body: 1 }, DVec3::ZERO),
        force(BodyRef::Character { character: 0, body: 0 }, DVec3::NAN),
    ] {
        assert!(world.step(std::slice::from_ref(&good), &[bad]).is_err());
    }
    assert_eq!(world.state_hash(), before);
}

/// Explicit PD with a gain far beyond its stability limit ends in an error that names joint and gain, with the world
/// left finite as it was; so does one huge torque.
#[test]
fn divergence_is_an_error_and_leaves_the_world_as_it_was() {
    let humanoid = benchmark_humanoid();
    let mut world = world(scene(vec![ground()], vec![], vec![humanoid.clone()]), 240.0);
    let mut actuation = Actuation::hold_bind_pose(&humanoid);
    actuation.mode = PdMode::Explicit;
    let mut outcome = Ok(());
    let mut before = world.state_hash();
    for _ in 0..2400 {
        before = world.state_hash();
        outcome = world.step(std::slice::from_ref(&actuation), &[]);
        if outcome.is_err() {
            break;
        }
        assert!(state(world.as_ref()).kinetic_energy.is_finite());
    }
    let error = outcome.expect_err("explicit PD at these gains is unstable");
    assert!(matches!(error, StepError::Diverged { .. }), "{error}");
    assert!(
        error.to_string().contains("explicit PD") && error.to_string().contains("benchmark/"),
        "{error}"
    );
    assert_eq!(world.state_hash(), before);
    world.reset();
    actuation.mode = PdMode::Stable;
    for huge in [1e12, 1e300] {
        actuation.joints[3].feed_forward = DVec3::splat(huge);
        let before = world.state_hash();
        let error = world.step(std::slice::from_ref(&actuation), &[]).expect_err("huge");
        assert!(matches!(error, StepError::Diverged { .. }), "{error}");
        assert_eq!(world.state_hash(), before);
    }
    actuation.joints[3].feed_forward = DVec3::ZERO;
    world.step(std::slice::from_ref(&actuation), &[]).unwrap();
}

/// Every number of a scene that is out of its range is refused by name when the world is built.
#[test]
fn bad_scenes_are_refused_by_name() {
    type Spoil = fn(&mut Scene);
    fn body(scene: &mut Scene, index: usize) -> &mut Body {
        &mut Arc::make_mut(&mut scene.characters[0].character).bodies[index]
    }
    let spoils: [(&str, Spoil); 30] = [
        ("gravity", |s| s.gravity.y = f64::NAN),
        ("terrain 0: friction", |s| s.terrain[0].material.friction = -0.1),
        ("terrain 0: restitution", |s| s.terrain[0].material.restitution = 1.5),
        ("terrain 0: half_extents", |s| {
            let half_extents = DVec3::new(1.0, 0.0, 1.0);
            s.terrain[0].shape = TerrainShape::Box { half_extents };
        }),
        ("terrain 0: heights: length of row 1", |s| {
            let heights = vec![vec![0.0, 1.0], vec![0.0]];
            s.terrain[0].shape = TerrainShape::Heightfield {
                heights,
                size: [1.0; 2],
            };
        }),
        ("terrain 0: heights", |s| {
            let heights = vec![vec![0.0, 1.0]];
            s.terrain[0].shape = TerrainShape::Heightfield {
                heights,
                size: [1.0; 2],
            };
        }),
        ("terrain 0: triangle 0", |s| {
            let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::Z];
            s.terrain[0].shape = TerrainShape::Mesh {
                vertices,
                triangles: vec![[0, 1, 3]],
            };
        }),
        ("terrain 0: steps", |s| {
            s.terrain[0].shape = TerrainShape::Stairs {
                steps: 0,
                rise: 0.1,
                run: 0.1,
                width: 1.0,
            }
        }),
        ("terrain 0: rotation", |s| {
            s.terrain[0].rotation = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.9)
        }),
        ("(tree): position", |s| s.characters[0].position.x = f64::INFINITY),
        ("(tree): heading", |s| s.characters[0].heading = f64::NAN),
        ("tree)/hinge: mass", |s| body(s, 2).mass = 0.0),
        ("tree)/hinge: mass", |s| body(s, 2).mass = f64::NAN),
        ("tree)/ball: inertia", |s| {
            body(s, 1).inertia = DMat3::from_diagonal(DVec3::new(1.0, 1.0, 2.1))
        }),
        ("tree)/ball: inertia", |s| {
            body(s, 1).inertia = DMat3::from_diagonal(DVec3::new(1.0, -1.0, 1.0))
        }),
        ("tree)/ball: inertia", |s| body(s, 1).inertia.x_axis.y = f64::NAN),
        ("tree)/hinge: axis", |s| {
            body(s, 2).joint = Joint::Hinge {
                axis: DVec3::splat(1.0),
            }
        }),
        ("tree)/universal: axes", |s| {
            body(s, 3).joint = Joint::Universal { axes: [DVec3::X; 2] }
        }),
        ("tree)/ball: kp[2]", |s| body(s, 1).kp[2] = -1.0),
        ("tree)/ball: kd[0]", |s| body(s, 1).kd[0] = f64::INFINITY),
        ("tree)/ball: armature[1]", |s| body(s, 1).armature[1] = f64::NAN),
        ("tree)/hinge: torque_limit[0]", |s| {
            body(s, 2).torque_limit[0] = f64::NAN
        }),
        ("tree)/hinge: limit: range 0", |s| {
            body(s, 2).limit = Limit::Range([[0.5, -0.5], [0.0; 2]])
        }),
        ("tree)/ball: limit", |s| {
            body(s, 1).limit = Limit::Range([[-0.5, 0.5], [0.0; 2]])
        }),
        ("tree)/ball: name", |s| body(s, 4).name = "ball".into()),
        ("tree)/ball: parent", |s| body(s, 1).parent = Some(2)),
        ("tree)/hinge: joint", |s| body(s, 2).joint = Joint::Free),
        ("tree)/ball: collider 0: radius", |s| {
            body(s, 1).colliders[0].shape = Shape::Sphere { radius: -1.0 }
        }),
        ("tree)/ball: collider 0: points", |s| {
            let points = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE.with_z(0.0)];
            body(s, 1).colliders[0].shape = Shape::Hull { points };
        }),
        ("tree): bodies", |s| {
            Arc::make_mut(&mut s.characters[0].character).bodies.clear()
        }),
    ];
    let good = scene(vec![ground()], vec![], vec![Arc::new(general_tree())]);
    assert!(build(EngineKind::Rapier, good.clone(), 0.01).is_ok());
    for (what, spoil) in spoils {
        let mut bad = good.clone();
        spoil(&mut bad);
        let error = build(EngineKind::Rapier, bad, 0.01)
            .err()
            .unwrap_or_else(|| panic!("{what} accepted"));
        let text = error.to_string().replace("fixed", "fixed");
        let name = what.replace("tree)/fixed", "tree)/ball");
        assert!(
            matches!(error, BuildError::BadValue { .. }) && text.contains(&name),
            "{what}: {text}"
        );
    }
    for dt in [0.0, -0.01, 0.2, f64::NAN, f64::INFINITY] {
        let error = build(EngineKind::Rapier, good.clone(), dt).err().expect("a bad step");
        assert!(error.to_string().contains("time step"), "{error}");
    }
}
