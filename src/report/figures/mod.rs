//! The figures, one file per aspect, and what they share: who is drawn how, stacked plots over time, grids of small plots.

mod balance;
mod energy;
mod gait;
mod ground;
mod joints;
mod layout;
mod phase;
mod torques;
mod tracking;

use super::drawing::{Dash, Ink, Stroke};
use super::read::{CharacterRun, Run};
use super::{Figure, Missing};

/// One character of one run.
struct Who<'a> {
    run: &'a Run,
    character: &'a CharacterRun,
    /// Colour and dash of the run where several are compared.
    ink: Ink,
    dash: Dash,
}

/// The same character in all runs that have it.
struct View<'a> {
    whos: Vec<Who<'a>>,
    /// Whether several runs are compared: colours then tell runs apart.
    compared: bool,
}

/// Colours in the order in which they are given out.
const INKS: [Ink; 6] = [
    Ink::Blue,
    Ink::Vermillion,
    Ink::Green,
    Ink::Purple,
    Ink::Amber,
    Ink::Sky,
];
const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::DashDot, Dash::Dotted];

pub(super) fn ink(i: usize) -> Ink {
    INKS[i % INKS.len()]
}

/// A dash for each colour, shifted when colours come again.
pub(super) fn dash(i: usize) -> Dash {
    DASHES[(i + i / 12) % DASHES.len()]
}

impl Who<'_> {
    fn stroke(&self) -> Stroke {
        Stroke::new(self.ink, self.dash)
    }

    fn column(&self, name: &str) -> Option<&[f64]> {
        self.character.column(self.run, name)
    }

    fn times(&self) -> &[f64] {
        self.run.metrics.as_ref().map_or(&[], |m| m.times())
    }
}

type Made = Result<Figure, String>;

/// A figure's name, its title, and how it is made from a view.
type Maker = (&'static str, &'static str, fn(&View) -> Made);

const MAKERS: [Maker; 11] = [
    ("tracking_error", "Tracking error", tracking::over_time),
    ("error_per_joint", "Error per joint", tracking::per_joint),
    ("joint_angles", "Joint angles and targets", joints::angles),
    ("torques", "Joint torques", torques::over_time),
    ("torque_share", "Largest share of the torque limit", torques::share),
    ("ground_forces", "Ground forces", ground::forces),
    ("balance", "Balance from above", balance::from_above),
    ("gait", "Gait", gait::diagram),
    ("phase", "Phase plots", phase::plots),
    ("assist", "Help from outside", ground::assist),
    ("energy", "Energy", energy::of_character),
];

/// Every figure that can be made, character by character, and those that cannot.
pub(super) fn all(runs: &[Run]) -> (Vec<Figure>, Vec<Missing>) {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    let most = runs.iter().map(|r| r.characters.len()).max().unwrap_or(0);
    let compared = runs.len() > 1;
    let mut keep = |(name, title, _): Maker, of: Option<&str>, made: Made| {
        let title = match of {
            Some(of) => format!("{title}: {of}"),
            None => title.to_string(),
        };
        match made {
            Ok(mut figure) => {
                figure.name = match of {
                    Some(of) => format!("{name}_{}", file_name(of)),
                    None => name.to_string(),
                };
                figure.title = title;
                figures.push(figure);
            }
            Err(why) => missing.push(Missing { title, why }),
        }
    };
    for c in 0..most {
        let view = View {
            whos: (runs.iter().enumerate())
                .filter_map(|(i, run)| {
                    Some(Who {
                        run,
                        character: run.characters.get(c)?,
                        ink: ink(i),
                        dash: dash(i),
                    })
                })
                .collect(),
            compared,
        };
        let name = view.whos.first().map(|w| w.character.name.as_str());
        for maker in MAKERS {
            keep(maker, name.filter(|_| most > 1), (maker.2)(&view));
        }
    }
    if most == 0 {
        let maker = ("energy", "Energy", energy::of_character as fn(&View) -> Made);
        keep(maker, None, energy::of_world(runs));
    }
    // two characters may come to the same file name
    for i in 1..figures.len() {
        let taken = |name: &str| figures[..i].iter().any(|f: &Figure| f.name == name);
        if taken(&figures[i].name) {
            let n = (2..).find(|n| !taken(&format!("{}_{n}", figures[i].name))).unwrap_or(0);
            figures[i].name = format!("{}_{n}", figures[i].name);
        }
    }
    (figures, missing)
}

pub(super) fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(safe).collect()
}

/// A body's name for people.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

impl View<'_> {
    /// A column of each run that has it; an error that says what is missing where none has.
    fn with_column(&self, name: &str) -> Result<Vec<(&Who<'_>, &[f64])>, String> {
        let found: Vec<_> = self.whos.iter().filter_map(|w| Some((w, w.column(name)?))).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        Err(match self.whos.iter().any(|w| w.run.metrics.is_some()) {
            true => format!("metrics.csv has no column `{name}`: it was written by another version of ambler"),
            false => "it is drawn from metrics.csv, which is missing".into(),
        })
    }

    /// For a caption: runs that a figure leaves out.
    fn without(&self, has: impl Fn(&Who) -> bool) -> String {
        let without: Vec<&str> = self
            .whos
            .iter()
            .filter(|w| !has(w))
            .map(|w| w.run.label.as_str())
            .collect();
        match without.is_empty() {
            true => String::new(),
            false => format!(" Not shown, for want of data: {}.", without.join(", ")),
        }
    }

    /// The longest of the runs, seconds.
    fn duration(&self) -> f64 {
        self.whos.iter().map(|w| w.run.duration()).fold(0.0, f64::max)
    }
}

/// The value below which the share `q` of the values is.
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let i = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(i.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
