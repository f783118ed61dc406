//! `--set path=value` and `set` tables: changes to a TOML file before it is read.

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

/// Applies `path=value` to `document`. The path is dotted; an entry of an array is called by its place (`props.0.mass`) or, if it
/// has one, by its name (`props.ball.mass`). The value is TOML, or a word taken as a string. A key that is not written in the file may be set, since it may have a
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
    set(document, &keys.join("."), parse_value(value.trim())).map_err(error)
}

/// Writes `value` at a dotted path, as [`apply`] does.
pub fn set(document: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let keys: Vec<&str> = path.split('.').collect();
    let (last, above) = keys.split_last().expect("split gives at least one part");
    let mut root = Value::Table(std::mem::take(document));
    let result = descend(&mut root, above).and_then(|parent| put(parent, last, value));
    if let Value::Table(table) = root {
        *document = table;
    }
    result
}

/// The value at a dotted path; `None` if there is none.
pub fn get<'a>(document: &'a Table, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(f, r)| (f, Some(r)));
    let mut at = document.get(first)?;
    for key in rest.iter().flat_map(|r| r.split('.')) {
        at = match at {
            Value::Table(table) => table.get(key)?,
            Value::Array(array) => &array[index(key, array).ok()?],
            _ => return None,
        };
    }
    Some(at)
}

/// Writes everything in `changes` over `document`: tables go into tables and, by place or name, into arrays; all else replaces
/// what was there. Keys may be dotted strings. The error tells the path.
pub fn merge(document: &mut Table, changes: &Table) -> Result<(), String> {
    for (key, change) in changes {
        merge_at(document, key, change)?;
    }
    Ok(())
}

fn merge_at(document: &mut Table, path: &str, change: &Value) -> Result<(), String> {
    let into = get(document, path);
    match (change, into) {
        (Value::Table(more), Some(Value::Table(_) | Value::Array(_))) => {
            for (key, change) in more {
                merge_at(document, &format!("{path}.{key}"), change)?;
            }
            Ok(())
        }
        // a new table may have dotted keys too
        (Value::Table(more), _) => {
            set(document, path, Value::Table(Table::new())).map_err(|e| format!("`{path}`: {e}"))?;
            for (key, change) in more {
                merge_at(document, &format!("{path}.{key}"), change)?;
            }
            Ok(())
        }
        _ => set(document, path, change.clone()).map_err(|e| format!("`{path}`: {e}")),
    }
}

fn descend<'a>(mut at: &'a mut Value, keys: &[&str]) -> Result<&'a mut Value, String> {
    for key in keys {
        at = match at {
            Value::Table(table) => table
                .entry(key.to_string())
                .or_insert_with(|| Value::Table(Table::new())),
            Value::Array(array) => {
                let index = index(key, array)?;
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
            let index = index(key, array)?;
            array[index] = value;
        }
        other => return Err(format!("`{key}` is looked for inside of a {}", other.type_str())),
    }
    Ok(())
}

/// Place of the entry called `key` in an array.
fn index(key: &str, array: &[Value]) -> Result<usize, String> {
    let names = || array.iter().map(|v| v.get("name").and_then(Value::as_str));
    if let Some(place) = names().position(|name| name == Some(key)) {
        return Ok(place);
    }
    let length = array.len();
    match key.parse::<usize>() {
        Ok(index) if index < length => Ok(index),
        Ok(index) => Err(format!(
            "there is no entry {index}; the array has {length}, counted from 0"
        )),
        Err(_) => {
            let known: Vec<&str> = names().flatten().collect();
            Err(match (nearest(key, known.iter().copied()), known.is_empty()) {
                (Some(name), _) => format!("there is no entry called `{key}`; did you mean `{name}`?"),
                (None, false) => format!("there is no entry called `{key}`; there are {}", known.join(", ")),
                (None, true) => format!("`{key}` should be a number from 0: the path leads into an array of {length}"),
            })
        }
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
    fn an_entry_with_a_name_is_found_by_it() {
        // place and name lead to the same entry; a mistyped name gets the nearest
        let mut table: Table = "[[props]]\nname = \"ball\"\nmass = 1\n[[props]]\nname = \"box\"\nmass = 2\n"
            .parse()
            .unwrap();
        apply(&mut table, "props.box.mass=3").unwrap();
        assert_eq!(get(&table, "props.1.mass"), Some(&Value::Integer(3)));
        let error = apply(&mut table, "props.bal.mass=3").unwrap_err().to_string();
        assert!(error.contains("did you mean `ball`"), "{error}");
    }

    #[test]
    fn merged_changes_replace_leaves_and_keep_the_rest() {
        // tables are entered, arrays entered by place or name, dotted keys understood, everything else replaced
        let mut table: Table = "a = 1\nsize = [1, 2]\n[[props]]\nname = \"ball\"\nmass = 1\nradius = 2\n[c.d]\nx = 1\n"
            .parse()
            .unwrap();
        let changes: Table =
            "size = [3]\n\"props.ball.mass\" = 5\n[props.0]\nradius = 7\n[c]\ne.f = 2\n\"new.q\" = 4\n"
                .parse()
                .unwrap();
        merge(&mut table, &changes).unwrap();
        let expected: Table =
            "a = 1\nsize = [3]\n[[props]]\nname = \"ball\"\nmass = 5\nradius = 7\n[c]\nd.x = 1\ne.f = 2\nnew.q = 4\n"
                .parse()
                .unwrap();
        assert_eq!(table, expected);
        let changes: Table = "props.2.mass = 1".parse().unwrap();
        assert!(merge(&mut table, &changes).unwrap_err().contains("`props.2`"));
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
