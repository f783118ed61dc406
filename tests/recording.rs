//! What a run leaves in its folder, and playing it back.

use std::path::Path;

use ambler::clip::{ClipFile, ClipReader};
use ambler::experiment::{Frame, LoadedSpec, Playback, Prepared, RunFolder, RunOptions, Simulation, run};

const KEEP: RunOptions = RunOptions {
    give_up_above: None,
    metrics: true,
    motion: true,
    stop: None,
};

fn prepare(text: &str) -> Prepared {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/characters");
    let text = &format!("format = 1\n{text}");
    Prepared::new(&LoadedSpec::parse(text, "test", folder, &[]).unwrap()).unwrap()
}

/// Pushed, among props, on a moving platform: something in every track.
fn lively(duration: f64) -> Prepared {
    prepare(&format!(
        "duration_s = {duration}\nseed = 3\n[character]\nfile = \"humanoid.toml\"\n[controller]\nkind = \"hold\"\n\
         [[terrain]]\nkind = \"ground\"\n\
         [[platforms]]\nmotion = \"sine\"\nsize = [1, 0.1, 1]\nposition = [3, 0.5, 0]\namplitude_m = [0, 0.2, 0]\nfrequency_hz = 0.7\n\
         [[props]]\nkind = \"box\"\nname = \"crate\"\nmass = 4\nsize = [0.3, 0.3, 0.3]\nposition = [3, 0.9, 0]\n\
         [[props]]\nkind = \"sphere\"\nmass = 2\nradius = 0.1\nposition = [0.1, 2.4, 0]\n\
         [[disturbances]]\ntime_s = 0.3\nduration_s = 0.2\nforce_n = 120\ndirection = \"left\"\n"
    ))
}

/// The experiment step by step, with a frame for every sample of its recording.
fn live(prepared: &Prepared, stride: u64) -> Vec<Frame> {
    let mut simulation = Simulation::new(prepared);
    let mut frames = Vec::new();
    loop {
        simulation.control();
        if simulation.engine.steps().is_multiple_of(stride) {
            frames.push(Frame::of(&simulation));
        }
        if simulation.engine.steps() == prepared.spec.steps() {
            return frames;
        }
        simulation.step().unwrap();
    }
}

fn run_into(prepared: &Prepared, path: &Path) {
    let mut folder = RunFolder::at(path, false).unwrap();
    folder.begin(prepared).unwrap();
    let (outcome, written) = folder.run(prepared, &KEEP, &mut ());
    written.unwrap();
    assert!(outcome.error.is_none());
}

#[test]
fn a_played_frame_is_the_frame_that_was_simulated() {
    // every sample shows what the live simulation showed, to the bit where it was recorded; longer than one segment
    let prepared = lively(5.0);
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("r"));
    let mut playback = Playback::open(&folder.path().join("r")).unwrap();
    let frames = live(&prepared, 4);
    assert_eq!(playback.samples(), frames.len());
    assert!(frames.iter().any(|f| !f.pushes.is_empty()));
    // from the end, so that segments are sought and not only read on
    for (i, frame) in frames.iter().enumerate().rev() {
        let mut played = playback.sample(i).unwrap();
        assert!((played.time - frame.time).abs() < 1e-12);
        played.time = frame.time;
        let (a, b) = (&mut played.characters[0], &frame.characters[0]);
        assert!(a.com_velocity.distance(b.com_velocity) < 1e-12, "sample {i}");
        a.com_velocity = b.com_velocity;
        assert_eq!(a.contacts.len(), b.contacts.len(), "sample {i}");
        assert_eq!(played, *frame, "sample {i}");
    }
}

#[test]
fn between_samples_the_picture_is_interpolated() {
    // positions lie on the straight line, rotations on the arc; outside of the recording its ends are shown
    let prepared = lively(1.0);
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("r"));
    let mut playback = Playback::open(&folder.path().join("r")).unwrap();
    assert!((playback.duration() - 1.0).abs() < 1e-12);
    let step = playback.frame_time();
    let (a, b) = (playback.sample(30).unwrap(), playback.sample(31).unwrap());
    let mid = playback.frame(30.25 * step).unwrap();
    for ((a, b), m) in (a.characters[0].bodies.iter().zip(&b.characters[0].bodies)).zip(&mid.characters[0].bodies) {
        assert!(m.position.distance(a.position.lerp(b.position, 0.25)) < 1e-12);
        let (whole, part) = (
            a.rotation.angle_between(b.rotation),
            a.rotation.angle_between(m.rotation),
        );
        assert!((part - 0.25 * whole).abs() < 1e-7, "{part} of {whole}");
    }
    assert!(a.props[0][0].position != b.props[0][0].position && mid.props[0][0] != a.props[0][0]);
    assert_eq!(playback.frame(-1.0).unwrap(), playback.sample(0).unwrap());
    assert_eq!(playback.frame(99.0).unwrap(), playback.sample(60).unwrap());
    assert_eq!(playback.frame(0.5).unwrap(), playback.sample(30).unwrap());
    assert!(playback.sample(61).is_err());
}

