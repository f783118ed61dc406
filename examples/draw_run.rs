//! Draws a run as a strip of figures seen from the side: `cargo run --release --locked --example draw_run -- RUN_DIR`.
//!
//! Reads `experiment.toml` and `motion.clip` of a run folder and writes an SVG. Every figure is the character at one moment,
//! centred on its pelvis: the left side orange, the right side blue, the trunk grey. Dashed red lines are the pose that the
//! controller asked for, hung on the simulated root; a green arrow is the force of the ground on the feet, a violet one the
//! assist at the root. Ground and props are drawn; slopes are, other terrain is not.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use ambler::character::{Character, Collider, Joint, Shape};
use ambler::clip::ClipFile;
use ambler::experiment::Prepared;
use ambler::files::write_atomic;
use ambler::math::rotation::exp;
use ambler::world::{Scene, TerrainShape};
use clap::Parser;
use glam::{DQuat, DVec2, DVec3};

#[derive(Parser)]
#[command(about = "Draws a run folder as a strip of figures seen from the side (SVG)")]
struct Arguments {
    /// Run folder, as made by `ambler run`
    run: PathBuf,
    /// SVG to write; RUN_DIR/strip.svg if not given
    #[arg(long)]
    out: Option<PathBuf>,
    /// Number of figures
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=100))]
    count: u16,
    /// First moment, seconds
    #[arg(long, default_value_t = 0.0)]
    from: f64,
    /// Last moment, seconds; the end of the run if not given
    #[arg(long)]
    to: Option<f64>,
}

/// Pixels per metre.
const SCALE: f64 = 110.0;
/// Metres from one figure to the next, and what is shown above and below the ground.
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
    /// Pixels from the left edge of the picture.
    left: f64,
}

impl View {
    fn meters(&self, x: DVec3) -> DVec2 {
        let x = x - self.origin;
        DVec2::new(x.dot(self.forward), x.y)
    }

    fn pixels(&self, x: DVec2) -> DVec2 {
        DVec2::new(self.left + (0.5 * SPACING + x.x) * SCALE, (ABOVE - x.y) * SCALE)
    }

    fn point(&self, x: DVec3) -> DVec2 {
        self.pixels(self.meters(x))
    }

    fn depth(&self, x: DVec3) -> f64 {
        x.dot(self.forward.cross(DVec3::Y))
    }
}

