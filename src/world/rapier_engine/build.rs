//! Builds rapier's sets from a scene.
//!
//! Every rapier body has its origin at its centre of mass: rapier's free roots move the body's origin with the velocity
//! of the centre of mass, which is right only where the two coincide.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use rapier3d::dynamics::{
    GenericJoint, GenericJointBuilder, JointAxesMask, JointAxis, MassProperties, MultibodyIndex, RigidBodyBuilder,
    RigidBodyHandle,
};
use rapier3d::geometry::{ColliderBuilder, ColliderHandle, Group, InteractionGroups, InteractionTestMode};
use rapier3d::math::Pose;
use rapier3d::pipeline::ActiveHooks;
use rapier3d::prelude::CoefficientCombineRule;

use super::Sets;
use super::tag::Tag;
use crate::character::{Body, Character, Joint, Limit, Material};
use crate::math::rotation;
use crate::world::shapes::{ShapePart, body_parts, platform_part, terrain_parts};
use crate::world::{BodyRef, BuildError, JointPosition, Scene};

/// Mass of the link between the two hinges of a universal joint, as a share of the joint's child.
///
/// It moves nothing that can be measured, and the mass matrix stays regular because the child adds to both hinges.
const INTERMEDIATE_MASS: f64 = 1e-6;

/// Where the fixed structure of a scene is found in rapier's sets.
#[derive(Clone)]
pub(super) struct Structure {
    /// Characters first, then props, both in the order of the scene.
    pub articulations: Vec<Articulation>,
    pub platforms: Vec<RigidBodyHandle>,
    /// Colliders that a ray can hit, in the order of the scene: terrain, platforms, props.
    pub obstacles: Vec<ColliderHandle>,
    pub notes: Vec<String>,
}

/// A character or prop.
#[derive(Clone)]
pub(super) struct Articulation {
    pub definition: Arc<Character>,
    pub links: Vec<Link>,
    /// The fixed body that a root which is not free hangs on.
    pub anchor: Option<RigidBodyHandle>,
    /// `None` for single bodies and for what is nailed to the world.
    pub multibody: Option<MultibodyIndex>,
}

/// A body with the degrees of freedom of the joint above it.
#[derive(Clone)]
pub(super) struct Link {
    pub body: RigidBodyHandle,
    /// Link between the two hinges of a universal joint.
    pub intermediate: Option<RigidBodyHandle>,
    /// Degrees of freedom, in the order of [`Joint`] (for free roots: linear, then angular).
    pub axes: Vec<Axis>,
}

/// One degree of freedom of a multibody.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// Link id within the multibody.
    pub link: usize,
    /// 0 to 2 linear, 3 to 5 angular.
    pub spatial: usize,
    /// Index into the generalized velocities.
    pub dof: usize,
}

/// Whose bodies are being built.
struct Owner {
    /// For errors and notes.
    name: String,
    reference: Box<dyn Fn(usize) -> BodyRef>,
    /// Whether it keeps bodies apart that rapier would let collide: by groups, or neighbours by a universal joint, whose
    /// middle link hides them from rapier.
    filtered: bool,
}

/// See [`Owner::filtered`].
fn is_filtered(character: &Character) -> bool {
    let bodies = &character.bodies;
    let grouped = |a: usize| {
        (0..a).any(|b| bodies[a].filter & bodies[b].membership == 0 || bodies[b].filter & bodies[a].membership == 0)
    };
    (0..bodies.len()).any(|a| matches!(bodies[a].joint, Joint::Universal { .. }) || grouped(a))
}

/// Turns x onto `axis`: rapier's hinges turn about x.
pub(super) fn alignment(axis: DVec3) -> DQuat {
    DQuat::from_rotation_arc(DVec3::X, axis.normalize())
}

