//! Folders that cannot be resumed: each says what is wrong, and nothing is touched.

use std::path::PathBuf;

use super::*;

/// A study that was interrupted, and its folder.
fn interrupted() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("study");
    let valley = Valley::new(0.3);
    run_until(&mut create(&folder, &full_plan(200), &valley), &valley, 70, 2);
    (place, folder)
}

/// What resuming says, which changes no file.
fn refused(folder: &Path, plan: &StudySetup, evaluator: &dyn Evaluator, function: &[u8]) -> String {
    let before = files(folder);
    let error = Study::resume(folder, plan, evaluator, function)
        .err()
        .expect("it is refused");
    assert!(files(folder) == before, "{error}");
    assert!(!error.is_of_machine(), "{error}");
    error.to_string()
}

/// Resuming as it was begun fails with all `parts` in its message.
fn refuse(folder: &Path, parts: &[&str]) {
    let error = refused(folder, &full_plan(200), &Valley::new(0.3), b"valley");
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn another_study_is_refused() {
    // whatever of it changes: parameters, bounds, optimiser, seeds, validation, early stop, function, measures; but not the budget
    struct Other(Vec<String>);
    impl Evaluator for Other {
        fn measures(&self) -> &[String] {
            &self.0
        }
        fn evaluate(&self, _: &[f64], _: &Request) -> Option<Evaluation> {
            None
        }
    }
    let (_place, folder) = interrupted();
    let valley = Valley::new(0.3);
    type Change = fn(&mut StudySetup);
    let changes: [Change; 14] = [
        |s| s.coordinates[0].range.scale = 0.5,
        |s| s.coordinates[0].range.lower = 0.2,
        |s| s.coordinates[0].range.upper = 9.0,
        |s| s.coordinates[1].range.initial = 0.1,
        |s| s.coordinates[2].name = "e".into(),
        |s| s.coordinates[3].integer = true,
        |s| s.search.cma.seed = 12,
        |s| s.search.cma.population = None,
        |s| s.search.restarts = Restarts::Bipop,
        |s| s.search.noise = None,
        |s| s.seeds = Seeds::PerGeneration(3),
        |s| s.seeds = Seeds::List(vec![2]),
        |s| s.validation.as_mut().unwrap().every = 4,
        |s| s.hopeless_quantile = None,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut other = full_plan(200);
        change(&mut other);
        let error = refused(&folder, &other, &valley, b"valley");
        assert!(error.contains("edited"), "{i}: {error}");
    }
    assert!(refused(&folder, &full_plan(200), &valley, b"hill").contains("edited"));
    let other = Other(vec!["length_m".into(), "weight_kg".into()]);
    assert!(refused(&folder, &full_plan(200), &other, b"valley").contains("edited"));
    let mut longer = full_plan(300);
    longer.budget.target = Some(-1.0);
    assert!(Study::resume(&folder, &longer, &valley, b"valley").is_ok());
}

#[test]
fn a_checkpoint_that_is_damaged_or_foreign_is_refused() {
    // cut off, flipped, of another study, of a newer version, of something else; whole again it is taken
    let (_place, folder) = interrupted();
    let valley = Valley::new(0.3);
    let path = folder.join("checkpoint");
    let good = std::fs::read(&path).unwrap();
    let with = |bytes: &[u8], parts: &[&str]| {
        std::fs::write(&path, bytes).unwrap();
        refuse(&folder, parts);
    };
    with(&[], &["checkpoint", "no checkpoint of a study"]);
    for length in [7, 31, good.len() / 2, good.len() - 1] {
        with(&good[..length], &["checkpoint", "cut short"]);
    }
    with(
        b"{\"format\": 1, \"and\": \"something\"}",
        &["checkpoint", "no checkpoint of a study"],
    );
    for place in (40..good.len()).step_by(good.len() / 9) {
        let mut flipped = good.clone();
        flipped[place] ^= 16;
        with(&flipped, &["checkpoint", "damaged"]);
    }
    let mut newer = good.clone();
    newer[8] += 1;
    with(&newer, &["checkpoint", "version 2"]);
    let other = tempfile::tempdir().unwrap();
    run_whole(&other.path().join("s"), &plan(50), &valley, 1);
    with(
        &std::fs::read(other.path().join("s/checkpoint")).unwrap(),
        &["another study"],
    );
    std::fs::write(&path, good).unwrap();
    assert!(Study::resume(&folder, &full_plan(200), &valley, b"valley").is_ok());
}

#[test]
fn a_log_that_does_not_fit_is_refused() {
    // rows changed, missing, or of another study, before and behind what the checkpoint knows of
    let (_place, folder) = interrupted();
    let valley = Valley::new(0.3);
    let path = folder.join("evaluations.csv");
    let good = std::fs::read(&path).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&path, text.replacen("sample", "simple", 1)).unwrap();
    refuse(&folder, &["evaluations.csv", "changed"]);
    std::fs::write(&path, lines[..20].concat()).unwrap();
    refuse(&folder, &["evaluations.csv", "ends after"]);
    std::fs::write(&path, text.replacen("cost", "price", 1)).unwrap();
    refuse(&folder, &["evaluations.csv:1", "columns"]);
    std::fs::write(&path, text.clone() + "99,nonsense\n").unwrap();
    let line = format!("evaluations.csv:{}", lines.len() + 1);
    refuse(&folder, &[&line, "fields"]);
    std::fs::write(&path, &good).unwrap();
    let history = folder.join("history.csv");
    let good_history = std::fs::read_to_string(&history).unwrap();
    std::fs::write(&history, &good_history[..good_history.len() - 20]).unwrap();
    refuse(&folder, &["history.csv", "ends after"]);
    std::fs::write(&history, good_history.replacen(",0,", ",1,", 1)).unwrap();
    refuse(&folder, &["history.csv", "changed"]);
    std::fs::write(&history, &good_history).unwrap();
    // a row that is sound but not what the study asks for shows when it comes to it
    std::fs::write(&path, text.clone() + lines[5]).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut study = resume(&folder, &full_plan(200), &valley);
    let error = study.run(&valley, &options(1), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains(&line) && error.contains("expected"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(study);
    // put back, it goes on
    std::fs::write(&path, &good).unwrap();
    let outcome = run(&mut resume(&folder, &full_plan(200), &valley), &valley, 2);
    assert_eq!(outcome.summary.stopped_by, "budget");
}

#[test]
fn a_folder_in_use_or_of_something_else_is_refused() {
    // one at a time; somebody's files are left alone, and a study is not overwritten
    let (place, folder) = interrupted();
    let valley = Valley::new(0.3);
    let plan = full_plan(200);
    let holder = resume(&folder, &plan, &valley);
    let error = Study::resume(&folder, &plan, &valley, b"valley").err().unwrap();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(holder);
    let error = Study::create(&folder, &plan, &valley, b"valley").err().unwrap();
    assert!(error.to_string().contains("not empty"), "{error}");
    let nowhere = place.path().join("nowhere");
    let error = Study::resume(&nowhere, &plan, &valley, b"valley").err().unwrap();
    assert!(error.to_string().contains("no folder") && !nowhere.exists(), "{error}");
    let letters = place.path().join("letters");
    std::fs::create_dir(&letters).unwrap();
    std::fs::write(letters.join("letter.txt"), "dear").unwrap();
    let error = Study::create(&letters, &plan, &valley, b"valley").err().unwrap();
    assert!(error.to_string().contains("not empty"), "{error}");
    assert_eq!(std::fs::read_dir(&letters).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_searched_writes_nothing() {
    // the mistake is found first
    let place = tempfile::tempdir().unwrap();
    for (change, part) in [
        (
            (|s: &mut StudySetup| s.search.sigma = -1.0) as fn(&mut StudySetup),
            "-1.0",
        ),
        (
            |s| s.coordinates[1].name = s.coordinates[0].name.clone(),
            "controller.kp_scale",
        ),
        (|s| s.coordinates[2].range.upper = -9.0, "-9.0"),
    ] {
        let folder = place.path().join("study");
        let mut bad = plan(10);
        change(&mut bad);
        let error = Study::create(&folder, &bad, &Valley::new(0.0), b"").err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
        let left: Vec<String> = std::fs::read_dir(&folder)
            .map(|all| {
                all.map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
                    .collect()
            })
            .unwrap_or_default();
        assert!(left.iter().all(|name| name == ".lock"), "{left:?}");
    }
}
