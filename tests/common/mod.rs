#![allow(dead_code, non_snake_case)] // each test file uses a part of it
//! Builders that the tests of worlds share: props of one body, terrain, the characters of the project in poses.

use std::path::Path;
use std::sync::Arc;

use ambler::character::{Body, Character, Collider, Joint, Limit, MassProperties, Material, Role, Shape};
use ambler::math::rotation::exp;
use ambler::world::{
    Actuation, CharacterState, Engine, EngineKind, ExternalForce, JointPosition, Placement, Prop, Scene, StepError,
    Terrain, TerrainShape, build,
};
use glam::{DMat3, DQuat, DVec3};

pub const GRAVITY: f64 = 9.81;
/// The rates at which behaviour must not depend on the step.
pub const RATES: [f64; 6] = [30.0, 60.0, 120.0, 240.0, 480.0, 1000.0];

pub fn vec(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

pub fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box {
        half_extents: vec(x, y, z),
    }
}

pub fn sphere(radius: f64) -> Shape {
    Shape::Sphere { radius }
}

pub fn capsule(half_length: f64, radius: f64) -> Shape {
    Shape::Capsule { half_length, radius }
}

/// A free body of one shape with its centre of mass in its origin, friction 1 and no restitution.
pub fn body(shape: Shape, mass: f64) -> Body {
    let collider = Collider {
        shape,
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
    };
    let properties = MassProperties::of_colliders(std::slice::from_ref(&collider), mass).expect("a solid shape");
    Body {
        name: "body".into(),
        parent: None,
        role: Role::Other,
        offset: DVec3::ZERO,
        rest: DQuat::IDENTITY,
        joint: Joint::Free,
        mass,
        center_of_mass: DVec3::ZERO,
        inertia: properties.inertia,
        colliders: vec![collider],
        material: Material {
            friction: 1.0,
            restitution: 0.0,
        },
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

/// A point-like rod: a body without shape, its centre of mass at `center`, with inertia `inertia` about it.
pub fn bob(mass: f64, center: DVec3, inertia: DVec3) -> Body {
    Body {
        center_of_mass: center,
        inertia: DMat3::from_diagonal(inertia),
        colliders: Vec::new(),
        ..body(sphere(0.1), mass)
    }
}

pub fn with_material(mut body: Body, friction: f64, restitution: f64) -> Body {
    body.material = Material { friction, restitution };
    body
}

/// A prop of one body whose frame is at `position`, turned by `rotation`.
pub fn prop(mut body: Body, position: DVec3, rotation: DQuat) -> Prop {
    body.offset = position;
    body.rest = rotation;
    Prop {
        body: Arc::new(single(body)),
    }
}

pub fn single(body: Body) -> Character {
    Character {
        name: body.name.clone(),
        bodies: vec![body],
    }
}

pub fn terrain(shape: TerrainShape, friction: f64) -> Terrain {
    Terrain {
        shape,
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        material: Material {
            friction,
            restitution: 0.0,
        },
    }
}

pub fn ground(friction: f64) -> Terrain {
    terrain(TerrainShape::Ground, friction)
}

/// Heightfield of square cells of `cell` metres and `size` metres side; `height` gives the surface at x, z.
pub fn heightfield(size: f64, cell: f64, friction: f64, height: impl Fn(f64, f64) -> f64) -> Terrain {
    let n = (size / cell).round() as usize;
    let at = |i: usize| (i as f64 / n as f64 - 0.5) * size;
    let heights = (0..=n)
        .map(|r| (0..=n).map(|c| height(at(c), at(r))).collect())
        .collect();
    terrain(
        TerrainShape::Heightfield {
            heights,
            size: [size, size],
        },
        friction,
    )
}

/// The same surface as a triangle mesh.
pub fn mesh(size: f64, cell: f64, friction: f64, height: impl Fn(f64, f64) -> f64) -> Terrain {
    let n = (size / cell).round() as u32;
    let at = |i: u32| (f64::from(i) / f64::from(n) - 0.5) * size;
    let vertices = (0..=n)
        .flat_map(|r| (0..=n).map(move |c| (r, c)))
        .map(|(r, c)| vec(at(c), height(at(c), at(r)), at(r)))
        .collect();
    let triangles = (0..n)
        .flat_map(|r| (0..n).map(move |c| r * (n + 1) + c))
        .flat_map(|k| [[k, k + n + 1, k + 1], [k + 1, k + n + 1, k + n + 2]])
        .collect();
    terrain(TerrainShape::Mesh { vertices, triangles }, friction)
}

pub fn load(name: &str) -> Arc<Character> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters").join(name);
    Arc::new(Character::load(&path).expect("a character of the project"))
}

pub fn place(character: &Arc<Character>, position: DVec3, heading: f64) -> Placement {
    Placement {
        character: character.clone(),
        position,
        heading,
    }
}

/// A world on the articulated engine with what each character is told to do.
pub struct World {
    pub engine: Box<dyn Engine>,
    pub actuations: Vec<Actuation>,
    pub state: CharacterState,
}

impl World {
    pub fn new(scene: Scene, rate: f64) -> World {
        let actuations = scene
            .characters
            .iter()
            .map(|p| Actuation::hold_bind_pose(&p.character))
            .collect();
        World {
            engine: build(EngineKind::Articulated, scene, 1.0 / rate).expect("a sound scene"),
            actuations,
            state: CharacterState::default(),
        }
    }

    pub fn try_step(&mut self, forces: &[ExternalForce]) -> Result<(), StepError> {
        self.engine.step(&self.actuations, forces)
    }

    pub fn step(&mut self) {
        self.try_step(&[]).expect("a sound step");
    }

    pub fn steps_in(&self, seconds: f64) -> usize {
        (seconds / self.engine.dt()).round() as usize
    }

    pub fn run(&mut self, seconds: f64) {
        for _ in 0..self.steps_in(seconds) {
            self.step();
        }
    }

    pub fn read(&mut self, character: usize) -> &CharacterState {
        self.engine.read_state(character, &mut self.state);
        &self.state
    }

    /// Places a character in a pose at rest and makes that pose its target.
    pub fn pose(&mut self, character: usize, root: DVec3, rotation: DQuat, joints: &[JointPosition]) {
        let rest = vec![(DVec3::ZERO, DVec3::ZERO); joints.len()];
        self.engine
            .set_character(character, root, rotation, joints, &rest)
            .expect("a sound pose");
        for (actuation, target) in self.actuations[character].joints.iter_mut().zip(joints) {
            actuation.target = *target;
        }
    }
}

/// Frames of all bodies with the root frame at `root` (upright) and the given joint positions.
pub fn frames(character: &Character, root: DVec3, joints: &[JointPosition]) -> Vec<(DVec3, DQuat)> {
    let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
    for (body, joint) in character.bodies.iter().zip(joints) {
        let (x, R) = body.parent.map_or((root, DQuat::IDENTITY), |p| frames[p]);
        let turn = match (joint, body.joint) {
            (JointPosition::Angle(angle), Joint::Hinge { axis }) => exp(axis * *angle),
            (JointPosition::Angles(angles), Joint::Universal { axes }) => {
                exp(axes[0] * angles[0]) * exp(axes[1] * angles[1])
            }
            (JointPosition::Rotation(q), _) => *q,
            _ => DQuat::IDENTITY,
        };
        let offset = if body.parent.is_some() {
            R * body.offset
        } else {
            DVec3::ZERO
        };
        frames.push((x + offset, R * body.rest * turn));
    }
    frames
}

/// Joint positions and root height of a natural pose: arms hanging 15 degrees from the trunk, knees bent by 14 degrees,
/// soles flat on y = 0, and the hips bent so that the centre of mass is above the middle of the soles.
pub fn natural_pose(character: &Character) -> (f64, Vec<JointPosition>) {
    let knee = 14.0_f64.to_radians();
    let arm = 75.0_f64.to_radians();
    let pose = |hip: f64| -> Vec<JointPosition> {
        character
            .bodies
            .iter()
            .map(|b| match b.name.as_str() {
                "left_upper_arm" => JointPosition::Rotation(exp(DVec3::Z * -arm)),
                "right_upper_arm" => JointPosition::Rotation(exp(DVec3::Z * arm)),
                "left_thigh" | "right_thigh" => JointPosition::Rotation(exp(DVec3::X * -hip)),
                "left_shin" | "right_shin" => JointPosition::Angle(knee),
                "left_foot" | "right_foot" => JointPosition::Rotation(exp(DVec3::X * (hip - knee))),
                _ => JointPosition::bind(&b.joint),
            })
            .collect()
    };
    // lowest and foremost, rearmost point of the soles, and centre of mass
    let measure = |joints: &[JointPosition]| {
        let frames = frames(character, DVec3::ZERO, joints);
        let (mut low, mut front, mut back) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
        let mut com = DVec3::ZERO;
        for (body, (x, R)) in character.bodies.iter().zip(&frames) {
            com += body.mass / character.mass() * (*x + *R * body.center_of_mass);
            if !matches!(
                body.role,
                Role::LeftFoot | Role::RightFoot | Role::LeftToes | Role::RightToes
            ) {
                continue;
            }
            for collider in &body.colliders {
                let Shape::Box { half_extents: h } = collider.shape else {
                    continue;
                };
                for corner in 0..8 {
                    let sign = |bit: i32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
                    let local = collider.position + collider.rotation * (h * vec(sign(0), sign(1), sign(2)));
                    let p = *x + *R * local;
                    low = low.min(p.y);
                    front = front.max(p.z);
                    back = back.min(p.z);
                }
            }
        }
        (low, com.z - 0.5 * (front + back))
    };
    // the more the hips bend forward, the farther the trunk is behind the feet
    let (mut least, mut most) = (-0.5, 0.8);
    for _ in 0..60 {
        let hip = 0.5 * (least + most);
        if measure(&pose(hip)).1 > 0.0 {
            least = hip;
        } else {
            most = hip;
        }
    }
    let joints = pose(least);
    let (low, _) = measure(&joints);
    (-low, joints)
}
