//! The block on the rod: quadratic programme, penalty and CMA-ES find the same optimum, each as exactly as its method allows.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use ambler::math::random;
use ambler::optimize::cma::{SearchSettings, Settings, StopSettings};
use ambler::optimize::spacetime::{
    Descent, DescentSettings, PenaltySolution, Rod, SpacetimeError, Spline, Unknowns, penalty, penalty_gradient,
    search_collocation, solve_collocation, solve_penalty, solve_quadratic,
};
use proptest::prelude::*;

/// A short rod of general values.
fn short() -> Rod {
    Rod {
        mass: 1.7,
        kp: 130.0,
        kd: 11.0,
        step: 0.03,
        steps: 50,
        amplitude: 0.4,
        period: 1.3,
        ..Rod::default()
    }
}

fn naive_start(rod: &Rod) -> Unknowns {
    let targets = rod.naive_targets();
    Unknowns::new(rod, &targets, &rod.simulate(&targets).unwrap())
}

fn search_settings(seed: u64) -> SearchSettings {
    SearchSettings {
        cma: Settings {
            seed,
            stops: StopSettings {
                tol_fun: 1e-13,
                tol_fun_history: 1e-14,
                ..StopSettings::default()
            },
            ..Settings::default()
        },
        sigma: 0.1,
        ..SearchSettings::default()
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |l, v| l.max(v.abs()))
}

