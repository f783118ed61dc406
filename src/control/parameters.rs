//! Numbers of a controller that may change while it acts.

use thiserror::Error;

use super::gains::find_body;
use super::track::AssistGains;
use super::{BodyGains, Gains};
use crate::bounds::LARGEST_GAIN;
use crate::character::{Character, Joint};
use crate::names::nearest;
use crate::world::Actuation;

/// A number of a controller that may change while it acts.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Where it stands in the controller's table of an experiment: `kp_scale`, `gains.left_shin.kp`, `assist.kd_linear`.
    pub path: String,
    /// What is in effect now. Of a joint with different gains about its axes this is the largest.
    pub value: f64,
    /// Empty for a factor.
    pub unit: &'static str,
    /// What a slider should span; other values are not refused.
    pub range: [f64; 2],
    /// Whether equal steps of a slider should be equal factors.
    pub log: bool,
}

/// A parameter cannot be set.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum ParameterError {
    /// The controller has none of that name.
    #[error("there is no parameter `{path}`{}; there are {}",
            nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default(),
            if known.is_empty() { "none".to_string() } else { known.join(", ") })]
    Unknown {
        path: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The value is out of its range; the old one stays.
    #[error("`{path}` cannot be {value:?}; expected {expected}")]
    BadValue { path: String, value: f64, expected: String },
}

impl ParameterError {
    /// `path` is none of `known`.
    pub fn unknown(path: &str, known: Vec<String>) -> ParameterError {
        ParameterError::Unknown {
            path: path.to_string(),
            nearest: nearest(path, known.iter().map(String::as_str)).map(str::to_string),
            known,
        }
    }
}

/// The names of parameters.
pub(super) fn paths(parameters: Vec<Parameter>) -> Vec<String> {
    parameters.into_iter().map(|p| p.path).collect()
}

/// `value` if an experiment file may have it for a gain or a factor on gains.
fn gain(path: &str, value: f64) -> Result<f64, ParameterError> {
    if (0.0..=LARGEST_GAIN).contains(&value) {
        return Ok(value);
    }
    Err(ParameterError::BadValue {
        path: path.to_string(),
        value,
        expected: format!("0 to {LARGEST_GAIN:e}"),
    })
}

/// A twentieth to twenty times what a gain usually is; up to `otherwise` where it usually is nothing.
fn around(usual: f64, otherwise: f64) -> ([f64; 2], bool) {
    if usual > 0.0 {
        ([usual / 20.0, usual * 20.0], true)
    } else {
        ([0.0, otherwise], false)
    }
}

const KP: &str = "N m/rad";
const KD: &str = "N m s/rad";

impl Gains {
    /// The factors, then kp and kd of every joint with motors.
    pub(super) fn parameters(&self, character: &Character, in_effect: &Actuation) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = [("kp_scale", self.kp_scale), ("kd_scale", self.kd_scale)]
            .into_iter()
            .map(|(path, value)| Parameter {
                path: path.into(),
                value,
                unit: "",
                range: [0.05, 20.0],
                log: true,
            })
            .collect();
        for (body, joint) in character.bodies.iter().zip(&in_effect.joints) {
            let axes = match body.joint {
                Joint::Free | Joint::Planar | Joint::Fixed => continue,
                Joint::Hinge { .. } => 1,
                Joint::Universal { .. } => 2,
                Joint::Ball => 3,
            };
            let largest = |v: [f64; 3]| v[..axes].iter().fold(0.0, |a: f64, b| a.max(*b));
            for (name, unit, value, own, otherwise) in [
                ("kp", KP, joint.kp, body.kp, 1000.0),
                ("kd", KD, joint.kd, body.kd, 100.0),
            ] {
                let (range, log) = around(largest(own), otherwise);
                all.push(Parameter {
                    path: format!("gains.{}.{name}", body.name),
                    value: largest(value.to_array()),
                    unit,
                    range,
                    log,
                });
            }
        }
        all
    }

    /// Changes one of [`Gains::parameters`] and the kp and kd of `in_effect` to those of a controller that had the value from
    /// the start. `None` if there is no such parameter.
    pub(super) fn set_parameter(
        &mut self,
        character: &Character,
        path: &str,
        value: f64,
        in_effect: &mut Actuation,
    ) -> Option<Result<(), ParameterError>> {
        let body_gain = path.strip_prefix("gains.").and_then(|rest| rest.rsplit_once('.'));
        match (path, body_gain) {
            ("kp_scale" | "kd_scale", _) => {}
            (_, Some((body, "kp" | "kd"))) => {
                let body = find_body(character, body, "gains").ok()?;
                if matches!(character.bodies[body].joint, Joint::Free | Joint::Planar | Joint::Fixed) {
                    return None;
                }
            }
            _ => return None,
        }
        let value = match gain(path, value) {
            Ok(value) => value,
            Err(error) => return Some(Err(error)),
        };
        match body_gain {
            None if path == "kp_scale" => self.kp_scale = value,
            None => self.kd_scale = value,
            Some((body, name)) => {
                let entry = match self.bodies.iter_mut().position(|g| g.body == body) {
                    Some(i) => &mut self.bodies[i],
                    None => {
                        self.bodies.push(BodyGains {
                            body: body.to_string(),
                            kp: None,
                            kd: None,
                        });
                        self.bodies.last_mut()?
                    }
                };
                match name {
                    "kp" => entry.kp = Some(value),
                    _ => entry.kd = Some(value),
                }
            }
        }
        // every number in `self` has been checked, here or when the controller was built
        if let Ok(fresh) = self.actuation(character) {
            for (joint, fresh) in in_effect.joints.iter_mut().zip(&fresh.joints) {
                (joint.kp, joint.kd) = (fresh.kp, fresh.kd);
            }
        }
        Some(Ok(()))
    }
}

