#![allow(non_snake_case)]
//! What nothing inside a world can change: momentum.

use std::sync::Arc;

use ambler::character::{Body, Character, Joint, Limit};
use ambler::dynamics::{Dynamics, rk4_step};
use ambler::math::random::uniform_in;
use ambler::math::rotation::{angle_between, exp};
use ambler::world::{Actuation, ExternalForce, JointPosition, PdMode, RootActuation, Scene, Wrench};
use glam::{DQuat, DVec3};

use crate::common::*;

fn random(stream: u64, index: u64, size: f64) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|k| uniform_in(77 + k, stream, index, -size, size)))
}

/// New targets for every joint: rotations and angles of up to about `size` radians.
fn retarget(character: &Character, actuation: &mut Actuation, index: u64, size: f64) {
    for (b, (body, joint)) in character.bodies.iter().zip(&mut actuation.joints).enumerate() {
        let r = random(b as u64, index, size);
        joint.target = match body.joint {
            Joint::Hinge { .. } => JointPosition::Angle(r.x),
            Joint::Universal { .. } => JointPosition::Angles([r.x, r.y]),
            Joint::Ball => JointPosition::Rotation(exp(r)),
            _ => JointPosition::None,
        };
    }
}

/// Total linear momentum and angular momentum about the world's origin of everything that moves.
fn total(world: &mut World) -> (DVec3, DVec3) {
    let scene = world.engine.scene().clone();
    let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
    for c in 0..scene.characters.len() {
        let s = world.read(c);
        linear += s.linear_momentum;
        angular += s.angular_momentum + s.center_of_mass.cross(s.linear_momentum);
    }
    for (p, prop) in scene.props.iter().enumerate() {
        let body: &Body = &prop.body.bodies[0];
        let s = world.engine.prop_body(p, 0);
        let momentum = body.mass * s.velocity;
        linear += momentum;
        angular += s.center_of_mass.cross(momentum)
            + s.rotation * (body.inertia * (s.rotation.conjugate() * s.angular_velocity));
    }
    (linear, angular)
}

/// A character turning at `spin` and moving at `velocity`, in the middle of nowhere.
fn floating(character: &Arc<Character>, gravity: DVec3, velocity: DVec3, spin: DVec3, rate: f64) -> World {
    let scene = Scene {
        gravity,
        characters: vec![place(character, DVec3::ZERO, 0.0)],
        ..Scene::default()
    };
    let mut world = World::new(scene, rate);
    let joints: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
    let mut rates = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
    rates[0] = (velocity, spin);
    world
        .engine
        .set_character(0, vec(0.4, 30.0, -0.3), exp(vec(0.3, -0.8, 0.5)), &joints, &rates)
        .unwrap();
    world
}

#[test]
fn in_flight_momentum_changes_only_by_gravity() {
    // PD at full gains chasing a new pose every 0.2 s from a spinning start: P − m g t and L about the centre of mass keep their
    // values to 1e-9 of the largest per second, and the centre of mass its parabola to 1e-9 m
    for file in ["benchmark.toml", "humanoid.toml"] {
        let character = load(file);
        for rate in [60.0, 120.0, 240.0, 480.0, 1000.0] {
            let gravity = vec(0.3, -GRAVITY, -0.2);
            let mut world = floating(&character, gravity, vec(1.0, 2.0, -0.5), vec(2.0, -1.0, 3.0), rate);
            let start = world.read(0).clone();
            let (mut p_error, mut l_error, mut x_error) = (0.0_f64, 0.0_f64, 0.0_f64);
            for i in 0..world.steps_in(2.0) {
                if i % world.steps_in(0.2) == 0 {
                    retarget(&character, &mut world.actuations[0], i as u64, 0.8);
                }
                world.step();
                let t = world.engine.time();
                let s = world.read(0);
                let expected = start.linear_momentum + character.mass() * gravity * t;
                p_error = p_error.max((s.linear_momentum - expected).length() / expected.length() / t.max(1.0));
                let l = (s.angular_momentum - start.angular_momentum).length() / start.angular_momentum.length();
                l_error = l_error.max(l / t.max(1.0));
                let x = start.center_of_mass + start.com_velocity * t + 0.5 * gravity * t * t;
                x_error = x_error.max((s.center_of_mass - x).length());
            }
            println!("{file} {rate} Hz: P {p_error:.1e}, L {l_error:.1e} relative per second, path {x_error:.1e} m");
            assert!(p_error < 1e-9 && l_error < 1e-9 && x_error < 1e-9);
        }
    }
}

