//! Scores: what a run is worth is counted from what happened in it, and an experiment is a pure function of its parameters.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};

use ambler::experiment::{
    CombineSpec, LoadedSpec, MEASURES, Prepared, RunOptions, RunOutcome, Scenario, StoppedBy, combine, run,
};
use ambler::optimize::{Evaluation, Evaluator, FAILED, Outcome, ParameterSpec, Paths, Problem, ProblemSpec, Request};
use rayon::prelude::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn load(text: &str) -> Result<LoadedSpec, String> {
    LoadedSpec::parse(text, "test.toml", root().join("data/characters"), &[]).map_err(|e| e.to_string())
}

/// A push that the character does not survive if `force` is 300 N, and survives with 40 N.
fn pushed(force: f64, more: &str) -> String {
    format!(
        "format = 1\nduration_s = 3\nrate_hz = 120\n{more}\n[character]\nfile = \"humanoid.toml\"\nheading_deg = 30\n\
         [[terrain]]\nkind = \"ground\"\n\
         [[props]]\nname = \"ball\"\nkind = \"sphere\"\nmass = 1\nradius = 0.1\nposition = [1.5, 0.7, 0]\nvelocity = [1, 2, 3]\n\
         [[disturbances]]\ntime_s = 0.5\nduration_s = 0.2\nforce_n = {force}\ndirection = \"forward\"\nbody = \"thorax\"\n\
         [[disturbances]]\ntime_s = 2.9\nimpulse_ns = 1\ndirection = \"left\"\n"
    )
}

fn run_text(text: &str, options: &RunOptions) -> (Prepared, RunOutcome) {
    let prepared = Prepared::new(&load(text).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&prepared, options, &mut ());
    (prepared, outcome)
}

/// Terms for every measure there is, one after the other.
fn all_measures() -> String {
    MEASURES
        .iter()
        .map(|m| format!("[[objective]]\nmeasure = \"{}\"\n", m.name))
        .collect()
}

