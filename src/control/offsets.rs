//! Offsets on the targets of any controller: curves over time, with few numbers to optimise.

use glam::DVec3;

use super::gains::ControlError;
use super::parameters::paths;
use super::{Clock, Controller, Parameter, ParameterError, RootTarget};
use crate::character::{Character, Joint};
use crate::math::rotation::{exp, exp_rate};
use crate::math::spline::MonotoneSpline;
use crate::names::nearest;
use crate::world::{Actuation, CharacterState, JointPosition};

/// Degrees that an offset may have about an axis.
pub const LARGEST_OFFSET_DEG: f64 = 360.0;

/// Factors on the times of the knots.
pub const TIME_SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// Names of the axes of a joint in files.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// What is added to the targets of a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetOptions {
    /// Times of the knots, seconds, increasing.
    pub knots: Vec<f64>,
    /// Factor on all of them.
    pub time_scale: f64,
    /// A curve of `thigh` is one of `left_thigh` and, mirrored in the plane x = 0, of `right_thigh`: equal about x, opposite
    /// about y and z of a ball joint, equal angles of hinges and universal joints.
    pub mirror: bool,
    pub curves: Vec<OffsetCurve>,
}

/// The offset of one joint about one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetCurve {
    /// A body, or with [`OffsetOptions::mirror`] what follows `left_` and `right_` in the names of two.
    pub joint: String,
    /// 0 to 2, one of [`AXES`].
    pub axis: usize,
    /// One per knot, degrees.
    pub values: Vec<f64>,
}

/// Offsets with the joints of a character found.
///
/// A [`MonotoneSpline`] leads through the knots of each curve; before the first and after the last knot its value is held. To
/// the angle of a hinge (x) and the angles of a universal joint (x, y) the curves are added. Those of a ball joint are a
/// rotation vector `o` in the parent-side joint frame, after the controller's own target `q`: the target is `exp(o) · q`, its
/// rate `ω_o + exp(o) ω_q` with `ω_o` the rate of `exp(o)`.
#[derive(Clone, Debug)]
pub struct Offsets {
    options: OffsetOptions,
    /// Radians, one per curve.
    splines: Vec<MonotoneSpline>,
    parts: Vec<Part>,
    /// Bodies that have an offset.
    bodies: Vec<usize>,
    /// Per body of the character: offset now, and offset and its rate in the middle of the time until the next call.
    sums: Vec<[DVec3; 3]>,
}

/// A curve of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    body: usize,
    axis: usize,
    sign: f64,
    curve: usize,
}

/// A joint in words and the number of its axes.
fn joint_in_words(joint: &Joint) -> (&'static str, usize) {
    match joint {
        Joint::Hinge { .. } => ("a hinge, which has x only", 1),
        Joint::Universal { .. } => ("a universal joint, which has x and y", 2),
        Joint::Ball => ("a ball joint, which has x, y and z", 3),
        Joint::Free | Joint::Planar | Joint::Fixed => ("no joint that can be posed", 0),
    }
}

/// The bodies a name stands for and whether each is the mirror image.
fn bodies_called(character: &Character, name: &str, mirror: bool) -> Option<Vec<(usize, bool)>> {
    if let Some(body) = character.body(name) {
        return Some(vec![(body, false)]);
    }
    if !mirror {
        return None;
    }
    let left = character.body(&format!("left_{name}"))?;
    let right = character.body(&format!("right_{name}"))?;
    Some(vec![(left, false), (right, true)])
}

/// The names that curves may have.
fn known_names(character: &Character, mirror: bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for body in &character.bodies {
        let side = ["left_", "right_"].iter().find_map(|s| body.name.strip_prefix(s));
        let name = match side {
            Some(pair) if mirror && bodies_called(character, pair, true).is_some() => pair,
            _ => body.name.as_str(),
        };
        if !names.iter().any(|n| n == name) {
            names.push(name.to_string());
        }
    }
    names
}

