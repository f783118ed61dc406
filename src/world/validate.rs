//! Checks of everything that enters a world: the scene once, actuations and forces in every step.
//!
//! The checks of a step allocate nothing unless they fail.

use glam::{DQuat, DVec3};

use super::{
    Actuation, BodyRef, BuildError, ExternalForce, JointPosition, Platform, PlatformMotion, RootActuation, Scene,
    StepError, Terrain, TerrainShape,
};
use crate::bounds::{self, within};
use crate::character::{Body, Character, Collider, Joint, Limit, Material, Shape};

/// Unit vectors and quaternions may be off by this much (files carry six digits).
const UNIT_TOLERANCE: f64 = 1e-5;
/// Seconds.
const LARGEST_STEP: f64 = 0.1;

/// Checks every number of a scene and the step size; the error names thing, key, value and what was expected.
pub(crate) fn scene(scene: &Scene, dt: f64) -> Result<(), BuildError> {
    check(dt > 0.0 && dt <= LARGEST_STEP, "time step", dt, "seconds in (0, 0.1]")?;
    vector("gravity", scene.gravity, bounds::LARGEST_GRAVITY, "m/s²")?;
    for (i, t) in scene.terrain.iter().enumerate() {
        terrain(&format!("terrain {i}"), t)?;
    }
    for (i, p) in scene.platforms.iter().enumerate() {
        platform(&format!("platform {i}"), p)?;
    }
    for (i, p) in scene.props.iter().enumerate() {
        character(&format!("prop {i} ({})", p.body.name), &p.body)?;
    }
    for (i, p) in scene.characters.iter().enumerate() {
        let name = format!("character {i} ({})", p.character.name);
        character(&name, &p.character)?;
        place(&format!("{name}: position"), p.position)?;
        check(
            p.heading.is_finite(),
            format!("{name}: heading"),
            p.heading,
            "finite radians",
        )?;
    }
    Ok(())
}

/// Checks one character's actuation before a step at `time`.
pub(crate) fn actuation(character: &Character, actuation: &Actuation, time: f64) -> Result<(), StepError> {
    if actuation.joints.len() != character.bodies.len() {
        return Err(StepError::BadInput {
            time,
            character: character.name.clone(),
            body: "all".into(),
            what: "number of joints in the actuation".into(),
            value: actuation.joints.len().to_string(),
            expected: format!("{}, one per body", character.bodies.len()),
        });
    }
    for (body, joint) in character.bodies.iter().zip(&actuation.joints) {
        let axes = driven_axes(&body.joint);
        if axes == 0 {
            continue;
        }
        let at = |what: &str, axis: usize, value: f64, expected: &str| {
            bad_step(
                time,
                &character.name,
                &body.name,
                format!("{what}[{axis}]"),
                value,
                expected,
            )
        };
        if !fits(&body.joint, &joint.target) {
            return Err(bad_target(time, character, body, &joint.target));
        }
        for axis in 0..axes {
            let (kp, kd) = (joint.kp[axis], joint.kd[axis]);
            if !is_gain(kp) {
                return Err(at("kp", axis, kp, "0 to 1e18 N m/rad"));
            }
            if !is_gain(kd) {
                return Err(at("kd", axis, kd, "0 to 1e18 N m s/rad"));
            }
            let rate = joint.target_velocity[axis];
            if !within(bounds::LARGEST_TARGET_RATE, &[rate]) {
                return Err(at("target velocity", axis, rate, "rad/s between -1e9 and 1e9"));
            }
            let torque = joint.feed_forward[axis];
            if !within(bounds::LARGEST_FORCE, &[torque]) {
                return Err(at("feed-forward torque", axis, torque, "N m between -1e9 and 1e9"));
            }
        }
    }
    root(character, &actuation.root, time)
}