/// Puts everything of `scene` into `sets`.
pub(super) fn build(scene: &Scene, sets: &mut Sets) -> Result<Structure, BuildError> {
    let mut structure = Structure {
        articulations: Vec::new(),
        platforms: Vec::new(),
        obstacles: Vec::new(),
        notes: Vec::new(),
    };
    for (i, terrain) in scene.terrain.iter().enumerate() {
        for part in terrain_parts(i, terrain)? {
            let tag = Tag::new(BodyRef::Terrain(i));
            let builder = collider(&part, &terrain.material, true, tag);
            structure.obstacles.push(sets.colliders.insert(builder));
        }
    }
    for (i, platform) in scene.platforms.iter().enumerate() {
        let (position, rotation) = platform.pose(0.0);
        let pose = Pose::from_parts(position, rotation);
        let body = sets
            .bodies
            .insert(RigidBodyBuilder::kinematic_position_based().pose(pose));
        let tag = Tag::new(BodyRef::Platform(i));
        let builder = collider(&platform_part(platform), &platform.material, true, tag);
        let handle = sets.colliders.insert_with_parent(builder, body, &mut sets.bodies);
        structure.obstacles.push(handle);
        structure.platforms.push(body);
    }
    for (i, placement) in scene.characters.iter().enumerate() {
        let turn = rotation::exp(DVec3::Y * placement.heading);
        let root = &placement.character.bodies[0];
        let position = turn * root.offset + placement.position;
        let owner = Owner {
            name: format!("character {i} ({})", placement.character.name),
            reference: Box::new(move |body| BodyRef::Character { character: i, body }),
            filtered: is_filtered(&placement.character),
        };
        if root.joint == Joint::Planar && placement.heading != 0.0 {
            return Err(BuildError::Unsupported {
                engine: "rapier",
                what: format!("turn the sagittal plane of {}", owner.name),
                remedy: "set its heading to 0".into(),
            });
        }
        notes(&owner.name, &placement.character, &mut structure.notes);
        let pose = (position, (turn * root.rest).normalize());
        let articulation = articulation(&owner, &placement.character, pose, sets, &mut Vec::new())?;
        structure.articulations.push(articulation);
    }
    for (i, prop) in scene.props.iter().enumerate() {
        let root = &prop.body.bodies[0];
        let owner = Owner {
            name: format!("prop {i} ({})", prop.body.name),
            reference: Box::new(move |body| BodyRef::Prop { prop: i, body }),
            filtered: is_filtered(&prop.body),
        };
        notes(&owner.name, &prop.body, &mut structure.notes);
        let pose = (root.offset, root.rest.normalize());
        let articulation = articulation(&owner, &prop.body, pose, sets, &mut structure.obstacles)?;
        structure.articulations.push(articulation);
    }
    Ok(structure)
}

/// What rapier cannot honour of this character.
fn notes(name: &str, character: &Character, out: &mut Vec<String>) {
    let mut note = |what: &str, applies: &dyn Fn(&Body) -> bool| {
        let names: Vec<&str> = character
            .bodies
            .iter()
            .filter(|b| applies(b))
            .map(|b| b.name.as_str())
            .collect();
        if !names.is_empty() {
            out.push(format!("{name}: {what} ({})", names.join(", ")));
        }
    };
    note("torque limits are not enforced", &|b| {
        let axes = crate::world::validate::driven_axes(&b.joint);
        b.torque_limit[..axes].iter().any(|t| t.is_finite())
    });
    note("swing and twist limits are not enforced", &|b| {
        matches!(b.limit, Limit::SwingTwist { .. })
    });
}

/// `solid` is false for a body that collides with nothing.
fn collider(part: &ShapePart, material: &Material, solid: bool, tag: Tag) -> ColliderBuilder {
    let group = if solid { Group::ALL } else { Group::NONE };
    let groups = InteractionGroups::new(group, group, InteractionTestMode::And);
    ColliderBuilder::new(part.shape.clone())
        .position(part.pose())
        .density(0.0)
        .friction(material.friction)
        .friction_combine_rule(CoefficientCombineRule::GeometricMean)
        .restitution(material.restitution)
        .restitution_combine_rule(CoefficientCombineRule::Max)
        .collision_groups(groups)
        .user_data(tag.bits())
}

