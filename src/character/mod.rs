//! What a character is: bodies, joints, shapes, masses, limits and gains.
//!
//! In: a TOML file or a skeleton. Out: a [`Character`], resolved and checked, ready for a world.
//!
//! ```text
//! file → format → toml (bind pose → body frames, mirror) ┐
//! skeleton → segment (names) → fit ──────────────────────┴→ Character → validate, check, explicit_stability → world
//! ```
//!
//! Knows nothing of controllers and nothing of rapier (but for questions about shapes, see `geometry`).

#![allow(non_snake_case)]

mod bind;
mod check;
mod fit;
mod format;
mod geometry;
mod mass_properties;
mod mirror;
mod place;
mod segment;
mod stability;
mod toml;
mod validate;
mod write;

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

pub use self::check::{Finding, Severity, check};
pub use self::fit::{FitError, FitOptions, fit};
pub use self::format::FORMAT;
pub use self::mass_properties::MassProperties;
pub use self::segment::Side;
pub use self::stability::explicit_stability;

pub use self::validate::CharacterError;

#[cfg(feature = "viewer")]
#[cfg(feature = "viewer")]
pub(crate) use self::geometry::{cast_ray, convex_hull};

/// An articulated body: a tree of rigid bodies, parents before children, body 0 the root.
///
/// Props are characters too: a loose box has one body and a free root, a seesaw one body and a hinged root.
#[derive(Clone, Debug, PartialEq)]
pub struct Character {
    pub name: String,
    pub bodies: Vec<Body>,
}

/// A rigid body together with the joint that connects it to its parent (to the world, for the root).
///
/// The body's frame is its joint's frame: origin at the joint, `R_body = R_parent · rest · q` with `q` the identity in
/// the bind pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub name: String,
    pub parent: Option<usize>,
    pub role: Role,
    /// Joint origin in the parent's frame (for the root: in the world, in the bind pose), metres.
    pub offset: DVec3,
    /// Joint frame in the parent's frame (for the root: in the world) in the bind pose.
    pub rest: DQuat,
    pub joint: Joint,
    /// Kilograms.
    pub mass: f64,
    /// Centre of mass in the body's frame, metres.
    pub center_of_mass: DVec3,
    /// Inertia about the centre of mass, body axes, kg m².
    pub inertia: DMat3,
    pub colliders: Vec<Collider>,
    pub material: Material,
    /// Bit groups this body is a member of, and the groups it collides with: two bodies of one character collide if each
    /// one's filter meets the other's membership. Parent and child never collide; bodies of different characters, props and
    /// terrain always do, unless the filter is 0, which makes a body collide with nothing.
    pub membership: u32,
    pub filter: u32,
    pub limit: Limit,
    /// Largest torque per axis, N m; infinite if unlimited. Axes as in [`Joint`].
    pub torque_limit: [f64; 3],
    /// Proportional gain per axis, N m/rad.
    pub kp: [f64; 3],
    /// Derivative gain per axis, N m s/rad.
    pub kd: [f64; 3],
    /// Passive damping per axis, N m s/rad.
    pub damping: [f64; 3],
    /// Reflected rotor inertia per axis, kg m².
    pub armature: [f64; 3],
}

/// Part that a body plays, for measures and controllers that ask for "the feet" or "the trunk".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    #[default]
    Other,
    Pelvis,
    Trunk,
    Head,
    LeftFoot,
    RightFoot,
    LeftToes,
    RightToes,
    LeftHand,
    RightHand,
}

impl Role {
    /// The word for it in files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Other => "other",
            Role::Pelvis => "pelvis",
            Role::Trunk => "trunk",
            Role::Head => "head",
            Role::LeftFoot => "left_foot",
            Role::RightFoot => "right_foot",
            Role::LeftToes => "left_toes",
            Role::RightToes => "right_toes",
            Role::LeftHand => "left_hand",
            Role::RightHand => "right_hand",
        }
    }

    /// The same part on the other side of the body.
    pub fn mirrored(self) -> Role {
        match self {
            Role::LeftFoot => Role::RightFoot,
            Role::RightFoot => Role::LeftFoot,
            Role::LeftToes => Role::RightToes,
            Role::RightToes => Role::LeftToes,
            Role::LeftHand => Role::RightHand,
            Role::RightHand => Role::LeftHand,
            central => central,
        }
    }
}

