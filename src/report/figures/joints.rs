//! Joint angles and what they should be.

use glam::DVec3;

use super::super::axes::Key;
use super::super::drawing::{Dash, Ink, Stroke};
use super::layout::{Grid, SmallCurve, SmallPlot, small_multiples};
use super::tracking::union;
use super::{Made, View, Who, words};
use crate::character::Joint;
use crate::math::rotation::log;
use crate::report::read::CharacterRun;

/// One coordinate of a joint over time: an angle, or a component of a rotation vector.
pub struct Coordinate {
    /// Which one; empty for a hinge.
    pub axis: &'static str,
    /// Degrees.
    pub actual: Vec<f64>,
    pub target: Vec<f64>,
    /// Degrees per second.
    pub rate: Vec<f64>,
}

/// A joint over time.
pub struct Trace {
    pub body: String,
    pub coordinates: Vec<Coordinate>,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Coordinate {
    /// Greatest minus smallest angle.
    fn range(&self) -> f64 {
        let (low, high) = (self.actual.iter()).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        high - low
    }
}

impl Trace {
    /// The coordinate that moves most.
    pub fn liveliest(&self) -> Option<&Coordinate> {
        self.coordinates.iter().max_by(|a, b| a.range().total_cmp(&b.range()))
    }

    pub fn range(&self) -> f64 {
        self.liveliest().map_or(0.0, Coordinate::range)
    }

