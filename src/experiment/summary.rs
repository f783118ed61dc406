//! `summary.json`: what a run came to.

use serde::Serialize;

use super::measure::ActorMeasure;
use super::objective::Score;
use super::prepare::{Actor, Prepared};

/// Why a run ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Ctrl-C, or whoever asked.
    Interrupt,
    /// A step could not be completed; `error` says why.
    Error,
    /// The experiment ends with a fall.
    Fall,
    /// Its score could no longer be good enough.
    Hopeless,
}

/// The results of one run. With several characters the totals are over all of them: earliest fall, mean errors, worst
/// joint, largest slip, summed assist.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub format: u32,
    pub ambler_version: &'static str,
    pub name: String,
    pub engine: &'static str,
    pub rate_hz: f64,
    pub control_hz: f64,
    pub seed: u64,
    /// Whether the run reached its end.
    pub completed: bool,
    pub stopped_by: Option<StoppedBy>,
    pub error: Option<String>,
    /// Seconds simulated.
    pub duration_s: f64,
    pub steps: u64,
    pub fell_at_s: Option<f64>,
    /// Mean over joints without the root and over the samples.
    pub tracking_error_mean_deg: f64,
    pub tracking_error_worst_joint: Option<String>,
    pub tracking_error_worst_joint_deg: f64,
    /// Distance of the root from where the controller wants it, or from its start if the controller has no wish.
    pub root_error_mean_m: f64,
    /// Largest slide of a loaded foot within one stance.
    pub foot_slip_m: f64,
    pub max_penetration_m: f64,
    pub max_joint_limit_violation_deg: f64,
    /// Time integral of the norm of the external force at the root.
    pub assist_impulse_ns: f64,
    /// The same of the external torque.
    pub assist_angular_impulse_nms: f64,
    /// Share of the steps in which some joint was at its torque limit.
    pub saturated_share: f64,
    /// Share of the steps in which an applied torque was not exactly the clamped PD law.
    pub pd_law_unmet_share: f64,
    /// Hash of the whole state at the end, hexadecimal.
    pub state_hash: String,
    /// Seconds simulated per second of computing.
    pub real_time_factor: f64,
    pub us_per_step: f64,
    /// What it was worth, if the experiment has an objective; of a run that was given up, what its cost cannot be below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    pub characters: Vec<CharacterSummary>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CharacterSummary {
    pub name: String,
    pub mass_kg: f64,
    pub fell_at_s: Option<f64>,
    pub tracking_error_mean_deg: f64,
    pub tracking_error_worst_joint: Option<String>,
    pub tracking_error_worst_joint_deg: f64,
    pub root_error_mean_m: f64,
    pub foot_slip_m: f64,
    pub assist_impulse_ns: f64,
    pub assist_angular_impulse_nms: f64,
    pub saturated_share: f64,
}

/// Sums over the whole world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorldSums {
    pub steps: u64,
    pub time: f64,
    pub max_penetration: f64,
    pub max_limit_violation: f64,
    pub law_unmet_steps: u64,
    pub wall_seconds: f64,
    pub state_hash: u64,
}

impl CharacterSummary {
    fn new(actor: &Actor, measure: &ActorMeasure) -> CharacterSummary {
        let worst = measure.worst_joint(&actor.character);
        CharacterSummary {
            name: actor.name.clone(),
            mass_kg: actor.character.mass(),
            fell_at_s: measure.fell_at,
            tracking_error_mean_deg: measure.tracking_error(&actor.character).to_degrees(),
            tracking_error_worst_joint: worst.map(|(b, _)| actor.character.bodies[b].name.clone()),
            tracking_error_worst_joint_deg: worst.map_or(0.0, |(_, e)| e.to_degrees()),
            root_error_mean_m: measure.root_error_mean(),
            foot_slip_m: measure.foot_slip,
            assist_impulse_ns: measure.assist_impulse,
            assist_angular_impulse_nms: measure.assist_angular_impulse,
            saturated_share: measure.saturated_share(),
        }
    }
}

impl Summary {
    pub(crate) fn new(
        prepared: &Prepared,
        measures: &[ActorMeasure],
        sums: &WorldSums,
        stopped_by: Option<StoppedBy>,
        error: Option<String>,
    ) -> Summary {
        let spec = &prepared.spec;
        let characters: Vec<CharacterSummary> = prepared
            .actors
            .iter()
            .zip(measures)
            .map(|(a, m)| CharacterSummary::new(a, m))
            .collect();
        // the sum of nothing would be -0
        let total = |of: fn(&CharacterSummary) -> f64| characters.iter().map(of).fold(0.0, |sum, x| sum + x);
        let mean = |of: fn(&CharacterSummary) -> f64| total(of) / characters.len().max(1) as f64;
        let max = |of: fn(&CharacterSummary) -> f64| characters.iter().map(of).fold(0.0, f64::max);
        let worst = characters.iter().max_by(|a, b| {
            a.tracking_error_worst_joint_deg
                .total_cmp(&b.tracking_error_worst_joint_deg)
        });
        let steps = sums.steps.max(1) as f64;
        // a run too short to be timed gets the clock's resolution
        let wall = sums.wall_seconds.max(1e-9);
        Summary {
            format: super::spec::FORMAT,
            ambler_version: env!("CARGO_PKG_VERSION"),
            name: prepared.name.clone(),
            engine: spec.engine.name(),
            rate_hz: spec.rate_hz,
            control_hz: spec.rate_hz / spec.steps_per_control() as f64,
            seed: spec.seed,
            completed: stopped_by.is_none_or(|s| s == StoppedBy::Fall),
            stopped_by,
            error,
            duration_s: sums.time,
            steps: sums.steps,
            fell_at_s: characters.iter().filter_map(|c| c.fell_at_s).min_by(f64::total_cmp),
            tracking_error_mean_deg: mean(|c| c.tracking_error_mean_deg),
            tracking_error_worst_joint: worst.and_then(|c| {
                let joint = c.tracking_error_worst_joint.as_ref()?;
                Some(match characters.len() {
                    1 => joint.clone(),
                    _ => format!("{}.{joint}", c.name),
                })
            }),
            tracking_error_worst_joint_deg: worst.map_or(0.0, |c| c.tracking_error_worst_joint_deg),
            root_error_mean_m: mean(|c| c.root_error_mean_m),
            foot_slip_m: max(|c| c.foot_slip_m),
            max_penetration_m: sums.max_penetration,
            max_joint_limit_violation_deg: sums.max_limit_violation.to_degrees(),
            assist_impulse_ns: total(|c| c.assist_impulse_ns),
            assist_angular_impulse_nms: total(|c| c.assist_angular_impulse_nms),
            saturated_share: max(|c| c.saturated_share),
            pd_law_unmet_share: sums.law_unmet_steps as f64 / steps,
            state_hash: format!("{:016x}", sums.state_hash),
            real_time_factor: sums.time / wall,
            us_per_step: wall * 1e6 / steps,
            score: None,
            characters,
        }
    }

    /// As it stands in `summary.json`.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
        json.push('\n');
        json
    }
}
