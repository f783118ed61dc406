//! Terrain as triangles: exactly what collides.

use glam::{DVec3, Vec3};
use kiss3d::procedural::{IndexBuffer, RenderMesh};
use kiss3d::scene::SceneNode3d;

use super::vec3;
use crate::world::TerrainShape;

/// Every triangle with a normal of its own.
pub(super) fn flat_node(corners: &[DVec3], triangles: &[[u32; 3]]) -> SceneNode3d {
    let corners = corners.iter().map(|c| vec3(*c)).collect();
    SceneNode3d::trimesh(corners, triangles.to_vec(), Vec3::ONE, true)
}

/// Normals are means over the triangles around a corner.
fn smooth_node(corners: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> SceneNode3d {
    let mut mesh = RenderMesh::new(corners, None, None, Some(IndexBuffer::Unified(triangles)));
    mesh.recompute_normals();
    SceneNode3d::render_mesh(mesh, Vec3::ONE)
}

/// A node with a heightfield or mesh in its own frame; `None` for terrain that is made of boxes or has no end.
pub(super) fn terrain_node(shape: &TerrainShape) -> Option<SceneNode3d> {
    match shape {
        TerrainShape::Heightfield { heights, size } => Some(heightfield_node(heights, *size)),
        TerrainShape::Mesh { vertices, triangles } => {
            let mut node = flat_node(vertices, triangles);
            // files from elsewhere may wind their triangles either way
            node.enable_backface_culling(false);
            Some(node)
        }
        TerrainShape::Ground | TerrainShape::Box { .. } | TerrainShape::Stairs { .. } => None,
    }
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
