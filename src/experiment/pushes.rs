//! Disturbances: pushes on bodies at given times.

use glam::{DQuat, DVec3};

use super::prepare::Actor;
use super::spec::{Direction, Spec};
use super::validate::{Problem, problem};
use crate::names::nearest;
use crate::world::{BodyRef, CharacterState, ExternalForce, Scene};

/// A disturbance whose names have been found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Push {
    /// Seconds.
    start: f64,
    end: f64,
    /// N.
    force: f64,
    direction: Direction,
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

/// Finds the bodies that the disturbances name.
pub(crate) fn resolve(
    spec: &Spec,
    actors: &[Actor],
    scene: &Scene,
    prop_names: &[String],
) -> Result<Vec<Push>, Problem> {
    let mut pushes = Vec::new();
    for (i, d) in spec.disturbances.iter().enumerate() {
        let key = |name: &str| format!("disturbances[{i}].{name}");
        let character_names: Vec<&str> = actors.iter().map(|a| a.name.as_str()).collect();
        let prop_names: Vec<&str> = prop_names.iter().map(String::as_str).collect();
        let (owner, prop) = match (&d.prop, &d.character) {
            (Some(name), _) => (find(&prop_names, name, key("prop"), "prop")?, true),
            (None, Some(name)) => (find(&character_names, name, key("character"), "character")?, false),
            (None, None) if actors.is_empty() => {
                return problem(key("prop"), "there is no character to push; name a prop");
            }
            (None, None) => (0, false),
        };
        let character = if prop {
            &scene.props[owner].body
        } else {
            &actors[owner].character
        };
        let bodies: Vec<&str> = character.bodies.iter().map(|b| b.name.as_str()).collect();
        let body = match &d.body {
            Some(name) => find(&bodies, name, key("body"), "body")?,
            None => 0,
        };
        // whole steps for an impulse without a duration
        let dt = 1.0 / spec.rate_hz;
        let (start, end) = match d.duration_s {
            Some(duration) => (d.time_s, d.time_s + duration),
            None => {
                let step = (d.time_s * spec.rate_hz + 1e-9).floor();
                (step * dt, (step + 1.0) * dt)
            }
        };
        if start >= spec.duration_s {
            return problem(
                key("time_s"),
                format!("is {}; the experiment ends at {} s", d.time_s, spec.duration_s),
            );
        }
        pushes.push(Push {
            start,
            end,
            force: d
                .force_n
                .unwrap_or_else(|| d.impulse_ns.unwrap_or_default() / (end - start)),
            direction: d.direction,
            target: match prop {
                true => BodyRef::Prop { prop: owner, body },
                false => BodyRef::Character { character: owner, body },
            },
            point: d.point.map_or(character.bodies[body].center_of_mass, DVec3::from_array),
            root_bind: character.bodies[0].rest,
        });
    }
    Ok(pushes)
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

    /// The forces of the step from `time` to `time + dt`, so that the impulse is exact whatever the step.
    pub fn forces(&mut self, time: f64, dt: f64, states: &[CharacterState], out: &mut Vec<ExternalForce>) {
        out.clear();
        for (push, direction) in self.pushes.iter().zip(&mut self.directions) {
            let overlap = (push.end.min(time + dt) - push.start.max(time)).max(0.0);
            // what rounding leaves of a step is no step
            if overlap < 1e-6 * dt {
                continue;
            }
            let direction = *direction.get_or_insert_with(|| push.direction_in_world(states));
            out.push(ExternalForce {
                target: push.target,
                point: push.point,
                force: direction * (push.force * overlap / dt),
                torque: DVec3::ZERO,
            });
        }
    }
}

impl Push {
    fn direction_in_world(&self, states: &[CharacterState]) -> DVec3 {
        let along = match self.direction {
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
