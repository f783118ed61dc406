//! Bad input and divergence end in errors that name what was wrong, on both engines.

use std::sync::Arc;

use ambler::character::{Body, Joint, Limit, Material, Shape};
use ambler::world::{
    Actuation, BodyRef, BuildError, EngineKind, ExternalForce, JointPosition, PdMode, Platform, PlatformMotion,
    RootActuation, Scene, StepError, TerrainShape, Wrench, build,
};
use glam::{DMat3, DQuat, DVec3};

use crate::scenes::{benchmark_humanoid, box_body, character, general_tree, ground, scene, state, world};
use crate::snapshots::{tumble, tumbling_world_of};

const ENGINES: [EngineKind; 2] = [EngineKind::Articulated, EngineKind::Rapier];

/// Gains that are not finite, targets of the wrong kind and forces on nothing are refused by name; nothing moves.
#[test]
fn bad_actuations_are_refused_and_change_nothing() {
    for engine in ENGINES {
        bad_actuations_are_refused(engine);
    }
}

fn bad_actuations_are_refused(engine: EngineKind) {
    let (mut world, tree) = tumbling_world_of(engine);
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
        error
            .to_string()
            .contains("explicit PD law of joint right_foot (kp 1500, kd 150)")
            && error.to_string().contains("benchmark/"),
        "{error}"
    );
    assert_eq!(world.state_hash(), before);
    world.reset();
    actuation.mode = PdMode::Stable;
    for huge in [1e7, 1e9] {
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
    let spoils: [(&str, Spoil); 33] = [
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
        ("platform 0: half_extents", |s| s.platforms[0].half_extents.z = -1.0),
        ("platform 0: velocity", |s| {
            s.platforms[0].motion = PlatformMotion::Linear {
                velocity: DVec3::NAN,
                angular_velocity: DVec3::ZERO,
            }
        }),
        ("prop 0 (crate)/crate: mass", |s| {
            Arc::make_mut(&mut s.props[0].body).bodies[0].mass = f64::INFINITY
        }),
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
        ("ball: collider 0: points", |s| {
            let points = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE.with_z(0.0)];
            body(s, 1).colliders[0].shape = Shape::Hull { points };
        }),
        ("tree): bodies", |s| {
            Arc::make_mut(&mut s.characters[0].character).bodies.clear()
        }),
    ];
    let crate_body = box_body("crate", Joint::Free, 1.0, DVec3::splat(0.1), DVec3::ZERO);
    let props = vec![character("crate", vec![crate_body])];
    let mut good = scene(vec![ground()], props, vec![Arc::new(general_tree())]);
    good.platforms.push(Platform {
        half_extents: DVec3::ONE,
        position: DVec3::NEG_Y,
        rotation: DQuat::IDENTITY,
        motion: PlatformMotion::Sine {
            amplitude: DVec3::X,
            frequency: 0.5,
        },
        material: Material::default(),
    });
    for engine in ENGINES {
        assert!(build(engine, good.clone(), 0.01).is_ok());
        for (what, spoil) in spoils {
            let mut bad = good.clone();
            spoil(&mut bad);
            let error = build(engine, bad, 0.01)
                .err()
                .unwrap_or_else(|| panic!("{what} accepted"));
            let text = error.to_string();
            assert!(
                matches!(error, BuildError::BadValue { .. }) && text.contains(what),
                "{what}: {text}"
            );
        }
        for dt in [0.0, -0.01, 0.2, f64::NAN, f64::INFINITY] {
            let error = build(engine, good.clone(), dt).err().expect("a bad step");
            assert!(error.to_string().contains("time step"), "{error}");
        }
    }
    let mut turned = good.clone();
    body(&mut turned, 0).joint = Joint::Planar;
    assert!(build(EngineKind::Rapier, turned.clone(), 0.01).is_ok());
    turned.characters[0].heading = 0.5;
    let error = build(EngineKind::Rapier, turned, 0.01).err().expect("a turned plane");
    assert!(
        matches!(error, BuildError::Unsupported { .. }) && error.to_string().contains("(tree)"),
        "{error}"
    );
}

/// What is finite but beyond what can be simulated (collision detection panics on it, its squares are infinite) is
/// refused by both engines, when the world is built and in every step.
#[test]
fn absurd_numbers_are_refused_by_both_engines() {
    type Spoil = fn(&mut Scene);
    let spoils: [(&str, Spoil); 9] = [
        ("gravity", |s| s.gravity = DVec3::Y * 1e300),
        ("half_extents", |s| {
            s.terrain[0].shape = TerrainShape::Box {
                half_extents: DVec3::splat(1e300),
            }
        }),
        ("rise", |s| {
            s.terrain[0].shape = TerrainShape::Stairs {
                steps: 3,
                rise: 1e300,
                run: 0.3,
                width: 1.0,
            }
        }),
        ("heights[0][1]", |s| {
            s.terrain[0].shape = TerrainShape::Heightfield {
                heights: vec![vec![0.0, 1e300], vec![0.0, 0.0]],
                size: [10.0, 10.0],
            }
        }),
        ("vertex 1", |s| {
            s.terrain[0].shape = TerrainShape::Mesh {
                vertices: vec![DVec3::ZERO, DVec3::X * 1e200, DVec3::Z],
                triangles: vec![[0, 2, 1]],
            }
        }),
        ("position", |s| s.characters[0].position = DVec3::X * 1e9),
        ("mass", |s| {
            Arc::make_mut(&mut s.characters[0].character).bodies[1].mass = 1e300
        }),
        ("kp[0]", |s| {
            Arc::make_mut(&mut s.characters[0].character).bodies[1].kp[0] = 1e300
        }),
        ("offset", |s| {
            Arc::make_mut(&mut s.characters[0].character).bodies[1].offset.y = 1e300;
        }),
    ];
    let tree = Arc::new(general_tree());
    let good = scene(vec![ground()], Vec::new(), vec![tree.clone()]);
    for engine in [EngineKind::Articulated, EngineKind::Rapier] {
        for (what, spoil) in &spoils {
            let mut bad = good.clone();
            spoil(&mut bad);
            let error = build(engine, bad, 0.01)
                .err()
                .unwrap_or_else(|| panic!("{what} accepted"));
            assert!(error.to_string().contains(what), "{what}: {error}");
        }
        let mut world = build(engine, good.clone(), 0.01).unwrap();
        let before = world.state_hash();
        let actuation = Actuation::hold_bind_pose(&tree);
        let push = ExternalForce {
            target: BodyRef::Character { character: 0, body: 0 },
            point: DVec3::ZERO,
            force: DVec3::X * 1e300,
            torque: DVec3::ZERO,
        };
        let error = world.step(std::slice::from_ref(&actuation), &[push]).unwrap_err();
        assert!(error.to_string().contains("external force"), "{error}");
        let mut torque = actuation.clone();
        torque.joints[1].feed_forward.x = 1e300;
        let error = world.step(&[torque], &[]).unwrap_err();
        assert!(error.to_string().contains("feed-forward"), "{error}");
        assert_eq!(world.state_hash(), before);
    }
}
