//! A run as a strip of figures seen from the side.
//!
//! Every figure is the character at one moment, centred on its pelvis: the left side amber, the right side sky blue, the trunk
//! grey. Dashed vermillion lines are the pose that the controller asked for, hung on the simulated root; a green arrow is the force
//! of the ground on the feet, a purple one the assist at the root. Ground and props are drawn; slopes are, other terrain is not.

use std::path::Path;

use glam::{DQuat, DVec2, DVec3};

use super::Figure;
use super::drawing::{Anchor, Dash, Drawing, Ink, Stroke};
use crate::character::{Character, Collider, Joint, Shape};
use crate::clip::{ClipFile, ClipFileError};
use crate::experiment::{ExperimentError, Prepared};
use crate::math::rotation::exp;
use crate::world::{Scene, TerrainShape};

/// Which moments are drawn, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strip {
    /// Number of figures, at least 1.
    pub count: usize,
    /// First and last moment, seconds; the last is the end of the run if `None`.
    pub from_s: f64,
    pub to_s: Option<f64>,
    /// Of the picture, in its units; 110 to the metre if `None`.
    pub width: Option<f64>,
}

impl Default for Strip {
    fn default() -> Strip {
        Strip {
            count: 9,
            from_s: 0.0,
            to_s: None,
            width: None,
        }
    }
}

/// Why a run cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum StripError {
    #[error(transparent)]
    Experiment(Box<ExperimentError>),
    #[error(transparent)]
    Clip(Box<ClipFileError>),
    #[error("the run has no character")]
    NoCharacter,
    #[error("motion.clip has no track `{0}`: it was written by another version of ambler")]
    NoTrack(&'static str),
    #[error("track `{track}` of motion.clip has {found} numbers, expected {expected}")]
    Arity {
        track: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("motion.clip has no samples")]
    Empty,
}

/// Metres from one figure to the next at least, and what is shown above and below the ground.
const SPACING: f64 = 1.15;
const ABOVE: f64 = 1.85;
const BELOW: f64 = 0.3;
/// Metres that an arrow of 1000 N is long.
const ARROW: f64 = 0.5;

/// The plane of the picture: `forward` points right, Y up, depth towards the onlooker.
#[derive(Clone, Copy)]
struct View {
    /// World point in the middle of the figure's ground line.
    origin: DVec3,
    forward: DVec3,
    /// Pixels from the left edge of the picture to that point.
    middle: f64,
    /// Pixels from the upper edge to the ground.
    ground: f64,
    /// Pixels per metre.
    scale: f64,
}

impl View {
    fn meters(&self, x: DVec3) -> DVec2 {
        let x = x - self.origin;
        DVec2::new(x.dot(self.forward), x.y)
    }

    fn pixels(&self, x: DVec2) -> [f64; 2] {
        [self.middle + x.x * self.scale, self.ground - x.y * self.scale]
    }

    fn point(&self, x: DVec3) -> [f64; 2] {
        self.pixels(self.meters(x))
    }

    fn depth(&self, x: DVec3) -> f64 {
        x.dot(self.forward.cross(DVec3::Y))
    }
}

