//! Kills: the process ends at any moment, and the study goes on as if it had not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ambler::math::random::uniform_in;

use super::*;

/// What the processes that are killed do.
fn valley() -> Valley {
    Valley {
        fails_above: 3.0,
        longest: Duration::from_millis(6),
        ..Valley::new(0.3)
    }
}

const EVALUATIONS: u64 = 350;

/// Begins the study, or goes on with it, and ends it.
fn session(folder: &Path, jobs: usize) {
    let valley = valley();
    let plan = full_plan(EVALUATIONS);
    let mut study = match folder.join("evaluations.csv").exists() {
        true => resume(folder, &plan, &valley),
        false => create(folder, &plan, &valley),
    };
    let options = Options {
        // so that kills come in the middle of saving, too
        save_every: Some(Duration::ZERO),
        ..options(jobs)
    };
    let summary = study.run(&valley, &options, &mut |_| ()).unwrap();
    assert_eq!(summary.stopped_by, "budget");
}

/// Not a test but the process that the tests kill: it runs a session in the folder that it is given.
#[test]
#[ignore = "run by the tests beside it"]
fn child() {
    let (Some(folder), Ok(jobs)) = (std::env::var_os("STUDY_FOLDER"), std::env::var("STUDY_JOBS")) else {
        panic!("expected a folder and a number of threads from the test that calls this");
    };
    session(Path::new(&folder), jobs.parse().unwrap());
}

/// A command that runs [`child`].
pub fn child_command(folder: &Path, jobs: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "kill::child", "--ignored"])
        .env("STUDY_FOLDER", folder)
        .env("STUDY_JOBS", jobs.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn kill_three_times(jobs: usize) {
    let place = tempfile::tempdir().unwrap();
    let (whole, killed) = (place.path().join("whole"), place.path().join("killed"));
    session(&whole, 2);
    let rows = |folder: &Path| {
        let log = std::fs::read(folder.join("evaluations.csv")).unwrap_or_default();
        log.iter().filter(|b| **b == b'\n').count()
    };
    let mut rows_at_kills = Vec::new();
    for kill in 0..3 {
        let mut child = child_command(&killed, jobs).spawn().unwrap();
        // it may take its time to begin
        let last = rows_at_kills.last().copied().unwrap_or(1);
        while rows(&killed) <= last {
            assert!(child.try_wait().unwrap().is_none(), "it ended too soon");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_secs_f64(uniform_in(jobs as u64, 0, kill, 0.0, 0.2)));
        // SIGKILL: nothing in the process gets to know
        child.kill().unwrap();
        child.wait().unwrap();
        rows_at_kills.push(rows(&killed));
    }
    let rows = rows(&whole);
    // the kills came while it ran, and what had been written stayed
    assert!(
        rows_at_kills.is_sorted() && rows_at_kills[2] > 10 && rows_at_kills[2] < rows,
        "{rows_at_kills:?} of {rows}"
    );
    assert!(child_command(&killed, jobs).status().unwrap().success());
    assert_same(&killed, &whole);
}

#[test]
fn killed_at_any_moment_a_study_on_one_thread_ends_the_same() {
    // SIGKILL at three random moments, then to the end: every file equal to the byte
    kill_three_times(1);
}

#[test]
fn killed_at_any_moment_a_study_on_two_threads_ends_the_same() {
    // the same, where rows wait for rows of other threads
    kill_three_times(2);
}

#[test]
fn interrupted_anywhere_it_ends_the_same() {
    // after any number of evaluations, in the middle of candidates, second evaluations and validations, again and again
    let quick = Valley {
        fails_above: 3.0,
        ..Valley::new(0.3)
    };
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole");
    run_whole(&whole, &full_plan(200), &quick, 2);
    for (n, step) in [(0, 1), (1, 7), (2, 50)] {
        // by another process, or in the same one
        for again in [true, false] {
            let folder = place.path().join(format!("{n}{again}"));
            let mut study = create(&folder, &full_plan(200), &quick);
            let mut outcome = run_until(&mut study, &quick, step, 1 + n);
            while outcome.summary.stopped_by == "interrupt" {
                if again {
                    drop(study);
                    study = resume(&folder, &full_plan(200), &quick);
                }
                outcome = run_until(&mut study, &quick, step, 1 + n);
            }
            assert_eq!(outcome.summary.stopped_by, "budget");
            assert_same(&folder, &whole);
        }
    }
}

#[test]
fn a_torn_row_is_evaluated_again() {
    // whatever byte the log ends with, resuming from the first checkpoint or from a later one leads to the same files
    let quick = Valley::new(0.3);
    let place = tempfile::tempdir().unwrap();
    let (whole, torn) = (place.path().join("whole"), place.path().join("torn"));
    drop(create(&torn, &full_plan(120), &quick));
    let first = std::fs::read(torn.join("checkpoint")).unwrap();
    run_whole(&whole, &full_plan(120), &quick, 1);
    let log = std::fs::read(whole.join("evaluations.csv")).unwrap();
    let history = std::fs::read(whole.join("history.csv")).unwrap();
    for k in 0..12 {
        let cut = |bytes: &[u8], stream, header: usize| {
            bytes[..uniform_in(3, stream, k, header as f64, bytes.len() as f64) as usize].to_vec()
        };
        let header = |bytes: &[u8]| bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        std::fs::write(torn.join("evaluations.csv"), cut(&log, 0, header(&log))).unwrap();
        std::fs::write(torn.join("history.csv"), cut(&history, 1, header(&history))).unwrap();
        std::fs::write(torn.join("checkpoint"), &first).unwrap();
        let outcome = run(&mut resume(&torn, &full_plan(120), &quick), &quick, 2);
        assert!(outcome.made > 0);
        assert_same(&torn, &whole);
    }
}

#[test]
fn without_a_checkpoint_the_log_is_enough() {
    // the checkpoint can be removed: what is evaluated already is not evaluated again, and it comes back to the byte
    let quick = Valley::new(0.3);
    let place = tempfile::tempdir().unwrap();
    let (whole, without) = (place.path().join("whole"), place.path().join("without"));
    run_whole(&whole, &full_plan(120), &quick, 1);
    run_whole(&without, &full_plan(120), &quick, 1);
    std::fs::remove_file(without.join("checkpoint")).unwrap();
    let outcome = run(&mut resume(&without, &full_plan(120), &quick), &quick, 1);
    assert_eq!(outcome.made, 0);
    assert_same(&without, &whole);
}

#[test]
fn a_study_killed_while_its_files_were_made_can_be_begun() {
    // whichever of the files are there, and if there is only half of one: resuming begins it
    let quick = Valley::new(0.3);
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole");
    run_whole(&whole, &full_plan(60), &quick, 1);
    for (n, kept) in [&[][..], &["evaluations.csv"], &["evaluations.csv", "history.csv"]]
        .iter()
        .enumerate()
    {
        let folder = place.path().join(n.to_string());
        drop(create(&folder, &full_plan(60), &quick));
        for name in ["checkpoint", "history.csv", "evaluations.csv"] {
            if !kept.contains(&name) {
                std::fs::remove_file(folder.join(name)).unwrap();
            }
        }
        if let Some(last) = kept.last() {
            let text = std::fs::read(folder.join(last)).unwrap();
            std::fs::write(folder.join(last), &text[..text.len() / 2]).unwrap();
        }
        std::fs::write(folder.join(".tmpabc"), "half").unwrap();
        run(&mut resume(&folder, &full_plan(60), &quick), &quick, 2);
        assert_same(&folder, &whole);
    }
}
