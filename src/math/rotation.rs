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

/// Angular velocity of `exp(w(t))` where the vector is `w` and changes at `rate`: `d/dt exp(w) = [ω]× exp(w)`.
///
/// The differential of the exponential map in the closed form of so(3):
/// `ω = (I + (1 − cos θ)/θ² [w]× + (θ − sin θ)/θ³ [w]×²) ẇ` with `θ = |w|`.
pub fn exp_rate(w: DVec3, rate: DVec3) -> DVec3 {
    let angle_squared = w.length_squared();
    // below 1e-4 rad the next terms of the series are smaller than the rounding of the sum
    let (first, second) = if angle_squared < 1e-8 {
        (0.5 - angle_squared / 24.0, 1.0 / 6.0)
    } else {
        let angle = angle_squared.sqrt();
        let half = libm::sin(0.5 * angle);
        (
            2.0 * half * half / angle_squared,
            (angle - libm::sin(angle)) / (angle * angle_squared),
        )
    };
    let turned = w.cross(rate);
    rate + turned * first + w.cross(turned) * second
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

/// Angle between two rotations, radians in `[0, π]`; accurate to rounding near 0 and near 180 degrees.
pub fn angle_between(a: DQuat, b: DQuat) -> f64 {
    let d = a * b.conjugate();
    2.0 * libm::atan2(DVec3::new(d.x, d.y, d.z).length(), d.w.abs())
}

/// The rotation a share `t` of the way from `a` to `b` at constant angular speed, the shorter way round.
///
/// Exactly `a` at `t = 0` and, up to sign, exactly `b` at `t = 1`; `t` outside `[0, 1]` goes on beyond the ends. The sign is that
/// of `a`'s hemisphere. Halfway between opposite rotations (180 degrees) the direction is the one [`log`] chooses.
pub fn slerp(a: DQuat, b: DQuat, t: f64) -> DQuat {
    if t == 0.0 {
        return a;
    }
    let b = if a.dot(b) < 0.0 { -b } else { b };
    if t == 1.0 {
        return b;
    }
    (exp(difference(b, a) * t) * a).normalize()
}

/// Flips signs so that neighbouring quaternions lie in one hemisphere; the rotations stay what they are.
pub fn make_sign_continuous(rotations: &mut [DQuat]) {
    for i in 1..rotations.len() {
        rotations[i] = same_hemisphere(rotations[i], rotations[i - 1]);
    }
}

/// `q` or `-q`, whichever is nearer to `reference`.
pub fn same_hemisphere(q: DQuat, reference: DQuat) -> DQuat {
    if q.dot(reference) < 0.0 { -q } else { q }
}

/// Heading of a rotation: its twist about +Y, radians in `[−π, π]`.
pub fn heading(q: DQuat) -> f64 {
    super::swing_twist::twist_angle(q, DVec3::Y)
}

#[cfg(test)]
#[allow(non_snake_case)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-size..size).prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn log_undoes_exp_at_every_size(direction in vector(1.0), exponent in -12.0..0.49f64) {
            // rotation vectors from 1e-12 to just below 180 degrees come back to rounding
            prop_assume!(direction.length() > 0.1);
            let angle = libm::exp(exponent * std::f64::consts::LN_10);
            let w = direction.normalize() * angle;
            prop_assert!((log(exp(w)) - w).length() <= 1e-15 * 10.0 * angle.max(1e-3));
            prop_assert!((log(-exp(w)) - w).length() <= 1e-15 * 10.0 * angle.max(1e-3));
        }

        #[test]
        fn exp_agrees_with_the_rodrigues_formula(w in vector(3.0)) {
            // R = I + sin θ [u]× + (1 − cos θ) [u]×²
            let angle = w.length();
            prop_assume!(angle > 1e-3);
            let K = cross_matrix(w / angle);
            let R = DMat3::IDENTITY + K * libm::sin(angle) + K * K * (1.0 - libm::cos(angle));
            let found = DMat3::from_quat(exp(w));
            for (a, b) in found.to_cols_array().into_iter().zip(R.to_cols_array()) {
                prop_assert!((a - b).abs() < 2e-15);
            }
        }

        #[test]
        fn the_rate_of_exp_is_its_derivative(w in vector(3.0), rate in vector(2.0), exponent in -9.0..0.0f64) {
            // central differences of exp along w + t rate, at every size of w
            let w = w * libm::exp(exponent * std::f64::consts::LN_10);
            let h = 1e-5;
            let turned = difference(exp(w + rate * h), exp(w - rate * h)) / (2.0 * h);
            // third derivatives are below 50: h² gives 1e-9, rounding of a unit quaternion 1e-11
            prop_assert!((exp_rate(w, rate) - turned).length() < 1e-8);
        }

        #[test]
        fn difference_takes_current_to_target(a in vector(3.0), b in vector(3.0)) {
            // exp(difference) · current is the target, and the angle is the geodesic one
            let (current, target) = (exp(a), exp(b));
            let d = difference(target, current);
            prop_assert!(angle_between(exp(d) * current, target) < 2e-15);
            prop_assert!((d.length() - angle_between(target, current)).abs() < 4e-15);
            prop_assert!(d.length() <= PI + 1e-15);
        }

        #[test]
        fn slerp_has_constant_speed_and_exact_ends(a in vector(3.0), b in vector(3.0), t in 0.0..1.0f64) {
            // the angle from a grows as t, and the ends are the arguments bit by bit
            let (a, b) = (exp(a), exp(b));
            let total = angle_between(a, b);
            prop_assert!((angle_between(a, slerp(a, b, t)) - t * total).abs() < 4e-15);
            prop_assert!((angle_between(slerp(a, b, t), b) - (1.0 - t) * total).abs() < 4e-15);
            prop_assert_eq!(slerp(a, b, 0.0), a);
            let end = slerp(a, b, 1.0);
            prop_assert!(end == b || end == -b);
        }
    }

    #[test]
    fn half_a_turn_has_one_logarithm() {
        // q and −q at exactly 180 degrees give the same vector, of length π
        let u = DVec3::new(-2.0, 3.0, 6.0) / 7.0;
        let q = DQuat::from_xyzw(u.x, u.y, u.z, 0.0);
        assert_eq!(log(q), log(-q));
        assert!((log(q).length() - PI).abs() < 1e-15);
        assert!(log(q).x > 0.0);
        assert!((angle_between(q, DQuat::IDENTITY) - PI).abs() < 1e-15);
    }

    #[test]
    fn adding_rotation_vectors_is_not_composing_them() {
        // x then y by 45 degrees each: the sum is 17.1 degrees away from the product (GAMES-105, recomputed)
        let a = 45.0f64.to_radians();
        let composed = exp(DVec3::Y * a) * exp(DVec3::X * a);
        let error = angle_between(composed, exp(DVec3::new(a, a, 0.0))).to_degrees();
        assert!((error - 17.1).abs() < 0.05, "{error}");
    }

    #[test]
    fn sign_continuity_keeps_rotations_and_joins_neighbours() {
        // after the pass every neighbouring dot product is positive and each rotation is what it was
        let original: Vec<DQuat> = (0..50)
            .map(|i| {
                let q = exp(DVec3::new(0.3, 1.0, -0.4) * (0.3 * f64::from(i)));
                if i % 3 == 1 { -q } else { q }
            })
            .collect();
        let mut q = original.clone();
        make_sign_continuous(&mut q);
        assert!(q.windows(2).all(|w| w[0].dot(w[1]) > 0.9));
        assert!(q.iter().zip(&original).all(|(a, b)| a == b || *a == -*b));
    }

    #[test]
    fn heading_is_the_turn_about_the_vertical() {
        // a lean after a turn does not change the heading
        let q = exp(DVec3::Y * 2.4) * exp(DVec3::new(0.3, 0.0, -0.2));
        assert!((heading(q) - 2.4).abs() < 1e-15);
    }
}
