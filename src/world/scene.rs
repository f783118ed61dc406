//! What a world is made of.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use xxhash_rust::xxh3::xxh3_64;

use super::JointPosition;
use crate::character::{Character, Joint, Material};
use crate::math::swing_twist::twist_angle;

/// Everything a world is built from. Engines keep a copy and never change it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// m/s², world axes; `(0, -9.81, 0)` by default.
    pub gravity: DVec3,
    pub terrain: Vec<Terrain>,
    pub platforms: Vec<Platform>,
    pub props: Vec<Prop>,
    pub characters: Vec<Placement>,
}

impl Default for Scene {
    fn default() -> Self {
        Scene {
            gravity: DVec3::new(0.0, -9.81, 0.0),
            terrain: Vec::new(),
            platforms: Vec::new(),
            props: Vec::new(),
            characters: Vec::new(),
        }
    }
}

/// A piece of the fixed world.
#[derive(Clone, Debug, PartialEq)]
pub struct Terrain {
    pub shape: TerrainShape,
    pub position: DVec3,
    pub rotation: DQuat,
    pub material: Material,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TerrainShape {
    /// The half space below local y = 0.
    Ground,
    Box {
        half_extents: DVec3,
    },
    /// `steps` boxes of `rise` × `run` going up along local +Z from z = 0, `width` wide (x), solid down to y = 0.
    Stairs {
        steps: usize,
        rise: f64,
        run: f64,
        width: f64,
    },
    /// Heights on a regular grid over `size` (x, z), centred on the origin; `heights[row][column]`, rows along +Z, columns along
    /// +X.
    Heightfield {
        heights: Vec<Vec<f64>>,
        size: [f64; 2],
    },
    Mesh {
        vertices: Vec<DVec3>,
        triangles: Vec<[u32; 3]>,
    },
}

impl TerrainShape {
    /// The boxes that it is made of: half extents and centre, in its own frame. Empty if it is not made of boxes.
    pub fn boxes(&self) -> Vec<(DVec3, DVec3)> {
        match self {
            TerrainShape::Box { half_extents } => vec![(*half_extents, DVec3::ZERO)],
            TerrainShape::Stairs {
                steps,
                rise,
                run,
                width,
            } => (0..*steps)
                .map(|i| {
                    let height = (i + 1) as f64 * rise;
                    let half = 0.5 * DVec3::new(*width, height, *run);
                    (half, DVec3::new(0.0, half.y, (i as f64 + 0.5) * run))
                })
                .collect(),
            TerrainShape::Ground | TerrainShape::Heightfield { .. } | TerrainShape::Mesh { .. } => Vec::new(),
        }
    }
}

/// A body that moves as told and that nothing can move.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    pub half_extents: DVec3,
    pub position: DVec3,
    pub rotation: DQuat,
    pub motion: PlatformMotion,
    pub material: Material,
}

/// Motion of a platform as a function of time alone.
#[derive(Clone, Debug, PartialEq)]
pub enum PlatformMotion {
    /// `position + amplitude sin(2π frequency t)` (metres, hertz).
    Sine { amplitude: DVec3, frequency: f64 },
    /// Constant velocity and angular velocity (world axes).
    Linear { velocity: DVec3, angular_velocity: DVec3 },
}

/// A dynamic object: an articulation of its own, without motors.
#[derive(Clone, Debug, PartialEq)]
pub struct Prop {
    /// Its bodies; the root's `offset` and `rest` are where it stands.
    pub body: Arc<Character>,
}

impl Scene {
    /// Hash over all of the scene and the step `dt`: what must agree between a snapshot and the world it is restored into.
    pub(crate) fn fingerprint(&self, dt: f64) -> u64 {
        xxh3_64(format!("{self:?} {dt:?}").as_bytes())
    }
}

impl Prop {
    /// Joint positions with the root's frame turned to `rotation` and all else in the bind pose. What a hinge or ball root
    /// hangs on stays where it is: its joint takes up as much of the rotation as it can.
    pub(crate) fn joints_at(&self, rotation: DQuat) -> Vec<JointPosition> {
        let bodies = &self.body.bodies;
        let mut joints: Vec<_> = bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let turned = bodies[0].rest.conjugate() * rotation;
        match bodies[0].joint {
            Joint::Hinge { axis } => joints[0] = JointPosition::Angle(twist_angle(turned, axis)),
            Joint::Ball => joints[0] = JointPosition::Rotation(turned),
            _ => {}
        }
        joints
    }
}

/// A character and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub character: Arc<Character>,
    /// Added to the bind-pose position of the root, metres.
    pub position: DVec3,
    /// Turn about +Y through the world origin before `position` is added, radians.
    pub heading: f64,
}
