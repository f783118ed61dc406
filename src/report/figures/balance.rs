//! Centre of mass, centre of pressure and feet, seen from above.

use glam::{DQuat, DVec3};

use super::super::axes::{Key, Panel, Range, Sign, legend, legend_height};
use super::super::drawing::{Dash, Drawing, Ink, Stroke};
use super::gait::{LOADED, gait};
use super::ground::FEET;
use super::layout::{WIDTH, figure, run_keys};
use super::{Made, View, Who};
use crate::character::{Character, Role, Shape};

/// A place seen from above: z to the right (forward), x up (left), as for an onlooker above a character that walks to the right.
type Point = [f64; 2];

/// Points over time; `None` where there is none.
type Track = Vec<Option<Point>>;

fn above(p: DVec3) -> Point {
    [p.z, p.x]
}

/// Two columns as points; `None` where the body is not carried.
fn points(who: &Who, name: &str, loaded_only: bool) -> Option<Vec<Option<Point>>> {
    let z = who.column(&format!("{name}_z_m"))?;
    let x = who.column(&format!("{name}_x_m"))?;
    let force = who.column("ground_force_y_n");
    let least = LOADED * who.character.weight.unwrap_or(0.0);
    let is_loaded = |i: usize| force.is_none_or(|f| f[i] > least);
    let at = |i: usize| (!loaded_only || is_loaded(i)).then_some([z[i], x[i]]);
    Some((0..x.len()).map(at).collect())
}

/// Convex hull of points, counter-clockwise (Andrew's monotone chain).
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let turn = |o: &Point, a: &Point, b: &Point| (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    let mut hull: Vec<Point> = Vec::new();
    for pass in 0..2 {
        let base = hull.len();
        let half = |hull: &mut Vec<Point>, p: Point| {
            while hull.len() >= base + 2 && turn(&hull[hull.len() - 2], &hull[hull.len() - 1], &p) <= 0.0 {
                hull.pop();
            }
            hull.push(p);
        };
        match pass {
            0 => points.iter().for_each(|p| half(&mut hull, *p)),
            _ => points.iter().rev().for_each(|p| half(&mut hull, *p)),
        }
        // the last point of each half begins the other
        hull.pop();
    }
    hull
}

/// Points that span a shape, in its own frame.
fn corners(shape: &Shape) -> Vec<DVec3> {
    let ring = |radius: f64, y: f64| {
        (0..16).map(move |i| {
            let angle = f64::from(i) * std::f64::consts::TAU / 16.0;
            DVec3::new(radius * libm::cos(angle), y, radius * libm::sin(angle))
        })
    };
    match shape {
        Shape::Box { half_extents: h } => (0..8)
            .map(|i| {
                let sign = |bit: i32| if i & bit == 0 { -1.0 } else { 1.0 };
                DVec3::new(h.x * sign(1), h.y * sign(2), h.z * sign(4))
            })
            .collect(),
        // a circle in each of two planes stands for the ball
        Shape::Sphere { radius } => (ring(*radius, 0.0))
            .flat_map(|p| [p, DVec3::new(p.x, p.z, 0.0), DVec3::new(0.0, p.x, p.z)])
            .collect(),
        Shape::Capsule { half_length, radius } => [-1.0, 1.0]
            .iter()
            .flat_map(|end| {
                let middle = DVec3::Y * (end * half_length);
                ring(*radius, 0.0).flat_map(move |p| [middle + p, middle + DVec3::new(p.x, p.z, 0.0)])
            })
            .collect(),
        Shape::Hull { points } => points.clone(),
    }
}

/// Bodies of the left and of the right foot.
fn foot_bodies(character: &Character) -> [Vec<usize>; 2] {
    let of = |roles: [Role; 2]| (0..character.bodies.len()).filter(move |b| roles.contains(&character.bodies[*b].role));
    [
        of([Role::LeftFoot, Role::LeftToes]).collect(),
        of([Role::RightFoot, Role::RightToes]).collect(),
    ]
}

/// One moment of a recording.
struct Moment<'a> {
    who: &'a Who<'a>,
    /// Sample of the clip.
    sample: usize,
}

