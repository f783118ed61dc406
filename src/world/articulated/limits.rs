#![allow(non_snake_case)]
//! Joint limits as one-sided constraints on the rates of a joint.

use glam::{DQuat, DVec3};

use crate::character::{Joint, Limit};
use crate::dynamics::TreeBody;

/// Slots per body in which limit impulses are remembered: low and high of two angles, or swing, twist low, twist high.
pub(super) const SLOTS: usize = 4;

/// A limit that may be reached in this step.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveLimit {
    pub articulation: usize,
    pub body: usize,
    pub slot: usize,
    /// Radians left; negative when exceeded.
    pub gap: f64,
    /// `d(gap)/dt` per unit rate of the joint's degrees of freedom.
    pub gradient: [f64; 3],
    /// Part of the gap that the step will lose to the curvature of the limit, radians, not positive.
    pub curvature: f64,
}

/// Calls `found(slot, gap, gradient)` for each limit of a joint at coordinates `q` (the joint's own).
pub(super) fn each(limit: &Limit, body: &TreeBody, q: &[f64], mut found: impl FnMut(usize, f64, [f64; 3])) {
    match (limit, body.joint) {
        (Limit::None, _) => {}
        (Limit::Range(ranges), Joint::Hinge { .. } | Joint::Universal { .. }) => {
            for (i, [low, high]) in ranges.iter().enumerate().take(body.dofs) {
                let mut gradient = [0.0; 3];
                gradient[i] = 1.0;
                found(2 * i, q[i] - low, gradient);
                gradient[i] = -1.0;
                found(2 * i + 1, high - q[i], gradient);
            }
        }
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            Joint::Ball,
        ) => {
            // relative to the middle of the cone
            let q = center.conjugate() * DQuat::from_xyzw(q[0], q[1], q[2], q[3]);
            let bone = q * *axis;
            let cos = bone.dot(*axis).clamp(-1.0, 1.0);
            let normal = bone.cross(*axis);
            let sin = normal.length();
            if *swing < std::f64::consts::PI && sin > 1e-9 {
                let angle = libm::atan2(sin, cos);
                // the swing angle shrinks when the bone turns towards the axis
                found(0, swing - angle, (*center * (normal / sin)).to_array());
            }
            if twist[0] > -std::f64::consts::PI || twist[1] < std::f64::consts::PI {
                // undefined where the bone points backwards: no twist limit there
                if 1.0 + cos > 1e-3 {
                    let v = DVec3::new(q.x, q.y, q.z);
                    let mut angle = 2.0 * libm::atan2(v.dot(*axis), q.w);
                    if angle > std::f64::consts::PI {
                        angle -= std::f64::consts::TAU;
                    } else if angle < -std::f64::consts::PI {
                        angle += std::f64::consts::TAU;
                    }
                    let rate = *center * ((*axis + bone) / (1.0 + cos));
                    found(1, angle - twist[0], rate.to_array());
                    found(2, twist[1] - angle, (-rate).to_array());
                }
            }
        }
        _ => {}
    }
}
