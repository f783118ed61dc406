//! The numbers of a moment that are worth a plot.

use crate::character::Character;
use crate::experiment::frame::Frame;
use crate::experiment::measure::{driven, joint_error};
use crate::experiment::prepare::Prepared;
use crate::experiment::run::Simulation;

/// One moment of an experiment in numbers.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sample {
    /// Seconds.
    pub time: f64,
    /// Of everything that moves, J.
    pub energy: f64,
    pub characters: Vec<CharacterSample>,
}

/// One character in [`Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct CharacterSample {
    /// Mean angle between joints and targets, over the joints with motors, degrees.
    pub tracking_error_deg: f64,
    /// Of the origin of the root's frame, metres.
    pub root_height: f64,
    /// m/s.
    pub com_speed: f64,
    /// Vertical force on the left and the right foot, N.
    pub foot_forces: [f64; 2],
    /// What the assist applied in the last step, N.
    pub assist_force: f64,
}

/// Mean over the joints with motors of what `error` says, radians, in degrees.
fn mean_error_deg(character: &Character, error: impl Fn(usize) -> f64) -> f64 {
    let (sum, count) = driven(character).fold((0.0, 0.0), |(sum, n), b| (sum + error(b), n + 1.0));
    (sum / f64::max(count, 1.0)).to_degrees()
}

impl Sample {
    /// The moment at which a simulation is, whose controllers have acted for it.
    pub(super) fn of(simulation: &Simulation) -> Sample {
        let characters = simulation.prepared.actors.iter().enumerate().map(|(i, actor)| {
            let (state, actuation) = (&simulation.states[i], &simulation.actuations[i]);
            let error = |b: usize| {
                let joint = &actor.character.bodies[b].joint;
                joint_error(joint, &actuation.joints[b].target, &state.joints[b])
            };
            CharacterSample {
                tracking_error_deg: mean_error_deg(&actor.character, error),
                root_height: state.bodies[0].position.y,
                com_speed: state.com_velocity.length(),
                foot_forces: [state.feet[0].force.y, state.feet[1].force.y],
                assist_force: state.external_wrench.force.length(),
            }
        });
        Sample {
            time: simulation.engine.time(),
            energy: simulation.engine.energy(),
            characters: characters.collect(),
        }
    }

    /// The same of a frame, which may have been recorded.
    pub fn of_frame(frame: &Frame, prepared: &Prepared) -> Sample {
        let characters = (frame.characters.iter().zip(&prepared.actors)).map(|(c, actor)| CharacterSample {
            tracking_error_deg: mean_error_deg(&actor.character, |b| c.errors.get(b).copied().unwrap_or(0.0)),
            root_height: c.bodies.first().map_or(0.0, |b| b.position.y),
            com_speed: c.com_velocity.length(),
            foot_forces: [c.feet[0].force.y, c.feet[1].force.y],
            assist_force: c.assist.force.length(),
        });
        Sample {
            time: frame.time,
            energy: frame.energy,
            characters: characters.collect(),
        }
    }
}
