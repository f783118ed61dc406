//! What the tables and files of a study say.

use std::collections::BTreeSet;
use std::time::Duration;

use ambler::optimize::cma::Search;
use ambler::optimize::study::Texts;
use ambler::optimize::{ProblemError, nine_digits};

use super::*;

#[test]
fn threads_change_nothing() {
    // evaluations that take random times, on 1, 2 and 5 threads: the same files to the byte
    let sleepy = Valley {
        fails_above: 3.0,
        longest: Duration::from_millis(2),
        ..Valley::new(0.3)
    };
    let place = tempfile::tempdir().unwrap();
    let folder = |jobs: usize| place.path().join(format!("{jobs}"));
    for jobs in [1, 2, 5] {
        run_whole(&folder(jobs), &full_plan(150), &sleepy, jobs);
    }
    assert_same(&folder(2), &folder(1));
    assert_same(&folder(5), &folder(1));
}

#[test]
fn every_row_is_what_was_evaluated() {
    // evaluating the parameters of a row as they are printed gives its cost, outcome and measures again
    let valley = Valley {
        fails_above: 1.2,
        ..Valley::new(0.0)
    };
    let place = tempfile::tempdir().unwrap();
    let plan = plan(150);
    run_whole(place.path(), &plan, &valley, 2);
    let rows = rows(&place.path().join("evaluations.csv"));
    assert!(rows.len() >= 150);
    let mut outcomes = BTreeSet::new();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(number(row, "evaluation"), (i + 1) as f64);
        let values: Vec<f64> = plan.coordinates.iter().map(|p| number(row, &p.name)).collect();
        for (value, parameter) in values.iter().zip(&plan.coordinates) {
            assert!(
                nine_digits(*value) == *value && *value >= parameter.range.lower && *value <= parameter.range.upper
            );
        }
        let again = valley.evaluate(&values, &Request::default()).unwrap();
        assert_eq!(number(row, "cost"), again.cost);
        assert_eq!(row["outcome"], again.outcome.name());
        assert_eq!(row["reason"], again.reason.unwrap_or_default());
        assert_eq!(number(row, "simulated_s"), again.simulated_s);
        match again.measures[0].is_nan() {
            true => assert_eq!(row["length_m"], "nan"),
            false => assert_eq!(number(row, "length_m"), nine_digits(again.measures[0])),
        }
        outcomes.insert(row["outcome"].clone());
    }
    let all = ["completed", "fell", "invalid"];
    assert!(all.iter().all(|o| outcomes.contains(*o)), "{outcomes:?}");
}

