//! Kills a study twenty times at random moments, resumes it, and compares what comes out with a study that was left alone.
//!
//!     cargo build --release --locked && cargo run --release --locked --example kill_study [-- STUDY.toml] [-- EVALUATIONS]
//!
//! Once on one thread, once on two. Every file but the diary and the speed of the best run has to be the same, byte for byte.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ambler::math::random;

const KILLS: u64 = 20;

const FILES: [&str; 10] = [
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let study = PathBuf::from(arguments.next().unwrap_or("examples/push_study.toml".into()));
    let evaluations = arguments.next().unwrap_or("120".into());
    // the program lies above the folder of the examples
    let program = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("ambler"))
        .filter(|p| p.is_file())
        .ok_or("build the program first: cargo build --release --locked")?;
    let here = tempfile::tempdir()?;
    let ambler = |begin: bool, folder: &Path, jobs: &str| {
        let mut command = Command::new(&program);
        command.arg("optimize");
        match begin {
            true => command.arg(&study).arg("--out").arg(folder),
            false => command.arg("--resume").arg(folder),
        };
        command.args(["--jobs", jobs, "--max-evaluations", &evaluations, "-q"]);
        command.stdout(Stdio::null());
        command
    };

    let whole = here.path().join("whole");
    let began = Instant::now();
    if !ambler(true, &whole, "2").status()?.success() {
        return Err("the study does not run".into());
    }
    let took = began.elapsed();
    println!("left alone: {:.1} s", took.as_secs_f64());

    let mut different = 0;
    for jobs in ["1", "2"] {
        let folder = here.path().join(format!("killed-{jobs}"));
        let mut kills = 0;
        while kills < KILLS {
            let mut child = ambler(!folder.join("study.toml").is_file(), &folder, jobs).spawn()?;
            let share = random::uniform(jobs.len() as u64 + kills, 1, jobs.as_bytes()[0].into());
            // so that most of the work lies behind when the last one comes, and not all of it
            let threads = if jobs == "1" { 1.0 } else { 2.0 };
            std::thread::sleep(took.mul_f64(3.0 / threads * share / KILLS as f64));
            child.kill()?;
            child.wait()?;
            kills += 1;
        }
        let status = ambler(!folder.join("study.toml").is_file(), &folder, jobs).status()?;
        let unequal: Vec<&str> = (FILES.iter())
            .filter(|file| std::fs::read(whole.join(file)).ok() != std::fs::read(folder.join(file)).ok())
            .copied()
            .collect();
        println!(
            "{kills} kills on {jobs} threads, then {status}: {}",
            match unequal.is_empty() {
                true => "all files are the same".to_string(),
                false => format!("different: {}", unequal.join(", ")),
            }
        );
        different += unequal.len();
    }
    match different {
        0 => Ok(()),
        _ => Err("a killed study did not end as one that was left alone".into()),
    }
}