/// Draws the first character of a run folder from its `experiment.toml` and `motion.clip`.
///
/// Errors: files that cannot be read, a run without a character or without the tracks that are drawn.
pub fn strip(folder: &Path, options: &Strip) -> Result<Figure, StripError> {
    let prepared =
        Prepared::read(&folder.join("experiment.toml"), &[]).map_err(|e| StripError::Experiment(Box::new(e)))?;
    let recording = ClipFile::read(&folder.join("motion.clip")).map_err(|e| StripError::Clip(Box::new(e)))?;
    let actor = prepared.actors.first().ok_or(StripError::NoCharacter)?;
    let figures = Figures::new(&recording, &actor.character)?;

    let world = prepared.world();
    let frame = recording.rate.frame_time();
    let duration = (figures.samples - 1) as f64 * frame;
    let to = options.to_s.unwrap_or(duration).clamp(0.0, duration);
    let from = options.from_s.clamp(0.0, to);
    let count = options.count.max(1);
    let times = (0..count).map(|i| from + (to - from) * i as f64 / (count - 1).max(1) as f64);
    let samples: Vec<usize> = times.map(|t| (t / frame).round() as usize).collect();

    let forward = figures.forward(samples[0], samples[count - 1]);
    let mut views: Vec<View> = (samples.iter())
        .map(|sample| {
            let root = figures.root(*sample);
            let ground = ground_line(world.scene(), root, forward);
            View {
                origin: root.with_y(ground.map_or(0.0, |g| g[0])),
                forward,
                middle: 0.0,
                ground: 0.0,
                scale: 1.0,
            }
        })
        .collect();
    // who lies or jumps needs more room
    let (mut spacing, mut above) = (SPACING, ABOVE);
    for (view, &sample) in views.iter().zip(&samples) {
        for point in figures.outer_points(view, sample) {
            spacing = spacing.max(2.0 * point.x.abs() + 0.1);
            above = above.max(point.y + 0.1);
        }
    }
    let scale = options.width.map_or(110.0, |width| width / (count as f64 * spacing));
    // room for the times below, however small the figures are
    let below = (BELOW * scale).max(26.0);
    let mut drawing = Drawing::new(count as f64 * spacing * scale, above * scale + below);
    for (i, view) in views.iter_mut().enumerate() {
        view.middle = (i as f64 + 0.5) * spacing * scale;
        view.ground = above * scale;
        view.scale = scale;
    }
    for (view, &sample) in views.iter().zip(&samples) {
        let ground = ground_line(world.scene(), figures.root(sample), forward);
        if let Some([_, slope]) = ground {
            let ends = [-0.5, 0.5].map(|s| view.pixels(DVec2::new(s * spacing, s * spacing * slope)));
            drawing.line(ends.to_vec(), Stroke::solid(Ink::Muted).width(1.0));
        }
        figures.draw_props(&mut drawing, view, sample, world.scene(), &prepared.prop_names, spacing);
        figures.draw_bodies(&mut drawing, view, sample);
        figures.draw_target(&mut drawing, view, sample);
        figures.draw_forces(&mut drawing, view, sample);
        let label = [view.middle, view.ground + 18.0];
        let time = format!("{:.2} s", sample as f64 * frame);
        drawing.text(label, time, Ink::Text, Anchor::Middle);
    }
    Ok(Figure {
        name: "strip".into(),
        title: format!(
            "{}, {} engine, {from:.2} to {to:.2} s",
            prepared.name,
            prepared.spec.engine.name()
        ),
        caption: format!(
            "The character from the side at {count} moments, each centred on its root: the left side amber, the right side blue, the \
             trunk grey. Dashed: the pose that the controller asked for. Green: force of the ground on the feet, purple: help from \
             outside at the root ({:.0} cm for 1000 N).",
            100.0 * ARROW
        ),
        drawing,
    })
}

/// What is drawn of a recording.
struct Figures<'a> {
    recording: &'a ClipFile,
    character: &'a Character,
    samples: usize,
}

