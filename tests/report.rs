//! Reports of run folders: what is on the page, what is refused, what a browser makes of it.
#![allow(clippy::disallowed_methods)] // tests may use std: nothing of theirs is in a simulation

#[path = "common/browser.rs"]
mod browser;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use ambler::clip::ClipFile;
use ambler::experiment::{LoadedSpec, Prepared, RunFolder, RunOptions, run};
use ambler::report::{Dash, Figure, Ink, Mark, Report};
use browser::{browser, check_page};

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs an experiment into a folder.
fn run_into(folder: &Path, experiment: &Path, sets: &[&str]) {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let prepared = Prepared::new(&LoadedSpec::read(experiment, &sets).unwrap()).unwrap();
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

/// Runs that several tests look at and none changes.
fn shared() -> &'static Path {
    static RUNS: OnceLock<tempfile::TempDir> = OnceLock::new();
    RUNS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        run_into(&at("walk"), &in_project("examples/walk.toml"), &["duration_s=6"]);
        let push = in_project("examples/push.toml");
        run_into(&at("push"), &push, &["duration_s=4"]);
        run_into(&at("hard push"), &push, &["duration_s=4", "disturbances.0.force_n=300"]);
        folder
    })
    .path()
}

/// A copy of a run, to be changed.
fn copy_of(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_all(&shared().join(name), copy.path());
    copy
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_all(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
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

fn figure<'a>(report: &'a Report, name: &str) -> &'a Figure {
    let found = report.figures().iter().find(|f| f.name == name);
    found.unwrap_or_else(|| panic!("no figure {name}; missing: {:?}", report.missing()))
}

/// Every coordinate of a figure.
fn coordinates(figure: &Figure) -> Vec<[f64; 2]> {
    let of = |mark: &Mark| match mark {
        Mark::Line { points, .. } | Mark::Area { points, .. } => points.clone(),
        Mark::Dot { center, .. } => vec![*center],
        Mark::Dots { centers, .. } => centers.clone(),
        Mark::Text { at, .. } => vec![*at],
    };
    figure.drawing.marks.iter().flat_map(of).collect()
}

fn assert_drawn(report: &Report) {
    for figure in report.figures() {
        let points = coordinates(figure);
        assert!(points.len() > 20, "{} is empty", figure.name);
        for [x, y] in points {
            let inside =
                (-0.5..=figure.drawing.width + 0.5).contains(&x) && (-0.5..=figure.drawing.height + 0.5).contains(&y);
            assert!(inside, "{}: ({x}, {y}) is outside of the picture", figure.name);
        }
        assert!(figure.caption.len() > 60, "{} explains nothing", figure.name);
    }
}

const FIGURES: [&str; 11] = [
    "tracking_error",
    "error_per_joint",
    "joint_angles",
    "torques",
    "torque_share",
    "ground_forces",
    "balance",
    "gait",
    "phase",
    "assist",
    "energy",
];

/// A whole run gives every figure, drawn within its bounds, and a page with every section.
#[test]
fn a_walk_has_every_figure_and_every_section() {
    let report = Report::read(&[shared().join("walk")]).unwrap();
    let names: Vec<&str> = report.figures().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, FIGURES);
    assert!(report.missing().is_empty());
    assert_drawn(&report);
    let page = report.html();
    for id in ["run", "results", "figures", "experiment"].iter().chain(&FIGURES) {
        assert!(page.contains(&format!("id=\"{id}\"")), "no section {id}");
    }
    assert!(!page.contains("id=\"missing\""));
    for text in [
        "completed: 6.00 s without a fall",
        "walk.bvh",
        "humanoid",
        "kind = &quot;track&quot;",
        "mean over joints and time",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}

