//! Where one looks from.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::camera::rh::proj::directx;
use glam::{DQuat, DVec3, Mat4, Vec3};
use kiss3d::camera::{Camera3d, OrbitCamera3d};

use super::overlay_draw::bounding_box;
use super::vec3;
use crate::character::Character;
use crate::experiment::{BodyPose, Frame, Prepared};

/// Vertical angle of view, radians; that of a lens of 50 mm on film of 24 mm, and a bit.
const ANGLE_OF_VIEW: f64 = 0.62;
const NEAR: f64 = 0.1;
const FAR: f64 = 200.0;
/// How fast the camera goes after the character, seconds.
const FOLLOW_TIME: f64 = 0.25;
/// The character may rise and sink by this share of its height before the camera does.
const VERTICAL_PLAY: f64 = 0.12;

/// Ways to look at the first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// From the front right, going along.
    Follow,
    /// From the right, going along: it walks to the right.
    Side,
    /// From the front, going along.
    Front,
    /// From above, going along, its front up.
    Top,
    /// From one place, everything in sight.
    Orbit,
}

impl View {
    pub const ALL: [View; 5] = [View::Follow, View::Side, View::Front, View::Top, View::Orbit];

    pub fn name(self) -> &'static str {
        match self {
            View::Follow => "follow",
            View::Side => "side",
            View::Front => "front",
            View::Top => "top",
            View::Orbit => "orbit",
        }
    }

    /// Azimuth about +Y from the character's front towards its left, and elevation over the horizon, radians.
    fn angles(self) -> (f64, f64) {
        let degrees = PI / 180.0;
        match self {
            View::Follow | View::Orbit => (-52.0 * degrees, 13.0 * degrees),
            View::Side => (-90.0 * degrees, 4.0 * degrees),
            View::Front => (0.0, 4.0 * degrees),
            View::Top => (PI, 89.0 * degrees),
        }
    }

    fn goes_along(self) -> bool {
        self != View::Orbit
    }
}

/// What a camera may be told.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct CameraOptions {
    pub view: Option<View>,
    /// From the character's front towards its left, radians.
    pub azimuth: Option<f64>,
    /// Over the horizon, radians.
    pub elevation: Option<f64>,
    /// From what it looks at, metres.
    pub distance: Option<f64>,
}

/// A camera that knows the experiment it looks at. A window may turn and move [`Camera::orbit_mut`] by mouse: only the
/// point it looks at is moved from here, and only by as much as the character moves.
pub struct Camera {
    orbit: OrbitCamera3d,
    view: View,
    options: CameraOptions,
    /// Heading of the first character at the start, radians.
    heading: f64,
    /// Corners of what is to be seen at the start: of the characters, and of everything loose.
    actors: [DVec3; 2],
    everything: [DVec3; 2],
    /// Where the character was at the start, and where the camera thinks it is and how fast it goes.
    start: DVec3,
    tracked: DVec3,
    velocity: DVec3,
    /// What of `tracked` the orbit's centre has taken up.
    applied: DVec3,
    time: Option<f64>,
}

fn grow(corners: &mut [DVec3; 2], character: &Character, poses: &[BodyPose]) {
    for (body, pose) in character.bodies.iter().zip(poses) {
        for collider in &body.colliders {
            let rotation: DQuat = pose.rotation * collider.rotation;
            let (low, high) = bounding_box(&collider.shape, pose.place(collider.position), rotation);
            corners[0] = corners[0].min(low);
            corners[1] = corners[1].max(high);
        }
    }
}

impl Camera {
    /// A camera for an experiment that starts with `first`, for pictures of `size` pixels.
    pub fn new(prepared: &Prepared, first: &Frame, size: (u32, u32), options: CameraOptions) -> Camera {
        let world = prepared.world();
        let world = world.scene();
        let nothing = [DVec3::INFINITY, DVec3::NEG_INFINITY];
        let mut actors = nothing;
        for (placement, frame) in world.characters.iter().zip(&first.characters) {
            grow(&mut actors, &placement.character, &frame.bodies);
        }
        let mut everything = actors;
        for (prop, poses) in world.props.iter().zip(&first.props) {
            grow(&mut everything, &prop.body, poses);
        }
        for corners in [&mut actors, &mut everything] {
            if !(corners[0].is_finite() && corners[1].is_finite()) {
                *corners = [DVec3::new(-1.0, 0.0, -1.0), DVec3::new(1.0, 1.8, 1.0)];
            }
        }
        let start = first.characters.first().map_or(DVec3::ZERO, |c| c.center_of_mass);
        let mut camera = Camera {
            orbit: OrbitCamera3d::new_with_frustum(
                ANGLE_OF_VIEW as f32,
                NEAR as f32,
                FAR as f32,
                Vec3::new(0.0, 1.0, 4.0),
                Vec3::new(0.0, 1.0, 0.0),
            ),
            view: options.view.unwrap_or(View::Follow),
            options,
            heading: world.characters.first().map_or(0.0, |p| p.heading),
            actors,
            everything,
            start,
            tracked: start,
            velocity: DVec3::ZERO,
            applied: start,
            time: None,
        };
        camera.set_view(camera.view, size);
        camera
    }

