//! Bodies, characters and scenes that the tests share.

use std::sync::Arc;

use ambler::character::{Body, Character, Collider, Joint, Limit, Material, Role, Shape};
use ambler::math::rotation;
use ambler::world::{
    BodyRef, CharacterState, Contact, Engine, EngineKind, JointPosition, Placement, Prop, Scene, Terrain, TerrainShape,
    build,
};
use glam::{DMat3, DQuat, DVec3};

pub const GRAVITY: f64 = 9.81;

pub fn box_inertia(mass: f64, h: DVec3) -> DMat3 {
    let s = h * h;
    DMat3::from_diagonal(mass / 3.0 * DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y))
}

/// A box that hangs on `joint`; its centre is at `center` in its own frame.
pub fn box_body(name: &str, joint: Joint, mass: f64, half_extents: DVec3, center: DVec3) -> Body {
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

pub fn character(name: &str, bodies: Vec<Body>) -> Arc<Character> {
    Arc::new(Character {
        name: name.into(),
        bodies,
    })
}

pub fn ground() -> Terrain {
    Terrain {
        shape: TerrainShape::Ground,
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        material: Material::default(),
    }
}

pub fn scene(terrain: Vec<Terrain>, props: Vec<Arc<Character>>, characters: Vec<Arc<Character>>) -> Scene {
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

pub fn world(scene: Scene, rate: f64) -> Box<dyn Engine> {
    build(EngineKind::Rapier, scene, 1.0 / rate).expect("a good scene")
}

pub fn state(world: &dyn Engine) -> CharacterState {
    let mut out = CharacterState::default();
    world.read_state(0, &mut out);
    out
}

/// A character of the project's `data/characters`.
pub fn shipped_character(name: &str) -> Arc<Character> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters");
    Arc::new(Character::load(&folder.join(name).with_extension("toml")).expect("the project's own character"))
}

/// The 16-body, 43-degree-of-freedom humanoid of the solver comparison.
pub fn benchmark_humanoid() -> Arc<Character> {
    shipped_character("benchmark")
}

/// Force of a contact on `body`, zero if it does not touch it.
pub fn turned(contact: &Contact, body: BodyRef) -> DVec3 {
    if contact.a == body {
        contact.force
    } else if contact.b == body {
        -contact.force
    } else {
        DVec3::ZERO
    }
}

/// A small tree with every kind of joint, general frames and offset centres of mass.
pub fn general_tree() -> Character {
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

pub fn general_pose() -> (Vec<JointPosition>, Vec<(DVec3, DVec3)>) {
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
