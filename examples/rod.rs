//! The block on the rod, solved in several ways: `cargo run --release --locked --example rod -- --out runs/rod`.
//!
//! A block on a vertical rod, pulled by gravity and a PD controller, is to follow a sine (`ambler::optimize::spacetime`). Prints a
//! table: what the PD targets found cost when the block is simulated (`J`), by how much the optimum is missed, the largest error, the
//! largest gap between the states a method believes in and a motion, unknowns, iterations of a descent or evaluations of a search,
//! time. With `--out` the folder gets `rod.csv` (targets and simulated heights over time) and `rod.svg`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ambler::files::write_atomic;
use ambler::optimize::cma::SearchSettings;
use ambler::optimize::spacetime::{
    Descent, DescentSettings, Rod, Spline, Unknowns, search_collocation, solve_collocation, solve_penalty,
    solve_quadratic,
};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Makes a PD-driven block on a vertical rod follow a sine, in several ways, and compares them")]
struct Arguments {
    /// Folder for rod.csv and rod.svg
    #[arg(long)]
    out: Option<PathBuf>,
    /// Coefficients of the spline that collocation and CMA-ES find
    #[arg(long, default_value_t = 16)]
    coefficients: usize,
    /// Seed of CMA-ES
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A row of the table.
struct Row {
    name: String,
    targets: Vec<f64>,
    gap: f64,
    unknowns: usize,
    /// Iterations or evaluations.
    rounds: u64,
    seconds: f64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let rod = Rod::default();
    println!(
        "m {} kg, kp {} N/m, kd {} N s/m, h {} s, {} steps; sine of {} m and {} s; ρ {}\n",
        rod.mass, rod.kp, rod.kd, rod.step, rod.steps, rod.amplitude, rod.period, rod.regularisation
    );
    let rows = solve(&rod, arguments)?;
    let optimum = rows.iter().find(|r| r.name == QUADRATIC).ok_or("no optimum")?;
    let best = simulated_cost(&rod, optimum)?;
    println!(
        "{:<34} {:>12} {:>11} {:>10} {:>9} {:>9} {:>10} {:>9}",
        "method", "J / m² s", "J / J* - 1", "error / m", "gap / m", "unknowns", "rounds", "time / s"
    );
    for row in &rows {
        let cost = simulated_cost(&rod, row)?;
        println!(
            "{:<34} {:>12.9} {:>11.1e} {:>10.5} {:>9.1e} {:>9} {:>10} {:>9.4}",
            row.name,
            cost,
            cost / best - 1.0,
            rod.largest_error(&rod.simulate(&row.targets)?.heights),
            row.gap,
            row.unknowns,
            row.rounds,
            row.seconds
        );
    }
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder)?;
        write_csv(&folder.join("rod.csv"), &rod, &rows)?;
        write_svg(&folder.join("rod.svg"), &rod, &rows)?;
        println!("\n{}", folder.join("rod.svg").display());
    }
    Ok(())
}

const NAIVE: &str = "naive: the sine as target";
const QUADRATIC: &str = "quadratic programme";
const CMA: &str = "spline, CMA-ES";

fn simulated_cost(rod: &Rod, row: &Row) -> Result<f64, Box<dyn Error>> {
    Ok(rod.cost(&row.targets, &rod.simulate(&row.targets)?.heights))
}

fn solve(rod: &Rod, arguments: &Arguments) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let naive = rod.naive_targets();
    let start = Unknowns::new(rod, &naive, &rod.simulate(&naive)?);
    rows.push(Row {
        name: NAIVE.into(),
        targets: naive,
        gap: 0.0,
        unknowns: 0,
        rounds: 0,
        seconds: 0.0,
    });

    let clock = Instant::now();
    let quadratic = solve_quadratic(rod)?;
    rows.push(Row {
        name: QUADRATIC.into(),
        targets: quadratic.unknowns.targets(),
        gap: quadratic.residuals(rod)[1],
        unknowns: quadratic.unknowns.0.len(),
        rounds: 1,
        seconds: clock.elapsed().as_secs_f64(),
    });

    let descents = [1e-2, 1e-1, 1.0, 1e1, 1e2]
        .map(|w| (w, Descent::Conjugate, 200_000))
        .into_iter()
        .chain([(1.0, Descent::Steepest, 20_000)]);
    for (weight, descent, max_iterations) in descents {
        let settings = DescentSettings {
            descent,
            max_iterations,
            ..DescentSettings::default()
        };
        let clock = Instant::now();
        let solution = solve_penalty(rod, weight, &start, &settings)?;
        let way = match descent {
            Descent::Conjugate => "conjugate",
            Descent::Steepest => "steepest",
        };
        let end = if solution.arrived { "" } else { ", given up" };
        rows.push(Row {
            name: format!("penalty w = {weight}, {way}{end}"),
            targets: solution.unknowns.targets(),
            gap: solution.gaps.iter().fold(0.0, |l, g| l.max(g.abs())),
            unknowns: solution.unknowns.0.len(),
            rounds: solution.iterations as u64,
            seconds: clock.elapsed().as_secs_f64(),
        });
    }

    let spline = Spline::new(arguments.coefficients)?;
    let clock = Instant::now();
    let collocation = solve_collocation(rod, spline)?;
    rows.push(Row {
        name: "spline, least squares".into(),
        targets: collocation.targets,
        gap: 0.0,
        unknowns: spline.coefficients(),
        rounds: spline.coefficients() as u64 + 1,
        seconds: clock.elapsed().as_secs_f64(),
    });

    let mut settings = SearchSettings {
        sigma: 0.1,
        ..SearchSettings::default()
    };
    settings.cma.seed = arguments.seed;
    let clock = Instant::now();
    let found = search_collocation(rod, spline, &settings, 100_000)?;
    rows.push(Row {
        name: CMA.into(),
        targets: found.solution.targets,
        gap: 0.0,
        unknowns: spline.coefficients(),
        rounds: found.evaluations,
        seconds: clock.elapsed().as_secs_f64(),
    });
    Ok(rows)
}

