//! How fast an experiment is simulated, and where the time goes.

use std::time::Instant;

use serde::Serialize;

use super::error::ExperimentError;
use super::load::LoadedSpec;
use super::prepare::Prepared;
use super::run::Simulation;
use super::spec::EngineName;
use crate::world::StepError;

/// Steps that are timed together: long enough for the clock, short enough to see the quiet moments of a busy machine.
const BATCH: usize = 50;

/// Times the engines take turns; noise then hits all of them.
const ROUNDS: usize = 20;

/// Batches per thread and turn.
const BATCHES: usize = 10;

/// Speed of one engine on one experiment. A step is everything that a run does for it: the controllers, the step itself and
/// reading the characters' states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineSpeed {
    /// Of batches of 50 steps, one thread's view.
    pub us_per_step_median: f64,
    /// 5th percentile: what a quiet machine gives.
    pub us_per_step_p5: f64,
    /// All threads together.
    pub steps_per_s: f64,
    /// Seconds simulated per second, all threads together.
    pub real_time_factor: f64,
    /// From a pass of its own, in which taking the time costs some.
    pub parts_us: PartTimes,
}

/// Microseconds per step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartTimes {
    pub collision: f64,
    pub dynamics: f64,
    pub contacts: f64,
    /// The rest of the engine's step.
    pub other: f64,
    /// Controllers.
    pub control: f64,
    /// Reading the characters' states.
    pub states: f64,
}

/// A benchmark could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error("{engine}: {error}")]
    Step { engine: &'static str, error: StepError },
}

/// Speed of every engine in `engines` on the experiment, each with `threads` worlds side by side. Every world first runs the
/// experiment's own duration to settle.
pub fn bench(
    loaded: &LoadedSpec,
    engines: &[EngineName],
    threads: usize,
) -> Result<Vec<(EngineName, EngineSpeed)>, BenchError> {
    let threads = threads.max(1);
    let mut prepared = Vec::new();
    for engine in engines {
        let mut loaded = loaded.clone();
        loaded.spec.engine = *engine;
        prepared.push(Prepared::new(&loaded)?);
    }
    let mut worlds: Vec<Vec<Simulation>> = prepared
        .iter()
        .map(|p| (0..threads).map(|_| Simulation::new(p)).collect())
        .collect();
    let failed = |engine: &EngineName| {
        let engine = engine.name();
        move |error| BenchError::Step { engine, error }
    };
    for ((engine, worlds), prepared) in engines.iter().zip(&mut worlds).zip(&prepared) {
        let steps = prepared.spec.steps() as usize;
        in_parallel(worlds, |world| {
            (0..steps).try_for_each(|_| advance(world))?;
            Ok(Vec::new())
        })
        .map_err(failed(engine))?;
    }

    let mut batches: Vec<Vec<f64>> = vec![Vec::new(); engines.len()];
    let mut seconds = vec![0.0; engines.len()];
    for _ in 0..ROUNDS {
        for (i, worlds) in worlds.iter_mut().enumerate() {
            let begin = Instant::now();
            let times = in_parallel(worlds, timed_batches).map_err(failed(&engines[i]))?;
            seconds[i] += begin.elapsed().as_secs_f64();
            batches[i].extend(times);
        }
    }

    let mut results = Vec::new();
    for (i, engine) in engines.iter().enumerate() {
        let parts = part_times(&mut worlds[i][0]).map_err(failed(engine))?;
        let times = &mut batches[i];
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(share * (times.len() - 1) as f64).round() as usize];
        let steps = (ROUNDS * BATCHES * BATCH * threads) as f64;
        results.push((
            *engine,
            EngineSpeed {
                us_per_step_median: at(0.5),
                us_per_step_p5: at(0.05),
                steps_per_s: steps / seconds[i],
                real_time_factor: steps / seconds[i] * prepared[i].dt(),
                parts_us: parts,
            },
        ));
    }
    Ok(results)
}

fn advance(world: &mut Simulation) -> Result<(), StepError> {
    world.control();
    world.step()
}

/// Does `work` with every world in a thread of its own and puts the results together.
fn in_parallel(
    worlds: &mut [Simulation],
    work: impl Fn(&mut Simulation) -> Result<Vec<f64>, StepError> + Sync,
) -> Result<Vec<f64>, StepError> {
    if let [world] = worlds {
        return work(world);
    }
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = worlds
            .iter_mut()
            .map(|world| scope.spawn(move || work(world)))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(result) => all.extend(result?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

/// Microseconds per step of every batch.
fn timed_batches(world: &mut Simulation) -> Result<Vec<f64>, StepError> {
    let mut times = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let begin = Instant::now();
        for _ in 0..BATCH {
            advance(world)?;
        }
        times.push(begin.elapsed().as_secs_f64() * 1e6 / BATCH as f64);
    }
    Ok(times)
}

fn part_times(world: &mut Simulation) -> Result<PartTimes, StepError> {
    world.engine.set_timing(true);
    let steps = 40 * BATCH;
    let (mut control, mut whole) = (0.0, 0.0);
    for _ in 0..steps {
        let begin = Instant::now();
        world.control();
        control += begin.elapsed().as_secs_f64();
        world.step()?;
        whole += begin.elapsed().as_secs_f64();
    }
    let times = world.engine.step_times();
    world.engine.set_timing(false);
    let per_step = |ns: u64| ns as f64 * 1e-3 / steps as f64;
    let engine = times.collision_ns + times.dynamics_ns + times.contacts_ns + times.other_ns;
    let us = 1e6 / steps as f64;
    Ok(PartTimes {
        collision: per_step(times.collision_ns),
        dynamics: per_step(times.dynamics_ns),
        contacts: per_step(times.contacts_ns),
        other: per_step(times.other_ns),
        control: control * us,
        states: ((whole - control) * us - per_step(engine)).max(0.0),
    })
}
