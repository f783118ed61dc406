//! The constant structure of an articulation: who hangs on whom, and where each degree of freedom lives.

use glam::{DMat3, DQuat, DVec3};

use crate::character::{Character, Joint};

/// Marks the absence of a parent or of a moving ancestor.
pub const NONE: usize = usize::MAX;

/// Bodies and degrees of freedom of one articulation.
///
/// Coordinates `q` per joint: free `[x y z of the centre of mass, quaternion x y z w of the body]`, planar
/// `[y, z of the centre of mass, angle about +X]`, hinge `[angle]`, universal `[angle, angle]`, ball
/// `[quaternion x y z w of q]`, fixed none. Rates `v` per joint as listed in [`Joint`].
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub bodies: Vec<TreeBody>,
    /// m/s².
    pub gravity: DVec3,
    pub dofs: usize,
    pub coordinates: usize,
    /// Total, kg.
    pub mass: f64,
    /// Body that each degree of freedom moves.
    pub dof_body: Vec<usize>,
    /// First entry of each degree of freedom's row in packed storage; one more entry at the end.
    pub(super) row_start: Vec<usize>,
    /// Packed rows: the ancestors of degree of freedom k in ascending order, k itself last. A chain of an ancestor is a
    /// prefix of it.
    pub(super) chain: Vec<u32>,
}

/// One body of a [`Tree`].
#[derive(Clone, Debug, PartialEq)]
pub struct TreeBody {
    /// [`NONE`] for the root.
    pub parent: usize,
    pub joint: Joint,
    pub offset: DVec3,
    pub rest: DQuat,
    pub mass: f64,
    pub center_of_mass: DVec3,
    pub inertia: DMat3,
    /// First degree of freedom of the joint.
    pub dof: usize,
    pub dofs: usize,
    /// First coordinate of the joint.
    pub coordinate: usize,
    /// Last degree of freedom that moves this body; [`NONE`] if nothing does.
    pub tip: usize,
}

impl Tree {
    /// The tree of `character` under `gravity`.
    pub fn new(character: &Character, gravity: DVec3) -> Tree {
        let mut tree = Tree {
            bodies: Vec::with_capacity(character.bodies.len()),
            gravity,
            dofs: 0,
            coordinates: 0,
            mass: character.mass(),
            dof_body: Vec::new(),
            row_start: vec![0],
            chain: Vec::new(),
        };
        for (index, body) in character.bodies.iter().enumerate() {
            let parent = body.parent.unwrap_or(NONE);
            let dofs = body.joint.dofs();
            let mut tip = if parent == NONE { NONE } else { tree.bodies[parent].tip };
            let first = tree.dofs;
            for k in first..first + dofs {
                if tip != NONE {
                    let ancestors = tree.row_start[tip]..tree.row_start[tip + 1];
                    tree.chain.extend_from_within(ancestors);
                }
                tree.chain.push(k as u32);
                tree.row_start.push(tree.chain.len());
                tree.dof_body.push(index);
                tip = k;
            }
            tree.bodies.push(TreeBody {
                parent,
                joint: body.joint,
                offset: body.offset,
                rest: body.rest,
                mass: body.mass,
                center_of_mass: body.center_of_mass,
                inertia: body.inertia,
                dof: first,
                dofs,
                coordinate: tree.coordinates,
                tip,
            });
            tree.dofs += dofs;
            tree.coordinates += coordinates(&body.joint);
        }
        tree
    }

    /// Degrees of freedom that move the body whose tip is `dof`, from the root outwards, `dof` last.
    pub fn chain(&self, dof: usize) -> &[u32] {
        if dof == NONE {
            &[]
        } else {
            &self.chain[self.row_start[dof]..self.row_start[dof + 1]]
        }
    }

    /// Number of entries of packed storage.
    pub fn packed_len(&self) -> usize {
        self.chain.len()
    }

    /// Coordinates of the bind pose, roots where their `offset` and `rest` put them.
    pub fn bind_coordinates(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.coordinates];
        for body in &self.bodies {
            let q = &mut q[body.coordinate..];
            match body.joint {
                Joint::Free => {
                    let c = body.offset + body.rest * body.center_of_mass;
                    q[..3].copy_from_slice(&c.to_array());
                    q[3..7].copy_from_slice(&body.rest.to_array());
                }
                Joint::Planar => {
                    let c = body.offset + body.rest * body.center_of_mass;
                    q[0] = c.y;
                    q[1] = c.z;
                }
                Joint::Ball => q[3] = 1.0,
                Joint::Fixed | Joint::Hinge { .. } | Joint::Universal { .. } => {}
            }
        }
        q
    }
}

impl Tree {
    /// Frames of all bodies at coordinates `q`: origin and rotation in the world, into `out`.
    pub fn poses(&self, q: &[f64], out: &mut Vec<(DVec3, DQuat)>) {
        out.clear();
        for body in &self.bodies {
            let (x, rotation) = match body.parent {
                NONE => (DVec3::ZERO, DQuat::IDENTITY),
                p => out[p],
            };
            out.push(body.pose(x + rotation * body.offset, rotation * body.rest, &q[body.coordinate..]));
        }
    }
}

impl TreeBody {
    /// Frame of the body (origin, unit rotation) when its joint is at `origin`, the parent-side joint frame is `frame`, and
    /// the joint's coordinates are at the head of `q`. Floating roots know their place from `q` alone.
    pub(super) fn pose(&self, origin: DVec3, frame: DQuat, q: &[f64]) -> (DVec3, DQuat) {
        let rotation = match self.joint {
            Joint::Free => quat(&q[3..]),
            Joint::Planar => about(DVec3::X, q[2]) * self.rest,
            Joint::Fixed => frame,
            Joint::Hinge { axis } => frame * about(axis, q[0]),
            Joint::Universal { axes } => frame * about(axes[0], q[0]) * about(axes[1], q[1]),
            Joint::Ball => frame * quat(q),
        }
        .normalize();
        let center = match self.joint {
            Joint::Free => DVec3::from_slice(q),
            Joint::Planar => DVec3::new((self.offset + self.rest * self.center_of_mass).x, q[0], q[1]),
            _ => return (origin, rotation),
        };
        (center - rotation * self.center_of_mass, rotation)
    }
}

/// Rotation by `angle` about the unit `axis`.
fn about(axis: DVec3, angle: f64) -> DQuat {
    let (sin, cos) = libm::sincos(0.5 * angle);
    let v = axis * sin;
    DQuat::from_xyzw(v.x, v.y, v.z, cos)
}

fn coordinates(joint: &Joint) -> usize {
    match joint {
        Joint::Free => 7,
        Joint::Ball => 4,
        other => other.dofs(),
    }
}

/// Quaternion stored at the head of `q`.
pub(crate) fn quat(q: &[f64]) -> DQuat {
    DQuat::from_xyzw(q[0], q[1], q[2], q[3])
}
