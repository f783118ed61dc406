//! Files that sessions write.

use std::path::Path;
use std::sync::Arc;

use ambler::experiment::{Prepared, SaveError, Session};

use super::{BUSY, TWO, WALK, in_words, load, play, prepare, root};

#[test]
fn saved_parameters_start_the_experiment_with_what_is_in_effect() {
    // every parameter of the saved experiment at its start is that of the session, with and without a controller's own table
    let folder = tempfile::tempdir().unwrap();
    for (i, base) in [
        format!("{WALK}{BUSY}"),
        TWO.into(),
        "[character]\nfile = \"humanoid.toml\"\n".to_string(),
        "[character]\nfile = \"humanoid.toml\"\n[character.controller]\nkind = \"hold\"\ngains.left_shin = { kp = 50 }\n"
            .to_string(),
    ]
    .iter()
    .enumerate()
    {
        let Ok(prepared) = load(&format!("rate_hz = 240\nduration_s = 0.5\n{base}")) else {
            panic!("{base}");
        };
        let prepared = Arc::new(prepared);
        let mut session = Session::new(prepared.clone());
        play(&mut session, 21 + i as u64, 100);
        for (j, parameter) in session.parameters().iter().enumerate().step_by(5) {
            session.set_parameter(&parameter.path, 0.5 + j as f64 / 3.0).unwrap();
        }
        let path = folder.path().join(format!("{i}.toml"));
        session.save_parameters(&path, false).unwrap();
        let saved = Prepared::read(&path, &[]).unwrap();
        assert!(saved.spec.changes.is_empty());
        assert_eq!(saved.spec.disturbances, prepared.spec.disturbances);
        assert_eq!(Session::new(Arc::new(saved)).parameters(), session.parameters());
    }
}

#[test]
fn saving_keeps_what_is_there_and_says_which_inputs_are_gone() {
    // an existing file stays unless it may be replaced; a missing input is named and nothing is lost
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("base")).unwrap();
    std::fs::copy(root().join("humanoid.toml"), folder.path().join("base/man.toml")).unwrap();
    let base = folder.path().join("base/lie.toml");
    std::fs::write(
        &base,
        "format = 1\nduration_s = 0.2\n[fall]\nstop = true\n[character]\nfile = \"man.toml\"\n",
    )
    .unwrap();
    let prepared = Arc::new(Prepared::read(&base, &[]).unwrap());
    let mut session = Session::new(prepared);
    session.set_parameter("controller.kp_scale", 0.5).unwrap();
    session.step().unwrap();
    let path = folder.path().join("steered.toml");
    session.save_experiment(&path, false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("file = \"base/man.toml\""), "{text}");
    assert!(matches!(
        session.save_experiment(&path, false),
        Err(SaveError::Exists { .. })
    ));
    session.set_parameter("controller.kp_scale", 0.6).unwrap();
    session.save_experiment(&path, true).unwrap();
    assert_ne!(std::fs::read_to_string(&path).unwrap(), text);
    assert!(matches!(
        session.save_experiment(&folder.path().join("nowhere/x.toml"), false),
        Err(SaveError::File(_))
    ));
    std::fs::remove_file(folder.path().join("base/man.toml")).unwrap();
    let saved = session
        .save_experiment(&folder.path().join("late.toml"), false)
        .unwrap();
    assert_eq!(saved.missing.len(), 1);
    assert!(saved.missing[0].ends_with("base/man.toml"));
}

#[test]
fn the_program_checks_and_runs_what_was_saved_and_the_copy_in_its_run_folder() {
    // check finds nothing to say, run arrives at the hash of the session, and so does the run folder's own experiment
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&format!(
        "rate_hz = 240\ncontrol_hz = 120\nduration_s = 0.4\n{WALK}{BUSY}"
    ));
    let mut session = Session::new(prepared);
    play(&mut session, 31, 130);
    let path = folder.path().join("by hand.toml");
    session.save_experiment(&path, false).unwrap();
    let ambler = |arguments: &[&Path]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ambler"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    };
    let word = Path::new;
    assert!(ambler(&[word("check"), &path]).contains("(experiment)"));
    let expected = in_words(session.state_hash());
    for (experiment, out) in [(path.as_path(), "first"), (word("first/experiment.toml"), "second")] {
        let arguments = [
            word("run"),
            experiment,
            word("--out"),
            word(out),
            word("--json"),
            word("--set"),
            word("fall.fails=false"),
        ];
        let summary = ambler(&arguments);
        assert!(summary.contains(&expected), "{summary} for {expected}");
    }
}
