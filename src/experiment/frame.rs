//! What one picture of an experiment shows, whether it is simulated now or was recorded.

use glam::{DQuat, DVec3};

use super::measure::joint_error;
use super::run::Simulation;
use crate::character::Character;
use crate::control::body_poses;
use crate::math::rotation::slerp;
use crate::world::{BodyRef, BodyState, CharacterState, ExternalForce, FootState, JointPosition, Wrench};

/// Position of a body's frame and rotation of the body, in the world.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct BodyPose {
    pub position: DVec3,
    pub rotation: DQuat,
}

/// A point at which a force acts. World axes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ForceAt {
    pub point: DVec3,
    /// N.
    pub force: DVec3,
}

/// A touch of a character. World axes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct ContactAt {
    pub point: DVec3,
    /// Force on the character's body, N.
    pub force: DVec3,
    /// Body of the character that is touched.
    pub body: usize,
    /// Whether it touches itself.
    pub own: bool,
}

/// Everything about one character at one moment.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CharacterFrame {
    /// Per body.
    pub bodies: Vec<BodyPose>,
    /// Per body: where the controller wants it, from its root target and its joint targets. Where a controller has no wish
    /// for the root, the root stands where it started.
    pub reference: Vec<BodyPose>,
    /// Per body: angle between the joint and its target, radians.
    pub errors: Vec<f64>,
    /// Per body and axis, N m, as applied in the last step.
    pub torques: Vec<DVec3>,
    pub center_of_mass: DVec3,
    pub com_velocity: DVec3,
    /// Contacts of the last step.
    pub contacts: Vec<ContactAt>,
    /// Left and right.
    pub feet: [FootState; 2],
    pub center_of_pressure: Option<DVec3>,
    /// Convex hull of the loaded contact points seen from above.
    pub support_polygon: Vec<DVec3>,
    /// What the assist applied in the last step, at the root's centre of mass.
    pub assist: Wrench,
    pub assist_point: DVec3,
}

/// One moment of an experiment.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Frame {
    /// Seconds.
    pub time: f64,
    pub characters: Vec<CharacterFrame>,
    /// Per prop and body.
    pub props: Vec<Vec<BodyPose>>,
    pub platforms: Vec<BodyPose>,
    /// Disturbances, and what a hand does, in the last step.
    pub pushes: Vec<ForceAt>,
    /// Of everything that moves, J.
    pub energy: f64,
}

impl From<&BodyState> for BodyPose {
    fn from(body: &BodyState) -> BodyPose {
        BodyPose {
            position: body.position,
            rotation: body.rotation,
        }
    }
}

impl BodyPose {
    /// Where a point of the body's frame is.
    pub fn place(&self, point: DVec3) -> DVec3 {
        self.position + self.rotation * point
    }

    /// From `self` at 0 to `other` at 1.
    pub fn between(&self, other: &BodyPose, share: f64) -> BodyPose {
        BodyPose {
            position: self.position.lerp(other.position, share),
            rotation: slerp(self.rotation, other.rotation, share),
        }
    }
}

fn between(a: &[BodyPose], b: &[BodyPose], share: f64) -> Vec<BodyPose> {
    a.iter().zip(b).map(|(a, b)| a.between(b, share)).collect()
}

impl CharacterFrame {
    /// Fills in what follows from the state of a character; `reference` and `errors` are the caller's.
    pub fn read(&mut self, character: &Character, state: &CharacterState) {
        self.bodies.clear();
        self.bodies.extend(state.bodies.iter().map(BodyPose::from));
        self.torques.clone_from(&state.torques);
        self.center_of_mass = state.center_of_mass;
        self.com_velocity = state.com_velocity;
        self.contacts.clear();
        self.contacts.extend(state.contacts.iter().map(|c| ContactAt {
            point: c.point,
            force: c.force,
            body: match c.a {
                BodyRef::Character { body, .. } => body,
                _ => 0,
            },
            own: c.is_own(),
        }));
        self.feet = state.feet;
        self.center_of_pressure = state.center_of_pressure;
        self.support_polygon.clone_from(&state.support_polygon);
        self.assist = state.external_wrench;
        self.assist_point = self
            .bodies
            .first()
            .map_or(DVec3::ZERO, |root| root.place(character.bodies[0].center_of_mass));
    }

