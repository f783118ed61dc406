//! Disturbances: forces on bodies at given times.

use glam::{DQuat, DVec3};

use super::prepare::Actor;
use super::spec::{Direction, DisturbanceSpec, Spec};
use super::validate::{Check, Problem, direction, not_negative, place, positive, problem, within};
use crate::bounds;
use crate::names::nearest;
use crate::world::{BodyRef, CharacterState, ExternalForce, Scene};

/// The nearest whole number of steps of 1/`rate_hz` seconds, if `seconds` is that to a thousandth of a step.
pub(crate) fn whole_steps(seconds: f64, rate_hz: f64) -> Option<u64> {
    let steps = seconds * rate_hz;
    let near = (steps - steps.round()).abs() <= 1e-3;
    (near && (0.0..=1e15).contains(&steps)).then_some(steps.round() as u64)
}

fn on_a_step(key: String, seconds: f64, rate_hz: f64) -> Check {
    if whole_steps(seconds, rate_hz).is_some() {
        return Ok(());
    }
    let below = (seconds * rate_hz).floor();
    problem(
        key,
        format!(
            "is {seconds:?}; expected a whole number of steps of 1/{rate_hz} s, like {:?} or {:?}",
            below.max(1.0) / rate_hz,
            (below + 1.0) / rate_hz
        ),
    )
}

impl DisturbanceSpec {
    /// `rate_hz` is that of the experiment.
    pub(crate) fn validate(&self, key: &str, rate_hz: f64) -> Check {
        not_negative(format!("{key}.time_s"), self.time_s)?;
        match &self.forces_n {
            Some(forces) => self.validate_curve(key, forces, rate_hz)?,
            None => self.validate_push(key)?,
        }
        if self.character.is_some() && self.prop.is_some() {
            return problem(format!("{key}.prop"), "there is a `character` too; write either");
        }
        place(format!("{key}.point"), &self.point.unwrap_or_default())
    }

    fn validate_push(&self, key: &str) -> Check {
        if self.every_s.is_some() {
            return problem(format!("{key}.every_s"), "belongs to a curve; `forces_n` is missing");
        }
        match (self.impulse_ns, self.force_n) {
            (Some(impulse), None) => within(format!("{key}.impulse_ns"), &[impulse], bounds::LARGEST_FORCE, "N s")?,
            (None, Some(force)) => {
                within(format!("{key}.force_n"), &[force], bounds::LARGEST_FORCE, "N")?;
                if self.duration_s.is_none() {
                    return problem(format!("{key}.duration_s"), "is missing; a force acts for a time");
                }
            }
            _ => {
                return problem(
                    key,
                    "write one of `impulse_ns`, `force_n` with `duration_s`, and `forces_n` with `every_s`",
                );
            }
        }
        if let Some(duration) = self.duration_s {
            positive(format!("{key}.duration_s"), duration)?;
        }
        match self.direction {
            None => problem(
                format!("{key}.direction"),
                "is missing; expected a word like \"forward\" or a vector",
            ),
            Some(Direction::Vector(v)) => direction(format!("{key}.direction"), v),
            Some(Direction::Up | Direction::Down) => Ok(()),
            Some(_) if self.prop.is_some() => problem(
                format!("{key}.direction"),
                "a prop has no forward; write a vector, \"up\" or \"down\"",
            ),
            Some(_) => Ok(()),
        }
    }

    fn validate_curve(&self, key: &str, forces: &[[f64; 3]], rate_hz: f64) -> Check {
        for (name, present) in [
            ("impulse_ns", self.impulse_ns.is_some()),
            ("force_n", self.force_n.is_some()),
            ("duration_s", self.duration_s.is_some()),
            ("direction", self.direction.is_some()),
        ] {
            if present {
                return problem(
                    format!("{key}.{name}"),
                    "does not go with a curve: `forces_n` and `every_s` say everything",
                );
            }
        }
        let every = match self.every_s {
            Some(every) => every,
            None => {
                return problem(
                    format!("{key}.every_s"),
                    "is missing; each of `forces_n` acts for a time",
                );
            }
        };
        positive(format!("{key}.every_s"), every)?;
        on_a_step(format!("{key}.time_s"), self.time_s, rate_hz)?;
        on_a_step(format!("{key}.every_s"), every, rate_hz)?;
        if whole_steps(every, rate_hz) == Some(0) {
            return problem(
                format!("{key}.every_s"),
                format!("is {every:?}; expected at least one step of 1/{rate_hz} s"),
            );
        }
        if forces.is_empty() {
            return problem(
                format!("{key}.forces_n"),
                "is empty; expected at least one force [x, y, z]",
            );
        }
        for (i, force) in forces.iter().enumerate() {
            within(format!("{key}.forces_n"), force, bounds::LARGEST_FORCE, "N").map_err(|p| Problem {
                message: format!("{} (entry {i}, counted from 0)", p.message),
                ..p
            })?;
        }
        Ok(())
    }
}