/// Checks the external forces of a step at `time`: finite, and on a body that exists and can move.
pub(crate) fn forces(scene: &Scene, forces: &[ExternalForce], time: f64) -> Result<(), StepError> {
    for f in forces {
        let (owner, body) = match f.target {
            BodyRef::Character { character, body } => (scene.characters.get(character).map(|p| &p.character), body),
            BodyRef::Prop { prop, body } => (scene.props.get(prop).map(|p| &p.body), body),
            BodyRef::Terrain(_) | BodyRef::Platform(_) => (None, 0),
        };
        let Some((owner, body)) = owner.and_then(|c| c.bodies.get(body).map(|b| (c, b))) else {
            return Err(StepError::BadInput {
                time,
                character: "external force".into(),
                body: "target".into(),
                what: "target".into(),
                value: format!("{:?}", f.target),
                expected: "a body of a character or prop of this scene".into(),
            });
        };
        for (what, v, largest, expected) in [
            (
                "point of an external force",
                f.point,
                bounds::LARGEST_LENGTH,
                "metres within 1e6",
            ),
            ("external force", f.force, bounds::LARGEST_FORCE, "N within 1e9"),
            ("external torque", f.torque, bounds::LARGEST_FORCE, "N m within 1e9"),
        ] {
            if !within(largest, &v.to_array()) {
                return Err(bad_step(time, &owner.name, &body.name, what.into(), v, expected));
            }
        }
    }
    Ok(())
}

/// Checks a pose and velocities that a character shall be placed with.
pub(crate) fn placement(
    character: &Character,
    time: f64,
    position: DVec3,
    rotation: DQuat,
    joints: &[JointPosition],
    velocities: &[(DVec3, DVec3)],
) -> Result<(), StepError> {
    let bodies = character.bodies.len();
    let root_body = &character.bodies[0].name;
    for (what, found) in [("joint positions", joints.len()), ("velocities", velocities.len())] {
        if found != bodies {
            let expected = format!("{bodies}, one per body");
            let what = format!("number of {what}");
            return Err(bad_step(time, &character.name, root_body, what, found, &expected));
        }
    }
    if !within(bounds::LARGEST_LENGTH, &position.to_array()) {
        let what = "root position".into();
        return Err(bad_step(
            time,
            &character.name,
            root_body,
            what,
            position,
            "metres within 1e6",
        ));
    }
    if !is_unit_quat(rotation) {
        let what = "root rotation".into();
        return Err(bad_step(
            time,
            &character.name,
            root_body,
            what,
            rotation,
            "a unit quaternion",
        ));
    }
    for ((body, joint), (linear, angular)) in character.bodies.iter().zip(joints).zip(velocities) {
        if !fits(&body.joint, joint) {
            return Err(bad_target(time, character, body, joint));
        }
        for (what, v) in [("linear velocity", linear), ("angular velocity", angular)] {
            if !within(bounds::LARGEST_SPEED, &v.to_array()) {
                return Err(bad_step(
                    time,
                    &character.name,
                    &body.name,
                    what.into(),
                    v,
                    "m/s or rad/s within 1e4",
                ));
            }
        }
    }
    Ok(())
}

/// Checks the index that a caller names a character or prop with.
pub(crate) fn index(kind: &str, found: usize, count: usize, time: f64) -> Result<(), StepError> {
    if found < count {
        return Ok(());
    }
    Err(bad_step(
        time,
        kind,
        "all",
        "index".into(),
        found,
        &format!("less than {count}"),
    ))
}

/// Whether `q` is finite and of length one to the digits a file carries.
pub(crate) fn is_unit_quat(q: DQuat) -> bool {
    q.is_finite() && (q.length() - 1.0).abs() <= UNIT_TOLERANCE
}

/// Number of axes of a joint that a PD law can drive.
pub(crate) fn driven_axes(joint: &Joint) -> usize {
    match joint {
        Joint::Free | Joint::Planar | Joint::Fixed => 0,
        Joint::Hinge { .. } | Joint::Universal { .. } | Joint::Ball => joint.dofs(),
    }
}

/// Whether `k` can be a stiffness or a damping.
fn is_gain(k: f64) -> bool {
    (0.0..=bounds::LARGEST_GAIN).contains(&k)
}