#[test]
fn rows_come_in_their_canonical_order() {
    // within a generation candidates, second evaluations, validation; generations and restarts only go up
    let place = tempfile::tempdir().unwrap();
    run_whole(place.path(), &full_plan(400), &Valley::new(0.3), 2);
    let rows = rows(&place.path().join("evaluations.csv"));
    let key = |row: &BTreeMap<String, String>| {
        let kind = ["sample", "reevaluation", "validation"]
            .iter()
            .position(|k| *k == row["kind"]);
        (
            number(row, "restart") as u64,
            number(row, "generation") as u64,
            kind.unwrap(),
            number(row, "candidate") as u64,
        )
    };
    assert!(rows.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
    for kind in ["sample", "reevaluation", "validation"] {
        assert!(rows.iter().any(|r| r["kind"] == kind), "{kind}");
    }
    // validations in generations 1, 4, 7, ... and nowhere else but at the end
    for row in &rows[..rows.len() - 1] {
        let due = (number(row, "generation") as u64 - 1).is_multiple_of(3);
        assert!(row["kind"] != "validation" || due);
    }
}

#[test]
fn the_history_is_that_of_the_log() {
    // every column of a generation follows from its rows, or from the search that asked for them
    let place = tempfile::tempdir().unwrap();
    let valley = Valley {
        fails_above: 1.2,
        ..Valley::new(0.0)
    };
    let plan = plan(200);
    run_whole(place.path(), &plan, &valley, 1);
    let log = rows(&place.path().join("evaluations.csv"));
    let history = rows(&place.path().join("history.csv"));
    let mut search = Search::new(&plan.space(), &plan.search).unwrap();
    let mut best = f64::INFINITY;
    let mut evaluations = 0;
    for (g, line) in history.iter().enumerate() {
        let own: Vec<_> = log
            .iter()
            .filter(|r| number(r, "generation") as usize == g + 1)
            .collect();
        evaluations += own.len();
        let mut real: Vec<f64> = own
            .iter()
            .filter(|r| r["reason"].is_empty())
            .map(|r| number(r, "cost"))
            .collect();
        real.sort_by(f64::total_cmp);
        best = real.first().map_or(best, |b| best.min(*b));
        assert_eq!(number(line, "generation"), (g + 1) as f64);
        assert_eq!(number(line, "evaluations"), evaluations as f64);
        assert_eq!(number(line, "population"), own.len() as f64);
        assert_eq!(number(line, "failures"), (own.len() - real.len()) as f64);
        if let [first, .., last] = real[..] {
            assert_eq!(
                (number(line, "generation_best"), number(line, "generation_worst")),
                (first, last)
            );
            let median = 0.5 * real[(real.len() - 1) / 2] + 0.5 * real[real.len() / 2];
            assert_eq!(number(line, "generation_median"), median);
        }
        assert_eq!(number(line, "best"), best);
        assert_eq!(number(line, "sigma"), nine_digits(search.run().sigma()));
        assert_eq!(number(line, "axis_ratio"), nine_digits(search.run().axis_ratio()));
        for (i, parameter) in plan.coordinates.iter().enumerate() {
            let mean = parameter.value(search.run().mean()[i]);
            assert_eq!(number(line, &format!("mean_{}", parameter.name)), mean);
            // of a parameter whose logarithms are searched that of the logarithm
            let std = nine_digits(search.run().std()[i]);
            assert_eq!(number(line, &format!("std_{}", parameter.name)), std);
        }
        // the log is what the search asked for, and leads it on
        let points = search.ask();
        for (row, point) in own.iter().zip(&points) {
            for (parameter, x) in plan.coordinates.iter().zip(point) {
                assert_eq!(number(row, &parameter.name), parameter.value(*x));
            }
        }
        search
            .tell(&own.iter().map(|r| number(r, "cost")).collect::<Vec<_>>())
            .unwrap();
    }
    assert_eq!(evaluations, log.len());
}

/// Writes down what it is asked for.
struct Notes;

impl Texts for Notes {
    fn experiment_text(&self, values: &[f64], seeds: &[u64], comment: &str) -> Result<String, ProblemError> {
        let comment: String = comment.lines().map(|l| format!("# {l}\n")).collect();
        Ok(format!("{comment}values = {values:?}\nseeds = {seeds:?}\n"))
    }
}

#[test]
fn the_files_of_best_and_mean_say_where_they_come_from() {
    // parameters as TOML that reads back to what was evaluated; experiments made of the same values and seeds
    let place = tempfile::tempdir().unwrap();
    let valley = Valley::new(0.3);
    let plan = full_plan(150);
    let options = Options {
        texts: Some(&Notes),
        ..options(2)
    };
    let mut study = create(place.path(), &plan, &valley);
    let summary = study.run(&valley, &options, &mut |_| ()).unwrap();
    let read = |name: &str| -> (String, toml::Table) {
        let text = std::fs::read_to_string(place.path().join(name)).unwrap();
        let table = text.parse().unwrap();
        (text, table)
    };
    let floats = |value: &toml::Value| -> Vec<f64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_float().unwrap())
            .collect()
    };
    let cost = summary.best_cost.unwrap();
    let (text, best) = read("best_parameters.toml");
    assert!(text.contains("valley") && text.contains(&cost.to_string()), "{text}");
    let values: Vec<f64> = plan
        .coordinates
        .iter()
        .map(|p| best[&p.name].as_float().unwrap())
        .collect();
    let (text, experiment) = read("best.toml");
    assert!(text.contains(&cost.to_string()), "{text}");
    assert_eq!(floats(&experiment["values"]), values);
    assert_eq!(experiment["seeds"].to_string(), "[901, 902, 903]");
    // and that is the cost
    let request = Request {
        seeds: &[901, 902, 903],
        ..Request::default()
    };
    assert_eq!(valley.evaluate(&values, &request).unwrap().cost, cost);
    let (text, mean) = read("mean_parameters.toml");
    assert!(text.contains("mean of the distribution") && mean.len() == 4, "{text}");
    let named: Vec<f64> = plan.coordinates.iter().map(|p| summary.parameters[&p.name]).collect();
    assert_eq!(named, values);
    // the mean was validated at the end, behind everything else
    let rows = rows(&place.path().join("evaluations.csv"));
    let last = rows.last().unwrap();
    assert_eq!(last["kind"], "validation");
    for coordinate in &plan.coordinates {
        assert_eq!(
            number(last, &coordinate.name),
            mean[&coordinate.name].as_float().unwrap()
        );
    }
}