/// The page needs nothing but itself: no address, no script, no file; and it is the same for the same folder.
#[test]
fn a_page_is_self_contained_and_repeatable() {
    let folder = shared().join("push");
    let page = Report::read(&[&folder]).unwrap().html();
    for foreign in ["http:", "https:", "<script", " src=", "@import", "file:"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for link in page.split("url(").skip(1).chain(page.split(" href=\"").skip(1)) {
        assert!(link.starts_with("data:") || link.starts_with('#'), "{}", &link[..40]);
    }
    assert_eq!(page, Report::read(&[&folder]).unwrap().html());
    // in a file of its own only the name of the format is an address
    let svg = Report::read(&[&folder]).unwrap().figures()[0].svg();
    assert_eq!(svg.matches("http").count(), 1);
    assert!(svg.contains("xmlns=\"http://www.w3.org/2000/svg\""));
}

/// The gait diagram counts what the motion does: two steps in each cycle of the clip.
#[test]
fn the_cadence_of_the_gait_is_that_of_the_motion() {
    let report = Report::read(&[shared().join("walk")]).unwrap();
    let (clip, _) = ambler::experiment::read_motion(&in_project("data/clips/walk.bvh"), None, None).unwrap();
    let caption = &figure(&report, "gait").caption;
    let before = caption.split(" per minute").next().unwrap();
    let cadence: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let expected = 2.0 * 60.0 / clip.duration();
    // touchdowns are known to a row of metrics.csv, 1/60 s in about 5 s
    assert!((cadence - expected).abs() < 0.01 * expected, "{cadence} and {expected}");
}

/// What was done on the way is told beside the settings, however much it was.
#[test]
fn pushes_and_changes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let change = |i: i32| {
        format!(
            "{{time_s={}, parameter=\"controller.kp_scale\", value={i}}}",
            f64::from(i) / 20.0
        )
    };
    let changes: Vec<String> = (1..=15).map(change).collect();
    let changes = format!("changes=[{}]", changes.join(","));
    let sets = [
        "duration_s=1",
        "disturbances=[{time_s=0.5, every_s=0.1, forces_n=[[3, 0, 4], [1, 0, 0]], body=\"head\"}]",
        &changes,
    ];
    run_into(&folder.path().join("r"), &in_project("examples/stand.toml"), &sets);
    let page = Report::read(&[folder.path().join("r")]).unwrap().html();
    for words in [
        "dragged with up to 5 N for 0.20 s",
        "controller.kp_scale 12 from 0.6 s on; and 3 more",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// What carries is shown whole and in its place: after a fall the support reaches beyond the feet, and between two points it is a
/// line.
#[test]
fn the_support_stays_within_its_moment() {
    let report = Report::read(&[shared().join("hard push")]).unwrap();
    assert_drawn(&report);
    let walk = Report::read(&[shared().join("walk")]).unwrap();
    let marks = &figure(&walk, "balance").drawing.marks;
    let on_two_points =
        |m: &&Mark| matches!(m, Mark::Line { points, stroke } if points.len() == 2 && stroke.ink == Ink::Sky);
    assert!(marks.iter().filter(on_two_points).count() >= 2);
}

/// Runs side by side: one column each, the settings that differ and no others, every time plot with both runs, falls marked.
#[test]
fn several_runs_are_overlaid_and_their_differences_listed() {
    let report = Report::read(&[shared().join("push"), shared().join("hard push")]).unwrap();
    assert_drawn(&report);
    let page = report.html();
    let differences = page
        .split("id=\"differences\"")
        .nth(1)
        .unwrap()
        .split("<h2")
        .next()
        .unwrap();
    assert_eq!(differences.matches("<tr><td>").count(), 1, "{differences}");
    for text in ["disturbances.0.force_n", "40.0", "300.0"] {
        assert!(differences.contains(text), "{text}");
    }
    for name in ["tracking_error", "ground_forces", "energy", "joint_angles", "gait"] {
        let texts: Vec<&str> = (figure(&report, name).drawing.marks.iter())
            .filter_map(|m| match m {
                Mark::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(texts.contains(&"push") && texts.contains(&"hard push"), "{name}");
    }
    // a run that fell is not compared with one that did not
    assert!(!page.contains("<strong>"));

    let fell = report.runs()[1].fell_at().unwrap();
    let drawing = &figure(&report, "tracking_error").drawing;
    let upright: Vec<f64> = (drawing.marks.iter())
        .filter_map(|m| match m {
            Mark::Line { points, stroke } if stroke.dash == Dash::Dotted && points[0][0] == points[1][0] => {
                Some(points[0][0])
            }
            _ => None,
        })
        .collect();
    // the plot begins at 64 and ends 14 before the right edge, after 4 s
    let expected = 64.0 + fell / 4.0 * (drawing.width - 78.0);
    assert_eq!(upright.len(), 2);
    assert!(
        upright.iter().all(|x| (x - expected).abs() < 0.1),
        "{upright:?} {expected}"
    );
}

/// Where both runs came to the same end, the clearly smaller value is bold, and equal ones are not.
#[test]
fn the_better_of_two_comparable_runs_is_bold() {
    let folder = tempfile::tempdir().unwrap();
    let stand = in_project("examples/stand.toml");
    run_into(&folder.path().join("firm"), &stand, &["duration_s=1"]);
    run_into(
        &folder.path().join("soft"),
        &stand,
        &["duration_s=1", "controller.kp_scale=0.7"],
    );
    let page = Report::read(&[folder.path().join("firm"), folder.path().join("soft")])
        .unwrap()
        .html();
    let row = |label: &str| {
        page.split(&format!("<tr><td>{label}</td>"))
            .nth(1)
            .unwrap()
            .split("</tr>")
            .next()
            .unwrap()
    };
    assert_eq!(
        row("tracking error").find("<strong>"),
        row("tracking error").find("<td class=\"n\">").map(|i| i + 14)
    );
    assert!(!row("help, force").contains("<strong>"));
    assert!(!row("speed").contains("<strong>"));
}

/// Contact points are drawn where the recording has them; a folder from before they were recorded does with outlines of feet.
#[test]
fn recordings_with_and_without_contact_points_can_be_read() {
    let new_tracks = [
        "contacts",
        "root_reference",
        "pushes",
        "left_foot_center_of_pressure",
        "right_foot_center_of_pressure",
        "center_of_mass",
    ];
    let copy = copy_of("push");
    let path = copy.path().join("motion.clip");
    let mut clip = ClipFile::read(&path).unwrap();
    clip.vector_tracks.retain(|t| !new_tracks.contains(&t.name.as_str()));
    clip.write(&path).unwrap();
    let report = Report::read(&[copy.path()]).unwrap();
    assert!(
        figure(&report, "balance")
            .caption
            .contains("no contact points were recorded")
    );
    let pushes = report.runs()[0].pushes.clone();
    assert_eq!(pushes.len(), 2);

    let samples = clip.samples();
    let contacts = clip.add_vector("contacts", "", 16);
    let slot = [0.09, 0.0, 0.12, 3.0, 340.0, 1.0, 9.0, 0.0];
    for _ in 0..samples {
        clip.vector_tracks[contacts].values.extend(slot);
        clip.vector_tracks[contacts].values.extend([0.0; 8]);
    }
    // a hand that pulls where the experiment does not push
    let hand = clip.add_vector("pushes", "", 6);
    for i in 0..samples {
        let force = if (150..160).contains(&i) { 55.0 } else { 0.0 };
        clip.vector_tracks[hand].values.extend([0.1, 1.0, 0.0, force, 0.0, 0.0]);
    }
    for values in &mut clip.vector_tracks[hand].values.chunks_exact_mut(6) {
        if values[3] == 0.0 {
            values.fill(0.0);
        }
    }
    clip.write(&path).unwrap();
    let report = Report::read(&[copy.path()]).unwrap();
    assert_drawn(&report);
    assert!(figure(&report, "balance").caption.contains("points that carry"));
    let by_hand: Vec<_> = report.runs()[0].pushes.iter().filter(|p| !pushes.contains(p)).collect();
    assert_eq!(by_hand.len(), 1, "{by_hand:?}");
    assert!((by_hand[0][0] - 150.0 / 60.0).abs() < 0.02 && (by_hand[0][1] - 159.0 / 60.0).abs() < 0.02);
}

/// What was not recorded is no error: the rest is shown, and the page says what is missing and why.
#[test]
fn a_report_says_which_plots_are_missing_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let stand = in_project("examples/stand.toml");
    let has = |report: &Report, name: &str| report.figures().iter().any(|f| f.name == name);

    run_into(&at("no rows"), &stand, &["duration_s=0.5", "recording.metrics_hz=0"]);
    let report = Report::read(&[at("no rows")]).unwrap();
    assert!(has(&report, "joint_angles") && !has(&report, "energy"));
    assert!(report.html().contains("recording.metrics_hz = 0"));

    run_into(&at("no motion"), &stand, &["duration_s=0.5", "recording.motion_hz=0"]);
    let report = Report::read(&[at("no motion")]).unwrap();
    assert!(!has(&report, "joint_angles") && has(&report, "energy"));
    assert!(report.html().contains("recording.motion_hz = 0"));

    run_into(&at("one step"), &stand, &["duration_s=0.004"]);
    assert_drawn(&Report::read(&[at("one step")]).unwrap());

    // killed before its summary, or after the table's header
    let killed = copy_of("push");
    std::fs::remove_file(killed.path().join("summary.json")).unwrap();
    let report = Report::read(&[killed.path()]).unwrap();
    assert!(has(&report, "energy") && report.html().contains("summary.json is missing"));
    let table = std::fs::read_to_string(killed.path().join("metrics.csv")).unwrap();
    std::fs::write(killed.path().join("metrics.csv"), table.lines().next().unwrap()).unwrap();
    let report = Report::read(&[killed.path()]).unwrap();
    assert!(report.html().contains("metrics.csv has no rows"));

    // without the character's file there are no limits
    let bare = copy_of("push");
    std::fs::remove_dir_all(bare.path().join("inputs")).unwrap();
    let report = Report::read(&[bare.path()]).unwrap();
    assert_drawn(&report);
    assert!(has(&report, "torques") && has(&report, "joint_angles") && !has(&report, "torque_share"));
    assert!(report.html().contains("humanoid.toml"));
}

/// Without a character there is the energy of what moves; with several each has its figures.
#[test]
fn runs_without_and_with_several_characters_have_reports() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    let ground = "[[terrain]]\nkind = \"ground\"\n";
    write(
        "ball.toml",
        &format!(
            "format = 1\nduration_s = 1\n{ground}[[props]]\nkind = \"sphere\"\nmass = 6\nradius = 0.2\nposition = [0, 2, 0]\n"
        ),
    );
    run_into(&at("ball"), &at("ball.toml"), &[]);
    let report = Report::read(&[at("ball")]).unwrap();
    let names: Vec<&str> = report.figures().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["energy"]);
    assert_drawn(&report);

    let humanoid = in_project("data/characters/humanoid.toml");
    let who = |name: &str, x: i32| {
        format!(
            "[[characters]]\nfile = {:?}\nname = \"{name}\"\nposition = [{x}, 0, 0]\n",
            humanoid
        )
    };
    write(
        "two.toml",
        &format!(
            "format = 1\nduration_s = 0.5\n{}{}{ground}",
            who("anna", 0),
            who("b <ü>", 2)
        ),
    );
    run_into(&at("two"), &at("two.toml"), &[]);
    let report = Report::read(&[at("two")]).unwrap();
    assert_drawn(&report);
    for name in ["joint_angles_anna", "joint_angles_b__ü_", "energy_anna"] {
        figure(&report, name);
    }
    assert!(report.html().contains("b &lt;ü&gt;") && !report.html().contains("b <ü>"));
    // beside a run of one character and one of none
    assert_drawn(&Report::read(&[at("two"), shared().join("push"), at("ball")]).unwrap());
}

/// What is damaged is refused with exit code 2, the file's name, and what to do; nothing is written.
#[test]
fn damaged_folders_are_refused_by_name() {
    let text = |name: &str, from: &str, to: &str| {
        let copy = copy_of("push");
        let path = copy.path().join(name);
        let old = std::fs::read_to_string(&path).unwrap();
        assert!(old.contains(from), "{name}: {from}");
        std::fs::write(&path, old.replacen(from, to, 1)).unwrap();
        copy
    };
    let cut = copy_of("push");
    let clip = std::fs::read(cut.path().join("motion.clip")).unwrap();
    std::fs::write(cut.path().join("motion.clip"), &clip[..clip.len() / 2]).unwrap();
    let empty = copy_of("push");
    for name in ["summary.json", "metrics.csv", "motion.clip"] {
        std::fs::remove_file(empty.path().join(name)).unwrap();
    }
    let nothing = tempfile::tempdir().unwrap();
    let cases = [
        (text("summary.json", "\"seed\":", "\"seed\""), "summary.json", "damaged"),
        (text("summary.json", "{", "[1]\n{"), "summary.json", "damaged"),
        (text("metrics.csv", "\n0,", "\n0,,"), "metrics.csv", "damaged"),
        (text("metrics.csv", "\n0,", "\nNaN,"), "metrics.csv", "column `time_s`"),
        (
            text("metrics.csv", "\n0,", "\n7e9,"),
            "metrics.csv",
            "does not increase",
        ),
        (
            text("metrics.csv", "time_s", "when"),
            "metrics.csv",
            "expected `time_s`",
        ),
        (
            text("experiment.toml", "[character]", "[character"),
            "experiment.toml",
            "unclosed table",
        ),
        (cut, "motion.clip", "repeat the run"),
        (empty, "experiment.toml", "holds no results"),
        (nothing, "", "expected a run folder"),
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
    let output = ambler(nothing_there().path(), &["missing"]);
    assert_eq!(output.status.code(), Some(2));
}

/// No damage to any file makes it panic: there is a report or an error.
#[test]
fn random_damage_gives_a_report_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    run_into(
        folder.path(),
        &in_project("examples/push.toml"),
        &["duration_s=1", "disturbances.0.time_s=0.2", "disturbances.1.time_s=0.9"],
    );
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut read, mut refused) = (0, 0);
    for name in ["summary.json", "metrics.csv", "experiment.toml", "motion.clip"] {
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random(3) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes[at] = b"0123456789-e.,\"\n[]"[random(18)],
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"19-e,.\n"[random(7)]),
                    _ => bytes[at] = b'9',
                }
            }
            std::fs::write(&path, bytes).unwrap();
            match Report::read(&[folder.path()]) {
                Ok(report) => {
                    read += usize::from(!report.html().is_empty());
                    assert_drawn(&report);
                }
                Err(error) => refused += usize::from(!error.to_string().is_empty()),
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
    println!("{read} read, {refused} refused");
    assert!(read > 20 && refused > 20);
}