fn rods() -> impl Strategy<Value = Rod> {
    (
        0.2..5.0f64,
        1.0..30.0f64,
        0.05..1.5f64,
        1..60usize,
        1e-5..1.0f64,
        0.5..3.0f64,
    )
        .prop_map(|(mass, frequency, damping, steps, regularisation, period)| Rod {
            mass,
            kp: mass * frequency * frequency,
            kd: 2.0 * mass * damping * frequency,
            // natural frequencies up to 30 rad/s with 1.5 of critical damping: 2 a + b = 2 · 0.9 + 0.09 < 4
            step: 0.01,
            steps,
            regularisation,
            period,
            ..Rod::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_quadratic_programme_is_solved_and_its_targets_lead_to_its_states(rod in rods()) {
        // conditions of optimality to 1e-10, and an independent simulation repeats heights and velocities; a stable block forgets
        // rounding
        let solution = solve_quadratic(&rod).unwrap();
        let [gradient, gaps] = solution.residuals(&rod);
        prop_assert!(gradient < 1e-10 && gaps < 1e-10, "{gradient} {gaps}");
        let own = solution.unknowns.motion(&rod);
        let simulated = rod.simulate(&solution.unknowns.targets()).unwrap();
        for t in 0..=rod.steps {
            prop_assert!((own.heights[t] - simulated.heights[t]).abs() < 1e-9);
            prop_assert!((own.velocities[t] - simulated.velocities[t]).abs() < 1e-7);
        }
        // and no other targets do better
        for k in 0..20u64 {
            let size = 10f64.powi(-(k as i32 % 5));
            let other: Vec<f64> = (solution.unknowns.targets().iter().enumerate())
                .map(|(t, u)| u + size * random::normal(9, k, t as u64))
                .collect();
            let cost = rod.cost(&other, &rod.simulate(&other).unwrap().heights);
            prop_assert!(cost > solution.cost, "{cost} {}", solution.cost);
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_penalty(rod in rods(), seed in any::<u64>(), weight in 0.1..1e4f64) {
        // central differences of a quadratic function are exact but for rounding, about ε P / h and what the entries lose
        let start = Unknowns((0..3 * rod.steps as u64).map(|i| random::normal(seed, 4, i)).collect());
        let gradient = penalty_gradient(&rod, &start, weight);
        let h = 1e-3;
        let rounding = 1e-14 * penalty(&rod, &start, weight) / h;
        for i in (0..gradient.len()).step_by(1 + gradient.len() / 20) {
            let at = |delta: f64| {
                let mut z = start.clone();
                z.0[i] += delta;
                penalty(&rod, &z, weight)
            };
            let difference = (at(h) - at(-h)) / (2.0 * h);
            prop_assert!((difference - gradient[i]).abs() < 20.0 * rounding + 1e-9 * gradient[i].abs(), "{i}: {difference} {}", gradient[i]);
        }
    }
}

#[test]
fn multipliers_are_what_constraints_cost() {
    // gravity is in the right side of every first row as −h² g: the optimal cost grows by h² Σ λ per m/s²; J* is quadratic in g, so
    // central differences are exact but for rounding
    let rod = short();
    let cost = |gravity: f64| solve_quadratic(&Rod { gravity, ..rod.clone() }).unwrap().cost;
    let difference = (cost(rod.gravity + 0.5) - cost(rod.gravity - 0.5)) / 1.0;
    let solution = solve_quadratic(&rod).unwrap();
    let sum: f64 = solution.multipliers.iter().step_by(2).sum();
    let expected = rod.step * rod.step * sum;
    assert!((difference / expected - 1.0).abs() < 1e-9, "{difference} {expected}");
}

#[test]
fn the_penalty_tends_to_the_quadratic_programme_as_its_weight_grows() {
    // P ≤ J*, growing, with J* − P → |λ|² / 4 w, and 2 w (A z − c) → λ; both errors fall as 1 / w
    let rod = short();
    let exact = solve_quadratic(&rod).unwrap();
    let squared: f64 = exact.multipliers.iter().map(|l| l * l).sum();
    let mut start = naive_start(&rod);
    let mut before: Option<(PenaltySolution, f64)> = None;
    for weight in [1e-1, 1e0, 1e1, 1e2, 1e3] {
        let solution = solve_penalty(&rod, weight, &start, &DescentSettings::default()).unwrap();
        assert!(solution.arrived, "{weight}: {}", solution.gradient);
        assert!(solution.penalised_cost < exact.cost);
        let gap = (exact.cost - solution.penalised_cost) / (squared / (4.0 * weight)) - 1.0;
        let forces: Vec<f64> = (solution.gaps.iter().zip(&exact.multipliers))
            .map(|(g, l)| 2.0 * weight * g - l)
            .collect();
        let error = largest(&forces) / largest(&exact.multipliers);
        let distance = largest(
            &(solution.unknowns.0.iter().zip(&exact.unknowns.0))
                .map(|(a, b)| a - b)
                .collect::<Vec<_>>(),
        );
        println!(
            "w {weight:e}: J {:.9} of {:.9}, gap over its estimate {gap:+.5}, multipliers {error:.2e}, unknowns {distance:.2e} m, {} iterations",
            solution.cost, exact.cost, solution.iterations
        );
        if let Some((smaller, last)) = &before {
            assert!(solution.penalised_cost > smaller.penalised_cost && solution.cost > smaller.cost);
            assert!(largest(&solution.gaps) < largest(&smaller.gaps));
            assert!(*last / error > 4.0, "errors of multipliers {last} {error}");
        }
        if weight == 1e3 {
            assert!(
                gap.abs() < 1e-4 && error < 1e-4 && distance < 1e-4,
                "{gap} {error} {distance}"
            );
            // shown to the real block, its targets are as good as the best ones
            let motion = rod.simulate(&solution.unknowns.targets()).unwrap();
            let cost = rod.cost(&solution.unknowns.targets(), &motion.heights);
            assert!(
                cost >= exact.cost * (1.0 - 1e-12) && cost < exact.cost * (1.0 + 1e-6),
                "{cost} {}",
                exact.cost
            );
        }
        start = solution.unknowns.clone();
        before = Some((solution, error));
    }
}

#[test]
fn steepest_and_conjugate_descent_find_the_same_and_the_steepest_takes_longer() {
    // one convex function has one optimum, from wherever one starts
    let rod = Rod {
        steps: 20,
        regularisation: 0.1,
        ..short()
    };
    let solve = |descent: Descent, start: &Unknowns| {
        let settings = DescentSettings {
            descent,
            tolerance: 1e-9,
            max_iterations: 500_000,
        };
        let solution = solve_penalty(&rod, 1.0, start, &settings).unwrap();
        assert!(solution.arrived, "{descent:?}: {}", solution.gradient);
        solution
    };
    let conjugate = solve(Descent::Conjugate, &naive_start(&rod));
    let steepest = solve(Descent::Steepest, &naive_start(&rod));
    let elsewhere = solve(
        Descent::Conjugate,
        &Unknowns((0..60).map(|i| random::normal(1, 6, i)).collect()),
    );
    // a gradient of 1e-9 is that far from the optimum in z, divided by the least curvature, 2 h ρ = 6e-3
    for other in [&steepest, &elsewhere] {
        for (a, b) in conjugate.unknowns.0.iter().zip(&other.unknowns.0) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
    println!("{} conjugate, {} steepest", conjugate.iterations, steepest.iterations);
    assert!(steepest.iterations > 5 * conjugate.iterations);
}

#[test]
fn the_three_ways_agree_on_the_default_rod() {
    // CMA-ES reaches the best spline of its kind (a closed form) to a relative 1e-6; the best spline is within 2 % of the best of all
    // targets; more coefficients come closer; all are far better than the naive targets
    let rod = Rod::default();
    let exact = solve_quadratic(&rod).unwrap();
    let targets = rod.naive_targets();
    let naive = rod.cost(&targets, &rod.simulate(&targets).unwrap().heights);
    assert!(naive > 20.0 * exact.cost, "{naive} {}", exact.cost);

    let spline = Spline::new(16).unwrap();
    let best = solve_collocation(&rod, spline).unwrap();
    println!(
        "naive {naive:.6}, quadratic programme {:.6}, best spline {:.6}",
        exact.cost, best.cost
    );
    assert!(best.cost > exact.cost && best.cost < 1.02 * exact.cost);
    let finer = solve_collocation(&rod, Spline::new(40).unwrap()).unwrap();
    assert!(finer.cost > exact.cost && finer.cost < best.cost);

    for seed in 1..=3 {
        let found = search_collocation(&rod, spline, &search_settings(seed), 50_000).unwrap();
        println!(
            "CMA-ES: {:.9} after {} evaluations, {:?}",
            found.solution.cost, found.evaluations, found.stop
        );
        let excess = found.solution.cost / best.cost - 1.0;
        assert!((-1e-12..1e-6).contains(&excess), "{excess}");
        // at the optimum a quadratic cost grows by at least its regularisation, ρ h |δu|²
        let limit = (1e-6 * best.cost / (rod.regularisation * rod.step)).sqrt();
        for (a, b) in found.solution.targets.iter().zip(&best.targets) {
            assert!((a - b).abs() < limit, "{a} {b} {limit}");
        }
    }
}

#[test]
fn a_spline_with_a_coefficient_per_step_is_as_good_as_no_spline() {
    // as many coefficients as steps can be any list of targets (Schoenberg and Whitney: every sample lies within the support of
    // its own B-spline), so the two closed forms, which share no code but the cost, agree to rounding; more are not unique
    let rod = Rod { steps: 30, ..short() };
    let exact = solve_quadratic(&rod).unwrap();
    let spline = solve_collocation(&rod, Spline::new(30).unwrap()).unwrap();
    assert!(
        (spline.cost / exact.cost - 1.0).abs() < 1e-9,
        "{} {}",
        spline.cost,
        exact.cost
    );
    for (a, b) in spline.targets.iter().zip(exact.unknowns.targets()) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    let error = solve_collocation(&rod, Spline::new(31).unwrap()).unwrap_err();
    assert!(
        matches!(
            error,
            SpacetimeError::Length {
                found: 31,
                expected: 30,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn what_cannot_be_solved_is_refused() {
    // wrong weights, lengths and splines are errors that name them
    let rod = short();
    let start = naive_start(&rod);
    let settings = DescentSettings::default();
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = solve_penalty(&rod, weight, &start, &settings).unwrap_err();
        assert!(error.to_string().contains("weight of the penalty"), "{error}");
    }
    let error = solve_penalty(&rod, 1.0, &Unknowns(vec![0.0; 4]), &settings).unwrap_err();
    assert!(
        matches!(
            error,
            SpacetimeError::Length {
                found: 4,
                expected: 150,
                ..
            }
        ),
        "{error}"
    );
    assert!(Spline::new(3).unwrap_err().to_string().contains("coefficients"));
    let unstable = Rod { step: 0.5, ..rod };
    assert!(matches!(
        solve_quadratic(&unstable),
        Err(SpacetimeError::Unstable { .. })
    ));
    let spline = Spline::new(6).unwrap();
    assert!(solve_collocation(&unstable, spline).is_err());
    assert!(search_collocation(&unstable, spline, &search_settings(1), 10).is_err());
    let mut bad = search_settings(1);
    bad.sigma = f64::NAN;
    let error = search_collocation(&short(), spline, &bad, 10).unwrap_err();
    assert!(matches!(error, SpacetimeError::Search(_)), "{error}");
    // descent that may not go on says so
    let short_of_breath = DescentSettings {
        max_iterations: 3,
        ..settings
    };
    let solution = solve_penalty(&short(), 1e3, &start, &short_of_breath).unwrap();
    assert!(!solution.arrived && solution.iterations == 3);
}