fn articulation(
    owner: &Owner,
    character: &Arc<Character>,
    root_pose: (DVec3, DQuat),
    sets: &mut Sets,
    colliders: &mut Vec<ColliderHandle>,
) -> Result<Articulation, BuildError> {
    let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
    let mut links: Vec<Link> = Vec::new();
    let mut anchor = None;
    for (i, body) in character.bodies.iter().enumerate() {
        let (position, rotation) = match body.parent {
            None => root_pose,
            Some(p) => {
                let (x, q) = frames[p];
                (x + q * body.offset, (q * body.rest).normalize())
            }
        };
        frames.push((position, rotation));
        let handle = insert_body(owner, i, body, (position, rotation), sets, colliders)?;
        let mut link = Link {
            body: handle,
            intermediate: None,
            axes: Vec::new(),
        };
        let parent = match body.parent {
            Some(p) => {
                let center = character.bodies[p].center_of_mass;
                Some((links[p].body, Pose::from_parts(body.offset - center, body.rest)))
            }
            None => match body.joint {
                Joint::Free | Joint::Fixed => None,
                Joint::Planar => {
                    let center = position + rotation * body.center_of_mass;
                    let pose = Pose::from_translation(DVec3::new(center.x, 0.0, 0.0));
                    Some((insert_anchor(pose, sets), Pose::IDENTITY))
                }
                Joint::Hinge { .. } | Joint::Universal { .. } | Joint::Ball => Some((
                    insert_anchor(Pose::from_parts(position, rotation), sets),
                    Pose::IDENTITY,
                )),
            },
        };
        if let Some((parent_handle, frame)) = parent {
            if i == 0 {
                anchor = Some(parent_handle);
            }
            connect(parent_handle, frame, body, rotation, &mut link, sets);
        }
        links.push(link);
    }
    let multibody = warm(&links, sets);
    if let Some(index) = multibody {
        for (body, link) in character.bodies.iter().zip(&mut links) {
            link.axes = axes(body, link, index, sets);
        }
        prepare(character, &links, index, sets);
        let planar = character.bodies[0].joint == Joint::Planar;
        if planar && let Some(multibody) = sets.multibody_joints.get_multibody_mut(index) {
            // the coordinates of a planar root are the place of its centre of mass
            let center = frames[0].0 + frames[0].1 * character.bodies[0].center_of_mass;
            let mut displacement = vec![0.0; multibody.generalized_velocity().len()];
            displacement[links[0].axes[0].dof] = center.y;
            displacement[links[0].axes[1].dof] = center.z;
            multibody.apply_displacements(&displacement);
            multibody.forward_kinematics(&sets.bodies, false);
            multibody.update_rigid_bodies(&mut sets.bodies, true);
        }
    }
    Ok(Articulation {
        definition: character.clone(),
        links,
        anchor,
        multibody,
    })
}

fn insert_anchor(pose: Pose, sets: &mut Sets) -> RigidBodyHandle {
    sets.bodies.insert(RigidBodyBuilder::fixed().pose(pose))
}

