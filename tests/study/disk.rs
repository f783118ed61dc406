//! Disks that are full and folders that may not be written to.
#![cfg(target_os = "linux")]

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::kill::child_command;
use super::*;

#[test]
fn a_full_disk_ends_a_session_with_an_error_and_loses_nothing() {
    // a limit on the size of files stands for the disk: what was written stays, and with more room it ends the same
    let place = tempfile::tempdir().unwrap();
    let (whole, full) = (place.path().join("whole"), place.path().join("full"));
    assert!(child_command(&whole, 2).status().unwrap().success());
    let size = |folder: &Path| std::fs::metadata(folder.join("evaluations.csv")).map_or(0, |m| m.len());
    let mut before = 0;
    for kilobytes in [6, 11, 16] {
        assert!(size(&whole) > kilobytes * 1024);
        // the signal for it is off, so that writing fails instead
        let limited = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
        let child = child_command(&full, 2);
        let status = Command::new("bash")
            .args(["-c", &limited])
            .arg(child.get_program())
            .args(child.get_args())
            .envs(child.get_envs().map(|(k, v)| (k, v.unwrap())))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success());
        let now = size(&full);
        assert!(
            now >= before && now > (kilobytes - 2) * 1024 && now <= kilobytes * 1024,
            "{now}"
        );
        before = now;
        let log = std::fs::read_to_string(full.join("study.log")).unwrap();
        let last = log.lines().last().unwrap();
        assert!(
            last.contains("cannot write") && last.contains("evaluations.csv"),
            "{last}"
        );
    }
    assert!(child_command(&full, 2).status().unwrap().success());
    assert_same(&full, &whole);
}

#[test]
fn results_that_cannot_be_written_are_an_error_of_the_machine() {
    // each file in turn is a folder that cannot be replaced; once that is gone the study is whole
    let valley = Valley::new(0.3);
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole");
    run_whole(&whole, &full_plan(100), &valley, 1);
    for name in [
        "summary.json",
        "best_parameters.toml",
        "mean_parameters.toml",
        "checkpoint",
    ] {
        let folder = place.path().join(name);
        let mut study = create(&folder, &full_plan(100), &valley);
        let path = folder.join(name);
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir(&path).unwrap();
        let error = study.run(&valley, &options(2), &mut |_| ()).unwrap_err();
        assert!(error.is_of_machine() && error.to_string().contains(name), "{error}");
        drop(study);
        std::fs::remove_dir(&path).unwrap();
        if let Some(bytes) = kept {
            std::fs::write(&path, bytes).unwrap();
        }
        run(&mut resume(&folder, &full_plan(100), &valley), &valley, 2);
        assert_same(&folder, &whole);
    }
}

#[test]
fn a_device_is_no_log() {
    // a full one is refused with its name, as it cannot be read
    let place = tempfile::tempdir().unwrap();
    let valley = Valley::new(0.3);
    drop(create(place.path(), &plan(100), &valley));
    let path = place.path().join("evaluations.csv");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let error = Study::resume(place.path(), &plan(100), &valley, b"valley")
        .err()
        .unwrap();
    assert!(
        error.is_of_machine() && error.to_string().contains("evaluations.csv"),
        "{error}"
    );
}

/// Not a test but a process without the rights of its caller: what it may not do must be an error, for a new study and an old one.
#[test]
#[ignore = "run by the test beside it"]
fn child_without_rights() {
    let Some(folder) = std::env::var_os("STUDY_FOLDER") else {
        panic!("expected a folder from the test that calls this");
    };
    let folder = Path::new(&folder);
    let valley = Valley::new(0.3);
    for study in [
        Study::resume(folder, &full_plan(100), &valley, b"valley"),
        Study::create(&folder.join("new"), &full_plan(10), &valley, b"valley"),
    ] {
        let error = study.err().unwrap();
        assert!(
            error.is_of_machine() && error.to_string().contains("ermission"),
            "{error}"
        );
    }
}

#[test]
fn a_folder_that_may_not_be_written_to_is_an_error_and_stays_as_it_is() {
    // somebody else's process can read it and no more
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("study");
    let valley = Valley::new(0.3);
    run_until(&mut create(&folder, &full_plan(100), &valley), &valley, 30, 1);
    let before = files(&folder);
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    for name in [".lock", "evaluations.csv", "history.csv", "checkpoint", "study.log"] {
        set(&folder.join(name), 0o444);
    }
    set(place.path(), 0o755);
    set(&folder, 0o555);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "disk::child_without_rights", "--ignored"])
        .env("STUDY_FOLDER", &folder);
    // SAFETY of the test: root may write anywhere, so the child is nobody
    if std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0) {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output().unwrap();
    set(&folder, 0o755);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(files(&folder) == before);
}
