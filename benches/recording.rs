//! What recording costs: a minute of walking with and without a run folder, and the report of it.
//!
//! `cargo bench --locked --bench recording`. Both cores of a small machine are needed: the folder is written by a thread of
//! its own.

use std::path::Path;
use std::time::Duration;

use ambler::experiment::{Prepared, RunFolder, RunOptions, run};
use ambler::report::Report;
use criterion::{Criterion, criterion_group, criterion_main};

fn recording(c: &mut Criterion) {
    let experiment = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/walk.toml");
    let prepared = Prepared::read(&experiment, &["duration_s=60".into()]).expect("the project's own example");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    let options = RunOptions {
        give_up_above: None,
        metrics: true,
        motion: true,
        stop: None,
    };
    let mut group = c.benchmark_group("60 s of walking");
    group.bench_function("simulated", |b| {
        b.iter(|| run(&prepared, &RunOptions::default(), &mut ()));
    });
    group.bench_function("recorded", |b| {
        b.iter(|| {
            let mut folder = RunFolder::at(&path, true).expect("a folder");
            folder.begin(&prepared).expect("a writable folder");
            folder.run(&prepared, &options, &mut ()).1.expect("a writable folder");
        });
    });
    group.bench_function("reported", |b| {
        b.iter(|| {
            let report = Report::read(std::slice::from_ref(&path)).expect("a run folder");
            report.html()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(8));
    targets = recording
}
criterion_main!(benches);