#[test]
fn what_is_written_along_the_way_is_what_was_kept_in_memory() {
    // both ways to a run folder leave the same bytes of results, and hash
    let prepared = lively(5.0);
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("streamed"));
    let outcome = run(&prepared, &KEEP, &mut ());
    let mut kept = RunFolder::at(&folder.path().join("kept"), false).unwrap();
    kept.begin(&prepared).unwrap();
    kept.finish(&prepared, &outcome).unwrap();
    let read = |run: &str, file: &str| std::fs::read(folder.path().join(run).join(file)).unwrap();
    for file in ["metrics.csv", "motion.bvh", "experiment.toml"] {
        assert!(read("streamed", file) == read("kept", file), "{file}");
    }
    let clip = |run: &str| ClipFile::read(&folder.path().join(run).join("motion.clip")).unwrap();
    assert_eq!(clip("streamed"), clip("kept"));
    assert_eq!(clip("kept"), outcome.recordings[0].finished(&prepared));
    let names: Vec<_> = std::fs::read_dir(folder.path().join("streamed"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn props_alone_are_recorded_and_played() {
    // without a character there is still a recording of what moves
    let prepared = prepare(
        "duration_s = 1\n[[terrain]]\nkind = \"ground\"\n[[props]]\nkind = \"sphere\"\nname = \"ball\"\nmass = 1\n\
         radius = 0.1\nposition = [0, 2, 0]\n",
    );
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("r"));
    let mut playback = Playback::open(&folder.path().join("r")).unwrap();
    let frames = live(&prepared, 4);
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(playback.sample(i).unwrap().props, frame.props);
    }
    assert!(frames[0].props[0][0].position.y > frames[20].props[0][0].position.y);
    // nobody could follow it as a motion, but it is a good clip
    let clip = folder.path().join("r/motion.clip");
    let check = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ambler"));
        command.arg("check").arg(&clip).output().unwrap()
    };
    let checked = check();
    let words = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success() && words.contains("2 tracks, 61 samples, 1.00 s"),
        "{words}"
    );
    let bytes = std::fs::read(&clip).unwrap();
    std::fs::write(&clip, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(check().status.code(), Some(2));
}

#[test]
fn whatever_things_are_called_their_run_is_kept_whole() {
    // names that no file could have are cut, names that nobody could tell apart are refused before anything is simulated
    let who = |name: &str, x: usize| {
        format!("[[characters]]\nfile = \"humanoid.toml\"\nname = {name:?}\nposition = [{x}, 0, 0]\n")
    };
    let long = "é/".repeat(400);
    let (second, third) = (format!("{long}b"), format!("{long}c"));
    let prepared = prepare(&format!(
        "duration_s = 0.1\n{}{}{}",
        who("motion", 0),
        who(&second, 2),
        who(&third, 4)
    ));
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("r"));
    assert!(folder.path().join("r/summary.json").is_file());
    let mut playback = Playback::open(&folder.path().join("r")).unwrap();
    let x = |c: &ambler::experiment::CharacterFrame| c.bodies[0].position.x.round();
    let places: Vec<f64> = playback.sample(0).unwrap().characters.iter().map(x).collect();
    assert_eq!(places, [0.0, 2.0, 4.0]);

    let ball = |name: &str| format!("[[props]]\nkind = \"sphere\"\nmass = 1\nradius = 0.1\n{name}");
    for text in [
        ball("name = \"ball\"\n").repeat(2),
        // the second one is called so without a name of its own
        ball("name = \"prop1\"\n") + &ball(""),
    ] {
        let spec = LoadedSpec::parse(&format!("format = 1\nduration_s = 1\n{text}"), "test", ".".into(), &[]).unwrap();
        let error = Prepared::new(&spec).err().unwrap().to_string();
        assert!(error.contains("props[1]") && error.contains("two props"), "{error}");
    }
}

