//! Holding one pose.

use glam::DVec3;

use super::gains::{ControlError, copy_actuation, find_body};
use super::parameters::paths;
use super::{Clock, Controller, Gains, Parameter, ParameterError};
use crate::character::{Character, Joint};
use crate::math::rotation::exp;
use crate::world::{Actuation, CharacterState, JointPosition};

/// Keeps every joint at one position.
#[derive(Clone, Debug)]
pub struct Hold {
    actuation: Actuation,
    gains: Gains,
    character: Character,
}

impl Hold {
    /// Holds `pose` (one entry per body; see [`pose_from_angles`]) with `gains`.
    pub fn new(character: &Character, pose: &[JointPosition], gains: &Gains) -> Result<Hold, ControlError> {
        let mut actuation = gains.actuation(character)?;
        for (joint, position) in actuation.joints.iter_mut().zip(pose) {
            joint.target = *position;
        }
        Ok(Hold {
            actuation,
            gains: gains.clone(),
            character: character.clone(),
        })
    }

    /// The pose held, per body.
    pub fn pose(&self) -> Vec<JointPosition> {
        self.actuation.joints.iter().map(|j| j.target).collect()
    }
}

impl Controller for Hold {
    fn act(&mut self, _state: &CharacterState, _clock: Clock, out: &mut Actuation) {
        copy_actuation(&self.actuation, out);
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.gains.parameters(&self.character, &self.actuation)
    }

    fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ParameterError> {
        let set = (self.gains).set_parameter(&self.character, path, value, &mut self.actuation);
        set.unwrap_or_else(|| Err(ParameterError::unknown(path, paths(self.parameters()))))
    }
}

/// A pose written as angles in degrees per body: one for a hinge, two for a universal joint, a rotation vector of
/// three for a ball joint. Bodies that are not named stay in the bind pose. `what` is what errors call the pose.
pub fn pose_from_angles<'a>(
    character: &Character,
    angles_deg: impl IntoIterator<Item = (&'a str, &'a [f64])>,
    what: &str,
) -> Result<Vec<JointPosition>, ControlError> {
    let mut pose: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
    for (name, angles) in angles_deg {
        let body = find_body(character, name, what)?;
        if let Some(&value) = angles.iter().find(|a| !a.is_finite()) {
            return Err(ControlError::BadValue {
                what: format!("{what}.{name}"),
                value,
                expected: "a finite angle in degrees",
            });
        }
        let (joint, expected) = match character.bodies[body].joint {
            Joint::Hinge { .. } => ("a hinge", 1),
            Joint::Universal { .. } => ("a universal joint", 2),
            Joint::Ball => ("a ball joint: its rotation vector", 3),
            Joint::Free | Joint::Planar | Joint::Fixed => ("it has no joint that can be posed", 0),
        };
        if angles.len() != expected {
            return Err(ControlError::BadAngles {
                what: what.to_string(),
                body: name.to_string(),
                joint,
                expected,
                found: angles.len(),
            });
        }
        pose[body] = match *angles {
            [a] => JointPosition::Angle(a.to_radians()),
            [a, b] => JointPosition::Angles([a.to_radians(), b.to_radians()]),
            [x, y, z] => JointPosition::Rotation(exp(DVec3::new(x.to_radians(), y.to_radians(), z.to_radians()))),
            _ => JointPosition::None,
        };
    }
    Ok(pose)
}
