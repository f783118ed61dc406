//! Reading a clip at any time: poses and velocities, once or looped.

use glam::{DQuat, DVec3};

use super::Clip;
use crate::math::rotation::{difference, heading, slerp};
use crate::skeleton::Pose;

/// What the root of a looped clip does when a cycle is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RootMotion {
    /// Go on from where the cycle ended, in the ground plane and in heading: a walk walks on. The height, the lean and
    /// everything else repeat exactly, so nothing sinks or topples with the number of cycles.
    #[default]
    Accumulate,
    /// Jump back to where the cycle began.
    Restart,
}

/// Rates of a pose.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PoseVelocity {
    /// Of the root's origin, world axes, m/s.
    pub root_linear: DVec3,
    /// Of the root, world axes, rad/s.
    pub root_angular: DVec3,
    /// Per joint, in the parent-side joint frame (`R_parent · rest`; `rest` for the root), rad/s: `q⁺ = exp(ω dt) · q`.
    pub joints_angular: Vec<DVec3>,
}

/// Beyond as many cycles a time does not tell any more where in its cycle it is.
const MOST_CYCLES: f64 = 9e15;

/// Ground-plane motion of the root from the beginning of one cycle to the beginning of another.
struct CycleShift {
    heading: f64,
    /// Where the cycle's first root position in the ground plane lies, before and after.
    from: DVec3,
    to: DVec3,
}

impl Clip {
    /// The pose at `time` seconds. A looped clip repeats in both directions of time and its root goes on
    /// ([`RootMotion::Accumulate`]); otherwise times before and after the clip read its first and last frame. A NaN
    /// reads the first frame.
    ///
    /// # Panics
    /// If the clip has no frames, which [`from_frames`](Clip::from_frames) refuses.
    pub fn sample(&self, time: f64) -> Pose {
        self.sample_with(time, RootMotion::Accumulate)
    }

    /// [`sample`](Self::sample) with a choice of what the root does from cycle to cycle.
    pub fn sample_with(&self, time: f64, root: RootMotion) -> Pose {
        let mut pose = Pose::default();
        self.sample_into(time, root, &mut pose);
        pose
    }

    /// [`sample_with`](Self::sample_with) into `out`, which is resized to fit and so allocates only the first time.
    pub fn sample_into(&self, time: f64, root: RootMotion, out: &mut Pose) {
        let (cycle, phase) = self.cycle_and_phase(time);
        self.interpolate(phase, out);
        if cycle != 0.0 && root == RootMotion::Accumulate {
            let shift = self.cycle_shift(cycle);
            let turn = turn(shift.heading);
            let x = out.translations[0];
            out.translations[0] = shift.to + turn * (x - shift.from);
            // the turn about +Y leaves the height alone, but only up to rounding
            out.translations[0].y = x.y;
            let rest = self.skeleton.joints[0].rest;
            out.rotations[0] = (rest.conjugate() * turn * rest * out.rotations[0]).normalize();
        }
    }

    /// Velocities at `time` by a difference over one frame centred there. At both ends of the clip, and of every cycle
    /// of a looped one, the frame is shifted inside, so a clip that does not close well has no spike at its seam. Outside
    /// of a clip that is not looped, and with a single frame, everything is at rest.
    pub fn sample_velocity(&self, time: f64) -> PoseVelocity {
        let joints = self.skeleton.joints.len();
        let duration = self.duration();
        let outside = !self.looped && !(0.0..=duration).contains(&time);
        if duration == 0.0 || outside {
            return PoseVelocity {
                joints_angular: vec![DVec3::ZERO; joints],
                ..PoseVelocity::default()
            };
        }
        let h = self.frame_time;
        let (cycle, phase) = self.cycle_and_phase(time);
        let start = (phase - 0.5 * h).clamp(0.0, duration - h);
        let (mut a, mut b) = (Pose::default(), Pose::default());
        self.interpolate(start, &mut a);
        self.interpolate(start + h, &mut b);
        let turn = turn(if cycle == 0.0 {
            0.0
        } else {
            self.cycle_shift(cycle).heading
        });
        let mut joints_angular: Vec<DVec3> = (0..joints)
            .map(|j| difference(b.rotations[j], a.rotations[j]) / h)
            .collect();
        let rest = self.skeleton.joints[0].rest;
        let root_angular = turn * (rest * joints_angular[0]);
        joints_angular[0] = rest.conjugate() * root_angular;
        PoseVelocity {
            root_linear: turn * ((b.translations[0] - a.translations[0]) / h),
            root_angular,
            joints_angular,
        }
    }

    /// Number of whole cycles before `time` (0 unless looped) and the time within the cycle.
    fn cycle_and_phase(&self, time: f64) -> (f64, f64) {
        let duration = self.duration();
        let time = if time.is_nan() { 0.0 } else { time };
        if self.looped && duration > 0.0 && time.is_finite() {
            let cycle = (time / duration).floor();
            if cycle.abs() > MOST_CYCLES {
                return (MOST_CYCLES.copysign(cycle), 0.0);
            }
            // rounding of the product must not leave the cycle
            (cycle, (time - cycle * duration).clamp(0.0, duration))
        } else {
            (0.0, time.clamp(0.0, duration))
        }
    }

    fn interpolate(&self, phase: f64, out: &mut Pose) {
        let last = self.frames.len() - 1;
        let position = phase / self.frame_time;
        let i = (position.floor() as usize).min(last);
        let t = (position - i as f64).clamp(0.0, 1.0);
        let (a, b) = (&self.frames[i], &self.frames[(i + 1).min(last)]);
        out.translations.clear();
        out.translations
            .extend(a.translations.iter().zip(&b.translations).map(|(a, b)| {
                // a + (b − a) t misses b at t = 1
                *a * (1.0 - t) + *b * t
            }));
        out.rotations.clear();
        out.rotations
            .extend(a.rotations.iter().zip(&b.rotations).map(|(a, b)| slerp(*a, *b, t)));
    }

    /// The `cycle`-th power of the motion from the first frame to the last, in closed form: adding up cycle by cycle
    /// would cost time and rounding that grow with the cycle.
    fn cycle_shift(&self, cycle: f64) -> CycleShift {
        let (first, last) = (&self.frames[0], &self.frames[self.frames.len() - 1]);
        let rest = self.skeleton.joints[0].rest;
        let turned = rest * last.rotations[0] * first.rotations[0].conjugate() * rest.conjugate();
        let heading = heading(turned);
        let flat = |x: DVec3| DVec3::new(x.x, 0.0, x.z);
        let from = flat(first.translations[0]);
        let step = flat(last.translations[0]) - from;
        // Σ Ry(kψ) for k below n is sin(nψ/2) / sin(ψ/2) · Ry((n − 1)ψ/2)
        let sin = libm::sin(0.5 * heading);
        let to = if sin == 0.0 {
            from + step * cycle
        } else {
            from + turn(0.5 * (cycle - 1.0) * heading) * step * (libm::sin(0.5 * cycle * heading) / sin)
        };
        CycleShift {
            heading: heading * cycle,
            from,
            to,
        }
    }
}

/// Rotation of `angle` radians about +Y.
fn turn(angle: f64) -> DQuat {
    crate::math::euler::Axis::Y.rotation(angle)
}
