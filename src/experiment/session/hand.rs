//! Dragging: a spring between a point of a body and a goal in the world.

use std::f64::consts::TAU;

use glam::DVec3;

use super::{HandError, Session, checked_point};
use crate::experiment::spec::DisturbanceSpec;
use crate::world::BodyRef;

/// How a hand pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandSettings {
    /// Of the spring with the whole character or prop on it, Hz.
    pub frequency_hz: f64,
    /// Of that spring; 1 is critical.
    pub damping_ratio: f64,
    /// Largest force, in weights of the whole character or prop at 9.81 m/s².
    pub largest_weights: f64,
    /// How often the force is computed anew, Hz of simulated time; in between it is held.
    pub rate_hz: f64,
}

impl Default for HandSettings {
    fn default() -> Self {
        HandSettings {
            frequency_hz: 2.0,
            damping_ratio: 1.0,
            largest_weights: 3.0,
            rate_hz: 60.0,
        }
    }
}

/// What a hand holds now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    pub target: BodyRef,
    /// Where it is held, in the body's frame.
    pub point: DVec3,
    /// The same point in the world.
    pub at: DVec3,
    /// Where it is pulled to.
    pub goal: DVec3,
    /// N, world axes, as it acts now; zero before the first step.
    pub force: DVec3,
}

/// A body that is held.
#[derive(Clone, Debug)]
pub(super) struct Grip {
    target: BodyRef,
    point: DVec3,
    goal: DVec3,
    /// Kilograms of the whole character or prop.
    mass: f64,
    /// Steps for which a force is held.
    hold: u64,
    /// What has been recorded of it, once it has pulled.
    curve: Option<Curve>,
    force: DVec3,
}

/// Where the forces of a grip go.
#[derive(Clone, Copy, Debug)]
struct Curve {
    first: u64,
    /// Place among the recorded disturbances.
    deed: usize,
    /// Place among the pushes.
    push: usize,
    count: u64,
}

impl Session {
    /// How the hand pulls from the next grab on.
    pub fn set_hand(&mut self, settings: HandSettings) -> Result<(), HandError> {
        for (what, value, largest) in [
            ("frequency of the hand", settings.frequency_hz, 100.0),
            ("damping ratio of the hand", settings.damping_ratio, 100.0),
            ("largest force of the hand", settings.largest_weights, 1e6),
            ("rate of the hand", settings.rate_hz, 1e6),
        ] {
            if !(value > 0.0 && value <= largest) {
                return Err(HandError::BadValue {
                    what,
                    found: format!("{value:?}"),
                    expected: format!("above 0, up to {largest:e}"),
                });
            }
        }
        self.hand_settings = settings;
        Ok(())
    }

    pub fn hand_settings(&self) -> HandSettings {
        self.hand_settings
    }

    /// Takes hold of a body at a point of its frame. The goal is where the point is now, until it is dragged elsewhere. What
    /// was held before is let go.
    pub fn grab(&mut self, target: BodyRef, point: DVec3) -> Result<(), HandError> {
        let (character, _) = self.character_of(target)?;
        let point = checked_point("grabbed point", point)?;
        let mass = character.mass();
        let goal = self.pose_of(target).place(point);
        let hold = (self.prepared().spec.rate_hz / self.hand_settings.rate_hz)
            .round()
            .max(1.0) as u64;
        self.grip = Some(Grip {
            target,
            point,
            goal,
            mass,
            hold,
            curve: None,
            force: DVec3::ZERO,
        });
        Ok(())
    }

    /// Pulls what is held to a point of the world.
    pub fn drag_to(&mut self, goal: DVec3) -> Result<(), HandError> {
        let goal = checked_point("goal of the drag", goal)?;
        self.grip.as_mut().ok_or(HandError::NothingHeld)?.goal = goal;
        Ok(())
    }

    /// Lets go. The force ends with the interval for which it is held. Returns whether anything was held.
    pub fn release(&mut self) -> bool {
        self.grip.take().is_some()
    }

    /// What is held, to be drawn.
    pub fn hand(&self) -> Option<Hand> {
        self.grip.as_ref().map(|grip| Hand {
            target: grip.target,
            point: grip.point,
            at: self.pose_of(grip.target).place(grip.point),
            goal: grip.goal,
            force: grip.force,
        })
    }

    /// Before a step: computes the force of what is held if it is time to.
    pub(super) fn pull(&mut self) {
        let Some(grip) = self.grip.clone() else { return };
        let step = self.steps();
        let force = match grip.curve {
            Some(curve) if step < curve.first + curve.count * grip.hold => return,
            _ => self.pull_of(&grip),
        };
        let curve = match grip.curve {
            Some(mut curve) => {
                self.simulation.pushing.extend(curve.push, force);
                if let Some(forces) = &mut self.deeds.disturbances[curve.deed].forces_n {
                    forces.push(force.to_array());
                }
                curve.count += 1;
                self.revision += 1;
                Some(curve)
            }
            None => self.begin_curve(&grip, force),
        };
        // a grip that cannot be recorded must not pull
        self.grip = curve.map(|curve| Grip {
            curve: Some(curve),
            force,
            ..grip
        });
    }

    fn begin_curve(&mut self, grip: &Grip, force: DVec3) -> Option<Curve> {
        let first = self.steps();
        let rate = self.prepared().spec.rate_hz;
        let spec = DisturbanceSpec {
            time_s: first as f64 / rate,
            point: Some(grip.point.to_array()),
            every_s: Some(grip.hold as f64 / rate),
            forces_n: Some(vec![force.to_array()]),
            ..self.disturbance(grip.target).ok()?
        };
        let (deed, push) = self.disturb(spec, grip.target).ok()?;
        Some(Curve {
            first,
            deed,
            push,
            count: 1,
        })
    }

    /// Force of the spring and damper now, N.
    fn pull_of(&self, grip: &Grip) -> DVec3 {
        let settings = &self.hand_settings;
        let w = TAU * settings.frequency_hz;
        let (kp, kd) = (grip.mass * w * w, 2.0 * settings.damping_ratio * grip.mass * w);
        let (at, velocity) = self.point_motion(grip.target, grip.point);
        let force = kp * (grip.goal - at) - kd * velocity;
        let largest = (settings.largest_weights * grip.mass * 9.81).min(crate::bounds::LARGEST_FORCE / 2.0);
        force.clamp_length_max(largest)
    }

    /// Place and velocity of a point of a body in the world.
    fn point_motion(&self, target: BodyRef, point: DVec3) -> (DVec3, DVec3) {
        let body = match target {
            BodyRef::Character { character, body } => self.simulation.states[character].bodies[body],
            BodyRef::Prop { prop, body } => self.simulation.engine.prop_body(prop, body),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => return (DVec3::ZERO, DVec3::ZERO),
        };
        let at = body.position + body.rotation * point;
        (
            at,
            body.velocity + body.angular_velocity.cross(at - body.center_of_mass),
        )
    }
}
