//! Many shapes in few draws. Software Vulkan takes about 15 ms for every object it is given, however small, and next to nothing for
//! another instance of one: all boxes of an experiment are one object, all round ends another, all shafts of capsules a third.

use glam::{DQuat, DVec3, Mat3, Quat, Vec3};
use kiss3d::color::{Color, WHITE};
use kiss3d::procedural::{IndexBuffer, RenderMesh};
use kiss3d::scene::{InstanceData3d, SceneNode3d};

use super::meshes::flat_node;
use super::{pose3, quat, vec3};
use crate::character::{Shape, convex_hull};
use crate::experiment::BodyPose;

/// Subdivisions of round shapes: smooth at any size of picture in which a whole character is seen.
const AROUND: u32 = 24;
const ALONG: u32 = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Box,
    /// Half a sphere, on top of the plane y = 0.
    Cap,
    /// The side of a cylinder.
    Tube,
}

/// A piece of a body, in the body's frame.
struct Part {
    body: usize,
    kind: Kind,
    position: Vec3,
    rotation: Quat,
    size: Vec3,
    color: Color,
}

/// Shapes on bodies that move.
pub(super) struct Batch {
    root: SceneNode3d,
    nodes: [SceneNode3d; 3],
    instances: [Vec<InstanceData3d>; 3],
    parts: Vec<Part>,
    /// Body and node; hulls are all different.
    hulls: Vec<(usize, SceneNode3d)>,
    alpha: f32,
}

impl Batch {
    /// An empty batch below `parent`; with `alpha` < 1 what is behind it shines through.
    pub fn new(parent: &mut SceneNode3d, alpha: f32) -> Batch {
        let mut root = parent.add_group();
        let nodes = [SceneNode3d::cube(1.0, 1.0, 1.0), cap(), tube()].map(|mut node| {
            finish(&mut node, WHITE, alpha);
            root.add_child(node.clone());
            node
        });
        Batch {
            root,
            nodes,
            instances: [Vec::new(), Vec::new(), Vec::new()],
            parts: Vec::new(),
            hulls: Vec::new(),
            alpha,
        }
    }

    /// Adds a shape at a place in the frame of `body`.
    pub fn add(&mut self, body: usize, shape: &Shape, position: DVec3, rotation: DQuat, color: Color) {
        let mut part = |kind, offset: DVec3, turn: DQuat, size: DVec3| {
            self.parts.push(Part {
                body,
                kind,
                position: vec3(position + rotation * offset),
                rotation: quat(rotation * turn),
                size: vec3(size),
                color,
            });
        };
        let over = DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0);
        match shape {
            Shape::Box { half_extents } => part(Kind::Box, DVec3::ZERO, DQuat::IDENTITY, 2.0 * half_extents),
            Shape::Sphere { radius } => {
                part(Kind::Cap, DVec3::ZERO, DQuat::IDENTITY, DVec3::splat(*radius));
                part(Kind::Cap, DVec3::ZERO, over, DVec3::splat(*radius));
            }
            Shape::Capsule { half_length, radius } => {
                let end = DVec3::Y * *half_length;
                part(Kind::Cap, end, DQuat::IDENTITY, DVec3::splat(*radius));
                part(Kind::Cap, -end, over, DVec3::splat(*radius));
                let size = DVec3::new(*radius, 2.0 * half_length, *radius);
                part(Kind::Tube, DVec3::ZERO, DQuat::IDENTITY, size);
            }
            Shape::Hull { points } => {
                // a character whose hulls span no volume cannot be loaded
                if let Some((corners, triangles)) = convex_hull(points) {
                    let corners: Vec<DVec3> = corners.iter().map(|c| position + rotation * *c).collect();
                    let mut node = flat_node(&corners, &triangles);
                    finish(&mut node, color, self.alpha);
                    self.root.add_child(node.clone());
                    self.hulls.push((body, node));
                }
            }
        }
    }

    pub fn set_visible(&mut self, visible: bool) {
        self.root.set_visible(visible);
    }

    /// Puts every shape where its body is; shapes of bodies that are not there are not shown.
    pub fn show(&mut self, bodies: &[BodyPose], offset: Vec3) {
        for instances in &mut self.instances {
            instances.clear();
        }
        for part in &self.parts {
            let Some(body) = bodies.get(part.body) else { continue };
            let rotation = quat(body.rotation);
            self.instances[part.kind as usize].push(InstanceData3d {
                position: vec3(body.position) + rotation * part.position + offset,
                deformation: Mat3::from_quat(rotation * part.rotation) * Mat3::from_diagonal(part.size),
                color: part.color,
                ..InstanceData3d::default()
            });
        }
        for (node, instances) in self.nodes.iter_mut().zip(&self.instances) {
            node.set_visible(!instances.is_empty());
            node.set_instances(instances);
        }
        for (body, node) in &mut self.hulls {
            if let Some(body) = bodies.get(*body) {
                node.set_pose(pose3(body));
                node.set_position(vec3(body.position) + offset);
            }
        }
    }
}

fn finish(node: &mut SceneNode3d, color: Color, alpha: f32) {
    node.set_color(Color::new(color.r, color.g, color.b, alpha));
    node.set_roughness(0.65);
    node.set_metallic(0.0);
    node.set_casts_shadows(alpha >= 1.0);
}

/// Rings of points from the equator or the lower end upwards, each turned by `AROUND` steps about y: height, radius and the
/// slope of the normal.
fn lathe(rings: &[(f32, f32, Vec3)]) -> SceneNode3d {
    let (mut points, mut normals, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for (height, radius, normal) in rings {
        for i in 0..AROUND {
            let (sin, cos) = libm::sincosf(std::f32::consts::TAU * i as f32 / AROUND as f32);
            points.push(Vec3::new(radius * sin, *height, radius * cos));
            normals.push(Vec3::new(normal.x * sin, normal.y, normal.x * cos));
        }
    }
    for ring in 1..rings.len() as u32 {
        for i in 0..AROUND {
            let at = |ring: u32, i: u32| ring * AROUND + i % AROUND;
            let (a, b, c, d) = (at(ring - 1, i), at(ring - 1, i + 1), at(ring, i), at(ring, i + 1));
            triangles.push([a, b, c]);
            triangles.push([b, d, c]);
        }
    }
    let mesh = RenderMesh::new(points, Some(normals), None, Some(IndexBuffer::Unified(triangles)));
    SceneNode3d::render_mesh(mesh, Vec3::ONE)
}

/// Half of the unit sphere.
fn cap() -> SceneNode3d {
    let rings: Vec<_> = (0..=ALONG)
        .map(|i| {
            let (sin, cos) = libm::sincosf(std::f32::consts::FRAC_PI_2 * i as f32 / ALONG as f32);
            (sin, cos, Vec3::new(cos, sin, 0.0))
        })
        .collect();
    lathe(&rings)
}

/// The side of a cylinder of radius 1 and height 1.
fn tube() -> SceneNode3d {
    lathe(&[(-0.5, 1.0, Vec3::X), (0.5, 1.0, Vec3::X)])
}
