//! Dragging: a spring between a point of a body and a goal in the world.

use std::f64::consts::TAU;

use glam::{DMat3, DVec3};

use super::mobility::Mobility;
use super::{HandError, Session, checked_point};
use crate::bounds::LARGEST_FORCE;
use crate::experiment::frame::BodyPose;
use crate::experiment::spec::DisturbanceSpec;
use crate::world::BodyRef;

/// How a hand pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandSettings {
    /// Of the spring with the whole character or prop on it, Hz. Where a limb gives way to the pull it is softer.
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
            rate_hz: 120.0,
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
pub(super) struct Grip {
    target: BodyRef,
    point: DVec3,
    goal: DVec3,
    /// Kilograms of the whole character or prop.
    mass: f64,
    mobility: Mobility,
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
        let (mass, mobility) = (character.mass(), Mobility::new(character));
        let goal = self.pose_of(target).place(point);
        let hold = (self.prepared().spec.rate_hz / self.hand_settings.rate_hz)
            .round()
            .max(1.0) as u64;
        let grip = Grip {
            target,
            point,
            goal,
            mass,
            mobility,
            hold,
            curve: None,
            force: DVec3::ZERO,
        };
        // so that what will be recorded is known to be good
        self.resolve(&self.curve_of(&grip)?, target)?;
        self.grip = Some(grip);
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
        let Some(mut grip) = self.grip.take() else { return };
        let step = self.steps();
        let pulls_on = grip.curve.is_some_and(|c| step < c.first + c.count * grip.hold);
        if !pulls_on {
            grip.force = self.pull_of(&mut grip);
            grip.curve = match grip.curve {
                Some(curve) => Some(self.lengthen(curve, grip.force)),
                None => self.begin_curve(&grip),
            };
        }
        // what cannot be recorded must not pull
        self.grip = grip.curve.is_some().then_some(grip);
    }

    fn lengthen(&mut self, curve: Curve, force: DVec3) -> Curve {
        self.simulation.pushing.extend(curve.push, force);
        if let Some(forces) = &mut self.deeds.disturbances[curve.deed].forces_n {
            forces.push(force.to_array());
        }
        self.revision += 1;
        Curve {
            count: curve.count + 1,
            ..curve
        }
    }

    /// A curve that begins with the force of now.
    fn curve_of(&self, grip: &Grip) -> Result<DisturbanceSpec, HandError> {
        let rate = self.prepared().spec.rate_hz;
        Ok(DisturbanceSpec {
            time_s: self.steps() as f64 / rate,
            point: Some(grip.point.to_array()),
            every_s: Some(grip.hold as f64 / rate),
            forces_n: Some(vec![grip.force.to_array()]),
            ..self.disturbance(grip.target)?
        })
    }

    fn begin_curve(&mut self, grip: &Grip) -> Option<Curve> {
        let first = self.steps();
        let (deed, push) = self.disturb(self.curve_of(grip).ok()?, grip.target).ok()?;
        Some(Curve {
            first,
            deed,
            push,
            count: 1,
        })
    }

    /// Force of the spring and damper, N, as it will be at the end of the time for which it is held.
    ///
    /// Taken as it is now it would throw a hand of half a kilogram about with a spring for 70 kg. In `h` seconds the force
    /// `F` changes the velocity of the point by `h W F`, so that `(1 + (kd h + kp h²) W) F = kp (e - h v) - kd v` is the force
    /// of the end. What touches or drives the body makes it give way less than `W` says, which is the stable side.
    fn pull_of(&self, grip: &mut Grip) -> DVec3 {
        let settings = &self.hand_settings;
        let w = TAU * settings.frequency_hz;
        let (kp, kd) = (grip.mass * w * w, 2.0 * settings.damping_ratio * grip.mass * w);
        let (at, velocity) = self.point_motion(grip.target, grip.point);
        let h = grip.hold as f64 / self.prepared().spec.rate_hz;
        let poses = self.poses_of(grip.target);
        let mobility = match self.character_of(grip.target) {
            Ok((character, body)) => grip.mobility.of_point(character, &poses, body, at),
            Err(_) => return DVec3::ZERO,
        };
        let implicit = DMat3::IDENTITY + mobility * (kd * h + kp * h * h);
        let force = implicit.inverse() * (kp * (grip.goal - at - h * velocity) - kd * velocity);
        let largest = (settings.largest_weights * grip.mass * 9.81).min(LARGEST_FORCE / 2.0);
        // a matrix without an inverse is one of a world that has lost its numbers
        if force.is_finite() {
            force.clamp_length_max(largest)
        } else {
            DVec3::ZERO
        }
    }

    fn poses_of(&self, target: BodyRef) -> Vec<BodyPose> {
        let engine = &self.simulation.engine;
        match target {
            BodyRef::Character { character, .. } => {
                let bodies = &self.simulation.states[character].bodies;
                bodies.iter().map(BodyPose::from).collect()
            }
            BodyRef::Prop { prop, .. } => (0..engine.scene().props[prop].body.bodies.len())
                .map(|b| BodyPose::from(&engine.prop_body(prop, b)))
                .collect(),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => Vec::new(),
        }
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