/// Whether `position` is of the joint's kind and in its range. Joints without a position take any.
fn fits(joint: &Joint, position: &JointPosition) -> bool {
    match (joint, position) {
        (Joint::Free | Joint::Planar | Joint::Fixed, _) => true,
        (Joint::Hinge { .. }, JointPosition::Angle(a)) => within(bounds::LARGEST_ANGLE, &[*a]),
        (Joint::Universal { .. }, JointPosition::Angles(a)) => within(bounds::LARGEST_ANGLE, a),
        (Joint::Ball, JointPosition::Rotation(q)) => is_unit_quat(*q),
        _ => false,
    }
}

fn root(character: &Character, root: &RootActuation, time: f64) -> Result<(), StepError> {
    let error = |what: &str, value: String, expected: &str| {
        let name = &character.bodies[0].name;
        Err(bad_step(
            time,
            &character.name,
            name,
            format!("root actuation: {what}"),
            value,
            expected,
        ))
    };
    match root {
        RootActuation::None => Ok(()),
        RootActuation::Wrench(w) => {
            if !within(bounds::LARGEST_FORCE, &w.force.to_array()) {
                return error("force", w.force.to_string(), "N within 1e9");
            }
            if !within(bounds::LARGEST_FORCE, &w.torque.to_array()) {
                return error("torque", w.torque.to_string(), "N m within 1e9");
            }
            Ok(())
        }
        RootActuation::Spring {
            position,
            rotation,
            velocity,
            angular_velocity,
            kp_linear,
            kd_linear,
            kp_angular,
            kd_angular,
        } => {
            for (what, v) in [
                ("position", position),
                ("velocity", velocity),
                ("angular velocity", angular_velocity),
            ] {
                if !within(bounds::LARGEST_TARGET_RATE, &v.to_array()) {
                    return error(what, v.to_string(), "metres, m/s or rad/s within 1e9");
                }
            }
            if !is_unit_quat(*rotation) {
                return error("rotation", rotation.to_string(), "a unit quaternion");
            }
            for (what, k) in [
                ("kp_linear", kp_linear),
                ("kd_linear", kd_linear),
                ("kp_angular", kp_angular),
                ("kd_angular", kd_angular),
            ] {
                if !is_gain(*k) {
                    return error(what, k.to_string(), "a number from 0 to 1e18");
                }
            }
            Ok(())
        }
    }
}

fn bad_step(
    time: f64,
    character: &str,
    body: &str,
    what: String,
    value: impl std::fmt::Display,
    expected: &str,
) -> StepError {
    StepError::BadInput {
        time,
        character: character.into(),
        body: body.into(),
        what,
        value: value.to_string(),
        expected: expected.into(),
    }
}

fn bad_target(time: f64, character: &Character, body: &Body, found: &JointPosition) -> StepError {
    let expected = match body.joint {
        Joint::Hinge { .. } => "an Angle within 1e6 radians",
        Joint::Universal { .. } => "Angles within 1e6 radians",
        _ => "a Rotation by a unit quaternion",
    };
    bad_step(
        time,
        &character.name,
        &body.name,
        "joint position".into(),
        format!("{found:?}"),
        expected,
    )
}

fn check(
    good: bool,
    what: impl Into<String>,
    value: impl std::fmt::Display,
    expected: impl Into<String>,
) -> Result<(), BuildError> {
    if good {
        return Ok(());
    }
    Err(BuildError::BadValue {
        what: what.into(),
        value: value.to_string(),
        expected: expected.into(),
    })
}

fn vector(what: &str, v: DVec3, largest: f64, unit: &str) -> Result<(), BuildError> {
    let good = within(largest, &v.to_array());
    check(good, what, v, format!("{unit} between -{largest:e} and {largest:e}"))
}

/// A place or an offset.
fn place(what: &str, v: DVec3) -> Result<(), BuildError> {
    vector(what, v, bounds::LARGEST_LENGTH, "metres")
}

fn unit_axis(what: String, v: DVec3) -> Result<(), BuildError> {
    let good = v.is_finite() && (v.length() - 1.0).abs() <= UNIT_TOLERANCE;
    check(good, what, v, "a vector of length 1")
}

