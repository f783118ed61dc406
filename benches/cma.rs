//! What the optimiser itself costs: one generation, asked for and told, in 10, 30 and 100 dimensions.
//!
//! `cargo bench --locked --bench cma`. Cost functions are nearly free, so this is the overhead that a study adds to its evaluations.

use ambler::optimize::cma::{Search, SearchSettings, Settings, Space, StopSettings};
use criterion::{Criterion, criterion_group, criterion_main};

/// A narrow quadratic, so that the covariance changes and is decomposed as often as in earnest.
fn cost(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, x)| (1 + i * i) as f64 * x * x).sum()
}

fn generation(c: &mut Criterion) {
    let mut group = c.benchmark_group("cma");
    for n in [10, 30, 100] {
        let settings = SearchSettings {
            cma: Settings {
                stops: StopSettings {
                    // costs fall to nothing during a measurement; the work per generation stays the same
                    stagnation: false,
                    ..StopSettings::default()
                },
                ..Settings::default()
            },
            ..SearchSettings::default()
        };
        let start = Search::new(&Space::unbounded(&vec![1.0; n], 1.0), &settings).expect("a valid space");
        let mut search = start.clone();
        group.bench_function(format!("ask and tell, {n} dimensions"), |b| {
            b.iter(|| {
                if search.stopped().is_some() {
                    search = start.clone();
                }
                let costs: Vec<f64> = search.ask().iter().map(|x| cost(x)).collect();
                search.tell(&costs).expect("finite costs");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, generation);
criterion_main!(benches);
