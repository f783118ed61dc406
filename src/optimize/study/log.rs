//! Rows of evaluations: a CSV file that only grows.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::StudyError;
use crate::optimize::evaluation::{Evaluation, Outcome};
use crate::optimize::problem::{FAILED, nine_digits};

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
    /// As it can be written, so that what goes on from a row is the same whether it was read or not: measures to nine digits and as
    /// many as there are names for, a finite cost, a reason on one line.
    pub fn new(keys: Vec<String>, mut evaluation: Evaluation, parameters: Vec<f64>, measures: usize) -> Row {
        evaluation.measures.resize(measures, f64::NAN);
        for measure in &mut evaluation.measures {
            *measure = nine_digits(*measure);
        }
        evaluation.simulated_s = nine_digits(evaluation.simulated_s);
        if !evaluation.cost.is_finite() {
            evaluation = Evaluation {
                cost: FAILED,
                outcome: Outcome::Invalid,
                reason: Some("the cost is no finite number".into()),
                ..evaluation
            };
        }
        evaluation.reason = (evaluation.reason)
            .map(|r| r.replace(['\n', '\r'], " "))
            .filter(|r| !r.is_empty());
        Row {
            keys,
            evaluation,
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
    pub(super) fn line(fields: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
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

/// Bytes of a file that are read at a time.
const BLOCK: usize = 1 << 16;

/// Reads what `mark` says was written, which must still be there.
pub(super) fn skip_known(reader: &mut impl Read, path: &Path, mark: Mark) -> Result<(), StudyError> {
    let problem = |line: u64, problem: String| StudyError::Log {
        path: path.to_path_buf(),
        line,
        problem,
    };
    let mut found = Mark::default();
    let mut block = vec![0; BLOCK];
    while found.bytes < mark.bytes {
        let most = BLOCK.min(usize::try_from(mark.bytes - found.bytes).unwrap_or(BLOCK));
        let count = reader.read(&mut block[..most]).map_err(StudyError::io("read", path))?;
        if count == 0 {
            let message = format!("the file ends after {} of {} bytes", found.bytes, mark.bytes);
            return Err(problem(found.lines, message));
        }
        found = found.after(&block[..count]);
    }
    match found == mark {
        true => Ok(()),
        false => Err(problem(mark.lines, "rows up to here have been changed".into())),
    }
}

/// Opens a file whose content is read and added to. Devices are refused: they may have no end.
pub(super) fn open_file(path: &Path) -> Result<File, StudyError> {
    let read = || StudyError::io("read", path);
    if !std::fs::metadata(path).map_err(read())?.is_file() {
        return Err(read()(std::io::Error::other("it is no regular file")));
    }
    let opened = File::options().read(true).write(true).open(path);
    opened.map_err(StudyError::io("write to", path))
}

/// A log that is open: rows that were there before it was opened are read, then new ones are written.
pub struct Rows {
    path: PathBuf,
    file: File,
    columns: Columns,
    mark: Mark,
    /// The rows behind the mark that were there when it was opened. They are read one by one: there may be very many.
    waiting: Option<BufReader<File>>,
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
            waiting: None,
        })
    }

    /// A log that exists, accounted for up to `mark` (its header, if there is none). All of it is looked at, and nothing
    /// changed yet but a header that was never finished.
    pub fn open(path: &Path, columns: Columns, mark: Option<Mark>) -> Result<Rows, StudyError> {
        let read = || StudyError::io("read", path);
        let header = columns.header();
        let problem = |line: u64, problem: String| StudyError::Log {
            path: path.to_path_buf(),
            line,
            problem,
        };
        let file = open_file(path)?;
        let mut reader = BufReader::with_capacity(BLOCK, File::open(path).map_err(read())?);
        let mut found = Vec::new();
        let length = header.len() as u64;
        (&mut reader).take(length).read_to_end(&mut found).map_err(read())?;
        if !header.starts_with(&found) {
            return Err(problem(1, "the columns are others".into()));
        }
        if found != header && mark.is_none() {
            // the process ended while it wrote the header
            drop((reader, file));
            std::fs::remove_file(path).map_err(StudyError::io("remove", path))?;
            return Rows::create(path, columns);
        }
        let mark = mark.unwrap_or(Mark::default().after(&header));
        reader.seek(SeekFrom::Start(0)).map_err(read())?;
        skip_known(&mut reader, path, mark)?;
        let mut line_number = mark.lines;
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(read())?;
            // a row without its end was being written when the process ended
            if line.last() != Some(&b'\n') {
                break;
            }
            line_number += 1;
            columns.parse(&line).map_err(|e| problem(line_number, e))?;
        }
        let mut rows = Rows {
            path: path.to_path_buf(),
            file,
            columns,
            mark,
            waiting: None,
        };
        rows.rewind(mark)?;
        Ok(rows)
    }

    /// Goes back to `mark`: the rows behind it are waiting again.
    pub fn rewind(&mut self, mark: Mark) -> Result<(), StudyError> {
        let read = || StudyError::io("read", &self.path);
        let mut reader = BufReader::with_capacity(BLOCK, File::open(&self.path).map_err(read())?);
        reader.seek(SeekFrom::Start(mark.bytes)).map_err(read())?;
        self.mark = mark;
        self.waiting = Some(reader);
        Ok(())
    }

    /// What has been accounted for.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The next row that was there already, which must be the one asked for: these keys, these parameters.
    pub fn take(&mut self, keys: &[String], parameters: &[f64]) -> Result<Option<Evaluation>, StudyError> {
        let Some(reader) = &mut self.waiting else {
            return Ok(None);
        };
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line);
        read.map_err(StudyError::io("read", &self.path))?;
        if line.last() != Some(&b'\n') {
            self.cut()?;
            return Ok(None);
        }
        let problem = |problem: String| StudyError::Log {
            path: self.path.clone(),
            line: self.mark.lines + 1,
            problem,
        };
        let row = self.columns.parse(&line).map_err(problem)?;
        if row.keys != keys || row.parameters != parameters {
            return Err(problem(format!(
                "the row is {} with other parameters, or of another place; expected {}",
                row.keys.join(","),
                keys.join(",")
            )));
        }
        self.mark = self.mark.after(&line);
        Ok(Some(row.evaluation))
    }

    /// The keys of the next whole row that was there already.
    pub fn peek(&mut self) -> Result<Option<Vec<String>>, StudyError> {
        if !self.has_waiting()? {
            return Ok(None);
        }
        let mut line = Vec::new();
        if let Some(reader) = &mut self.waiting {
            let read = reader.read_until(b'\n', &mut line);
            read.map_err(StudyError::io("read", &self.path))?;
        }
        self.rewind(self.mark)?;
        let row = self.columns.parse(&line).ok();
        Ok(row.filter(|_| line.ends_with(b"\n")).map(|row| row.keys))
    }

    /// Whether there is anything that was there already and has not been taken yet, be it a piece of a row.
    pub fn has_waiting(&mut self) -> Result<bool, StudyError> {
        match &mut self.waiting {
            Some(reader) => {
                let next = reader.fill_buf().map_err(StudyError::io("read", &self.path))?;
                Ok(!next.is_empty())
            }
            None => Ok(false),
        }
    }

    /// Removes what is behind the mark.
    pub fn cut(&mut self) -> Result<(), StudyError> {
        self.waiting = None;
        let write = || StudyError::io("write to", &self.path);
        self.file.set_len(self.mark.bytes).map_err(write())?;
        self.file.seek(SeekFrom::Start(self.mark.bytes)).map_err(write())?;
        Ok(())
    }

    /// Appends a row; what was waiting must have been taken. What is written of a row that does not fit on the disk is taken back.
    pub fn push(&mut self, row: &Row) -> Result<(), StudyError> {
        if self.waiting.is_some() {
            self.cut()?;
        }
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
    pub(super) fn after(self, bytes: &[u8]) -> Mark {
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
            assert!(!Rows::open(&path, columns(), Some(mark)).unwrap().has_waiting().unwrap());
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
        assert_eq!(std::fs::read(&path).unwrap(), garbage);
        let error = Rows::open(folder.path(), columns(), None).err().unwrap().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }

    #[test]
    fn what_an_evaluator_may_not_give_is_put_right() {
        // a cost that is no number is a failure, measures are as many as there are names, reasons have one line
        let wild = Evaluation {
            cost: f64::NAN,
            measures: vec![1.0 / 3.0],
            outcome: Outcome::Completed,
            reason: None,
            simulated_s: 1.0,
        };
        let tame = Row::new(vec![], wild.clone(), vec![], 2).evaluation;
        assert_eq!((tame.cost, tame.outcome), (FAILED, Outcome::Invalid));
        assert!(tame.reason.unwrap().contains("finite"));
        assert!(tame.measures[0] == 0.333333333 && tame.measures[1].is_nan());
        let fine = Evaluation {
            cost: 1.0,
            reason: Some("two\nlines".into()),
            ..wild
        };
        assert_eq!(
            Row::new(vec![], fine, vec![], 0).evaluation.reason.as_deref(),
            Some("two lines")
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_row_that_cannot_be_written_does_not_count() {
        // on a full disk the error names the file, and the mark stays where it was
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let mut rows = Rows::create(&path, columns()).unwrap();
        rows.push(&row(1)).unwrap();
        let mark = rows.mark();
        rows.file = File::options().write(true).open("/dev/full").unwrap();
        let error = rows.push(&row(2)).unwrap_err();
        assert!(
            error.is_of_machine() && error.to_string().contains("log.csv"),
            "{error}"
        );
        assert_eq!(rows.mark(), mark);
    }
}
