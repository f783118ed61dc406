//! Gains of a controller: the character's own, scaled as a whole or set body by body.

use glam::DVec3;
use thiserror::Error;

use crate::character::Character;
use crate::names::nearest;
use crate::world::{Actuation, PdMode};

/// Changes to the gains written in the character.
#[derive(Clone, Debug, PartialEq)]
pub struct Gains {
    /// Factor on every kp.
    pub kp_scale: f64,
    /// Factor on every kd.
    pub kd_scale: f64,
    /// Exceptions, which the factors do not touch.
    pub bodies: Vec<BodyGains>,
    pub mode: PdMode,
}

/// Gains of one body's joint, the same about every axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyGains {
    pub body: String,
    /// N m/rad; the character's own if `None`.
    pub kp: Option<f64>,
    /// N m s/rad; the character's own if `None`.
    pub kd: Option<f64>,
}

impl Default for Gains {
    fn default() -> Self {
        Gains {
            kp_scale: 1.0,
            kd_scale: 1.0,
            bodies: Vec::new(),
            mode: PdMode::Stable,
        }
    }
}

/// Why a controller cannot drive a character.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ControlError {
    /// A body is named that the character does not have.
    #[error("{what}: character `{character}` has no body `{name}`{}; its bodies are {}", did_you_mean(.nearest), .known.join(", "))]
    UnknownBody {
        what: String,
        character: String,
        name: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// A body of the character has no joint in the clip that could tell what it shall do.
    #[error(
        "clip `{clip}` has no joint for body `{body}` of character `{character}`{}; its joints are {}",
        did_you_mean(.nearest), .known.join(", ")
    )]
    MissingJoint {
        clip: String,
        character: String,
        body: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The clip cannot be tracked at all.
    #[error("clip `{clip}` cannot be tracked: {problem}")]
    BadClip { clip: String, problem: String },
    /// The clip holds no controls of the character.
    #[error("control track `{clip}` cannot be replayed: {problem}")]
    BadControls { clip: String, problem: String },
    /// A number is not finite or out of its range.
    #[error("{what} is {value}; expected {expected}")]
    BadValue {
        what: String,
        value: f64,
        expected: &'static str,
    },
    /// A pose gives a joint the wrong number of angles.
    #[error("{what}: body `{body}` takes {expected} angle(s) ({joint}), found {found}")]
    BadAngles {
        what: String,
        body: String,
        joint: &'static str,
        expected: usize,
        found: usize,
    },
    /// A joint is to turn about an axis that it does not have.
    #[error("{what}: body `{body}` has no axis {axis}; it has {joint}")]
    NoSuchAxis {
        what: String,
        body: String,
        axis: &'static str,
        joint: &'static str,
    },
}

fn did_you_mean(name: &Option<String>) -> String {
    name.as_ref()
        .map(|n| format!(" (did you mean `{n}`?)"))
        .unwrap_or_default()
}

/// Index of the body called `name`, or an error that lists the names there are. `what` says who asks.
pub fn find_body(character: &Character, name: &str, what: &str) -> Result<usize, ControlError> {
    character.body(name).ok_or_else(|| ControlError::UnknownBody {
        what: what.to_string(),
        character: character.name.clone(),
        name: name.to_string(),
        nearest: nearest(name, character.bodies.iter().map(|b| b.name.as_str())).map(str::to_string),
        known: character.bodies.iter().map(|b| b.name.clone()).collect(),
    })
}

/// `value` if it is finite and not negative.
pub(crate) fn not_negative(what: impl Into<String>, value: f64) -> Result<f64, ControlError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(ControlError::BadValue {
        what: what.into(),
        value,
        expected: "a finite number, zero or more",
    })
}

impl Gains {
    /// The bind pose held with these gains: what a controller starts from.
    pub fn actuation(&self, character: &Character) -> Result<Actuation, ControlError> {
        let kp_scale = not_negative("kp_scale", self.kp_scale)?;
        let kd_scale = not_negative("kd_scale", self.kd_scale)?;
        let mut actuation = Actuation::hold_bind_pose(character);
        actuation.mode = self.mode;
        for joint in &mut actuation.joints {
            joint.kp *= kp_scale;
            joint.kd *= kd_scale;
        }
        for gains in &self.bodies {
            let body = find_body(character, &gains.body, "gains")?;
            if let Some(kp) = gains.kp {
                actuation.joints[body].kp = DVec3::splat(not_negative(format!("gains.{}.kp", gains.body), kp)?);
            }
            if let Some(kd) = gains.kd {
                actuation.joints[body].kd = DVec3::splat(not_negative(format!("gains.{}.kd", gains.body), kd)?);
            }
        }
        Ok(actuation)
    }
}

/// Copies `from` into `to` without allocating once `to` has the size.
pub(crate) fn copy_actuation(from: &Actuation, to: &mut Actuation) {
    to.mode = from.mode;
    to.root = from.root;
    to.joints.clone_from(&from.joints);
}
