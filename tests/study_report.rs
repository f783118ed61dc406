//! Reports of studies and sweeps: what is on the page, what is refused, what a browser makes of it.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

#[path = "common/browser.rs"]
mod browser;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use ambler::experiment::{LoadedSpec, Prepared, RunFolder, RunOptions, run};
use ambler::report::{Anchor, Dash, Figure, Ink, Mark, Report, ReportError};
use browser::{browser, check_page};

/// A study as CMA-ES would make it, of a bowl whose bottom is at [`Artificial::optimum`].
#[derive(Clone)]
struct Artificial {
    name: &'static str,
    parameters: usize,
    population: usize,
    /// Of each restart.
    generations: usize,
    restarts: usize,
    seed: u64,
    /// Added to all costs.
    offset: f64,
    /// Generations between validations; 0 for none.
    validation: usize,
    fails: bool,
    finished: bool,
}

impl Default for Artificial {
    fn default() -> Self {
        Artificial {
            name: "bowl",
            parameters: 7,
            population: 12,
            generations: 40,
            restarts: 1,
            seed: 1,
            offset: 0.02,
            validation: 10,
            fails: true,
            finished: true,
        }
    }
}

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

impl Artificial {
    fn parameter(i: usize) -> String {
        match i % 4 {
            0 => format!("stiffness.{i}"),
            1 => format!("controller.gains.left_shoulder_and_arm.kp_{i}"),
            2 => format!("offset_{i}"),
            _ => format!("lean_{i}_rad"),
        }
    }

    /// Bounds, and whether logarithms are searched. Every fourth has none.
    fn bounds(i: usize) -> (Option<[f64; 2]>, bool) {
        match i % 4 {
            0 => (Some([0.1, 10.0]), true),
            1 => (Some([-1.0, 2.0]), false),
            2 => (Some([0.0, 5000.0]), false),
            _ => (None, false),
        }
    }

    /// From the unit of the search, in which bounds are 0 and 1.
    fn value(i: usize, x: f64) -> f64 {
        match Artificial::bounds(i) {
            (Some([low, high]), true) => low * (high / low).powf(x.clamp(0.0, 1.0)),
            (Some([low, high]), false) => low + (high - low) * x.clamp(0.0, 1.0),
            (None, _) => 0.1 * (x - 0.5),
        }
    }

    /// The second one lies at its upper bound.
    fn optimum(i: usize) -> f64 {
        if i == 1 {
            1.0
        } else {
            0.3 + 0.4 * ((i * 7 % 10) as f64 / 10.0)
        }
    }

    fn settings(&self) -> String {
        let mut text = format!(
            "format = 1\nname = \"{}\"\nexperiment = \"stand.toml\"\n\n[optimizer]\nseed = {}\nrestarts = \"ipop\"\n\n\
             [budget]\nevaluations = 2000\n\n[[objective]]\nmeasure = \"com_height_m\"\n",
            self.name, self.seed
        );
        for i in 0..self.parameters {
            let name = Artificial::parameter(i);
            let (bounds, log) = Artificial::bounds(i);
            let _ = match i % 4 {
                0 => writeln!(text, "\n[[parameters]]\npath = \"a.*.{i}\"\nname = \"{name}\""),
                _ => writeln!(text, "\n[[parameters]]\npath = \"{name}\""),
            };
            if let Some([low, high]) = bounds {
                let _ = writeln!(text, "bounds = [{low:?}, {high:?}]\nlog = {log}");
            }
        }
        text
    }