fn write_csv(path: &Path, rod: &Rod, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["time_s".to_string(), "reference_m".to_string()];
    for row in rows {
        header.push(format!("target_m ({})", row.name));
        header.push(format!("height_m ({})", row.name));
    }
    writer.write_record(&header)?;
    let motions = (rows.iter())
        .map(|r| rod.simulate(&r.targets))
        .collect::<Result<Vec<_>, _>>()?;
    for t in 0..=rod.steps {
        let time = t as f64 * rod.step;
        let mut record = vec![format!("{time:.3}"), format!("{:.9}", rod.reference(time))];
        for (row, motion) in rows.iter().zip(&motions) {
            // the target of the step that begins here; none begins at the end
            record.push(row.targets.get(t).map_or(String::new(), |u| format!("{u:.9}")));
            record.push(format!("{:.9}", motion.heights[t]));
        }
        writer.write_record(&record)?;
    }
    write_atomic(path, &writer.into_inner()?)?;
    Ok(())
}

/// Pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 50.0;
/// Metres shown above and below the start.
const REACH: f64 = 0.85;

fn write_svg(path: &Path, rod: &Rod, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let x = |time: f64| MARGIN + time / rod.duration() * (WIDTH - 2.0 * MARGIN);
    let y = |height: f64| 0.5 * HEIGHT - height / REACH * (0.5 * HEIGHT - MARGIN);
    let line = |svg: &mut String, style: &str, points: &mut dyn Iterator<Item = (f64, f64)>| {
        let points: Vec<String> = points.map(|(t, h)| format!("{:.1},{:.1}", x(t), y(h))).collect();
        let _ = writeln!(svg, r#"<polyline fill="none" {style} points="{}"/>"#, points.join(" "));
    };
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<title>A block on a rod follows a sine: naive targets, quadratic programme, CMA-ES</title>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
"##
    );
    for height in [-0.5, 0.0, 0.5] {
        line(
            &mut svg,
            r##"stroke="#dddddd""##,
            &mut [(0.0, height), (rod.duration(), height)].into_iter(),
        );
        let _ = writeln!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{height} m</text>"#,
            MARGIN - 6.0,
            y(height) + 4.0
        );
    }
    for second in 0..=rod.duration() as u32 {
        let _ = writeln!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{second} s</text>"#,
            x(f64::from(second)),
            HEIGHT - MARGIN + 20.0
        );
    }
    let time = |t: usize| t as f64 * rod.step;
    line(
        &mut svg,
        r##"stroke="#bbbbbb" stroke-width="7""##,
        &mut (0..=rod.steps).map(|t| (time(t), rod.reference(time(t)))),
    );
    let mut legend = vec![("#bbbbbb", "the sine".to_string())];
    // the curves of the last two lie on each other: the wider one below
    for (name, color, width) in [
        (NAIVE, "#c0392b", 1.5),
        (QUADRATIC, "#1f5fa8", 3.5),
        (CMA, "#f0b040", 1.2),
    ] {
        let row = rows.iter().find(|r| r.name == name).ok_or("a method is missing")?;
        let motion = rod.simulate(&row.targets)?;
        line(
            &mut svg,
            &format!(r#"stroke="{color}" stroke-width="{width}""#),
            &mut motion.heights.iter().enumerate().map(|(t, h)| (time(t), *h)),
        );
        if name != NAIVE {
            line(
                &mut svg,
                &format!(r#"stroke="{color}" stroke-width="{width}" stroke-dasharray="4 3""#),
                &mut row.targets.iter().enumerate().map(|(t, u)| (time(t), *u)),
            );
        }
        legend.push((color, name.to_string()));
    }
    legend.push(("#333333", "(broken: PD targets)".to_string()));
    let mut left = MARGIN;
    for (color, text) in &legend {
        let _ = writeln!(svg, r#"<text x="{left:.1}" y="24" fill="{color}">{text}</text>"#);
        // a letter of this size is about 6.5 pixels wide
        left += 6.5 * text.len() as f64 + 16.0;
    }
    svg.push_str("</svg>\n");
    write_atomic(path, svg.as_bytes())?;
    Ok(())
}
