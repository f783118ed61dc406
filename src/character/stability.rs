//! How far the lecture's explicit PD law is from exploding.
//!
//! With semi-implicit Euler, `v⁺ = v + dt (−kp e − kd v) / I`, `e⁺ = e + dt v⁺`, one degree of freedom of inertia `I`
//! stays bounded exactly if `kp dt² + 2 kd dt < 4 I` (both roots of its characteristic polynomial inside the unit circle).
//! `I` is what the joint feels with all others loose, `1 / (M⁻¹)ₖₖ`. For all joints at once the same holds for every mode,
//! so the largest eigenvalue of `M⁻¹ (Kp dt² + 2 Kd dt)` must be below 4.

use glam::DVec3;
use nalgebra::{DMatrix, DVector};

use super::{Character, Finding, Joint, Severity};
use crate::dynamics::{Dynamics, Factor};

/// Warns of every joint and axis whose explicit PD gain is unstable at the step `dt` (seconds), and of the character as a
/// whole, in the bind pose. Stable PD, the default, has no such bound.
pub fn explicit_stability(character: &Character, dt: f64) -> Vec<Finding> {
    let mut findings = Vec::new();
    if character.validate().is_err() || !(dt > 0.0 && dt.is_finite()) {
        return findings;
    }
    let Some(axes) = pd_axes(character) else {
        findings.push(Finding {
            severity: Severity::Error,
            body: character.name.clone(),
            message: "the mass matrix is not positive definite".into(),
            change: "give every body that moves a mass and an inertia".into(),
        });
        return findings;
    };
    let load = |a: &PdAxis, dt: f64| a.kp * dt * dt + 2.0 * a.kd * dt;
    let mut any = false;
    for a in &axes.list {
        if load(a, dt) < 4.0 * a.inertia {
            continue;
        }
        any = true;
        let scale = 4.0 * a.inertia / load(a, dt);
        let body = &character.bodies[a.body];
        findings.push(Finding {
            severity: Severity::Warning,
            body: body.name.clone(),
            message: format!(
                "explicit PD at {} s is unstable about {}: kp {} and kd {} against an inertia of {} kg m²",
                digits(dt),
                axis_name(&body.joint, a.axis),
                digits(a.kp),
                digits(a.kd),
                digits(a.inertia)
            ),
            change: format!(
                "largest stable gains at this step: kp {}, kd {} (both scaled by {}); largest stable step at these gains: \
                 {} s ({} Hz); or use stable PD",
                digits(a.kp * scale),
                digits(a.kd * scale),
                digits(scale),
                digits(largest_step(a)),
                (1.0 / largest_step(a)).ceil()
            ),
        });
    }
    // together joints are worse than alone
    if let Some((value, dof)) = axes.largest_mode(dt).filter(|(value, _)| !any && *value >= 4.0) {
        let (mut low, mut high) = (0.0, dt);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match axes.largest_mode(middle) {
                Some((v, _)) if v < 4.0 => low = middle,
                _ => high = middle,
            }
        }
        let a = &axes.list[dof];
        findings.push(Finding {
            severity: Severity::Warning,
            body: character.bodies[a.body].name.clone(),
            message: format!(
                "explicit PD at {} s is stable for every joint alone but not for all together; this joint moves most",
                digits(dt)
            ),
            change: format!(
                "scale all gains by {}, or step {} s ({} Hz), or use stable PD",
                digits(4.0 / value),
                digits(low),
                (1.0 / low).ceil()
            ),
        });
    }
    findings
}

