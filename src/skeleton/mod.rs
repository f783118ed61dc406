//! Joint trees and poses.
//!
//! In: joints with names, parents and offsets. Out: local and model-space poses. Knows nothing of physics.
//! Kinematics here is f64: it feeds the tracking controllers.

#![allow(non_snake_case)]

use glam::{DQuat, DVec3};

use crate::math::rotation::heading;

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

/// What is wrong with a skeleton or a pose of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SkeletonError {
    #[error("the skeleton has no joints; at least a root is needed")]
    Empty,
    #[error(
        "joint {joint} `{name}` has parent {parent:?}; expected none for joint 0 and a smaller index for every other joint: \
         list parents before children, one root first"
    )]
    ParentOrder {
        joint: usize,
        name: String,
        parent: Option<usize>,
    },
    #[error("joints {first} and {second} are both called `{name}`; names must differ, rename one of them")]
    DuplicateName { first: usize, second: usize, name: String },
    #[error("the {what} of joint {joint} `{name}` is not finite")]
    NotFinite {
        joint: usize,
        name: String,
        what: &'static str,
    },
    #[error(
        "the {what} of joint {joint} `{name}` has length {length}; expected a unit quaternion (to 1e-6), normalise it"
    )]
    NotUnit {
        joint: usize,
        name: String,
        what: &'static str,
        length: f64,
    },
    #[error("the pose has {translations} translations and {rotations} rotations; the skeleton has {joints} joints")]
    PoseSize {
        translations: usize,
        rotations: usize,
        joints: usize,
    },
}

impl Skeleton {
    /// Checks what everything else relies on: one root at index 0, parents before children, different names, finite
    /// offsets, unit rest rotations.
    pub fn validate(&self) -> Result<(), SkeletonError> {
        if self.joints.is_empty() {
            return Err(SkeletonError::Empty);
        }
        let mut by_name: Vec<usize> = (0..self.joints.len()).collect();
        by_name.sort_by(|&a, &b| self.joints[a].name.cmp(&self.joints[b].name).then(a.cmp(&b)));
        for pair in by_name.windows(2) {
            if self.joints[pair[0]].name == self.joints[pair[1]].name {
                return Err(SkeletonError::DuplicateName {
                    first: pair[0],
                    second: pair[1],
                    name: self.joints[pair[0]].name.clone(),
                });
            }
        }
        for (j, joint) in self.joints.iter().enumerate() {
            let name = || joint.name.clone();
            let parent_is_fine = match joint.parent {
                None => j == 0,
                Some(p) => p < j,
            };
            if !parent_is_fine {
                return Err(SkeletonError::ParentOrder {
                    joint: j,
                    name: name(),
                    parent: joint.parent,
                });
            }
            if !(joint.offset.is_finite() && joint.end_sites.iter().all(|e| e.is_finite())) {
                return Err(SkeletonError::NotFinite {
                    joint: j,
                    name: name(),
                    what: "offset",
                });
            }
            check_unit(joint.rest, j, &joint.name, "rest rotation")?;
        }
        Ok(())
    }

    /// Indices of the joints whose parent is `joint`, in order.
    pub fn children(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        (joint + 1..self.joints.len()).filter(move |&j| self.joints[j].parent == Some(joint))
    }

    /// Lowest and highest y of all joints and end sites in the bind pose, metres; their difference is the height of
    /// the character if its bind pose stands. `None` without joints.
    pub fn bind_height_range(&self) -> Option<[f64; 2]> {
        let mut model = ModelPose::default();
        self.model_pose(&self.bind_pose(), &mut model);
        self.height_range(&model)
    }

    /// Lowest and highest y of all joints and end sites of `model`, metres; `None` without joints.
    pub fn height_range(&self, model: &ModelPose) -> Option<[f64; 2]> {
        let heights = self.joints.iter().enumerate().flat_map(|(j, joint)| {
            let ends = joint.end_sites.iter().map(move |&e| model.end_site(j, e).y);
            std::iter::once(model.positions[j].y).chain(ends)
        });
        heights.fold(None, |range, y| match range {
            None => Some([y, y]),
            Some([low, high]) => Some([f64::min(low, y), f64::max(high, y)]),
        })
    }

    /// The local pose that [`model_pose`](Self::model_pose) turns into `model`, written to `out`, which is resized to
    /// fit.
    pub fn local_pose(&self, model: &ModelPose, out: &mut Pose) {
        out.translations.resize(self.joints.len(), DVec3::ZERO);
        out.rotations.resize(self.joints.len(), DQuat::IDENTITY);
        for (j, joint) in self.joints.iter().enumerate() {
            let (x_parent, R_parent) = match joint.parent {
                Some(p) => (model.positions[p], model.rotations[p]),
                None => (DVec3::ZERO, DQuat::IDENTITY),
            };
            out.translations[j] = R_parent.conjugate() * (model.positions[j] - x_parent);
            out.rotations[j] = ((R_parent * joint.rest).conjugate() * model.rotations[j]).normalize();
        }
    }