#[test]
fn of_many_pushes_at_once_the_strongest_are_recorded() {
    // however many disturbances an experiment has, a sample has 24 places, and those that act come first
    let mut text = "duration_s = 0.1\n[character]\nfile = \"humanoid.toml\"\n".to_string();
    for i in 0..11_000 {
        // 30 at first, the others one by one long after the end of the first
        let (time, force) = if i < 30 { (0.0, 1 + i * 7 % 30) } else { (0.09, 0) };
        text +=
            &format!("[[disturbances]]\ntime_s = {time}\nduration_s = 0.05\nforce_n = {force}\ndirection = \"up\"\n");
    }
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepare(&text), &folder.path().join("r"));
    let clip = ClipFile::read(&folder.path().join("r/motion.clip")).unwrap();
    let track = clip.vector("pushes").unwrap();
    assert_eq!(track.arity, 24 * 6);
    let recorded: Vec<f64> = track.sample(1).unwrap().chunks_exact(6).map(|p| p[4].round()).collect();
    let acting: Vec<f64> = (0..30)
        .map(|i| f64::from(1 + i * 7 % 30))
        .filter(|f| *f > 6.0)
        .collect();
    assert_eq!(recorded, acting);
    let mut playback = Playback::open(&folder.path().join("r")).unwrap();
    assert_eq!(playback.sample(1).unwrap().pushes.len(), 24);
}

#[test]
fn a_repeated_run_replaces_everything_that_came_of_the_earlier_one() {
    // results and their report go before the new run begins; what cannot be written is an error about the folder
    let prepared = lively(0.4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    run_into(&prepared, &path);
    for name in ["report.html", "motion_gone.clip", "note.txt"] {
        std::fs::write(path.join(name), "of the earlier run").unwrap();
    }
    RunFolder::at(&path, true).unwrap().begin(&prepared).unwrap();
    let mut left: Vec<_> = (std::fs::read_dir(&path).unwrap())
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["experiment.toml", "inputs", "note.txt", "run.log"]);

    let input = path.join("inputs/humanoid.toml");
    std::fs::remove_file(&input).unwrap();
    std::fs::create_dir(&input).unwrap();
    let error = RunFolder::at(&path, true).unwrap().begin(&prepared).unwrap_err();
    assert!(
        matches!(&error, ambler::experiment::ExperimentError::Folder(m) if m.contains("humanoid.toml")),
        "{error:?}"
    );
}

#[test]
fn recordings_of_earlier_versions_play_without_what_they_lack() {
    // the tracks that were added later are missing: bodies, joints and centre of mass are there all the same
    let prepared = lively(0.5);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("r");
    run_into(&prepared, &run);
    let path = run.join("motion.clip");
    let mut file = ClipFile::read(&path).unwrap();
    let later = [
        "contacts",
        "root_reference",
        "center_of_mass",
        "pushes",
        "left_foot_center_of_pressure",
        "right_foot_center_of_pressure",
    ];
    file.vector_tracks.retain(|t| !later.contains(&t.name.as_str()));
    file.scalar_tracks.clear();
    file.write(&path).unwrap();
    let mut playback = Playback::open(&run).unwrap();
    let frames = live(&prepared, 4);
    let (played, frame) = (playback.sample(20).unwrap(), &frames[20]);
    let (a, b) = (&played.characters[0], &frame.characters[0]);
    assert_eq!((&a.bodies, &a.errors, &a.torques), (&b.bodies, &b.errors, &b.torques));
    assert!(a.center_of_mass.distance(b.center_of_mass) < 1e-9);
    assert!(a.contacts.is_empty() && a.feet[0].center_of_pressure.is_none() && played.pushes.is_empty());
    // the reference stands on the character's own root
    assert_eq!(a.reference[0], a.bodies[0]);
}

#[test]
fn what_is_no_recorded_run_is_refused_by_name() {
    // a missing experiment, a missing or damaged recording, or one of something else: errors that say so
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| Playback::open(path).err().unwrap().to_string();
    assert!(error(folder.path()).contains("not a run folder"));
    let prepared = lively(0.4);
    let run = folder.path().join("r");
    run_into(&prepared, &run);
    let path = run.join("motion.clip");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    assert!(error(&run).contains("motion.clip"), "{}", error(&run));
    let clip = ClipFile::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive/clip_v2.clip")).unwrap();
    clip.write(&path).unwrap();
    assert!(error(&run).contains("another experiment"), "{}", error(&run));
    std::fs::remove_file(&path).unwrap();
    assert!(error(&run).contains("motion_hz"), "{}", error(&run));
}

#[test]
fn a_recording_has_one_segment_every_four_seconds() {
    // so that reading needs no more than one of them
    let prepared = lively(9.0);
    let folder = tempfile::tempdir().unwrap();
    run_into(&prepared, &folder.path().join("r"));
    let mut reader = ClipReader::open(&folder.path().join("r/motion.clip")).unwrap();
    assert_eq!(reader.samples(), 541);
    let firsts: Vec<usize> = [0, 239, 240, 540]
        .map(|s| reader.segment(s).unwrap().unwrap().0)
        .to_vec();
    assert_eq!(firsts, [0, 0, 240, 480]);
    assert_eq!(reader.head().provenance("engine"), Some("articulated"));
}
