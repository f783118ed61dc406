//! Lines, arrows and discs whose width is in pixels, so that they are seen in a small picture as in a large one.

use glam::{DVec3, Vec2, Vec3};
use kiss3d::camera::{Camera3d, OrbitCamera3d};
use kiss3d::renderer::Polyline3d;
use kiss3d::window::Window;

use super::colors::Rgb;
use super::vec3;

/// Draws into the next frame of a window.
pub(super) struct Pen<'a> {
    window: &'a mut Window,
    eye: Vec3,
    right: Vec3,
    up: Vec3,
    /// Pixels per metre at a distance of one metre.
    focal: f32,
    /// Pixels of a thin line.
    unit: f32,
    /// Whether lines are seen through bodies.
    through: bool,
}

impl<'a> Pen<'a> {
    /// With `fineness` pixels of the window for each pixel that will be seen, along a side.
    pub fn new(window: &'a mut Window, camera: &OrbitCamera3d, fineness: u32) -> Pen<'a> {
        let size = window.size();
        let fineness = fineness as f32;
        let eye = camera.eye();
        let forward = (camera.at() - eye).normalize_or(Vec3::NEG_Z);
        let right = forward.cross(Vec3::Y).normalize_or(Vec3::X);
        let half = libm::tanf(0.5 * camera.fov());
        Pen {
            eye,
            right,
            up: right.cross(forward),
            focal: 0.5 * size.y as f32 / half,
            // 1.3 pixels in 300 rows, 2.2 in 600
            unit: fineness * (0.7 + size.y as f32 / fineness / 400.0).clamp(1.0, 6.0),
            through: true,
            window,
        }
    }

    /// Whether what is drawn from now on is seen through bodies.
    pub fn through(&mut self, through: bool) -> &mut Self {
        self.through = through;
        self
    }

    /// Metres per pixel at a point.
    fn pixel(&self, at: Vec3) -> f32 {
        (at - self.eye).length().max(0.05) / self.focal
    }

    fn stroke(&mut self, points: Vec<Vec3>, color: Rgb, alpha: f32, pixels: f32) {
        let mut line = Polyline3d::new(points)
            .with_color(color.with_alpha(alpha))
            .with_width(pixels);
        // kiss3d pulls a line to the front by this share of its depth: all the way, or just off the surface it lies on
        line.depth_bias = if self.through { 1.0 } else { 1e-4 };
        self.window.draw_polyline(&line);
    }

    /// A line through points; `width` in thin lines.
    pub fn path(&mut self, points: &[DVec3], color: Rgb, alpha: f32, width: f32) {
        let pixels = width * self.unit;
        self.stroke(points.iter().map(|p| vec3(*p)).collect(), color, alpha, pixels);
    }

    pub fn line(&mut self, from: DVec3, to: DVec3, color: Rgb, width: f32) {
        self.path(&[from, to], color, 1.0, width);
    }

    /// An arrow with a filled head; nothing if it is shorter than a pixel.
    pub fn arrow(&mut self, from: DVec3, to: DVec3, color: Rgb, width: f32) {
        let (from, to) = (vec3(from), vec3(to));
        let (along, length) = (to - from, (to - from).length());
        let pixel = self.pixel(to);
        if !length.is_finite() || length < pixel {
            return;
        }
        let pixels = width * self.unit;
        let head = (5.0 * pixels * pixel).min(0.6 * length);
        let neck = to - along * (head / length);
        self.stroke(vec![from, neck], color, 1.0, pixels);
        const SLICES: usize = 6;
        for i in 0..SLICES {
            let at = |i: usize| neck + (to - neck) * (i as f32 / SLICES as f32);
            let share = 1.0 - (i as f32 + 0.5) / SLICES as f32;
            self.stroke(vec![at(i), at(i + 1)], color, 1.0, 3.6 * pixels * share);
        }
    }

    /// A filled disc that faces the camera; `radius` in thin lines.
    pub fn disc(&mut self, center: DVec3, radius: f32, color: Rgb) {
        let center = vec3(center);
        let radius = radius * self.unit;
        let pixel = self.pixel(center);
        const STRIPS: usize = 9;
        let height = 2.0 * radius / STRIPS as f32;
        for i in 0..STRIPS {
            let y = (i as f32 + 0.5) * height - radius;
            let x = (radius * radius - y * y).max(0.0).sqrt();
            let point = |d: Vec2| center + (self.right * d.x + self.up * d.y) * pixel;
            let ends = vec![point(Vec2::new(-x, y)), point(Vec2::new(x, y))];
            // a little wider than a strip, or the ground shines through between them
            self.stroke(ends, color, 1.0, 1.3 * height);
        }
    }

    /// A disc with a dark rim.
    pub fn mark(&mut self, center: DVec3, radius: f32, color: Rgb) {
        self.disc(center, radius + 0.8, Rgb(20, 20, 20));
        self.disc(center, radius, color);
    }

    /// A circle around an axis, in metres.
    pub fn circle(&mut self, center: DVec3, axis: DVec3, radius: f64, color: Rgb, width: f32) {
        let (a, b) = axis.normalize_or(DVec3::Y).any_orthonormal_pair();
        let points: Vec<DVec3> = (0..=24)
            .map(|i| {
                let (sin, cos) = libm::sincos(std::f64::consts::TAU * f64::from(i) / 24.0);
                center + (a * cos + b * sin) * radius
            })
            .collect();
        self.path(&points, color, 1.0, width);
    }
}
