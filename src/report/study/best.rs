//! The best motion as a contact sheet.

use super::super::figures::file_name;
use super::super::strip::{self, Strip};
use super::layout::WIDTH;
use super::{Collected, Study};

/// Figures side by side.
const COUNT: usize = 8;
/// Scenarios that are drawn; more are in the folder.
const MOST: usize = 12;

/// A strip per run folder of the best.
pub fn figures(study: &Study, collected: &mut Collected) {
    let title = "Best motion";
    if study.motions.is_empty() {
        let why = match study.summary {
            None => "there is no folder best/ with a motion.clip: it is made when a study ends",
            Some(_) => "there is no folder best/ with a motion.clip; `ambler run best.toml` makes such a run",
        };
        collected.keep("best_motion", title, Err(why.into()));
    }
    for (scenario, folder) in study.motions.iter().take(MOST) {
        let options = Strip {
            count: COUNT,
            width: Some(WIDTH),
            ..Strip::default()
        };
        let made = strip::strip(folder, &options).map_err(|e| e.to_string());
        match scenario.as_str() {
            "" => collected.keep("best_motion", title, made),
            scenario => {
                let name = format!("best_motion_{}", file_name(scenario));
                collected.keep(&name, &format!("{title}: {scenario}"), made);
            }
        }
    }
    if study.motions.len() > MOST {
        let why = format!("the first {MOST} of {} are shown", study.motions.len());
        collected.keep("", "Best motion of further scenarios", Err(why));
    }
}
