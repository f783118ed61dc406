//! Joint trees and poses.
//!
//! In: joints with names, parents and offsets. Out: local and model-space poses. Knows nothing of physics.
//! Kinematics here is f64: it feeds the tracking controllers.

#![allow(non_snake_case)]

use glam::{DQuat, DVec3};

/// One joint of a [`Skeleton`].
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    pub name: String,
    /// Index of the parent, always smaller than the joint's own; `None` for the root.
    pub parent: Option<usize>,
    /// Origin of the joint in the parent's frame in the bind pose, metres.
    pub offset: DVec3,
    /// Rotation of the joint's frame in its parent's in the bind pose.
    pub rest: DQuat,
    /// Ends of the bones that leave this joint without another joint (BVH End Sites), in the joint's frame, metres.
    pub end_sites: Vec<DVec3>,
}

/// A tree of joints, parents before children, joint 0 the root.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Skeleton {
    pub joints: Vec<Joint>,
}

/// Local pose: what each joint does relative to its parent.
///
/// `R_joint = R_parent · rest · rotations[j]`, `x_joint = x_parent + R_parent · translations[j]`; the root's translation
/// and rotation are those in the world. In the bind pose rotations are the identity and translations the offsets.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Pose {
    pub translations: Vec<DVec3>,
    pub rotations: Vec<DQuat>,
}

/// Model-space pose: origin and rotation of every joint in the world.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ModelPose {
    pub positions: Vec<DVec3>,
    pub rotations: Vec<DQuat>,
}

impl Skeleton {
    /// Index of the joint called `name`.
    pub fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }

    /// The pose in which every joint rotation is the identity.
    pub fn bind_pose(&self) -> Pose {
        Pose {
            translations: self.joints.iter().map(|j| j.offset).collect(),
            rotations: vec![DQuat::IDENTITY; self.joints.len()],
        }
    }

    /// Forward kinematics of `pose` into `out`, which is resized to fit.
    pub fn model_pose(&self, pose: &Pose, out: &mut ModelPose) {
        out.positions.resize(self.joints.len(), DVec3::ZERO);
        out.rotations.resize(self.joints.len(), DQuat::IDENTITY);
        for (j, joint) in self.joints.iter().enumerate() {
            let (x_parent, R_parent) = match joint.parent {
                Some(p) => (out.positions[p], out.rotations[p]),
                None => (DVec3::ZERO, DQuat::IDENTITY),
            };
            out.positions[j] = x_parent + R_parent * pose.translations[j];
            out.rotations[j] = (R_parent * joint.rest * pose.rotations[j]).normalize();
        }
    }
}
