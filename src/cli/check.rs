//! `ambler check`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Verdict;
use super::print::{Failure, out};
use crate::character::{self, Character, Finding, Severity};
use crate::clip::{ClipFile, ClipReader};
use crate::control::{Track, body_poses, joint_rotation};
use crate::experiment::{Actor, ActorController, LoadedSpec, Prepared, read_motion};
use crate::files;
use crate::optimize::Evaluator;
use crate::optimize::study::LoadedStudy;
use crate::optimize::sweep::points;
use crate::skeleton::Pose;
use crate::world::PdMode;

#[derive(Args, Debug)]
pub(super) struct CheckArguments {
    /// Characters, experiments, studies, BVH files and clips
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

/// What a file turned out to be.
enum Kind {
    Character,
    Experiment,
    Study,
    Motion,
}

pub(super) fn check(arguments: &CheckArguments) -> Result<Verdict, Failure> {
    let mut verdict = Verdict::Good;
    let mut failure = None;
    for path in &arguments.files {
        match check_file(path) {
            Ok(Verdict::Good) => {}
            Ok(Verdict::Bad) => verdict = Verdict::Bad,
            // the other files are looked at all the same
            Err(f) => {
                f.print();
                failure = Some(Failure {
                    code: f.code,
                    message: format!("{} cannot be read", path.display()),
                    hint: None,
                });
            }
        }
    }
    match failure {
        Some(f) => Err(f),
        None => Ok(verdict),
    }
}

fn check_file(path: &Path) -> Result<Verdict, Failure> {
    match kind(path)? {
        Kind::Motion => check_motion(path),
        Kind::Character => {
            let character = Character::load(path).map_err(Failure::input)?;
            Ok(report(path, "character", &character::check(&character, None)))
        }
        Kind::Experiment => check_experiment(path),
        Kind::Study => check_study(path),
    }
}

/// Reads a study with its experiment, tries it with the initial values, and checks that experiment.
fn check_study(path: &Path) -> Result<Verdict, Failure> {
    let loaded = LoadedStudy::read(path)?;
    let problem = loaded.problem()?;
    let setup = loaded.setup(&problem)?;
    if loaded.spec.sweep.is_some() {
        points(&loaded, &setup, &problem)?;
    }
    out(format!(
        "{}: study of {} parameters and {} measures",
        path.display(),
        setup.coordinates.len(),
        problem.measures().len()
    ));
    for warning in problem.warnings() {
        out(format!("  warning: {warning}"));
    }
    Ok(Verdict::Good)
}

/// By content: TOML with parameters is a study, with a duration is an experiment, other TOML a character; everything else is motion.
fn kind(path: &Path) -> Result<Kind, Failure> {
    let is_toml = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    if !is_toml {
        return Ok(Kind::Motion);
    }
    let text = files::read_text(path).map_err(Failure::input)?;
    let table: toml::Table = files::parse_toml(&text, &path.display().to_string()).map_err(Failure::input)?;
    if table.contains_key("parameters") || table.contains_key("experiment") {
        return Ok(Kind::Study);
    }
    let experiment = ["duration_s", "controller", "characters", "rate_hz", "terrain"];
    Ok(match experiment.iter().any(|k| table.contains_key(*k)) {
        true => Kind::Experiment,
        false => Kind::Character,
    })
}

fn check_motion(path: &Path) -> Result<Verdict, Failure> {
    if let Some(tracks) = only_tracks(path) {
        out(format!("{} (clip without poses): good", path.display()));
        out(format!(
            "  {}, {}, {:.2} s",
            counted(tracks.scalar_tracks.len() + tracks.vector_tracks.len(), "track"),
            counted(tracks.samples(), "sample"),
            tracks.samples().saturating_sub(1) as f64 * tracks.rate.frame_time()
        ));
        return Ok(Verdict::Good);
    }
    let (clip, warnings) = read_motion(path, None, None)?;
    out(format!(
        "{} (motion): {}",
        path.display(),
        counted(warnings.len(), "warning")
    ));
    for warning in warnings {
        out(format!("  warning: {warning}"));
    }
    out(format!(
        "  {} joints, {} frames, {:.2} s",
        clip.skeleton.joints.len(),
        clip.frames.len(),
        clip.duration()
    ));
    Ok(Verdict::Good)
}

/// A clip that nobody could follow, like the recording of props; what cannot be read is for others to explain.
fn only_tracks(path: &Path) -> Option<ClipFile> {
    let is_clip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("clip"));
    // the head first, so that motion is not read twice
    let mut reader = is_clip.then(|| ClipReader::open(path).ok())??;
    let empty = reader.head().skeleton.joints.is_empty();
    let begins_without_poses = reader.segment(0).ok()?.is_some_and(|(_, part)| part.frames.is_empty());
    (empty || begins_without_poses).then(|| ClipFile::read(path).ok())?
}