    fn write(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let mut random = Random(self.seed);
        let n = self.parameters;
        let names: Vec<String> = (0..n).map(Artificial::parameter).collect();
        let mut log = format!(
            "evaluation,generation,restart,kind,candidate,cost,outcome,reason,simulated_s,com_height_m,effort_j,odd_m_from_1.5,{}\n",
            names.join(",")
        );
        let mut history = String::from(
            "generation,restart,evaluations,best,generation_best,generation_median,generation_worst,sigma,axis_ratio,population,failures",
        );
        for name in &names {
            let _ = write!(history, ",mean_{name},std_{name}");
        }
        history.push('\n');
        let (mut evaluation, mut generation, mut best) = (0, 0, f64::INFINITY);
        let mut best_evaluation = 0;
        for restart in 0..=self.restarts {
            let population = self.population << restart;
            let start: Vec<f64> = (0..n).map(|_| random.unit()).collect();
            for g in 0..self.generations {
                generation += 1;
                let t = g as f64 / self.generations as f64;
                let (near, sigma) = ((-5.0 * t).exp(), 0.25 * (-6.0 * t).exp());
                let mean: Vec<f64> = (0..n)
                    .map(|i| Artificial::optimum(i) + near * (start[i] - Artificial::optimum(i)))
                    .collect();
                let mut costs = Vec::new();
                let mut row = |kind: &str, candidate: usize, x: &[f64], random: &mut Random| -> Option<f64> {
                    evaluation += 1;
                    let square: f64 = (0..n)
                        .map(|i| (i + 1) as f64 * (x[i].clamp(0.0, 1.0) - Artificial::optimum(i)).powi(2))
                        .sum();
                    let cost = square + self.offset;
                    let (cost, outcome, reason) = match random.below(40) {
                        0 if self.fails => (2e12, "diverged", "the velocity of a body is \"not finite\", or nearly"),
                        1 if self.fails => (2e12, "invalid", "gains <= 0"),
                        2 if self.fails => (self.offset + 3.0 * square + 1.0, "fell", ""),
                        3 if self.fails => (cost + 1.0, "hopeless", ""),
                        _ => (cost, "completed", ""),
                    };
                    let measured = cost < 1e12;
                    let measures = match measured {
                        true => format!(
                            "{:?},{:?},NaN",
                            1.0 - 0.1 * square.sqrt(),
                            1e3 * square * (1.0 + 0.3 * random.unit())
                        ),
                        false => ",,".into(),
                    };
                    let values: Vec<String> = (0..n)
                        .map(|i| {
                            format!("{:.8e}", Artificial::value(i, x[i]))
                                .parse::<f64>()
                                .unwrap()
                                .to_string()
                        })
                        .collect();
                    let _ = writeln!(
                        log,
                        "{evaluation},{generation},{restart},{kind},{candidate},{cost:?},{outcome},\"{}\",5.25,{measures},{}",
                        reason.replace('"', "\"\""),
                        values.join(",")
                    );
                    if kind == "sample" && outcome == "completed" && cost < best {
                        (best, best_evaluation) = (cost, evaluation);
                    }
                    measured.then_some(cost)
                };
                for candidate in 0..population {
                    // neighbours go together
                    let common = random.normal();
                    let x: Vec<f64> = (0..n)
                        .map(|i| mean[i] + sigma * (0.6 * random.normal() + if i < 3 { common } else { 0.0 }))
                        .collect();
                    costs.extend(row("sample", candidate, &x, &mut random));
                }
                if self.validation > 0 && g % self.validation == self.validation - 1 {
                    row("validation", 0, &mean, &mut random);
                }
                costs.sort_by(f64::total_cmp);
                let cost = |i: usize| costs.get(i).map_or(String::new(), |c| format!("{c:?}"));
                let _ = write!(
                    history,
                    "{generation},{restart},{evaluation},{best:?},{},{},{},{sigma:?},{:?},{population},{}",
                    cost(0),
                    cost(costs.len() / 2),
                    cost(costs.len().max(1) - 1),
                    1.0 + 20.0 * t,
                    population - costs.len()
                );
                for (i, mean) in mean.iter().enumerate() {
                    // in the parameter's unit, or of its logarithm
                    let unit = match Artificial::bounds(i) {
                        (Some([low, high]), true) => (high / low).ln(),
                        _ => 10.0 * (Artificial::value(i, 0.55) - Artificial::value(i, 0.45)),
                    };
                    let _ = write!(history, ",{:?},{:?}", Artificial::value(i, *mean), unit * sigma);
                }
                history.push('\n');
            }
        }
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        put("study.toml", &self.settings());
        put("experiment.toml", "format = 1\n");
        put("evaluations.csv", &log);
        put("history.csv", &history);
        if self.finished {
            let summary = serde_json::json!({
                "name": self.name, "best_cost": best, "best_evaluation": best_evaluation, "evaluations": evaluation,
                "generations": generation, "restarts": self.restarts, "stopped_by": "tol_fun", "ambler_version": "0.1.0",
            });
            put("summary.json", &summary.to_string());
        }
    }
}