impl Moment<'_> {
    fn numbers(&self, track: &str) -> Option<&[f64]> {
        self.who.character.clip.as_ref()?.vector(track)?.sample(self.sample)
    }

    /// Outlines of the left and of the right foot.
    fn feet(&self) -> [Vec<Point>; 2] {
        let outlines = || {
            let character = self.who.character.character.as_ref()?;
            let (positions, rotations) = (self.numbers("body_position")?, self.numbers("body_rotation")?);
            Some(foot_bodies(character).map(|bodies| {
                let mut points = Vec::new();
                for b in bodies {
                    let (Some(x), Some(q)) = (positions.get(3 * b..3 * b + 3), rotations.get(4 * b..4 * b + 4)) else {
                        continue;
                    };
                    let (x, q) = (DVec3::from_slice(x), DQuat::from_slice(q));
                    for collider in &character.bodies[b].colliders {
                        let place = |p: DVec3| x + q * (collider.position + collider.rotation * p);
                        points.extend(corners(&collider.shape).into_iter().map(|p| above(place(p))));
                    }
                }
                hull(points)
            }))
        };
        outlines().unwrap_or_default()
    }

    /// Whether each foot carries.
    fn loaded(&self) -> [bool; 2] {
        let least = LOADED * self.who.character.weight.unwrap_or(0.0);
        ["left_foot_force", "right_foot_force"]
            .map(|t| self.numbers(t).and_then(|f| f.get(1)).is_some_and(|f| *f > least))
    }

    /// Points that carry, if they were recorded.
    fn contacts(&self) -> Option<Vec<Point>> {
        let slots = self.numbers("contacts")?.chunks_exact(8);
        let carrying = slots.filter(|c| c[7] == 0.0 && c[4] > 0.0);
        Some(carrying.map(|c| [c[2], c[0]]).collect())
    }

    /// The area on which the character stands: hull of the contact points, or else of the loaded feet.
    fn support(&self) -> Vec<Point> {
        if let Some(contacts) = self.contacts() {
            return hull(contacts);
        }
        let feet = self.feet().into_iter().zip(self.loaded());
        hull(feet.filter(|(_, loaded)| *loaded).flat_map(|(foot, _)| foot).collect())
    }
}

/// Moments worth showing: the phases of three steps in the middle of the run, or the beginning, the ends of pushes, the end.
fn moments(who: &Who) -> Vec<f64> {
    const COUNT: usize = 6;
    let end = who.times().last().copied().unwrap_or(0.0);
    let touchdowns = gait(who).map(|g| g.touchdowns).unwrap_or_default();
    if touchdowns.len() >= 4 {
        let first = (touchdowns.len() - 4) / 2;
        let steps = &touchdowns[first..first + 4];
        return steps.windows(2).flat_map(|w| [w[0], 0.5 * (w[0] + w[1])]).collect();
    }
    // the first row has no step before it, and no forces
    let start = who.times().get(1).copied().unwrap_or(0.0);
    let mut times = vec![start, end];
    times.extend(who.run.pushes.iter().map(|p| p[1]).filter(|t| *t > start && *t < end));
    times.extend(who.run.fell_at().filter(|t| *t < end));
    times.sort_by(f64::total_cmp);
    times.dedup_by(|a, b| *a - *b < 1e-3);
    times.truncate(COUNT);
    // halve the longest spans until there are enough
    while (2..COUNT).contains(&times.len()) {
        let longest = (1..times.len())
            .max_by(|a, b| (times[*a] - times[a - 1]).total_cmp(&(times[*b] - times[b - 1])))
            .unwrap_or(1);
        times.insert(longest, 0.5 * (times[longest - 1] + times[longest]));
    }
    times
}

/// Each foot in the middle of each of its stances, and, of a character that takes no step, the support in the middle of the run.
fn footprints(who: &Who) -> (Vec<(usize, Vec<Point>)>, Vec<Point>) {
    /// More could not be told apart.
    const MOST: usize = 60;
    let (Some(gait), Some(clip)) = (gait(who), &who.character.clip) else {
        return Default::default();
    };
    let moment = |time: f64| Moment {
        who,
        sample: ((time / clip.rate.frame_time()).round() as usize).min(clip.samples() - 1),
    };
    let mut prints = Vec::new();
    for (foot, stances) in gait.stances.iter().enumerate() {
        for stance in stances {
            let [left, right] = moment(0.5 * (stance[0] + stance[1])).feet();
            prints.push((foot, if foot == 0 { left } else { right }));
        }
    }
    if prints.len() > MOST {
        prints.clear();
    }
    let support = match gait.touchdowns.is_empty() && who.run.fell_at().is_none() {
        true => moment(0.5 * who.times().last().copied().unwrap_or(0.0)).support(),
        false => Vec::new(),
    };
    (prints, support)
}

const MASS: Stroke = Stroke {
    ink: Ink::Text,
    width: 1.4,
    dash: Dash::Solid,
};
const PRESSURE: Ink = Ink::Green;
const SUPPORT: (Ink, f64) = (Ink::Sky, 0.3);

/// Height of the plot of the path if both axes have the same scale.
fn fair_height(x: Range, y: Range, width: f64) -> f64 {
    width * (y.high - y.low) / (x.high - x.low)
}