#[test]
fn measures_agree_with_the_table_of_the_run() {
    // every measure that can be counted again from metrics.csv, kept at every step, is that number
    let text = pushed(300.0, "recording = { metrics_hz = 120 }") + &all_measures();
    let keep = RunOptions {
        metrics: true,
        ..RunOptions::default()
    };
    let (prepared, outcome) = run_text(&text, &keep);
    let metrics = outcome.metrics.unwrap();
    let column = |name: &str| -> Vec<f64> {
        let at = metrics
            .header
            .iter()
            .position(|h| h == name)
            .unwrap_or_else(|| panic!("{name}"));
        metrics.rows().map(|row| row[at]).collect()
    };
    let value = |name: &str| -> f64 {
        let score = outcome.summary.score.as_ref().unwrap();
        score
            .terms
            .iter()
            .find(|t| t.name == name)
            .unwrap_or_else(|| panic!("{name}"))
            .value
    };
    let near = |name: &str, expected: f64| {
        let found = value(name);
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
            "{name}: {found} for {expected}"
        );
    };
    // the first row is the start; measures look at what steps have made
    let (x, y, z) = (column("com_x_m"), column("com_y_m"), column("com_z_m"));
    let (vx, vy, vz) = (
        column("com_velocity_x_m_per_s"),
        column("com_velocity_y_m_per_s"),
        column("com_velocity_z_m_per_s"),
    );
    let n = x.len() - 1;
    assert_eq!(n, 360);
    let mean = |of: &dyn Fn(usize) -> f64| (1..=n).map(of).sum::<f64>() / n as f64;
    let max = |of: &dyn Fn(usize) -> f64| (1..=n).map(of).fold(f64::NEG_INFINITY, f64::max);
    let heading = 30f64.to_radians();
    let forward = |x: f64, z: f64| x * heading.sin() + z * heading.cos();
    near("speed_m_per_s", mean(&|i| forward(vx[i], vz[i])));
    near(
        "side_speed_m_per_s",
        mean(&|i| vx[i] * heading.cos() - vz[i] * heading.sin()),
    );
    near(
        "com_speed_mean_m_per_s",
        mean(&|i| (vx[i].powi(2) + vy[i].powi(2) + vz[i].powi(2)).sqrt()),
    );
    near("com_height_mean_m", mean(&|i| y[i]));
    near("com_height_max_m", max(&|i| y[i]));
    near("com_height_min_m", -max(&|i| -y[i]));
    near("com_rise_end_m", y[n] - y[0]);
    near("com_rise_min_m", -max(&|i| y[0] - y[i]));
    near("com_advance_end_m", forward(x[n] - x[0], z[n] - z[0]));
    near("com_drift_max_m", max(&|i| (x[i] - x[0]).hypot(z[i] - z[0])));
    near("ground_force_max_bw", {
        let force = column("ground_force_y_n");
        let weight = prepared.actors[0].character.mass() * 9.81;
        max(&|i| force[i] / weight)
    });
    let torques: Vec<Vec<f64>> = (metrics.header.iter())
        .filter(|h| h.starts_with("torque_"))
        .map(|h| column(h))
        .collect();
    near(
        "torque_rms_nm",
        mean(&|i| torques.iter().map(|t| t[i].powi(2)).sum()).sqrt(),
    );
    let rate = |i: usize| torques.iter().map(|t| ((t[i] - t[i - 1]) * 120.0).powi(2)).sum::<f64>();
    near(
        "torque_rate_rms_nm_per_s",
        ((2..=n).map(rate).sum::<f64>() / n as f64).sqrt(),
    );
    near("work_j", value("power_mean_w") * 3.0);
    let way = (x[n] - x[1]).hypot(z[n] - z[1]);
    let weight = prepared.actors[0].character.mass() * 9.81;
    near("cost_of_transport", value("work_j") / (weight * way));
    // and those of the summary are the summary's
    let summary = &outcome.summary;
    assert_eq!(value("tracking_error_mean_deg"), summary.tracking_error_mean_deg);
    assert_eq!(value("foot_slip_m"), summary.foot_slip_m);
    let fell = summary.fell_at_s.unwrap();
    near("upright_share", fell / 3.0);
    assert_eq!(value("fell"), 1.0);
    // the first push was followed by the fall, the second came after it
    assert_eq!(value("survived_pushes"), 0.0);
    assert!(value("lean_max_deg") > 60.0);
    // a ball thrown in the air lands
    let g = 9.81;
    assert!(
        (value("prop_rise_max_m") - 4.0 / (2.0 * g)).abs() < 1e-3,
        "{}",
        value("prop_rise_max_m")
    );
    assert!(value("prop_speed_max_m_per_s") >= (14.0 + 2.0 * g * 0.6f64).sqrt() * 0.99);
    for term in &summary.score.as_ref().unwrap().terms {
        assert!(term.value.is_finite(), "{}", term.name);
    }
}

#[test]
fn a_free_fall_is_measured_as_it_is_known() {
    // dropped from 1 m: air time and height are those of the parabola, nothing turns, nothing carries
    let text =
        "format = 1\nduration_s = 0.4\nrate_hz = 1000\n[character]\nfile = \"humanoid.toml\"\nposition = [0, 1, 0]\n\
                stand_on_ground = false\n[[terrain]]\nkind = \"ground\"\n"
            .to_string()
            + "[[objective]]\nmeasure = \"airborne_s\"\n[[objective]]\nmeasure = \"com_rise_end_m\"\n\
           [[objective]]\nmeasure = \"turn_end_deg\"\n[[objective]]\nmeasure = \"ground_force_max_bw\"\n";
    let (_, outcome) = run_text(&text, &RunOptions::default());
    let score = outcome.summary.score.unwrap();
    let value = |name: &str| score.terms.iter().find(|t| t.name == name).unwrap().value;
    assert!((value("airborne_s") - 0.4).abs() < 1e-9);
    assert!((value("com_rise_end_m") + 0.5 * 9.81 * 0.16).abs() < 1e-9);
    assert!(value("turn_end_deg").abs() < 1e-12);
    assert_eq!(value("ground_force_max_bw"), 0.0);
}

