//! What counts: seeds, early stops, failures, validation.

use std::sync::Mutex;

use super::*;

/// Remembers how it was asked.
struct Asked {
    valley: Valley,
    requests: Mutex<Vec<AskedFor>>,
}

/// Values, seeds, threshold.
type AskedFor = (Vec<f64>, Vec<u64>, Option<f64>);

impl Asked {
    fn new(valley: Valley) -> Asked {
        Asked {
            valley,
            requests: Mutex::default(),
        }
    }

    /// How the row was asked for.
    fn of(&self, row: &BTreeMap<String, String>, plan: &StudySetup) -> (Vec<u64>, Option<f64>) {
        let values: Vec<f64> = plan.coordinates.iter().map(|p| number(row, &p.name)).collect();
        let requests = self.requests.lock().unwrap();
        let validation = row["kind"] == "validation";
        let again = row["kind"] == "reevaluation";
        let mut found = requests
            .iter()
            .filter(|r| r.0 == values && validation == (r.1 == [901, 902, 903]));
        let first = found.next().expect("every row was asked for");
        let found = if again { found.next().unwrap() } else { first };
        (found.1.clone(), found.2)
    }
}

impl Evaluator for Asked {
    fn measures(&self) -> &[String] {
        self.valley.measures()
    }

    fn evaluate(&self, x: &[f64], request: &Request) -> Option<Evaluation> {
        let asked = (x.to_vec(), request.seeds.to_vec(), request.hopeless_above);
        self.requests.lock().unwrap().push(asked);
        self.valley.evaluate(x, request)
    }
}

#[test]
fn seeds_are_new_in_every_generation_and_the_same_for_its_candidates() {
    // one set per generation, another one for second evaluations, never one twice, all below 2^63
    let asked = Asked::new(Valley::new(0.5));
    let place = tempfile::tempdir().unwrap();
    let plan = full_plan(200);
    run_whole(place.path(), &plan, &asked, 1);
    let mut sets: BTreeMap<(u64, String), Vec<u64>> = BTreeMap::new();
    let mut most = 0;
    for row in rows(&place.path().join("evaluations.csv")) {
        let (seeds, hopeless) = asked.of(&row, &plan);
        assert!(row["kind"] == "sample" || hopeless.is_none());
        if row["kind"] == "validation" {
            continue;
        }
        most = most.max(seeds.len());
        assert!(seeds.len() >= 2 && seeds.len() % 2 == 0 && seeds.iter().all(|s| *s < 1 << 63));
        let key = (number(&row, "generation") as u64, row["kind"].clone());
        let known = sets.entry(key).or_insert_with(|| seeds.clone());
        assert_eq!(*known, seeds);
    }
    let mut all: Vec<u64> = sets.values().flatten().copied().collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    // so much noise asks for more seeds
    assert!(most > 2, "{most}");
}

#[test]
fn a_list_of_seeds_is_always_the_same() {
    // and without any, the experiment's own count: the request is empty
    for (seeds, expected) in [(Seeds::List(vec![5, 6]), vec![5, 6]), (Seeds::Own, vec![])] {
        let asked = Asked::new(Valley::new(0.0));
        let place = tempfile::tempdir().unwrap();
        let mut plan = plan(30);
        plan.seeds = seeds;
        run_whole(place.path(), &plan, &asked, 2);
        assert!(asked.requests.lock().unwrap().iter().all(|r| r.1 == expected));
    }
}

#[test]
fn hopeless_is_judged_by_the_generation_before_alone() {
    // the threshold of a generation is the quantile of the costs before it, without failures; none at the beginning of a run
    let asked = Asked::new(Valley {
        fails_above: 1.3,
        ..Valley::new(0.0)
    });
    let place = tempfile::tempdir().unwrap();
    let mut plan = plan(2000);
    plan.search.restarts = Restarts::Ipop;
    // converges soon
    plan.search.cma.stops.tol_fun = 10.0;
    plan.hopeless_quantile = Some(0.75);
    run_whole(place.path(), &plan, &asked, 2);
    let rows = rows(&place.path().join("evaluations.csv"));
    let generations = number(rows.last().unwrap(), "generation") as usize;
    let of = |g: usize| rows.iter().filter(move |r| number(r, "generation") as usize == g);
    let restart = |g: usize| number(of(g).next().unwrap(), "restart");
    let mut hopeless = 0;
    let mut failures = 0;
    for g in 1..=generations {
        let expected = match g > 1 && restart(g) == restart(g - 1) {
            true => {
                let mut costs: Vec<f64> = of(g - 1)
                    .filter(|r| r["reason"].is_empty())
                    .map(|r| number(r, "cost"))
                    .collect();
                costs.sort_by(f64::total_cmp);
                failures += of(g - 1).count() - costs.len();
                costs
                    .get(((0.75 * costs.len() as f64).ceil() as usize).saturating_sub(1))
                    .copied()
            }
            false => None,
        };
        for row in of(g) {
            assert_eq!(asked.of(row, &plan).1, expected, "generation {g}");
            hopeless += usize::from(row["outcome"] == "hopeless");
        }
    }
    assert!(
        restart(generations) >= 2.0 && hopeless > 20 && failures > 0,
        "{hopeless} {failures}"
    );
}

