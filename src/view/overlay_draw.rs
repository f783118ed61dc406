//! Draws the overlays that are on.

use std::collections::VecDeque;

use glam::{DQuat, DVec3};
use kiss3d::camera::OrbitCamera3d;
use kiss3d::window::Window;

use super::colors::{self, Rgb};
use super::pen::Pen;
use super::{OVERLAYS, OverlayKind, OverlaySet};
use crate::character::{Character, Joint, Role, Shape};
use crate::experiment::{BodyPose, CharacterFrame, Frame, Prepared};
use crate::world::{Scene, TerrainShape};

/// Length of an arrow as long as a character's weight, metres.
const WEIGHT_ARROW: f64 = 0.7;
/// Seconds that trails reach back, and the time between their points.
const TRAIL_SECONDS: f64 = 3.0;
const TRAIL_STEP: f64 = 1.0 / 60.0;
/// Overlays on the ground are drawn this much above it, metres.
const LIFT: f64 = 0.004;
/// Half the side of the square of the grid, metres.
const GRID_REACH: i64 = 24;

/// What is drawn over an experiment, and what has to be remembered for it.
pub struct Overlays {
    pub on: OverlaySet,
    /// Added to the reference, as [`Stage::ghost_offset`](super::Stage::ghost_offset).
    pub ghost_offset: DVec3,
    world: Scene,
    /// Metres per newton, per character.
    scales: Vec<f64>,
    /// Per character: bodies of the feet, left and right.
    feet: Vec<[Option<usize>; 2]>,
    /// Time, and per character the centre of mass and the feet.
    trail: VecDeque<(f64, Vec<[DVec3; 3]>)>,
}

fn color(kind: OverlayKind) -> Rgb {
    OVERLAYS[kind as usize].color
}

impl Overlays {
    pub fn new(prepared: &Prepared, on: OverlaySet) -> Overlays {
        let world = prepared.world().scene().clone();
        // without gravity forces are compared with the weight on Earth
        let gravity = match world.gravity.length() {
            g if g > 0.1 => g,
            _ => 9.81,
        };
        let with_role = |character: &Character, role| character.bodies.iter().position(|b| b.role == role);
        Overlays {
            on,
            ghost_offset: DVec3::ZERO,
            scales: (prepared.actors.iter())
                .map(|a| WEIGHT_ARROW / (a.character.mass().max(1e-6) * gravity))
                .collect(),
            feet: (prepared.actors.iter())
                .map(|a| [Role::LeftFoot, Role::RightFoot].map(|role| with_role(&a.character, role)))
                .collect(),
            world,
            trail: VecDeque::new(),
        }
    }

    /// Notes a moment for the trails. Moments before the last one noted mean that somebody went back: the trails start anew.
    pub fn remember(&mut self, frame: &Frame) {
        let last = self.trail.back().map(|t| t.0);
        if last.is_some_and(|t| frame.time < t || frame.time > t + TRAIL_SECONDS) {
            self.trail.clear();
        } else if last.is_some_and(|t| frame.time < t + 0.99 * TRAIL_STEP) {
            return;
        }
        let points = (frame.characters.iter().zip(&self.feet))
            .map(|(character, feet)| {
                let foot = |side: usize| {
                    let body = feet[side].and_then(|b| character.bodies.get(b));
                    body.map_or(DVec3::NAN, |b| b.position)
                };
                [character.center_of_mass, foot(0), foot(1)]
            })
            .collect();
        self.trail.push_back((frame.time, points));
        while self.trail.front().is_some_and(|t| t.0 < frame.time - TRAIL_SECONDS) {
            self.trail.pop_front();
        }
    }

    /// Forgets the trails.
    pub fn forget(&mut self) {
        self.trail.clear();
    }

    /// Draws what a hand does: a line from where it holds to where it pulls.
    pub fn draw_hand(&self, window: &mut Window, camera: &OrbitCamera3d, at: DVec3, goal: DVec3) {
        let mut pen = Pen::new(window, camera, 1);
        pen.through(true);
        pen.line(at, goal, color(OverlayKind::Pushes), 1.0);
        pen.mark(at, 3.0, color(OverlayKind::Pushes));
        pen.mark(goal, 2.0, colors::SKY);
    }

