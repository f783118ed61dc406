//! Studies and sweeps can be killed at any moment and end with the files of those that were not; what is wrong is said and nothing is lost.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ambler::math::random;
use ambler::optimize::cma::{NoiseSettings, SearchSettings, Settings, StopSettings};
use ambler::optimize::study::{Budget, Coordinate, Options, Seeds, Study, StudySetup, StudySummary, Validation};
use ambler::optimize::{Evaluation, Evaluator, Outcome, Range, Request};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

// ---- a function of our own ----

/// A noisy bowl in `measures.len()`-independent dimensions, with a region that fails.
struct Bowl {
    measures: Vec<String>,
    /// Beyond this value of the first parameter nothing can be evaluated.
    cliff: f64,
    noise: f64,
    /// Sleeps so long at most, by a random number that no result depends on.
    sleep: Duration,
    calls: AtomicUsize,
    limits: Mutex<Vec<Option<f64>>>,
}

impl Bowl {
    fn new() -> Bowl {
        Bowl {
            measures: vec!["distance".into(), "sum".into()],
            cliff: f64::INFINITY,
            noise: 0.0,
            sleep: Duration::ZERO,
            calls: AtomicUsize::new(0),
            limits: Mutex::default(),
        }
    }
}

impl Evaluator for Bowl {
    fn measures(&self) -> &[String] {
        &self.measures
    }

    fn evaluate(&self, x: &[f64], request: &Request) -> Option<Evaluation> {
        if request.stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
            return None;
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed) as u64;
        self.limits.lock().unwrap().push(request.hopeless_above);
        std::thread::sleep(self.sleep.mul_f64(random::uniform(3, 0, call)));
        let distance: f64 = x.iter().enumerate().map(|(i, x)| (x - i as f64).powi(2)).sum();
        let noise: f64 = request
            .seeds
            .iter()
            .map(|s| self.noise * random::normal(*s, 1, x[0].to_bits()))
            .sum();
        let failed = x[0] > self.cliff;
        Some(Evaluation {
            cost: if failed {
                1e12
            } else {
                distance + noise / request.seeds.len().max(1) as f64
            },
            measures: vec![distance.sqrt(), if failed { f64::NAN } else { x.iter().sum() }],
            outcome: if failed { Outcome::Diverged } else { Outcome::Completed },
            reason: failed.then(|| "fell, \"off\" the cliff".to_string()),
            simulated_s: 1.0 / 3.0,
        })
    }
}

fn setup(n: usize, evaluations: u64) -> StudySetup {
    StudySetup {
        name: "bowl".into(),
        coordinates: (0..n)
            .map(|i| Coordinate {
                name: format!("x{i}"),
                integer: false,
                range: Range {
                    initial: 3.0,
                    lower: -10.0,
                    upper: 10.0,
                    scale: 1.0,
                    log: false,
                },
            })
            .collect(),
        search: SearchSettings {
            cma: Settings {
                seed: 4,
                stops: StopSettings::default(),
                ..Settings::default()
            },
            ..SearchSettings::default()
        },
        hopeless_quantile: None,
        seeds: Seeds::Own,
        validation: None,
        budget: Budget {
            evaluations: Some(evaluations),
            time_s: None,
            target: None,
        },
    }
}

fn options(jobs: usize) -> Options<'static> {
    Options {
        jobs: Some(jobs),
        ..Options::default()
    }
}

fn run(folder: &Path, setup: &StudySetup, bowl: &Bowl, jobs: usize) -> StudySummary {
    let mut study = Study::resume(folder, setup, bowl, b"bowl").unwrap_or_else(|e| panic!("{e}"));
    study
        .run(bowl, &options(jobs), &mut |_| ())
        .unwrap_or_else(|e| panic!("{e}"))
}

const COMPARED: [&str; 6] = [
    "evaluations.csv",
    "history.csv",
    "checkpoint",
    "summary.json",
    "best_parameters.toml",
    "mean_parameters.toml",
];

fn same(a: &Path, b: &Path, files: &[&str]) {
    for file in files {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(
            read(a) == read(b),
            "{file} differs between {} and {}",
            a.display(),
            b.display()
        );
    }
}

