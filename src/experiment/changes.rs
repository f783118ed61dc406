//! Changes of the controllers' parameters at given times.

use super::prepare::{Actor, Prepared};
use super::spec::{ChangeSpec, Spec};
use super::validate::{Check, Problem, not_negative, problem};
use crate::control::{Controller, Parameter, ParameterError};

impl ChangeSpec {
    pub(crate) fn validate(&self, key: &str) -> Check {
        not_negative(format!("{key}.time_s"), self.time_s)?;
        if !self.value.is_finite() {
            return problem(
                format!("{key}.value"),
                format!("is {:?}; expected a finite number", self.value),
            );
        }
        Ok(())
    }
}

/// A change whose controller has been found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// It is made before the first call of the controllers at or after this step.
    pub step: u64,
    pub actor: usize,
    /// In the controller's table.
    pub path: String,
    pub value: f64,
}

/// What stands before a controller's own path in the file: `controller.` or `characters.1.controller.`.
pub(crate) fn prefix(spec: &Spec, actor: usize) -> String {
    match &spec.character {
        Some(_) => "controller.".into(),
        None => format!("characters.{actor}.controller."),
    }
}

/// The parameters of all controllers under the paths that an experiment file knows them by.
pub(crate) fn parameters<'a>(
    spec: &Spec,
    controllers: impl IntoIterator<Item = &'a (impl Controller + 'a)>,
) -> Vec<Parameter> {
    let mut all = Vec::new();
    for (i, controller) in controllers.into_iter().enumerate() {
        let prefix = prefix(spec, i);
        all.extend(controller.parameters().into_iter().map(|p| Parameter {
            path: format!("{prefix}{}", p.path),
            ..p
        }));
    }
    all
}

/// The parameters of all controllers of an experiment as it starts, under the paths of its file.
pub fn controller_parameters(prepared: &Prepared) -> Vec<Parameter> {
    parameters(&prepared.spec, prepared.actors.iter().map(|a| &a.controller))
}

/// The character whose controller a path of the file leads to, and the controller's own path, if it takes values there.
pub fn find_parameter<'a>(prepared: &Prepared, path: &'a str) -> Option<(usize, &'a str)> {
    let (actor, own) = find(&prepared.spec, prepared.actors.len(), path)?;
    let known = prepared.actors[actor].controller.parameters();
    known.iter().any(|p| p.path == own).then_some((actor, own))
}

/// The controller that a path of the file leads to, and what is left of the path.
pub(crate) fn find<'a>(spec: &Spec, actors: usize, path: &'a str) -> Option<(usize, &'a str)> {
    (0..actors).find_map(|i| Some((i, path.strip_prefix(prefix(spec, i).as_str())?)))
}

/// The step from which a time on is meant: the first at or after it.
fn step_at(time_s: f64, rate_hz: f64) -> u64 {
    let steps = time_s * rate_hz;
    // a time that was written as step / rate is that step, whatever the rounding
    (steps - (1e-6 + 1e-15 * steps)).ceil().max(0.0) as u64
}

/// Finds the controllers of the changes and tries every value; in the order in which they are made.
pub(crate) fn resolve(spec: &Spec, actors: &[Actor]) -> Result<Vec<Change>, Problem> {
    if spec.changes.is_empty() {
        return Ok(Vec::new());
    }
    let mut tried: Vec<_> = actors.iter().map(|a| a.controller.clone()).collect();
    let mut changes = Vec::new();
    for (i, change) in spec.changes.iter().enumerate() {
        let key = |name: &str| format!("changes[{i}].{name}");
        if change.time_s >= spec.duration_s {
            return problem(
                key("time_s"),
                format!("is {}; the experiment ends at {} s", change.time_s, spec.duration_s),
            );
        }
        let resolved = try_change(spec, &mut tried, change).map_err(|error| Problem {
            key: match error {
                ParameterError::Unknown { .. } => key("parameter"),
                ParameterError::BadValue { .. } => key("value"),
            },
            message: error.to_string(),
        })?;
        changes.push(resolved);
    }
    sort(&mut changes);
    Ok(changes)
}

/// In the order in which they are made; of those made at once the later one of the file wins.
pub(crate) fn sort(changes: &mut [Change]) {
    changes.sort_by_key(|c| c.step);
}

/// Makes a change to the controllers and says what it was.
pub(crate) fn try_change<C: Controller>(
    spec: &Spec,
    controllers: &mut [C],
    change: &ChangeSpec,
) -> Result<Change, ParameterError> {
    let unknown = |controllers: &[C]| {
        let known = parameters(spec, controllers.iter());
        ParameterError::unknown(&change.parameter, known.into_iter().map(|p| p.path).collect())
    };
    let Some((actor, path)) = find(spec, controllers.len(), &change.parameter) else {
        return Err(unknown(controllers));
    };
    match controllers[actor].set_parameter(path, change.value) {
        Ok(()) => {}
        // with the path as the file has it, and everything that the file could name
        Err(ParameterError::Unknown { .. }) => return Err(unknown(controllers)),
        Err(ParameterError::BadValue { value, expected, .. }) => {
            return Err(ParameterError::BadValue {
                path: change.parameter.clone(),
                value,
                expected,
            });
        }
    }
    Ok(Change {
        step: step_at(change.time_s, spec.rate_hz),
        actor,
        path: path.to_string(),
        value: change.value,
    })
}

/// The keys of a parameter's path, numbers for places in arrays; the names of bodies may have dots.
pub(crate) fn keys(path: &str) -> Vec<&str> {
    if let Some((body, name)) = path.strip_prefix("gains.").and_then(|rest| rest.rsplit_once('.')) {
        return vec!["gains", body, name];
    }
    let curve = path
        .strip_prefix("offsets.joints.")
        .and_then(|rest| rest.rsplit_once('.'));
    if let Some(((joint, axis), knot)) = curve.and_then(|(c, knot)| Some((c.rsplit_once('.')?, knot))) {
        return vec!["offsets", "joints", joint, axis, knot];
    }
    path.split('.').collect()
}
