//! `history.csv`: one row per generation.

use std::path::Path;

use super::super::ReportError;
use super::rows::Rows;

/// All columns have one length.
#[derive(Clone, Debug, Default)]
pub struct History {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// Evaluations up to the end of each generation; does not decrease.
    pub evaluations: Vec<f64>,
    pub restart: Vec<u64>,
}

impl History {
    /// The second result says that the last row was torn and has been left out.
    ///
    /// Errors name line and column.
    pub fn read(path: &Path) -> Result<(History, bool), ReportError> {
        let rows = Rows::read(path)?;
        let column = |name: &str| {
            let found = rows.names.iter().position(|n| n == name);
            found.ok_or_else(|| rows.damaged(1, format!("there is no column `{name}`")))
        };
        let (evaluations, restart) = (column("evaluations")?, column("restart")?);
        let mut history = History {
            names: rows.names.to_vec(),
            columns: vec![Vec::new(); rows.names.len()],
            ..History::default()
        };
        for row in &rows.rows {
            let done = row.number(evaluations)?;
            if history.evaluations.last().is_some_and(|last| done < *last) {
                return Err(row.wrong(evaluations, "is less than in the row before"));
            }
            history.evaluations.push(done);
            history.restart.push(row.count(restart)?);
            for (i, column) in history.columns.iter_mut().enumerate() {
                column.push(row.number_or_nan(i)?);
            }
        }
        Ok((history, rows.torn))
    }

    pub fn len(&self) -> usize {
        self.evaluations.len()
    }

    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let i = self.names.iter().position(|n| n == name)?;
        Some(&self.columns[i])
    }

    /// Names of the parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(|n| n.strip_prefix("mean_"))
    }

    /// Mean and standard deviation of a parameter.
    pub fn trace(&self, parameter: &str) -> Option<[&[f64]; 2]> {
        Some([
            self.column(&format!("mean_{parameter}"))?,
            self.column(&format!("std_{parameter}"))?,
        ])
    }
}
