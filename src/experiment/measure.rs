//! What is summed up along a run, character by character: tracking errors, falls, slipping feet, help from outside.

#![allow(non_snake_case)]

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::spec::{FallRule, FallSpec};
use crate::character::{Character, Joint, Role};
use crate::control::{RootTarget, joint_rotation};
use crate::math::rotation::{difference, exp};
use crate::world::{Actuation, BodyRef, CharacterState, Engine, JointPosition, PlatformMotion};

/// A foot is loaded if it carries more than this share of the character's weight.
const LOADED_SHARE: f64 = 0.05;

/// Angle between where a joint is and where it shall be, radians.
pub fn joint_error(joint: &Joint, target: &JointPosition, position: &JointPosition) -> f64 {
    match (target, position) {
        (JointPosition::Angle(a), JointPosition::Angle(b)) => (a - b).abs(),
        (JointPosition::Rotation(a), JointPosition::Rotation(b)) => difference(*a, *b).length(),
        (JointPosition::Angles(_), JointPosition::Angles(_)) => {
            difference(joint_rotation(joint, target), joint_rotation(joint, position)).length()
        }
        _ => 0.0,
    }
}

/// Moves the targets on by their rates for `dt` seconds, which is what they mean between two calls of a controller.
pub fn advance_targets(actuation: &mut Actuation, dt: f64) {
    for joint in &mut actuation.joints {
        let v = joint.target_velocity;
        if v == DVec3::ZERO {
            continue;
        }
        match &mut joint.target {
            JointPosition::Angle(a) => *a += v.x * dt,
            JointPosition::Angles([a, b]) => {
                *a += v.x * dt;
                *b += v.y * dt;
            }
            JointPosition::Rotation(q) => *q = (exp(v * dt) * *q).normalize(),
            JointPosition::None => {}
        }
    }
    if let crate::world::RootActuation::Spring {
        position,
        rotation,
        velocity,
        angular_velocity,
        ..
    } = &mut actuation.root
    {
        *position += *velocity * dt;
        *rotation = (exp(*angular_velocity * dt) * *rotation).normalize();
    }
}

/// Sums of one character over a run.
#[derive(Clone, Debug)]
pub struct ActorMeasure {
    pelvis: usize,
    trunk: usize,
    R_bind: Vec<DQuat>,
    /// Bodies of the left and of the right foot.
    foot_of_body: Vec<Option<usize>>,
    weight: f64,
    falls: bool,
    fall: FallSpec,
    start_pelvis_height: Option<f64>,
    pub fell_at: Option<f64>,
    samples: u64,
    joint_error_sums: Vec<f64>,
    root_error_sum: f64,
    root_start: DVec3,
    slides: [DVec3; 2],
    pub foot_slip: f64,
    pub assist_impulse: f64,
    pub assist_angular_impulse: f64,
    saturated_steps: u64,
    steps: u64,
}

impl ActorMeasure {
    /// For a character that is now, in `state`, at its start.
    pub fn new(
        character: &Character,
        gravity: DVec3,
        fall: &FallSpec,
        engine: &dyn Engine,
        state: &CharacterState,
    ) -> ActorMeasure {
        let with_role = |role: Role| character.bodies.iter().position(|b| b.role == role);
        let pelvis = with_role(Role::Pelvis).unwrap_or(0);
        // the last body of the trunk leans the most
        let trunk = character
            .bodies
            .iter()
            .rposition(|b| b.role == Role::Trunk)
            .unwrap_or(pelvis);
        let height = state.bodies[pelvis].position.y;
        ActorMeasure {
            pelvis,
            trunk,
            R_bind: character.bind_frames().iter().map(|frame| frame.1).collect(),
            foot_of_body: character
                .bodies
                .iter()
                .map(|b| match b.role {
                    Role::LeftFoot | Role::LeftToes => Some(0),
                    Role::RightFoot | Role::RightToes => Some(1),
                    _ => None,
                })
                .collect(),
            weight: character.mass() * gravity.length(),
            falls: fall.rule == FallRule::PelvisOrTrunk
                && matches!(character.bodies[0].joint, Joint::Free | Joint::Planar),
            fall: fall.clone(),
            start_pelvis_height: ground_below(engine, state.bodies[pelvis].position).map(|ground| height - ground),
            fell_at: None,
            samples: 0,
            joint_error_sums: vec![0.0; character.bodies.len()],
            root_error_sum: 0.0,
            root_start: state.bodies[0].position,
            slides: [DVec3::ZERO; 2],
            foot_slip: 0.0,
            assist_impulse: 0.0,
            assist_angular_impulse: 0.0,
            saturated_steps: 0,
            steps: 0,
        }
    }

    /// Angle by which the trunk leans, radians.
    pub(crate) fn lean(&self, state: &CharacterState) -> f64 {
        let up = state.bodies[self.trunk].rotation * (self.R_bind[self.trunk].conjugate() * DVec3::Y);
        libm::acos(up.y.clamp(-1.0, 1.0))
    }

