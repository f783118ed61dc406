//! Exponential map, logarithm and differences of rotations, right near 0 and at 180 degrees.
//!
//! A rotation vector is `axis · angle` in radians, angle in `[0, π]` when it comes from [`log`].

use glam::{DMat3, DQuat, DVec3};

/// Rotation of `|w|` radians about `w` (the exponential map of so(3)).
pub fn exp(w: DVec3) -> DQuat {
    let angle_squared = w.length_squared();
    // below 1e-4 rad the series is exact to the last bit: the next term is angle^6 / 645120
    let (sin_over_angle, cos) = if angle_squared < 1e-8 {
        (0.5 - angle_squared / 48.0, 1.0 - angle_squared / 8.0)
    } else {
        let angle = angle_squared.sqrt();
        let (sin, cos) = (libm::sin(0.5 * angle), libm::cos(0.5 * angle));
        (sin / angle, cos)
    };
    let v = w * sin_over_angle;
    DQuat::from_xyzw(v.x, v.y, v.z, cos).normalize()
}

/// Rotation vector of the unit quaternion `q`: the inverse of [`exp`], the shorter way round.
///
/// `q` and `-q` give the same vector. At 180 degrees, where both directions are right, the one whose first non-zero
/// component is positive is chosen, so the result is a function of the rotation.
pub fn log(q: DQuat) -> DVec3 {
    let mut v = DVec3::new(q.x, q.y, q.z);
    let mut w = q.w;
    if w < 0.0 || (w == 0.0 && first_component_is_negative(v)) {
        v = -v;
        w = -w;
    }
    let sin = v.length();
    if sin < 1e-6 {
        // 2 atan2(s, w) / s for small s
        return v * (2.0 / w) * (1.0 - sin * sin / (3.0 * w * w));
    }
    v * (2.0 * libm::atan2(sin, w) / sin)
}

fn first_component_is_negative(v: DVec3) -> bool {
    v.x < 0.0 || (v.x == 0.0 && (v.y < 0.0 || (v.y == 0.0 && v.z < 0.0)))
}

/// The rotation vector that takes `current` to `target`, in the frame both are expressed in: `log(target · current⁻¹)`.
pub fn difference(target: DQuat, current: DQuat) -> DVec3 {
    log(target * current.conjugate())
}

/// The matrix `[v]×` with `[v]× u = v × u`.
pub fn cross_matrix(v: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, v.z, -v.y),
        DVec3::new(-v.z, 0.0, v.x),
        DVec3::new(v.y, -v.x, 0.0),
    )
}
