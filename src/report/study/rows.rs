//! CSV tables of which the last row may be torn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::ReportError;

/// A table as text.
pub struct Rows {
    path: PathBuf,
    pub names: Arc<Vec<String>>,
    pub rows: Vec<Row>,
    /// Whether the end of the file is half a row, as a killed study leaves it. It has been left out.
    pub torn: bool,
}

pub struct Row {
    path: Arc<PathBuf>,
    names: Arc<Vec<String>>,
    line: u64,
    cells: csv::StringRecord,
}

impl Rows {
    /// Errors: a file that cannot be read, or is no CSV with equally long rows.
    pub fn read(path: &Path) -> Result<Rows, ReportError> {
        let bytes = crate::files::read_bytes(path).map_err(|source| ReportError::Read {
            path: path.to_path_buf(),
            source,
        })?;
        // what has no line end may lack digits
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let mut rows = Rows {
            path: path.to_path_buf(),
            names: Arc::default(),
            rows: Vec::new(),
            torn: whole < bytes.len(),
        };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&bytes[..whole]);
        let header = reader.headers().map_err(|e| rows.damaged(1, e.to_string()))?.clone();
        rows.names = Arc::new(header.iter().map(str::to_string).collect());
        for (i, name) in rows.names.iter().enumerate() {
            if rows.names[..i].contains(name) {
                return Err(rows.damaged(1, format!("two columns are called `{name}`")));
            }
        }
        let shared_path = Arc::new(path.to_path_buf());
        for record in reader.into_records() {
            let cells = record.map_err(|e| rows.damaged(0, e.to_string()))?;
            let line = cells.position().map_or(0, csv::Position::line);
            rows.rows.push(Row {
                path: shared_path.clone(),
                names: rows.names.clone(),
                line,
                cells,
            });
        }
        let length = rows.names.len();
        // so is a short last row with a line end, as a table program saves it
        if rows.rows.last().is_some_and(|r| r.cells.len() < length) {
            rows.rows.pop();
            rows.torn = true;
        }
        if let Some(row) = rows.rows.iter().find(|r| r.cells.len() != length) {
            let message = format!("{} columns; expected {length}", row.cells.len());
            return Err(rows.damaged(row.line, message));
        }
        Ok(rows)
    }

    /// `line` 0: unknown.
    pub fn damaged(&self, line: u64, message: String) -> ReportError {
        damaged(&self.path, line, message)
    }
}

fn damaged(path: &Path, line: u64, message: String) -> ReportError {
    ReportError::Table {
        path: path.to_path_buf(),
        message: match line {
            0 => message,
            line => format!("line {line}: {message}"),
        },
    }
}

impl Row {
    pub fn text(&self, column: usize) -> &str {
        self.cells.get(column).unwrap_or("").trim()
    }

    pub fn wrong(&self, column: usize, what: &str) -> ReportError {
        let name = self.names.get(column).map_or("", |n| n);
        let message = format!("column `{name}`: `{}` {what}", self.text(column));
        damaged(&self.path, self.line, message)
    }

    pub fn number(&self, column: usize) -> Result<f64, ReportError> {
        match self.text(column).parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.wrong(column, "is no finite number")),
        }
    }

    /// NaN for what is empty or not finite.
    pub fn number_or_nan(&self, column: usize) -> Result<f64, ReportError> {
        match (self.text(column), self.text(column).parse::<f64>()) {
            ("", _) => Ok(f64::NAN),
            (_, Ok(value)) => Ok(if value.is_finite() { value } else { f64::NAN }),
            (_, Err(_)) => Err(self.wrong(column, "is no number")),
        }
    }

    pub fn count(&self, column: usize) -> Result<u64, ReportError> {
        (self.text(column).parse()).map_err(|_| self.wrong(column, "is no whole number"))
    }
}
