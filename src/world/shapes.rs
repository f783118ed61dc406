//! Turns the shapes of characters, terrain and platforms into parry shapes with poses.
//!
//! Both engines detect collisions with what is built here, so a scene has the same surfaces on either of them.

use glam::{DQuat, DVec3};
use rapier3d::geometry::SharedShape;
use rapier3d::math::Pose;
use rapier3d::parry::shape::{HeightFieldFlags, TriMeshFlags};
use rapier3d::parry::utils::Array2;

use super::{BuildError, Platform, Terrain, TerrainShape};
use crate::character::{Body, Shape};

/// A parry shape and where it sits: in the body's frame for bodies, in the world for terrain, in the platform's frame for platforms.
#[derive(Clone)]
pub(crate) struct ShapePart {
    pub shape: SharedShape,
    pub position: DVec3,
    pub rotation: DQuat,
}

impl ShapePart {
    /// Pose of the part as rapier wants it.
    pub fn pose(&self) -> Pose {
        Pose::from_parts(self.position, self.rotation)
    }
}

/// Shapes of a body in its frame, one per collider and in the same order. `owner` names the character or prop in errors.
pub(crate) fn body_parts(owner: &str, body: &Body) -> Result<Vec<ShapePart>, BuildError> {
    body.colliders
        .iter()
        .enumerate()
        .map(|(i, collider)| {
            let shape = match &collider.shape {
                Shape::Box { half_extents: h } => SharedShape::cuboid(h.x, h.y, h.z),
                Shape::Capsule { half_length, radius } => SharedShape::capsule_y(*half_length, *radius),
                Shape::Sphere { radius } => SharedShape::ball(*radius),
                Shape::Hull { points } => {
                    hull(points).ok_or_else(|| degenerate_hull(owner, &body.name, i, points.len()))?
                }
            };
            Ok(ShapePart {
                shape,
                position: collider.position,
                rotation: collider.rotation,
            })
        })
        .collect()
}

/// Shapes of a piece of terrain with their poses in the world; stairs give one per step. `index` is the terrain's in the scene.
pub(crate) fn terrain_parts(index: usize, terrain: &Terrain) -> Result<Vec<ShapePart>, BuildError> {
    let at = |shape, local: DVec3| ShapePart {
        shape,
        position: terrain.position + terrain.rotation * local,
        rotation: terrain.rotation,
    };
    Ok(match &terrain.shape {
        TerrainShape::Ground => vec![at(SharedShape::halfspace(DVec3::Y), DVec3::ZERO)],
        TerrainShape::Box { .. } | TerrainShape::Stairs { .. } => (terrain.shape.boxes().into_iter())
            .map(|(half, center)| at(SharedShape::cuboid(half.x, half.y, half.z), center))
            .collect(),
        TerrainShape::Heightfield { heights, size } => {
            // parry stores the grid column by column, with rows along z and columns along x
            let (rows, columns) = (heights.len(), heights[0].len());
            let data = (0..columns)
                .flat_map(|c| (0..rows).map(move |r| heights[r][c]))
                .collect();
            let shape = SharedShape::heightfield_with_flags(
                Array2::new(rows, columns, data),
                DVec3::new(size[0], 1.0, size[1]),
                HeightFieldFlags::FIX_INTERNAL_EDGES,
            );
            vec![at(shape, DVec3::ZERO)]
        }
        TerrainShape::Mesh { vertices, triangles } => {
            let flags = TriMeshFlags::FIX_INTERNAL_EDGES
                | TriMeshFlags::DELETE_DEGENERATE_TRIANGLES
                | TriMeshFlags::DELETE_DUPLICATE_TRIANGLES;
            let shape = SharedShape::trimesh_with_flags(vertices.clone(), triangles.clone(), flags)
                .ok()
                .filter(|s| s.as_trimesh().is_some_and(|m| !m.indices().is_empty()))
                .ok_or_else(|| BuildError::BadValue {
                    what: format!("terrain {index}: triangles"),
                    value: format!("{} without one that has an area", triangles.len()),
                    expected: "at least one triangle with three different corners".into(),
                })?;
            vec![at(shape, DVec3::ZERO)]
        }
    })
}

