//! The physical world: a scene of terrain, props and characters, and the two engines that move it.
//!
//! In: a [`Scene`], then one [`Actuation`] per character and step. Out: [`CharacterState`]s, contacts, forces. Knows
//! nothing of controllers, files and the command line.

#![allow(
    clippy::result_large_err,
    reason = "step errors carry names and values; they are rare and end a run"
)]

mod articulated;
mod blame;
mod measure;
mod platform;
mod rapier_engine;
mod scene;
mod shapes;
mod state;
mod validate;

pub(crate) use measure::{SMALLEST_LOAD, hull_from_above};
pub use scene::{Placement, Platform, PlatformMotion, Prop, Scene, Terrain, TerrainShape};
pub use state::{
    Actuation, BodyRef, BodyState, CharacterState, Contact, ExternalForce, FootState, JointActuation, JointPosition,
    PdMode, RootActuation, Wrench,
};

pub(crate) use validate::actuation as check_actuation;

use thiserror::Error;

/// Which solver moves the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Reduced coordinates with implicit PD and contacts on one factorisation; the default.
    Articulated,
    /// rapier's multibody joints; the cross-check.
    Rapier,
}

/// Why a world could not be built.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum BuildError {
    /// A number is not finite or out of its range; `what` names the thing, `value` what was found, `expected` the range.
    #[error("{what} is {value}; expected {expected}")]
    BadValue {
        what: String,
        value: String,
        expected: String,
    },
    /// The chosen engine cannot do what the scene asks for.
    #[error("the {engine} engine cannot {what}; {remedy}")]
    Unsupported {
        engine: &'static str,
        what: String,
        remedy: String,
    },
}

/// Why a step could not be completed. The world is left as it was before the step.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum StepError {
    /// An actuation or external force is not finite or does not fit the character.
    #[error("t = {time:.4} s, {character}/{body}: {what} is {value}; expected {expected}")]
    BadInput {
        time: f64,
        character: String,
        body: String,
        what: String,
        value: String,
        expected: String,
    },
    /// The motion grew beyond every bound; `hint` says what most likely caused it (joint, gain, step).
    #[error("t = {time:.4} s: the simulation diverged at {character}/{body} ({}); {hint}", rate_in_words(*rate))]
    Diverged {
        time: f64,
        character: String,
        body: String,
        rate: f64,
        hint: String,
    },
}

/// A rate for an error, which may end up in a file: there is no NaN in it.
fn rate_in_words(rate: f64) -> String {
    if rate.is_finite() {
        format!("rate {rate:.3e} rad/s or m/s")
    } else {
        "its rate is no longer a number".into()
    }
}

/// Saved state of a world: positions, velocities, warm-start caches, time. Small (kilobytes) and quick to take.
///
/// It belongs to the scene it was taken from: restoring it into a world built from another one is refused.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    pub(crate) engine: Option<EngineKind>,
    /// Fingerprint of the scene's structure.
    pub(crate) scene: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) numbers: Vec<f64>,
    /// What an engine keeps in a form of its own; equal states have equal `bytes` too.
    pub(crate) opaque: Option<state::Opaque>,
}

/// A snapshot does not belong to this world.
#[derive(Debug, Error, Clone, PartialEq)]
#[error("the snapshot was taken from another scene or engine: {0}")]
pub struct RestoreError(pub String);

/// Where the time of the steps went, nanoseconds summed since the last reset. Only measured when switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTimes {
    pub steps: u64,
    pub collision_ns: u64,
    pub dynamics_ns: u64,
    pub contacts_ns: u64,
    pub other_ns: u64,
}

/// Facts about the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Gauss-Seidel iterations (articulated) or solver iterations (rapier).
    pub iterations: usize,
    /// Passes of the torque-limit active set, 1 if nothing saturated anew.
    pub torque_passes: usize,
    /// Whether every applied torque equals the clamped PD law to 1e-6 of its limit.
    pub pd_law_met: bool,
    pub contact_points: usize,
    /// Deepest penetration at the end of the step's contact detection, metres.
    pub max_penetration: f64,
    /// Largest excess over a joint limit, radians.
    pub max_limit_violation: f64,
}

