//! Many evaluations on all cores, told in the order in which they were asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use crate::optimize::evaluation::{Evaluation, Evaluator, Request};

/// An evaluation to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub parameters: Vec<f64>,
    pub seeds: Vec<u64>,
    pub hopeless_above: Option<f64>,
}

/// Evaluates `jobs` on the threads of `pool` and gives each result to `take`, in order: as soon as it and all before it are there.
/// False if `stop` became true or `take` refused a result, which ends everything.
pub fn evaluate_all(
    jobs: &[Job],
    evaluator: &dyn Evaluator,
    pool: &ThreadPool,
    stop: Option<&AtomicBool>,
    take: &mut (dyn FnMut(usize, Evaluation) -> bool + Send),
) -> bool {
    let next = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    let order = Mutex::new((0, BTreeMap::new(), take));
    // begun in order, so that rows need not wait long for those before them
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= jobs.len() || ended.load(Ordering::Relaxed) {
                return;
            }
            let request = Request {
                seeds: &jobs[i].seeds,
                hopeless_above: jobs[i].hopeless_above,
                stop,
            };
            let Some(evaluation) = evaluator.evaluate(&jobs[i].parameters, &request) else {
                ended.store(true, Ordering::Relaxed);
                return;
            };
            let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
            let (told, done, take) = &mut *order;
            done.insert(i, evaluation);
            while let Some(evaluation) = done.remove(told) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                if !take(*told, evaluation) {
                    ended.store(true, Ordering::Relaxed);
                    return;
                }
                *told += 1;
            }
            if stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
                ended.store(true, Ordering::Relaxed);
            }
        }
    };
    pool.scope(|scope| {
        for _ in 0..pool.current_num_threads().min(jobs.len()) {
            scope.spawn(|_| work());
        }
    });
    let told = order.into_inner().unwrap_or_else(PoisonError::into_inner).0;
    told == jobs.len()
}
