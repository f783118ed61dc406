//! When a study ends, and how it is let go on.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn the_last_generation_is_run_whole() {
    // no generation is begun after the budget, and none is cut short by it
    for (budget, expected) in [(1, 8), (8, 8), (9, 16), (100, 104)] {
        let place = tempfile::tempdir().unwrap();
        let outcome = run_whole(place.path(), &plan(budget), &Valley::new(0.0), 2);
        assert_eq!(
            (outcome.summary.evaluations, outcome.summary.stopped_by),
            (expected, "budget")
        );
        assert_eq!(outcome.made, expected);
    }
}

#[test]
fn a_larger_budget_continues_a_finished_study() {
    // extended twice it equals one that had the last budget from the beginning, though it was validated at each of its ends
    let place = tempfile::tempdir().unwrap();
    let (whole, extended) = (place.path().join("whole"), place.path().join("extended"));
    let valley = Valley::new(0.3);
    run_whole(&whole, &full_plan(400), &valley, 2);
    run_whole(&extended, &full_plan(100), &valley, 2);
    for budget in [100, 50, 250, 250, 400, 300] {
        let before = files(&extended);
        let mut study = resume(&extended, &full_plan(budget), &valley);
        let done = budget <= study.evaluations();
        let outcome = run(&mut study, &valley, 2);
        assert_eq!(outcome.summary.stopped_by, "budget");
        // without a larger one there is nothing to do, and nothing changes
        assert_eq!(outcome.made == 0, done, "{budget}");
        assert_eq!(files(&extended) == before, done, "{budget}");
    }
    assert_same(&extended, &whole);
}

#[test]
fn an_extended_study_can_be_killed_too() {
    // whatever is there of the generations behind the first end, even if the old budget is back
    let place = tempfile::tempdir().unwrap();
    let (whole, extended) = (place.path().join("whole"), place.path().join("extended"));
    let valley = Valley::new(0.3);
    run_whole(&whole, &full_plan(200), &valley, 2);
    run_whole(&extended, &full_plan(100), &valley, 2);
    let checkpoint = std::fs::read(extended.join("checkpoint")).unwrap();
    let mut budget = 200;
    for evaluations in [5, 3, 31, 1, 60] {
        run_until(
            &mut resume(&extended, &full_plan(budget), &valley),
            &valley,
            evaluations,
            2,
        );
        // as if it had been killed before it could save
        std::fs::write(extended.join("checkpoint"), &checkpoint).unwrap();
        budget = 300 - budget;
    }
    run(&mut resume(&extended, &full_plan(200), &valley), &valley, 1);
    assert_same(&extended, &whole);
}

#[test]
fn the_target_is_that_of_the_best() {
    // it ends the study at the end of the generation that reaches it
    let place = tempfile::tempdir().unwrap();
    let mut plan = plan(10_000);
    plan.budget.target = Some(0.5);
    let valley = Valley::new(0.0);
    let summary = run_whole(place.path(), &plan, &valley, 2).summary;
    assert_eq!(summary.stopped_by, "target");
    assert!(summary.best_cost.unwrap() <= 0.5);
    let history = rows(&place.path().join("history.csv"));
    assert!(history[..history.len() - 1].iter().all(|r| number(r, "best") > 0.5));
    assert_eq!(run(&mut resume(place.path(), &plan, &valley), &valley, 1).made, 0);
    // of a noisy function lucky candidates do not count, validated means do
    let noisy = tempfile::tempdir().unwrap();
    let mut plan = full_plan(10_000);
    plan.budget.target = Some(1.0);
    let summary = run_whole(noisy.path(), &plan, &Valley::new(3.0), 2).summary;
    assert_eq!((summary.stopped_by, summary.validated), ("target", true));
    let rows = rows(&noisy.path().join("evaluations.csv"));
    let samples = || rows.iter().filter(|r| r["kind"] == "sample");
    let end = samples().map(|r| number(r, "generation")).fold(0.0, f64::max);
    assert!(samples().any(|r| number(r, "cost") < 1.0 && number(r, "generation") < end));
}

#[test]
fn a_converged_search_ends_the_study_and_says_how() {
    // the word is that of the criterion
    let place = tempfile::tempdir().unwrap();
    let summary = run_whole(place.path(), &plan(100_000), &Valley::new(0.0), 2).summary;
    let words = ["tol_fun", "tol_fun_history", "tol_x", "flat"];
    assert!(words.contains(&summary.stopped_by), "{}", summary.stopped_by);
    assert!(summary.best_cost.unwrap() < 1e-9);
}

#[test]
fn a_budget_of_time_is_looked_at_after_generations() {
    // the session takes so long and ends with a whole generation; the next one has as much time again
    let valley = Valley {
        longest: Duration::from_millis(8),
        ..Valley::new(0.0)
    };
    let place = tempfile::tempdir().unwrap();
    let mut plan = plan(1_000_000);
    plan.budget.time_s = Some(0.4);
    let mut before = 0;
    for _ in 0..2 {
        let mut study = match before {
            0 => create(place.path(), &plan, &valley),
            _ => resume(place.path(), &plan, &valley),
        };
        let began = Instant::now();
        let outcome = run(&mut study, &valley, 2);
        let took = began.elapsed();
        assert_eq!(outcome.summary.stopped_by, "time");
        // a generation of 8 takes 64 ms at most, and a busy machine more
        assert!(
            took >= Duration::from_millis(400) && took < Duration::from_secs(4),
            "{took:?}"
        );
        assert!(outcome.made > 8 && outcome.summary.evaluations == before + outcome.made);
        assert_eq!(outcome.summary.evaluations % 8, 0);
        before = outcome.summary.evaluations;
    }
}

#[test]
fn stopping_keeps_every_row() {
    // what was evaluated before a stop is in the log, and the results say that it was an interrupt
    let place = tempfile::tempdir().unwrap();
    let valley = Valley::new(0.0);
    let outcome = run_until(&mut create(place.path(), &plan(1000), &valley), &valley, 21, 1);
    assert_eq!(outcome.summary.stopped_by, "interrupt");
    assert!(outcome.summary.generations >= 2 && outcome.made >= 21 && outcome.made < 1000);
    let rows = rows(&place.path().join("evaluations.csv"));
    assert_eq!(rows.len() as u64, outcome.made);
    let summary = std::fs::read_to_string(place.path().join("summary.json")).unwrap();
    assert!(summary.contains("interrupt"), "{summary}");
}
