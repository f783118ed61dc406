//! Moments of an experiment in the order of time: simulated as they are asked for, or played back from a run folder.

use crate::experiment::{ActorMeasure, ExperimentError, Frame, Playback, Prepared, Simulation};
use crate::world::StepError;

/// Where pictures come from.
pub enum Film<'a> {
    Live(Box<LiveFilm<'a>>),
    Recorded(Playback),
}

/// A simulation that goes on as far as it is looked at; it keeps no past.
pub struct LiveFilm<'a> {
    simulation: Simulation<'a>,
    measures: Vec<ActorMeasure>,
    /// Whether the controllers have acted for the moment at which the simulation is.
    controlled: bool,
    last: Frame,
    /// Whether a fall ended it.
    fallen: bool,
    pub error: Option<StepError>,
}

impl<'a> LiveFilm<'a> {
    pub fn new(prepared: &'a Prepared) -> LiveFilm<'a> {
        let mut simulation = Simulation::new(prepared);
        let gravity = glam::DVec3::from_array(prepared.spec.gravity);
        let measures = (prepared.actors.iter().zip(&simulation.states))
            .map(|(a, s)| {
                let engine = simulation.engine.as_ref();
                ActorMeasure::new(&a.character, gravity, &prepared.spec.fall, engine, s)
            })
            .collect();
        simulation.control();
        LiveFilm {
            last: Frame::of(&simulation),
            simulation,
            measures,
            controlled: true,
            fallen: false,
            error: None,
        }
    }

    fn control(&mut self) {
        if !self.controlled {
            self.simulation.control();
            self.controlled = true;
        }
    }

    /// Steps until the next step would go beyond `time`, then interpolates to it.
    fn frame(&mut self, time: f64) -> Option<Frame> {
        let dt = self.simulation.prepared.dt();
        while self.simulation.engine.time() < time - 1e-9 {
            if self.fallen || self.error.is_some() {
                return None;
            }
            self.control();
            // the step that reaches `time` needs both its ends
            if self.simulation.engine.time() + dt >= time - 1e-9 {
                self.last = Frame::of(&self.simulation);
            }
            if let Err(error) = self.simulation.step() {
                self.error = Some(error);
                return None;
            }
            self.controlled = false;
            let engine = self.simulation.engine.as_ref();
            for (i, measure) in self.measures.iter_mut().enumerate() {
                measure.after_step(i, &self.simulation.states, engine, dt);
            }
            self.fallen = self.simulation.prepared.spec.fall.stop && self.fell_at().is_some();
        }
        self.control();
        let now = Frame::of(&self.simulation);
        Some(if time >= now.time - 1e-9 {
            now
        } else {
            self.last.between(&now, time)
        })
    }

    fn fell_at(&self) -> Option<f64> {
        self.measures.iter().filter_map(|m| m.fell_at).min_by(f64::total_cmp)
    }
}

impl Film<'_> {
    pub fn prepared(&self) -> &Prepared {
        match self {
            Film::Live(live) => &live.simulation.prepared,
            Film::Recorded(playback) => playback.prepared(),
        }
    }

    /// Seconds; of a simulation, unless a fall ends it.
    pub fn duration(&self) -> f64 {
        match self {
            Film::Live(live) => live.simulation.prepared.spec.duration_s,
            Film::Recorded(playback) => playback.duration(),
        }
    }

    /// The moment at `time`, which may not be before the one asked for last; `None` if the experiment has ended by then.
    pub fn frame(&mut self, time: f64) -> Result<Option<Frame>, ExperimentError> {
        match self {
            Film::Live(live) => Ok(live.frame(time)),
            Film::Recorded(playback) => playback.frame(time).map(Some),
        }
    }

    /// What went wrong while it was simulated.
    pub fn error(&self) -> Option<&StepError> {
        match self {
            Film::Live(live) => live.error.as_ref(),
            Film::Recorded(_) => None,
        }
    }

    /// When a character fell, as far as that is known by now.
    pub fn fell_at(&self) -> Option<f64> {
        match self {
            Film::Live(live) => live.fell_at(),
            Film::Recorded(_) => None,
        }
    }
}
