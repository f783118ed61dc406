//! Volume, centre and inertia of solid shapes of uniform density.

use glam::{DMat3, DVec3};

use super::{Collider, Shape, geometry};

/// Mass, centre of mass and inertia about it, in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Kilograms, or cubic metres if the density is 1.
    pub mass: f64,
    pub center: DVec3,
    /// About the centre, kg m².
    pub inertia: DMat3,
}

impl MassProperties {
    /// Of a shape in its own frame, at density 1; `None` for a hull without volume.
    pub fn of_shape(shape: &Shape) -> Option<MassProperties> {
        use std::f64::consts::PI;
        let at_origin = |mass, diagonal| MassProperties {
            mass,
            center: DVec3::ZERO,
            inertia: DMat3::from_diagonal(diagonal),
        };
        Some(match shape {
            Shape::Box { half_extents: h } => {
                let mass = 8.0 * h.x * h.y * h.z;
                let s = *h * *h;
                at_origin(mass, DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 3.0))
            }
            Shape::Sphere { radius } => {
                let mass = 4.0 / 3.0 * PI * radius * radius * radius;
                at_origin(mass, DVec3::splat(0.4 * mass * radius * radius))
            }
            Shape::Capsule { half_length, radius } => {
                let (l, r) = (*half_length, *radius);
                let cylinder = PI * r * r * 2.0 * l;
                let ball = 4.0 / 3.0 * PI * r * r * r;
                let along = cylinder * r * r / 2.0 + ball * 0.4 * r * r;
                // two half balls whose centres of mass lie 3/8 r beyond the ends of the segment
                let across = cylinder * (r * r / 4.0 + l * l / 3.0) + ball * (0.4 * r * r + l * l + 0.75 * l * r);
                at_origin(cylinder + ball, DVec3::new(across, along, across))
            }
            Shape::Hull { points } => return of_hull(points),
        })
    }

    /// Of shapes on one body, in the body's frame, scaled to `mass`. Where shapes overlap the volume counts twice.
    /// `None` if there is no volume.
    pub fn of_colliders(colliders: &[Collider], mass: f64) -> Option<MassProperties> {
        let mut parts = Vec::with_capacity(colliders.len());
        for collider in colliders {
            let part = MassProperties::of_shape(&collider.shape)?;
            let R = DMat3::from_quat(collider.rotation);
            parts.push(MassProperties {
                mass: part.mass,
                center: collider.position + collider.rotation * part.center,
                inertia: R * part.inertia * R.transpose(),
            });
        }
        let whole = MassProperties::sum(&parts)?;
        Some(MassProperties {
            mass,
            center: whole.center,
            inertia: whole.inertia * (mass / whole.mass),
        })
    }

    /// Of several bodies in one frame taken together; `None` if they have no mass.
    pub fn sum(parts: &[MassProperties]) -> Option<MassProperties> {
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        if !(mass > 0.0 && mass.is_finite()) {
            return None;
        }
        let center = parts.iter().map(|p| p.center * p.mass).sum::<DVec3>() / mass;
        let mut inertia = DMat3::ZERO;
        for part in parts {
            inertia += part.inertia + point_inertia(part.mass, part.center - center);
        }
        // rotations leave rounding in the mirror entries
        let inertia = (inertia + inertia.transpose()) * 0.5;
        Some(MassProperties { mass, center, inertia })
    }

    /// The same body's inertia about another point of the frame.
    pub fn inertia_about(&self, point: DVec3) -> DMat3 {
        self.inertia + point_inertia(self.mass, self.center - point)
    }
}

/// Inertia of a point mass at `x` about the origin.
pub(crate) fn point_inertia(mass: f64, x: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(x * x.x, x * x.y, x * x.z);
    (DMat3::from_diagonal(DVec3::splat(x.length_squared())) - outer) * mass
}

/// Eigenvalues of a symmetric matrix in ascending order.
pub(crate) fn principal_moments(inertia: DMat3) -> [f64; 3] {
    let m = nalgebra::Matrix3::from_fn(|r, c| inertia.col(c)[r]);
    let mut values: [f64; 3] = m.symmetric_eigenvalues().into();
    values.sort_by(f64::total_cmp);
    values
}