    /// Draws everything that is on into the next frame of a window, as `camera` sees it.
    pub fn draw(&self, window: &mut Window, camera: &OrbitCamera3d, frame: &Frame) {
        self.draw_fine(window, camera, frame, 1);
    }

    /// The same for a picture that will be made smaller by `fineness`.
    pub(super) fn draw_fine(&self, window: &mut Window, camera: &OrbitCamera3d, frame: &Frame, fineness: u32) {
        let mut pen = Pen::new(window, camera, fineness);
        if self.on.has(OverlayKind::Grid) {
            self.grid(pen.through(false), frame);
        }
        if self.on.has(OverlayKind::Trails) {
            self.trails(&mut pen);
        }
        for (i, character) in frame.characters.iter().enumerate() {
            let Some(placement) = self.world.characters.get(i) else {
                continue;
            };
            self.character(&mut pen, &placement.character, character, self.scales[i]);
        }
        if self.on.has(OverlayKind::Boxes) {
            pen.through(false);
            for (prop, bodies) in self.world.props.iter().zip(&frame.props) {
                boxes(&mut pen, &prop.body, bodies);
            }
        }
        if self.on.has(OverlayKind::Pushes) {
            pen.through(true);
            let scale = self.scales.first().copied().unwrap_or(1e-3);
            for push in &frame.pushes {
                // the tip is where it pushes; longer than other forces, since pushes are small beside the weight
                let tail = push.point - 3.0 * scale * push.force;
                pen.arrow(tail, push.point, color(OverlayKind::Pushes), 2.6);
            }
        }
    }

    fn character(&self, pen: &mut Pen, character: &Character, frame: &CharacterFrame, scale: f64) {
        use OverlayKind::*;
        if self.on.has(Boxes) {
            boxes(pen.through(false), character, &frame.bodies);
        }
        pen.through(true);
        if self.on.has(Support) {
            let mut polygon: Vec<DVec3> = frame.support_polygon.iter().map(|p| *p + DVec3::Y * LIFT).collect();
            polygon.extend(polygon.first().copied());
            pen.path(&polygon, color(Support), 1.0, 1.6);
        }
        if self.on.has(Skeleton) {
            for (body, pose) in character.bodies.iter().zip(&frame.bodies) {
                if let Some(parent) = body.parent {
                    pen.line(frame.bodies[parent].position, pose.position, color(Skeleton), 1.6);
                }
            }
            for pose in &frame.bodies {
                pen.disc(pose.position, 1.7, color(Skeleton));
            }
        }
        if self.on.has(Axes) {
            axes(pen, character, &frame.bodies);
        }
        if self.on.has(Targets) {
            for (body, (pose, reference)) in character.bodies.iter().zip(frame.bodies.iter().zip(&frame.reference)) {
                let (from, to) = (
                    pose.place(body.center_of_mass),
                    reference.place(body.center_of_mass) + self.ghost_offset,
                );
                pen.line(from, to, color(Targets), 1.2);
                pen.disc(to, 1.5, color(Targets));
            }
        }
        if self.on.has(Contacts) {
            for contact in &frame.contacts {
                pen.disc(contact.point, 1.8, color(Contacts));
                pen.arrow(
                    contact.point,
                    contact.point + scale * contact.force,
                    color(Contacts),
                    1.2,
                );
            }
        }
        if self.on.has(GroundReaction) {
            for foot in &frame.feet {
                if let Some(point) = foot.center_of_pressure {
                    pen.arrow(point, point + scale * foot.force, color(GroundReaction), 2.4);
                }
            }
        }
        if self.on.has(CenterOfMass) {
            let center = frame.center_of_mass;
            if let Some(below) = self.ground_below(center) {
                pen.line(center, below, color(CenterOfMass), 1.0);
                pen.mark(below, 1.6, color(CenterOfMass));
            }
            pen.mark(center, 3.2, color(CenterOfMass));
        }
        if let (true, Some(point)) = (self.on.has(CenterOfPressure), frame.center_of_pressure) {
            pen.mark(point + DVec3::Y * LIFT, 2.4, color(CenterOfPressure));
        }
        if self.on.has(Assist) {
            let (from, wrench) = (frame.assist_point, frame.assist);
            pen.arrow(from, from + scale * wrench.force, color(Assist), 2.4);
            // a torque of the weight at a lever of a metre has the same length; a ring tells it from a force
            let tip = from + scale * wrench.torque;
            if (tip - from).length() > 0.02 {
                pen.arrow(from, tip, color(Assist), 1.0);
                pen.circle(from.lerp(tip, 0.6), wrench.torque, 0.05, color(Assist), 1.0);
            }
        }
    }

