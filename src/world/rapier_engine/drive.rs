//! Brings actuations and forces into rapier before a step, and reads back what was applied.
//!
//! The PD law enters as rapier's implicit joint spring and damping, so it is solved together with the contacts. rapier
//! knows neither target velocities nor feed-forward torques there: their constant parts are torques on the bodies.

use glam::{DQuat, DVec3};
use rapier3d::dynamics::{Multibody, RigidBodyHandle};

use super::build::{Articulation, Axis};
use super::{Sets, State};
use crate::character::{Body, Joint};
use crate::math::rotation;
use crate::world::measure::world_inertia;
use crate::world::validate::driven_axes;
use crate::world::{Actuation, BodyState, ExternalForce, JointActuation, JointPosition, PdMode, RootActuation, Wrench};

/// A PD law along one degree of freedom during a step, with what is needed to tell afterwards what it applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    pub kp: f64,
    pub kd: f64,
    /// Target minus position at the beginning of the step.
    pub error: f64,
    pub target_rate: f64,
    /// Torque that does not depend on the motion during the step.
    pub constant: f64,
}

impl Law {
    /// Torque that the law applied in a step that ended with `rate`.
    pub fn applied(&self, rate: f64, dt: f64) -> f64 {
        let lag = self.target_rate - rate;
        self.kp * (self.error + dt * lag) + self.kd * lag + self.constant
    }
}

/// What was asked of a character in the current step; the vectors keep their capacity from step to step.
#[derive(Clone, Debug, Default)]
pub(super) struct Drives {
    /// Per body and axis.
    pub joints: Vec<[Law; 3]>,
    pub root: RootDrive,
}

/// What holds the root.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum RootDrive {
    #[default]
    Free,
    /// Applied as it is.
    Wrench(Wrench),
    /// Laws along the root's degrees of freedom: linear, then angular, world axes.
    Laws([Law; 6]),
}

const NO_LAW: Law = Law {
    kp: 0.0,
    kd: 0.0,
    error: 0.0,
    target_rate: 0.0,
    constant: 0.0,
};

/// Forgets the forces of the last step, which rapier would apply again.
pub(super) fn reset_forces(articulation: &Articulation, sets: &mut Sets) {
    for link in &articulation.links {
        for handle in [Some(link.body), link.intermediate].into_iter().flatten() {
            let body = &mut sets.bodies[handle];
            body.reset_forces(true);
            body.reset_torques(true);
        }
    }
}

/// Adds an external force on a body of `articulation`.
pub(super) fn push(articulation: &Articulation, body: usize, force: &ExternalForce, sets: &mut Sets) {
    let definition = &articulation.definition.bodies[body];
    let rigid = &mut sets.bodies[articulation.links[body].body];
    let arm = *rigid.rotation() * (force.point - definition.center_of_mass);
    rigid.add_force(force.force, true);
    rigid.add_torque(force.torque + arm.cross(force.force), true);
}

/// Rotation of the joint frame of `body` in the world, and who feels the opposite of the joint's torque.
pub(super) fn joint_frame(articulation: &Articulation, body: usize, sets: &Sets) -> (DQuat, Option<RigidBodyHandle>) {
    let definition = &articulation.definition.bodies[body];
    match (definition.parent, articulation.anchor) {
        (Some(p), _) => {
            let parent = articulation.links[p].body;
            (*sets.bodies[parent].rotation() * definition.rest, Some(parent))
        }
        (None, Some(anchor)) => (*sets.bodies[anchor].rotation(), None),
        (None, None) => (definition.rest, None),
    }
}

/// Directions of the joint's axes in the world, given its frame and position. Ball joints have those of the frame.
pub(super) fn axis_directions(joint: &Joint, frame: DQuat, position: &JointPosition) -> [DVec3; 3] {
    match (joint, position) {
        (Joint::Hinge { axis }, _) => [frame * *axis, DVec3::ZERO, DVec3::ZERO],
        (Joint::Universal { axes }, JointPosition::Angles(angles)) => {
            let first = rotation::exp(axes[0] * angles[0]);
            [frame * axes[0], frame * (first * axes[1]), DVec3::ZERO]
        }
        _ => [frame * DVec3::X, frame * DVec3::Y, frame * DVec3::Z],
    }
}

/// Target minus position along the joint's axes.
fn joint_error(target: &JointPosition, position: &JointPosition) -> DVec3 {
    match (target, position) {
        (JointPosition::Angle(t), JointPosition::Angle(q)) => DVec3::new(t - q, 0.0, 0.0),
        (JointPosition::Angles(t), JointPosition::Angles(q)) => DVec3::new(t[0] - q[0], t[1] - q[1], 0.0),
        (JointPosition::Rotation(t), JointPosition::Rotation(q)) => rotation::difference(t.normalize(), *q),
        _ => DVec3::ZERO,
    }
}

