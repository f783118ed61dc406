//! What most likely made a simulation diverge, in words.

use glam::DMat3;

use super::validate::driven_axes;
use super::{Actuation, PdMode};
use crate::character::Character;

/// Says what to look at after the motion of `body` has grown beyond every bound in a step of `dt` seconds; `actuation` is
/// that of its character, `None` for a prop.
pub(super) fn divergence_hint(character: &Character, body: usize, actuation: Option<&Actuation>, dt: f64) -> String {
    let Some(actuation) = actuation else {
        return "look for huge forces on it, what hits it, and things that start inside one another".into();
    };
    if actuation.mode == PdMode::Explicit
        && let Some(hint) = explicit_hint(character, actuation, dt)
    {
        return hint;
    }
    let look = "look for huge forces and torques, tiny inertias and bodies that start inside one another (`ambler check`), \
                or use a smaller step";
    match actuation.joints.get(body) {
        Some(joint) if driven_axes(&character.bodies[body].joint) > 0 => format!(
            "its gains are kp {:.3e} N m/rad and kd {:.3e} N m s/rad at steps of {dt:.6} s: {look}",
            joint.kp.max_element(),
            joint.kd.max_element()
        ),
        _ => look.into(),
    }
}

/// Names the joint whose gains exceed most what the explicit law can bear: a damper overshoots when `kd dt` exceeds twice
/// the inertia it acts on, a spring when `kp dt²` exceeds four times it. `None` if no joint comes near.
fn explicit_hint(character: &Character, actuation: &Actuation, dt: f64) -> Option<String> {
    let lightest = |i: DMat3| i.x_axis.x.min(i.y_axis.y).min(i.z_axis.z);
    let candidates = character.bodies.iter().zip(&actuation.joints);
    let (body, kp, kd, inertia, excess) = candidates
        .filter(|(body, _)| driven_axes(&body.joint) > 0)
        .map(|(body, joint)| {
            let (kp, kd) = (joint.kp.max_element(), joint.kd.max_element());
            let inertia = lightest(body.inertia);
            let excess = (kd * dt / (2.0 * inertia)).max(kp * dt * dt / (4.0 * inertia));
            (body, kp, kd, inertia, excess)
        })
        .max_by(|a, b| a.4.total_cmp(&b.4))?;
    if excess < 0.1 {
        return None;
    }
    // the step at which the larger of the two terms would be at its bound
    let mut step = f64::INFINITY;
    if kd > 0.0 {
        step = step.min(2.0 * inertia / kd);
    }
    if kp > 0.0 {
        step = step.min(2.0 * (inertia / kp).sqrt());
    }
    Some(format!(
        "the explicit PD law of joint {} (kp {kp}, kd {kd}) is the likely cause: its body alone bears \
         kp {:.3e} and kd {:.3e} at steps of {dt:.6} s; use the stable law, smaller gains, or a step below {step:.3e} s \
         (`ambler check` names the largest stable gains)",
        body.name,
        4.0 * inertia / (dt * dt),
        2.0 * inertia / dt,
    ))
}