/// A chain of every joint type with limits, armature, damping and low torque limits.
fn contraption() -> Arc<Character> {
    let link = |name: &str, parent: usize, joint: Joint| Body {
        name: name.into(),
        parent: Some(parent),
        offset: vec(0.1, 0.25, -0.05),
        rest: exp(vec(0.4, -0.3, 0.9)),
        joint,
        center_of_mass: vec(0.02, 0.12, 0.01),
        kp: [200.0, 150.0, 250.0],
        kd: [8.0, 6.0, 10.0],
        damping: [0.3, 0.2, 0.1],
        armature: [0.02, 0.03, 0.04],
        torque_limit: [12.0, 9.0, 15.0],
        ..bob(1.5, vec(0.02, 0.12, 0.01), vec(0.02, 0.011, 0.017))
    };
    let ranged = |body: Body, half: f64| Body {
        limit: match body.joint {
            Joint::Ball => Limit::SwingTwist {
                axis: DVec3::Y,
                center: exp(vec(0.1, 0.0, -0.1)),
                swing: half,
                twist: [-half, half],
            },
            _ => Limit::Range([[-half, half]; 2]),
        },
        ..body
    };
    let mut bodies = vec![bob(4.0, vec(0.05, -0.02, 0.03), vec(0.1, 0.15, 0.08))];
    bodies.push(ranged(link("ball", 0, Joint::Ball), 0.5));
    bodies.push(ranged(link("hinge", 1, Joint::Hinge { axis: DVec3::Z }), 0.4));
    let axes = [DVec3::X, vec(0.6, 0.0, 0.8)];
    bodies.push(ranged(link("universal", 0, Joint::Universal { axes }), 0.3));
    bodies.push(link("free ball", 3, Joint::Ball));
    bodies.push(link("fixed", 2, Joint::Fixed));
    Arc::new(Character {
        name: "contraption".into(),
        bodies,
    })
}

#[test]
fn no_actuation_without_a_root_wrench_can_push_its_character() {
    // zero gravity, everything a controller may ask for: targets, target rates, gains, feed-forward, saturation, limits, explicit
    // mode; total momentum stays what it was to 1e-9
    for character in [contraption(), load("humanoid.toml")] {
        for mode in [PdMode::Stable, PdMode::Explicit] {
            for rate in [60.0, 240.0, 1000.0] {
                let mut world = floating(&character, DVec3::ZERO, vec(0.5, -0.2, 0.1), vec(0.3, 0.9, -0.4), rate);
                world.actuations[0].mode = mode;
                let (p0, l0) = total(&mut world);
                let (mut saturated, mut limits, mut p_error, mut l_error) = (0, 0.0_f64, 0.0_f64, 0.0_f64);
                for i in 0..world.steps_in(2.0) {
                    if i % world.steps_in(0.1) == 0 {
                        retarget(&character, &mut world.actuations[0], i as u64, 1.5);
                        for (b, joint) in world.actuations[0].joints.iter_mut().enumerate() {
                            joint.target_velocity = random(100 + b as u64, i as u64, 3.0);
                            joint.feed_forward = random(200 + b as u64, i as u64, 5.0);
                            if mode == PdMode::Explicit {
                                // soft enough for every step size
                                (joint.kp, joint.kd) = (DVec3::splat(2.0), DVec3::splat(0.02));
                            }
                        }
                    }
                    world.step();
                    limits = limits.max(world.engine.last_step().max_limit_violation);
                    saturated += world.read(0).saturated.iter().filter(|s| **s).count();
                    let (p, l) = total(&mut world);
                    p_error = p_error.max((p - p0).length() / p0.length());
                    l_error = l_error.max((l - l0).length() / l0.length());
                }
                println!(
                    "{} {mode:?} {rate} Hz: P {p_error:.1e}, L {l_error:.1e}; {saturated} saturations, limit excess {limits:.4}",
                    character.name
                );
                assert!(p_error < 1e-9 && l_error < 1e-9);
                assert!(mode == PdMode::Explicit || character.name == "humanoid" || saturated > 0);
                assert_eq!(world.read(0).external_wrench, Wrench::default());
            }
        }
    }
}