/// Everything that a study can have at once: new seeds, noise handling, validation, early stops, failures.
fn everything() -> (StudySetup, Bowl) {
    let mut setup = setup(4, 150);
    setup.seeds = Seeds::PerGeneration(2);
    setup.search.noise = Some(NoiseSettings::default());
    setup.validation = Some(Validation {
        every: 3,
        seeds: vec![5, 6],
    });
    setup.hopeless_quantile = Some(0.5);
    let bowl = Bowl {
        cliff: 3.5,
        noise: 0.3,
        ..Bowl::new()
    };
    (setup, bowl)
}

#[test]
fn results_depend_neither_on_threads_nor_on_what_finishes_first() {
    // one thread, and several with evaluations that take random times: the same files
    let (setup, bowl) = everything();
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    run(folders[0].path(), &setup, &bowl, 1);
    for (folder, jobs) in folders[1..].iter().zip([2, 7]) {
        let slow = Bowl {
            sleep: Duration::from_millis(3),
            ..everything().1
        };
        run(folder.path(), &setup, &slow, jobs);
        same(folders[0].path(), folder.path(), &COMPARED);
    }
    let log = std::fs::read_to_string(folders[0].path().join("evaluations.csv")).unwrap();
    for kind in [",sample,", ",reevaluation,", ",validation,"] {
        assert!(log.contains(kind), "{kind}");
    }
    assert!(
        log.lines()
            .enumerate()
            .skip(1)
            .all(|(i, l)| l.starts_with(&format!("{i},")))
    );
}

#[test]
fn a_study_that_was_interrupted_anywhere_ends_as_if_it_had_not_been() {
    // stopped after every k-th evaluation, with rows of half a generation in the log: the same files in the end
    let (setup, bowl) = everything();
    let whole = tempfile::tempdir().unwrap();
    run(whole.path(), &setup, &bowl, 2);
    for every in [1, 5, 23] {
        let folder = tempfile::tempdir().unwrap();
        let mut rounds = 0;
        loop {
            let stop = AtomicBool::new(false);
            let mut study = Study::resume(folder.path(), &setup, &bowl, b"bowl").unwrap();
            let options = Options {
                stop: Some(&stop),
                ..options(2)
            };
            let mut count = 0;
            let summary = study.run(&bowl, &options, &mut |_| {
                count += 1;
                stop.store(count >= every, Ordering::Relaxed);
            });
            rounds += 1;
            if summary.unwrap().stopped_by != "interrupt" {
                break;
            }
            assert!(rounds < 1000);
        }
        assert!(rounds > 3);
        same(whole.path(), folder.path(), &COMPARED);
    }
}

#[test]
fn a_larger_budget_goes_on_as_if_it_had_been_there_from_the_start() {
    // 60 evaluations, then 150: the files of 150; with its first budget a finished study says so and changes nothing
    let plain = |evaluations| setup(3, evaluations);
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(a.path(), &plain(150), &Bowl::new(), 2);
    run(b.path(), &plain(60), &Bowl::new(), 1);
    let before = std::fs::read(b.path().join("summary.json")).unwrap();
    let bowl = Bowl::new();
    let summary = run(b.path(), &plain(60), &bowl, 1);
    assert_eq!(summary.stopped_by, "budget");
    assert_eq!(bowl.calls.load(Ordering::Relaxed), 0);
    assert_eq!(std::fs::read(b.path().join("summary.json")).unwrap(), before);
    run(b.path(), &plain(150), &Bowl::new(), 2);
    same(a.path(), b.path(), &COMPARED);
}

#[test]
fn the_best_is_the_smallest_cost_and_the_bowl_is_found() {
    // the best of the summary is the smallest cost of the log, and near the bottom
    let folder = tempfile::tempdir().unwrap();
    let summary = run(folder.path(), &setup(4, 2000), &Bowl::new(), 2);
    let mut reader = csv::Reader::from_path(folder.path().join("evaluations.csv")).unwrap();
    let costs: Vec<f64> = reader.records().map(|r| r.unwrap()[5].parse().unwrap()).collect();
    let smallest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(summary.best_cost, Some(smallest));
    assert_eq!(costs[summary.best_evaluation.unwrap() as usize - 1], smallest);
    assert!(smallest < 1e-9, "{smallest}");
    for i in 0..4 {
        assert!((summary.parameters[&format!("x{i}")] - i as f64).abs() < 1e-4);
    }
    assert_eq!(summary.evaluations as usize, costs.len());
}