pub fn from_above(view: &View) -> Made {
    view.with_column("com_x_m")?;
    let paths: Vec<(&Who, Track, Track)> = (view.whos.iter())
        .filter_map(|w| {
            let pressure = points(w, "center_of_pressure", true).unwrap_or_default();
            Some((w, points(w, "com", false)?, pressure))
        })
        .collect();
    let mut keys = run_keys(view);
    if !view.compared {
        keys.push(Key::line("centre of mass", MASS));
        keys.push(Key::line("centre of pressure", Stroke::new(PRESSURE, Dash::Dashed)));
        keys.push(Key {
            label: "support".into(),
            sign: Sign::Shade(SUPPORT.0, SUPPORT.1),
        });
        keys.push(Key::line("left foot", Stroke::solid(FEET[0])));
        keys.push(Key::line("right foot", Stroke::solid(FEET[1])));
    }
    let (left, right) = (64.0, 14.0);
    let legend_room = legend_height(WIDTH - left - right, &keys);

    // the whole path, with equal scales if it is not too long for that
    let (prints, support) = match &view.whos[..] {
        [who] if !view.compared => footprints(who),
        _ => Default::default(),
    };
    let all = || {
        let feet = prints.iter().flat_map(|p| &p.1);
        let paths = paths.iter().flat_map(|p| p.1.iter().chain(&p.2).flatten());
        paths.chain(feet).chain(&support)
    };
    let width = WIDTH - left - right;
    let (mut x, mut y) = (
        Range::around(all().map(|p| p[0]), 0.02),
        Range::around(all().map(|p| p[1]), 0.02),
    );
    let fair = fair_height(x, y, width);
    let height = fair.clamp(130.0, 260.0);
    let equal = fair >= 0.5 * height;
    if equal {
        // widen the axis that has room left
        let widen = |r: Range, by: f64| {
            let (middle, half) = (0.5 * (r.low + r.high), 0.5 * (r.high - r.low) * by);
            Range {
                low: middle - half,
                high: middle + half,
            }
        };
        match fair > height {
            true => x = widen(x, fair / height),
            false => y = widen(y, height / fair),
        }
    }
    let panel = Panel {
        left,
        top: 8.0 + legend_room,
        width,
        height,
        x,
        y,
    };
    let snapshots = match &view.whos[..] {
        [who] if !view.compared && who.character.clip.is_some() => moments(who),
        _ => Vec::new(),
    };
    const CELL: [f64; 2] = [290.0, 216.0];
    let rows = snapshots.len().div_ceil(3) as f64;
    let path_room = panel.bottom() + 40.0;
    let mut drawing = Drawing::new(WIDTH, path_room + rows * CELL[1] + if rows > 0.0 { 24.0 } else { 0.0 });
    legend(&mut drawing, [left, 2.0], WIDTH - right, &keys);
    panel.frame(&mut drawing, true);
    panel.x_label(&mut drawing, "z, forward (m)");
    panel.y_label(&mut drawing, "x, to the left (m)");
    let place = |points: &[Point]| -> Vec<Point> { points.iter().map(|p| panel.at(p[0], p[1])).collect() };
    drawing.area(place(&support), SUPPORT.0, SUPPORT.1);
    for (foot, outline) in &prints {
        let mut points = place(outline);
        points.extend(points.first().copied());
        drawing.line(points, Stroke::solid(FEET[*foot]).width(0.9));
    }
    for (who, mass, pressure) in &paths {
        let (mass_stroke, pressure_stroke) = match view.compared {
            true => (who.stroke(), None),
            false => (MASS, Some(Stroke::new(PRESSURE, Dash::Dashed).width(1.1))),
        };
        if let Some(stroke) = pressure_stroke {
            // where nothing carries there is no centre of pressure
            for piece in pressure.split(Option::is_none) {
                panel.path(&mut drawing, piece.iter().flatten().map(|p| (p[0], p[1])), stroke);
            }
        }
        panel.path(&mut drawing, mass.iter().flatten().map(|p| (p[0], p[1])), mass_stroke);
        if let Some(start) = mass.iter().flatten().next() {
            drawing.dot(panel.at(start[0], start[1]), 3.0, mass_stroke.ink);
        }
    }
    let mut recorded = false;
    for (i, time) in snapshots.iter().enumerate() {
        let who = &view.whos[0];
        let cell = [
            left - 44.0 + (i % 3) as f64 * CELL[0],
            path_room + (i / 3) as f64 * CELL[1],
        ];
        recorded |= snapshot(&mut drawing, who, *time, cell, CELL);
    }
    let mut caption = String::from("Seen from above, forward (+z) to the right and +x, the left of who faces +z, up.");
    caption += match view.compared {
        true => " Path of the centre of mass of each run, from its start (dot).",
        false => {
            " Above: paths of the centre of mass, from its start (dot), and of the centre of pressure, with the feet as they stood in the \
              middle of each stance."
        }
    };
    caption += if equal {
        " Both axes have the same scale."
    } else {
        " The scales of the axes differ."
    };
    if !snapshots.is_empty() {
        caption += " Below: single moments, both axes to the same scale: outlines of the feet (filled if loaded), ";
        caption += match recorded {
            true => "points that carry, and their convex hull as the support.",
            false => "and the convex hull of the loaded feet as the support, since no contact points were recorded.",
        };
    }
    caption += &view.without(|w| w.column("com_x_m").is_some());
    Ok(figure(drawing, caption))
}