/// Shape of a platform, centred on the platform's frame.
pub(crate) fn platform_part(platform: &Platform) -> ShapePart {
    let h = platform.half_extents;
    ShapePart {
        shape: SharedShape::cuboid(h.x, h.y, h.z),
        position: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
    }
}

fn degenerate_hull(owner: &str, body: &str, collider: usize, points: usize) -> BuildError {
    BuildError::BadValue {
        what: format!("{owner}/{body}: collider {collider}: points of the hull"),
        value: format!("{points} points that span no volume"),
        expected: "at least four points that do not lie in one plane".into(),
    }
}

/// Convex hull, or `None` if the points span no volume worth colliding with.
fn hull(points: &[DVec3]) -> Option<SharedShape> {
    // parry's hull may assert on flat input: measure the extent along three independent directions first
    let first = *points.first()?;
    let farthest = |distance: &dyn Fn(DVec3) -> f64| {
        points
            .iter()
            .copied()
            .max_by(|a, b| distance(*a).total_cmp(&distance(*b)))
            .expect("there is a first point")
    };
    let a = farthest(&|p| (p - first).length());
    let length = (a - first).length();
    let along = (a - first).try_normalize()?;
    let b = farthest(&|p| (p - first).reject_from_normalized(along).length());
    let across = (b - first).reject_from_normalized(along).try_normalize()?;
    let normal = along.cross(across);
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for p in points {
        let d = (*p - first).dot(normal);
        low = low.min(d);
        high = high.max(d);
    }
    let width = (b - first).reject_from_normalized(along).length();
    let thinnest = width.min(high - low);
    // thinner than 1e-4 of its length no contact normal is reliable
    if thinnest < 1e-4 * length {
        return None;
    }
    SharedShape::convex_hull(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::{Character, Collider, Joint, Limit, Material, Role};
    use glam::DMat3;
    use rapier3d::geometry::Ray;

    fn body(shape: Shape) -> Body {
        Body {
            name: "link".into(),
            parent: None,
            role: Role::Other,
            offset: DVec3::ZERO,
            rest: DQuat::IDENTITY,
            joint: Joint::Free,
            mass: 1.0,
            center_of_mass: DVec3::ZERO,
            inertia: DMat3::IDENTITY,
            colliders: vec![Collider {
                shape,
                position: DVec3::new(0.1, -0.2, 0.3),
                rotation: DQuat::from_rotation_x(0.4),
            }],
            material: Material::default(),
            membership: 1,
            filter: 1,
            limit: Limit::None,
            torque_limit: [f64::INFINITY; 3],
            kp: [0.0; 3],
            kd: [0.0; 3],
            damping: [0.0; 3],
            armature: [0.0; 3],
        }
    }

    fn terrain(shape: TerrainShape) -> Terrain {
        Terrain {
            shape,
            position: DVec3::new(0.7, -0.3, 1.1),
            rotation: DQuat::from_rotation_y(0.6),
            material: Material::default(),
        }
    }

    /// Height of the parts above the local point (x, z), in the terrain's frame.
    fn height(terrain: &Terrain, parts: &[ShapePart], x: f64, z: f64) -> Option<f64> {
        let origin = terrain.position + terrain.rotation * DVec3::new(x, 10.0, z);
        parts
            .iter()
            .filter_map(|p| {
                p.shape
                    .cast_ray(&p.pose(), &Ray::new(origin, DVec3::NEG_Y), 100.0, true)
                    .map(|d| 10.0 - d)
            })
            .max_by(f64::total_cmp)
    }

    /// Heights given as rows along +Z and columns along +X are found there, bilinear along the edges of a cell.
    #[test]
    fn heightfield_rows_run_along_z_and_columns_along_x() {
        let heights = vec![
            vec![0.0, 0.1, 0.2, 0.35],
            vec![0.5, 0.65, 0.71, 0.83],
            vec![0.97, 1.05, 1.2, 1.31],
        ];
        let size = [6.0, 3.0];
        let t = terrain(TerrainShape::Heightfield {
            heights: heights.clone(),
            size,
        });
        let parts = terrain_parts(0, &t).unwrap();
        for (r, row) in heights.iter().enumerate() {
            for (c, h) in row.iter().enumerate() {
                // just inside the corner of the grid, where a ray cannot slip past the edge
                let x = (c as f64 / 3.0 - 0.5) * size[0] * (1.0 - 1e-9);
                let z = (r as f64 / 2.0 - 0.5) * size[1] * (1.0 - 1e-9);
                let found = height(&t, &parts, x, z).expect("a hit");
                assert!((found - h).abs() < 1e-7, "row {r} column {c}: {found} instead of {h}");
            }
        }
    }

    /// Step i of a stair is (i + 1) rises high over its run and nothing lies before the first and behind the last.
    #[test]
    fn stairs_rise_along_z() {
        let t = terrain(TerrainShape::Stairs {
            steps: 3,
            rise: 0.17,
            run: 0.29,
            width: 1.4,
        });
        let parts = terrain_parts(0, &t).unwrap();
        for i in 0..3 {
            for f in [0.03, 0.5, 0.97] {
                let found = height(&t, &parts, -0.65, (i as f64 + f) * 0.29).expect("a hit");
                assert!((found - (i + 1) as f64 * 0.17).abs() < 1e-12);
            }
        }
        assert_eq!(height(&t, &parts, 0.0, -0.01), None);
        assert_eq!(height(&t, &parts, 0.0, 3.01 * 0.29), None);
        assert_eq!(height(&t, &parts, 0.71, 0.1), None);
    }

    /// A mesh keeps its surface; one without area is refused by name.
    #[test]
    fn mesh_without_area_is_refused() {
        let vertices = vec![
            DVec3::new(-1.0, 0.2, -1.0),
            DVec3::new(1.0, 0.4, -1.0),
            DVec3::new(-1.0, 0.6, 1.0),
            DVec3::new(-1.0, 0.2, -1.0),
        ];
        let t = terrain(TerrainShape::Mesh {
            vertices: vertices.clone(),
            triangles: vec![[0, 2, 1], [0, 3, 1]],
        });
        let parts = terrain_parts(0, &t).unwrap();
        let (x, z) = (-0.3, -0.45);
        let expected = 0.2 + 0.1 * (x + 1.0) + 0.2 * (z + 1.0);
        assert!((height(&t, &parts, x, z).unwrap() - expected).abs() < 1e-12);
        let flat = terrain(TerrainShape::Mesh {
            vertices,
            triangles: vec![[0, 3, 1]],
        });
        let error = terrain_parts(4, &flat).err().expect("no area");
        assert!(error.to_string().contains("terrain 4"), "{error}");
    }

    /// Hulls of points in one plane, on one line or in one place are refused by body and collider, others have their volume.
    #[test]
    fn flat_hull_is_refused() {
        let flat: [Vec<DVec3>; 4] = [
            vec![],
            vec![DVec3::ONE; 5],
            (0..6).map(|i| DVec3::new(0.1, 0.2, 0.3) * i as f64).collect(),
            (0..8)
                .map(|i| DVec3::new(i as f64 * 0.1, (i * i) as f64 * 0.02, 0.5))
                .collect(),
        ];
        for points in flat {
            let error = body_parts("man", &body(Shape::Hull { points })).err().expect("flat");
            assert!(error.to_string().contains("man/link: collider 0"), "{error}");
        }
        let corners = (0..8)
            .map(|i| DVec3::new((i & 1) as f64 * 0.2, (i >> 1 & 1) as f64 * 0.3, (i >> 2) as f64 * 0.4))
            .collect();
        let parts = body_parts("man", &body(Shape::Hull { points: corners })).unwrap();
        let mass = parts[0].shape.mass_properties(1.0).mass();
        assert!((mass - 0.2 * 0.3 * 0.4).abs() < 1e-12, "{mass}");
    }

    /// A capsule's segment lies along the collider's y axis and the collider's pose is kept.
    #[test]
    fn capsule_lies_along_y() {
        let character = Character {
            name: "man".into(),
            bodies: vec![body(Shape::Capsule {
                half_length: 0.3,
                radius: 0.1,
            })],
        };
        let parts = body_parts("man", &character.bodies[0]).unwrap();
        let aabb = parts[0].shape.compute_local_aabb();
        assert!((aabb.maxs - DVec3::new(0.1, 0.4, 0.1)).length() < 1e-12);
        assert_eq!(parts[0].position, DVec3::new(0.1, -0.2, 0.3));
        assert_eq!(parts[0].rotation, DQuat::from_rotation_x(0.4));
    }
}
