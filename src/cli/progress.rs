//! How far a command has come in the time of its experiment: a bar on a terminal, a line now and then otherwise.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::print::note;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    pub quiet: bool,
    from: f64,
    to: f64,
    /// What is done: `simulated`, `drawn`.
    doing: &'static str,
    shown: Cell<Instant>,
}

impl Progress {
    /// From one time of the experiment to another, seconds.
    pub fn new(from: f64, to: f64, doing: &'static str, quiet: bool) -> Progress {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::new(((to - from) * 1000.0) as u64);
            let style = ProgressStyle::with_template("{bar:40} {msg}  {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Progress {
            bar,
            quiet,
            from,
            to,
            doing,
            shown: Cell::new(Instant::now()),
        }
    }

    /// Tells how far it is, if it has not done so just now.
    pub fn at(&self, time: f64) {
        let pause = match self.bar {
            Some(_) => Duration::from_millis(50),
            None => Duration::from_secs(5),
        };
        if self.quiet || self.shown.get().elapsed() <= pause {
            return;
        }
        self.shown.set(Instant::now());
        let text = format!("{time:.1} of {} s", self.to);
        match &self.bar {
            Some(bar) => {
                bar.set_position(((time - self.from) * 1000.0) as u64);
                bar.set_message(text);
            }
            None => note(format!("{text} {}", self.doing)),
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