#[test]
fn failures_are_counted_with_their_reasons_and_the_study_goes_on() {
    // a region that fails is left; everything failing ends without a best
    let folder = tempfile::tempdir().unwrap();
    let bowl = Bowl {
        cliff: 3.0,
        ..Bowl::new()
    };
    let summary = run(folder.path(), &setup(3, 600), &bowl, 2);
    assert!(summary.best_cost.unwrap() < 1e-3);
    let failed = summary.outcomes["diverged"];
    assert!(failed > 0 && failed < 300, "{failed}");
    assert_eq!(summary.failed, failed);
    assert_eq!(summary.failures.len(), 1);
    assert_eq!(summary.failures[0].reason, "fell, \"off\" the cliff");
    assert_eq!(summary.failures[0].count, failed);
    let folder = tempfile::tempdir().unwrap();
    let bowl = Bowl {
        cliff: -100.0,
        ..Bowl::new()
    };
    let summary = run(folder.path(), &setup(3, 60), &bowl, 2);
    assert_eq!(summary.best_cost, None);
    assert_eq!(summary.failed, summary.evaluations);
}

#[test]
fn hopelessness_is_judged_by_the_generation_before_only() {
    // the limit of every evaluation of a generation is the same: the quantile of the costs of the one before, none in the first
    let folder = tempfile::tempdir().unwrap();
    let mut setup = setup(3, 70);
    setup.hopeless_quantile = Some(0.5);
    let bowl = Bowl::new();
    run(folder.path(), &setup, &bowl, 2);
    let limits = bowl.limits.lock().unwrap();
    let mut reader = csv::Reader::from_path(folder.path().join("evaluations.csv")).unwrap();
    let costs: Vec<f64> = reader.records().map(|r| r.unwrap()[5].parse().unwrap()).collect();
    let population = 7;
    assert_eq!(limits.len(), 70);
    for (g, part) in limits.chunks(population).enumerate() {
        let expected = (g > 0).then(|| {
            let mut before = costs[(g - 1) * population..g * population].to_vec();
            before.sort_by(f64::total_cmp);
            before[3]
        });
        assert!(part.iter().all(|l| *l == expected), "{g}: {part:?} for {expected:?}");
    }
}