fn unit_rotation(what: String, q: DQuat) -> Result<(), BuildError> {
    check(is_unit_quat(q), what, q, "a quaternion [x, y, z, w] of length 1")
}

fn speed(what: &str, v: DVec3) -> Result<(), BuildError> {
    vector(what, v, bounds::LARGEST_SPEED, "m/s or rad/s")
}

fn size(what: String, v: f64) -> Result<(), BuildError> {
    check(bounds::is_size(v), what, v, "metres above 0 (1e-6 to 1e6)")
}

fn sizes(what: String, v: DVec3) -> Result<(), BuildError> {
    let good = v.to_array().into_iter().all(bounds::is_size);
    check(good, what, v, "metres above 0 (1e-6 to 1e6)")
}

fn material(at: &str, m: &Material) -> Result<(), BuildError> {
    let friction = (0.0..=bounds::LARGEST_FRICTION).contains(&m.friction);
    check(
        friction,
        format!("{at}: friction"),
        m.friction,
        "a number from 0 to 1e6",
    )?;
    let restitution = (0.0..=1.0).contains(&m.restitution);
    check(
        restitution,
        format!("{at}: restitution"),
        m.restitution,
        "a number from 0 to 1",
    )
}

fn terrain(at: &str, t: &Terrain) -> Result<(), BuildError> {
    place(&format!("{at}: position"), t.position)?;
    unit_rotation(format!("{at}: rotation"), t.rotation)?;
    material(at, &t.material)?;
    match &t.shape {
        TerrainShape::Ground => Ok(()),
        TerrainShape::Box { half_extents } => sizes(format!("{at}: half_extents"), *half_extents),
        TerrainShape::Stairs {
            steps,
            rise,
            run,
            width,
        } => {
            check(
                (1..=10_000).contains(steps),
                format!("{at}: steps"),
                steps,
                "1 to 10000",
            )?;
            size(format!("{at}: rise"), *rise)?;
            size(format!("{at}: run"), *run)?;
            size(format!("{at}: width"), *width)
        }
        TerrainShape::Heightfield { heights, size } => heightfield(at, heights, size),
        TerrainShape::Mesh { vertices, triangles } => {
            check(
                !triangles.is_empty(),
                format!("{at}: triangles"),
                "empty",
                "at least one",
            )?;
            for (i, v) in vertices.iter().enumerate() {
                place(&format!("{at}: vertex {i}"), *v)?;
            }
            let count = vertices.len();
            for (i, triangle) in triangles.iter().enumerate() {
                for corner in triangle {
                    let expected = || format!("less than {count}, the number of vertices");
                    check(
                        (*corner as usize) < count,
                        format!("{at}: triangle {i}"),
                        corner,
                        expected(),
                    )?;
                }
            }
            Ok(())
        }
    }
}

fn heightfield(at: &str, heights: &[Vec<f64>], sides: &[f64; 2]) -> Result<(), BuildError> {
    size(format!("{at}: size[0]"), sides[0])?;
    size(format!("{at}: size[1]"), sides[1])?;
    let columns = heights.first().map_or(0, Vec::len);
    let shape = format!("{} x {columns}", heights.len());
    let large_enough = heights.len() >= 2 && columns >= 2;
    check(large_enough, format!("{at}: heights"), shape, "at least 2 x 2 heights")?;
    for (r, row) in heights.iter().enumerate() {
        let expected = || format!("{columns} heights like row 0");
        check(
            row.len() == columns,
            format!("{at}: heights: length of row {r}"),
            row.len(),
            expected(),
        )?;
        for (c, h) in row.iter().enumerate() {
            let good = within(bounds::LARGEST_LENGTH, &[*h]);
            check(good, format!("{at}: heights[{r}][{c}]"), h, "metres within 1e6")?;
        }
    }
    Ok(())
}

