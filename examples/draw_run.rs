//! Draws a run as a strip of figures seen from the side: `cargo run --release --locked --example draw_run -- RUN_DIR`.
//!
//! Reads `experiment.toml` and `motion.clip` of a run folder and writes an SVG; see [`ambler::report::strip`] for what is drawn.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use ambler::files::write_atomic;
use ambler::report::{Strip, strip};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Draws a run folder as a strip of figures seen from the side (SVG)")]
struct Arguments {
    /// Run folder, as made by `ambler run`
    run: PathBuf,
    /// SVG to write; RUN_DIR/strip.svg if not given
    #[arg(long)]
    out: Option<PathBuf>,
    /// Number of figures
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=100))]
    count: u16,
    /// First moment, seconds
    #[arg(long, default_value_t = 0.0)]
    from: f64,
    /// Last moment, seconds; the end of the run if not given
    #[arg(long)]
    to: Option<f64>,
}

fn main() -> ExitCode {
    match draw(&Arguments::parse()) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn draw(arguments: &Arguments) -> Result<PathBuf, Box<dyn Error>> {
    let options = Strip {
        count: arguments.count.into(),
        from_s: arguments.from,
        to_s: arguments.to,
        ..Strip::default()
    };
    let figure = strip(&arguments.run, &options)?;
    let path = arguments.out.clone().unwrap_or_else(|| arguments.run.join("strip.svg"));
    write_atomic(&path, figure.svg().as_bytes())?;
    Ok(path)
}