#[test]
fn a_time_budget_ends_after_a_generation() {
    // evaluations of 2 ms for 50 ms: more than one generation, all of them whole, and far from endless
    let folder = tempfile::tempdir().unwrap();
    let mut setup = setup(3, 1);
    setup.budget = Budget {
        evaluations: None,
        time_s: Some(0.05),
        target: None,
    };
    let bowl = Bowl {
        sleep: Duration::from_millis(4),
        ..Bowl::new()
    };
    let began = Instant::now();
    let summary = run(folder.path(), &setup, &bowl, 1);
    assert_eq!(summary.stopped_by, "time");
    assert_eq!(summary.evaluations % 7, 0);
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_does_not_belong_together_is_refused_and_nothing_is_changed() {
    // another setup or function, damaged, cut or foreign files, a second process: an error that says so, and the files as before
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let good = setup(3, 40);
    let bowl = Bowl::new();
    run(path, &good, &bowl, 2);
    let files = ["evaluations.csv", "history.csv", "checkpoint"];
    let keep: Vec<Vec<u8>> = files.iter().map(|f| std::fs::read(path.join(f)).unwrap()).collect();
    let refused = |setup: &StudySetup, function: &[u8], part: &str| {
        let before: Vec<_> = files.iter().map(|f| std::fs::read(path.join(f)).ok()).collect();
        let error = Study::resume(path, setup, &bowl, function).err().map(|e| e.to_string());
        let error = error.unwrap_or_else(|| panic!("{part}: not refused"));
        assert!(error.contains(part), "{part}: {error}");
        let after: Vec<_> = files.iter().map(|f| std::fs::read(path.join(f)).ok()).collect();
        assert!(before == after, "{part}");
        for (file, bytes) in files.iter().zip(&keep) {
            std::fs::write(path.join(file), bytes).unwrap();
        }
    };
    let mut other = good.clone();
    other.coordinates[1].range.upper = 11.0;
    refused(&other, b"bowl", "edited");
    let mut other = good.clone();
    other.search.cma.seed = 5;
    refused(&other, b"bowl", "edited");
    refused(&good, b"another bowl", "edited");
    for (name, change, part) in [
        (
            "checkpoint",
            Box::new(|b: &mut Vec<u8>| b.truncate(20)) as Box<dyn Fn(&mut Vec<u8>)>,
            "no checkpoint",
        ),
        ("checkpoint", Box::new(|b| b.truncate(b.len() - 1)), "cut short"),
        ("checkpoint", Box::new(|b| *b.last_mut().unwrap() ^= 1), "checksum"),
        ("checkpoint", Box::new(|b| b[8] = 99), "version 99"),
        ("checkpoint", Box::new(|b| b.clear()), "no checkpoint"),
        ("evaluations.csv", Box::new(|b| b[200] ^= 1), "have been changed"),
        ("evaluations.csv", Box::new(|b| b.truncate(300)), "the file ends"),
        (
            "evaluations.csv",
            Box::new(|b| b.extend(b"43,7,0,sample,0,nonsense\n")),
            "fields",
        ),
        ("history.csv", Box::new(|b| b.truncate(10)), "the checkpoint knows"),
    ] {
        let mut bytes = std::fs::read(path.join(name)).unwrap();
        change(&mut bytes);
        std::fs::write(path.join(name), bytes).unwrap();
        refused(&good, b"bowl", part);
    }
    let open = Study::resume(path, &good, &bowl, b"bowl").unwrap();
    let error = Study::resume(path, &good, &bowl, b"bowl").err().unwrap().to_string();
    assert!(error.contains("another process"), "{error}");
    drop(open);
    assert!(
        Study::create(path, &good, &bowl, b"bowl")
            .err()
            .unwrap()
            .to_string()
            .contains("not empty")
    );
    assert!(Study::resume(&path.join("nothing"), &good, &bowl, b"").is_err());
}

// ---- the program ----

fn ambler(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambler"));
    command.args(arguments).current_dir(root());
    command
}

/// A short study of the humanoid: two scenarios of half a second.
fn write_study(folder: &Path, more: &str) -> PathBuf {
    let file = folder.join("soft.toml");
    let base = root().join("examples/push.toml");
    std::fs::write(
        &file,
        format!(
            "format = 1\nexperiment = {base:?}\nset = {{ duration_s = 0.5, \"disturbances.0.time_s\" = 0.1, \"disturbances.1.time_s\" = 0.3 }}\n\
             [[parameters]]\npath = \"controller.kp_scale\"\nbounds = [0.05, 5]\nlog = true\n{more}\
             [[parameters]]\npath = \"poses.natural.left_shin\"\nbounds = [0, 30]\n\
             [[objective]]\nmeasure = \"torque_rms_nm\"\nper = 100\n\
             [[objective]]\nmeasure = \"upright_share\"\ntarget = 1\nweight = 20\n\
             [[scenarios]]\nname = \"forward\"\n[[scenarios]]\nname = \"left\"\nset = {{ \"disturbances.0.direction\" = \"left\" }}\n\
             [early_stop]\n[budget]\nevaluations = 60\n"
        ),
    )
    .unwrap();
    file
}

const FILES_OF_A_STUDY: [&str; 10] = [
    "study.toml",
    "experiment.toml",
    "evaluations.csv",
    "history.csv",
    "checkpoint",
    "summary.json",
    "best.toml",
    "mean.toml",
    "best_parameters.toml",
    "mean_parameters.toml",
];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_killed_study_resumes_to_the_files_of_one_that_was_not() {
    // SIGKILL at three random moments, on one thread and on two: byte for byte the same files; its best is what `run` and `evaluate`
    // say it is
    let here = tempfile::tempdir().unwrap();
    let study = write_study(here.path(), "");
    let whole = here.path().join("whole");
    let began = Instant::now();
    let status = ambler(&["optimize", text(&study), "--out", text(&whole), "--jobs", "2", "-q"])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let took = began.elapsed();
    for jobs in ["1", "2"] {
        let folder = here.path().join(format!("killed-{jobs}"));
        let mut kills = 0;
        loop {
            let begun = folder.join("study.toml").exists();
            let mut arguments = match begun {
                true => vec!["optimize", "--resume", text(&folder)],
                false => vec!["optimize", text(&study), "--out", text(&folder)],
            };
            if !begun {
                let _ = std::fs::remove_dir_all(&folder);
            }
            arguments.extend(["--jobs", jobs, "-q"]);
            let mut child = ambler(&arguments).stdout(Stdio::null()).spawn().unwrap();
            if kills == 3 {
                assert!(child.wait().unwrap().success());
                break;
            }
            let seed = jobs.len() as u64 + 7 * kills;
            std::thread::sleep(took.mul_f64(0.5 * random::uniform(9, seed, kills)));
            let _ = child.kill();
            let _ = child.wait();
            kills += 1;
        }
        same(&whole, &folder, &FILES_OF_A_STUDY);
    }
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(whole.join("summary.json")).unwrap()).unwrap();
    let best = summary["best_cost"].as_f64().unwrap();
    let out = here.path().join("ran");
    let output = ambler(&[
        "run",
        text(&whole.join("best.toml")),
        "--out",
        text(&out),
        "--json",
        "-q",
    ])
    .output()
    .unwrap();
    let score: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(score["cost"].as_f64(), Some(best));
    let output = ambler(&[
        "evaluate",
        text(&whole),
        "--params",
        text(&whole.join("best_parameters.toml")),
        "--json",
    ])
    .output()
    .unwrap();
    let evaluation: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(evaluation["cost"].as_f64(), Some(best));
    // a folder that was moved is still whole
    let moved = tempfile::tempdir().unwrap();
    let moved = moved.path().join("elsewhere");
    std::fs::rename(&whole, &moved).unwrap();
    let output = ambler(&[
        "optimize",
        "--resume",
        text(&moved),
        "--max-evaluations",
        "70",
        "--json",
        "-q",
    ])
    .output()
    .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["evaluations"].as_u64().unwrap() >= 70);
    assert!(summary["best_cost"].as_f64().unwrap() <= best);
    // and one whose experiment was edited is refused
    let experiment = moved.join("experiment.toml");
    let edited = std::fs::read_to_string(&experiment)
        .unwrap()
        .replace("weight = 20.0", "weight = 21.0");
    std::fs::write(&experiment, edited).unwrap();
    let output = ambler(&["optimize", "--resume", text(&moved)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("edited"));
}