    /// Looks at the state after a step of `dt` seconds. `states` holds all characters, this one at `own`.
    pub fn after_step(&mut self, own: usize, states: &[CharacterState], engine: &dyn Engine, dt: f64) {
        let state = &states[own];
        self.steps += 1;
        self.saturated_steps += u64::from(state.saturated.iter().any(|s| *s));
        self.assist_impulse += state.external_wrench.force.length() * dt;
        self.assist_angular_impulse += state.external_wrench.torque.length() * dt;
        self.add_slip(own, states, engine, dt);
        if self.falls && self.fell_at.is_none() {
            let x = state.bodies[self.pelvis].position;
            let low = self.start_pelvis_height.is_some_and(|start| {
                // over a hole the ground of the start counts
                let ground = ground_below(engine, x).unwrap_or(self.root_start.y - start);
                x.y - ground < self.fall.pelvis_height * start
            });
            if low || self.lean(state) > self.fall.trunk_lean_deg.to_radians() {
                self.fell_at = Some(engine.time());
            }
        }
    }

    /// Velocity of each loaded foot over what it stands on, weighted by load, summed over the stance.
    fn add_slip(&mut self, own: usize, states: &[CharacterState], engine: &dyn Engine, dt: f64) {
        let mut load = [0.0; 2];
        let mut drift = [DVec3::ZERO; 2];
        for contact in &states[own].contacts {
            let BodyRef::Character { character, body } = contact.a else {
                continue;
            };
            let Some(foot) = self.foot_of_body[body] else {
                continue;
            };
            if matches!(contact.b, BodyRef::Character { character: c, .. } if c == character) {
                continue;
            }
            let normal_force = contact.force.dot(contact.normal);
            if normal_force <= 0.0 {
                continue;
            }
            let v = velocity_at(contact.a, contact.point, states, engine)
                - velocity_at(contact.b, contact.point, states, engine);
            load[foot] += normal_force;
            drift[foot] += (v - contact.normal * v.dot(contact.normal)) * normal_force;
        }
        for foot in 0..2 {
            if load[foot] > LOADED_SHARE * self.weight {
                self.slides[foot] += drift[foot] * (dt / load[foot]);
                self.foot_slip = self.foot_slip.max(self.slides[foot].length());
            } else {
                self.slides[foot] = DVec3::ZERO;
            }
        }
    }

    /// Where the root should be: what the controller says, or where it started.
    pub fn root_error(&self, state: &CharacterState, target: Option<RootTarget>) -> f64 {
        let x = target.map_or(self.root_start, |t| t.position);
        (state.bodies[0].position - x).length()
    }

    /// Adds the errors of one sample.
    pub fn sample(&mut self, errors: &[f64], root_error: f64) {
        self.samples += 1;
        for (sum, error) in self.joint_error_sums.iter_mut().zip(errors) {
            *sum += error;
        }
        self.root_error_sum += root_error;
    }

    /// Mean over joints and samples, radians; 0 without joints.
    pub fn tracking_error(&self, character: &Character) -> f64 {
        let joints = driven(character).count();
        if joints == 0 || self.samples == 0 {
            return 0.0;
        }
        driven(character).map(|b| self.joint_error_sums[b]).sum::<f64>() / (joints as f64 * self.samples as f64)
    }

    /// Body whose joint has the largest mean error, and that error in radians.
    pub fn worst_joint(&self, character: &Character) -> Option<(usize, f64)> {
        let worst = driven(character).max_by(|a, b| self.joint_error_sums[*a].total_cmp(&self.joint_error_sums[*b]))?;
        Some((worst, self.joint_error_sums[worst] / self.samples.max(1) as f64))
    }

    /// Metres, over the samples.
    pub fn root_error_mean(&self) -> f64 {
        self.root_error_sum / self.samples.max(1) as f64
    }

    /// Share of the steps in which some joint was at its torque limit.
    pub fn saturated_share(&self) -> f64 {
        self.saturated_steps as f64 / self.steps.max(1) as f64
    }
}

/// Bodies with a joint that a controller drives.
pub fn driven(character: &Character) -> impl Iterator<Item = usize> + '_ {
    (0..character.bodies.len()).filter(|b| {
        matches!(
            character.bodies[*b].joint,
            Joint::Hinge { .. } | Joint::Universal { .. } | Joint::Ball
        )
    })
}

fn ground_below(engine: &dyn Engine, x: DVec3) -> Option<f64> {
    engine
        .cast_ray(x, DVec3::NEG_Y, 1000.0)
        .map(|(distance, _)| x.y - distance)
}

/// Velocity of the material point at `x` of a body.
fn velocity_at(body: BodyRef, x: DVec3, states: &[CharacterState], engine: &dyn Engine) -> DVec3 {
    match body {
        BodyRef::Terrain(_) => DVec3::ZERO,
        BodyRef::Platform(p) => {
            let (center, _) = engine.platform_pose(p);
            match engine.scene().platforms[p].motion {
                PlatformMotion::Sine { amplitude, frequency } => {
                    amplitude * (TAU * frequency * libm::cos(TAU * frequency * engine.time()))
                }
                PlatformMotion::Linear {
                    velocity,
                    angular_velocity,
                } => velocity + angular_velocity.cross(x - center),
            }
        }
        BodyRef::Prop { prop, body } => {
            let b = engine.prop_body(prop, body);
            b.velocity + b.angular_velocity.cross(x - b.center_of_mass)
        }
        BodyRef::Character { character, body } => {
            let b = &states[character].bodies[body];
            b.velocity + b.angular_velocity.cross(x - b.center_of_mass)
        }
    }
}