#[test]
fn a_failing_region_does_not_stop_a_study() {
    // half of the first candidates fail in two ways; the study goes on, finds the minimum, and counts what failed and why
    let place = tempfile::tempdir().unwrap();
    let mut plan = plan(1500);
    plan.coordinates[0].range.initial = 1.2;
    let valley = Valley {
        fails_above: 1.2,
        ..Valley::new(0.0)
    };
    let summary = run_whole(place.path(), &plan, &valley, 2).summary;
    assert!(summary.best_cost.unwrap() < 1e-6, "{summary:?}");
    let rows = rows(&place.path().join("evaluations.csv"));
    let count = |reason: &str| rows.iter().filter(|r| r["reason"] == reason).count() as u64;
    let failures: Vec<(&str, u64)> = summary.failures.iter().map(|f| (f.reason.as_str(), f.count)).collect();
    let reasons = ["diverged at pelvis, \"left\"", "too stiff"];
    assert!(failures.len() == 2 && failures[0].1 >= failures[1].1);
    assert!(
        failures
            .iter()
            .all(|(reason, n)| reasons.contains(reason) && *n == count(reason) && *n > 0)
    );
    assert_eq!(summary.failed, count(reasons[0]) + count(reasons[1]));
    assert_eq!(
        summary.outcomes["diverged"] + summary.outcomes["invalid"],
        summary.failed
    );
    assert_eq!(summary.outcomes.values().sum::<u64>(), summary.evaluations);
    assert_eq!(summary.message, None);
    // and the file says the same as the value
    let json = std::fs::read_to_string(place.path().join("summary.json")).unwrap();
    assert_eq!(json, summary.to_json());
}

#[test]
fn if_everything_fails_that_is_said() {
    // in the log as soon as it is known, and in the summary; there is no best then
    let valley = Valley {
        fails_above: -1.0,
        ..Valley::new(0.0)
    };
    let place = tempfile::tempdir().unwrap();
    let summary = run_whole(place.path(), &plan(40), &valley, 1).summary;
    let log = std::fs::read_to_string(place.path().join("study.log")).unwrap();
    assert!(log.contains("all 8 evaluations failed"), "{log}");
    let message = summary.message.unwrap();
    assert!(
        message.contains(&format!("all {} evaluations failed", summary.evaluations)),
        "{message}"
    );
    assert_eq!(summary.best_cost, None);
    assert!(!place.path().join("best_parameters.toml").exists());
    assert!(place.path().join("mean_parameters.toml").exists());
}

#[test]
fn with_a_validation_the_best_is_the_best_validated_mean() {
    // lucky candidates are not taken: the best is the smallest cost among the validations, and says so
    let place = tempfile::tempdir().unwrap();
    let mut plan = full_plan(400);
    plan.search.noise = None;
    let summary = run_whole(place.path(), &plan, &Valley::new(5.0), 2).summary;
    let rows = rows(&place.path().join("evaluations.csv"));
    let real = |kind: &'static str| {
        rows.iter()
            .filter(move |r| r["kind"] == kind && ["completed", "fell"].contains(&r["outcome"].as_str()))
            .map(|r| (number(r, "cost"), number(r, "evaluation")))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap()
    };
    let (validated, evaluation) = real("validation");
    assert_eq!(
        (summary.best_cost.unwrap(), summary.best_evaluation.unwrap() as f64),
        (validated, evaluation)
    );
    assert!(summary.validated && real("sample").0 < validated);
    let text = std::fs::read_to_string(place.path().join("best_parameters.toml")).unwrap();
    assert!(text.contains("best validation"), "{text}");
    // without one it is the best evaluation
    let without = tempfile::tempdir().unwrap();
    let summary = run_whole(without.path(), &super::plan(100), &Valley::new(0.0), 2).summary;
    assert!(!summary.validated);
}