    /// Checks that `pose` is one of this skeleton: one finite translation and one unit rotation per joint.
    pub fn validate_pose(&self, pose: &Pose) -> Result<(), SkeletonError> {
        if pose.translations.len() != self.joints.len() || pose.rotations.len() != self.joints.len() {
            return Err(SkeletonError::PoseSize {
                translations: pose.translations.len(),
                rotations: pose.rotations.len(),
                joints: self.joints.len(),
            });
        }
        for (j, joint) in self.joints.iter().enumerate() {
            if !pose.translations[j].is_finite() {
                return Err(SkeletonError::NotFinite {
                    joint: j,
                    name: joint.name.clone(),
                    what: "translation",
                });
            }
            check_unit(pose.rotations[j], j, &joint.name, "rotation")?;
        }
        Ok(())
    }

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

impl ModelPose {
    /// World position of the point `end` of joint `joint`'s frame.
    pub fn end_site(&self, joint: usize, end: DVec3) -> DVec3 {
        self.positions[joint] + self.rotations[joint] * end
    }
}

impl Pose {
    /// Heading of the root: the twist of its rotation in the world about +Y, radians; 0 faces +Z if the bind pose does.
    pub fn heading(&self, skeleton: &Skeleton) -> f64 {
        let rest = skeleton.joints[0].rest;
        heading(rest * self.rotations[0] * rest.conjugate())
    }
}

fn check_unit(q: DQuat, joint: usize, name: &str, what: &'static str) -> Result<(), SkeletonError> {
    if !q.is_finite() {
        return Err(SkeletonError::NotFinite {
            joint,
            name: name.to_owned(),
            what,
        });
    }
    let length = q.length();
    if (length - 1.0).abs() > 1e-6 {
        return Err(SkeletonError::NotUnit {
            joint,
            name: name.to_owned(),
            what,
            length,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::uniform_in;
    use crate::math::rotation::{angle_between, exp};

    fn random_vector(index: u64, size: f64) -> DVec3 {
        DVec3::from_array([0, 1, 2].map(|k| uniform_in(11, k, index, -size, size)))
    }

    /// A tree with branches and rest rotations: joint `j` hangs on joint `j / 2`.
    fn tree() -> Skeleton {
        let joints = (0..9)
            .map(|j| Joint {
                name: format!("joint {j}"),
                parent: if j == 0 { None } else { Some((j - 1) / 2) },
                offset: random_vector(j as u64, 0.5),
                rest: exp(random_vector(100 + j as u64, 2.0)),
                end_sites: if j > 5 {
                    vec![random_vector(200 + j as u64, 0.2)]
                } else {
                    vec![]
                },
            })
            .collect();
        Skeleton { joints }
    }

    #[test]
    fn local_and_model_space_undo_each_other() {
        // local → model → local gives translations and rotations back
        let skeleton = tree();
        let pose = Pose {
            translations: (0..9).map(|j| random_vector(300 + j, 1.0)).collect(),
            rotations: (0..9).map(|j| exp(random_vector(400 + j, 2.0))).collect(),
        };
        let (mut model, mut back) = (ModelPose::default(), Pose::default());
        skeleton.model_pose(&pose, &mut model);
        skeleton.local_pose(&model, &mut back);
        for j in 0..9 {
            // three levels of products, positions of a few metres
            assert!((back.translations[j] - pose.translations[j]).length() < 1e-14);
            assert!(angle_between(back.rotations[j], pose.rotations[j]) < 1e-14);
        }
        assert!(skeleton.validate_pose(&back).is_ok());
    }

    #[test]
    fn children_and_heights_follow_the_tree() {
        // a heap-shaped tree has children 2j+1 and 2j+2; the height range covers end sites
        let mut skeleton = tree();
        assert_eq!(skeleton.children(1).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(skeleton.children(4).count(), 0);
        for joint in &mut skeleton.joints {
            joint.rest = DQuat::IDENTITY;
            joint.offset = DVec3::new(0.1, 0.25, 0.0);
            joint.end_sites = vec![DVec3::new(0.0, -2.0, 0.3)];
        }
        // depths 0 to 3: highest origin at 4 · 0.25, lowest end site 2 m under the root's origin
        assert_eq!(skeleton.bind_height_range(), Some([-1.75, 1.0]));
        assert_eq!(Skeleton::default().bind_height_range(), None);
    }

    #[test]
    fn broken_skeletons_and_poses_are_refused_by_name() {
        // every violation of the invariants is found and names the joint
        let good = tree();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(Skeleton::default().validate(), Err(SkeletonError::Empty));
        let broken = |change: &dyn Fn(&mut Skeleton)| {
            let mut s = tree();
            change(&mut s);
            s.validate().unwrap_err().to_string()
        };
        assert!(broken(&|s| s.joints[3].parent = Some(3)).contains("joint 3"));
        assert!(broken(&|s| s.joints[3].parent = None).contains("joint 3"));
        assert!(broken(&|s| s.joints[0].parent = Some(0)).contains("joint 0"));
        assert!(broken(&|s| s.joints[7].name = "joint 2".into()).contains("joints 2 and 7"));
        assert!(broken(&|s| s.joints[4].offset.y = f64::NAN).contains("`joint 4` is not finite"));
        assert!(broken(&|s| s.joints[6].end_sites[0].y = f64::INFINITY).contains("`joint 6` is not finite"));
        assert!(broken(&|s| s.joints[5].rest.w += 0.1).contains("unit quaternion"));
        let mut pose = good.bind_pose();
        assert_eq!(good.validate_pose(&pose), Ok(()));
        pose.rotations[2] = DQuat::from_xyzw(0.0, 0.0, 0.0, f64::NAN);
        assert!(good.validate_pose(&pose).is_err());
        pose.rotations.pop();
        assert!(matches!(
            good.validate_pose(&pose),
            Err(SkeletonError::PoseSize { rotations: 8, .. })
        ));
    }
}