/// Runs an experiment into a folder.
fn run_into(folder: &Path, sets: &[&str]) {
    let stand = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/push.toml");
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let prepared = Prepared::new(&LoadedSpec::read(&stand, &sets).unwrap()).unwrap();
    let mut out = RunFolder::at(folder, true).unwrap();
    out.begin(&prepared).unwrap();
    let options = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    let outcome = run(&prepared, &options, &mut ());
    out.finish(&prepared, &outcome).unwrap();
}

/// Folders that several tests look at and none changes.
fn shared() -> &'static Path {
    static FOLDERS: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDERS
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            Artificial::default().write(&at("bowl"));
            run_into(&at("bowl/best/left push"), &["duration_s=3.5"]);
            run_into(
                &at("bowl/best/hard push"),
                &["duration_s=3.5", "disturbances.0.force_n=300"],
            );
            Artificial {
                parameters: 30,
                seed: 2,
                offset: -30.0,
                validation: 0,
                finished: false,
                ..Artificial::default()
            }
            .write(&at("thirty"));
            run_into(&at("thirty/best"), &["duration_s=3.5"]);
            Artificial {
                parameters: 64,
                generations: 30,
                restarts: 0,
                ..Artificial::default()
            }
            .write(&at("sixty-four"));
            for seed in 1..=3 {
                let study = Artificial {
                    name: "wide",
                    seed: 10 + seed,
                    generations: 20 + 5 * seed as usize,
                    restarts: 0,
                    ..Artificial::default()
                };
                study.write(&at(&format!("wide-{seed}")));
            }
            write_sweep(&at("sweep one"), &[9], false);
            write_sweep(&at("sweep two"), &[7, 5], false);
            write_sweep(&at("sweep random"), &[60, 60, 60, 60], true);
            folder
        })
        .path()
}

/// A grid of so many levels, or as many random points as the first says.
fn write_sweep(folder: &Path, levels: &[usize], random: bool) {
    std::fs::create_dir_all(folder).unwrap();
    let names = ["stiffness", "damping", "lean", "height"];
    let mut settings = String::from("format = 1\nname = \"sweep\"\nexperiment = \"stand.toml\"\n");
    for (i, _) in levels.iter().enumerate() {
        let log = i == 0;
        let low = if log { 0.1 } else { -1.0 };
        let _ = writeln!(
            settings,
            "\n[[parameters]]\npath = \"controller.{0}\"\nname = \"{0}\"\nbounds = [{low:?}, 10.0]\nlog = {log}",
            names[i]
        );
    }
    std::fs::write(folder.join("sweep.toml"), settings).unwrap();
    let mut table = format!(
        "index,cost,outcome,reason,simulated_s,effort_j,{}\n",
        names[..levels.len()].join(",")
    );
    let count = if random { levels[0] } else { levels.iter().product() };
    let mut numbers = Random(5);
    for index in 0..count {
        let mut rest = index;
        let x: Vec<f64> = (levels.iter())
            .map(|n| {
                let level = rest % n;
                rest /= n;
                if random {
                    numbers.unit()
                } else {
                    level as f64 / (n - 1) as f64
                }
            })
            .collect();
        let value = |(i, x): (usize, &f64)| if i == 0 { 0.1 * 100f64.powf(*x) } else { -1.0 + 11.0 * x };
        let values: Vec<String> = x.iter().enumerate().map(|v| format!("{:?}", value(v))).collect();
        let cost = 0.1 + x.iter().map(|x| 30.0 * (x - 0.4).powi(2)).sum::<f64>();
        let _ = match index % 13 == 11 {
            true => writeln!(table, "{index},2e12,diverged,too fast,1.5,,{}", values.join(",")),
            false => writeln!(
                table,
                "{index},{cost:?},completed,,5,{:?},{}",
                100.0 * cost,
                values.join(",")
            ),
        };
    }
    std::fs::write(folder.join("results.csv"), table).unwrap();
}

