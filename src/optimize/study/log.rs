//! Rows of evaluations: a CSV file that only grows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::StudyError;
use crate::optimize::evaluation::{Evaluation, Outcome};
use crate::optimize::problem::nine_digits;

/// Columns that every evaluation has.
const COMMON: [&str; 4] = ["cost", "outcome", "reason", "simulated_s"];

/// One evaluation, as a row has it: [`Row::new`] makes it one that reads back equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What distinguishes it: its number and so on.
    pub keys: Vec<String>,
    pub evaluation: Evaluation,
    pub parameters: Vec<f64>,
}

impl Row {
    /// With the reason on one line, and measures to nine digits: what goes on from a row is the same whether it was read or not.
    pub fn new(keys: Vec<String>, evaluation: Evaluation, parameters: Vec<f64>) -> Row {
        Row {
            keys,
            evaluation: Evaluation {
                measures: evaluation.measures.iter().map(|m| nine_digits(*m)).collect(),
                reason: (evaluation.reason)
                    .map(|r| r.replace(['\n', '\r'], " "))
                    .filter(|r| !r.is_empty()),
                simulated_s: nine_digits(evaluation.simulated_s),
                ..evaluation
            },
            parameters,
        }
    }
}

/// What rows look like: keys, then what every evaluation has, then measures, then parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    keys: Vec<String>,
    measures: usize,
    names: Vec<String>,
}

/// A number as shortly as it reads back to the same bits.
pub(super) fn exact(value: f64) -> String {
    let size = value.abs();
    match value == 0.0 || (1e-5..1e16).contains(&size) {
        true => format!("{value}"),
        false if value.is_nan() => "nan".into(),
        false => format!("{value:e}"),
    }
}

impl Columns {
    pub fn new(keys: &[&str], measures: &[String], parameters: &[String]) -> Columns {
        let mut names: Vec<String> = keys.iter().chain(&COMMON).map(|n| n.to_string()).collect();
        names.extend(measures.iter().cloned());
        names.extend(parameters.iter().cloned());
        Columns {
            keys: keys.iter().map(|k| k.to_string()).collect(),
            measures: measures.len(),
            names,
        }
    }

    /// A line of a CSV file.
    fn line(fields: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // writing to memory does not fail
        let _ = writer.write_record(fields);
        writer.into_inner().unwrap_or_default()
    }

    fn header(&self) -> Vec<u8> {
        Columns::line(&self.names)
    }

    fn write(&self, row: &Row) -> Vec<u8> {
        let e = &row.evaluation;
        let mut fields = row.keys.clone();
        fields.push(exact(e.cost));
        fields.push(e.outcome.name().into());
        fields.push(e.reason.clone().unwrap_or_default());
        fields.push(exact(e.simulated_s));
        fields.extend(e.measures.iter().map(|m| exact(*m)));
        fields.extend(row.parameters.iter().map(|p| exact(*p)));
        Columns::line(fields)
    }

    fn parse(&self, line: &[u8]) -> Result<Row, String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
        let record = match reader.records().next() {
            Some(Ok(record)) => record,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the row is empty".into()),
        };
        if record.len() != self.names.len() {
            return Err(format!(
                "the row has {} fields; expected {}",
                record.len(),
                self.names.len()
            ));
        }
        let number = |i: usize| -> Result<f64, String> {
            let text = &record[i];
            text.parse()
                .map_err(|_| format!("`{}` is {text:?}; expected a number", self.names[i]))
        };
        let k = self.keys.len();
        let numbers =
            |from: usize, count: usize| (from..from + count).map(number).collect::<Result<Vec<f64>, String>>();
        let outcome = &record[k + 1];
        let cost = number(k)?;
        if !cost.is_finite() {
            return Err(format!("`cost` is {cost}; expected a finite number"));
        }
        let first = k + COMMON.len();
        Ok(Row {
            keys: record.iter().take(k).map(str::to_string).collect(),
            evaluation: Evaluation {
                cost,
                outcome: Outcome::from_name(outcome).ok_or_else(|| format!("`outcome` is {outcome:?}"))?,
                reason: Some(record[k + 2].to_string()).filter(|r| !r.is_empty()),
                simulated_s: number(k + 3)?,
                measures: numbers(first, self.measures)?,
            },
            parameters: numbers(first + self.measures, self.names.len() - first - self.measures)?,
        })
    }
}

