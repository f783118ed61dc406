//! Checks of everything that enters a world: the scene once, actuations and forces in every step.
//!
//! The checks of a step allocate nothing unless they fail.

use glam::{DQuat, DVec3};

use super::{
    Actuation, BodyRef, BuildError, ExternalForce, JointPosition, Platform, PlatformMotion, RootActuation, Scene,
    StepError, Terrain, TerrainShape,
};
use crate::character::{Body, Character, Collider, Joint, Limit, Material, Shape};

/// Unit vectors and quaternions may be off by this much (files carry six digits).
const UNIT_TOLERANCE: f64 = 1e-5;
/// Kilograms; lighter bodies lose their inertia in the rounding of the others.
const SMALLEST_MASS: f64 = 1e-6;
/// kg m².
const SMALLEST_INERTIA: f64 = 1e-12;
/// Seconds.
const LARGEST_STEP: f64 = 0.1;

/// Checks every number of a scene and the step size; the error names thing, key, value and what was expected.
pub(crate) fn scene(scene: &Scene, dt: f64) -> Result<(), BuildError> {
    check(dt > 0.0 && dt <= LARGEST_STEP, "time step", dt, "seconds in (0, 0.1]")?;
    finite("gravity", scene.gravity)?;
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
        finite(&format!("{name}: position"), p.position)?;
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
            if !(kp >= 0.0 && kp.is_finite()) {
                return Err(at("kp", axis, kp, "a finite number, zero or more, N m/rad"));
            }
            if !(kd >= 0.0 && kd.is_finite()) {
                return Err(at("kd", axis, kd, "a finite number, zero or more, N m s/rad"));
            }
            if !joint.target_velocity[axis].is_finite() {
                return Err(at("target velocity", axis, joint.target_velocity[axis], "finite rad/s"));
            }
            if !joint.feed_forward[axis].is_finite() {
                return Err(at("feed-forward torque", axis, joint.feed_forward[axis], "finite N m"));
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
        for (what, v, expected) in [
            ("point of an external force", f.point, "finite metres"),
            ("external force", f.force, "finite N"),
            ("external torque", f.torque, "finite N m"),
        ] {
            if !v.is_finite() {
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
    if !position.is_finite() {
        let what = "root position".into();
        return Err(bad_step(
            time,
            &character.name,
            root_body,
            what,
            position,
            "finite metres",
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
            if !v.is_finite() {
                return Err(bad_step(
                    time,
                    &character.name,
                    &body.name,
                    what.into(),
                    v,
                    "a finite vector",
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

/// Whether `position` is of the joint's kind and finite. Joints without a position take any.
fn fits(joint: &Joint, position: &JointPosition) -> bool {
    match (joint, position) {
        (Joint::Free | Joint::Planar | Joint::Fixed, _) => true,
        (Joint::Hinge { .. }, JointPosition::Angle(a)) => a.is_finite(),
        (Joint::Universal { .. }, JointPosition::Angles(a)) => a.iter().all(|a| a.is_finite()),
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
            if !w.force.is_finite() {
                return error("force", w.force.to_string(), "finite N");
            }
            if !w.torque.is_finite() {
                return error("torque", w.torque.to_string(), "finite N m");
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
                if !v.is_finite() {
                    return error(what, v.to_string(), "a finite vector");
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
                if !(*k >= 0.0 && k.is_finite()) {
                    return error(what, k.to_string(), "a finite number, zero or more");
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
        Joint::Hinge { .. } => "a finite Angle",
        Joint::Universal { .. } => "finite Angles",
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

fn finite(what: &str, v: DVec3) -> Result<(), BuildError> {
    check(v.is_finite(), what, v, "a finite vector")
}

fn unit_axis(what: String, v: DVec3) -> Result<(), BuildError> {
    let good = v.is_finite() && (v.length() - 1.0).abs() <= UNIT_TOLERANCE;
    check(good, what, v, "a vector of length 1")
}

fn unit_rotation(what: String, q: DQuat) -> Result<(), BuildError> {
    check(is_unit_quat(q), what, q, "a quaternion [x, y, z, w] of length 1")
}

fn positive(what: String, v: f64) -> Result<(), BuildError> {
    check(v > 0.0 && v.is_finite(), what, v, "a finite number above 0")
}

fn positive_vector(what: String, v: DVec3) -> Result<(), BuildError> {
    check(
        v.is_finite() && v.min_element() > 0.0,
        what,
        v,
        "finite numbers above 0",
    )
}

fn material(at: &str, m: &Material) -> Result<(), BuildError> {
    let friction = m.friction >= 0.0 && m.friction.is_finite();
    check(
        friction,
        format!("{at}: friction"),
        m.friction,
        "a finite number, 0 or more",
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
    finite(&format!("{at}: position"), t.position)?;
    unit_rotation(format!("{at}: rotation"), t.rotation)?;
    material(at, &t.material)?;
    match &t.shape {
        TerrainShape::Ground => Ok(()),
        TerrainShape::Box { half_extents } => positive_vector(format!("{at}: half_extents"), *half_extents),
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
            positive(format!("{at}: rise"), *rise)?;
            positive(format!("{at}: run"), *run)?;
            positive(format!("{at}: width"), *width)
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
                finite(&format!("{at}: vertex {i}"), *v)?;
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

fn heightfield(at: &str, heights: &[Vec<f64>], size: &[f64; 2]) -> Result<(), BuildError> {
    positive(format!("{at}: size[0]"), size[0])?;
    positive(format!("{at}: size[1]"), size[1])?;
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
            check(h.is_finite(), format!("{at}: heights[{r}][{c}]"), h, "finite metres")?;
        }
    }
    Ok(())
}

fn platform(at: &str, p: &Platform) -> Result<(), BuildError> {
    positive_vector(format!("{at}: half_extents"), p.half_extents)?;
    finite(&format!("{at}: position"), p.position)?;
    unit_rotation(format!("{at}: rotation"), p.rotation)?;
    material(at, &p.material)?;
    match &p.motion {
        PlatformMotion::Sine { amplitude, frequency } => {
            finite(&format!("{at}: amplitude"), *amplitude)?;
            let good = *frequency >= 0.0 && frequency.is_finite();
            check(
                good,
                format!("{at}: frequency"),
                frequency,
                "a finite number of hertz, 0 or more",
            )
        }
        PlatformMotion::Linear {
            velocity,
            angular_velocity,
        } => {
            finite(&format!("{at}: velocity"), *velocity)?;
            finite(&format!("{at}: angular_velocity"), *angular_velocity)
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
    finite(&format!("{at}: offset"), b.offset)?;
    unit_rotation(format!("{at}: rest"), b.rest)?;
    let mass = b.mass >= SMALLEST_MASS && b.mass.is_finite();
    check(mass, format!("{at}: mass"), b.mass, "finite kilograms, at least 1e-6")?;
    finite(&format!("{at}: center_of_mass"), b.center_of_mass)?;
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
            let good = v >= 0.0 && v.is_finite();
            check(good, format!("{at}: {key}[{axis}]"), v, "a finite number, 0 or more")?;
        }
    }
    Ok(())
}

fn inertia(at: &str, b: &Body) -> Result<(), BuildError> {
    let i = b.inertia;
    check(i.is_finite(), format!("{at}: inertia"), i, "a finite matrix")?;
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
    let definite = moments[0] >= SMALLEST_INERTIA;
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
    finite(&format!("{at}: position"), c.position)?;
    unit_rotation(format!("{at}: rotation"), c.rotation)?;
    match &c.shape {
        Shape::Box { half_extents } => positive_vector(format!("{at}: half_extents"), *half_extents),
        Shape::Capsule { half_length, radius } => {
            positive(format!("{at}: half_length"), *half_length)?;
            positive(format!("{at}: radius"), *radius)
        }
        Shape::Sphere { radius } => positive(format!("{at}: radius"), *radius),
        Shape::Hull { points } => {
            for (i, p) in points.iter().enumerate() {
                finite(&format!("{at}: point {i}"), *p)?;
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
                let good = low.is_finite() && high.is_finite() && low <= high;
                let found = format!("[{low}, {high}]");
                check(
                    good,
                    format!("{at}: limit: range {i}"),
                    found,
                    "finite radians, the smaller first",
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