impl Offsets {
    /// Finds the joints of the curves.
    ///
    /// # Errors
    /// A name or an axis that the character does not have, knots that do not increase, not one value per knot, a number that is
    /// not finite or beyond its range.
    pub fn new(character: &Character, options: OffsetOptions) -> Result<Offsets, ControlError> {
        let bad =
            |what: String, value: f64, expected: &'static str| Err(ControlError::BadValue { what, value, expected });
        if let Some(&knot) = options.knots.iter().find(|k| !k.is_finite()) {
            return bad("offsets.knots_s".into(), knot, "finite times");
        }
        if let Some(pair) = options.knots.windows(2).find(|k| k[0] >= k[1]) {
            return bad("offsets.knots_s".into(), pair[1], "times that increase");
        }
        if options.knots.is_empty() {
            return bad("number of offsets.knots_s".into(), 0.0, "at least one");
        }
        if !TIME_SCALES.contains(&options.time_scale) {
            return bad("offsets.time_scale".into(), options.time_scale, "0.001 to 1000");
        }
        let mut parts = Vec::new();
        for (index, curve) in options.curves.iter().enumerate() {
            let what = format!("offsets.joints.{}", curve.joint);
            let Some(bodies) = bodies_called(character, &curve.joint, options.mirror) else {
                let known = known_names(character, options.mirror);
                let one_side = format!("left_{}", curve.joint);
                let similar = nearest(&curve.joint, known.iter().map(String::as_str)).map(str::to_string);
                return Err(ControlError::UnknownBody {
                    what: "offsets.joints".into(),
                    character: character.name.clone(),
                    name: curve.joint.clone(),
                    nearest: similar.or(character.body(&one_side).map(|_| one_side)),
                    known,
                });
            };
            if curve.values.len() != options.knots.len() {
                let what = format!("number of values of {what}");
                return bad(what, curve.values.len() as f64, "one per knot");
            }
            let allowed = -LARGEST_OFFSET_DEG..=LARGEST_OFFSET_DEG;
            if let Some(&value) = curve.values.iter().find(|v| !allowed.contains(v)) {
                return bad(what, value, "-360 to 360 degrees");
            }
            for (body, mirrored) in bodies {
                let joint = &character.bodies[body].joint;
                let (joint_in_words, axes) = joint_in_words(joint);
                if curve.axis >= axes {
                    return Err(ControlError::NoSuchAxis {
                        what,
                        body: character.bodies[body].name.clone(),
                        axis: AXES.get(curve.axis).copied().unwrap_or("beyond z"),
                        joint: joint_in_words,
                    });
                }
                let turns_about_y_or_z = matches!(joint, Joint::Ball) && curve.axis > 0;
                parts.push(Part {
                    body,
                    axis: curve.axis,
                    sign: if mirrored && turns_about_y_or_z { -1.0 } else { 1.0 },
                    curve: index,
                });
            }
        }
        let mut bodies: Vec<usize> = parts.iter().map(|p| p.body).collect();
        bodies.sort_unstable();
        bodies.dedup();
        let mut offsets = Offsets {
            options,
            splines: Vec::new(),
            parts,
            bodies,
            sums: vec![[DVec3::ZERO; 3]; character.bodies.len()],
        };
        offsets.splines = (0..offsets.options.curves.len()).map(|c| offsets.spline(c)).collect();
        Ok(offsets)
    }

    fn spline(&self, curve: usize) -> MonotoneSpline {
        let OffsetOptions {
            knots,
            time_scale,
            curves,
            ..
        } = &self.options;
        MonotoneSpline::new(
            knots.iter().map(|t| t * time_scale).collect(),
            curves[curve].values.iter().map(|v| v.to_radians()).collect(),
        )
    }