/// Puts a character's actuation into rapier for the coming step.
pub(super) fn drive(
    articulation: &Articulation,
    actuation: &Actuation,
    states: &[BodyState],
    sets: &mut Sets,
    dt: f64,
    drives: &mut Drives,
) {
    drives.joints.resize(articulation.links.len(), [NO_LAW; 3]);
    for (i, body) in articulation.definition.bodies.iter().enumerate() {
        drives.joints[i] = [NO_LAW; 3];
        if driven_axes(&body.joint) > 0 {
            drives.joints[i] = drive_joint(articulation, i, body, &actuation.joints[i], actuation.mode, sets, dt);
        }
    }
    drives.root = drive_root(articulation, &actuation.root, &states[0], sets, dt);
}

fn drive_joint(
    articulation: &Articulation,
    index: usize,
    body: &Body,
    actuation: &JointActuation,
    mode: PdMode,
    sets: &mut Sets,
    dt: f64,
) -> [Law; 3] {
    let position = articulation.joint_position(index, sets);
    let error = joint_error(&actuation.target, &position);
    let (frame, parent) = joint_frame(articulation, index, sets);
    let directions = axis_directions(&body.joint, frame, &position);
    let link = &articulation.links[index];
    let mut laws = [NO_LAW; 3];
    let mut torques = [0.0; 3];
    if let Some(multibody) = multibody_mut(articulation, sets) {
        for (k, axis) in link.axes.iter().enumerate() {
            let target_rate = actuation.target_velocity[k];
            let rate = multibody.generalized_velocity()[axis.dof];
            let (kp, kd) = (actuation.kp[k], actuation.kd[k]);
            laws[k] = match mode {
                PdMode::Stable => Law {
                    kp,
                    kd,
                    error: error[k],
                    target_rate,
                    constant: actuation.feed_forward[k],
                },
                PdMode::Explicit => Law {
                    constant: kp * error[k] + kd * (target_rate - rate) + actuation.feed_forward[k],
                    ..NO_LAW
                },
            };
            torques[k] = spring(multibody, axis, &laws[k], body.damping[k], dt);
        }
    }
    // the child feels the torque, the parent its opposite; the middle link of a universal joint stands between its axes
    let mut add = |handle: RigidBodyHandle, torque: DVec3| sets.bodies[handle].add_torque(torque, true);
    match link.intermediate {
        Some(middle) => {
            let (first, second) = (torques[0] * directions[0], torques[1] * directions[1]);
            add(link.body, second);
            add(middle, first - second);
            if let Some(parent) = parent {
                add(parent, -first);
            }
        }
        None => {
            let torque = (0..link.axes.len()).map(|k| torques[k] * directions[k]).sum::<DVec3>();
            add(link.body, torque);
            if let Some(parent) = parent {
                add(parent, -torque);
            }
        }
    }
    laws
}

/// Sets rapier's implicit spring and damping to `law` and returns the constant torque that they leave out.
fn spring(multibody: &mut Multibody, axis: &Axis, law: &Law, passive_damping: f64, dt: f64) -> f64 {
    multibody.damping_mut()[axis.dof] = law.kd + passive_damping;
    if let Some(link) = multibody.link_mut(axis.link) {
        // coordinates of ball joints are a running integral: only the difference to the rest position means something
        let coordinate = link.joint.coords()[axis.spatial];
        let rest = coordinate + law.error + dt * law.target_rate;
        link.joint.set_spring(axis.spatial, law.kp, rest);
    }
    law.kd * law.target_rate + law.constant
}

fn multibody_mut<'a>(articulation: &Articulation, sets: &'a mut Sets) -> Option<&'a mut Multibody> {
    sets.multibody_joints.get_multibody_mut(articulation.multibody?)
}