fn ambler(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambler"));
    command
        .arg("report")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn report(name: &str) -> Report {
    Report::read(&[shared().join(name)]).unwrap()
}

fn names(report: &Report) -> Vec<&str> {
    report.figures().iter().map(|f| f.name.as_str()).collect()
}

fn figure<'a>(report: &'a Report, name: &str) -> &'a Figure {
    let found = report.figures().iter().find(|f| f.name == name);
    found.unwrap_or_else(|| panic!("no figure {name}; missing: {:?}", report.missing()))
}

fn texts(figure: &Figure) -> Vec<&str> {
    (figure.drawing.marks.iter())
        .filter_map(|m| match m {
            Mark::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Every coordinate of a mark.
fn coordinates(mark: &Mark) -> Vec<[f64; 2]> {
    match mark {
        Mark::Line { points, .. } | Mark::Area { points, .. } => points.clone(),
        Mark::Dot { center, .. } => vec![*center],
        Mark::Dots { centers, .. } => centers.clone(),
        Mark::Text { at, .. } => vec![*at],
    }
}

fn assert_drawn(report: &Report) {
    for figure in report.figures() {
        assert!(figure.drawing.marks.len() > 8, "{} is empty", figure.name);
        for mark in &figure.drawing.marks {
            for [x, y] in coordinates(mark) {
                let inside = (-0.5..=figure.drawing.width + 0.5).contains(&x)
                    && (-0.5..=figure.drawing.height + 0.5).contains(&y);
                assert!(
                    inside,
                    "{}: ({x}, {y}) is outside of the picture: {mark:?}",
                    figure.name
                );
            }
        }
        assert!(figure.caption.len() > 60, "{} explains nothing", figure.name);
    }
    assert!(!report.html().contains("NaN") && !report.html().contains(">inf"));
}

/// A whole study gives every figure, drawn within its bounds, and a page with every section.
#[test]
fn a_study_has_every_figure_and_every_section() {
    let report = report("bowl");
    let expected = [
        "convergence",
        "step_size",
        "parameters",
        "correlation",
        "measures",
        "outcomes",
        "best_motion_hard_push",
        "best_motion_left_push",
    ];
    assert_eq!(names(&report), expected);
    assert!(report.missing().is_empty());
    assert_drawn(&report);
    let page = report.html();
    for id in [
        "study",
        "best_parameters",
        "best_measures",
        "failures",
        "figures",
        "settings",
    ]
    .iter()
    .chain(&expected)
    {
        assert!(page.contains(&format!("id=\"{id}\"")), "no section {id}");
    }
    for text in [
        "converged: the costs of the last generations hardly differ",
        "the velocity of a body is &quot;not finite&quot;, or nearly",
        "gains &lt;= 0",
        "1 (ipop)",
        "kp_1</td>",
        "at upper bound",
        "restarts = &quot;ipop&quot;",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("id=\"missing\""));
    for foreign in ["http:", "https:", "<script", " src=", "@import", "file:"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page, Report::read(&[shared().join("bowl")]).unwrap().html());
}

/// Costs over decades are on a logarithmic axis, penalties for failures do not stretch it, and negative costs are on a linear one.
#[test]
fn the_axis_of_costs_follows_the_costs_and_not_the_failures() {
    let labels = |name: &str| -> Vec<String> {
        let report = report(name);
        texts(figure(&report, "convergence"))
            .iter()
            .map(|t| t.to_string())
            .collect()
    };
    let bowl = labels("bowl");
    assert!(
        bowl.iter().any(|l| l == "cost (logarithmic)") && bowl.iter().any(|l| l == "0.1"),
        "{bowl:?}"
    );
    assert!(!bowl.iter().any(|l| l.contains("10¹²")), "{bowl:?}");
    let thirty = labels("thirty");
    assert!(
        thirty.iter().any(|l| l == "cost") && thirty.iter().any(|l| l.starts_with('−')),
        "{thirty:?}"
    );
}

/// The line of the best so far ends at the cost of the best candidate, and never rises.
#[test]
fn the_best_so_far_falls_to_the_best_cost() {
    let report = report("bowl");
    let marks = &figure(&report, "convergence").drawing.marks;
    let best = marks.iter().find_map(|m| match m {
        Mark::Line { points, stroke } if stroke.ink == Ink::Blue && points.len() > 4 => Some(points),
        _ => None,
    });
    let best = best.unwrap();
    assert!(
        best.windows(2).all(|w| w[1][1] >= w[0][1] - 1e-9),
        "lower is farther down"
    );
    // the dot of the best lies on the line's last level
    let dot = marks.iter().rev().find_map(|m| match m {
        Mark::Dot {
            center, ink: Ink::Text, ..
        } => Some(*center),
        _ => None,
    });
    assert!((dot.unwrap()[1] - best[best.len() - 1][1]).abs() < 1e-6);
    // one restart, seen in the figure as a dotted line from top to bottom
    let upright = |m: &&Mark| match m {
        Mark::Line { points, stroke } => stroke.dash == Dash::Dotted && points[0][0] == points[1][0],
        _ => false,
    };
    assert_eq!(marks.iter().filter(upright).count(), 1);
}

/// A parameter whose best value lies beyond its bound is told apart, in figure, caption and table.
#[test]
fn parameters_at_their_bounds_are_told() {
    let report = report("bowl");
    let parameters = figure(&report, "parameters");
    let told: Vec<&str> = texts(parameters).into_iter().filter(|t| t.contains("(at ")).collect();
    assert_eq!(told, ["…_shoulder_and_arm.kp_1 (at upper bound)"]);
    assert!(
        parameters
            .caption
            .contains("for 1 of 7: controller.gains.left_shoulder_and_arm.kp_1.")
    );
}

/// Parameters that vary together among the good candidates are red in the map, and the others are not.
#[test]
fn correlated_parameters_are_seen_in_the_map() {
    let report = report("bowl");
    let correlation = figure(&report, "correlation");
    // the rows of the first three, read back from the picture, without the diagonal
    let mut numbers: Vec<([f64; 2], f64)> = (correlation.drawing.marks.iter())
        .filter_map(|m| match m {
            Mark::Text {
                at,
                text,
                anchor: Anchor::Middle,
                upright: false,
                ..
            } => Some((*at, text.replace('−', "-").parse().ok()?)),
            _ => None,
        })
        .collect();
    // the axis of the bars stands below the map
    let lowest = numbers.iter().map(|n| n.0[1]).fold(0.0, f64::max);
    numbers.retain(|n| n.0[1] < lowest - 1.0);
    assert_eq!(numbers.len(), 7 * 6);
    let together = numbers[1].1;
    assert!(together > 0.4, "the first and the third: {numbers:?}");
    // the map is symmetric
    assert_eq!(numbers[2 * 6].1, together);
}

/// More parameters than can be read are reduced to those that matter, and the caption says so; the table has all.
#[test]
fn of_very_many_parameters_those_that_matter_are_shown() {
    let report = report("sixty-four");
    assert_drawn(&report);
    for name in ["parameters", "correlation"] {
        assert!(
            figure(&report, name)
                .caption
                .contains("Of 64 parameters those 60 are shown"),
            "{name}"
        );
    }
    let page = report.html();
    for i in 0..64 {
        assert!(page.contains(&format!("<tr><td>{}", Artificial::parameter(i))), "{i}");
    }
    assert!(page.contains("there is no folder best/"));
}

/// A study that was killed: no summary, torn last rows. What is whole is shown, and the page says what is not.
#[test]
fn a_killed_study_has_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let study = Artificial {
        finished: false,
        ..Artificial::default()
    };
    study.write(folder.path());
    let whole = Report::read(&[folder.path()]).unwrap();
    for name in ["evaluations.csv", "history.csv"] {
        let path = folder.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
    }
    let report = Report::read(&[folder.path()]).unwrap();
    assert_drawn(&report);
    assert_eq!(
        report.studies()[0].last_evaluation(),
        whole.studies()[0].last_evaluation() - 1.0
    );
    let page = report.html();
    for text in [
        "the last row of evaluations.csv is torn",
        "the last row of history.csv is torn",
        "summary.json is missing",
        "without a summary: killed, or still going",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

/// A study at its very beginning, of one generation, of one evaluation, all of whose evaluations failed: a page, never a panic.
#[test]
fn studies_with_little_in_them_have_reports() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evaluations.csv");
    Artificial::default().write(folder.path());
    let whole = std::fs::read_to_string(&path).unwrap();
    let history = std::fs::read_to_string(folder.path().join("history.csv")).unwrap();
    let lines = |text: &str, n: usize| text.lines().take(n).map(|l| format!("{l}\n")).collect::<String>();
    for (rows, generations) in [(0, 0), (1, 0), (2, 0), (5, 0), (12, 1), (20, 1)] {
        std::fs::write(&path, lines(&whole, 1 + rows)).unwrap();
        std::fs::write(folder.path().join("history.csv"), lines(&history, 1 + generations)).unwrap();
        let _ = std::fs::remove_file(folder.path().join("summary.json"));
        let report = Report::read(&[folder.path()]).unwrap();
        assert_drawn(&report);
        assert_eq!(names(&report).contains(&"convergence"), rows > 0, "{rows}");
        let both = Report::read(&[folder.path().to_path_buf(), shared().join("bowl")]).unwrap();
        assert_drawn(&both);
    }
    // without history, and without the study itself
    std::fs::write(&path, &whole).unwrap();
    std::fs::remove_file(folder.path().join("history.csv")).unwrap();
    let report = Report::read(&[folder.path()]).unwrap();
    assert!(names(&report).contains(&"correlation") && !names(&report).contains(&"step_size"));
    assert_drawn(&report);
    std::fs::remove_file(folder.path().join("study.toml")).unwrap();
    assert_drawn(&Report::read(&[folder.path()]).unwrap());

    let failed: String = whole
        .lines()
        .filter(|l| l.contains("diverged") || l.contains("invalid") || l.starts_with("eval"))
        .map(|l| format!("{l}\n"))
        .collect();
    std::fs::write(&path, failed).unwrap();
    let report = Report::read(&[folder.path()]).unwrap();
    assert_drawn(&report);
    assert!(report.html().contains("every evaluation failed") && names(&report).contains(&"outcomes"));
}

/// Several studies: one column each, the settings that differ and no others, a median for those of one name.
#[test]
fn several_studies_are_compared() {
    let folders: Vec<PathBuf> = ["wide-1", "wide-2", "wide-3", "bowl"].map(|n| shared().join(n)).into();
    let report = Report::read(&folders).unwrap();
    assert_eq!(names(&report), ["convergence", "final_parameters"]);
    assert_drawn(&report);
    let keys = texts(figure(&report, "convergence"));
    assert!(
        keys.contains(&"wide: median of 3") && keys.contains(&"bowl"),
        "{keys:?}"
    );
    let page = report.html();
    let section = |id: &str| {
        page.split(&format!("id=\"{id}\""))
            .nth(1)
            .unwrap()
            .split("<h2")
            .next()
            .unwrap()
    };
    let differences = section("differences");
    assert_eq!(differences.matches("<tr><td>").count(), 2, "{differences}");
    assert!(differences.contains("optimizer.seed") && differences.contains("<code>name</code>"));
    assert!(section("results").contains("best cost") && section("results").contains("com_height_m of the best"));
    assert_eq!(section("results").matches("wide-2").count(), 1);

    // costs of different objectives are not compared
    let other = tempfile::tempdir().unwrap();
    Artificial::default().write(other.path());
    let text = std::fs::read_to_string(other.path().join("study.toml")).unwrap();
    std::fs::write(
        other.path().join("study.toml"),
        text.replace("com_height_m", "airborne_s"),
    )
    .unwrap();
    let page = Report::read(&[other.path().to_path_buf(), shared().join("bowl")])
        .unwrap()
        .html();
    assert!(page.contains("the studies differ in `objective`") && !page.contains("<strong>"));
}

/// Sweeps: curves over one parameter, a map over a grid of two, dots over more; failures are marked.
#[test]
fn sweeps_have_curves_maps_and_dots() {
    let one = report("sweep one");
    assert_eq!(names(&one), ["cost"]);
    assert!(texts(figure(&one, "cost")).contains(&"stiffness"));
    let two = report("sweep two");
    assert_eq!(names(&two), ["cost", "measure_effort_j"]);
    let crosses = |m: &&Mark| matches!(m, Mark::Line { stroke, .. } if stroke.ink == Ink::Vermillion);
    // indices 11 and 24 of 35 failed, a cross has two strokes
    assert_eq!(figure(&two, "cost").drawing.marks.iter().filter(crosses).count(), 4);
    let random = report("sweep random");
    assert_eq!(names(&random), ["cost"]);
    assert!(
        texts(figure(&random, "cost"))
            .iter()
            .any(|t| t.starts_with("lean (ρ = "))
    );
    for report in [&one, &two, &random] {
        assert_drawn(report);
        assert!(report.html().contains("too fast") || report.studies()[0].label == "sweep one");
    }
    // an unfinished grid is a grid
    let folder = tempfile::tempdir().unwrap();
    write_sweep(folder.path(), &[7, 5], false);
    let path = folder.path().join("results.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.lines().take(24).map(|l| format!("{l}\n")).collect::<String>() + "23,0.",
    )
    .unwrap();
    let report = Report::read(&[folder.path()]).unwrap();
    assert_eq!(names(&report), ["cost", "measure_effort_j"]);
    assert!(report.html().contains("is torn"));
    assert_drawn(&report);
}

/// Folders of different kinds, damaged tables and what is no folder are refused with exit code 2 and by name; nothing is written.
#[test]
fn what_cannot_be_shown_is_refused_by_name() {
    let study = |file: &str, from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        Artificial::default().write(folder.path());
        let path = folder.path().join(file);
        let old = std::fs::read_to_string(&path).unwrap();
        assert!(old.contains(from), "{file}: {from}");
        std::fs::write(&path, old.replacen(from, to, 1)).unwrap();
        folder
    };
    let no_table = tempfile::tempdir().unwrap();
    std::fs::write(no_table.path().join("study.toml"), "format = 1\n").unwrap();
    let empty_table = tempfile::tempdir().unwrap();
    std::fs::write(empty_table.path().join("evaluations.csv"), "").unwrap();
    let cases = [
        (study("evaluations.csv", "\n3,", "\n3,,"), "evaluations.csv", "line 4"),
        (
            study("evaluations.csv", "\n3,1,", "\n3,one,"),
            "evaluations.csv",
            "column `generation`",
        ),
        (
            study("evaluations.csv", "\n9,", "\n2,"),
            "evaluations.csv",
            "does not increase",
        ),
        (
            study("evaluations.csv", ",cost,", ",price,"),
            "evaluations.csv",
            "expected `cost`",
        ),
        (
            study("evaluations.csv", ",completed,", ",well,"),
            "evaluations.csv",
            "`well`",
        ),
        (
            study("evaluations.csv", ",sample,", ",example,"),
            "evaluations.csv",
            "`example`",
        ),
        (
            study("evaluations.csv", "com_height_m", "effort_j"),
            "evaluations.csv",
            "two columns",
        ),
        (
            study("history.csv", "evaluations", "count"),
            "history.csv",
            "`evaluations`",
        ),
        (study("summary.json", "{", "["), "summary.json", "line"),
        (
            study("study.toml", "[budget]", "[budget"),
            "study.toml",
            "unclosed table",
        ),
        (no_table, "", "there is no evaluations.csv"),
        (empty_table, "evaluations.csv", "column 1 is missing"),
    ];
    for (folder, file, what) in &cases {
        let output = ambler(folder.path(), &["."]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{file}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(file) && said.contains(what),
            "{file}, {what}: {said}"
        );
        assert!(!folder.path().join("report.html").exists());
    }
    let at = |name: &str| shared().join(name);
    let run = at("bowl/best/left push");
    for (a, b) in [
        (run.clone(), at("bowl")),
        (at("bowl"), run),
        (at("bowl"), at("sweep one")),
    ] {
        let error = Report::read(&[a, b]).unwrap_err();
        assert!(matches!(error, ReportError::Mixed { .. }), "{error}");
    }
    let two = Report::read(&[at("sweep one"), at("sweep two")]).unwrap_err();
    assert!(matches!(two, ReportError::ManySweeps(2)), "{two}");
    let nothing = Report::read(&[at("bowl"), at("nowhere")]).unwrap_err();
    assert!(nothing.to_string().contains("nowhere: found nothing"), "{nothing}");
}

/// No damage to any file makes it panic: there is a report or an error.
#[test]
fn random_damage_gives_a_report_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let study = Artificial {
        generations: 6,
        validation: 3,
        ..Artificial::default()
    };
    let at = |name: &str| folder.path().join(name);
    study.write(&at("study"));
    write_sweep(&at("one"), &[9], false);
    write_sweep(&at("two"), &[7, 5], false);
    write_sweep(&at("random"), &[20, 20, 20], true);
    let mut random = Random(11);
    let (mut read, mut refused) = (0, 0);
    let files = [
        "study/evaluations.csv",
        "study/history.csv",
        "study/study.toml",
        "study/summary.json",
        "one/results.csv",
        "two/results.csv",
        "random/results.csv",
        "two/sweep.toml",
    ];
    for name in files {
        let path = at(name);
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..80 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                match random.below(5) {
                    0 => bytes[at] = b"0123456789-e.,\"\n[]"[random.below(18)],
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"19-e,.\n"[random.below(7)]),
                    3 => bytes.truncate(at.max(1)),
                    _ => bytes[at] = b'9',
                }
            }
            std::fs::write(&path, bytes).unwrap();
            match Report::read(&[path.parent().unwrap()]) {
                Ok(report) => {
                    assert_drawn(&report);
                    read += 1;
                }
                Err(error) => refused += usize::from(!error.to_string().is_empty()),
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
    println!("{read} read, {refused} refused");
    assert!(read > 100 && refused > 100);
}

/// A study of 100 000 evaluations is a page of less than 3 MB, and what was left out is said.
#[test]
fn a_hundred_thousand_evaluations_stay_below_three_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let study = Artificial {
        parameters: 30,
        population: 20,
        generations: 1667,
        restarts: 1,
        ..Artificial::default()
    };
    study.write(folder.path());
    let begin = std::time::Instant::now();
    let report = Report::read(&[folder.path()]).unwrap();
    let page = report.html();
    println!(
        "{:.2} MB in {:.2} s",
        page.len() as f64 * 1e-6,
        begin.elapsed().as_secs_f64()
    );
    assert!(report.studies()[0].last_evaluation() > 1e5);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(
        figure(&report, "measures")
            .caption
            .contains("those are drawn that do not lie upon another")
    );
    assert_drawn(&report);
}