fn platform(at: &str, p: &Platform) -> Result<(), BuildError> {
    sizes(format!("{at}: half_extents"), p.half_extents)?;
    place(&format!("{at}: position"), p.position)?;
    unit_rotation(format!("{at}: rotation"), p.rotation)?;
    material(at, &p.material)?;
    match &p.motion {
        PlatformMotion::Sine { amplitude, frequency } => {
            place(&format!("{at}: amplitude"), *amplitude)?;
            let good = (0.0..=bounds::LARGEST_FREQUENCY).contains(frequency);
            check(good, format!("{at}: frequency"), frequency, "0 to 1e6 Hz")?;
            let fastest = *amplitude * (std::f64::consts::TAU * frequency);
            speed(&format!("{at}: largest velocity (2π frequency amplitude)"), fastest)
        }
        PlatformMotion::Linear {
            velocity,
            angular_velocity,
        } => {
            speed(&format!("{at}: velocity"), *velocity)?;
            speed(&format!("{at}: angular_velocity"), *angular_velocity)
        }
    }
}

fn character(at: &str, c: &Character) -> Result<(), BuildError> {
    check(
        !c.bodies.is_empty(),
        format!("{at}: bodies"),
        "empty",
        "at least one body",
    )?;
    for (i, b) in c.bodies.iter().enumerate() {
        let here = format!("{at}/{}", b.name);
        let first = c.body(&b.name).unwrap_or(i);
        check(
            first == i,
            format!("{here}: name"),
            "taken by an earlier body",
            "a name of its own",
        )?;
        match b.parent {
            None => check(
                i == 0,
                format!("{here}: parent"),
                "missing",
                "a body listed before this one",
            )?,
            Some(p) => {
                let expected = if i == 0 {
                    "none, the first body is the root"
                } else {
                    "a body listed before this one"
                };
                check(p < i, format!("{here}: parent"), p, expected)?;
            }
        }
        body(&here, b, i == 0)?;
    }
    Ok(())
}

fn body(at: &str, b: &Body, is_root: bool) -> Result<(), BuildError> {
    place(&format!("{at}: offset"), b.offset)?;
    unit_rotation(format!("{at}: rest"), b.rest)?;
    let mass = (bounds::SMALLEST_MASS..=bounds::LARGEST_MASS).contains(&b.mass);
    check(mass, format!("{at}: mass"), b.mass, "kilograms, 1e-6 to 1e9")?;
    place(&format!("{at}: center_of_mass"), b.center_of_mass)?;
    inertia(at, b)?;
    material(at, &b.material)?;
    for (i, c) in b.colliders.iter().enumerate() {
        collider(&format!("{at}: collider {i}"), c)?;
    }
    joint(at, b, is_root)?;
    limit(at, b)?;
    for axis in 0..driven_axes(&b.joint) {
        let torque = b.torque_limit[axis];
        let key = format!("{at}: torque_limit[{axis}]");
        check(torque >= 0.0, key, torque, "0 or more N m, or infinite")?;
        for (key, v) in [
            ("kp", b.kp[axis]),
            ("kd", b.kd[axis]),
            ("damping", b.damping[axis]),
            ("armature", b.armature[axis]),
        ] {
            check(is_gain(v), format!("{at}: {key}[{axis}]"), v, "a number from 0 to 1e18")?;
        }
    }
    Ok(())
}

fn inertia(at: &str, b: &Body) -> Result<(), BuildError> {
    let i = b.inertia;
    let good = within(bounds::LARGEST_INERTIA, &i.to_cols_array());
    check(good, format!("{at}: inertia"), i, "kg m² between -1e18 and 1e18")?;
    let largest = i.to_cols_array().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let skew = (i - i.transpose())
        .to_cols_array()
        .iter()
        .fold(0.0_f64, |m, v| m.max(v.abs()));
    check(
        skew <= 1e-9 * largest,
        format!("{at}: inertia"),
        i,
        "a symmetric matrix",
    )?;
    let mut moments = nalgebra::Matrix3::from_column_slice(&i.to_cols_array()).symmetric_eigenvalues();
    moments.as_mut_slice().sort_by(f64::total_cmp);
    let text = format!("a matrix with principal moments {:?}", moments.as_slice());
    let definite = moments[0] >= bounds::SMALLEST_INERTIA;
    check(
        definite,
        format!("{at}: inertia"),
        &text,
        "principal moments of at least 1e-12 kg m²",
    )?;
    let possible = moments[0] + moments[1] >= moments[2] * (1.0 - 1e-6);
    let expected = "no principal moment larger than the sum of the other two, as for any real body";
    check(possible, format!("{at}: inertia"), &text, expected)
}