impl<'a> Figures<'a> {
    fn new(recording: &'a ClipFile, character: &'a Character) -> Result<Figures<'a>, StripError> {
        let bodies = character.bodies.len();
        for (track, expected) in [
            ("body_position", 3 * bodies),
            ("body_rotation", 4 * bodies),
            ("target_position", 4 * bodies),
            ("left_foot_force", 3),
            ("right_foot_force", 3),
            ("center_of_pressure", 3),
            ("assist_force", 3),
        ] {
            let found = recording.vector(track).ok_or(StripError::NoTrack(track))?.arity;
            if found != expected {
                return Err(StripError::Arity { track, found, expected });
            }
        }
        match recording.samples() {
            0 => Err(StripError::Empty),
            samples => Ok(Figures {
                recording,
                character,
                samples,
            }),
        }
    }

    /// Numbers `at..` of a track; the tracks have been checked.
    fn numbers(&self, track: &str, sample: usize, at: usize) -> &[f64] {
        let sample = sample.min(self.samples - 1);
        let track = self.recording.vector(track).and_then(|t| t.sample(sample));
        &track.unwrap_or_default()[at..]
    }

    fn vector(&self, track: &str, sample: usize, at: usize) -> DVec3 {
        DVec3::from_slice(self.numbers(track, sample, 3 * at))
    }

    fn rotation(&self, body: usize, sample: usize) -> DQuat {
        DQuat::from_slice(self.numbers("body_rotation", sample, 4 * body))
    }

    fn root(&self, sample: usize) -> DVec3 {
        self.vector("body_position", sample, 0)
    }

    /// Where the character goes between two samples, or where it faces if it stays.
    fn forward(&self, first: usize, last: usize) -> DVec3 {
        let way = (self.root(last) - self.root(first)).with_y(0.0);
        let facing = (self.rotation(0, first) * self.character.bodies[0].rest.conjugate() * DVec3::Z).with_y(0.0);
        let forward = if way.length() > 0.3 { way } else { facing };
        forward.try_normalize().unwrap_or(DVec3::Z)
    }

    /// Points of the outlines of all bodies and of the bones of the targets, metres.
    fn outer_points(&self, view: &View, sample: usize) -> Vec<DVec2> {
        let bodies = self.character.bodies.iter().enumerate();
        let of_body = |(b, body): (usize, &crate::character::Body)| {
            let (x, q) = (self.vector("body_position", sample, b), self.rotation(b, sample));
            let colliders = body.colliders.iter();
            colliders
                .flat_map(|c| outline_points(view, c, x, q))
                .collect::<Vec<_>>()
        };
        let bones = self.target_bones(sample).into_iter().flatten().map(|x| view.meters(x));
        bodies.flat_map(of_body).chain(bones).collect()
    }

    fn draw_bodies(&self, drawing: &mut Drawing, view: &View, sample: usize) {
        let mut parts = Vec::new();
        for (b, body) in self.character.bodies.iter().enumerate() {
            let (x, q) = (self.vector("body_position", sample, b), self.rotation(b, sample));
            let name = body.name.to_lowercase();
            let ink = match (name.contains("left"), name.contains("right")) {
                (true, false) => Ink::Amber,
                (false, true) => Ink::Sky,
                _ => Ink::Grid,
            };
            parts.extend(
                body.colliders
                    .iter()
                    .map(|c| (view.depth(x + q * c.position), ink, c, x, q)),
            );
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, ink, collider, x, q) in parts {
            outline(drawing, ink, view, collider, x, q);
        }
    }

    fn draw_props(
        &self,
        drawing: &mut Drawing,
        view: &View,
        sample: usize,
        scene: &Scene,
        names: &[String],
        spacing: f64,
    ) {
        for (prop, name) in scene.props.iter().zip(names) {
            let Some(pose) = self
                .recording
                .vector(&format!("prop.{name}"))
                .and_then(|t| t.sample(sample))
            else {
                continue;
            };
            for (body, pose) in prop.body.bodies.iter().zip(pose.chunks_exact(7)) {
                let (x, q) = (DVec3::from_slice(pose), DQuat::from_slice(&pose[3..]));
                if view.meters(x).x.abs() < 0.5 * spacing {
                    for collider in &body.colliders {
                        outline(drawing, Ink::Muted, view, collider, x, q);
                    }
                }
            }
        }
    }

    /// Bones of the pose that the controller asked for.
    fn target_bones(&self, sample: usize) -> Vec<[DVec3; 2]> {
        let mut bones = Vec::new();
        let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
        for (b, body) in self.character.bodies.iter().enumerate() {
            let Some(parent) = body.parent else {
                frames.push((self.root(sample), self.rotation(b, sample)));
                continue;
            };
            let target = self.numbers("target_position", sample, 4 * b);
            let q = match body.joint {
                Joint::Free | Joint::Planar | Joint::Fixed => DQuat::IDENTITY,
                Joint::Hinge { axis } => exp(axis * target[0]),
                Joint::Universal { axes } => exp(axes[0] * target[0]) * exp(axes[1] * target[1]),
                Joint::Ball => DQuat::from_slice(target),
            };
            let (x_parent, q_parent) = frames[parent];
            let x = x_parent + q_parent * body.offset;
            frames.push((x, q_parent * body.rest * q));
            bones.push([x_parent, x]);
        }
        bones
    }

    fn draw_target(&self, drawing: &mut Drawing, view: &View, sample: usize) {
        for bone in self.target_bones(sample) {
            let ends = bone.map(|x| view.point(x)).to_vec();
            drawing.line(ends, Stroke::new(Ink::Vermillion, Dash::Dashed).width(1.2));
        }
    }

    fn draw_forces(&self, drawing: &mut Drawing, view: &View, sample: usize) {
        let feet = self.vector("left_foot_force", sample, 0) + self.vector("right_foot_force", sample, 0);
        let pressed = self.vector("center_of_pressure", sample, 0);
        arrow(drawing, Ink::Green, view, pressed, feet);
        let help = self.vector("assist_force", sample, 0);
        arrow(drawing, Ink::Purple, view, self.root(sample), help);
    }
}