#[test]
fn a_root_wrench_changes_momentum_by_its_impulse_and_is_reported() {
    // the only way to push: F t and M t, to 1e-9
    let character = load("benchmark.toml");
    let mut world = floating(&character, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO, 240.0);
    let wrench = Wrench {
        force: vec(40.0, -15.0, 25.0),
        torque: vec(3.0, 5.0, -2.0),
    };
    world.actuations[0].root = RootActuation::Wrench(wrench);
    let (p0, l0) = total(&mut world);
    let mut moment = l0;
    for _ in 0..240 {
        // acts at the root's centre of mass where it is at the beginning of the step
        let at = world.read(0).bodies[0].center_of_mass;
        moment += (wrench.torque + at.cross(wrench.force)) / 240.0;
        world.step();
        assert_eq!(world.read(0).external_wrench, wrench);
    }
    let (p, l) = total(&mut world);
    println!(
        "P {:.1e}, L {:.1e}",
        (p - p0 - wrench.force).length(),
        (l - moment).length()
    );
    assert!((p - p0 - wrench.force).length() < 1e-9 * p.length());
    assert!((l - moment).length() < 1e-9 * moment.length());
}

#[test]
fn a_kick_balances_the_momentum_of_foot_and_prop() {
    // a leg swings against a box of 20 kg: what the box gains the character loses, to 1e-9, in zero gravity (all of it) and
    // on ground without friction (the horizontal part)
    let character = load("benchmark.toml");
    let thigh = character.body("right_thigh").unwrap();
    let shin = character.body("right_shin").unwrap();
    for on_ground in [false, true] {
        for rate in [60.0, 240.0, 1000.0] {
            let box_at = vec(-0.09, 0.25, 0.55);
            let mut slippery = (*character).clone();
            if on_ground {
                for body in &mut slippery.bodies {
                    body.material.friction = 0.0;
                }
            }
            let friction = if on_ground { 0.0 } else { 0.8 };
            let scene = Scene {
                gravity: if on_ground {
                    vec(0.0, -GRAVITY, 0.0)
                } else {
                    DVec3::ZERO
                },
                terrain: if on_ground { vec![ground(0.0)] } else { vec![] },
                props: vec![prop(
                    with_material(body(cuboid(0.2, 0.25, 0.2), 20.0), friction, 0.0),
                    box_at,
                    exp(DVec3::Y * 0.1),
                )],
                characters: vec![place(&Arc::new(slippery), DVec3::ZERO, 0.0)],
                ..Scene::default()
            };
            let mut world = World::new(scene, rate);
            // swing back first, then kick
            let flat = if on_ground { vec(1.0, 0.0, 1.0) } else { DVec3::ONE };
            let (p0, l0) = total(&mut world);
            let (mut p_error, mut l_error, mut speed, mut depth) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
            for i in 0..world.steps_in(1.0) {
                let back = (i as f64) < 0.3 * rate;
                let joints = &mut world.actuations[0].joints;
                joints[thigh].target = JointPosition::Rotation(exp(DVec3::X * if back { 0.5 } else { -1.0 }));
                joints[shin].target = JointPosition::Angle(if back { 1.0 } else { 0.1 });
                world.step();
                let (p, l) = total(&mut world);
                p_error = p_error.max(((p - p0) * flat).length());
                l_error = l_error.max((l - l0).length());
                speed = speed.max(world.engine.prop_body(0, 0).velocity.length());
                depth = depth.max(world.engine.last_step().max_penetration);
            }
            println!(
                "ground {on_ground} {rate} Hz: box reaches {speed:.2} m/s, P {:.1e} of 20 kg at that, L {:.1e}, depth {:.2} mm",
                p_error / (20.0 * speed),
                l_error / (20.0 * speed),
                1e3 * depth
            );
            assert!(speed > 0.3, "the foot missed the box");
            assert!(p_error < 1e-9 * 20.0 * speed);
            assert!(on_ground || l_error < 1e-9 * 20.0 * speed);
        }
    }
}