#[test]
fn terms_weigh_shape_and_condition_their_measures() {
    // cost = weight · shape(deviation / per), each form against its formula, on a run that falls and one that does not
    let terms = "[[objective]]\nmeasure = \"com_height_mean_m\"\nweight = 3\nper = 0.5\n\
                 [[objective]]\nmeasure = \"com_height_mean_m\"\nweight = 3\ngoal = \"maximize\"\n\
                 [[objective]]\nmeasure = \"com_height_mean_m\"\ntarget = 2\nshape = \"squared\"\nper = 0.1\n\
                 [[objective]]\nmeasure = \"com_height_mean_m\"\nat_least = 0.1\n\
                 [[objective]]\nmeasure = \"com_height_mean_m\"\nat_most = 0.1\nwhen = \"upright\"\n\
                 [[objective]]\nmeasure = \"com_height_mean_m\"\nat_most = 0.1\nwhen = \"fallen\"\n";
    for (force, fell) in [(40.0, false), (300.0, true)] {
        let (_, outcome) = run_text(&(pushed(force, "") + terms), &RunOptions::default());
        assert_eq!(outcome.summary.fell_at_s.is_some(), fell);
        let score = outcome.summary.score.unwrap();
        let h = score.terms[0].value;
        let costs: Vec<f64> = score.terms.iter().map(|t| t.cost).collect();
        let expected = [
            6.0 * h,
            -3.0 * h,
            ((2.0 - h) / 0.1).powi(2),
            0.0,
            if fell { 0.0 } else { h - 0.1 },
            if fell { h - 0.1 } else { 0.0 },
        ];
        for (i, (found, expected)) in costs.iter().zip(expected).enumerate() {
            assert!(
                (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
                "{i}: {found} for {expected}"
            );
        }
        assert!((score.cost - costs.iter().sum::<f64>()).abs() < 1e-9);
        // names of columns are different
        assert_eq!(score.terms[0].name, "com_height_mean_m");
        assert_eq!(score.terms[5].name, "com_height_mean_m_6");
    }
}

#[test]
fn a_window_measures_the_steps_inside_of_it() {
    // means over adjoining windows make up the mean over both, and a window that was not reached measures 0
    let term =
        |from: f64, to: f64| format!("[[objective]]\nmeasure = \"speed_m_per_s\"\nfrom_s = {from}\nto_s = {to}\n");
    let text =
        pushed(300.0, "fall = { stop = true }") + &term(0.5, 0.7) + &term(0.7, 1.0) + &term(0.5, 1.0) + &term(2.5, 3.0);
    let (_, outcome) = run_text(&text, &RunOptions::default());
    assert_eq!(outcome.summary.stopped_by, Some(StoppedBy::Fall));
    let score = outcome.summary.score.unwrap();
    let v: Vec<f64> = score.terms.iter().map(|t| t.value).collect();
    assert!((0.2 * v[0] + 0.3 * v[1] - 0.5 * v[2]).abs() < 1e-12, "{v:?}");
    assert!(v[0] > 0.1 && v[3] == 0.0, "{v:?}");
    assert_eq!(score.terms[1].name, "speed_m_per_s_from_0.7_to_1");
}

#[test]
fn a_hopeless_run_is_given_up_early_and_never_a_good_one() {
    // the bound of a run that was given up is above the limit and not above the true cost; with a limit at or above the
    // true cost nothing is given up and nothing else changes
    let terms = "[[objective]]\nmeasure = \"upright_share\"\nweight = 20\ntarget = 1\n\
                 [[objective]]\nmeasure = \"ground_force_max_bw\"\nweight = 0.5\n\
                 [[objective]]\nmeasure = \"com_drift_end_m\"\n";
    let text = pushed(300.0, "") + terms;
    let (_, whole) = run_text(&text, &RunOptions::default());
    let true_cost = whole.summary.score.as_ref().unwrap().cost;
    for limit in [0.4, 2.0, 0.5 * true_cost, true_cost, 2.0 * true_cost] {
        let options = RunOptions {
            give_up_above: Some(limit),
            ..RunOptions::default()
        };
        let (_, outcome) = run_text(&text, &options);
        let cost = outcome.summary.score.as_ref().unwrap().cost;
        if limit >= true_cost {
            assert_eq!(outcome.summary.state_hash, whole.summary.state_hash);
            assert_eq!(cost, true_cost);
        } else {
            assert_eq!(outcome.summary.stopped_by, Some(StoppedBy::Hopeless), "{limit}");
            assert!(cost > limit && cost <= true_cost, "{limit}: {cost}, truly {true_cost}");
            assert!(outcome.summary.duration_s < 2.9);
        }
    }
}

#[test]
fn scenarios_differ_as_they_say_and_combine_by_weight_or_worst() {
    // the weighted mean of runs that are also run by themselves; seeds share a scenario's weight
    let scenarios = "[[objective]]\nmeasure = \"com_drift_max_m\"\n\
                     [[scenarios]]\nname = \"weak\"\n\
                     [[scenarios]]\nname = \"strong\"\nweight = 3\nset = { \"disturbances.0.force_n\" = 90 }\n\
                     [[scenarios]]\nname = \"seeded\"\nseeds = [4, 5]\n";
    let loaded = load(&(pushed(40.0, "") + scenarios)).unwrap();
    let all = loaded.scenarios(&[]).unwrap();
    let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["weak", "strong", "seeded seed 4", "seeded seed 5"]);
    assert_eq!(all.iter().map(|s| s.weight).collect::<Vec<_>>(), [1.0, 3.0, 0.5, 0.5]);
    assert_eq!(all[3].loaded.spec.seed, 5);
    let cost = |force: f64| {
        let text = pushed(force, "") + "[[objective]]\nmeasure = \"com_drift_max_m\"\n";
        run_text(&text, &RunOptions::default()).1.summary.score.unwrap().cost
    };
    for (scenario, force) in all.iter().zip([40.0, 90.0, 40.0, 40.0]) {
        let prepared = Prepared::new(&scenario.loaded).unwrap();
        let found = run(&prepared, &RunOptions::default(), &mut ())
            .summary
            .score
            .unwrap()
            .cost;
        assert_eq!(found, cost(force), "{}", scenario.name);
    }
    assert_eq!(loaded.scenarios(&[7, 8, 9]).unwrap().len(), 9);
}

