//! Many evaluations on all cores, told in the order in which they were asked for.
//!
//! Which thread takes which job, and when it is done, changes nothing that can be seen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rayon::ThreadPool;

use crate::optimize::evaluation::{Evaluation, Evaluator, Request};

/// An evaluation to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub parameters: Vec<f64>,
    pub seeds: Vec<u64>,
    pub hopeless_above: Option<f64>,
}

/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Evaluates `jobs` on the threads of `pool` and gives each result to `take`, in order and on the calling thread: as soon as it
/// and all before it are there. False if `stop` became true or `take` refused a result, which ends everything: evaluations under
/// way are given up.
pub fn evaluate_all(
    jobs: &[Job],
    evaluator: &dyn Evaluator,
    pool: &ThreadPool,
    stop: Option<&AtomicBool>,
    take: &mut dyn FnMut(usize, Evaluation) -> bool,
) -> bool {
    evaluate_beside(jobs, None, evaluator, pool, stop, take).0
}

/// The same with a job `beside` that is begun first, as it may be the longest; its result is given back at the end.
pub(super) fn evaluate_beside(
    jobs: &[Job],
    beside: Option<&Job>,
    evaluator: &dyn Evaluator,
    pool: &ThreadPool,
    stop: Option<&AtomicBool>,
    take: &mut dyn FnMut(usize, Evaluation) -> bool,
) -> (bool, Option<Evaluation>) {
    let all: Vec<&Job> = beside.into_iter().chain(jobs).collect();
    let first = usize::from(beside.is_some());
    let stopped = || stop.is_some_and(|s| s.load(Ordering::Relaxed));
    if stopped() && !all.is_empty() {
        return (false, None);
    }
    let next = AtomicUsize::new(0);
    let halt = AtomicBool::new(false);
    let mut result = None;
    let mut refused = false;
    let mut waiting: Vec<Option<Evaluation>> = jobs.iter().map(|_| None).collect();
    let mut told = 0;
    pool.in_place_scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..pool.current_num_threads().min(all.len()) {
            let sender = sender.clone();
            let (next, halt, all) = (&next, &halt, &all);
            scope.spawn(move |_| {
                // begun in order, so that results need not wait long for those before them
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = all.get(i).filter(|_| !halt.load(Ordering::Relaxed)) else {
                        return;
                    };
                    let request = Request {
                        seeds: &job.seeds,
                        hopeless_above: job.hopeless_above,
                        stop: Some(halt),
                    };
                    // whoever does not listen any more has no use for it
                    let _ = sender.send((i, evaluator.evaluate(&job.parameters, &request)));
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok((_, None)) => halt.store(true, Ordering::Relaxed),
                Ok((0, evaluation)) if first == 1 => result = evaluation,
                Ok((i, evaluation)) => waiting[i - first] = evaluation,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(evaluation) = waiting.get_mut(told).filter(|_| !refused).and_then(Option::take) {
                match take(told, evaluation) {
                    true => told += 1,
                    false => refused = true,
                }
            }
            if refused || stopped() {
                halt.store(true, Ordering::Relaxed);
            }
        }
    });
    let whole = told == jobs.len() && (first == 0 || result.is_some());
    (whole, result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random;
    use crate::optimize::evaluation::Outcome;

    /// Takes a random time, and gives up when told.
    struct Sleepy {
        seed: u64,
    }

    impl Evaluator for Sleepy {
        fn measures(&self) -> &[String] {
            &[]
        }

        fn evaluate(&self, values: &[f64], request: &Request) -> Option<Evaluation> {
            let micros = random::bits(self.seed, 0, values[0] as u64)[0] % 2000;
            std::thread::sleep(Duration::from_micros(micros));
            let given_up = request.stop.is_some_and(|s| s.load(Ordering::Relaxed));
            (!given_up).then(|| Evaluation {
                cost: 2.0 * values[0],
                measures: vec![],
                outcome: Outcome::Completed,
                reason: None,
                simulated_s: 0.0,
            })
        }
    }

    fn jobs(count: usize) -> Vec<Job> {
        (0..count)
            .map(|i| Job {
                parameters: vec![i as f64],
                seeds: vec![],
                hopeless_above: None,
            })
            .collect()
    }

    fn pool(threads: usize) -> ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn results_come_in_the_order_of_their_jobs() {
        // whatever takes how long and on however many threads: places 0, 1, 2, ..., each with its own result
        for (threads, seed) in [(1, 1), (2, 2), (3, 3), (8, 4)] {
            let jobs = jobs(40);
            let mut costs = Vec::new();
            let evaluator = Sleepy { seed };
            let (whole, beside) = evaluate_beside(
                &jobs[1..],
                Some(&jobs[0]),
                &evaluator,
                &pool(threads),
                None,
                &mut |i, e| {
                    assert_eq!(i, costs.len());
                    costs.push(e.cost);
                    true
                },
            );
            assert!(whole);
            assert_eq!(beside.unwrap().cost, 0.0);
            assert_eq!(costs, (1..40).map(|i| 2.0 * i as f64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn stopping_keeps_what_was_told_and_no_more() {
        // results are an unbroken beginning, and nothing is told after a refusal
        let pool = pool(2);
        let stop = AtomicBool::new(false);
        let mut places = Vec::new();
        let whole = evaluate_all(&jobs(1000), &Sleepy { seed: 5 }, &pool, Some(&stop), &mut |i, _| {
            places.push(i);
            stop.store(i >= 10, Ordering::Relaxed);
            true
        });
        assert!(!whole && places.len() >= 11 && places.len() < 1000);
        assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
        let mut count = 0;
        let whole = evaluate_all(&jobs(100), &Sleepy { seed: 6 }, &pool, None, &mut |_, _| {
            count += 1;
            count < 5
        });
        assert!(!whole && count == 5);
        // what is stopped before it begins does nothing, and nothing to do is done at once
        assert!(!evaluate_all(
            &jobs(3),
            &Sleepy { seed: 7 },
            &pool,
            Some(&stop),
            &mut |_, _| panic!()
        ));
        assert!(evaluate_all(
            &[],
            &Sleepy { seed: 8 },
            &pool,
            Some(&stop),
            &mut |_, _| panic!()
        ));
    }
}
