//! Terrain, platforms and props of an experiment, as the world takes them.

use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::error::ExperimentError;
use super::heights;
use super::spec::*;
use crate::character::{Body, Character, Collider, Joint, Limit, MassProperties, Material, Role, Shape};
use crate::files;
use crate::math::rotation::exp;
use crate::world::{Platform, PlatformMotion, Prop, Terrain, TerrainShape};

/// Rotation vector in degrees to a rotation.
fn rotation(degrees: [f64; 3]) -> DQuat {
    exp(DVec3::from_array(degrees.map(f64::to_radians)))
}

fn input<E: ToString>(what: String) -> impl FnOnce(E) -> ExperimentError {
    move |error| ExperimentError::Input {
        what,
        message: error.to_string(),
    }
}

/// A piece of terrain; `place` is its place in the file, paths are relative to `folder`.
pub(crate) fn terrain(spec: &TerrainSpec, place: usize, folder: &Path, seed: u64) -> Result<Terrain, ExperimentError> {
    let what = || format!("terrain[{place}]");
    let mut turn = rotation(spec.rotation_deg);
    let shape = match spec.kind {
        TerrainKind::Ground => TerrainShape::Ground,
        TerrainKind::Slope => {
            // turning about +X by a negative angle lifts +Z
            turn *= exp(DVec3::X * -spec.slope_deg.unwrap_or_default().to_radians());
            TerrainShape::Ground
        }
        TerrainKind::Box => TerrainShape::Box {
            half_extents: 0.5 * DVec3::from_array(spec.size.unwrap_or_default()),
        },
        TerrainKind::Stairs => TerrainShape::Stairs {
            steps: spec.steps.unwrap_or_default(),
            rise: spec.rise_m.unwrap_or_default(),
            run: spec.run_m.unwrap_or_default(),
            width: spec.width_m.unwrap_or_default(),
        },
        TerrainKind::Heightfield => {
            let size = spec.size_xz.unwrap_or_default();
            let heights = match (&spec.heights, &spec.csv, &spec.noise) {
                (Some(heights), _, _) => {
                    heights::check(heights).map_err(input(format!("{}.heights", what())))?;
                    heights.clone()
                }
                (_, Some(csv), _) => {
                    let path = folder.join(csv);
                    heights::parse_csv(&files::read_text(&path)?).map_err(input(format!(
                        "{}: {}",
                        what(),
                        path.display()
                    )))?
                }
                (_, _, Some(noise)) => heights::hills(noise, size, seed, place as u64),
                _ => Vec::new(),
            };
            TerrainShape::Heightfield { heights, size }
        }
        TerrainKind::Mesh => {
            let path = folder.join(spec.file.as_deref().unwrap_or(Path::new("")));
            let (vertices, triangles) = parse_obj(&files::read_text(&path)?, spec.scale.unwrap_or(1.0))
                .map_err(input(format!("{}: {}", what(), path.display())))?;
            TerrainShape::Mesh { vertices, triangles }
        }
    };
    Ok(Terrain {
        shape,
        position: DVec3::from_array(spec.position),
        rotation: turn,
        material: Material {
            friction: spec.friction,
            restitution: spec.restitution,
        },
    })
}

pub(crate) fn platform(spec: &PlatformSpec) -> Platform {
    let vector = |v: Option<[f64; 3]>| DVec3::from_array(v.unwrap_or_default());
    Platform {
        half_extents: 0.5 * DVec3::from_array(spec.size),
        position: DVec3::from_array(spec.position),
        rotation: rotation(spec.rotation_deg),
        motion: match spec.motion {
            PlatformMotionKind::Sine => PlatformMotion::Sine {
                amplitude: vector(spec.amplitude_m),
                frequency: spec.frequency_hz.unwrap_or_default(),
            },
            PlatformMotionKind::Linear => PlatformMotion::Linear {
                velocity: vector(spec.velocity),
                angular_velocity: vector(spec.angular_velocity),
            },
        },
        material: Material {
            friction: spec.friction,
            restitution: spec.restitution,
        },
    }
}

/// Name by which disturbances call the prop at `place`.
pub(crate) fn prop_name(spec: &PropSpec, place: usize) -> String {
    spec.name.clone().unwrap_or_else(|| format!("prop{place}"))
}