fn nothing_there() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Pages go where users look for them, and replace nothing that is not a report.
#[test]
fn the_page_is_written_beside_the_run_and_replaces_only_reports() {
    let copy = copy_of("push");
    let (push, page) = (copy.path().to_str().unwrap(), copy.path().join("report.html"));
    let elsewhere = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = ambler(elsewhere.path(), &[push]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), page.to_str().unwrap());
        assert!(page.is_file());
    }
    let walk = shared().join("walk");
    let both = [push, walk.to_str().unwrap()];
    assert_eq!(ambler(elsewhere.path(), &both).status.code(), Some(0));
    assert!(elsewhere.path().join("report.html").is_file());

    let mine = elsewhere.path().join("mine.html");
    std::fs::write(&mine, "<!DOCTYPE html>my notes").unwrap();
    let refused = ambler(elsewhere.path(), &[push, "--out", "mine.html"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"));
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "<!DOCTYPE html>my notes");
    assert_eq!(
        ambler(elsewhere.path(), &[push, "--out", "mine.html", "--force"])
            .status
            .code(),
        Some(0)
    );
    assert_ne!(std::fs::read_to_string(&mine).unwrap(), "<!DOCTYPE html>my notes");
    // a folder is no page
    assert_eq!(ambler(elsewhere.path(), &[push, "--out", "."]).status.code(), Some(2));
}