    /// The highest piece of flat ground below a point; other terrain has no grid and no shadow of the centre of mass.
    fn ground_below(&self, point: DVec3) -> Option<DVec3> {
        let mut best: Option<DVec3> = None;
        for terrain in &self.world.terrain {
            if terrain.shape != TerrainShape::Ground {
                continue;
            }
            let normal = terrain.rotation * DVec3::Y;
            if normal.y < 0.1 {
                continue;
            }
            let drop = (point - terrain.position).dot(normal) / normal.y;
            let below = point - DVec3::Y * drop;
            if best.is_none_or(|b| below.y > b.y) {
                best = Some(below);
            }
        }
        best
    }

    /// Lines each metre, heavier each five, fading away from the character; on hills about each half metre, to show their shape.
    fn grid(&self, pen: &mut Pen, frame: &Frame) {
        let here = frame.characters.first().map_or(DVec3::ZERO, |c| c.center_of_mass);
        for terrain in &self.world.terrain {
            if let TerrainShape::Heightfield { heights, size } = &terrain.shape {
                let place = |p: DVec3| terrain.position + terrain.rotation * (p + DVec3::Y * LIFT);
                for line in lines_on_heightfield(heights, *size) {
                    let line: Vec<_> = line.into_iter().map(place).collect();
                    pen.path(&line, colors::TERRAIN.mixed(colors::GRID, 0.6), 1.0, 0.7);
                }
            }
            if terrain.shape != TerrainShape::Ground {
                continue;
            }
            let local = terrain.rotation.conjugate() * (here - terrain.position);
            let place = |x: f64, z: f64| terrain.position + terrain.rotation * DVec3::new(x, LIFT, z);
            let below = colors::ground((terrain.rotation * DVec3::Y).y);
            let (cx, cz) = (local.x.round() as i64, local.z.round() as i64);
            let reach = GRID_REACH as f64;
            // pieces of four metres, each with the strength of its middle
            let mut piece = |a: DVec3, b: DVec3, heavy: bool| {
                let away = (a.midpoint(b) - here).length() / reach;
                let strength = (1.0 - away).max(0.0) as f32;
                let (share, width) = if heavy { (1.0, 1.3) } else { (0.6, 0.7) };
                if strength > 0.05 {
                    let color = below.mixed(colors::GRID, share * strength);
                    pen.path(&[a, b], color, 1.0, width);
                }
            };
            for i in -GRID_REACH..=GRID_REACH {
                for k in (-GRID_REACH..GRID_REACH).step_by(4) {
                    let (x, z) = ((cx + i) as f64, (cz + k) as f64);
                    piece(place(x, z), place(x, z + 4.0), (cx + i).rem_euclid(5) == 0);
                    let (x, z) = ((cx + k) as f64, (cz + i) as f64);
                    piece(place(x, z), place(x + 4.0, z), (cz + i).rem_euclid(5) == 0);
                }
            }
        }
    }

    fn trails(&self, pen: &mut Pen) {
        let now = self.trail.back().map_or(0.0, |t| t.0);
        let colors = [color(OverlayKind::CenterOfMass), colors::LEFT, colors::RIGHT];
        pen.through(true);
        for ((time, from), (_, to)) in self.trail.iter().zip(self.trail.iter().skip(1)) {
            let fresh = (1.0 - (now - time) / TRAIL_SECONDS).clamp(0.0, 1.0) as f32;
            for (from, to) in from.iter().zip(to) {
                for k in 0..3 {
                    if from[k].is_finite() && to[k].is_finite() {
                        pen.path(&[from[k], to[k]], colors[k], 1.0, 0.5 + 1.2 * fresh);
                    }
                }
            }
        }
    }
}

