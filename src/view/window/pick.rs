//! What is under the mouse.

use glam::DVec3;
use kiss3d::camera::{Camera3d, OrbitCamera3d};

use crate::character::{Character, cast_ray};
use crate::experiment::{BodyPose, Frame};
use crate::world::{BodyRef, Scene};

/// A ray from the eye, in a unit direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ray {
    pub origin: DVec3,
    pub direction: DVec3,
    /// Where the camera looks.
    forward: DVec3,
}

/// A body that a ray meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    pub target: BodyRef,
    /// In the body's frame, metres.
    pub point: DVec3,
    /// The same point in the world.
    pub at: DVec3,
}

impl Ray {
    /// Through a pixel, counted from the upper left corner of a picture of `size` pixels.
    pub fn through(pixel: (f64, f64), size: (u32, u32), camera: &OrbitCamera3d) -> Ray {
        let eye = camera.eye().as_dvec3();
        let forward = (camera.at().as_dvec3() - eye).normalize_or(DVec3::NEG_Z);
        let right = forward.cross(DVec3::Y).normalize_or(DVec3::X);
        let up = right.cross(forward);
        let (width, height) = (f64::from(size.0.max(1)), f64::from(size.1.max(1)));
        let slope = libm::tan(0.5 * f64::from(camera.fov()));
        let x = (2.0 * pixel.0 / width - 1.0) * slope * width / height;
        let y = (1.0 - 2.0 * pixel.1 / height) * slope;
        Ray {
            origin: eye,
            direction: (forward + right * x + up * y).normalize(),
            forward,
        }
    }

    /// Where it meets the plane through `point` that faces the camera.
    pub fn at_depth_of(&self, point: DVec3) -> DVec3 {
        let depth = (point - self.origin).dot(self.forward);
        self.origin + self.direction * (depth / self.direction.dot(self.forward))
    }

    /// The nearest body of a character or prop that it meets.
    pub fn hit(&self, scene: &Scene, frame: &Frame) -> Option<Hit> {
        let mut nearest: Option<(f64, BodyRef, BodyPose)> = None;
        let mut look = |character: &Character, poses: &[BodyPose], target: &dyn Fn(usize) -> BodyRef| {
            for (b, (body, pose)) in character.bodies.iter().zip(poses).enumerate() {
                for collider in &body.colliders {
                    let distance = cast_ray(collider, pose.position, pose.rotation, self.origin, self.direction);
                    if let Some(d) = distance.filter(|d| nearest.is_none_or(|n| *d < n.0)) {
                        nearest = Some((d, target(b), *pose));
                    }
                }
            }
        };
        for (character, (placement, shown)) in scene.characters.iter().zip(&frame.characters).enumerate() {
            look(&placement.character, &shown.bodies, &|body| BodyRef::Character {
                character,
                body,
            });
        }
        for (prop, (thing, poses)) in scene.props.iter().zip(&frame.props).enumerate() {
            look(&thing.body, poses, &|body| BodyRef::Prop { prop, body });
        }
        let (distance, target, pose) = nearest?;
        let at = self.origin + self.direction * distance;
        Some(Hit {
            target,
            point: pose.rotation.conjugate() * (at - pose.position),
            at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{LoadedSpec, Prepared, Simulation};
    use glam::Vec3;

    #[test]
    fn the_body_under_the_mouse_is_the_nearest_on_the_ray() {
        // looking from the front at the pelvis' height, the middle of the picture is a body of the trunk, the sky is nothing
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters");
        let text = "format = 1\nduration_s = 1\n[character]\nfile = \"humanoid.toml\"\n[[props]]\nkind = \"sphere\"\n\
                    mass = 1\nradius = 0.2\nposition = [1.5, 1, 0]\n";
        let prepared = Prepared::new(&LoadedSpec::parse(text, "test", folder, &[]).unwrap()).unwrap();
        let mut simulation = Simulation::new(&prepared);
        simulation.control();
        let frame = Frame::of(&simulation);
        let scene = simulation.engine.scene();
        let mut camera = OrbitCamera3d::new(Vec3::new(0.0, 1.0, 4.0), Vec3::new(0.0, 1.0, 0.0));
        camera.look_at(Vec3::new(0.0, 1.0, 4.0), Vec3::new(0.0, 1.0, 0.0));
        let size = (800, 600);
        let hit = Ray::through((400.0, 300.0), size, &camera).hit(scene, &frame).unwrap();
        let BodyRef::Character { character: 0, body } = hit.target else {
            panic!("{hit:?}")
        };
        assert!((hit.at - DVec3::new(0.0, 1.0, hit.at.z)).length() < 1e-6, "{hit:?}");
        let pose = frame.characters[0].bodies[body];
        assert!(pose.place(hit.point).distance(hit.at) < 1e-12);
        // the prop is to the left of the character, right in a picture from the front
        let slope = libm::tan(0.5 * f64::from(camera.fov()));
        let x = 400.0 + 300.0 * 1.5 / 4.0 / slope;
        let ray = Ray::through((x, 300.0), size, &camera);
        assert_eq!(
            ray.hit(scene, &frame).unwrap().target,
            BodyRef::Prop { prop: 0, body: 0 }
        );
        assert!(ray.at_depth_of(DVec3::ZERO).distance(DVec3::new(1.5, 1.0, 0.0)) < 1e-6);
        assert_eq!(Ray::through((400.0, 2.0), size, &camera).hit(scene, &frame), None);
    }
}