/// The part of a log that has been accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    pub bytes: u64,
    pub lines: u64,
    /// CRC-32 of those bytes.
    pub crc: u32,
}

/// A log that is open: rows that were there before it was opened are read, then new ones are written.
pub struct Rows {
    path: PathBuf,
    file: File,
    columns: Columns,
    mark: Mark,
    /// Rows beyond the mark that were there when it was opened, in order, each with its bytes.
    waiting: std::collections::VecDeque<(Row, Vec<u8>)>,
}

impl Rows {
    /// A new log with nothing but its header.
    pub fn create(path: &Path, columns: Columns) -> Result<Rows, StudyError> {
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(StudyError::io("make", path))?;
        let header = columns.header();
        file.write_all(&header).map_err(StudyError::io("write to", path))?;
        Ok(Rows {
            path: path.to_path_buf(),
            file,
            columns,
            mark: Mark::default().after(&header),
            waiting: Default::default(),
        })
    }

    /// A log that exists, accounted for up to `mark` (its header, if there is none). A last row without its end is cut off.
    pub fn open(path: &Path, columns: Columns, mark: Option<Mark>) -> Result<Rows, StudyError> {
        let read = || StudyError::io("read", path);
        let header = columns.header();
        let problem = |line: u64, problem: String| StudyError::Log {
            path: path.to_path_buf(),
            line,
            problem,
        };
        let file = File::options().read(true).write(true).open(path).map_err(read())?;
        let mut reader = BufReader::new(file);
        let mark = match mark {
            Some(mark) => {
                let mut found = Mark::default();
                let mut rest = mark.bytes;
                let mut chunk = vec![0; 1 << 16];
                while rest > 0 {
                    let most = chunk.len().min(rest as usize);
                    let count = reader.read(&mut chunk[..most]).map_err(read())?;
                    if count == 0 {
                        let message = format!("the file ends after {} of {} bytes", mark.bytes - rest, mark.bytes);
                        return Err(problem(found.lines, message));
                    }
                    found = found.after(&chunk[..count]);
                    rest -= count as u64;
                }
                if found != mark {
                    return Err(problem(mark.lines, "rows up to here have been changed".into()));
                }
                mark
            }
            None => {
                let mut found = Vec::new();
                (&mut reader)
                    .take(header.len() as u64)
                    .read_to_end(&mut found)
                    .map_err(read())?;
                if !header.starts_with(&found) {
                    return Err(problem(1, "the columns are others".into()));
                }
                if found != header {
                    // the process ended while it wrote the header
                    drop(reader);
                    std::fs::remove_file(path).map_err(StudyError::io("remove", path))?;
                    return Rows::create(path, columns);
                }
                Mark::default().after(&header)
            }
        };
        let mut waiting = std::collections::VecDeque::new();
        let mut end = mark.bytes;
        let mut line_number = mark.lines;
        loop {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line).map_err(read())?;
            // a row without its end was being written when the process ended
            if line.last() != Some(&b'\n') {
                break;
            }
            line_number += 1;
            let row = columns.parse(&line).map_err(|e| problem(line_number, e))?;
            end += line.len() as u64;
            waiting.push_back((row, line));
        }
        let mut file = reader.into_inner();
        file.set_len(end).map_err(StudyError::io("write to", path))?;
        file.seek(SeekFrom::Start(end)).map_err(read())?;
        Ok(Rows {
            path: path.to_path_buf(),
            file,
            columns,
            mark,
            waiting,
        })
    }

    /// What has been accounted for.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The next row that was there already, which must be the one asked for: these keys, these parameters.
    pub fn take(&mut self, keys: &[String], parameters: &[f64]) -> Result<Option<Evaluation>, StudyError> {
        let Some((row, line)) = self.waiting.pop_front() else {
            return Ok(None);
        };
        if row.keys != keys || row.parameters != parameters {
            return Err(StudyError::Log {
                path: self.path.clone(),
                line: self.mark.lines + 1,
                problem: format!(
                    "the row is {} with other parameters, or of another place; expected {}",
                    row.keys.join(","),
                    keys.join(",")
                ),
            });
        }
        self.mark = self.mark.after(&line);
        Ok(Some(row.evaluation))
    }

    /// Whether rows that were there already have not been taken yet.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Appends a row. What is written of a row that does not fit on the disk is taken back.
    pub fn push(&mut self, row: &Row) -> Result<(), StudyError> {
        let line = self.columns.write(row);
        if let Err(error) = self.file.write_all(&line) {
            let _ = self.file.set_len(self.mark.bytes);
            let _ = self.file.seek(SeekFrom::Start(self.mark.bytes));
            return Err(StudyError::io("write to", &self.path)(error));
        }
        self.mark = self.mark.after(&line);
        Ok(())
    }

    /// Waits until the disk has everything.
    pub fn sync(&self) -> Result<(), StudyError> {
        self.file.sync_data().map_err(StudyError::io("write to", &self.path))
    }
}