/// When a disturbance acts and how.
#[derive(Clone, Debug, PartialEq)]
enum Law {
    /// A force in one direction from `start` to `end`, seconds.
    Constant {
        start: f64,
        end: f64,
        /// N.
        force: f64,
        direction: Direction,
    },
    /// Forces from a step on, each for `hold` steps. Counted in steps, so that rounding moves no force into another step.
    Curve {
        first: u64,
        hold: u64,
        /// N, world axes.
        forces: Vec<DVec3>,
    },
}

/// A disturbance whose names have been found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Push {
    law: Law,
    target: BodyRef,
    /// In the body's frame, metres.
    point: DVec3,
    /// Rotation of the character's root in the bind pose.
    root_bind: DQuat,
}

fn find(names: &[&str], name: &str, key: String, what: &str) -> Result<usize, Problem> {
    if let Some(i) = names.iter().position(|n| *n == name) {
        return Ok(i);
    }
    let near = nearest(name, names.iter().copied())
        .map(|n| format!(" (did you mean \"{n}\"?)"))
        .unwrap_or_default();
    problem(
        key,
        format!("there is no {what} \"{name}\"{near}; known: {}", names.join(", ")),
    )
}

/// Who there is to push.
#[derive(Clone, Copy)]
pub(crate) struct Pushable<'a> {
    pub actors: &'a [Actor],
    pub scene: &'a Scene,
    pub prop_names: &'a [String],
    pub rate_hz: f64,
}

/// Finds the bodies that the disturbances of an experiment name.
pub(crate) fn resolve(spec: &Spec, pushable: Pushable) -> Result<Vec<Push>, Problem> {
    let mut pushes = Vec::new();
    for (i, d) in spec.disturbances.iter().enumerate() {
        let key = format!("disturbances[{i}]");
        let push = pushable.resolve(d, &key)?;
        if push.start(spec.rate_hz) >= spec.duration_s {
            return problem(
                format!("{key}.time_s"),
                format!("is {}; the experiment ends at {} s", d.time_s, spec.duration_s),
            );
        }
        pushes.push(push);
    }
    Ok(pushes)
}

impl Pushable<'_> {
    /// Finds the body that a checked disturbance names.
    pub fn resolve(&self, d: &DisturbanceSpec, key: &str) -> Result<Push, Problem> {
        let key = |name: &str| format!("{key}.{name}");
        let character_names: Vec<&str> = self.actors.iter().map(|a| a.name.as_str()).collect();
        let prop_names: Vec<&str> = self.prop_names.iter().map(String::as_str).collect();
        let (owner, prop) = match (&d.prop, &d.character) {
            (Some(name), _) => (find(&prop_names, name, key("prop"), "prop")?, true),
            (None, Some(name)) => (find(&character_names, name, key("character"), "character")?, false),
            (None, None) if self.actors.is_empty() => {
                return problem(key("prop"), "there is no character to push; name a prop");
            }
            (None, None) => (0, false),
        };
        let character = if prop {
            &self.scene.props[owner].body
        } else {
            &self.actors[owner].character
        };
        let bodies: Vec<&str> = character.bodies.iter().map(|b| b.name.as_str()).collect();
        let body = match &d.body {
            Some(name) => find(&bodies, name, key("body"), "body")?,
            None => 0,
        };
        Ok(Push {
            law: Law::of(d, self.rate_hz),
            target: match prop {
                true => BodyRef::Prop { prop: owner, body },
                false => BodyRef::Character { character: owner, body },
            },
            point: d.point.map_or(character.bodies[body].center_of_mass, DVec3::from_array),
            root_bind: character.bodies[0].rest,
        })
    }
}