#[test]
fn mistakes_in_objectives_and_scenarios_name_their_place() {
    // whatever is wrong, the message says where and what was expected
    for (more, parts) in [
        (
            "[[objective]]\nmeasure = \"upright\"\n",
            &["objective[0].measure", "upright"][..],
        ),
        (
            "[[objective]]\nmeasure = \"uprigt_share\"\n",
            &["did you mean `upright_share`"],
        ),
        (
            "[[objective]]\nmeasure = \"fell\"\nweight = -1\n",
            &["objective[0].weight", "-1"],
        ),
        ("[[objective]]\nmeasure = \"fell\"\nweight = nan\n", &["weight", "NaN"]),
        ("[[objective]]\nmeasure = \"fell\"\nper = 0\n", &["objective[0].per"]),
        (
            "[[objective]]\nmeasure = \"fell\"\ntarget = 1\nat_least = 2\n",
            &["at_least", "`target`"],
        ),
        (
            "[[objective]]\nmeasure = \"fell\"\nfrom_s = 1\n",
            &["from_s", "whole runs"],
        ),
        (
            "[[objective]]\nmeasure = \"work_j\"\nfrom_s = 9\n",
            &["from_s", "ends at 3 s"],
        ),
        (
            "[[objective]]\nmeasure = \"work_j\"\nfrom_s = 1\nto_s = 1\n",
            &["to_s", "more than 1"],
        ),
        (
            "[[objective]]\nmeasure = \"work_j\"\nprop = \"ball\"\n",
            &["prop", "about a character"],
        ),
        (
            "[[objective]]\nmeasure = \"prop_rise_max_m\"\nprop = \"bal\"\n",
            &["objective[0].prop", "did you mean \"ball\""],
        ),
        (
            "[[objective]]\nmeasure = \"fell\"\ncharacter = \"bob\"\n",
            &["objective[0].character", "\"bob\""],
        ),
        (
            "[[objective]]\nmeasure = \"fell\"\ngoal = \"best\"\n",
            &["best", "maximize"],
        ),
        (
            "[[objective]]\nmeasure = \"work_j\"\ngoal = \"maximize\"\nshape = \"squared\"\n",
            &["shape", "no largest"],
        ),
        (
            "[[scenarios]]\nname = \"a\"\n[[scenarios]]\nname = \"a\"\n",
            &["scenarios[1].name", "\"a\""],
        ),
        ("[[scenarios]]\nname = \"\"\n", &["scenarios[0].name", "empty"]),
        ("[[scenarios]]\nname = \"a\"\nweight = 0\n", &["scenarios[0].weight"]),
        (
            "[[scenarios]]\nname = \"a\"\nset = { rat_hz = 5 }\n",
            &["scenarios[0].set", "did you mean `rate_hz`"],
        ),
        (
            "[[scenarios]]\nname = \"a\"\nset = { rate_hz = -5 }\n",
            &["scenarios[0].set", "`rate_hz`", "-5"],
        ),
        (
            "[[scenarios]]\nname = \"a\"\nset = { \"disturbances.7.force_n\" = 5 }\n",
            &["scenarios[0].set", "the array has 2"],
        ),
        (
            "[[scenarios]]\nname = \"a\"\nset = { objective = [] }\n",
            &["scenarios[0].set", "the same for all"],
        ),
    ] {
        let error =
            load(&(pushed(1.0, "") + more)).and_then(|l| Prepared::new(&l).map(|_| ()).map_err(|e| e.to_string()));
        let error = error.expect_err(more);
        for part in parts {
            assert!(error.contains(part), "{more}: {error}");
        }
    }
}