fn main() -> ExitCode {
    match draw(&Arguments::parse()) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn draw(arguments: &Arguments) -> Result<PathBuf, Box<dyn Error>> {
    let prepared = Prepared::read(&arguments.run.join("experiment.toml"), &[])?;
    let recording = ClipFile::read(&arguments.run.join("motion.clip"))?;
    let actor = prepared.actors.first().ok_or("the run has no character")?;
    let figures = Figures::new(&recording, &actor.character)?;

    let world = prepared.world();
    let duration = (figures.samples - 1) as f64 * recording.rate.frame_time();
    let to = arguments.to.unwrap_or(duration).clamp(0.0, duration);
    let from = arguments.from.clamp(0.0, to);
    let count = usize::from(arguments.count);
    let times = (0..count).map(|i| from + (to - from) * i as f64 / (count - 1).max(1) as f64);
    let samples: Vec<usize> = times
        .map(|t| (t / recording.rate.frame_time()).round() as usize)
        .collect();

    let forward = figures.forward(samples[0], samples[count - 1]);
    let (width, height) = (count as f64 * SPACING * SCALE, (ABOVE + BELOW) * SCALE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{}, {} engine, {from:.2} to {to:.2} s</title>\n\
         <style>path{{stroke:#333;stroke-width:1;stroke-linejoin:round}} .m{{fill:#cdd3da}} .l{{fill:#f2b36d}} .r{{fill:#7fb2e5}} \
         .p{{fill:#e3dfd3}} .t{{stroke:#c0392b;stroke-width:1.4;stroke-dasharray:3 2;fill:none}} .g{{stroke:#1e8449;fill:#1e8449;stroke-width:2.5}} \
         .a{{stroke:#8e44ad;fill:#8e44ad;stroke-width:2.5}} text{{text-anchor:middle;fill:#333}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escape(&prepared.name),
        prepared.spec.engine.name(),
    );
    for (i, &sample) in samples.iter().enumerate() {
        let root = figures.root(sample);
        let ground = ground_line(world.scene(), root, forward);
        let view = View {
            origin: root.with_y(ground.map_or(0.0, |g| g[0])),
            forward,
            left: i as f64 * SPACING * SCALE,
        };
        if let Some([_, slope]) = ground {
            let ends = [-0.5, 0.5].map(|s| view.pixels(DVec2::new(s * SPACING, s * SPACING * slope)));
            line(&mut svg, "g0", ends[0], ends[1]);
        }
        figures.draw_props(&mut svg, &view, sample, world.scene(), &prepared.prop_names);
        figures.draw_bodies(&mut svg, &view, sample);
        figures.draw_target(&mut svg, &view, sample);
        figures.draw_forces(&mut svg, &view, sample);
        let time = sample as f64 * recording.rate.frame_time();
        let label = view.pixels(DVec2::new(0.0, -0.2));
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{time:.2} s</text>",
            label.x, label.y
        );
    }
    svg.push_str("</svg>\n");
    let path = arguments.out.clone().unwrap_or_else(|| arguments.run.join("strip.svg"));
    write_atomic(&path, svg.as_bytes())?;
    Ok(path)
}

/// What is drawn of a recording.
struct Figures<'a> {
    recording: &'a ClipFile,
    character: &'a Character,
    samples: usize,
}

impl<'a> Figures<'a> {
    fn new(recording: &'a ClipFile, character: &'a Character) -> Result<Figures<'a>, Box<dyn Error>> {
        let bodies = character.bodies.len();
        for (name, arity) in [
            ("body_position", 3 * bodies),
            ("body_rotation", 4 * bodies),
            ("target_position", 4 * bodies),
            ("left_foot_force", 3),
            ("right_foot_force", 3),
            ("center_of_pressure", 3),
            ("assist_force", 3),
        ] {
            match recording.vector(name) {
                Some(track) if track.arity == arity => {}
                Some(track) => {
                    return Err(format!("track `{name}` has {} numbers, expected {arity}", track.arity).into());
                }
                None => return Err(format!("the recording has no track `{name}`").into()),
            }
        }
        match recording.samples() {
            0 => Err("the recording is empty".into()),
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

    fn draw_bodies(&self, svg: &mut String, view: &View, sample: usize) {
        let mut parts = Vec::new();
        for (b, body) in self.character.bodies.iter().enumerate() {
            let (x, q) = (self.vector("body_position", sample, b), self.rotation(b, sample));
            let name = body.name.to_lowercase();
            let class = match (name.contains("left"), name.contains("right")) {
                (true, false) => "l",
                (false, true) => "r",
                _ => "m",
            };
            parts.extend(
                body.colliders
                    .iter()
                    .map(|c| (view.depth(x + q * c.position), class, c, x, q)),
            );
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, class, collider, x, q) in parts {
            outline(svg, class, view, collider, x, q);
        }
    }

    fn draw_props(&self, svg: &mut String, view: &View, sample: usize, scene: &Scene, names: &[String]) {
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
                if view.meters(x).x.abs() < 0.5 * SPACING {
                    for collider in &body.colliders {
                        outline(svg, "p", view, collider, x, q);
                    }
                }
            }
        }
    }

    /// Bones of the pose that the controller asked for.
    fn draw_target(&self, svg: &mut String, view: &View, sample: usize) {
        let mut frames: Vec<(DVec3, DQuat)> = Vec::new();
        let mut d = String::new();
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
            let ends = [x_parent, x].map(|x| view.point(x));
            let _ = write!(
                d,
                "M{:.1},{:.1}L{:.1},{:.1}",
                ends[0].x, ends[0].y, ends[1].x, ends[1].y
            );
        }
        if !d.is_empty() {
            let _ = writeln!(svg, "<path class=\"t\" d=\"{d}\"/>");
        }
    }

    fn draw_forces(&self, svg: &mut String, view: &View, sample: usize) {
        let feet = self.vector("left_foot_force", sample, 0) + self.vector("right_foot_force", sample, 0);
        arrow(svg, "g", view, self.vector("center_of_pressure", sample, 0), feet);
        arrow(
            svg,
            "a",
            view,
            self.root(sample),
            self.vector("assist_force", sample, 0),
        );
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

/// The outline of a convex shape: the hull of its points in the picture.
fn outline(svg: &mut String, class: &str, view: &View, collider: &Collider, x: DVec3, q: DQuat) {
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
    let mut d = String::new();
    for (i, p) in hull(points).into_iter().enumerate() {
        let p = view.pixels(p);
        let _ = write!(d, "{}{:.1},{:.1}", if i == 0 { 'M' } else { ' ' }, p.x, p.y);
    }
    let _ = writeln!(svg, "<path class=\"{class}\" d=\"{d}z\"/>");
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

fn line(svg: &mut String, class: &str, a: DVec2, b: DVec2) {
    let _ = writeln!(
        svg,
        "<path class=\"{class}\" d=\"M{:.1},{:.1}L{:.1},{:.1}\"/>",
        a.x, a.y, b.x, b.y
    );
}

/// A force in newtons at `x`; forces too small to be seen are left out.
fn arrow(svg: &mut String, class: &str, view: &View, x: DVec3, force: DVec3) {
    let from = view.meters(x);
    let along = DVec2::new(force.dot(view.forward), force.y) * ARROW / 1000.0;
    let length = along.length();
    if length < 0.02 {
        return;
    }
    let (to, head) = (from + along, along / length * length.min(0.07));
    let side = 0.5 * head.perp();
    let [a, b, c, d] = [from, to, to - head + side, to - head - side].map(|p| view.pixels(p));
    let _ = writeln!(
        svg,
        "<path class=\"{class}\" d=\"M{:.1},{:.1}L{:.1},{:.1} {:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\"/>",
        a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y, b.x, b.y
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