    /// To the left of the first character at the start, unit.
    pub fn left(&self) -> DVec3 {
        let (sin, cos) = libm::sincos(self.heading);
        DVec3::new(cos, 0.0, -sin)
    }

    pub fn view(&self) -> View {
        self.view
    }

    /// For kiss3d.
    pub fn orbit_mut(&mut self) -> &mut OrbitCamera3d {
        &mut self.orbit
    }

    pub fn orbit(&self) -> &OrbitCamera3d {
        &self.orbit
    }

    /// Looks from one of the standard places; angles and distance that the options name are kept.
    pub fn set_view(&mut self, view: View, size: (u32, u32)) {
        self.view = view;
        let (azimuth, elevation) = view.angles();
        let azimuth = self.options.azimuth.unwrap_or(azimuth);
        let elevation = (self.options.elevation.unwrap_or(elevation)).clamp(-89.0 * PI / 180.0, 89.0 * PI / 180.0);
        let [low, high] = if view == View::Orbit {
            self.everything
        } else {
            self.actors
        };
        let (center, half) = (0.5 * (low + high), 0.5 * (high - low));
        let aspect = f64::from(size.0.max(1)) / f64::from(size.1.max(1));
        let distance = self
            .options
            .distance
            .unwrap_or_else(|| framing(half, elevation, aspect));
        // going along, the centre of mass is in the middle; the head of the picture is the character's
        let moved = if view.goes_along() {
            self.tracked - self.start
        } else {
            DVec3::ZERO
        };
        self.applied = self.tracked;
        self.orbit.set_min_pitch(0.01);
        // the mouse shall not lead below the ground, where there is nothing to see
        let lowest = if elevation < 0.0 { PI } else { FRAC_PI_2 };
        self.orbit.set_max_pitch(lowest as f32 - 0.01);
        self.orbit.set_at(vec3(center + moved));
        self.orbit.set_yaw((FRAC_PI_2 - azimuth - self.heading) as f32);
        self.orbit.set_pitch((FRAC_PI_2 - elevation) as f32);
        self.orbit.set_dist(distance as f32);
    }

    /// Goes along with the first character, smoothly while time goes on and at once when it jumps (back, or by more than
    /// half a second).
    pub fn follow(&mut self, frame: &Frame) {
        let Some(character) = frame.characters.first() else {
            return;
        };
        let (place, velocity) = (character.center_of_mass, character.com_velocity);
        if !(place.is_finite() && velocity.is_finite()) {
            return;
        }
        let step = self.time.map(|t| frame.time - t);
        self.time = Some(frame.time);
        let mut goal = place;
        let play = VERTICAL_PLAY * (self.actors[1].y - self.actors[0].y);
        goal.y = self.tracked.y.clamp(place.y - play, place.y + play);
        match step {
            Some(dt) if (0.0..=0.5).contains(&dt) => {
                // an alpha-beta filter: no lag behind a steady walk, no jitter from single steps
                let share = 1.0 - libm::exp(-dt / FOLLOW_TIME);
                self.velocity += (velocity - self.velocity) * share;
                self.tracked += DVec3::new(self.velocity.x, 0.0, self.velocity.z) * dt;
                self.tracked += (goal - self.tracked) * share;
            }
            _ => {
                self.velocity = velocity;
                self.tracked = goal;
            }
        }
        if self.view.goes_along() {
            let at = self.orbit.at() + vec3(self.tracked - self.applied);
            self.applied = self.tracked;
            self.orbit.set_at(at);
        }
    }

    /// From the world to clip space, for a picture of `size` pixels.
    fn matrix(&self, size: (u32, u32)) -> Mat4 {
        let aspect = size.0.max(1) as f32 / size.1.max(1) as f32;
        let view = self.orbit.view_transform().to_mat4();
        directx::perspective(self.orbit.fov(), aspect, NEAR as f32, FAR as f32) * view
    }

    /// Where a point of the world is in a picture of `size` pixels, from its upper left corner; `None` behind the camera.
    pub fn project(&self, point: DVec3, size: (u32, u32)) -> Option<[f64; 2]> {
        let clip = self.matrix(size) * vec3(point).extend(1.0);
        (clip.w > 0.0).then(|| {
            [
                0.5 * f64::from(1.0 + clip.x / clip.w) * f64::from(size.0),
                0.5 * f64::from(1.0 - clip.y / clip.w) * f64::from(size.1),
            ]
        })
    }
}

/// The distance from which a box with these half extents fills most of a picture.
fn framing(half: DVec3, elevation: f64, aspect: f64) -> f64 {
    let (sin, cos) = libm::sincos(elevation);
    // room for arms that swing and for steps
    let across = libm::hypot(half.x, half.z) * 1.1 + 0.1;
    let upright = (half.y * cos + across * sin.abs()) * 1.15 + 0.1;
    let slope = libm::tan(0.5 * ANGLE_OF_VIEW);
    (upright / slope).max(across / (slope * aspect)).max(0.5) + across * cos
}