/// Plots are files of their own here too.
#[test]
fn plots_of_a_study_are_written_as_svg_and_png() {
    let out = tempfile::tempdir().unwrap();
    let study = shared().join("bowl");
    let arguments = [
        study.to_str().unwrap(),
        "--out",
        "page.html",
        "--plots",
        "plots",
        "--format",
        "both",
    ];
    let output = ambler(out.path(), &arguments);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = report("bowl");
    assert_eq!(
        std::fs::read_to_string(out.path().join("page.html")).unwrap(),
        report.html()
    );
    for figure in report.figures() {
        let svg = std::fs::read_to_string(out.path().join(format!("plots/{}.svg", figure.name))).unwrap();
        assert_eq!(svg, figure.svg());
        let png = std::fs::read(out.path().join(format!("plots/{}.png", figure.name))).unwrap();
        let word = |i: usize| u32::from_be_bytes(png[i..i + 4].try_into().unwrap()) as f64;
        assert_eq!(
            [word(16), word(20)],
            [
                (2.0 * figure.drawing.width).ceil(),
                (2.0 * figure.drawing.height).ceil()
            ]
        );
    }
}

/// A browser shows every plot, without a complaint on its console, no text cut off and no text upon another.
#[test]
fn a_browser_shows_every_plot_without_complaint() {
    let Some(browser) = browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let pages: [(&str, &[&str]); 7] = [
        ("one", &["bowl"]),
        ("thirty", &["thirty"]),
        ("sixty-four", &["sixty-four"]),
        ("several", &["wide-1", "wide-2", "wide-3", "bowl", "thirty"]),
        ("curve", &["sweep one"]),
        ("map", &["sweep two"]),
        ("dots", &["sweep random"]),
    ];
    for (name, folders) in pages {
        let folders: Vec<PathBuf> = folders.iter().map(|f| shared().join(f)).collect();
        let report = Report::read(&folders).unwrap();
        check_page(browser, folder.path(), name, &report);
    }
}
