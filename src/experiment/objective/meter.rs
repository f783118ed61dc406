//! From the steps of a run to the number that a measure is.

use super::quantity::{Aggregate, MeasureKind, Quantity, Source, Watched};
use super::spec::TermSpec;
use crate::experiment::measure::ActorMeasure;
use crate::experiment::run::Simulation;
use crate::experiment::spec::Spec;
use crate::experiment::summary::Summary;

/// The shortest way that a cost of transport is taken over, metres.
const SHORTEST_WAY: f64 = 0.01;

/// Collects one measure.
#[derive(Clone)]
pub(super) struct Meter {
    kind: &'static MeasureKind,
    /// Place among the watched.
    pub watched: usize,
    pub character: usize,
    from: f64,
    to: f64,
    /// Seconds so far.
    time: f64,
    integral: f64,
    extreme: Option<f64>,
    last: f64,
    /// Horizontal distance at the beginning and at the end of what was measured.
    way: [glam::DVec3; 2],
    weight: f64,
    /// Times of the disturbances, seconds, in order.
    pushes: Vec<f64>,
    planned: f64,
}

impl Meter {
    /// For a run of `spec` that has not begun. `watched` is at place `at` among those that are advanced.
    pub fn new(kind: &'static MeasureKind, term: &TermSpec, spec: &Spec, at: usize, watched: &Watched) -> Meter {
        let mut pushes: Vec<f64> = spec.disturbances.iter().map(|d| d.time_s).collect();
        pushes.retain(|t| *t < spec.duration_s);
        pushes.sort_by(f64::total_cmp);
        Meter {
            kind,
            watched: at,
            character: watched.character,
            from: term.from_s.unwrap_or(0.0),
            to: term.to_s.unwrap_or(f64::INFINITY),
            time: 0.0,
            integral: 0.0,
            extreme: None,
            last: 0.0,
            way: [glam::DVec3::ZERO; 2],
            weight: watched.weight(),
            pushes,
            planned: spec.steps() as f64 / spec.rate_hz,
        }
    }

    /// Looks at the state after a step of `dt` seconds.
    pub fn after_step(&mut self, simulation: &Simulation, watched: &Watched, measure: &ActorMeasure, dt: f64) {
        let (quantity, aggregate) = match self.kind.source {
            Source::Steps(quantity, aggregate) => (quantity, aggregate),
            Source::CostOfTransport => (Quantity::Power, Aggregate::Total),
            _ => return,
        };
        // the step belongs to the time in which its middle lies, so that rounding does not decide
        let middle = simulation.engine.time() - 0.5 * dt;
        if middle < self.from || middle > self.to {
            return;
        }
        if matches!(self.kind.source, Source::CostOfTransport) {
            let way = watched.way(simulation);
            if self.time == 0.0 {
                self.way[0] = way;
            }
            self.way[1] = way;
        }
        let value = watched.quantity(quantity, simulation, measure);
        self.time += dt;
        self.last = value;
        match aggregate {
            Aggregate::Mean | Aggregate::RootMean | Aggregate::Total => self.integral += value * dt,
            Aggregate::Max => self.extreme = Some(self.extreme.map_or(value, |e| e.max(value))),
            Aggregate::Min => self.extreme = Some(self.extreme.map_or(value, |e| e.min(value))),
            Aggregate::End => {}
        }
    }

    /// What has been measured by the end of a run; 0 if its time was not reached.
    pub fn value(&self, summary: &Summary) -> f64 {
        let character = &summary.characters[self.character];
        match self.kind.source {
            Source::Character(of) => of(character),
            Source::World(of) => of(summary),
            Source::Fell => f64::from(u8::from(character.fell_at_s.is_some())),
            Source::UprightShare => match character.fell_at_s {
                Some(time) => time / self.planned,
                // a run that went on to its end is whole, whatever the rounding of its time
                None if summary.completed => 1.0,
                None => summary.duration_s / self.planned,
            },
            Source::SurvivedPushes => self.survived(character.fell_at_s),
            Source::CostOfTransport => {
                self.integral / (self.weight * (self.way[1] - self.way[0]).length().max(SHORTEST_WAY))
            }
            Source::Steps(_, aggregate) => match aggregate {
                Aggregate::Mean if self.time > 0.0 => self.integral / self.time,
                Aggregate::RootMean if self.time > 0.0 => (self.integral / self.time).sqrt(),
                Aggregate::Mean | Aggregate::RootMean => 0.0,
                Aggregate::Total => self.integral,
                Aggregate::Max | Aggregate::Min => self.extreme.unwrap_or(0.0),
                Aggregate::End => self.last,
            },
        }
    }

    /// Share of the pushes that were followed by no fall before the next one.
    fn survived(&self, fell_at: Option<f64>) -> f64 {
        match (fell_at, self.pushes.len()) {
            (None, _) => 1.0,
            (Some(_), 0) => 0.0,
            (Some(fell_at), all) => {
                let begun = self.pushes.iter().filter(|t| **t < fell_at).count();
                begun.saturating_sub(1) as f64 / all as f64
            }
        }
    }

    /// What the value at the end of the run will lie between, by what is known at `time`.
    pub fn range(&self, time: f64, fell_at: Option<f64>) -> [f64; 2] {
        let least = if self.kind.is_positive() {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        match self.kind.source {
            Source::UprightShare => match fell_at {
                Some(fell) => [fell / self.planned; 2],
                None => [time / self.planned, 1.0],
            },
            Source::Fell => match fell_at {
                Some(_) => [1.0; 2],
                None => [0.0, 1.0],
            },
            Source::SurvivedPushes => match fell_at {
                Some(_) => [self.survived(fell_at); 2],
                None => [0.0, 1.0],
            },
            Source::Steps(_, Aggregate::Max) => [self.extreme.unwrap_or(least), f64::INFINITY],
            Source::Steps(_, Aggregate::Min) => [least, self.extreme.unwrap_or(f64::INFINITY)],
            Source::Steps(_, Aggregate::Total) if self.kind.is_positive() => [self.integral, f64::INFINITY],
            _ => [least, f64::INFINITY],
        }
    }
}