fn collider(at: &str, c: &Collider) -> Result<(), BuildError> {
    place(&format!("{at}: position"), c.position)?;
    unit_rotation(format!("{at}: rotation"), c.rotation)?;
    match &c.shape {
        Shape::Box { half_extents } => sizes(format!("{at}: half_extents"), *half_extents),
        Shape::Capsule { half_length, radius } => {
            size(format!("{at}: half_length"), *half_length)?;
            size(format!("{at}: radius"), *radius)
        }
        Shape::Sphere { radius } => size(format!("{at}: radius"), *radius),
        Shape::Hull { points } => {
            for (i, p) in points.iter().enumerate() {
                place(&format!("{at}: point {i}"), *p)?;
            }
            check(
                points.len() >= 4,
                format!("{at}: points"),
                points.len(),
                "at least four points",
            )
        }
    }
}

fn joint(at: &str, b: &Body, is_root: bool) -> Result<(), BuildError> {
    match b.joint {
        Joint::Free | Joint::Planar => {
            let expected = "a fixed, hinge, universal or ball joint; free and planar joints are for roots";
            check(is_root, format!("{at}: joint"), format!("{:?}", b.joint), expected)
        }
        Joint::Fixed | Joint::Ball => Ok(()),
        Joint::Hinge { axis } => unit_axis(format!("{at}: axis"), axis),
        Joint::Universal { axes } => {
            unit_axis(format!("{at}: axes[0]"), axes[0])?;
            unit_axis(format!("{at}: axes[1]"), axes[1])?;
            let independent = axes[0].cross(axes[1]).length() > 1e-3;
            let found = format!("{} and {}", axes[0], axes[1]);
            check(
                independent,
                format!("{at}: axes"),
                found,
                "two axes that are not parallel",
            )
        }
    }
}

fn limit(at: &str, b: &Body) -> Result<(), BuildError> {
    let unfit = |expected: &str| check(false, format!("{at}: limit"), format!("{:?}", b.limit), expected);
    match (&b.limit, &b.joint) {
        (Limit::None, _) => Ok(()),
        (Limit::Range(ranges), Joint::Hinge { .. } | Joint::Universal { .. }) => {
            for (i, [low, high]) in ranges.iter().enumerate().take(b.joint.dofs()) {
                let good = within(bounds::LARGEST_ANGLE, &[*low, *high]) && low <= high;
                let found = format!("[{low}, {high}]");
                check(
                    good,
                    format!("{at}: limit: range {i}"),
                    found,
                    "radians within 1e6, the smaller first",
                )?;
            }
            Ok(())
        }
        (
            Limit::SwingTwist {
                axis,
                center,
                swing,
                twist,
            },
            Joint::Ball,
        ) => {
            unit_axis(format!("{at}: limit: axis"), *axis)?;
            unit_rotation(format!("{at}: limit: center"), *center)?;
            let pi = std::f64::consts::PI;
            let good = *swing > 0.0 && *swing <= pi + 1e-9;
            check(good, format!("{at}: limit: swing"), swing, "radians in (0, π]")?;
            let good = twist.iter().all(|t| t.abs() <= 2.0 * pi) && twist[0] <= twist[1];
            let found = format!("{twist:?}");
            check(
                good,
                format!("{at}: limit: twist"),
                found,
                "radians within ±2π, the smaller first",
            )
        }
        (Limit::Range(_), _) => unfit("a range only on a hinge or universal joint"),
        (Limit::SwingTwist { .. }, _) => unfit("swing and twist only on a ball joint"),
    }
}