/// A loose or hinged thing.
pub(crate) fn prop(spec: &PropSpec, place: usize, folder: &Path) -> Result<Prop, ExperimentError> {
    let name = prop_name(spec, place);
    let vectors = |points: &[[f64; 3]]| points.iter().map(|p| DVec3::from_array(*p)).collect();
    let shape = match spec.kind {
        PropKind::Box => Shape::Box {
            half_extents: 0.5 * DVec3::from_array(spec.size.unwrap_or_default()),
        },
        PropKind::Sphere => Shape::Sphere {
            radius: spec.radius.unwrap_or_default(),
        },
        PropKind::Capsule => Shape::Capsule {
            half_length: 0.5 * spec.length.unwrap_or_default(),
            radius: spec.radius.unwrap_or_default(),
        },
        PropKind::Hull => Shape::Hull {
            points: vectors(spec.points.as_deref().unwrap_or_default()),
        },
        PropKind::Character => {
            let path = folder.join(spec.file.as_deref().unwrap_or(Path::new("")));
            let mut character = Character::load(&path)?;
            character.bodies[0].offset += DVec3::from_array(spec.position);
            return Ok(Prop {
                body: Arc::new(character),
            });
        }
    };
    let turn = rotation(spec.rotation_deg);
    let (joint, center, limit, damping) = match &spec.hinge {
        // the frame of the body is that of its joint: it stands on the axis, the shape beside it
        Some(hinge) => (
            Joint::Hinge {
                axis: DVec3::from_array(hinge.axis).normalize(),
            },
            -DVec3::from_array(hinge.point),
            match hinge.range_deg {
                Some(range) => Limit::Range([range.map(f64::to_radians), [0.0; 2]]),
                None => Limit::None,
            },
            hinge.damping,
        ),
        None => (Joint::Free, DVec3::ZERO, Limit::None, 0.0),
    };
    let collider = Collider {
        shape,
        position: center,
        rotation: DQuat::IDENTITY,
    };
    let colliders = vec![collider];
    let mass = spec.mass.unwrap_or_default();
    let properties = MassProperties::of_colliders(&colliders, mass).ok_or_else(|| ExperimentError::Input {
        what: format!("props[{place}]"),
        message: "its shape has no volume, so its inertia is not known".into(),
    })?;
    Ok(Prop {
        body: Arc::new(Character {
            name: name.clone(),
            bodies: vec![Body {
                name,
                parent: None,
                role: Role::Other,
                offset: DVec3::from_array(spec.position) - turn * center,
                rest: turn,
                joint,
                mass,
                center_of_mass: properties.center,
                inertia: properties.inertia,
                colliders,
                material: Material {
                    friction: spec.friction,
                    restitution: spec.restitution,
                },
                membership: u32::MAX,
                filter: u32::MAX,
                limit,
                torque_limit: [f64::INFINITY; 3],
                kp: [0.0; 3],
                kd: [0.0; 3],
                damping: [damping; 3],
                armature: [0.0; 3],
            }],
        }),
    })
}

/// Vertices and triangles of an OBJ file: `v` and `f` lines, faces fanned into triangles; everything else is skipped.
fn parse_obj(text: &str, scale: f64) -> Result<(Vec<DVec3>, Vec<[u32; 3]>), String> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        let line_number = i + 1;
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut v = [0.0; 3];
                for x in &mut v {
                    let word = words.next().unwrap_or("nothing");
                    *x =
                        word.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                            format!("line {line_number}: expected three finite numbers, found {word}")
                        })?;
                }
                vertices.push(DVec3::from_array(v) * scale);
            }
            Some("f") => {
                let corners = words
                    .map(|word| {
                        let index: Option<i64> = word.split('/').next().and_then(|i| i.parse().ok());
                        let index = match index {
                            Some(i) if i > 0 => i - 1,
                            Some(i) if i < 0 => vertices.len() as i64 + i,
                            _ => -1,
                        };
                        (index >= 0 && (index as usize) < vertices.len())
                            .then_some(index as u32)
                            .ok_or_else(|| {
                                format!(
                                    "line {line_number}: `{word}` is none of the {} vertices above",
                                    vertices.len()
                                )
                            })
                    })
                    .collect::<Result<Vec<u32>, String>>()?;
                if corners.len() < 3 {
                    return Err(format!(
                        "line {line_number}: a face needs three corners, found {}",
                        corners.len()
                    ));
                }
                triangles.extend((1..corners.len() - 1).map(|k| [corners[0], corners[k], corners[k + 1]]));
            }
            _ => {}
        }
    }
    if triangles.is_empty() {
        return Err("there are no faces in it".into());
    }
    Ok((vertices, triangles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_become_triangles_and_bad_corners_name_their_line() {
        // a quad fans into two triangles, relative indices count back, and an unknown vertex is refused
        let text = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1/1 2/2 3/3 -1\n";
        let (vertices, triangles) = parse_obj(text, 2.0).unwrap();
        assert_eq!(vertices[2], DVec3::new(2.0, 0.0, 2.0));
        assert_eq!(triangles, [[0, 1, 2], [0, 2, 3]]);
        assert!(parse_obj("v 0 0 0\nf 1 2 3\n", 1.0).unwrap_err().contains("line 2"));
        assert!(parse_obj("v 0 nan 0\n", 1.0).unwrap_err().contains("nan"));
        assert!(parse_obj("", 1.0).is_err());
    }

    #[test]
    fn a_hinged_prop_stands_where_it_would_stand_without_its_hinge() {
        // the shape's centre is at `position` whatever the point of the hinge
        let spec: PropSpec = toml::from_str(
            "kind = \"box\"\nmass = 12\nsize = [0.4, 0.1, 3]\nposition = [1, 2, 3]\nrotation_deg = [10, 20, 30]\n\
             hinge = { axis = [1, 0, 0], point = [0, -0.05, 0.7] }",
        )
        .unwrap();
        let prop = prop(&spec, 0, Path::new("")).unwrap();
        let body = &prop.body.bodies[0];
        let center = body.offset + body.rest * body.colliders[0].position;
        assert!((center - DVec3::new(1.0, 2.0, 3.0)).length() < 1e-14);
        assert!((body.center_of_mass - DVec3::new(0.0, 0.05, -0.7)).length() < 1e-14);
        assert!((body.inertia.x_axis.x - 12.0 * (0.01 + 9.0) / 12.0).abs() < 1e-12);
    }
}
