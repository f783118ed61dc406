//! Euler angles: all 12 axis sequences, intrinsic and extrinsic.
//!
//! A sequence alone says nothing: intrinsic `XYZ` turns about axes that move with the body, `R = Rx(a) Ry(b) Rz(c)`;
//! extrinsic `XYZ` about fixed axes in this order of time, `R = Rz(c) Ry(b) Rx(a)`. [`EulerOrder`] holds both facts.
//! Angles are radians, listed in the order of the sequence.

use std::f64::consts::{PI, TAU};
use std::fmt;

use glam::{DQuat, DVec3};

/// One of the coordinate axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// Unit vector.
    pub fn vector(self) -> DVec3 {
        DVec3::AXES[self as usize]
    }

    /// Rotation of `angle` radians about the axis.
    pub fn rotation(self, angle: f64) -> DQuat {
        let v = self.vector() * libm::sin(0.5 * angle);
        DQuat::from_xyzw(v.x, v.y, v.z, libm::cos(0.5 * angle))
    }
}

/// Whether the axes move with the body or stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axes {
    Intrinsic,
    Extrinsic,
}

/// A sequence of three axes, no two neighbours equal, and whether they move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EulerOrder {
    sequence: [Axis; 3],
    axes: Axes,
}

/// Below this angle (radians) from gimbal lock the first and third angle are no longer told apart.
const GIMBAL_LOCK: f64 = 1e-9;

impl EulerOrder {
    /// The usual order of BVH files: intrinsic, `R = Rz Rx Ry`.
    pub const ZXY: EulerOrder = EulerOrder {
        sequence: [Axis::Z, Axis::X, Axis::Y],
        axes: Axes::Intrinsic,
    };

    /// `None` if two neighbouring axes are equal: such a sequence does not reach every rotation.
    pub fn new(sequence: [Axis; 3], axes: Axes) -> Option<EulerOrder> {
        (sequence[0] != sequence[1] && sequence[1] != sequence[2]).then_some(EulerOrder { sequence, axes })
    }

    /// Reads a sequence such as `ZXY` or `xyx`; `None` if it is not one of the twelve.
    pub fn parse(text: &str, axes: Axes) -> Option<EulerOrder> {
        let mut sequence = [Axis::X; 3];
        let mut letters = text.chars();
        for axis in &mut sequence {
            *axis = match letters.next()?.to_ascii_uppercase() {
                'X' => Axis::X,
                'Y' => Axis::Y,
                'Z' => Axis::Z,
                _ => return None,
            };
        }
        if letters.next().is_some() {
            return None;
        }
        EulerOrder::new(sequence, axes)
    }

    /// All 24 orders: twelve intrinsic, then twelve extrinsic.
    pub fn all() -> impl Iterator<Item = EulerOrder> {
        const XYZ: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
        [Axes::Intrinsic, Axes::Extrinsic].into_iter().flat_map(|axes| {
            XYZ.into_iter().flat_map(move |a| {
                XYZ.into_iter()
                    .flat_map(move |b| XYZ.into_iter().filter_map(move |c| EulerOrder::new([a, b, c], axes)))
            })
        })
    }

    pub fn sequence(self) -> [Axis; 3] {
        self.sequence
    }

    pub fn axes(self) -> Axes {
        self.axes
    }

    /// Whether the first and last axis are the same (proper Euler angles such as `ZXZ`).
    pub fn is_proper(self) -> bool {
        self.sequence[0] == self.sequence[2]
    }

    /// The rotation with these angles.
    pub fn to_quat(self, angles: [f64; 3]) -> DQuat {
        let [a, b, c] = [0, 1, 2].map(|i| self.sequence[i].rotation(angles[i]));
        match self.axes {
            Axes::Intrinsic => a * b * c,
            Axes::Extrinsic => c * b * a,
        }
    }

    /// Angles of the unit quaternion `q`: first and third in `[−π, π]`, the second in `[−π/2, π/2]`, or in `[0, π]`
    /// for proper sequences.
    ///
    /// In gimbal lock, where only the sum or difference of the first and third angle is determined, the third of an
    /// intrinsic (first of an extrinsic) sequence is 0. [`to_quat`](Self::to_quat) gives the rotation back there too.
    pub fn from_quat(self, q: DQuat) -> [f64; 3] {
        self.angles(q, None)
    }