    /// Moves the targets in `out`, which a controller has just written, and their rates.
    ///
    /// Like that controller's, the rates are those of the middle of the time until the next call, with which the targets are
    /// at their curves again at its end.
    pub fn add(&mut self, clock: Clock, out: &mut Actuation) {
        let middle = clock.time + 0.5 * clock.dt;
        for &body in &self.bodies {
            self.sums[body] = [DVec3::ZERO; 3];
        }
        for part in &self.parts {
            let spline = &self.splines[part.curve];
            let (now, _) = spline.sample(clock.time);
            let (then, rate) = spline.sample(middle);
            for (sum, value) in self.sums[part.body].iter_mut().zip([now, then, rate]) {
                sum[part.axis] += part.sign * value;
            }
        }
        for &body in &self.bodies {
            let [now, then, rate] = self.sums[body];
            let joint = &mut out.joints[body];
            match &mut joint.target {
                JointPosition::Angle(a) => {
                    *a += now.x;
                    joint.target_velocity += rate;
                }
                JointPosition::Angles([a, b]) => {
                    *a += now.x;
                    *b += now.y;
                    joint.target_velocity += rate;
                }
                JointPosition::Rotation(q) => {
                    *q = (exp(now) * *q).normalize();
                    joint.target_velocity = exp_rate(then, rate) + exp(then) * joint.target_velocity;
                }
                JointPosition::None => {}
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut all = vec![Parameter {
            path: "offsets.time_scale".into(),
            value: self.options.time_scale,
            unit: "",
            range: [0.25, 4.0],
            log: true,
        }];
        for curve in &self.options.curves {
            for (knot, value) in curve.values.iter().enumerate() {
                all.push(Parameter {
                    path: format!("offsets.joints.{}.{}.{knot}", curve.joint, AXES[curve.axis]),
                    value: *value,
                    unit: "deg",
                    range: [-180.0, 180.0],
                    log: false,
                });
            }
        }
        all
    }

    /// `None` if there is no such parameter.
    fn set_parameter(&mut self, path: &str, value: f64) -> Option<Result<(), ParameterError>> {
        let bad = |expected: String| {
            let path = path.to_string();
            Some(Err(ParameterError::BadValue { path, value, expected }))
        };
        if path == "offsets.time_scale" {
            if !TIME_SCALES.contains(&value) {
                return bad(format!("{:e} to {:e}", TIME_SCALES.start(), TIME_SCALES.end()));
            }
            self.options.time_scale = value;
            self.splines = (0..self.options.curves.len()).map(|c| self.spline(c)).collect();
            return Some(Ok(()));
        }
        let (rest, knot) = path.strip_prefix("offsets.joints.")?.rsplit_once('.')?;
        let (joint, axis) = rest.rsplit_once('.')?;
        let is_meant = |c: &OffsetCurve| c.joint == joint && AXES[c.axis] == axis;
        let curve = self.options.curves.iter().position(is_meant)?;
        let slot = self.options.curves[curve].values.get_mut(knot.parse::<usize>().ok()?)?;
        if !(-LARGEST_OFFSET_DEG..=LARGEST_OFFSET_DEG).contains(&value) {
            return bad(format!("-{LARGEST_OFFSET_DEG} to {LARGEST_OFFSET_DEG}"));
        }
        *slot = value;
        self.splines[curve] = self.spline(curve);
        Some(Ok(()))
    }
}

/// A controller whose targets are moved by offsets.
#[derive(Clone, Debug)]
pub struct WithOffsets<C> {
    pub base: C,
    offsets: Offsets,
}

impl<C: Controller> WithOffsets<C> {
    pub fn new(base: C, offsets: Offsets) -> WithOffsets<C> {
        WithOffsets { base, offsets }
    }
}

impl<C: Controller> Controller for WithOffsets<C> {
    fn act(&mut self, state: &CharacterState, clock: Clock, out: &mut Actuation) {
        self.base.act(state, clock, out);
        self.offsets.add(clock, out);
    }

    fn root_target(&self, time: f64) -> Option<RootTarget> {
        self.base.root_target(time)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut all = self.base.parameters();
        all.extend(self.offsets.parameters());
        all
    }

    fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ParameterError> {
        if let Some(set) = self.offsets.set_parameter(path, value) {
            return set;
        }
        match self.base.set_parameter(path, value) {
            Err(ParameterError::Unknown { .. }) => Err(ParameterError::unknown(path, paths(self.parameters()))),
            set => set,
        }
    }
}

#[cfg(test)]
#[allow(non_snake_case)]
mod tests {
    use std::path::Path;

    use glam::DQuat;

    use super::*;
    use crate::control::{Gains, Hold, pose_from_angles};
    use crate::math::rotation::difference;

    fn character(file: &str) -> Character {
        Character::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters").join(file)).unwrap()
    }

    fn curve(joint: &str, axis: usize, values: &[f64]) -> OffsetCurve {
        OffsetCurve {
            joint: joint.into(),
            axis,
            values: values.into(),
        }
    }

    fn options(mirror: bool, curves: &[OffsetCurve]) -> OffsetOptions {
        OffsetOptions {
            knots: vec![0.1, 0.35, 0.5, 0.9],
            time_scale: 1.25,
            mirror,
            curves: curves.to_vec(),
        }
    }

    /// A controller whose ball joints turn about a fixed axis and whose angles grow.
    #[derive(Clone)]
    struct Turning(Character);

    impl Turning {
        const RATE: DVec3 = DVec3::new(0.7, -1.1, 0.4);
    }

    impl Controller for Turning {
        fn act(&mut self, _: &CharacterState, clock: Clock, out: &mut Actuation) {
            *out = Actuation::hold_bind_pose(&self.0);
            for joint in &mut out.joints {
                match &mut joint.target {
                    JointPosition::Angle(a) => *a = 0.3 + Turning::RATE.x * clock.time,
                    JointPosition::Rotation(q) => {
                        *q = exp(Turning::RATE * clock.time) * exp(DVec3::new(0.2, 0.5, -0.3));
                    }
                    _ => continue,
                }
                joint.target_velocity = Turning::RATE;
            }
        }
    }

    fn act(controller: &mut impl Controller, time: f64, dt: f64) -> Actuation {
        let mut out = Actuation::default();
        controller.act(&CharacterState::default(), Clock { time, dt }, &mut out);
        out
    }

    #[test]
    fn target_velocities_are_the_derivatives_of_the_targets() {
        // central differences of the targets around the middle of the interval, on a target that moves by itself
        let character = character("humanoid.toml");
        let curves = [
            curve("thigh", 0, &[0.0, -80.0, 35.0, 10.0]),
            curve("thigh", 1, &[5.0, 20.0, -15.0, -30.0]),
            curve("thigh", 2, &[0.0, 12.0, 30.0, -9.0]),
            curve("shin", 0, &[0.0, 100.0, -20.0, 0.0]),
        ];
        let offsets = Offsets::new(&character, options(true, &curves)).unwrap();
        let mut controller = WithOffsets::new(Turning(character.clone()), offsets);
        let h = 1e-6;
        let (mut largest, dt) = (0.0_f64, 1.0 / 60.0);
        for i in 0..120 {
            let time = -0.05 + 0.0131 * f64::from(i);
            let moves = act(&mut controller, time - 0.5 * dt, dt);
            let (before, after) = (act(&mut controller, time - h, dt), act(&mut controller, time + h, dt));
            for (body, joint) in moves.joints.iter().enumerate() {
                let v = joint.target_velocity;
                let found = match (before.joints[body].target, after.joints[body].target) {
                    (JointPosition::Angle(a), JointPosition::Angle(b)) => {
                        assert!(((b - a) / (2.0 * h) - v.x).abs() < 1e-6);
                        continue;
                    }
                    (JointPosition::Rotation(a), JointPosition::Rotation(b)) => difference(b, a) / (2.0 * h),
                    _ => continue,
                };
                // rates up to 20 rad/s and their second derivatives up to 1e4: 1e-8; rounding of quaternions 1e-10
                assert!(
                    (found - v).length() < 1e-6,
                    "{} at {time}: {found} for {v}",
                    character.bodies[body].name
                );
                largest = largest.max((v - Turning::RATE).length());
            }
        }
        assert!(largest > 5.0, "the curves did move: {largest}");
    }

    #[test]
    fn a_target_moved_on_at_its_rate_arrives_where_the_curve_is_then() {
        // the error of a step is of third order in it: an eighth at half the step
        let character = character("humanoid.toml");
        let offsets = Offsets::new(
            &character,
            options(false, &[curve("abdomen", 0, &[0.0, 20.0, 35.0, 40.0])]),
        )
        .unwrap();
        let mut controller = WithOffsets::new(Turning(character.clone()), offsets);
        let body = character.body("abdomen").unwrap();
        let mut error = |dt: f64| {
            let (a, b) = (act(&mut controller, 0.5, dt), act(&mut controller, 0.5 + dt, dt));
            match (a.joints[body].target, b.joints[body].target) {
                (JointPosition::Rotation(q), JointPosition::Rotation(q_next)) => {
                    difference(q_next, exp(a.joints[body].target_velocity * dt) * q).length()
                }
                _ => unreachable!("the abdomen is on a ball joint"),
            }
        };
        let ratio = error(0.02) / error(0.01);
        assert!((7.0..9.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn mirrored_offsets_move_both_sides_in_mirror_image() {
        // rotations of the right are (x, -y, -z, w) of the left, angles are equal; the middle takes the curve as it stands
        let character = character("humanoid.toml");
        let pose = pose_from_angles(
            &character,
            [
                ("left_upper_arm", &[10.0, 20.0, -75.0][..]),
                ("right_upper_arm", &[10.0, -20.0, 75.0][..]),
            ],
            "pose",
        )
        .unwrap();
        let hold = Hold::new(&character, &pose, &Gains::default()).unwrap();
        let curves = [
            curve("upper_arm", 0, &[0.0, -80.0, 35.0, 10.0]),
            curve("upper_arm", 1, &[5.0, 20.0, -15.0, -30.0]),
            curve("upper_arm", 2, &[0.0, 12.0, 30.0, -9.0]),
            curve("forearm", 0, &[0.0, 50.0, 70.0, 20.0]),
            curve("abdomen", 1, &[0.0, 4.0, 9.0, 2.0]),
            curve("left_thigh", 0, &[0.0, -7.0, 0.0, 0.0]),
        ];
        let mut controller = WithOffsets::new(hold, Offsets::new(&character, options(true, &curves)).unwrap());
        let out = act(&mut controller, 0.53, 0.01);
        let joint = |name: &str| out.joints[character.body(name).unwrap()];
        let rotation = |name: &str| match joint(name).target {
            JointPosition::Rotation(q) => q,
            _ => unreachable!("{name} is on a ball joint"),
        };
        let (q, p) = (rotation("left_upper_arm"), rotation("right_upper_arm"));
        let image = DQuat::from_xyzw(q.x, -q.y, -q.z, q.w);
        assert!(difference(image, p).length() < 1e-15 && q.angle_between(p) > 0.5);
        let (v, w) = (
            joint("left_upper_arm").target_velocity,
            joint("right_upper_arm").target_velocity,
        );
        assert!((v - DVec3::new(w.x, -w.y, -w.z)).length() < 1e-14 && v.length() > 1.0);
        assert_eq!(joint("left_forearm"), joint("right_forearm"));
        assert!(rotation("abdomen").y > 0.03);
        assert_ne!(rotation("left_thigh"), rotation("right_thigh"));
    }

    #[test]
    fn parameters_set_while_it_acts_are_bitwise_those_of_a_controller_built_with_them() {
        // every listed number can be set, is listed then, and moves the targets as if it had always been there
        let character = character("humanoid.toml");
        let curves = [
            curve("foot", 2, &[0.0, 1.0, 2.0, 3.0]),
            curve("shin", 0, &[10.0, 20.0, 30.0, 40.0]),
        ];
        let bind: Vec<_> = character.bodies.iter().map(|b| JointPosition::bind(&b.joint)).collect();
        let build = |gains: Gains, options: OffsetOptions| {
            let hold = Hold::new(&character, &bind, &gains).unwrap();
            WithOffsets::new(hold, Offsets::new(&character, options).unwrap())
        };
        let mut live = build(Gains::default(), options(true, &curves));
        let mut wanted = options(true, &curves);
        wanted.time_scale = 0.3 + 1e-9;
        wanted.curves[0].values = vec![7.0 / 3.0, -20.0, 0.1, -0.7];
        wanted.curves[1].values[2] = 60.0 / 7.0;
        for (knot, value) in wanted.curves[0].values.iter().enumerate() {
            live.set_parameter(&format!("offsets.joints.foot.z.{knot}"), *value)
                .unwrap();
            act(&mut live, 0.2, 0.01);
        }
        live.set_parameter("kp_scale", 1.7).unwrap();
        live.set_parameter("offsets.joints.shin.x.2", 60.0 / 7.0).unwrap();
        live.set_parameter("offsets.time_scale", 0.3 + 1e-9).unwrap();
        let gains = Gains {
            kp_scale: 1.7,
            ..Gains::default()
        };
        let mut fresh = build(gains, wanted);
        assert_eq!(live.parameters(), fresh.parameters());
        for i in 0..100 {
            let time = 0.013 * f64::from(i);
            assert_eq!(act(&mut live, time, 0.01), act(&mut fresh, time, 0.01));
        }
        for parameter in live.parameters() {
            live.set_parameter(&parameter.path, 1.5).unwrap();
            let listed = live.parameters().into_iter().find(|p| p.path == parameter.path);
            assert_eq!(listed.map(|p| p.value), Some(1.5));
        }
    }

    #[test]
    fn names_axes_and_values_that_mean_nothing_are_refused() {
        // the error says which curve and what there is instead; a parameter out of range changes nothing
        let character = character("humanoid.toml");
        let values = [0.0, 1.0, 2.0, 3.0];
        for (mirror, bad, part) in [
            (true, curve("thig", 0, &values), "did you mean `thigh`"),
            (false, curve("thigh", 0, &values), "did you mean `left_thigh`"),
            (true, curve("shin", 1, &values), "has x only"),
            (true, curve("pelvis", 0, &values), "no joint"),
            (true, curve("thigh", 0, &values[1..]), "one per knot"),
            (true, curve("thigh", 0, &[0.0, f64::NAN, 0.0, 0.0]), "NaN"),
            (true, curve("thigh", 0, &[0.0, 361.0, 0.0, 0.0]), "361"),
        ] {
            let error = Offsets::new(&character, options(mirror, &[bad]))
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{error}");
        }
        let mut unordered = options(true, &[]);
        unordered.knots[2] = 0.35;
        assert!(
            Offsets::new(&character, unordered)
                .unwrap_err()
                .to_string()
                .contains("increase")
        );
        let good = options(true, &[curve("thigh", 0, &values)]);
        let mut controller = WithOffsets::new(Turning(character.clone()), Offsets::new(&character, good).unwrap());
        let before = act(&mut controller, 0.6, 0.01);
        for (path, value) in [
            ("offsets.joints.thigh.x.1", f64::NAN),
            ("offsets.joints.thigh.x.1", -361.0),
            ("offsets.joints.thigh.x.4", 0.0),
            ("offsets.joints.thigh.y.1", 0.0),
            ("offsets.joints.thigh.x", 0.0),
            ("offsets.time_scale", 0.0),
            ("offsets.knots_s.1", 0.2),
        ] {
            assert!(controller.set_parameter(path, value).is_err(), "{path}");
        }
        assert_eq!(act(&mut controller, 0.6, 0.01), before);
    }
}
