//! Shapes as triangles: exactly what collides.

use glam::{DVec3, Vec3};
use kiss3d::procedural::{IndexBuffer, RenderMesh};
use kiss3d::scene::SceneNode3d;

use super::vec3;
use crate::character::{Shape, convex_hull};
use crate::world::TerrainShape;

/// Subdivisions of round shapes: smooth at any size of picture that is looked at as a whole.
const AROUND: u32 = 28;
const ALONG: u32 = 14;

/// A node with the shape in its own frame.
pub(super) fn shape_node(shape: &Shape) -> SceneNode3d {
    match shape {
        Shape::Box { half_extents } => box_node(*half_extents),
        Shape::Sphere { radius } => SceneNode3d::sphere_with_subdiv(*radius as f32, AROUND, ALONG),
        Shape::Capsule { half_length, radius } => {
            SceneNode3d::capsule_with_subdiv(*radius as f32, 2.0 * *half_length as f32, AROUND, ALONG)
        }
        // a character whose hulls span no volume cannot be loaded
        Shape::Hull { points } => match convex_hull(points) {
            Some((corners, triangles)) => flat_node(&corners, &triangles),
            None => SceneNode3d::empty(),
        },
    }
}

pub(super) fn box_node(half_extents: DVec3) -> SceneNode3d {
    let size = vec3(2.0 * half_extents);
    SceneNode3d::cube(size.x, size.y, size.z)
}

/// Every triangle with a normal of its own.
fn flat_node(corners: &[DVec3], triangles: &[[u32; 3]]) -> SceneNode3d {
    let corners = corners.iter().map(|c| vec3(*c)).collect();
    SceneNode3d::trimesh(corners, triangles.to_vec(), Vec3::ONE, true)
}

/// Normals are means over the triangles around a corner.
fn smooth_node(corners: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> SceneNode3d {
    let mut mesh = RenderMesh::new(corners, None, None, Some(IndexBuffer::Unified(triangles)));
    mesh.recompute_normals();
    SceneNode3d::render_mesh(mesh, Vec3::ONE)
}

/// A node with a piece of terrain in its own frame; `None` for the ground, which has no end.
pub(super) fn terrain_node(shape: &TerrainShape) -> Option<SceneNode3d> {
    Some(match shape {
        TerrainShape::Ground => return None,
        TerrainShape::Box { half_extents } => box_node(*half_extents),
        TerrainShape::Stairs {
            steps,
            rise,
            run,
            width,
        } => {
            let mut stairs = SceneNode3d::empty();
            for i in 0..*steps {
                let height = (i + 1) as f64 * rise;
                let mut step = box_node(0.5 * DVec3::new(*width, height, *run));
                step.set_position(vec3(DVec3::new(0.0, 0.5 * height, (i as f64 + 0.5) * run)));
                stairs.add_child(step);
            }
            stairs
        }
        TerrainShape::Heightfield { heights, size } => heightfield_node(heights, *size),
        TerrainShape::Mesh { vertices, triangles } => {
            let mut node = flat_node(vertices, triangles);
            // files from elsewhere may wind their triangles either way
            node.enable_backface_culling(false);
            node
        }
    })
}

fn heightfield_node(heights: &[Vec<f64>], size: [f64; 2]) -> SceneNode3d {
    let (rows, columns) = (heights.len(), heights.first().map_or(0, Vec::len));
    let place = |i: usize, n: usize, size: f64| (i as f64 / (n.max(2) - 1) as f64 - 0.5) * size;
    let mut corners = Vec::with_capacity(rows * columns);
    for (r, row) in heights.iter().enumerate() {
        for (c, height) in row.iter().enumerate() {
            let corner = DVec3::new(place(c, columns, size[0]), *height, place(r, rows, size[1]));
            corners.push(vec3(corner));
        }
    }
    let mut triangles = Vec::with_capacity(2 * rows * columns);
    for r in 1..rows {
        for c in 1..columns {
            let at = |r: usize, c: usize| (r * columns + c) as u32;
            let (a, b, d, e) = (at(r - 1, c - 1), at(r - 1, c), at(r, c - 1), at(r, c));
            // parry cuts its cells along the same diagonal
            triangles.push([a, d, b]);
            triangles.push([b, d, e]);
        }
    }
    smooth_node(corners, triangles)
}