/// Rows and columns of a heightfield about half a metre apart, as points in its own frame.
fn lines_on_heightfield(heights: &[Vec<f64>], size: [f64; 2]) -> Vec<Vec<DVec3>> {
    const APART: f64 = 0.5;
    let (rows, columns) = (heights.len(), heights.first().map_or(0, Vec::len));
    let cell = |n: usize, size: f64| size / (n.max(2) - 1) as f64;
    let (along_z, along_x) = (cell(rows, size[1]), cell(columns, size[0]));
    let step = |cell: f64| (APART / cell).round().max(1.0) as usize;
    let point = |r: usize, c: usize| {
        let (x, z) = (c as f64 * along_x - 0.5 * size[0], r as f64 * along_z - 0.5 * size[1]);
        DVec3::new(x, heights[r][c], z)
    };
    let across = (0..rows)
        .step_by(step(along_z))
        .map(|r| (0..columns).map(|c| point(r, c)).collect());
    let down = (0..columns)
        .step_by(step(along_x))
        .map(|c| (0..rows).map(|r| point(r, c)).collect());
    across.chain(down).collect()
}

/// The axes about which joints turn, at the joints.
fn axes(pen: &mut Pen, character: &Character, poses: &[BodyPose]) {
    const LENGTH: f64 = 0.11;
    const XYZ: [Rgb; 3] = [Rgb(214, 39, 40), Rgb(20, 140, 40), Rgb(30, 80, 220)];
    for (body, pose) in character.bodies.iter().zip(poses) {
        // the parent-side joint frame; a root's is the world's
        let frame = match body.parent {
            Some(parent) => poses[parent].rotation * body.rest,
            None => body.rest,
        };
        let mut axis = |rotation: DQuat, axis: DVec3, color: Rgb| {
            pen.arrow(pose.position, pose.position + rotation * axis * LENGTH, color, 0.9);
        };
        match body.joint {
            Joint::Hinge { axis: a } => axis(frame, a, XYZ[0]),
            Joint::Universal { axes: [a, b] } => {
                axis(frame, a, XYZ[0]);
                axis(pose.rotation, b, XYZ[1]);
            }
            Joint::Ball => {
                axis(frame, DVec3::X, XYZ[0]);
                axis(frame, DVec3::Y, XYZ[1]);
                axis(frame, DVec3::Z, XYZ[2]);
            }
            Joint::Free | Joint::Planar | Joint::Fixed => {}
        }
    }
}

/// Half extents along the world's axes and centre of a shape's bounding box.
pub(super) fn bounding_box(shape: &Shape, center: DVec3, rotation: DQuat) -> (DVec3, DVec3) {
    let back = rotation.conjugate();
    let reach = |axis: DVec3| shape.extent(back * axis);
    let high = DVec3::new(reach(DVec3::X), reach(DVec3::Y), reach(DVec3::Z));
    let low = -DVec3::new(reach(DVec3::NEG_X), reach(DVec3::NEG_Y), reach(DVec3::NEG_Z));
    (center + low, center + high)
}

fn boxes(pen: &mut Pen, character: &Character, poses: &[BodyPose]) {
    for (body, pose) in character.bodies.iter().zip(poses) {
        for collider in &body.colliders {
            let center = pose.place(collider.position);
            let (low, high) = bounding_box(&collider.shape, center, pose.rotation * collider.rotation);
            let corner = |i: usize| {
                let pick = |bit: usize, l: f64, h: f64| if i >> bit & 1 == 0 { l } else { h };
                DVec3::new(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z))
            };
            for i in 0..8 {
                for bit in 0..3 {
                    if i >> bit & 1 == 0 {
                        pen.path(&[corner(i), corner(i | 1 << bit)], color(OverlayKind::Boxes), 0.8, 0.7);
                    }
                }
            }
        }
    }
}