/// How a body moves relative to its parent. Its rates, torques and errors are listed per axis in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Joint {
    /// Six degrees of freedom; roots only. Rates: velocity of the body's centre of mass, then angular velocity, both
    /// in world axes.
    Free,
    /// In the sagittal plane: y and z of the centre of mass and the rotation about world +X; roots only.
    Planar,
    /// None. As a root: nailed to the world.
    Fixed,
    /// One angle about `axis` (unit, joint frame).
    Hinge { axis: DVec3 },
    /// Two angles: `q = exp(axes[0] q₀) · exp(axes[1] q₁)`.
    Universal { axes: [DVec3; 2] },
    /// A rotation; rate, error and torque in the parent-side joint frame (`R_parent · rest`).
    Ball,
}

impl Joint {
    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        match self {
            Joint::Free => 6,
            Joint::Planar | Joint::Ball => 3,
            Joint::Fixed => 0,
            Joint::Hinge { .. } => 1,
            Joint::Universal { .. } => 2,
        }
    }
}

/// Range of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Limit {
    #[default]
    None,
    /// Range of each angle of a hinge (first entry) or universal joint, radians.
    Range([[f64; 2]; 2]),
    /// Of a ball joint: the bone `axis` (unit, in the body's frame and, in the bind pose, in the joint frame too)
    /// stays within `swing` radians of its direction in the bind pose, turned by `center` (rotation of the cone's
    /// middle away from the bind pose); the twist about the bone stays in `twist`.
    SwingTwist {
        axis: DVec3,
        center: DQuat,
        swing: f64,
        twist: [f64; 2],
    },
}

/// A shape fixed to a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Collider {
    pub shape: Shape,
    /// Centre of the shape in the body's frame, metres.
    pub position: DVec3,
    pub rotation: DQuat,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Box {
        half_extents: DVec3,
    },
    /// The segment runs from `-half_length` to `+half_length` along local Y.
    Capsule {
        half_length: f64,
        radius: f64,
    },
    Sphere {
        radius: f64,
    },
    /// Convex hull of points in the shape's frame.
    Hull {
        points: Vec<DVec3>,
    },
}

impl Shape {
    /// How far the shape reaches along the unit vector `direction` (shape's frame) from its centre, metres.
    pub fn extent(&self, direction: DVec3) -> f64 {
        match self {
            Shape::Box { half_extents } => direction.abs().dot(*half_extents),
            Shape::Capsule { half_length, radius } => direction.y.abs() * half_length + radius,
            Shape::Sphere { radius } => *radius,
            Shape::Hull { points } => points
                .iter()
                .map(|p| p.dot(direction))
                .fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Friction and restitution. A pair's friction is the geometric mean, its restitution the maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    pub friction: f64,
    pub restitution: f64,
}

impl Default for Material {
    fn default() -> Self {
        Material {
            friction: 1.0,
            restitution: 0.0,
        }
    }
}

impl Body {
    /// The side of the character that it belongs to, by its role or else by its name; `None` in the middle.
    pub fn side(&self) -> Option<Side> {
        match self.role {
            Role::LeftFoot | Role::LeftToes | Role::LeftHand => Some(Side::Left),
            Role::RightFoot | Role::RightToes | Role::RightHand => Some(Side::Right),
            Role::Pelvis | Role::Trunk | Role::Head => None,
            Role::Other => segment::side_of(&self.name),
        }
    }
}

impl Character {
    /// Index of the body called `name`.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }

    /// Kilograms.
    pub fn mass(&self) -> f64 {
        self.bodies.iter().map(|b| b.mass).sum()
    }

    /// Number of degrees of freedom.
    pub fn dofs(&self) -> usize {
        self.bodies.iter().map(|b| b.joint.dofs()).sum()
    }
}
