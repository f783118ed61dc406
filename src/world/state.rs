//! What goes into a step and what can be read after it.

use std::any::Any;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use crate::character::{Character, Joint};

/// Position of a joint relative to its bind pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointPosition {
    /// Free, planar and fixed joints: the pose of the root is held elsewhere.
    None,
    /// Radians about a hinge's axis.
    Angle(f64),
    /// Radians about the two axes of a universal joint.
    Angles([f64; 2]),
    /// Rotation of a ball joint.
    Rotation(DQuat),
}

impl JointPosition {
    /// The bind pose of `joint`.
    pub fn bind(joint: &Joint) -> JointPosition {
        match joint {
            Joint::Free | Joint::Planar | Joint::Fixed => JointPosition::None,
            Joint::Hinge { .. } => JointPosition::Angle(0.0),
            Joint::Universal { .. } => JointPosition::Angles([0.0; 2]),
            Joint::Ball => JointPosition::Rotation(DQuat::IDENTITY),
        }
    }
}

/// How the PD law enters the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PdMode {
    /// Position and velocity terms taken at the end of the step, inside the contact solve.
    #[default]
    Stable,
    /// The lecture's explicit law `kp e − kd q̇` of the state at the beginning of the step, for comparison.
    Explicit,
}

/// What one joint shall do. Vectors are per axis as listed in [`Joint`]; unused entries are ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointActuation {
    /// Where the joint should be at the beginning of the step; the PD law moves it on by `target_velocity` to the end. A target
    /// that is given for the end leads by one step.
    pub target: JointPosition,
    /// Rate of the target, rad/s.
    pub target_velocity: DVec3,
    /// N m/rad.
    pub kp: DVec3,
    /// N m s/rad.
    pub kd: DVec3,
    /// Torque added to the PD law before clamping, N m.
    pub feed_forward: DVec3,
}

/// External help at the root, off unless asked for. Whatever it applies is reported in [`CharacterState::external_wrench`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum RootActuation {
    #[default]
    None,
    /// A constant wrench at the root's centre of mass, world axes.
    Wrench(Wrench),
    /// A spring and damper between the root's body frame and a moving target, taken implicitly: N/m, N s/m, N m/rad, N m s/rad.
    Spring {
        position: DVec3,
        rotation: DQuat,
        velocity: DVec3,
        angular_velocity: DVec3,
        kp_linear: f64,
        kd_linear: f64,
        kp_angular: f64,
        kd_angular: f64,
    },
}

/// Force (N) and torque (N m), world axes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Wrench {
    pub force: DVec3,
    pub torque: DVec3,
}

/// Everything a controller may do to its character during one step.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Actuation {
    pub mode: PdMode,
    /// One entry per body; the root's entry is used only if the root joint is a hinge, universal or ball joint.
    pub joints: Vec<JointActuation>,
    pub root: RootActuation,
}

impl Actuation {
    /// Holds the bind pose with the character's own gains.
    pub fn hold_bind_pose(character: &Character) -> Actuation {
        Actuation {
            mode: PdMode::Stable,
            joints: character
                .bodies
                .iter()
                .map(|b| JointActuation {
                    target: JointPosition::bind(&b.joint),
                    target_velocity: DVec3::ZERO,
                    kp: DVec3::from_array(b.kp),
                    kd: DVec3::from_array(b.kd),
                    feed_forward: DVec3::ZERO,
                })
                .collect(),
            root: RootActuation::None,
        }
    }
}

/// A push from outside during one step (a disturbance of the experiment or the viewer's hand).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalForce {
    pub target: BodyRef,
    /// Point of application in the body's frame, metres.
    pub point: DVec3,
    /// World axes, N.
    pub force: DVec3,
    /// World axes, N m.
    pub torque: DVec3,
}

/// Something that can touch something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BodyRef {
    Terrain(usize),
    Platform(usize),
    Prop { prop: usize, body: usize },
    Character { character: usize, body: usize },
}

/// One contact point. World axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    pub a: BodyRef,
    pub b: BodyRef,
    pub point: DVec3,
    /// Unit, from `b` towards `a`.
    pub normal: DVec3,
    /// Force on `a` averaged over the step, N; `b` feels the opposite.
    pub force: DVec3,
    /// Penetration, metres; negative if apart.
    pub depth: f64,
}

impl Contact {
    /// Whether a character touches itself.
    pub fn is_own(&self) -> bool {
        match (self.a, self.b) {
            (BodyRef::Character { character: a, .. }, BodyRef::Character { character: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// Motion of a rigid body, world axes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct BodyState {
    /// Origin of the body's (joint) frame.
    pub position: DVec3,
    pub rotation: DQuat,
    pub center_of_mass: DVec3,
    /// Of the centre of mass.
    pub velocity: DVec3,
    pub angular_velocity: DVec3,
}

/// Ground contact of one foot (all bodies with the foot's or its toes' role).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FootState {
    /// Total contact force on the foot, N.
    pub force: DVec3,
    /// Where the vertical force acts (`Σ p f_y / Σ f_y`); `None` without load.
    pub center_of_pressure: Option<DVec3>,
}

/// What a controller may know about its character after a step.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CharacterState {
    pub time: f64,
    /// Per body.
    pub joints: Vec<JointPosition>,
    /// Per body, rad/s, axes as in [`Joint`]; zero for the root of a free or planar character (see `bodies[0]`).
    pub joint_velocities: Vec<DVec3>,
    pub bodies: Vec<BodyState>,
    pub center_of_mass: DVec3,
    pub com_velocity: DVec3,
    /// kg m/s.
    pub linear_momentum: DVec3,
    /// About the centre of mass, kg m²/s.
    pub angular_momentum: DVec3,
    pub kinetic_energy: f64,
    /// `−Σ m g·x`, joules.
    pub potential_energy: f64,
    /// Contacts of the last step, turned so that `a` is this character (self contacts appear once).
    pub contacts: Vec<Contact>,
    /// Left and right.
    pub feet: [FootState; 2],
    /// Of all contacts with anything that is not the character itself.
    pub center_of_pressure: Option<DVec3>,
    /// Convex hull of the loaded contact points seen from above, counter-clockwise seen from +Y.
    pub support_polygon: Vec<DVec3>,
    /// Joint torques applied in the last step, per body and axis: PD and feed-forward, clamped; passive damping not included.
    pub torques: Vec<DVec3>,
    /// Per body: whether any axis was at its torque limit.
    pub saturated: Vec<bool>,
    /// Assist applied by [`RootActuation`] in the last step, at the root's centre of mass.
    pub external_wrench: Wrench,
}

/// State that an engine keeps in a snapshot in a form of its own.
#[derive(Clone)]
pub(crate) struct Opaque(pub Arc<dyn Any + Send + Sync>);

impl std::fmt::Debug for Opaque {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opaque")
    }
}

/// Always equal: a snapshot with opaque state carries the hash of that state in its bytes, which decide.
impl PartialEq for Opaque {
    fn eq(&self, _: &Opaque) -> bool {
        true
    }
}
