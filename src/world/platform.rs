//! Where a kinematic platform is at a given time.

use glam::{DQuat, DVec3};

use super::{Platform, PlatformMotion};
use crate::math::rotation;

impl Platform {
    /// Position and rotation at `time` seconds.
    pub fn pose(&self, time: f64) -> (DVec3, DQuat) {
        match self.motion {
            PlatformMotion::Sine { amplitude, frequency } => {
                let phase = std::f64::consts::TAU * frequency * time;
                (self.position + amplitude * libm::sin(phase), self.rotation)
            }
            PlatformMotion::Linear {
                velocity,
                angular_velocity,
            } => (
                self.position + velocity * time,
                rotation::exp(angular_velocity * time) * self.rotation,
            ),
        }
    }

    /// Velocity at `point` of the rigid motion that moves a rider with its centre of mass at `rider` exactly with the
    /// platform from `time` to `time + dt`. (The platform's own velocity at one instant is a tangent, along which the load of
    /// a turntable drifts outwards.)
    pub(crate) fn carrying_velocity(&self, point: DVec3, rider: DVec3, time: f64, dt: f64) -> DVec3 {
        let ((x0, q0), (x1, q1)) = (self.pose(time), self.pose(time + dt));
        let arm = rider - x0;
        // without rotation no rounding of one
        let turned = if q0 == q1 {
            DVec3::ZERO
        } else {
            q1 * (q0.conjugate() * arm) - arm
        };
        (x1 - x0 + turned) / dt + self.velocity(time).1.cross(point - rider)
    }

    /// Velocity of the centre and angular velocity at `time` seconds, world axes.
    pub fn velocity(&self, time: f64) -> (DVec3, DVec3) {
        match self.motion {
            PlatformMotion::Sine { amplitude, frequency } => {
                let rate = std::f64::consts::TAU * frequency;
                (amplitude * rate * libm::cos(rate * time), DVec3::ZERO)
            }
            PlatformMotion::Linear {
                velocity,
                angular_velocity,
            } => (velocity, angular_velocity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::Material;

    /// The velocity is the derivative of the pose (central difference, error of order h²).
    #[test]
    fn velocity_is_the_derivative_of_the_pose() {
        let motions = [
            PlatformMotion::Sine {
                amplitude: DVec3::new(0.3, -0.1, 0.2),
                frequency: 0.7,
            },
            PlatformMotion::Linear {
                velocity: DVec3::new(0.5, 0.1, -0.4),
                angular_velocity: DVec3::new(0.2, -0.9, 0.6),
            },
        ];
        for motion in motions {
            let platform = Platform {
                half_extents: DVec3::ONE,
                position: DVec3::new(1.0, 2.0, 3.0),
                rotation: DQuat::from_rotation_y(0.8),
                motion,
                material: Material::default(),
            };
            let (time, h) = (1.37, 1e-5);
            let ((x0, q0), (x1, q1)) = (platform.pose(time - h), platform.pose(time + h));
            let (v, w) = platform.velocity(time);
            assert!(((x1 - x0) / (2.0 * h) - v).length() < 1e-8);
            assert!((rotation::difference(q1, q0) / (2.0 * h) - w).length() < 1e-8);
            // a rider that takes the carrying velocity at its centre and turns with the platform keeps its place on it
            let (dt, rider) = (0.05, DVec3::new(0.4, 2.5, 3.1));
            let after = rider + dt * platform.carrying_velocity(rider, rider, time, dt);
            let local = |time: f64, x: DVec3| {
                let (center, rotation) = platform.pose(time);
                rotation.conjugate() * (x - center)
            };
            assert!((local(time, rider) - local(time + dt, after)).length() < 1e-13);
            let arm = DVec3::new(0.1, -0.2, 0.3);
            let turning = platform.carrying_velocity(rider + arm, rider, time, dt)
                - platform.carrying_velocity(rider, rider, time, dt);
            assert!((turning - w.cross(arm)).length() < 1e-13);
        }
    }
}