/// The spring holds the root's centre of mass where it would be if the body frame were at its target: the wrench at the
/// centre of mass is then linear force and torque without coupling, along degrees of freedom that rapier takes implicitly.
fn drive_root(
    articulation: &Articulation,
    root: &RootActuation,
    state: &BodyState,
    sets: &mut Sets,
    dt: f64,
) -> RootDrive {
    let body = &articulation.definition.bodies[0];
    let handle = articulation.links[0].body;
    let laws = match root {
        RootActuation::None => [NO_LAW; 6],
        RootActuation::Wrench(wrench) => {
            sets.bodies[handle].add_force(wrench.force, true);
            sets.bodies[handle].add_torque(wrench.torque, true);
            [NO_LAW; 6]
        }
        RootActuation::Spring {
            position,
            rotation,
            velocity,
            angular_velocity,
            kp_linear,
            kd_linear,
            kp_angular,
            kd_angular,
        } => {
            let arm = *rotation * body.center_of_mass;
            let error = *position + arm - state.center_of_mass;
            let target_velocity = *velocity + angular_velocity.cross(arm);
            let turn = rotation::difference(rotation.normalize(), state.rotation);
            std::array::from_fn(|k| {
                let i = k % 3;
                let (kp, kd, error, target_rate) = if k < 3 {
                    (*kp_linear, *kd_linear, error[i], target_velocity[i])
                } else {
                    (*kp_angular, *kd_angular, turn[i], angular_velocity[i])
                };
                Law {
                    kp,
                    kd,
                    error,
                    target_rate,
                    constant: 0.0,
                }
            })
        }
    };
    let springy = matches!(root, RootActuation::Spring { .. });
    if matches!(body.joint, Joint::Free | Joint::Planar) && articulation.multibody.is_some() {
        let mut force = [0.0; 6];
        if let Some(multibody) = multibody_mut(articulation, sets) {
            for axis in &articulation.links[0].axes {
                force[axis.spatial] = spring(multibody, axis, &laws[axis.spatial], 0.0, dt);
            }
        }
        let rigid = &mut sets.bodies[handle];
        rigid.add_force(DVec3::new(force[0], force[1], force[2]), true);
        rigid.add_torque(DVec3::new(force[3], force[4], force[5]), true);
    } else if springy {
        let wrench = implicit_wrench(body, &laws, state, dt);
        sets.bodies[handle].add_force(wrench.force, true);
        sets.bodies[handle].add_torque(wrench.torque, true);
        return RootDrive::Wrench(wrench);
    }
    match root {
        RootActuation::None => RootDrive::Free,
        RootActuation::Wrench(wrench) => RootDrive::Wrench(*wrench),
        RootActuation::Spring { .. } => RootDrive::Laws(laws),
    }
}

/// The wrench of `laws` on a single free body, as it is at the end of the step if nothing else acts.
fn implicit_wrench(body: &Body, laws: &[Law; 6], state: &BodyState, dt: f64) -> Wrench {
    let explicit = |k: usize, rate: f64| laws[k].applied(rate, dt);
    let v = state.velocity;
    let w = state.angular_velocity;
    let gain = |k: usize| dt * laws[k].kd + dt * dt * laws[k].kp;
    let force = DVec3::new(explicit(0, v.x), explicit(1, v.y), explicit(2, v.z)) / (1.0 + gain(0) / body.mass);
    let torque = DVec3::new(explicit(3, w.x), explicit(4, w.y), explicit(5, w.z));
    let inertia = world_inertia(body.inertia, state.rotation);
    // (1 + gain I⁻¹)⁻¹ = I (I + gain)⁻¹
    let softened = (inertia + glam::DMat3::from_diagonal(DVec3::splat(gain(3)))).inverse();
    Wrench {
        force,
        torque: inertia * (softened * torque),
    }
}

/// Torques and root wrench that were applied in the step that has just ended.
pub(super) fn read_back(articulation: &Articulation, index: usize, drives: &Drives, state: &mut State, dt: f64) {
    let multibody = articulation.multibody.map(|m| &state.sets.multibody_joints[m]);
    let rate = |axis: &Axis| multibody.map_or(0.0, |m| m.generalized_velocity()[axis.dof]);
    for (i, link) in articulation.links.iter().enumerate() {
        let mut torque = DVec3::ZERO;
        if driven_axes(&articulation.definition.bodies[i].joint) > 0 {
            for (k, axis) in link.axes.iter().enumerate() {
                torque[k] = drives.joints[i][k].applied(rate(axis), dt);
            }
        }
        state.torques[index][i] = torque;
    }
    state.wrenches[index] = match &drives.root {
        RootDrive::Free => Wrench::default(),
        RootDrive::Wrench(wrench) => *wrench,
        RootDrive::Laws(laws) => {
            let mut values = [0.0; 6];
            for axis in &articulation.links[0].axes {
                values[axis.spatial] = laws[axis.spatial].applied(rate(axis), dt);
            }
            Wrench {
                force: DVec3::new(values[0], values[1], values[2]),
                torque: DVec3::new(values[3], values[4], values[5]),
            }
        }
    };
}