#[cfg(unix)]
#[test]
fn a_disk_without_room_ends_a_study_with_an_error_and_loses_nothing() {
    // files that may not grow beyond some kilobytes, which is told as a full disk is: exit code 1 and the file's name; with room the
    // study ends as one that never lacked it
    let here = tempfile::tempdir().unwrap();
    let study = write_study(here.path(), "");
    let (whole, folder) = (here.path().join("whole"), here.path().join("short"));
    let more = ["--max-evaluations", "240", "-q"];
    let run = |arguments: &[&str]| ambler(arguments).args(more).stdout(Stdio::null()).status().unwrap();
    assert!(run(&["optimize", text(&study), "--out", text(&whole)]).success());
    let size = std::fs::metadata(whole.join("evaluations.csv")).unwrap().len();
    // in units of 512 bytes: room for every other file, but not for the end of the log
    let limit = size * 3 / 4 / 512;
    let largest = std::fs::metadata(root().join("data/characters/humanoid.toml"))
        .unwrap()
        .len();
    assert!(limit * 512 > largest + 512, "{size}");
    let script = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec {} optimize {} --out {} --max-evaluations 240 -q",
        env!("CARGO_BIN_EXE_ambler"),
        text(&study),
        text(&folder)
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(root())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("evaluations.csv") && error.contains("--resume"),
        "{error}"
    );
    let kept = std::fs::read(folder.join("evaluations.csv")).unwrap();
    assert!(kept.len() > 500 && kept.ends_with(b"\n"));
    assert!(run(&["optimize", "--resume", text(&folder)]).success());
    same(&whole, &folder, &FILES_OF_A_STUDY);
}