#[test]
fn a_changed_character_is_that_of_a_changed_file() {
    // `set` on the character gives the run of a file in which the same was written
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("data/characters/humanoid.toml")).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let bodies = table["body"].as_array_mut().unwrap();
    let thigh = bodies
        .iter_mut()
        .find(|b| b["name"].as_str() == Some("left_thigh"))
        .unwrap();
    thigh
        .as_table_mut()
        .unwrap()
        .insert("mass".into(), toml::Value::Float(11.5));
    let file = folder.path().join("heavy.toml");
    std::fs::write(&file, toml::to_string(&table).unwrap()).unwrap();
    let experiment = |character: &str| {
        format!("format = 1\nduration_s = 1\n[character]\n{character}\n[[terrain]]\nkind = \"ground\"\n")
    };
    let (_, a) = run_text(&experiment(&format!("file = {file:?}")), &RunOptions::default());
    let (_, b) = run_text(
        &experiment("file = \"humanoid.toml\"\nset.body.left_thigh.mass = 11.5"),
        &RunOptions::default(),
    );
    assert_eq!(a.summary.state_hash, b.summary.state_hash);
    assert!(b.summary.characters[0].mass_kg > 70.5);
}

// ---- experiments as functions ----

fn parameter(path: &str, bounds: [f64; 2]) -> ParameterSpec {
    ParameterSpec {
        path: Paths(vec![path.to_string()]),
        name: None,
        initial: None,
        bounds: Some(bounds),
        scale: None,
        log: false,
        integer: false,
        levels: None,
        values: None,
    }
}

/// A folder with an experiment and its character, and what of it may change.
fn folder_with(text: &str) -> (tempfile::TempDir, ProblemSpec) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(
        root().join("data/characters/humanoid.toml"),
        folder.path().join("humanoid.toml"),
    )
    .unwrap();
    std::fs::write(folder.path().join("base.toml"), text).unwrap();
    let spec = ProblemSpec {
        experiment: "base.toml".into(),
        set: toml::Table::new(),
        parameters: vec![
            parameter("controller.kp_scale", [0.01, 1e15]),
            parameter("controller.gains.left_shin.kp", [1.0, 5000.0]),
            parameter("character.set.body.left_foot.mass", [0.1, 5.0]),
            parameter("disturbances.0.force_n", [0.0, 500.0]),
        ],
        objective: Vec::new(),
        scenarios: Vec::new(),
        combine: None,
    };
    (folder, spec)
}

