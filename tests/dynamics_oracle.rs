//! Invariant: kinematics, momentum, energy, mass matrix, bias and accelerations of random trees in random states agree with
//! MuJoCo's, and integrators converge with their theoretical order.
#![allow(non_snake_case)]

use std::sync::Arc;

use ambler::character::{Body, Character, Joint, Limit, Material, Role};
use ambler::dynamics::{Dynamics, Factor, advance_positions, rk4_step};
use ambler::world::{Actuation, BodyState, CharacterState, EngineKind, JointPosition, Placement, Scene, build};
use glam::{DMat3, DQuat, DVec3};
use nalgebra::{DMatrix, DVector};
use serde_json::Value;

const FILES: [&str; 2] = ["dynamics_tree.json", "dynamics_humanoid.json"];

fn oracle(name: &str) -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/oracle")
        .join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is absent", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("the oracle file is JSON"))
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}
fn vec3(v: &Value) -> DVec3 {
    DVec3::from_slice(&numbers(v))
}
fn quat(v: &Value) -> DQuat {
    DQuat::from_slice(&numbers(v)).normalize()
}
fn matrix(v: &Value) -> DMatrix<f64> {
    let rows: Vec<Vec<f64>> = v.as_array().unwrap().iter().map(numbers).collect();
    DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn character(file: &Value) -> Character {
    let list = file["bodies"].as_array().unwrap();
    let names: Vec<&str> = list.iter().map(|b| b["name"].as_str().unwrap()).collect();
    let bodies = list
        .iter()
        .map(|b| {
            let I = matrix(&b["inertia_about_com_local"]);
            Body {
                name: b["name"].as_str().unwrap().into(),
                parent: b["parent"]
                    .as_str()
                    .map(|p| names.iter().position(|n| *n == p).unwrap()),
                role: Role::Other,
                offset: vec3(&b["offset_in_parent"]),
                rest: quat(&b["rotation_in_parent"]),
                joint: match b["joint"].as_str().unwrap() {
                    "free" => Joint::Free,
                    "ball" => Joint::Ball,
                    "hinge" => Joint::Hinge {
                        axis: vec3(&b["axis_local"]).normalize(),
                    },
                    _ => Joint::Fixed,
                },
                mass: b["mass"].as_f64().unwrap(),
                center_of_mass: vec3(&b["com_local"]),
                inertia: DMat3::from_cols_slice(I.as_slice()),
                colliders: Vec::new(),
                material: Material::default(),
                membership: u32::MAX,
                filter: u32::MAX,
                limit: Limit::None,
                torque_limit: [f64::INFINITY; 3],
                kp: [0.0; 3],
                kd: [0.0; 3],
                damping: [0.0; 3],
                armature: [0.0; 3],
            }
        })
        .collect();
    Character {
        name: "oracle".into(),
        bodies,
    }
}

/// A state of the file in ambler's coordinates, and the change of basis `v = T v'` from the file's rates.
struct State {
    q: Vec<f64>,
    v: Vec<f64>,
    T: DMatrix<f64>,
    /// `Ṫ v'`.
    T_dot_v: DVector<f64>,
    /// Index in the file of each of ambler's degrees of freedom.
    order: Vec<usize>,
}

fn state(file: &Value, dynamics: &Dynamics, pose: &Value, velocity: &[f64]) -> State {
    let tree = &dynamics.tree;
    let list = file["bodies"].as_array().unwrap();
    let dofs = file["dofs"].as_array().unwrap();
    let mut q = tree.bind_coordinates();
    let mut T = DMatrix::zeros(tree.dofs, tree.dofs);
    let mut T_dot_v = DVector::zeros(tree.dofs);
    let mut order = vec![0; tree.dofs];
    for (b, body) in tree.bodies.iter().enumerate() {
        let name = list[b]["name"].as_str().unwrap();
        let first = dofs.iter().position(|d| d["body"] == name);
        for k in 0..body.dofs {
            order[body.dof + k] = first.unwrap() + k;
        }
        let (c, d) = (body.coordinate, body.dof);
        match body.joint {
            Joint::Free => {
                let R = quat(&pose[name]["rotation"]);
                let lever = R * body.center_of_mass;
                let x_WC = vec3(&pose[name]["position"]) + lever;
                q[c..c + 3].copy_from_slice(&x_WC.to_array());
                q[c + 3..c + 7].copy_from_slice(&R.to_array());
                for i in 0..3 {
                    T[(d + i, d + i)] = 1.0;
                    let w_W = R * DVec3::AXES[i];
                    let v_C = w_W.cross(lever);
                    for r in 0..3 {
                        T[(d + r, d + 3 + i)] = v_C[r];
                        T[(d + 3 + r, d + 3 + i)] = w_W[r];
                    }
                }
                let f = first.unwrap();
                let w = R * DVec3::new(velocity[f + 3], velocity[f + 4], velocity[f + 5]);
                for (i, value) in w.cross(w.cross(lever)).to_array().into_iter().enumerate() {
                    T_dot_v[d + i] = value;
                }
            }
            Joint::Ball => {
                let R = quat(&pose[name]["rotation"]);
                q[c..c + 4].copy_from_slice(&R.to_array());
                for i in 0..3 {
                    let w = R * DVec3::AXES[i];
                    for r in 0..3 {
                        T[(d + r, d + i)] = w[r];
                    }
                }
            }
            Joint::Hinge { .. } => {
                q[c] = pose[name]["angle"].as_f64().unwrap();
                T[(d, d)] = 1.0;
            }
            _ => {}
        }
    }
    let theirs = DVector::from_iterator(tree.dofs, order.iter().map(|&i| velocity[i]));
    let v = (&T * theirs).as_slice().to_vec();
    State {
        q,
        v,
        T,
        T_dot_v,
        order,
    }
}

fn permuted(values: &[f64], order: &[usize]) -> DVector<f64> {
    DVector::from_iterator(order.len(), order.iter().map(|&i| values[i]))
}

/// |a − b| relative to the larger of |b| and `scale`.
#[track_caller]
fn close(what: &str, a: DVec3, b: DVec3, scale: f64, tolerance: f64) {
    let error = (a - b).length() / b.length().max(scale);
    assert!(error < tolerance, "{what}: {a} against {b}, relative error {error:.2e}");
}

/// The character of `file` with the state in which its free flight starts.
fn flight(file: &Value) -> (Character, Dynamics, State) {
    let character = character(file);
    let dynamics = Dynamics::new(&character, vec3(&file["gravity"]));
    let stored = &file["free_flight"];
    let start = state(
        file,
        &dynamics,
        &stored["start_pose"],
        &numbers(&stored["start_velocity"]),
    );
    (character, dynamics, start)
}

/// The sample of the free flight at `index` tenths of a second.
fn sample(file: &Value, index: usize) -> &Value {
    &file["free_flight"]["samples"][index]
}

/// Largest distance of a centre of mass from where the stored `sample` has it, metres.
fn position_error(character: &Character, dynamics: &Dynamics, sample: &Value) -> f64 {
    let distance = |(body, k): (&Body, &ambler::dynamics::BodyKinematics)| {
        (k.x_WC - vec3(&sample["bodies"][&body.name]["com"])).length()
    };
    character
        .bodies
        .iter()
        .zip(&dynamics.bodies)
        .map(distance)
        .fold(0.0, f64::max)
}

#[test]
fn states_agree_with_mujoco() {
    // poses, velocities, momenta, energies, mass matrix and bias to 1e-9; accelerations leave a residual of 1e-9 of the largest
    // force and agree to 1e-7 of their norm, which is what twelve stored digits allow
    for name in FILES {
        let Some(file) = oracle(name) else { return };
        let character = character(&file);
        let mut dynamics = Dynamics::new(&character, vec3(&file["gravity"]));
        let n = dynamics.tree.dofs;
        assert_eq!(n, file["dofs"].as_array().unwrap().len());
        for stored in file["states"].as_array().unwrap() {
            let state = state(&file, &dynamics, &stored["pose"], &numbers(&stored["velocity"]));
            dynamics.update(&state.q, &state.v);

            let passive = &stored["passive"];
            for (body, k) in character.bodies.iter().zip(&dynamics.bodies) {
                let theirs = &passive["bodies"][&body.name];
                close("joint origin", k.x_WB, vec3(&theirs["joint_origin"]), 1.0, 1e-9);
                close("centre of mass", k.x_WC, vec3(&theirs["com"]), 1.0, 1e-9);
                close("angular velocity", k.w_WB, vec3(&theirs["angular_velocity"]), 1.0, 1e-9);
                close("velocity", k.v_WC, vec3(&theirs["com_velocity"]), 1.0, 1e-9);
                let turn = 2.0 * (k.q_WB.conjugate() * quat(&theirs["rotation"])).xyz().length();
                assert!(turn < 1e-9, "{} is turned by {turn:.1e} rad", body.name);
            }
            let momentum = dynamics.momentum();
            let mass = character.mass();
            close(
                "centre of mass",
                momentum.center_of_mass,
                vec3(&passive["com"]),
                1.0,
                1e-9,
            );
            close(
                "linear momentum",
                momentum.linear,
                mass * vec3(&passive["com_velocity"]),
                1.0,
                1e-9,
            );
            close(
                "angular momentum",
                momentum.angular,
                vec3(&passive["angular_momentum_about_com"]),
                1.0,
                1e-9,
            );
            for (what, ours, key) in [
                ("kinetic", dynamics.kinetic_energy(), "kinetic_energy"),
                ("potential", dynamics.potential_energy(), "potential_energy"),
            ] {
                let theirs = passive[key].as_f64().unwrap();
                assert!(
                    (ours - theirs).abs() < 1e-9 * theirs.abs().max(1.0),
                    "{what} energy {ours} against {theirs}"
                );
            }

            // mass matrix and bias in the file's basis
            let mut packed = Factor::new(&dynamics.tree);
            dynamics.mass_matrix(&mut packed);
            let M = dynamics.dense(&packed);
            let M_file = matrix(&stored["mass_matrix"]);
            let M_theirs = DMatrix::from_fn(n, n, |i, j| M_file[(state.order[i], state.order[j])]);
            let M_ours = state.T.transpose() * &M * &state.T;
            let error = (&M_ours - &M_theirs).norm() / M_theirs.norm();
            assert!(error < 1e-9, "{name}: mass matrix differs by {error:.2e}");
            dynamics.bias_forces(&state.v);
            let bias = DVector::from_column_slice(&dynamics.bias);
            let bias_ours = state.T.transpose() * (&bias + &M * &state.T_dot_v);
            let bias_theirs = permuted(&numbers(&stored["bias"]), &state.order);
            let error = (&bias_ours - &bias_theirs).norm() / bias_theirs.norm();
            assert!(error < 1e-9, "{name}: bias differs by {error:.2e}");

            // forward dynamics, passive and forced
            let forced = permuted(&numbers(&stored["generalized_force"]), &state.order);
            let tau_forced = state.T.transpose().lu().solve(&forced).unwrap();
            for (tau, key, acceleration) in [
                (DVector::zeros(n), "passive", "acceleration_passive"),
                (tau_forced, "forced", "acceleration_forced"),
            ] {
                let mut a = vec![0.0; n];
                dynamics
                    .forward_dynamics(&state.v, tau.as_slice(), &mut packed, &mut a)
                    .unwrap();
                let a = DVector::from_vec(a);
                let residual = &M * &a + &bias - &tau;
                let largest = (&M * &a).amax().max(bias.amax()).max(tau.amax());
                assert!(
                    residual.amax() < 1e-9 * largest,
                    "{name} {key}: residual {:.2e}",
                    residual.amax()
                );
                let a_theirs = permuted(&numbers(&stored[acceleration]), &state.order);
                let a_expected = &state.T * a_theirs + &state.T_dot_v;
                let error = (&a - &a_expected).norm() / a_expected.norm();
                assert!(error < 1e-7, "{name} {key}: accelerations differ by {error:.2e}");
                for (body, (angular, linear)) in character
                    .bodies
                    .iter()
                    .zip(dynamics.body_accelerations(&state.v, Some(a.as_slice())))
                {
                    let theirs = &stored[key]["bodies"][&body.name];
                    let scale = a_expected.norm();
                    close(
                        "angular acceleration",
                        angular,
                        vec3(&theirs["angular_acceleration"]),
                        scale,
                        1e-7,
                    );
                    close("acceleration", linear, vec3(&theirs["com_acceleration"]), scale, 1e-7);
                }
                // inverse dynamics returns the forces
                dynamics.inverse_dynamics(&state.v, Some(a.as_slice()));
                let back = DVector::from_column_slice(&dynamics.bias);
                assert!((back - &tau).amax() < 1e-9 * largest, "{name} {key}: inverse dynamics");
            }
        }
    }
}

#[test]
fn jacobians_agree_with_velocities_and_their_bias_with_finite_differences() {
    let Some(file) = oracle(FILES[0]) else { return };
    let mut character = character(&file);
    // the oracle has no universal joint; general axes, not at right angles
    character.bodies[5].joint = Joint::Universal {
        axes: [
            DVec3::new(0.3, -0.5, 0.8).normalize(),
            DVec3::new(0.9, 0.2, -0.4).normalize(),
        ],
    };
    let mut dynamics = Dynamics::new(&character, vec3(&file["gravity"]));
    let n = dynamics.tree.dofs;
    let mut q = dynamics.tree.bind_coordinates();
    let v: Vec<f64> = (0..n).map(|k| 1.3 * libm::sin(1.7 * k as f64 + 0.4)).collect();
    let tree = dynamics.tree.clone();
    advance_positions(&tree, &mut q, &v, 0.7);
    dynamics.update(&q, &v);
    let rates = DVector::from_column_slice(&v);
    let point = DVec3::new(0.11, -0.07, 0.05);
    let (b, k) = (5, dynamics.bodies[5]);
    let x = k.x_WB + k.R_WB * point;
    let twist = dynamics.body_jacobian(b, x) * &rates;
    close("w", DVec3::from_slice(&twist.as_slice()[..3]), k.w_WB, 1.0, 1e-12);
    close(
        "v",
        DVec3::from_slice(&twist.as_slice()[3..]),
        k.v_WB + k.w_WB.cross(x - k.x_WB),
        1.0,
        1e-12,
    );
    let momentum = dynamics.momentum();
    let centroidal = dynamics.centroidal_momentum_matrix() * &rates;
    close(
        "L",
        DVec3::from_slice(&centroidal.as_slice()[..3]),
        momentum.angular,
        1.0,
        1e-12,
    );
    close(
        "P",
        DVec3::from_slice(&centroidal.as_slice()[3..]),
        momentum.linear,
        1.0,
        1e-12,
    );
    let com = dynamics.center_of_mass_jacobian() * &rates;
    close(
        "com",
        DVec3::from_slice(com.as_slice()),
        momentum.linear / character.mass(),
        1.0,
        1e-12,
    );

    // J̇ v by central differences along the motion with constant rates
    let bias = dynamics.body_accelerations(&v, None);
    let com_bias = dynamics.center_of_mass_bias(&v);
    let h = 1e-5;
    let mut sample = |dt: f64| {
        let mut q = q.clone();
        advance_positions(&tree, &mut q, &v, dt);
        dynamics.update(&q, &v);
        (dynamics.bodies.clone(), dynamics.momentum().linear / character.mass())
    };
    let ((before, com_before), (after, com_after)) = (sample(-h), sample(h));
    close("com bias", com_bias, (com_after - com_before) / (2.0 * h), 1.0, 1e-7);
    for b in 0..character.bodies.len() {
        close(
            "angular bias",
            bias[b].0,
            (after[b].w_WB - before[b].w_WB) / (2.0 * h),
            1.0,
            1e-7,
        );
        close(
            "linear bias",
            bias[b].1,
            (after[b].v_WC - before[b].v_WC) / (2.0 * h),
            1.0,
            1e-7,
        );
    }

    // kinetic energy is ½ vᵀ M v, universal joint included
    dynamics.update(&q, &v);
    let mut packed = Factor::new(&dynamics.tree);
    dynamics.mass_matrix(&mut packed);
    let energy = 0.5 * rates.dot(&(dynamics.dense(&packed) * &rates));
    assert!((energy - dynamics.kinetic_energy()).abs() < 1e-11 * energy);
}

#[test]
fn rk4_reproduces_the_free_flight_and_converges_with_order_four() {
    for name in FILES {
        let Some(file) = oracle(name) else { return };
        let (character, mut dynamics, start) = flight(&file);
        let end = sample(&file, 5);
        let tau = vec![0.0; dynamics.tree.dofs];
        let mut errors = Vec::new();
        for steps in [10, 20, 40, 400] {
            let (mut q, mut v) = (start.q.clone(), start.v.clone());
            for _ in 0..steps {
                rk4_step(&mut dynamics, &mut q, &mut v, &tau, 0.5 / steps as f64).unwrap();
            }
            errors.push(position_error(&character, &dynamics, end));
        }
        println!("{name}: RK4 position errors {errors:?} m");
        // at 1.25 ms; the reference used 0.1 ms
        assert!(errors[3] < 1e-8, "{name}: {errors:?}");
        let order = libm::log2(errors[1] / errors[2]);
        assert!(
            (3.6..4.8).contains(&order),
            "{name}: observed order {order:.2} from {errors:?}"
        );
    }
}

#[test]
fn semi_implicit_euler_converges_with_order_one() {
    for name in FILES {
        let Some(file) = oracle(name) else { return };
        let (character, mut dynamics, start) = flight(&file);
        let end = sample(&file, 2);
        let tree = dynamics.tree.clone();
        let mut packed = Factor::new(&tree);
        let mut errors = Vec::new();
        for steps in [1000, 2000, 4000] {
            let dt = 0.2 / steps as f64;
            let (mut q, mut v) = (start.q.clone(), start.v.clone());
            let mut a = vec![0.0; tree.dofs];
            for _ in 0..steps {
                dynamics.update(&q, &v);
                dynamics
                    .forward_dynamics(&v, &vec![0.0; tree.dofs], &mut packed, &mut a)
                    .unwrap();
                for (v, a) in v.iter_mut().zip(&a) {
                    *v += dt * a;
                }
                advance_positions(&tree, &mut q, &v, dt);
            }
            dynamics.update(&q, &v);
            errors.push(position_error(&character, &dynamics, end));
        }
        let order = libm::log2(errors[1] / errors[2]);
        println!("{name}: semi-implicit position errors {errors:?} m, order {order:.2}");
        assert!(
            (0.9..1.1).contains(&order),
            "{name}: observed order {order:.2} from {errors:?}"
        );
    }
}

#[test]
fn the_articulated_engine_converges_to_the_free_flight_with_order_one() {
    // its rates are those of the end of a step, half a step late for the positions: first order, and 1e-3 m after 0.2 s of
    // violent motion (1.5 rad/s rms on each axis) at 1000 Hz
    for name in FILES {
        let Some(file) = oracle(name) else { return };
        let (character, mut dynamics, start) = flight(&file);
        let character = Arc::new(character);
        dynamics.update(&start.q, &start.v);
        let end = sample(&file, 2);
        let (mut joints, mut rates) = (Vec::new(), Vec::new());
        for body in &dynamics.tree.bodies {
            let (q, v) = (&start.q[body.coordinate..], &start.v[body.dof..]);
            let three = |v: &[f64]| DVec3::from_slice(&v[..3]);
            joints.push(match body.joint {
                Joint::Hinge { .. } => JointPosition::Angle(q[0]),
                Joint::Ball => JointPosition::Rotation(DQuat::from_slice(&q[..4])),
                _ => JointPosition::None,
            });
            rates.push(match body.joint {
                Joint::Free => (three(v), three(&v[3..])),
                Joint::Ball => (DVec3::ZERO, three(v)),
                Joint::Hinge { .. } => (DVec3::ZERO, DVec3::X * v[0]),
                _ => (DVec3::ZERO, DVec3::ZERO),
            });
        }
        let scene = Scene {
            gravity: vec3(&file["gravity"]),
            characters: vec![Placement {
                character: character.clone(),
                position: DVec3::ZERO,
                heading: 0.0,
            }],
            ..Scene::default()
        };
        let limp = [Actuation::hold_bind_pose(&character)];
        let mut errors = Vec::new();
        for rate in [1000.0, 2000.0, 4000.0] {
            let mut engine = build(EngineKind::Articulated, scene.clone(), 1.0 / rate).unwrap();
            let root = &dynamics.bodies[0];
            engine.set_character(0, root.x_WB, root.q_WB, &joints, &rates).unwrap();
            for _ in 0..(0.2 * rate) as usize {
                engine.step(&limp, &[]).unwrap();
            }
            let mut state = CharacterState::default();
            engine.read_state(0, &mut state);
            let distance =
                |(body, s): (&Body, &BodyState)| (s.center_of_mass - vec3(&end["bodies"][&body.name]["com"])).length();
            errors.push(
                character
                    .bodies
                    .iter()
                    .zip(&state.bodies)
                    .map(distance)
                    .fold(0.0, f64::max),
            );
        }
        let order = libm::log2(errors[1] / errors[2]);
        println!("{name}: engine's position errors {errors:?} m, order {order:.2}");
        assert!(errors[0] < 1e-3, "{name}: {errors:?}");
        assert!(
            (0.85..2.3).contains(&order),
            "{name}: observed order {order:.2} from {errors:?}"
        );
    }
}