impl AssistGains {
    fn named(&mut self) -> [(&'static str, &'static str, &mut f64); 4] {
        [
            ("assist.kp_linear", "N/m", &mut self.kp_linear),
            ("assist.kd_linear", "N s/m", &mut self.kd_linear),
            ("assist.kp_angular", KP, &mut self.kp_angular),
            ("assist.kd_angular", KD, &mut self.kd_angular),
        ]
    }

    /// The four gains; a slider spans what suits a character of `mass` kilograms.
    pub(super) fn parameters(mut self, mass: f64) -> Vec<Parameter> {
        let mut usual = AssistGains::for_mass(mass);
        let largest = usual.named().map(|(_, _, v)| *v * 4.0);
        (self.named().into_iter().zip(largest))
            .map(|((path, unit, value), largest)| Parameter {
                path: path.into(),
                value: *value,
                unit,
                // help is taken away to nothing, so its slider has a zero
                range: [0.0, largest],
                log: false,
            })
            .collect()
    }

    /// Changes one of the four; `None` if `path` is another.
    pub(super) fn set_parameter(&mut self, path: &str, value: f64) -> Option<Result<(), ParameterError>> {
        let (_, _, slot) = self.named().into_iter().find(|(name, _, _)| *name == path)?;
        Some(gain(path, value).map(|value| *slot = value))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::control::{Clock, Controller, Hold};
    use crate::world::{CharacterState, JointPosition};

    fn humanoid() -> Character {
        Character::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters/humanoid.toml")).unwrap()
    }

    fn act(hold: &mut Hold) -> Actuation {
        let mut out = Actuation::default();
        hold.act(&CharacterState::default(), Clock { time: 0.7, dt: 0.01 }, &mut out);
        out
    }

    #[test]
    fn gains_set_while_it_acts_are_bitwise_those_of_a_controller_built_with_them() {
        // whatever the order of the changes, the actuation equals that of a fresh controller
        let character = humanoid();
        let pose: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let mut live = Hold::new(&character, &pose, &Gains::default()).unwrap();
        for (path, value) in [
            ("gains.left_shin.kp", 321.7),
            ("kp_scale", 0.3),
            ("kd_scale", 1.0 / 3.0),
            ("kp_scale", 1.7),
            ("gains.left_shin.kd", 0.0),
            ("gains.neck.kd", 11.1),
        ] {
            if path.contains("neck") && character.body("neck").is_none() {
                continue;
            }
            live.set_parameter(path, value).unwrap();
            act(&mut live);
        }
        let mut gains = Gains {
            kp_scale: 1.7,
            kd_scale: 1.0 / 3.0,
            bodies: vec![BodyGains {
                body: "left_shin".into(),
                kp: Some(321.7),
                kd: Some(0.0),
            }],
            ..Gains::default()
        };
        if character.body("neck").is_some() {
            gains.bodies.push(BodyGains {
                body: "neck".into(),
                kp: None,
                kd: Some(11.1),
            });
        }
        assert_eq!(act(&mut live), act(&mut Hold::new(&character, &pose, &gains).unwrap()));
    }

    #[test]
    fn every_listed_parameter_can_be_set_and_is_then_listed_with_its_value() {
        // set, list: the same number
        let character = humanoid();
        let pose: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let mut hold = Hold::new(&character, &pose, &Gains::default()).unwrap();
        let all = hold.parameters();
        assert!(
            all.iter()
                .any(|p| p.path == "gains.left_shin.kp" && p.unit == "N m/rad")
        );
        for (i, parameter) in all.iter().enumerate() {
            assert!(parameter.range[0] < parameter.range[1], "{parameter:?}");
            assert!(
                (parameter.range[0]..=parameter.range[1]).contains(&parameter.value),
                "{parameter:?}"
            );
            let value = 0.1 + i as f64;
            hold.set_parameter(&parameter.path, value).unwrap();
            let listed = hold
                .parameters()
                .into_iter()
                .find(|p| p.path == parameter.path)
                .unwrap();
            assert_eq!(listed.value, value, "{}", parameter.path);
        }
    }

    #[test]
    fn a_mistyped_parameter_and_a_bad_value_are_refused_and_change_nothing() {
        // the error names the nearest parameter or the range, and the actuation stays what it was
        let character = humanoid();
        let pose: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let mut hold = Hold::new(&character, &pose, &Gains::default()).unwrap();
        let before = act(&mut hold);
        for (path, part) in [
            ("kp_scal", "did you mean `kp_scale`"),
            ("gains.left_shn.kp", "did you mean `gains.left_shin.kp`"),
            ("gains.left_shin", "kp_scale, kd_scale"),
            ("gains.pelvis.kp", "no parameter"),
            ("assist.kp_linear", "no parameter"),
            ("", "no parameter"),
        ] {
            let error = hold.set_parameter(path, 1.0).unwrap_err().to_string();
            assert!(error.contains(part), "{path}: {error}");
        }
        for value in [f64::NAN, f64::INFINITY, -1e-300, 1e19] {
            let error = hold.set_parameter("gains.left_shin.kd", value).unwrap_err();
            assert!(matches!(error, ParameterError::BadValue { .. }), "{error}");
        }
        assert_eq!(act(&mut hold), before);
    }
}