fn insert_body(
    owner: &Owner,
    index: usize,
    body: &Body,
    (position, rotation): (DVec3, DQuat),
    sets: &mut Sets,
    colliders: &mut Vec<ColliderHandle>,
) -> Result<RigidBodyHandle, BuildError> {
    let fixed = body.parent.is_none() && body.joint == Joint::Fixed;
    let builder = if fixed {
        RigidBodyBuilder::fixed()
    } else {
        RigidBodyBuilder::dynamic()
    };
    let mass = MassProperties::with_inertia_matrix(DVec3::ZERO, body.mass, body.inertia);
    let pose = Pose::from_parts(position + rotation * body.center_of_mass, rotation);
    let handle = sets.bodies.insert(
        builder
            .pose(pose)
            .can_sleep(false)
            .allow_fast_rotation(true)
            .additional_mass_properties(mass),
    );
    let tag = Tag::new((owner.reference)(index));
    for mut part in body_parts(&owner.name, body)? {
        part.position -= body.center_of_mass;
        let mut builder = collider(&part, &body.material, body.filter != 0, tag);
        if owner.filtered {
            builder = builder.active_hooks(ActiveHooks::FILTER_CONTACT_PAIRS);
        }
        colliders.push(sets.colliders.insert_with_parent(builder, handle, &mut sets.bodies));
    }
    let (bodies, all) = (&mut sets.bodies, &sets.colliders);
    bodies[handle].recompute_mass_properties_from_colliders(all);
    Ok(handle)
}

/// Inserts the joint between `parent` and the link's body; `frame` is the joint frame in the parent's rapier frame.
fn connect(parent: RigidBodyHandle, frame: Pose, body: &Body, rotation: DQuat, link: &mut Link, sets: &mut Sets) {
    let child_frame = |align: DQuat| Pose::from_parts(-body.center_of_mass, align);
    let mut insert = |parent, child, joint: GenericJoint| {
        // both bodies are new to each other, so rapier always accepts the joint
        sets.multibody_joints.insert(parent, child, joint, true);
    };
    match body.joint {
        Joint::Planar => {
            let locked = JointAxesMask::LIN_X | JointAxesMask::ANG_Y | JointAxesMask::ANG_Z;
            let joint = joint(locked, frame, Pose::from_rotation(rotation.conjugate()));
            insert(parent, link.body, joint);
        }
        Joint::Hinge { axis } => {
            let align = alignment(axis);
            let mut joint = hinge(frame, align, child_frame(align));
            limit(&mut joint, &body.limit, 0);
            insert(parent, link.body, joint);
        }
        Joint::Universal { axes } => {
            let mass = MassProperties::with_inertia_matrix(
                DVec3::ZERO,
                INTERMEDIATE_MASS * body.mass,
                INTERMEDIATE_MASS * body.inertia,
            );
            let origin = sets.bodies[link.body].position() * Pose::from_translation(-body.center_of_mass);
            let intermediate = sets.bodies.insert(
                RigidBodyBuilder::dynamic()
                    .pose(origin)
                    .can_sleep(false)
                    .allow_fast_rotation(true)
                    .additional_mass_properties(mass),
            );
            sets.bodies[intermediate].recompute_mass_properties_from_colliders(&sets.colliders);
            let align = alignment(axes[0]);
            let mut first = hinge(frame, align, Pose::from_rotation(align));
            limit(&mut first, &body.limit, 0);
            sets.multibody_joints.insert(parent, intermediate, first, true);
            let align = alignment(axes[1]);
            let mut second = hinge(Pose::IDENTITY, align, child_frame(align));
            limit(&mut second, &body.limit, 1);
            sets.multibody_joints.insert(intermediate, link.body, second, true);
            link.intermediate = Some(intermediate);
        }
        Joint::Ball => {
            let joint = joint(
                JointAxesMask::LOCKED_SPHERICAL_AXES,
                frame,
                child_frame(DQuat::IDENTITY),
            );
            insert(parent, link.body, joint);
        }
        Joint::Fixed | Joint::Free => {
            let joint = joint(JointAxesMask::LOCKED_FIXED_AXES, frame, child_frame(DQuat::IDENTITY));
            insert(parent, link.body, joint);
        }
    }
}

fn joint(locked: JointAxesMask, parent_frame: Pose, child_frame: Pose) -> GenericJoint {
    GenericJointBuilder::new(locked)
        .local_frame1(parent_frame)
        .local_frame2(child_frame)
        .contacts_enabled(false)
        .build()
}

