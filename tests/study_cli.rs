//! `ambler optimize`, `sweep` and `evaluate` as scripts use them: killed, resumed, out of room, given nonsense.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ambler::math::random;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// Whether two folders hold the same bytes in these files.
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
    let output = ambler(&["run", text(&file)]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is a study"));
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

#[test]
fn a_study_of_the_first_version_still_goes_on() {
    // the folder in the archive, of checkpoint version 1 with restarts, noise and validation: its rows stay, more are added
    let here = tempfile::tempdir().unwrap();
    let archive = root().join("tests/archive/study_v1");
    let folder = here.path().join("study");
    std::fs::create_dir_all(folder.join("inputs")).unwrap();
    for entry in std::fs::read_dir(&archive)
        .unwrap()
        .chain(std::fs::read_dir(archive.join("inputs")).unwrap())
    {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.strip_prefix(&archive).unwrap())).unwrap();
        }
    }
    let before = std::fs::read_to_string(folder.join("evaluations.csv")).unwrap();
    let output = ambler(&["optimize", "--resume", text(&folder), "--max-evaluations", "60", "-q"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after = std::fs::read_to_string(folder.join("evaluations.csv")).unwrap();
    assert!(after.lines().count() > 60);
    // but for the validation that ended the study, which is made again where the longer one ends
    let kept: Vec<&str> = before.lines().filter(|l| !l.contains(",validation,")).collect();
    assert!(
        after
            .lines()
            .filter(|l| !l.contains(",validation,"))
            .zip(kept)
            .all(|(a, b)| a == b)
    );
}