const COST: &str = "[[objective]]\nmeasure = \"upright_share\"\nweight = 20\ntarget = 1\n\
                    [[objective]]\nmeasure = \"torque_rms_nm\"\nper = 100\n\
                    [[scenarios]]\nname = \"as it is\"\n\
                    [[scenarios]]\nname = \"turned\"\nset = { \"character.heading_deg\" = 80 }\n";

fn base() -> String {
    pushed(40.0, "fall = { stop = true }")
        .replace("heading_deg = 30", "heading_deg = 30\nset.body.left_foot.mass = 1.0")
        + "[controller]\nkind = \"hold\"\n"
        + COST
}

/// The mean cost of experiments that are run one by one.
fn cost_of_runs(scenarios: &[Scenario]) -> f64 {
    let cost = |s: &Scenario| {
        let prepared = Prepared::new(&s.loaded).unwrap();
        let outcome = run(&prepared, &RunOptions::default(), &mut ());
        (s.weight, outcome.summary.score.unwrap().cost)
    };
    let costs: Vec<(f64, f64)> = scenarios.iter().map(cost).collect();
    combine(&costs, CombineSpec::Mean)
}

#[test]
fn an_evaluation_is_the_score_of_the_experiment_that_it_writes() {
    // write the experiment of some values into another folder, run its scenarios: the same cost to the bit
    let (folder, spec) = folder_with(&base());
    let problem = Problem::new(&spec, folder.path(), "study.toml").unwrap();
    assert_eq!(problem.measures(), ["upright_share", "torque_rms_nm"]);
    // what the experiment does not write is what is in effect
    assert_eq!(problem.ranges()[0].initial, 1.0);
    assert_eq!(problem.ranges()[1].initial, 1500.0);
    assert_eq!(problem.ranges()[3].initial, 40.0);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join("inputs")).unwrap();
    for input in problem.inputs() {
        std::fs::copy(&input.original, elsewhere.path().join("inputs").join(&input.name)).unwrap();
    }
    for (values, seeds) in [
        ([1.0 / 3.0, 1234.567, 1.1, 60.0 / 7.0], &[][..]),
        ([1.7, 1000.0 / 3.0, 0.9, 190.0], &[]),
        ([1.7, 1000.0 / 3.0, 0.9, 30.0], &[3, 9]),
    ] {
        let request = Request {
            seeds,
            ..Request::default()
        };
        let evaluation = problem.evaluate(&values, &request).unwrap();
        assert!(!evaluation.outcome.is_failure());
        let text = problem
            .experiment_text(&values, seeds, "first line\nsecond line")
            .unwrap();
        assert!(text.starts_with("# first line\n# second line\n"));
        let file = elsewhere.path().join("best.toml");
        std::fs::write(&file, text).unwrap();
        let scenarios = LoadedSpec::read(&file, &[]).unwrap().scenarios(&[]).unwrap();
        assert_eq!(scenarios.len(), 2 * seeds.len().max(1));
        assert_eq!(cost_of_runs(&scenarios), evaluation.cost);
    }
}

#[test]
fn parameters_given_to_controllers_are_those_of_the_file() {
    // where only controllers change nothing is read again, and the cost is that of the written experiment to the bit, also where a
    // scenario overrides a parameter and where seeds differ
    let override_it = COST.replace("\"character.heading_deg\" = 80", "\"controller.kp_scale\" = 0.9");
    for text in [base(), base().replace(COST, &override_it)] {
        let (folder, mut spec) = folder_with(&text);
        spec.parameters.truncate(2);
        let problem = Problem::new(&spec, folder.path(), "study.toml").unwrap();
        for (values, seeds) in [
            ([0.7, 900.0], &[][..]),
            ([1.3, 2000.0 / 3.0], &[4, 6]),
            ([0.7, 900.0], &[6]),
        ] {
            let request = Request {
                seeds,
                ..Request::default()
            };
            let evaluation = problem.evaluate(&values, &request).unwrap();
            let written = problem.experiment(&values).unwrap();
            assert_eq!(cost_of_runs(&written.scenarios(seeds).unwrap()), evaluation.cost);
        }
        // what a controller refuses is told as a file's mistake is
        let refused = problem.evaluate(&[-1.0, 900.0], &Request::default()).unwrap();
        assert_eq!(refused.outcome, Outcome::Invalid);
        assert!(refused.reason.unwrap().contains("kp_scale"));
    }
}

