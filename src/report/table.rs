//! `metrics.csv`, column by column.

use std::path::Path;

use super::ReportError;

/// Columns of finite numbers, all of one length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

impl Table {
    /// Errors name the line and the column.
    pub fn read(path: &Path) -> Result<Table, ReportError> {
        let bytes = crate::files::read_bytes(path).map_err(|source| ReportError::Read {
            path: path.to_path_buf(),
            source,
        })?;
        let damaged = |message: String| ReportError::Damaged {
            path: path.to_path_buf(),
            message,
        };
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let header = reader.headers().map_err(|e| damaged(e.to_string()))?.clone();
        let names: Vec<String> = header.iter().map(str::to_string).collect();
        if names.first().is_none_or(|n| n != "time_s") {
            return Err(damaged(format!(
                "line 1: the first column is `{}`; expected `time_s`",
                names.first().map_or("", |n| n)
            )));
        }
        let mut columns = vec![Vec::new(); names.len()];
        for record in reader.records() {
            let record = record.map_err(|e| damaged(e.to_string()))?;
            let line = record.position().map_or(0, csv::Position::line);
            for ((text, name), column) in record.iter().zip(&names).zip(&mut columns) {
                match text.trim().parse::<f64>() {
                    Ok(value) if value.is_finite() => column.push(value),
                    _ => {
                        return Err(damaged(format!(
                            "line {line}, column `{name}`: `{text}` is no finite number"
                        )));
                    }
                }
            }
        }
        if let Some(i) = columns[0].windows(2).position(|w| w[1] <= w[0]) {
            return Err(damaged(format!(
                "line {}: the time does not increase ({} s after {} s)",
                i + 3,
                columns[0][i + 1],
                columns[0][i]
            )));
        }
        Ok(Table { names, columns })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let i = self.names.iter().position(|n| n == name)?;
        Some(&self.columns[i])
    }

    /// Seconds, increasing.
    pub fn times(&self) -> &[f64] {
        self.columns.first().map_or(&[], Vec::as_slice)
    }
}