    /// The angles of `q` that are nearest to `previous`, for curves without jumps: whole turns are added, the other
    /// of the two solutions is taken where it is nearer, and in gimbal lock the angle that is free stays where it was.
    pub fn from_quat_near(self, q: DQuat, previous: [f64; 3]) -> [f64; 3] {
        let first = self.angles(q, Some(previous));
        // turning the outer axes by half a turn and reflecting the middle angle gives the same rotation
        let middle = if self.is_proper() { -first[1] } else { PI - first[1] };
        let second = [first[0] + PI, middle, first[2] + PI];
        let unwrap = |angles: [f64; 3]| [0, 1, 2].map(|i| nearest_turn(angles[i], previous[i]));
        let distance = |angles: &[f64; 3]| -> f64 {
            (0..3)
                .map(|i| (angles[i] - previous[i]) * (angles[i] - previous[i]))
                .sum()
        };
        let (first, second) = (unwrap(first), unwrap(second));
        if distance(&second) < distance(&first) {
            second
        } else {
            first
        }
    }

    /// Bernardes and Viollet, "Quaternion to Euler angles conversion: a direct, general and computationally efficient
    /// method", PLoS ONE 17(11), 2022, for the extrinsic sequence; an intrinsic one is the extrinsic one backwards.
    fn angles(self, q: DQuat, previous: Option<[f64; 3]>) -> [f64; 3] {
        let reversed = self.axes == Axes::Intrinsic;
        let mut axis = self.sequence.map(|a| a as usize);
        if reversed {
            axis.reverse();
        }
        let [i, j, mut k] = axis;
        let proper = i == k;
        if proper {
            k = 3 - i - j;
        }
        // +1 if (i, j, k) is an even permutation of (x, y, z)
        let parity = if (j + 3 - i) % 3 == 1 { 1.0 } else { -1.0 };
        let v = [q.x, q.y, q.z];
        let (a, b, c, d) = if proper {
            (q.w, v[i], v[j], v[k] * parity)
        } else {
            (q.w - v[j], v[i] + v[k] * parity, v[j] + q.w, v[k] * parity - v[i])
        };
        let middle = 2.0 * libm::atan2(libm::hypot(c, d), libm::hypot(a, b));
        let half_sum = libm::atan2(b, a);
        let half_difference = libm::atan2(d, c);
        // the angle that gimbal lock leaves free (the one applied first in time), in this sequence's inner convention
        let free = previous.map_or(0.0, |p| if reversed { p[2] } else { p[0] });
        let (first, third) = if middle < GIMBAL_LOCK {
            (free, 2.0 * half_sum - free)
        } else if PI - middle < GIMBAL_LOCK {
            (free, 2.0 * half_difference + free)
        } else {
            (half_sum - half_difference, half_sum + half_difference)
        };
        let (middle, third) = if proper {
            (middle, third)
        } else {
            (middle - 0.5 * PI, third * parity)
        };
        let [first, third] = [first, third].map(|angle| nearest_turn(angle, 0.0));
        if reversed {
            [third, middle, first]
        } else {
            [first, middle, third]
        }
    }
}

impl fmt::Display for EulerOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for axis in self.sequence {
            write!(f, "{axis:?}")?;
        }
        Ok(())
    }
}

