//! What the folder of a study, of several studies or of a sweep shows.
//!
//! In: folders as `ambler optimize` and `ambler sweep` write them, finished or not. Out: figures and pages. Reads files only: it
//! works while a study is going on.
//!
//! ```text
//! folder → Study (read: evaluations, history, parameter) → Figure (one file per figure, layout) → page
//! ```

mod best;
mod comparison;
mod convergence;
mod correlation;
mod evaluations;
mod generations;
mod history;
mod layout;
mod measures;
mod outcomes;
mod page;
mod parameter;
mod parameters;
mod rank;
mod read;
mod rows;
mod step_size;
mod sweep;

pub(super) use page::{page, sweep_page};
pub use parameter::Parameter;
pub use read::Study;
pub(super) use sweep::figures as sweep_figures;

use super::{Figure, Missing};

/// Or why it cannot be made.
type Made = Result<Figure, String>;

/// A figure's name, its title, and how it is made.
type Maker = (&'static str, &'static str, fn(&Study) -> Made);

const MAKERS: [Maker; 6] = [
    ("convergence", "Convergence", convergence::figure_of),
    ("step_size", "Step size and population", step_size::figure_of),
    ("parameters", "Parameters", parameters::figure_of),
    ("correlation", "Correlation of parameters", correlation::figure_of),
    ("measures", "Measures", measures::figure_of),
    ("outcomes", "Outcomes", outcomes::figure_of),
];

/// Figures as they are made.
#[derive(Default)]
struct Collected {
    figures: Vec<Figure>,
    missing: Vec<Missing>,
}

impl Collected {
    fn keep(&mut self, name: &str, title: &str, made: Made) {
        match made {
            Ok(mut figure) => {
                figure.name = name.to_string();
                figure.title = title.to_string();
                self.figures.push(figure);
            }
            Err(why) => self.missing.push(Missing {
                title: title.to_string(),
                why,
            }),
        }
    }
}

/// Every figure of a study, or of several compared, and those that cannot be made.
pub(super) fn figures(studies: &[Study]) -> (Vec<Figure>, Vec<Missing>) {
    let mut collected = Collected::default();
    if let [study] = studies {
        for (name, title, make) in MAKERS {
            collected.keep(name, title, make(study));
        }
        best::figures(study, &mut collected);
    } else {
        collected.keep("convergence", "Convergence", comparison::convergence(studies));
        collected.keep(
            "final_parameters",
            "Where the parameters ended",
            comparison::parameters(studies),
        );
    }
    (collected.figures, collected.missing)
}

/// How many parameters figures show; more are not legible.
const MOST_PARAMETERS: usize = 60;

/// The parameters that figures show, and a sentence for the caption if these are not all.
fn shown_parameters(study: &Study) -> (Vec<usize>, String) {
    let count = study.parameters.len();
    if count <= MOST_PARAMETERS {
        return ((0..count).collect(), String::new());
    }
    let ranks = rank::with_cost(&study.evaluations, &rank::judged(&study.evaluations));
    let strength = |i: &usize| ranks.get(*i).map_or(0.0, |r| if r.is_finite() { r.abs() } else { 0.0 });
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| strength(b).total_cmp(&strength(a)).then(a.cmp(b)));
    order.truncate(MOST_PARAMETERS);
    order.sort_unstable();
    let words = format!(
        " Of {count} parameters those {MOST_PARAMETERS} are shown whose rank correlates most with that of the cost; the table has all."
    );
    (order, words)
}
