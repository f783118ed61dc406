//! Splitting a rotation into a twist about an axis and a swing of that axis.
//!
//! `q = swing · twist`: the twist turns about `axis`, the swing moves `axis` the shortest way to where `q` takes it.

use glam::{DQuat, DVec3};

use super::rotation::log;

/// Below this length the projection on the twist is rounding error: the swing is 180 degrees to within 2e-12 rad.
const NO_TWIST: f64 = 1e-12;

/// `(swing, twist)` of the unit quaternion `q` about the unit vector `axis`, `q = swing · twist`.
///
/// At a swing of 180 degrees every twist is as good as any other; there the twist is the identity. The twist has
/// `w ≥ 0`, so it turns by at most 180 degrees.
pub fn swing_twist(q: DQuat, axis: DVec3) -> (DQuat, DQuat) {
    let along = DVec3::new(q.x, q.y, q.z).dot(axis);
    let length = libm::sqrt(along * along + q.w * q.w);
    let twist = if length < NO_TWIST {
        DQuat::IDENTITY
    } else {
        let scale = if q.w < 0.0 { -1.0 / length } else { 1.0 / length };
        let v = axis * (along * scale);
        DQuat::from_xyzw(v.x, v.y, v.z, q.w * scale)
    };
    (q * twist.conjugate(), twist)
}

/// Angle of the twist of `q` about the unit vector `axis`, in `[−π, π]`; 0 where the swing is 180 degrees.
pub fn twist_angle(q: DQuat, axis: DVec3) -> f64 {
    log(swing_twist(q, axis).1).dot(axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rotation::{angle_between, exp};
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn unit() -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-1.0..1.0f64)
            .prop_map(DVec3::from_array)
            .prop_filter("not near zero", |v| v.length() > 0.1)
            .prop_map(DVec3::normalize)
    }

    proptest! {
        #[test]
        fn a_rotation_is_its_swing_times_its_twist(axis in unit(), w in prop::array::uniform3(-4.0..4.0f64)) {
            // the product is the rotation, the twist keeps the axis and the swing's own axis is perpendicular to it
            let q = exp(DVec3::from_array(w));
            let (swing, twist) = swing_twist(q, axis);
            prop_assert!(angle_between(swing * twist, q) < 1e-14);
            prop_assert!((twist * axis - axis).length() < 1e-14);
            prop_assert!(DVec3::new(swing.x, swing.y, swing.z).dot(axis).abs() < 1e-14);
        }

        #[test]
        fn a_twist_of_known_angle_is_found_whatever_the_swing(axis in unit(), other in unit(), twist in -3.1..3.1f64, swing in 0.0..3.0f64) {
            // swing_twist undoes the composition of a swing below 180 degrees and a twist
            let bend = axis.cross(other);
            prop_assume!(bend.length() > 0.1);
            let q = exp(bend.normalize() * swing) * exp(axis * twist);
            // the twist's share of the quaternion shrinks with the swing: at 3 rad it is cos(1.5) = 0.07
            prop_assert!((twist_angle(q, axis) - twist).abs() < 1e-13);
        }
    }

    #[test]
    fn a_swing_of_half_a_turn_has_no_twist() {
        // at 180 degrees of swing the twist is the identity and the swing carries the whole rotation
        let axis = DVec3::new(0.48, 0.6, 0.64);
        let bend = axis.cross(DVec3::new(0.3, -0.7, 0.2)).normalize();
        let q = DQuat::from_xyzw(bend.x, bend.y, bend.z, 0.0);
        let (swing, twist) = swing_twist(q, axis);
        assert_eq!(twist, DQuat::IDENTITY);
        assert_eq!(swing, q);
        assert!((swing * axis + axis).length() < 1e-15);
        // a hair off half a turn both parts are still unit
        let (swing, twist) = swing_twist(exp(bend * (PI - 1e-9)), axis);
        assert!(swing.is_normalized() && twist.is_normalized());
    }
}