/// What both engines do. A controller cannot tell them apart except by asking [`Engine::kind`].
///
/// Character and prop indices are those of the [`Scene`]; body indices those of the
/// [`Character`](crate::character::Character).
pub trait Engine: Send {
    fn kind(&self) -> EngineKind;
    fn scene(&self) -> &Scene;
    /// Seconds per step.
    fn dt(&self) -> f64;
    /// Seconds simulated so far: `steps · dt`.
    fn time(&self) -> f64;
    fn steps(&self) -> u64;
    /// What the engine cannot honour of this scene (such as torque limits), one sentence each; empty if nothing.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Advances by one step of [`Engine::dt`]. `actuations` holds one entry per character; `forces` act during this
    /// step only. On an error the state is as before the call.
    fn step(&mut self, actuations: &[Actuation], forces: &[ExternalForce]) -> Result<(), StepError>;

    /// Writes what a controller may know about a character into `out`, resizing its vectors on first use only.
    fn read_state(&self, character: usize, out: &mut CharacterState);
    /// State of a body of a prop.
    fn prop_body(&self, prop: usize, body: usize) -> BodyState;
    /// Position and rotation of a kinematic platform now.
    fn platform_pose(&self, platform: usize) -> (glam::DVec3, glam::DQuat);
    /// All contacts that carried force or touched in the last step.
    fn contacts(&self, out: &mut Vec<Contact>);
    fn last_step(&self) -> StepReport;
    /// Total mechanical energy of everything that moves (characters and props), joules.
    fn energy(&self) -> f64;

    /// Places a character: root position (of the body frame), root rotation, joint positions per body, and generalized
    /// velocities per body (`[linear, angular]` for a free root in its `.0`/`.1`, joint rates in `.1` otherwise).
    ///
    /// What a hinge, universal, ball or fixed root hangs on stays where it is: its place follows from the joint alone.
    fn set_character(
        &mut self,
        character: usize,
        root_position: glam::DVec3,
        root_rotation: glam::DQuat,
        joints: &[JointPosition],
        velocities: &[(glam::DVec3, glam::DVec3)],
    ) -> Result<(), StepError>;
    /// Places a prop's root and gives it velocities (of its centre of mass, and angular, world axes; hinge rate in `angular.x`).
    fn set_prop(
        &mut self,
        prop: usize,
        position: glam::DVec3,
        rotation: glam::DQuat,
        velocity: glam::DVec3,
        angular_velocity: glam::DVec3,
    ) -> Result<(), StepError>;

    fn snapshot(&self, out: &mut Snapshot);
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError>;
    /// Back to the state just after construction, bit for bit.
    fn reset(&mut self);
    /// A second world in the same state.
    fn boxed_clone(&self) -> Box<dyn Engine>;
    /// Hash over the whole state (positions, velocities, warm starts, time); equal states give equal hashes on every platform.
    fn state_hash(&self) -> u64;

    /// First hit of a ray with terrain, platforms and props (never characters): distance and surface normal.
    /// `direction` is unit.
    fn cast_ray(&self, origin: glam::DVec3, direction: glam::DVec3, max_distance: f64) -> Option<(f64, glam::DVec3)>;

    /// Switches the timing of [`StepTimes`] on or off and resets it.
    fn set_timing(&mut self, on: bool);
    fn step_times(&self) -> StepTimes;
}

/// Builds a world on the chosen engine; `dt` is the step in seconds.
pub fn build(engine: EngineKind, scene: Scene, dt: f64) -> Result<Box<dyn Engine>, BuildError> {
    match engine {
        EngineKind::Articulated => Ok(Box::new(articulated::ArticulatedEngine::new(scene, dt)?)),
        EngineKind::Rapier => Ok(Box::new(rapier_engine::RapierEngine::new(scene, dt)?)),
    }
}