    /// Between two moments: poses and points move, everything that belongs to a step is that of the earlier moment.
    fn between(&self, other: &CharacterFrame, share: f64) -> CharacterFrame {
        CharacterFrame {
            bodies: between(&self.bodies, &other.bodies, share),
            reference: between(&self.reference, &other.reference, share),
            center_of_mass: self.center_of_mass.lerp(other.center_of_mass, share),
            com_velocity: self.com_velocity.lerp(other.com_velocity, share),
            assist_point: self.assist_point.lerp(other.assist_point, share),
            ..self.clone()
        }
    }
}

impl Frame {
    /// The moment at which a simulation is. Its controllers should have acted for this moment
    /// ([`Simulation::control`]), so that the reference is that of now.
    pub fn of(simulation: &Simulation) -> Frame {
        let engine = simulation.engine.as_ref();
        let scene = engine.scene();
        let time = engine.time();
        let mut characters = Vec::new();
        for (i, actor) in simulation.prepared.actors.iter().enumerate() {
            let (state, actuation) = (&simulation.states[i], &simulation.actuations[i]);
            let mut frame = CharacterFrame::default();
            frame.read(&actor.character, state);
            let root = simulation.root_reference(i, time);
            let targets: Vec<_> = actuation.joints.iter().map(|j| j.target).collect();
            frame.reference = reference_poses(&actor.character, root, &targets);
            frame.errors = (actor.character.bodies.iter().enumerate())
                .map(|(b, body)| joint_error(&body.joint, &actuation.joints[b].target, &state.joints[b]))
                .collect();
            characters.push(frame);
        }
        let props = (scene.props.iter().enumerate())
            .map(|(p, prop)| {
                (0..prop.body.bodies.len())
                    .map(|b| BodyPose::from(&engine.prop_body(p, b)))
                    .collect()
            })
            .collect();
        Frame {
            time,
            characters,
            props,
            platforms: (0..scene.platforms.len())
                .map(|i| {
                    let (position, rotation) = engine.platform_pose(i);
                    BodyPose { position, rotation }
                })
                .collect(),
            pushes: simulation.pushes_now(),
            energy: engine.energy(),
        }
    }

    /// The picture at `time` between this moment and a later one: positions linearly, rotations along the great arc.
    pub fn between(&self, later: &Frame, time: f64) -> Frame {
        let span = later.time - self.time;
        let share = if span > 0.0 {
            ((time - self.time) / span).clamp(0.0, 1.0)
        } else {
            1.0
        };
        if share >= 1.0 {
            return later.clone();
        }
        Frame {
            time: self.time + share * span,
            characters: (self.characters.iter().zip(&later.characters))
                .map(|(a, b)| a.between(b, share))
                .collect(),
            props: (self.props.iter().zip(&later.props))
                .map(|(a, b)| between(a, b, share))
                .collect(),
            platforms: between(&self.platforms, &later.platforms, share),
            pushes: self.pushes.clone(),
            energy: self.energy,
        }
    }
}

/// Where a controller wants the bodies, from its root and its joints.
pub(super) fn reference_poses(character: &Character, root: BodyPose, targets: &[JointPosition]) -> Vec<BodyPose> {
    let mut poses = Vec::new();
    body_poses(character, root.position, root.rotation, targets, &mut poses);
    let pose = |(position, rotation)| BodyPose { position, rotation };
    poses.into_iter().map(pose).collect()
}

/// Where forces on bodies act, for a picture.
pub(super) fn forces_at(simulation: &Simulation, forces: &[ExternalForce]) -> Vec<ForceAt> {
    let pose = |target: BodyRef| match target {
        BodyRef::Character { character, body } => Some(BodyPose::from(&simulation.states[character].bodies[body])),
        BodyRef::Prop { prop, body } => Some(BodyPose::from(&simulation.engine.prop_body(prop, body))),
        BodyRef::Terrain(_) | BodyRef::Platform(_) => None,
    };
    let at = |f: &ExternalForce| {
        Some(ForceAt {
            point: pose(f.target)?.place(f.point),
            force: f.force,
        })
    };
    forces.iter().filter_map(at).collect()
}