/// Height of the highest plane below `root` and its slope along `forward`.
fn ground_line(scene: &Scene, root: DVec3, forward: DVec3) -> Option<[f64; 2]> {
    let planes = scene.terrain.iter().filter(|t| t.shape == TerrainShape::Ground);
    let lines = planes.filter_map(|t| {
        let normal = t.rotation * DVec3::Y;
        let height = t.position.y - normal.dot((root - t.position).with_y(0.0)) / normal.y;
        (normal.y > 0.1 && height.is_finite()).then(|| [height, -normal.dot(forward) / normal.y])
    });
    lines.max_by(|a, b| a[0].total_cmp(&b[0]))
}

/// Points whose hull is the outline of a convex shape, metres in the plane of the picture.
fn outline_points(view: &View, collider: &Collider, x: DVec3, q: DQuat) -> Vec<DVec2> {
    let place = |p: DVec3| view.meters(x + q * (collider.position + collider.rotation * p));
    let mut points = Vec::new();
    let mut circle = |center: DVec2, radius: f64| {
        const CORNERS: usize = 20;
        points.extend((0..CORNERS).map(|i| {
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * i as f64 / CORNERS as f64);
            center + radius * DVec2::new(cos, sin)
        }));
    };
    match &collider.shape {
        Shape::Sphere { radius } => circle(place(DVec3::ZERO), *radius),
        Shape::Capsule { half_length, radius } => {
            circle(place(DVec3::Y * *half_length), *radius);
            circle(place(DVec3::NEG_Y * *half_length), *radius);
        }
        Shape::Box { half_extents } => points.extend((0..8).map(|i| {
            let sign = |bit: usize| if i >> bit & 1 == 0 { -1.0 } else { 1.0 };
            place(*half_extents * DVec3::new(sign(0), sign(1), sign(2)))
        })),
        Shape::Hull { points: corners } => points.extend(corners.iter().map(|p| place(*p))),
    }
    points
}

fn outline(drawing: &mut Drawing, ink: Ink, view: &View, collider: &Collider, x: DVec3, q: DQuat) {
    let points = hull(outline_points(view, collider, x, q));
    let mut points: Vec<[f64; 2]> = points.into_iter().map(|p| view.pixels(p)).collect();
    drawing.area(points.clone(), ink, 1.0);
    points.extend(points.first().copied());
    drawing.line(points, Stroke::solid(Ink::Text).width(0.7));
}

/// Convex hull, counter-clockwise (Andrew's monotone chain).
fn hull(mut points: Vec<DVec2>) -> Vec<DVec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let mut hull: Vec<DVec2> = Vec::new();
    for pass in 0..2 {
        let start = hull.len();
        for &p in &points {
            while hull.len() >= start + 2 && {
                let [a, b] = [hull[hull.len() - 2], hull[hull.len() - 1]];
                (b - a).perp_dot(p - b) <= 0.0
            } {
                hull.pop();
            }
            hull.push(p);
        }
        hull.pop();
        if pass == 0 {
            points.reverse();
        }
    }
    hull
}

/// A force in newtons at `x`; forces too small to be seen are left out.
fn arrow(drawing: &mut Drawing, ink: Ink, view: &View, x: DVec3, force: DVec3) {
    let from = view.meters(x);
    let along = DVec2::new(force.dot(view.forward), force.y) * ARROW / 1000.0;
    let length = along.length();
    if length < 0.02 {
        return;
    }
    let (to, head) = (from + along, along / length * length.min(0.07));
    let side = 0.5 * head.perp();
    let [a, b, c, d] = [from, to, to - head + side, to - head - side].map(|p| view.pixels(p));
    drawing.line(vec![a, b], Stroke::solid(ink).width(2.2));
    drawing.area(vec![b, c, d], ink, 1.0);
}