    /// The coordinate called `axis`.
    pub fn coordinate(&self, axis: &str) -> Option<&Coordinate> {
        self.coordinates.iter().find(|c| c.axis == axis)
    }
}

/// Rotation vectors of quaternions `[x, y, z, w]`, degrees, continuous beyond half a turn.
fn rotation_vectors(quaternions: impl Iterator<Item = [f64; 4]>) -> [Vec<f64>; 3] {
    let mut out = [Vec::new(), Vec::new(), Vec::new()];
    let mut previous = DVec3::ZERO;
    for q in quaternions {
        let q = glam::DQuat::from_array(q);
        let mut v = match q.length() > 1e-6 {
            true => log(q.normalize()),
            false => DVec3::ZERO,
        };
        let length = v.length();
        if length > 1e-9 {
            let other = v * (1.0 - std::f64::consts::TAU / length);
            if (other - previous).length() < (v - previous).length() {
                v = other;
            }
        }
        previous = v;
        for (list, value) in out.iter_mut().zip(v.to_array()) {
            list.push(value.to_degrees());
        }
    }
    out
}

/// How many numbers of a joint's four are angles: 1, 2, or 3 for the rotation vector of a quaternion.
fn coordinates_of(joint: Option<&Joint>, samples: impl Fn() -> Vec<[f64; 4]>) -> usize {
    match joint {
        Some(Joint::Hinge { .. }) => 1,
        Some(Joint::Universal { .. }) => 2,
        Some(Joint::Ball) => 3,
        Some(Joint::Free | Joint::Planar | Joint::Fixed) => 0,
        // without the character the numbers must tell
        None => {
            let samples = samples();
            let unit = |q: &[f64; 4]| (q.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-6;
            match samples {
                s if s.iter().all(|q| q[2] == 0.0 && q[3] == 0.0) => {
                    if s.iter().any(|q| q[1] != 0.0) {
                        2
                    } else if s.iter().any(|q| q[0] != 0.0) {
                        1
                    } else {
                        0
                    }
                }
                s if s.iter().all(unit) => 3,
                _ => 0,
            }
        }
    }
}

/// All driven joints of a recording.
pub fn traces(of: &CharacterRun) -> Result<Vec<Trace>, String> {
    let Some(clip) = &of.clip else {
        return Err("it is drawn from motion.clip, which is missing".into());
    };
    let track = |name: &str| {
        let missing = || format!("motion.clip has no track `{name}`: it was written by another version of ambler");
        clip.vector(name).ok_or_else(missing)
    };
    let (position, target) = (track("joint_position")?, track("target_position")?);
    let velocity = track("joint_velocity")?;
    let mut traces = Vec::new();
    // body 0 is the root
    for (b, body) in clip.skeleton.joints.iter().enumerate().skip(1) {
        let four = |track: &crate::clip::container::VectorTrack| -> Vec<[f64; 4]> {
            let of_sample = |i| track.sample(i)?.get(4 * b..4 * b + 4)?.try_into().ok();
            (0..clip.samples()).map_while(of_sample).collect()
        };
        let joint = of.character.as_ref().and_then(|c| c.bodies.get(b)).map(|b| &b.joint);
        let count = coordinates_of(joint, || four(position));
        if count == 0 {
            continue;
        }
        let angles = |track| -> [Vec<f64>; 3] {
            let values = four(track);
            match count {
                3 => rotation_vectors(values.into_iter()),
                _ => [0, 1, 2].map(|k| values.iter().map(|v| v[k].to_degrees()).collect()),
            }
        };
        let rate = |k: usize| {
            let of_sample = |i| velocity.sample(i)?.get(3 * b + k).map(|v| v.to_degrees());
            (0..clip.samples()).map_while(of_sample).collect()
        };
        let axes = match count {
            1 => ["", "", ""],
            2 => ["1", "2", ""],
            _ => AXES,
        };
        let (actual, target) = (angles(position), angles(target));
        traces.push(Trace {
            body: body.name.clone(),
            coordinates: (actual.into_iter().zip(target).take(count).enumerate())
                .map(|(k, (actual, target))| Coordinate {
                    axis: axes[k],
                    actual,
                    target,
                    rate: rate(k),
                })
                .collect(),
        });
    }
    match traces.is_empty() {
        true => Err("the character has no joints that a controller drives".into()),
        false => Ok(traces),
    }
}

/// The traces of every run that has them.
pub fn traces_of<'a>(view: &'a View<'a>) -> Result<Vec<(&'a Who<'a>, Vec<Trace>)>, String> {
    let mut found = Vec::new();
    let mut why = String::new();
    for who in &view.whos {
        match traces(who.character) {
            Ok(traces) => found.push((who, traces)),
            Err(error) => why = error,
        }
    }
    if found.is_empty() { Err(why) } else { Ok(found) }
}

/// Colours of the axes x, y, z.
pub const AXIS_INKS: [Ink; 3] = [Ink::Blue, Ink::Vermillion, Ink::Green];

pub fn angles(view: &View) -> Made {
    let found = traces_of(view)?;
    let times: Vec<Vec<f64>> = found.iter().map(|(w, _)| w.character.clip_times()).collect();
    let names = union(found.iter().map(|(_, t)| t.iter().map(|t| t.body.as_str()).collect()));
    let thin = |ink, dash| Stroke::new(ink, dash).width(1.1);
    let mut plots = Vec::new();
    for name in names {
        let of = |t: &'_ [Trace]| t.iter().position(|t| t.body == name);
        let mut curves = Vec::new();
        let mut title = words(name);
        let mut axis = None;
        for (i, (who, traces)) in found.iter().enumerate() {
            let Some(trace) = of(traces).map(|t| &traces[t]) else {
                continue;
            };
            let curve = |y: &[f64], stroke| SmallCurve {
                x: times[i].as_slice().into(),
                y: y.to_vec(),
                stroke,
                over_time: true,
            };
            if view.compared {
                // one coordinate, the same for all runs
                let wanted = *axis.get_or_insert(trace.liveliest().map_or("", |c| c.axis));
                let Some(coordinate) = trace.coordinate(wanted) else {
                    continue;
                };
                if curves.is_empty() {
                    title = format!("{} {wanted}", words(name));
                    curves.push(curve(&coordinate.target, thin(Ink::Muted, Dash::Solid).width(2.6)));
                }
                curves.push(curve(&coordinate.actual, who.stroke().width(1.1)));
            } else {
                for (k, coordinate) in trace.coordinates.iter().enumerate() {
                    curves.push(curve(&coordinate.actual, thin(AXIS_INKS[k], Dash::Solid)));
                    curves.push(curve(&coordinate.target, thin(AXIS_INKS[k], Dash::Dashed).width(1.0)));
                }
            }
        }
        plots.push(SmallPlot {
            title,
            curves,
            levels: Vec::new(),
            least: [1.0, 2.0],
        });
    }
    let mut keys = Vec::new();
    match view.compared {
        true => keys.push(Key::line(
            format!("target in {}", found[0].0.run.label),
            thin(Ink::Muted, Dash::Solid).width(2.6),
        )),
        false => {
            for (axis, ink) in ["x, hinge, or 1st axis", "y, or 2nd axis", "z"]
                .into_iter()
                .zip(AXIS_INKS)
            {
                keys.push(Key::line(axis, thin(ink, Dash::Solid)));
            }
            keys.push(Key::line("target", thin(Ink::Text, Dash::Dashed)));
        }
    }
    let grid = Grid {
        columns: 3,
        height: 92.0,
        x_label: "time (s)",
        y_label: "angle (°)",
    };
    let mut made = small_multiples(view, keys, &grid, plots);
    let which = match view.compared {
        true => " Of a ball joint the component is shown that moves most in the first run.",
        false => "",
    };
    made.caption = format!(
        "Angles of the joints (solid) and their targets (dashed where one run is shown), from motion.clip. A hinge has one angle about its axis; \
         of a ball joint these are the components of the rotation vector in the parent-side joint frame, whose x axis is flexion where the \
         bind pose faces +Z.{which}{}",
        view.without(|w| traces(w.character).is_ok())
    );
    Ok(made)
}