/// `angle` plus the whole number of turns that brings it nearest to `reference`.
pub fn nearest_turn(angle: f64, reference: f64) -> f64 {
    angle - TAU * ((angle - reference) / TAU).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rotation::{angle_between, exp, log};
    use proptest::prelude::*;

    fn order(text: &str, axes: Axes) -> EulerOrder {
        EulerOrder::parse(text, axes).unwrap()
    }

    #[test]
    fn the_lecture_example_has_its_known_axis_and_angle() {
        // x 60, y 45, z 72 degrees: extrinsic 81.1131 degrees, intrinsic 115.335 degrees (GAMES-105, recomputed)
        let angles = [60.0f64, 45.0, 72.0].map(f64::to_radians);
        let q = order("XYZ", Axes::Extrinsic).to_quat(angles);
        let w = log(q);
        assert!((w.length().to_degrees() - 81.1131).abs() < 1e-4);
        assert!((w.normalize() - DVec3::new(0.275173, 0.829964, 0.485222)).length() < 1e-6);
        assert!(angle_between(q, DQuat::from_xyzw(0.178917, 0.539641, 0.315490, 0.759765).normalize()) < 2e-6);
        let p = order("XYZ", Axes::Intrinsic).to_quat(angles);
        let w = log(p);
        assert!((w.length().to_degrees() - 115.335).abs() < 1e-3);
        assert!((w.normalize() - DVec3::new(0.672833, -0.004026, 0.739783)).length() < 2e-6);
        // the first rotation read in the other convention
        let other = order("XYZ", Axes::Intrinsic).from_quat(q).map(f64::to_degrees);
        for (found, expected) in other.into_iter().zip([-10.9858, 68.8904, 52.6481]) {
            assert!((found - expected).abs() < 1e-4, "{other:?}");
        }
    }

    #[test]
    fn there_are_twelve_sequences_and_each_reads_its_own_name() {
        // parse undoes display; sequences with equal neighbours and other words are refused
        assert_eq!(EulerOrder::all().count(), 24);
        for o in EulerOrder::all() {
            assert_eq!(EulerOrder::parse(&o.to_string(), o.axes()), Some(o));
        }
        for bad in ["XXY", "ZYY", "XY", "XYZX", "XYW", ""] {
            assert_eq!(EulerOrder::parse(bad, Axes::Intrinsic), None);
        }
    }

    proptest! {
        #[test]
        fn every_rotation_survives_the_way_through_every_order(w in prop::array::uniform3(-3.0..3.0f64)) {
            // to_quat(from_quat(q)) is q; the middle angle stays in its range
            let q = exp(DVec3::from_array(w));
            for o in EulerOrder::all() {
                let angles = o.from_quat(q);
                prop_assert!(angle_between(o.to_quat(angles), q) < 1e-13, "{o} {angles:?}");
                let range = if o.is_proper() { 0.0..=PI } else { -0.5 * PI..=0.5 * PI };
                prop_assert!(range.contains(&angles[1]), "{o} {angles:?}");
            }
        }

        #[test]
        fn angles_inside_the_range_come_back_unchanged(a in -3.1..3.1f64, b in 0.05..1.5f64, c in -3.1..3.1f64) {
            // from_quat(to_quat(angles)) is angles away from gimbal lock
            for o in EulerOrder::all() {
                let angles = o.from_quat(o.to_quat([a, b, c]));
                for (found, expected) in angles.into_iter().zip([a, b, c]) {
                    // 1/sin or 1/cos of the middle angle (at most 20) amplifies rounding
                    prop_assert!((found - expected).abs() < 1e-13, "{o} {angles:?}");
                }
            }
        }

        #[test]
        fn gimbal_lock_keeps_the_rotation_and_the_free_angle(a in -3.0..3.0f64, c in -3.0..3.0f64, off in -1e-7..1e-7f64, hint in -9.0..9.0f64) {
            // at and near the lock the rotation is kept; at the lock the free angle follows the hint
            for o in EulerOrder::all() {
                let locks = if o.is_proper() { [0.0, PI] } else { [-0.5 * PI, 0.5 * PI] };
                for lock in locks {
                    for (middle, exact) in [(lock, true), (lock + off, false)] {
                        let q = o.to_quat([a, middle, c]);
                        prop_assert!(angle_between(o.to_quat(o.from_quat(q)), q) < 2e-9, "{o}");
                        let near = o.from_quat_near(q, [hint, lock, hint]);
                        prop_assert!(angle_between(o.to_quat(near), q) < 2e-9, "{o}");
                        if exact {
                            let free = if o.axes() == Axes::Intrinsic { near[2] } else { near[0] };
                            prop_assert!((free - hint).abs() < 1e-9, "{o} {near:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unwrapped_angles_of_a_smooth_motion_do_not_jump() {
        // three turns about a skew axis: neighbouring samples differ by little more than the path's own step
        for o in EulerOrder::all() {
            let axis = DVec3::new(0.2, 0.93, -0.3).normalize();
            let tilt = exp(DVec3::new(0.3, 0.2, 0.4));
            let mut previous = o.from_quat(tilt);
            for i in 0..3000 {
                let q = exp(axis * (TAU * f64::from(i) / 1000.0)) * tilt;
                let angles = o.from_quat_near(q, previous);
                assert!(angle_between(o.to_quat(angles), q) < 1e-13);
                let step = (0..3).map(|k| (angles[k] - previous[k]).abs()).fold(0.0, f64::max);
                assert!(step < 0.2, "{o}: {previous:?} to {angles:?}");
                previous = angles;
            }
        }
    }
}