/// One moment around the feet; returns whether contact points were recorded.
fn snapshot(drawing: &mut Drawing, who: &Who, time: f64, [left, top]: [f64; 2], cell: [f64; 2]) -> bool {
    let Some(clip) = &who.character.clip else { return false };
    let frame = clip.rate.frame_time();
    let sample = ((time / frame).round() as usize).min(clip.samples() - 1);
    let moment = Moment { who, sample };
    let row = {
        let times = who.times();
        let after = times.partition_point(|t| *t < sample as f64 * frame - 1e-9);
        after.min(times.len().saturating_sub(1))
    };
    let mass = points(who, "com", false).and_then(|p| *p.get(row)?);
    let pressure = points(who, "center_of_pressure", true).and_then(|p| *p.get(row)?);
    let (feet, loaded, support) = (moment.feet(), moment.loaded(), moment.support());
    // around all that is drawn, at least 0.9 m wide
    let contacts = moment.contacts().unwrap_or_default();
    let seen: Vec<Point> = (feet.iter().flatten().copied())
        .chain(mass)
        .chain(pressure)
        .chain(support.iter().copied())
        .chain(contacts)
        .collect();
    let (mut x, mut y) = (
        Range::around(seen.iter().map(|p| p[0]), 0.2),
        Range::around(seen.iter().map(|p| p[1]), 0.2),
    );
    let (width, height) = (cell[0] - 54.0, cell[1] - 50.0);
    let per_pixel = ((x.high - x.low) / width)
        .max((y.high - y.low) / height)
        .max(0.9 / width);
    for (range, pixels) in [(&mut x, width), (&mut y, height)] {
        let middle = 0.5 * (range.low + range.high);
        range.low = middle - 0.5 * per_pixel * pixels;
        range.high = middle + 0.5 * per_pixel * pixels;
    }
    let panel = Panel {
        left: left + 44.0,
        top: top + 24.0,
        width,
        height,
        x,
        y,
    };
    panel.frame(drawing, true);
    panel.title(drawing, &format!("{:.2} s", sample as f64 * frame));
    let place = |points: &[Point]| -> Vec<Point> { points.iter().map(|p| panel.at(p[0], p[1])).collect() };
    drawing.area(place(&support), SUPPORT.0, SUPPORT.1);
    if support.len() == 2 {
        // between two points that carry the support has no area
        drawing.line(place(&support), Stroke::solid(SUPPORT.0).width(2.0));
    }
    for (foot, outline) in feet.iter().enumerate() {
        let mut points = place(outline);
        if loaded[foot] {
            drawing.area(points.clone(), FEET[foot], 0.4);
        }
        points.extend(points.first().copied());
        drawing.line(points, Stroke::solid(FEET[foot]).width(1.1));
    }
    let contacts = moment.contacts();
    for p in contacts.iter().flatten() {
        drawing.dot(panel.at(p[0], p[1]), 2.0, Ink::Muted);
    }
    for (foot, track) in ["left_foot_center_of_pressure", "right_foot_center_of_pressure"]
        .iter()
        .enumerate()
    {
        if let Some([x, _, z]) = moment.numbers(track).filter(|_| loaded[foot]) {
            drawing.dot(panel.at(*z, *x), 2.8, FEET[foot]);
        }
    }
    for (point, ink) in [(pressure, PRESSURE), (mass, Ink::Text)] {
        if let Some(p) = point {
            drawing.dot(panel.at(p[0], p[1]), 4.0, ink);
        }
    }
    contacts.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hull has the outer points only, in order.
    #[test]
    fn hull_of_scattered_points_is_their_outline() {
        let points = vec![
            [0.0, 0.0],
            [2.0, 0.1],
            [1.0, 0.5],
            [0.1, 2.0],
            [2.2, 1.9],
            [1.1, 1.0],
            [2.0, 0.1],
        ];
        assert_eq!(hull(points), vec![[0.0, 0.0], [2.0, 0.1], [2.2, 1.9], [0.1, 2.0]]);
        assert_eq!(hull(vec![[1.0, 2.0]]), vec![[1.0, 2.0]]);
    }
}