/// Plots are files of their own, SVG that says what it is and PNG of twice the size with the curves in their colour.
#[test]
fn plots_are_written_as_svg_and_png() {
    let copy = copy_of("push");
    let output = ambler(copy.path(), &[".", "--plots", "figures/of push", "--format", "both"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = copy.path().join("figures/of push");
    let report = Report::read(&[copy.path()]).unwrap();
    for figure in report.figures() {
        let svg = std::fs::read_to_string(folder.join(format!("{}.svg", figure.name))).unwrap();
        assert_eq!(svg, figure.svg());
        assert!(svg.contains("DejaVu Sans") && svg.contains("sans-serif") && !svg.contains("var("));
    }
    let drawing = &figure(&report, "energy").drawing;
    let (width, height, pixels) = decoded(&std::fs::read(folder.join("energy.png")).unwrap());
    assert_eq!(
        (width, height),
        (2 * drawing.width as usize, 2 * drawing.height.ceil() as usize)
    );
    let count = |rgb: [u8; 3]| pixels.chunks_exact(3).filter(|p| *p == rgb).count();
    assert!(count([255, 255, 255]) > pixels.len() / 6, "the paper is white");
    // the vermillion line of the kinetic energy runs across 800 units
    assert!(count([0xd5, 0x5e, 0x00]) > 1600, "{}", count([0xd5, 0x5e, 0x00]));
    assert!(count([0x22, 0x22, 0x22]) > 200, "text");
    // written again without complaint
    let again = ambler(copy.path(), &[".", "--plots", "figures/of push", "--format", "png"]);
    assert_eq!(
        again.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    std::fs::write(folder.join("gait.svg"), "<svg/>").unwrap();
    assert_eq!(
        ambler(copy.path(), &[".", "--plots", "figures/of push"]).status.code(),
        Some(2)
    );
}

/// Width, height and RGB of a PNG with the filters 0 and 2 and one block of data.
fn decoded(png: &[u8]) -> (usize, usize, Vec<u8>) {
    let word = |i: usize| u32::from_be_bytes(png[i..i + 4].try_into().unwrap()) as usize;
    let (width, height) = (word(16), word(20));
    let mut at = 8;
    while &png[at + 4..at + 8] != b"IDAT" {
        at += 12 + word(at);
    }
    let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&png[at + 8..at + 8 + word(at)]).unwrap();
    let stride = 3 * width;
    let mut pixels: Vec<u8> = Vec::new();
    for row in rows.chunks_exact(stride + 1) {
        let above = pixels.len().saturating_sub(stride);
        for (i, byte) in row[1..].iter().enumerate() {
            let value = if row[0] == 2 {
                byte.wrapping_add(pixels[above + i])
            } else {
                *byte
            };
            pixels.push(value);
        }
    }
    (width, height, pixels)
}

/// A minute of walking is a page of less than 3 MB.
#[test]
fn a_minute_of_walking_stays_below_three_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    run_into(
        folder.path(),
        &in_project("examples/walk.toml"),
        &["duration_s=60", "recording.motion_hz=240", "recording.metrics_hz=240"],
    );
    let begin = std::time::Instant::now();
    let report = Report::read(&[folder.path()]).unwrap();
    let page = report.html();
    println!(
        "{:.2} MB in {:.2} s",
        page.len() as f64 * 1e-6,
        begin.elapsed().as_secs_f64()
    );
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_eq!(report.figures().len(), FIGURES.len());
}

/// A browser shows every plot, without a complaint on its console, no text cut off and no text upon another.
#[test]
fn a_browser_shows_every_plot_without_complaint() {
    let Some(browser) = browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let several = [shared().join("push"), shared().join("hard push")];
    for (name, folders) in [("one", &[shared().join("walk")][..]), ("two", &several[..])] {
        let report = Report::read(folders).unwrap();
        check_page(browser, folder.path(), name, &report);
    }
}