/// Three significant digits, rounded down: what is named as stable is stable.
fn digits(value: f64) -> String {
    if value <= 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let mut unit = 1.0;
    let mut places = 0usize;
    while value / unit >= 1000.0 {
        unit *= 10.0;
    }
    while value / unit < 100.0 && places < 12 {
        unit /= 10.0;
        places += 1;
    }
    // a hair more, so that 0.3 is not cut to 0.299
    let down = (value / unit * (1.0 + 1e-12)).floor() * unit;
    let text = format!("{down:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// One degree of freedom under PD control.
struct PdAxis {
    body: usize,
    axis: usize,
    dof: usize,
    kp: f64,
    kd: f64,
    /// With all other joints loose, armature included, kg m².
    inertia: f64,
}

struct PdAxes {
    list: Vec<PdAxis>,
    inverse_mass: DMatrix<f64>,
}

fn pd_axes(character: &Character) -> Option<PdAxes> {
    let mut dynamics = Dynamics::new(character, DVec3::new(0.0, -9.81, 0.0));
    let mut mass = Factor::new(&dynamics.tree);
    dynamics.mass_matrix(&mut mass);
    let mut mass = dynamics.dense(&mass);
    for (i, body) in dynamics.tree.bodies.iter().enumerate() {
        if is_actuated(&body.joint) {
            for axis in 0..body.dofs {
                mass[(body.dof + axis, body.dof + axis)] += character.bodies[i].armature[axis];
            }
        }
    }
    let inverse_mass = mass.cholesky()?.inverse();
    let mut list = Vec::new();
    for (i, body) in dynamics.tree.bodies.iter().enumerate() {
        if !is_actuated(&body.joint) {
            continue;
        }
        for axis in 0..body.dofs {
            let dof = body.dof + axis;
            list.push(PdAxis {
                body: i,
                axis,
                dof,
                kp: character.bodies[i].kp[axis],
                kd: character.bodies[i].kd[axis],
                inertia: 1.0 / inverse_mass[(dof, dof)],
            });
        }
    }
    Some(PdAxes { list, inverse_mass })
}

fn is_actuated(joint: &Joint) -> bool {
    matches!(joint, Joint::Hinge { .. } | Joint::Universal { .. } | Joint::Ball)
}

impl PdAxes {
    /// Largest eigenvalue of `M⁻¹ (Kp dt² + 2 Kd dt)` and the entry of the list that moves most in its mode.
    fn largest_mode(&self, dt: f64) -> Option<(f64, usize)> {
        let n = self.list.len();
        let root = DVector::from_fn(n, |i, _| {
            (self.list[i].kp * dt * dt + 2.0 * self.list[i].kd * dt).sqrt()
        });
        let scaled = DMatrix::from_fn(n, n, |i, j| {
            root[i] * self.inverse_mass[(self.list[i].dof, self.list[j].dof)] * root[j]
        });
        let eigen = scaled.symmetric_eigen();
        let mode = (0..n).max_by(|a, b| eigen.eigenvalues[*a].total_cmp(&eigen.eigenvalues[*b]))?;
        let vector = eigen.eigenvectors.column(mode);
        let most = (0..n).max_by(|a, b| vector[*a].abs().total_cmp(&vector[*b].abs()))?;
        Some((eigen.eigenvalues[mode], most))
    }
}

/// Positive root of `kp dt² + 2 kd dt = 4 I`.
fn largest_step(a: &PdAxis) -> f64 {
    // written so that kp = 0 needs no case of its own
    4.0 * a.inertia / (a.kd + (a.kd * a.kd + 4.0 * a.kp * a.inertia).sqrt())
}

fn axis_name(joint: &Joint, axis: usize) -> &'static str {
    match joint {
        Joint::Hinge { .. } => "its axis",
        Joint::Universal { .. } => ["its first axis", "its second axis"][axis.min(1)],
        _ => ["x", "y", "z"][axis.min(2)],
    }
}

/// Inertia that each axis of each body feels with all other joints loose, armature included; empty entries for axes that
/// a joint does not have. `None` if the mass matrix is singular.
pub(crate) fn axis_inertias(character: &Character) -> Option<Vec<[Option<f64>; 3]>> {
    let mut out = vec![[None; 3]; character.bodies.len()];
    for a in pd_axes(character)?.list {
        out[a.body][a.axis] = Some(a.inertia);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::Character;

    /// A rod of inertia 0.5 kg m² about a hinge in the world, with the given gains.
    fn hinge(kp: f64, kd: f64) -> Character {
        let text = format!(
            "format = 1\nname = \"rod\"\n[[body]]\nname = \"rod\"\njoint = \"hinge\"\naxis = [1, 0, 0]\n\
             position = [0, 2, 0]\nmass = 2\ncenter_of_mass = [0, 1.6, 0]\ninertia = [0.18, 0.1, 0.18]\nkp = {kp}\nkd = {kd}\n"
        );
        Character::parse(&text, "rod").unwrap()
    }

    /// Whether the explicit law keeps a small error small over many steps.
    fn stays_bounded(inertia: f64, kp: f64, kd: f64, dt: f64) -> bool {
        let (mut e, mut v) = (1.0, 0.0);
        for _ in 0..20_000 {
            v += dt * (-kp * e - kd * v) / inertia;
            e += dt * v;
        }
        e.abs() < 10.0
    }

    #[test]
    fn the_bound_named_is_where_the_explicit_law_explodes() {
        // just below the largest stable step the error stays bounded, just above it grows, and check says so
        let inertia = 0.18 + 2.0 * 0.4 * 0.4;
        for (kp, kd) in [(300.0, 2.0), (50.0, 40.0), (900.0, 0.5)] {
            let axis = &pd_axes(&hinge(kp, kd)).unwrap().list[0];
            assert!((axis.inertia - inertia).abs() < 1e-12);
            let dt = largest_step(axis);
            assert!(stays_bounded(inertia, kp, kd, 0.999 * dt) && !stays_bounded(inertia, kp, kd, 1.001 * dt));
            assert!(explicit_stability(&hinge(kp, kd), 0.999 * dt).is_empty());
            let found = explicit_stability(&hinge(kp, kd), 1.001 * dt);
            assert_eq!((found.len(), found[0].body.as_str()), (1, "rod"));
            assert!(
                found[0].change.contains(&format!("{} s", digits(dt))),
                "{}",
                found[0].change
            );
        }
    }

    #[test]
    fn numbers_in_findings_are_short_and_never_rounded_up() {
        // three digits, no exponent, at most the value
        let shown = [0.3, 1466.0, 146.68, 0.0041669, 1000.0, 2.0, 123_456.0].map(digits);
        assert_eq!(shown, ["0.3", "1460", "146", "0.00416", "1000", "2", "123000"]);
    }

    #[test]
    fn joints_that_are_stable_alone_can_be_unstable_together() {
        // the bound over all joints is lower than the lowest of the single ones, and is reported when it alone is broken
        let text = std::fs::read_to_string("data/characters/benchmark.toml").unwrap();
        let character = Character::parse(&text, "benchmark").unwrap();
        let axes = pd_axes(&character).unwrap();
        let alone = axes.list.iter().map(largest_step).fold(f64::INFINITY, f64::min);
        assert!(axes.largest_mode(alone).unwrap().0 > 4.0);
        let found = explicit_stability(&character, 0.9999 * alone);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("all together"));
        // at the lecture's rates the stiff ankles are far beyond
        let ankles = explicit_stability(&character, 1.0 / 240.0);
        assert!(
            ankles
                .iter()
                .any(|f| f.body == "left_foot" && f.message.contains("unstable"))
        );
    }
}