fn check_experiment(path: &Path) -> Result<Verdict, Failure> {
    let prepared = Prepared::new(&LoadedSpec::read(path, &[])?)?;
    let mut findings = Vec::new();
    for actor in &prepared.actors {
        findings.extend(character::check(&actor.character, held_pose(actor).as_ref()));
        if let ActorController::Track(track) = actor.controller.base() {
            findings.extend(overlaps_in_motion(actor, track));
        }
        if actor.mode == PdMode::Explicit {
            // with the gains that the controller really uses
            findings.extend(character::explicit_stability(&actor.driven_character(), prepared.dt()));
        }
    }
    let verdict = report(path, "experiment", &findings);
    for warning in &prepared.warnings {
        out(format!("  warning: {warning}"));
    }
    Ok(verdict)
}

/// The pose that an actor holds, if it does.
fn held_pose(actor: &Actor) -> Option<Pose> {
    let ActorController::Hold(hold) = actor.controller.base() else {
        return None;
    };
    let bodies = &actor.character.bodies;
    Some(Pose {
        translations: bodies.iter().map(|b| b.offset).collect(),
        rotations: bodies
            .iter()
            .zip(hold.pose())
            .map(|(b, p)| joint_rotation(&b.joint, &p))
            .collect(),
    })
}

/// Pairs of bodies that collide and that the motion would push into each other.
fn overlaps_in_motion(actor: &Actor, track: &Track) -> Vec<Finding> {
    /// Shallower than that they only brush, metres.
    const DEEP: f64 = 0.005;
    const SAMPLES: usize = 60;
    let duration = if track.duration().is_finite() {
        track.duration()
    } else {
        0.0
    };
    let mut deepest: Vec<(usize, usize, f64, f64)> = Vec::new();
    let mut frames = Vec::new();
    for i in 0..=SAMPLES {
        let time = duration * i as f64 / SAMPLES as f64;
        let state = track.start_state(time);
        body_poses(
            &actor.character,
            state.root_position,
            state.root_rotation,
            &state.joints,
            &mut frames,
        );
        for (a, b, depth) in actor.character.overlaps(&frames).into_iter().filter(|o| o.2 > DEEP) {
            match deepest.iter_mut().find(|d| (d.0, d.1) == (a, b)) {
                Some(known) if known.2 < depth => (known.2, known.3) = (depth, time),
                Some(_) => {}
                None => deepest.push((a, b, depth, time)),
            }
        }
    }
    deepest
        .into_iter()
        .map(|(a, b, depth, time)| Finding {
            severity: Severity::Warning,
            body: actor.character.bodies[a].name.clone(),
            message: format!(
                "the motion pushes it {:.1} cm into `{}` at {time:.2} s",
                100.0 * depth,
                actor.character.bodies[b].name
            ),
            change: "use slimmer shapes, or let the two pass each other with `ignores`".into(),
        })
        .collect()
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Prints the findings; errors make the check fail, warnings are for people to weigh.
fn report(path: &Path, what: &str, findings: &[Finding]) -> Verdict {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let result = match (errors, warnings) {
        (0, 0) => "good".to_string(),
        _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    out(format!("{} ({what}): {result}", path.display()));
    for finding in findings {
        out(format!("  {finding}"));
    }
    if errors > 0 { Verdict::Bad } else { Verdict::Good }
}