#[test]
fn a_sweep_is_a_table_of_its_design_and_resumes_to_the_same_bytes() {
    // every row of a grid is the evaluation of its parameters, whatever cuts the table; random designs stay within their bounds
    let here = tempfile::tempdir().unwrap();
    let study = write_study(here.path(), "levels = 3\n");
    let with = |name: &str, design: &str| {
        let text = std::fs::read_to_string(&study).unwrap().replace(
            "bounds = [0, 30]\n",
            if design.contains("grid") {
                "bounds = [0, 30]\nvalues = [5, 8]\n"
            } else {
                "bounds = [0, 30]\n"
            },
        );
        let file = here.path().join(name);
        std::fs::write(&file, text + design).unwrap();
        file
    };
    let sweep = |file: &Path, out: &Path, jobs: &str| {
        let status = ambler(&["sweep", text(file), "--out", text(out), "--jobs", jobs, "-q"])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    };
    let file = with("grid.toml", "[sweep]\ndesign = \"grid\"\n");
    let (a, b) = (here.path().join("a"), here.path().join("b"));
    sweep(&file, &a, "1");
    sweep(&file, &b, "2");
    same(&a, &b, &["results.csv", "summary.json", "best.toml"]);
    let rows = |folder: &Path| -> Vec<Vec<String>> {
        let mut reader = csv::Reader::from_path(folder.join("results.csv")).unwrap();
        reader
            .records()
            .map(|r| r.unwrap().iter().map(str::to_string).collect())
            .collect()
    };
    let grid = rows(&a);
    assert_eq!(grid.len(), 6);
    let column = |rows: &[Vec<String>], i: usize| -> Vec<f64> { rows.iter().map(|r| r[i].parse().unwrap()).collect() };
    assert_eq!(column(&grid, 7), [0.05, 0.05, 0.5, 0.5, 5.0, 5.0]);
    assert_eq!(column(&grid, 8), [5.0, 8.0, 5.0, 8.0, 5.0, 8.0]);
    // cut anywhere, then resumed
    let whole = std::fs::read(a.join("results.csv")).unwrap();
    for cut in [10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(b.join("results.csv"), &whole[..cut]).unwrap();
        let status = ambler(&["sweep", "--resume", text(&b), "-q"])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert!(std::fs::read(b.join("results.csv")).unwrap() == whole, "{cut}");
    }
    let file = with(
        "latin.toml",
        "[sweep]\ndesign = \"latin_hypercube\"\nsamples = 8\nseed = 3\n",
    );
    let c = here.path().join("c");
    sweep(&file, &c, "2");
    let latin = rows(&c);
    // one sample in each eighth of each parameter, of the logarithmic one in each eighth of its logarithm
    let slices = |values: Vec<f64>, of: &dyn Fn(f64) -> f64| {
        let mut found: Vec<usize> = values.iter().map(|v| (of(*v) * 8.0) as usize).collect();
        found.sort();
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7]);
    };
    slices(column(&latin, 7), &|v| (v / 0.05).ln() / 100f64.ln());
    slices(column(&latin, 8), &|v| v / 30.0);
    // what a grid lacks is said
    let file = with("bad.toml", "[sweep]\ndesign = \"random\"\n");
    let output = ambler(&["sweep", text(&file)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("sweep.samples"));
}

#[test]
fn bad_studies_and_parameters_are_told_by_key() {
    // exit code 2 and the key for each mistake of a study file; evaluate names unknown parameters
    let here = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(write_study(here.path(), "")).unwrap();
    let file = here.path().join("bad.toml");
    for (from, to, part) in [
        ("format = 1", "format = 9", "format"),
        ("[budget]", "[bugdet]", "did you mean `budget`"),
        ("evaluations = 60", "evaluations = 0", "budget.evaluations"),
        ("evaluations = 60", "target = nan", "budget.target"),
        ("[early_stop]", "[early_stop]\nquantile = 2", "early_stop.quantile"),
        ("[early_stop]", "[optimizer]\npopulation = 1", "optimizer.population"),
        ("[early_stop]", "[optimizer]\nsigma = -1", "optimizer.sigma"),
        ("[early_stop]", "[optimizer]\nrestarts = \"ipo\"", "ipop"),
        ("[early_stop]", "[optimizer.noise]", "seeds.per_generation"),
        ("[early_stop]", "[seeds]", "needs one of"),
        ("[early_stop]", "[validation]\nseeds = []", "validation.seeds"),
        ("controller.kp_scale", "controller.kp_scal", "did you mean `kp_scale`"),
        ("measure = \"torque_rms_nm\"", "measure = \"torque_rms\"", "torque_rms"),
        ("bounds = [0.05, 5]", "bounds = [5, 0.05]", "parameters[0].bounds"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let out = here.path().join("out");
        let output = ambler(&["optimize", text(&file), "--out", text(&out)])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{to}: {error}");
        assert!(error.contains(part), "{to}: {error}");
        assert!(!out.exists(), "{to}");
    }
    std::fs::write(&file, &good).unwrap();
    for (params, part) in [
        ("\"controller.kp_scal\" = 1", "did you mean `controller.kp_scale`"),
        ("[1, 2, 3]", "3 values for 2 parameters"),
        ("{\"controller.kp_scale\": \"x\"}", "params"),
        ("\"controller.kp_scale\" = \"x\"", "expected a number"),
    ] {
        let path = here.path().join("params");
        std::fs::write(&path, params).unwrap();
        let output = ambler(&["evaluate", text(&file), "--params", text(&path)])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{params}: {error}");
        assert!(error.contains(part), "{params}: {error}");
    }
}
