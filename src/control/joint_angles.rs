//! From rotations to the positions of joints that cannot reach all of them, and back.

#![allow(non_snake_case)]

use std::f64::consts::{PI, TAU};

use glam::{DQuat, DVec3};

use crate::character::Joint;
use crate::math::rotation::{exp, log};
use crate::math::swing_twist::twist_angle;
use crate::world::JointPosition;

/// Rotation `q` of a joint at `position`.
pub fn joint_rotation(joint: &Joint, position: &JointPosition) -> DQuat {
    match (joint, position) {
        (Joint::Hinge { axis }, JointPosition::Angle(a)) => exp(*axis * *a),
        (Joint::Universal { axes }, JointPosition::Angles([a, b])) => exp(axes[0] * *a) * exp(axes[1] * *b),
        (Joint::Ball, JointPosition::Rotation(q)) => *q,
        _ => DQuat::IDENTITY,
    }
}

/// The position in which `joint` comes nearest to the rotation `q`: the twist about a hinge, the two angles of a
/// universal joint.
pub fn position_from_rotation(joint: &Joint, q: DQuat) -> JointPosition {
    match joint {
        Joint::Hinge { axis } => JointPosition::Angle(twist_angle(q, *axis)),
        Joint::Universal { axes } => JointPosition::Angles(universal_angles(q, *axes)),
        Joint::Ball => JointPosition::Rotation(q),
        Joint::Free | Joint::Planar | Joint::Fixed => JointPosition::None,
    }
}

/// A joint's position in four numbers, as recordings hold it: one or two angles, or a quaternion.
pub(crate) fn position_numbers(position: &JointPosition) -> [f64; 4] {
    match *position {
        JointPosition::None => [0.0; 4],
        JointPosition::Angle(a) => [a, 0.0, 0.0, 0.0],
        JointPosition::Angles([a, b]) => [a, b, 0.0, 0.0],
        JointPosition::Rotation(q) => q.to_array(),
    }
}

/// The position of a joint from its four numbers.
///
/// # Panics
/// If there are fewer.
pub(crate) fn position_from_numbers(joint: &Joint, numbers: &[f64]) -> JointPosition {
    match joint {
        Joint::Free | Joint::Planar | Joint::Fixed => JointPosition::None,
        Joint::Hinge { .. } => JointPosition::Angle(numbers[0]),
        Joint::Universal { .. } => JointPosition::Angles([numbers[0], numbers[1]]),
        Joint::Ball => JointPosition::Rotation(DQuat::from_slice(numbers)),
    }
}

/// `angle` moved by whole turns into `(-π, π]`.
pub fn wrap(angle: f64) -> f64 {
    let wrapped = angle - TAU * (angle / TAU).round();
    if wrapped <= -PI { wrapped + TAU } else { wrapped }
}

/// Angles `[a, b]` with `exp(axes[0] a) · exp(axes[1] b)` nearest to `q` (exact if `q` has that form).
///
/// Starts from the Euler angles about the axes, made perpendicular, and ends with Gauss-Newton on the rotation left over.
pub fn universal_angles(q: DQuat, axes: [DVec3; 2]) -> [f64; 2] {
    let x = axes[0];
    let z = x.cross(axes[1]).normalize_or_zero();
    let y = z.cross(x);
    // intrinsic XYZ in the frame (x, y, z): R·x = cos b (cos c ...), read b and a off the image of z
    let image_z = q * z;
    let b = libm::asin(image_z.dot(x).clamp(-1.0, 1.0));
    let a = if image_z.dot(x).abs() < 1.0 - 1e-12 {
        libm::atan2(-image_z.dot(y), image_z.dot(z))
    } else {
        0.0
    };
    let mut angles = [a, b];
    for _ in 0..10 {
        let R_first = exp(axes[0] * angles[0]);
        let r = log(q * (R_first * exp(axes[1] * angles[1])).conjugate());
        let (u, v) = (axes[0], R_first * axes[1]);
        let (uv, det) = (u.dot(v), 1.0 - u.dot(v) * u.dot(v));
        if det < 1e-9 {
            break;
        }
        let (ru, rv) = (r.dot(u), r.dot(v));
        let step = [(ru - uv * rv) / det, (rv - uv * ru) / det];
        angles = [angles[0] + step[0], angles[1] + step[1]];
        if step[0].abs() + step[1].abs() < 1e-13 {
            break;
        }
    }
    angles.map(wrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_universal_joint_gets_back_the_angles_it_was_built_from() {
        // positions → rotation → positions is the identity, for skewed axes too
        for axes in [
            [DVec3::X, DVec3::Z],
            [DVec3::new(0.6, 0.0, 0.8), DVec3::new(0.1, 0.9, -0.3).normalize()],
        ] {
            for (a, b) in [(0.3, -0.7), (-1.2, 0.4), (2.1, 1.1), (0.0, 0.0), (-0.2, -1.3)] {
                let q = exp(axes[0] * a) * exp(axes[1] * b);
                let found = universal_angles(q, axes);
                assert!(
                    (found[0] - a).abs() < 1e-9 && (found[1] - b).abs() < 1e-9,
                    "{found:?} for {a} {b}"
                );
            }
        }
    }
}
