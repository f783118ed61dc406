//! `evaluations.csv` of a study and `results.csv` of a sweep, column by column.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::ReportError;
use super::rows::Rows;
use crate::optimize::Outcome;

/// Why something was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A candidate of a generation, or a point of a sweep.
    Sample,
    /// A candidate once more, with other seeds.
    Reevaluation,
    /// The mean of the distribution on fixed seeds.
    Validation,
}

/// All columns have one length.
#[derive(Clone, Debug, Default)]
pub struct Evaluations {
    /// The number of the evaluation; increasing.
    pub number: Vec<f64>,
    pub generation: Vec<u64>,
    pub restart: Vec<u64>,
    pub kind: Vec<Kind>,
    pub cost: Vec<f64>,
    pub outcome: Vec<Outcome>,
    pub reason: Vec<Option<u32>>,
    /// What `reason` counts through.
    pub reasons: Vec<String>,
    pub simulated_s: Vec<f64>,
    pub measure_names: Vec<String>,
    /// NaN where it is not known.
    pub measures: Vec<Vec<f64>>,
    pub parameter_names: Vec<String>,
    pub parameters: Vec<Vec<f64>>,
}

/// Columns before the measures.
pub const OF_STUDY: &[&str] = &[
    "evaluation",
    "generation",
    "restart",
    "kind",
    "candidate",
    "cost",
    "outcome",
    "reason",
    "simulated_s",
];
pub const OF_SWEEP: &[&str] = &["index", "cost", "outcome", "reason", "simulated_s"];

impl Evaluations {
    /// Reads a table whose first columns are `fixed`; `is_parameter` says which of the last ones are parameters. The second result
    /// says that the last row was torn and has been left out.
    ///
    /// Errors name line and column.
    pub fn read(
        path: &Path,
        fixed: &'static [&'static str],
        is_parameter: impl Fn(&str) -> bool,
    ) -> Result<(Evaluations, bool), ReportError> {
        let rows = Rows::read(path)?;
        for (i, name) in fixed.iter().enumerate() {
            if rows.names.get(i).is_none_or(|n| n != name) {
                let found = rows.names.get(i).map_or("missing".to_string(), |n| format!("`{n}`"));
                return Err(rows.damaged(1, format!("column {} is {found}; expected `{name}`", i + 1)));
            }
        }
        let others = &rows.names[fixed.len()..];
        let parameters = others.iter().rev().take_while(|n| is_parameter(n)).count();
        let first = rows.names.len() - parameters;
        let mut table = Evaluations {
            measure_names: rows.names[fixed.len()..first].to_vec(),
            parameter_names: rows.names[first..].to_vec(),
            measures: vec![Vec::new(); first - fixed.len()],
            parameters: vec![Vec::new(); parameters],
            ..Evaluations::default()
        };
        let place = |name: &str| fixed.iter().position(|f| *f == name);
        let [generation, restart, kind] = ["generation", "restart", "kind"].map(place);
        let [Some(cost), Some(outcome), Some(reason), Some(simulated)] =
            ["cost", "outcome", "reason", "simulated_s"].map(place)
        else {
            return Ok((table, rows.torn));
        };
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        for row in &rows.rows {
            let number = row.number(0)?;
            if table.number.last().is_some_and(|last| number <= *last) {
                return Err(row.wrong(0, "does not increase"));
            }
            table.number.push(number);
            table.generation.push(generation.map_or(Ok(1), |c| row.count(c))?);
            table.restart.push(restart.map_or(Ok(0), |c| row.count(c))?);
            table.kind.push(match kind.map_or("sample", |c| row.text(c)) {
                "sample" => Kind::Sample,
                "reevaluation" => Kind::Reevaluation,
                "validation" => Kind::Validation,
                _ => return Err(row.wrong(kind.unwrap_or(0), "is none of sample, reevaluation, validation")),
            });
            table.cost.push(row.number(cost)?);
            table.outcome.push(
                Outcome::from_name(row.text(outcome))
                    .ok_or_else(|| row.wrong(outcome, "is none of completed, fell, hopeless, diverged, invalid"))?,
            );
            let why = Some(row.text(reason)).filter(|r| !r.is_empty());
            table.reason.push(why.map(|why| {
                let next = known.len() as u32;
                *known.entry(why.to_string()).or_insert(next)
            }));
            table.simulated_s.push(row.number(simulated)?);
            for (i, column) in table.measures.iter_mut().enumerate() {
                column.push(row.number_or_nan(fixed.len() + i)?);
            }
            for (i, column) in table.parameters.iter_mut().enumerate() {
                column.push(row.number(first + i)?);
            }
        }
        table.reasons = vec![String::new(); known.len()];
        for (reason, i) in known {
            table.reasons[i as usize] = reason;
        }
        Ok((table, rows.torn))
    }

    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// Whether the cost judges a motion, and all of it: neither a penalty for a failure nor a lower bound.
    pub fn is_judged(&self, row: usize) -> bool {
        !self.outcome[row].is_failure() && self.outcome[row] != Outcome::Hopeless
    }

    /// Rows of candidates, or of the points of a sweep.
    pub fn samples(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|i| self.kind[*i] == Kind::Sample)
    }

    /// The row of the evaluation with this number.
    pub fn row_of(&self, number: f64) -> Option<usize> {
        self.number.binary_search_by(|n| n.total_cmp(&number)).ok()
    }
}