#[test]
fn evaluations_are_pure_in_any_order_and_on_any_thread() {
    // equal values give equal results to the bit, failures included
    let (folder, spec) = folder_with(&base());
    let problem = Problem::new(&spec, folder.path(), "study.toml").unwrap();
    let values: Vec<[f64; 4]> = (0..12)
        .map(|i| {
            let u = |k: u64| ambler::math::random::uniform(5, i, k);
            [0.05 + 2.0 * u(0), 100.0 + 3000.0 * u(1), 0.5 + u(2), 300.0 * u(3)]
        })
        .collect();
    let request = Request {
        seeds: &[11],
        ..Request::default()
    };
    let evaluate = |v: &[f64; 4]| problem.evaluate(v, &request).unwrap();
    let forwards: Vec<Evaluation> = values.iter().map(evaluate).collect();
    let backwards: Vec<Evaluation> = values.iter().rev().map(evaluate).collect();
    let parallel: Vec<Evaluation> = values.par_iter().map(evaluate).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    assert_eq!(forwards, parallel);
    let outcomes: Vec<Outcome> = forwards.iter().map(|e| e.outcome).collect();
    assert!(
        outcomes.contains(&Outcome::Fell) && outcomes.contains(&Outcome::Completed),
        "{outcomes:?}"
    );
}

#[test]
fn a_hopeless_evaluation_has_a_bound_above_the_limit_and_below_the_truth() {
    // for limits around the true cost: given up only below it, and cheaper in simulated time
    let (folder, spec) = folder_with(&base());
    let problem = Problem::new(&spec, folder.path(), "study.toml").unwrap();
    for force in [60.0, 180.0, 400.0] {
        let values = [0.6, 1500.0, 1.0, force];
        let truth = problem.evaluate(&values, &Request::default()).unwrap();
        for limit in [0.1, 0.5 * truth.cost, 0.999 * truth.cost, truth.cost, 3.0 * truth.cost] {
            let request = Request {
                hopeless_above: Some(limit),
                ..Request::default()
            };
            let found = problem.evaluate(&values, &request).unwrap();
            if limit >= truth.cost {
                assert_eq!(found, truth, "{force} {limit}");
            } else if found.outcome == Outcome::Hopeless {
                assert!(
                    found.cost > limit && found.cost <= truth.cost,
                    "{force} {limit} {found:?} {truth:?}"
                );
                assert!(found.simulated_s < truth.simulated_s + 1e-9);
            } else {
                // nothing was certain before the end
                assert_eq!(found, truth);
            }
        }
    }
    // a fall in the first scenario leaves no hope for a limit near nothing
    let request = Request {
        hopeless_above: Some(0.5),
        ..Request::default()
    };
    let found = problem.evaluate(&[0.6, 1500.0, 1.0, 400.0], &request).unwrap();
    assert_eq!(found.outcome, Outcome::Hopeless);
    assert!(found.simulated_s < 3.0);
}