impl Law {
    fn of(d: &DisturbanceSpec, rate_hz: f64) -> Law {
        if let Some(forces) = &d.forces_n {
            return Law::Curve {
                first: whole_steps(d.time_s, rate_hz).unwrap_or_default(),
                hold: whole_steps(d.every_s.unwrap_or_default(), rate_hz)
                    .unwrap_or_default()
                    .max(1),
                forces: forces.iter().map(|f| DVec3::from_array(*f)).collect(),
            };
        }
        // whole steps for an impulse without a duration
        let dt = 1.0 / rate_hz;
        let (start, end) = match d.duration_s {
            Some(duration) => (d.time_s, d.time_s + duration),
            None => {
                let step = (d.time_s * rate_hz + 1e-9).floor();
                (step * dt, (step + 1.0) * dt)
            }
        };
        Law::Constant {
            start,
            end,
            force: d
                .force_n
                .unwrap_or_else(|| d.impulse_ns.unwrap_or_default() / (end - start)),
            // a curve needs none, everything else was checked to have one
            direction: d.direction.unwrap_or(Direction::Forward),
        }
    }
}

/// The pushes of one run.
#[derive(Clone, Debug)]
pub(crate) struct Pushing {
    pushes: Vec<Push>,
    /// World directions of the pushes that have begun.
    directions: Vec<Option<DVec3>>,
}

impl Pushing {
    pub fn new(pushes: &[Push]) -> Pushing {
        Pushing {
            pushes: pushes.to_vec(),
            directions: vec![None; pushes.len()],
        }
    }

    /// Adds a push behind the others and says at which place.
    pub fn add(&mut self, push: Push) -> usize {
        self.pushes.push(push);
        self.directions.push(None);
        self.pushes.len() - 1
    }

    /// Lengthens the curve at `place`.
    pub fn extend(&mut self, place: usize, force: DVec3) {
        if let Some(Push {
            law: Law::Curve { forces, .. },
            ..
        }) = self.pushes.get_mut(place)
        {
            forces.push(force);
        }
    }

    /// The forces of step number `step` from `time` to `time + dt`. Of a step that a push covers in part it gets the share, so
    /// that the impulse is exact whatever the step.
    pub fn forces(&mut self, step: u64, time: f64, dt: f64, states: &[CharacterState], out: &mut Vec<ExternalForce>) {
        out.clear();
        for (push, known) in self.pushes.iter().zip(&mut self.directions) {
            let force = match &push.law {
                Law::Constant {
                    start,
                    end,
                    force,
                    direction,
                } => {
                    let overlap = (end.min(time + dt) - start.max(time)).max(0.0);
                    // what rounding leaves of a step is no step
                    if overlap < 1e-6 * dt {
                        continue;
                    }
                    let direction = *known.get_or_insert_with(|| push.direction_in_world(*direction, states));
                    direction * (force * overlap / dt)
                }
                Law::Curve { first, hold, forces } => {
                    let Some(passed) = step.checked_sub(*first) else {
                        continue;
                    };
                    match forces.get((passed / hold) as usize) {
                        Some(force) if *force != DVec3::ZERO => *force,
                        _ => continue,
                    }
                }
            };
            out.push(ExternalForce {
                target: push.target,
                point: push.point,
                force,
                torque: DVec3::ZERO,
            });
        }
    }
}

impl Push {
    pub fn target(&self) -> BodyRef {
        self.target
    }

    /// When it begins, seconds.
    fn start(&self, rate_hz: f64) -> f64 {
        match self.law {
            Law::Constant { start, .. } => start,
            Law::Curve { first, .. } => first as f64 / rate_hz,
        }
    }

    fn direction_in_world(&self, direction: Direction, states: &[CharacterState]) -> DVec3 {
        let along = match direction {
            Direction::Vector(v) => return DVec3::from_array(v).normalize_or_zero(),
            Direction::Up => return DVec3::Y,
            Direction::Down => return DVec3::NEG_Y,
            Direction::Forward => DVec3::Z,
            Direction::Backward => DVec3::NEG_Z,
            Direction::Left => DVec3::X,
            Direction::Right => DVec3::NEG_X,
        };
        let BodyRef::Character { character, .. } = self.target else {
            return along;
        };
        let turned = states[character].bodies[0].rotation * self.root_bind.conjugate();
        let heading = crate::math::rotation::heading(turned);
        crate::math::rotation::exp(DVec3::Y * heading) * along
    }
}