#[test]
fn two_characters_that_collide_balance_their_momentum() {
    // two humanoids fly into each other in zero gravity, moving all the time: total P to 1e-9
    let character = load("humanoid.toml");
    for rate in [60.0, 240.0, 1000.0] {
        let scene = Scene {
            gravity: DVec3::ZERO,
            characters: vec![
                place(&character, DVec3::ZERO, 0.0),
                place(&character, vec(0.1, 0.05, 0.9), 2.0),
            ],
            ..Scene::default()
        };
        let mut world = World::new(scene, rate);
        let joints: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let mut rates = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
        rates[0] = (vec(0.1, 0.0, 2.0), vec(0.2, 0.5, 0.0));
        world
            .engine
            .set_character(0, vec(0.0, 1.0, -0.3), DQuat::IDENTITY, &joints, &rates)
            .unwrap();
        let (p0, l0) = total(&mut world);
        let (mut p_error, mut l_error, mut touching) = (0.0_f64, 0.0_f64, 0);
        let mut contacts = Vec::new();
        for i in 0..world.steps_in(2.0) {
            if i % world.steps_in(0.3) == 0 {
                for c in 0..2 {
                    retarget(&character, &mut world.actuations[c], i as u64 + c as u64, 0.6);
                }
            }
            world.step();
            world.engine.contacts(&mut contacts);
            touching += usize::from(!contacts.is_empty());
            let (p, l) = total(&mut world);
            p_error = p_error.max((p - p0).length() / p0.length());
            l_error = l_error.max((l - l0).length() / l0.length());
        }
        println!("{rate} Hz: touching in {touching} steps, P {p_error:.1e}, L {l_error:.1e}");
        assert!(touching > 5 && p_error < 1e-9);
        assert!(l_error < 1e-9);
    }
}

#[test]
fn a_box_spinning_about_its_middle_axis_keeps_momentum_and_energy() {
    // a hundredth of disturbance makes it tumble (Dzhanibekov): L to 1e-9 and energy to 1 % for 10 s at 240 Hz
    let b = body(cuboid(0.3, 0.1, 0.2), 3.0);
    for speed in [5.0, 8.0, 12.0] {
        let scene = Scene {
            gravity: DVec3::ZERO,
            props: vec![prop(b.clone(), DVec3::ZERO, exp(vec(0.2, 0.5, -0.1)))],
            ..Scene::default()
        };
        let mut world = World::new(scene, 240.0);
        // the middle moment of inertia is about z (sides 0.6, 0.2, 0.4)
        let turn = exp(vec(0.2, 0.5, -0.1));
        let spin = turn * vec(0.01 * speed, 0.007 * speed, speed);
        world
            .engine
            .set_prop(0, DVec3::ZERO, turn, vec(0.1, 0.2, 0.3), spin)
            .unwrap();
        let (_, l0) = total(&mut world);
        let e0 = world.engine.energy();
        let (mut l_error, mut e_error, mut flipped) = (0.0_f64, 0.0_f64, false);
        for _ in 0..2400 {
            world.step();
            let (_, l) = total(&mut world);
            l_error = l_error.max((l - l0).length() / l0.length());
            e_error = e_error.max((world.engine.energy() / e0 - 1.0).abs());
            let s = world.engine.prop_body(0, 0);
            flipped |= (s.rotation.conjugate() * s.angular_velocity).z < 0.0;
        }
        println!("{speed} rad/s: L {l_error:.1e}, energy {e_error:.1e}");
        assert!(flipped && l_error < 1e-9 && e_error < 0.01);
    }
}