#[test]
fn what_cannot_be_simulated_is_an_outcome_with_a_reason_and_a_cost_above_all_others() {
    // unstable explicit gains diverge, absurd values are invalid, later failures cost less; nothing panics
    let text = base()
        .replace("kind = \"hold\"", "kind = \"hold\"\nmode = \"explicit\"")
        .replace("stop = true", "stop = false");
    let (folder, mut spec) = folder_with(&text);
    spec.parameters.push(parameter("rate_hz", [1.0, 1e6]));
    let problem = Problem::new(&spec, folder.path(), "study.toml");
    // explicit gains may be too large for 120 Hz: evaluations find that out, not the posing of the problem
    let problem = problem.unwrap_or_else(|e| panic!("{e}"));
    let evaluate = |v: &[f64]| problem.evaluate(v, &Request::default()).unwrap();
    let diverged = evaluate(&[1e6, 1500.0, 1.0, 40.0, 120.0]);
    assert_eq!(diverged.outcome, Outcome::Diverged, "{diverged:?}");
    let reason = diverged.reason.clone().unwrap();
    assert!(!reason.contains(|c: char| c.is_ascii_digit()), "{reason}");
    assert!((0.5 * FAILED..=FAILED).contains(&diverged.cost));
    for values in [
        [1.0, 1500.0, 1.0, 40.0, 5.0],
        [1.0, 1500.0, -1.0, 40.0, 120.0],
        [f64::NAN, 1500.0, 1.0, 40.0, 120.0],
        [1.0, f64::INFINITY, 1.0, 40.0, 120.0],
        [-1.0, 1500.0, 1.0, 1e300, 120.0],
    ] {
        let found = evaluate(&values);
        assert_eq!(
            (found.outcome, found.cost),
            (Outcome::Invalid, FAILED),
            "{values:?} {found:?}"
        );
        assert!(!found.reason.unwrap().is_empty());
    }
    assert_eq!(evaluate(&[1.0, 2.0]).outcome, Outcome::Invalid);
    // and a stop gives no result at all
    let stop = std::sync::atomic::AtomicBool::new(true);
    let request = Request {
        stop: Some(&stop),
        ..Request::default()
    };
    assert_eq!(problem.evaluate(&[0.001, 1.0, 1.0, 40.0, 120.0], &request), None);
}

#[test]
fn a_problem_that_cannot_be_posed_says_why() {
    // every mistake names the key and what was expected
    let (folder, good) = folder_with(&base());
    let message = |change: &dyn Fn(&mut ProblemSpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        match Problem::new(&spec, folder.path(), "study.toml") {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    let with = |path: &str| message(&|s: &mut ProblemSpec| s.parameters[1].path = Paths(vec![path.into()]));
    for (found, parts) in [
        (
            with("controller.kp_scal"),
            &["parameters[1]", "kp_scal", "did you mean `kp_scale`"][..],
        ),
        (
            with("controller.gains.left_shn.kp"),
            &["parameters[1]", "did you mean `controller.gains.left_shin.kp`"],
        ),
        (
            with("disturbances.9.force_n"),
            &["parameters[1].path", "the array has 2"],
        ),
        (with("controller.kp_scale"), &["parameters[1].name", "two parameters"]),
        (with("character.file"), &["parameters[1]"]),
        (message(&|s| s.parameters.clear()), &["parameters", "missing"]),
        (
            message(&|s| s.parameters[0].bounds = Some([2.0, 1.0])),
            &["parameters[0].bounds"],
        ),
        (
            message(&|s| s.parameters[0].bounds = Some([f64::NAN, 1.0])),
            &["parameters[0].bounds"],
        ),
        (
            message(&|s| s.parameters[0].bounds = Some([2.0, 3.0])),
            &["parameters[0].initial", "1.0"],
        ),
        (
            message(&|s| s.parameters[0].initial = Some(1e99)),
            &["parameters[0].initial", "1e99"],
        ),
        (
            message(&|s| s.parameters[0].scale = Some(0.0)),
            &["parameters[0].scale"],
        ),
        (
            message(&|s| s.parameters[0].bounds = None),
            &["parameters[0].scale", "missing"],
        ),
        (
            message(&|s| {
                s.parameters[3].log = true;
                s.parameters[3].initial = Some(1.0);
            }),
            &["parameters[3].log", "above 0"],
        ),
        (message(&|s| s.experiment = "bas.toml".into()), &["bas.toml"]),
        (
            message(&|s| {
                s.set.insert("rat_hz".into(), toml::Value::Integer(3));
            }),
            &["set", "rate_hz"],
        ),
    ] {
        for part in parts {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
    // without an objective anywhere
    std::fs::write(folder.path().join("base.toml"), base().replace(COST, "")).unwrap();
    assert!(message(&|_| ()).contains("`objective`: is missing"));
}

#[test]
fn the_reference_lists_every_measure() {
    // name and meaning of each, as the program has them
    let text = std::fs::read_to_string(root().join("docs/experiment_format.md")).unwrap();
    for measure in &MEASURES {
        let row = format!("| `{}` | {} |", measure.name, measure.meaning.replace('|', "\\|"));
        assert!(text.contains(&row), "{row}");
    }
}