impl Mark {
    /// The mark behind `bytes` more.
    fn after(self, bytes: &[u8]) -> Mark {
        let mut crc = crc32fast::Hasher::new_with_initial_len(self.crc, self.bytes);
        crc.update(bytes);
        Mark {
            bytes: self.bytes + bytes.len() as u64,
            lines: self.lines + bytes.iter().filter(|b| **b == b'\n').count() as u64,
            crc: crc.finalize(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        Columns::new(&["evaluation"], &["speed".into()], &["a,b".into(), "c".into()])
    }

    fn row(i: u64) -> Row {
        Row {
            keys: vec![i.to_string()],
            evaluation: Evaluation {
                cost: 1.0 / (3.0 + i as f64),
                measures: vec![if i == 2 { f64::NAN } else { nine_digits(1.0 / 7.0) }],
                outcome: if i == 2 { Outcome::Invalid } else { Outcome::Completed },
                reason: (i == 2).then(|| "say \"no\", twice".to_string()),
                simulated_s: 2.5,
            },
            parameters: vec![nine_digits(-1e-300 / 3.0), 1e22],
        }
    }

    #[test]
    fn rows_read_back_to_the_bit_and_a_torn_one_is_cut_off() {
        // write, tear the last line anywhere, open: all whole rows are there, and writing goes on behind them
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let mut rows = Rows::create(&path, columns()).unwrap();
        for i in 1..=3 {
            rows.push(&row(i)).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
        for cut in last..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut rows = Rows::open(&path, columns(), None).unwrap();
            for i in 1..=2 {
                let found = rows.take(&[i.to_string()], &row(i).parameters).unwrap().unwrap();
                let expected = row(i).evaluation;
                assert_eq!(found.cost.to_bits(), expected.cost.to_bits());
                assert_eq!((found.outcome, &found.reason), (expected.outcome, &expected.reason));
                assert_eq!(found.measures[0].is_nan(), expected.measures[0].is_nan());
            }
            assert_eq!(rows.take(&["3".into()], &row(3).parameters).unwrap(), None);
            rows.push(&row(3)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole);
            // the mark covers what is there
            let mark = rows.mark();
            assert!(!Rows::open(&path, columns(), Some(mark)).unwrap().has_waiting());
        }
    }

    #[test]
    fn a_log_that_was_changed_is_refused_with_its_line() {
        // another column, a changed byte before the mark, a row of another place, a cut before the mark
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let mut rows = Rows::create(&path, columns()).unwrap();
        rows.push(&row(1)).unwrap();
        let mark = rows.mark();
        rows.push(&row(2)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let other = Columns::new(&["index"], &[], &[]);
        assert!(Rows::open(&path, other, None).is_err());
        let mut rows = Rows::open(&path, columns(), Some(mark)).unwrap();
        let error = rows.take(&["3".into()], &row(2).parameters).unwrap_err().to_string();
        assert!(error.contains("log.csv:3:"), "{error}");
        let mut changed = whole.clone();
        changed[mark.bytes as usize - 3] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert!(Rows::open(&path, columns(), Some(mark)).is_err());
        std::fs::write(&path, &whole[..mark.bytes as usize - 1]).unwrap();
        assert!(Rows::open(&path, columns(), Some(mark)).is_err());
        let mut garbage = whole.clone();
        garbage.extend(b"4,x,completed,,1,1,1,1\n");
        std::fs::write(&path, &garbage).unwrap();
        let error = Rows::open(&path, columns(), Some(mark)).err().unwrap().to_string();
        assert!(error.contains("log.csv:4:") && error.contains("cost"), "{error}");
    }
}