#[test]
fn tumbling_follows_the_fine_reference_better_with_smaller_steps() {
    // rotation after 1 s against fourth-order Runge-Kutta at 20 kHz: second order, below a thousandth of a radian at 120 Hz
    let b = body(cuboid(0.3, 0.1, 0.2), 3.0);
    let spin = vec(1.5, 0.9, 6.0);
    let character = single(b.clone());
    let mut dynamics = Dynamics::new(&character, DVec3::ZERO);
    let mut q = dynamics.tree.bind_coordinates();
    let mut v = vec![0.0; 6];
    v[3..].copy_from_slice(&spin.to_array());
    for _ in 0..20_000 {
        rk4_step(&mut dynamics, &mut q, &mut v, &[0.0; 6], 5e-5).unwrap();
    }
    let expected = DQuat::from_slice(&q[3..7]);
    let mut last = f64::NAN;
    for rate in [120.0, 240.0, 480.0, 960.0] {
        let scene = Scene {
            gravity: DVec3::ZERO,
            props: vec![prop(b.clone(), DVec3::ZERO, DQuat::IDENTITY)],
            ..Scene::default()
        };
        let mut world = World::new(scene, rate);
        world
            .engine
            .set_prop(0, DVec3::ZERO, DQuat::IDENTITY, DVec3::ZERO, spin)
            .unwrap();
        world.run(1.0);
        let error = angle_between(world.engine.prop_body(0, 0).rotation, expected);
        println!(
            "{rate} Hz: {error:.2e} rad, {:.2} times less than at half the rate",
            last / error
        );
        assert!(error < 1e-3);
        assert!(last.is_nan() || (3.6..4.4).contains(&(last / error)));
        last = error;
    }
}

#[test]
fn a_force_at_a_point_gives_the_right_accelerations() {
    // one step: Δv = F dt / m and Δω = I⁻¹ (r × F + M) dt in world axes, for a turned prop and for a character as a whole
    let b = Body {
        center_of_mass: vec(0.03, -0.02, 0.05),
        ..body(cuboid(0.3, 0.1, 0.2), 3.0)
    };
    let turn = exp(vec(0.7, -0.4, 1.1));
    let scene = Scene {
        gravity: DVec3::ZERO,
        props: vec![prop(b.clone(), vec(1.0, 2.0, 3.0), turn)],
        ..Scene::default()
    };
    let mut world = World::new(scene, 240.0);
    let push = ExternalForce {
        target: ambler::world::BodyRef::Prop { prop: 0, body: 0 },
        point: vec(0.2, 0.05, -0.1),
        force: vec(3.0, -7.0, 5.0),
        torque: vec(0.2, 0.4, -0.3),
    };
    let mut before = world.engine.prop_body(0, 0);
    for step in 0..5 {
        let arm = before.rotation * (push.point - b.center_of_mass);
        let R = before.rotation;
        let moment = arm.cross(push.force) + push.torque;
        world.try_step(&[push]).unwrap();
        let after = world.engine.prop_body(0, 0);
        let dv = after.velocity - before.velocity;
        // the same in every step: forces do not pile up
        assert!((dv - push.force / 3.0 / 240.0).length() < 1e-12, "step {step}: {dv}");
        let inertia = |R: DQuat, w: DVec3| R * (b.inertia * (R.conjugate() * w));
        let dl = inertia(after.rotation, after.angular_velocity) - inertia(R, before.angular_velocity);
        assert!((dl - moment / 240.0).length() < 1e-12, "step {step}: {dl}");
        if step == 0 {
            let dw = R * (b.inertia.inverse() * (R.conjugate() * moment)) / 240.0;
            assert!((after.angular_velocity - dw).length() < 1e-3 * dw.length());
        }
        before = after;
    }
    world.step();
    assert!((world.engine.prop_body(0, 0).velocity - before.velocity).length() < 1e-12);
}