fn hinge(frame: Pose, align: DQuat, child_frame: Pose) -> GenericJoint {
    let frame = frame * Pose::from_rotation(align);
    joint(JointAxesMask::LOCKED_REVOLUTE_AXES, frame, child_frame)
}

fn limit(joint: &mut GenericJoint, limit: &Limit, axis: usize) {
    if let Limit::Range(ranges) = limit {
        joint.set_limits(JointAxis::AngX, ranges[axis]);
    }
}

/// Settles root types and world masses, which rapier otherwise does in its first step, and finds the multibody.
fn warm(links: &[Link], sets: &mut Sets) -> Option<MultibodyIndex> {
    let index = sets.multibody_joints.rigid_body_link(links[0].body)?.multibody;
    let multibody = sets.multibody_joints.get_multibody_mut(index)?;
    multibody.forward_kinematics(&sets.bodies, true);
    multibody.update_rigid_bodies(&mut sets.bodies, true);
    Some(index)
}

fn axes(body: &Body, link: &Link, index: MultibodyIndex, sets: &Sets) -> Vec<Axis> {
    let multibody = &sets.multibody_joints[index];
    let of = |handle, spatials: &[usize]| -> Vec<Axis> {
        let Some(id) = sets.multibody_joints.rigid_body_link(handle).map(|l| l.id) else {
            return Vec::new();
        };
        let first = multibody.link(id).map_or(0, |l| l.assembly_id());
        let axis = |(i, spatial): (usize, &usize)| Axis {
            link: id,
            spatial: *spatial,
            dof: first + i,
        };
        spatials.iter().enumerate().map(axis).collect()
    };
    match body.joint {
        Joint::Free => of(link.body, &[0, 1, 2, 3, 4, 5]),
        Joint::Planar => of(link.body, &[1, 2, 3]),
        Joint::Fixed => Vec::new(),
        Joint::Hinge { .. } => of(link.body, &[3]),
        Joint::Ball => of(link.body, &[3, 4, 5]),
        Joint::Universal { .. } => {
            let mut axes = link.intermediate.map_or_else(Vec::new, |h| of(h, &[3]));
            axes.extend(of(link.body, &[3]));
            axes
        }
    }
}

/// Replaces rapier's default damping by the character's, and sets the armature.
fn prepare(character: &Character, links: &[Link], index: MultibodyIndex, sets: &mut Sets) {
    let Some(multibody) = sets.multibody_joints.get_multibody_mut(index) else {
        return;
    };
    multibody.damping_mut().fill(0.0);
    for (body, link) in character.bodies.iter().zip(links) {
        if crate::world::validate::driven_axes(&body.joint) == 0 {
            continue;
        }
        for (i, axis) in link.axes.iter().enumerate() {
            multibody.damping_mut()[axis.dof] = body.damping[i];
            multibody.armature_mut()[axis.dof] = body.armature[i];
        }
    }
}

impl Articulation {
    /// Joint position of a body as rapier has it.
    pub fn joint_position(&self, body: usize, sets: &Sets) -> JointPosition {
        let Some(index) = self.multibody else {
            return JointPosition::None;
        };
        let multibody = &sets.multibody_joints[index];
        let joint = |axis: &Axis| multibody.link(axis.link).map(|l| l.joint);
        let angle = |axis: &Axis| joint(axis).map_or(0.0, |j| j.coords()[axis.spatial]);
        let axes = &self.links[body].axes;
        match self.definition.bodies[body].joint {
            Joint::Hinge { .. } => JointPosition::Angle(angle(&axes[0])),
            Joint::Universal { .. } => JointPosition::Angles([angle(&axes[0]), angle(&axes[1])]),
            Joint::Ball => JointPosition::Rotation(joint(&axes[0]).map_or(DQuat::IDENTITY, |j| j.joint_rot())),
            Joint::Free | Joint::Planar | Joint::Fixed => JointPosition::None,
        }
    }
}
