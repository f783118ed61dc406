//! `--set path=value`: changes to an experiment before it is read.

use thiserror::Error;
use toml::{Table, Value};

use crate::names::nearest;

/// A change that cannot be made.
#[derive(Debug, Error, Clone, PartialEq)]
#[error("--set {text}: {problem}")]
pub struct SetError {
    pub text: String,
    pub problem: String,
}

/// Applies `path=value` to `document`. The path is dotted, with numbers for places in arrays (`props.0.mass`); the
/// value is TOML, or a word taken as a string. A key that is not written in the file may be set, since it may have a
/// default: reading the file afterwards tells whether it means anything.
pub fn apply(document: &mut Table, text: &str) -> Result<(), SetError> {
    let error = |problem: String| SetError {
        text: text.to_string(),
        problem,
    };
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| error("expected path=value, like rate_hz=120 or props.0.mass=2.5".into()))?;
    let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
    if keys.iter().any(|k| k.is_empty()) {
        return Err(error(format!("the path `{path}` has an empty part")));
    }
    let value = parse_value(value.trim());
    let (last, above) = keys.split_last().expect("split gives at least one part");
    let mut root = Value::Table(std::mem::take(document));
    let result = descend(&mut root, above).and_then(|parent| put(parent, last, value));
    if let Value::Table(table) = root {
        *document = table;
    }
    result.map_err(error)
}

fn descend<'a>(mut at: &'a mut Value, keys: &[&str]) -> Result<&'a mut Value, String> {
    for key in keys {
        at = match at {
            Value::Table(table) => table
                .entry(key.to_string())
                .or_insert_with(|| Value::Table(Table::new())),
            Value::Array(array) => {
                let index = index(key, array.len())?;
                &mut array[index]
            }
            other => return Err(format!("`{key}` is looked for inside of a {}", other.type_str())),
        };
    }
    Ok(at)
}

fn put(parent: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match parent {
        Value::Table(table) => {
            table.insert(key.to_string(), value);
        }
        Value::Array(array) => {
            let index = index(key, array.len())?;
            array[index] = value;
        }
        other => return Err(format!("`{key}` is looked for inside of a {}", other.type_str())),
    }
    Ok(())
}

fn index(key: &str, length: usize) -> Result<usize, String> {
    match key.parse::<usize>() {
        Ok(index) if index < length => Ok(index),
        Ok(index) => Err(format!(
            "there is no entry {index}; the array has {length}, counted from 0"
        )),
        Err(_) => Err(format!(
            "`{key}` should be a number from 0: the path leads into an array of {length}"
        )),
    }
}

fn parse_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut t| t.remove("value").filter(|_| t.is_empty()))
        .unwrap_or_else(|| Value::String(text.to_string()))
}

/// What serde says of an unknown key or word, with the nearest known one.
pub fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown");
    let suggestion = quoted
        .next()
        .filter(|_| unknown)
        .and_then(|found| nearest(found, quoted));
    let message = message.trim().replace('\n', " ");
    match suggestion {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<Table, SetError> {
        let mut table: Table = "rate_hz = 240\n[[props]]\nmass = 1.0\nsize = [1, 2, 3]\n"
            .parse()
            .unwrap();
        apply(&mut table, text).map(|()| table)
    }

    #[test]
    fn a_path_reaches_into_tables_and_arrays() {
        // after a change the document holds the value at that path and all else as before
        assert_eq!(set("rate_hz=120").unwrap()["rate_hz"], Value::Integer(120));
        let table = set("props.0.size.2=4.5").unwrap();
        assert_eq!(table["props"][0]["size"][2], Value::Float(4.5));
        assert_eq!(table["props"][0]["mass"], Value::Float(1.0));
        assert_eq!(set("engine=rapier").unwrap()["engine"], Value::String("rapier".into()));
        assert_eq!(
            set("controller.assist.kp_linear=5").unwrap()["controller"]["assist"]["kp_linear"],
            Value::Integer(5)
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused_with_the_reason() {
        // no entry, no number, no table: each says which
        assert!(
            set("props.1.mass=2")
                .unwrap_err()
                .to_string()
                .contains("the array has 1")
        );
        assert!(set("props.x.mass=2").unwrap_err().to_string().contains("number"));
        assert!(set("rate_hz.x=2").unwrap_err().to_string().contains("integer"));
        assert!(set("rate_hz").unwrap_err().to_string().contains("path=value"));
        assert!(set("a..b=1").unwrap_err().to_string().contains("empty part"));
    }
}