/// Signed tetrahedra from the first corner to every facet (the volume integrals of Tonon, "Explicit exact formulas for
/// the 3-D tetrahedron inertia tensor in terms of its vertex coordinates", 2005).
fn of_hull(points: &[DVec3]) -> Option<MassProperties> {
    let (corners, triangles) = geometry::convex_hull(points)?;
    let origin = *corners.first()?;
    let mut volume = 0.0;
    let mut first = DVec3::ZERO;
    let mut second = DMat3::ZERO;
    for [a, b, c] in triangles {
        let [a, b, c] = [a, b, c].map(|i| corners[i as usize] - origin);
        let v = a.dot(b.cross(c)) / 6.0;
        volume += v;
        let sum = a + b + c;
        first += sum * (v / 4.0);
        // ∫ x xᵀ over a tetrahedron with one corner at the origin
        for x in [a, b, c, sum] {
            second += DMat3::from_cols(x * x.x, x * x.y, x * x.z) * (v / 20.0);
        }
    }
    if volume <= 0.0 || !volume.is_finite() {
        return None;
    }
    let center = first / volume;
    let about_origin = DMat3::from_diagonal(DVec3::splat(second.x_axis.x + second.y_axis.y + second.z_axis.z)) - second;
    Some(MassProperties {
        mass: volume,
        center: origin + center,
        inertia: about_origin - point_inertia(volume, center),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn close(a: DMat3, b: DMat3, tolerance: f64) -> bool {
        (a - b).to_cols_array().iter().all(|d| d.abs() <= tolerance)
    }

    #[test]
    fn a_box_given_as_a_hull_has_the_same_mass_center_and_inertia() {
        // the polyhedron integral and the closed formula are the same thing
        let h = DVec3::new(0.13, 0.21, 0.34);
        let middle = DVec3::new(0.4, -0.3, 0.7);
        let turn = DQuat::from_xyzw(0.2, -0.4, 0.1, 0.88).normalize();
        let mut points = vec![middle];
        for i in 0..8 {
            let sign = DVec3::new([-1.0, 1.0][i & 1], [-1.0, 1.0][i >> 1 & 1], [-1.0, 1.0][i >> 2 & 1]);
            points.push(middle + turn * (h * sign));
        }
        let hull = MassProperties::of_shape(&Shape::Hull { points }).unwrap();
        let box_ = Collider {
            shape: Shape::Box { half_extents: h },
            position: middle,
            rotation: turn,
        };
        let expected = MassProperties::of_colliders(&[box_], hull.mass).unwrap();
        assert!((hull.mass - 8.0 * h.x * h.y * h.z).abs() < 1e-14);
        assert!((hull.center - middle).length() < 1e-13);
        assert!(close(hull.inertia, expected.inertia, 1e-13));
    }

    #[test]
    fn a_capsule_of_no_length_is_a_sphere_and_a_long_one_a_rod() {
        // limits of the capsule formula
        let shape = |half_length, radius| MassProperties::of_shape(&Shape::Capsule { half_length, radius }).unwrap();
        let ball = MassProperties::of_shape(&Shape::Sphere { radius: 0.3 }).unwrap();
        assert!(close(shape(0.0, 0.3).inertia, ball.inertia, 1e-15));
        let rod = shape(2.0, 1e-4);
        let expected = rod.mass * 16.0 / 12.0;
        assert!((rod.inertia.x_axis.x / expected - 1.0).abs() < 1e-3);
    }

    #[test]
    fn two_halves_make_the_whole() {
        // the inertia of a box equals that of its two halves
        let half = |x: f64| Collider {
            shape: Shape::Box {
                half_extents: DVec3::new(0.25, 0.2, 0.1),
            },
            position: DVec3::new(x, 0.1, 0.0),
            rotation: DQuat::IDENTITY,
        };
        let whole = Collider {
            shape: Shape::Box {
                half_extents: DVec3::new(0.5, 0.2, 0.1),
            },
            position: DVec3::new(0.3, 0.1, 0.0),
            rotation: DQuat::IDENTITY,
        };
        let a = MassProperties::of_colliders(&[half(0.05), half(0.55)], 3.0).unwrap();
        let b = MassProperties::of_colliders(&[whole], 3.0).unwrap();
        assert!((a.center - b.center).length() < 1e-14);
        assert!(close(a.inertia, b.inertia, 1e-14));
    }

    #[test]
    fn points_in_a_plane_have_no_volume() {
        // flat and coincident hulls are refused, not divided by zero
        let flat = [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0],
            [1.0, 0.0, 1.0],
            [0.5, 0.0, 0.5],
        ];
        let points: Vec<DVec3> = flat.iter().map(|p| DVec3::from_array(*p)).collect();
        assert_eq!(MassProperties::of_shape(&Shape::Hull { points: points.clone() }), None);
        let turned = points.iter().map(|p| DQuat::from_rotation_x(0.3) * *p).collect();
        assert_eq!(MassProperties::of_shape(&Shape::Hull { points: turned }), None);
        assert_eq!(
            MassProperties::of_shape(&Shape::Hull {
                points: vec![DVec3::ONE; 6]
            }),
            None
        );
    }
}
