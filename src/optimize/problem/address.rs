//! From the paths of a study file to places in an experiment.

use toml::{Table, Value};

use super::spec::ParameterSpec;
use crate::experiment::overrides;

/// A parameter whose places are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub name: String,
    /// Dotted paths, without `*`.
    pub paths: Vec<String>,
    pub integer: bool,
}

impl Place {
    /// What the parameter is when it is written: nine significant digits, or a whole number.
    pub fn round(&self, value: f64) -> f64 {
        match self.integer {
            true => value.round(),
            false => nine_digits(value),
        }
    }

    /// Writes the parameter into an experiment.
    pub fn write(&self, experiment: &mut Table, value: f64) -> Result<(), String> {
        for path in &self.paths {
            let value = match self.integer {
                // a float becomes the nearest integer there is
                true => Value::Integer(value.round() as i64),
                false => Value::Float(value),
            };
            overrides::set(experiment, path, value)?;
        }
        Ok(())
    }
}

/// `value` to nine significant digits: what a file says of it and what is simulated are the same.
pub fn nine_digits(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// The parameters that a table of a study file stands for. The entries that `*` stands for are those of `experiment`.
pub fn places(spec: &ParameterSpec, experiment: &Table) -> Result<Vec<Place>, String> {
    let expanded: Vec<Vec<String>> = (spec.path.0.iter())
        .map(|path| expand(path, experiment))
        .collect::<Result<_, _>>()?;
    let count = expanded[0].len();
    if let Some(i) = expanded.iter().position(|e| e.len() != count) {
        return Err(format!(
            "`{}` stands for {} parameters and `{}` for {count}; paths of one parameter must stand for equally many",
            spec.path.0[i],
            expanded[i].len(),
            spec.path.0[0]
        ));
    }
    Ok((0..count)
        .map(|i| {
            let paths: Vec<String> = expanded.iter().map(|e| e[i].clone()).collect();
            let name = match (&spec.name, count) {
                (Some(name), 1) => name.clone(),
                (Some(name), _) => format!("{name}.{i}"),
                (None, _) => paths[0].clone(),
            };
            Place {
                name,
                paths,
                integer: spec.integer,
            }
        })
        .collect())
}

/// The places `a` to `b` of an array, both included, if a part of a path is `a-b`.
fn array_part(part: &str) -> Option<(usize, usize)> {
    let (first, last) = part.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn expand(path: &str, experiment: &Table) -> Result<Vec<String>, String> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|p| p.is_empty()) {
        return Err(format!("the path `{path}` has an empty part"));
    }
    // a body may be called 1-2, so a range is one only where an array is
    let stands_for_several = |i: &usize| {
        let in_array = || overrides::get(experiment, &parts[..*i].join(".")).is_some_and(|v| v.is_array());
        parts[*i] == "*" || (array_part(parts[*i]).is_some() && in_array())
    };
    let Some(at) = (0..parts.len()).find(stands_for_several) else {
        return Ok(vec![path.to_string()]);
    };
    if at == 0 {
        return Err("`*` cannot stand for the tables of an experiment themselves".into());
    }
    let above = parts[..at].join(".");
    let keys: Vec<String> = match (overrides::get(experiment, &above), array_part(parts[at])) {
        (Some(Value::Array(array)), Some((first, last))) => {
            if first > last || last >= array.len() {
                return Err(format!(
                    "`{above}` has {} entries, counted from 0, so `{path}` stands for nothing",
                    array.len()
                ));
            }
            (first..=last).map(|i| i.to_string()).collect()
        }
        (Some(Value::Array(array)), None) => (0..array.len()).map(|i| i.to_string()).collect(),
        (Some(Value::Table(table)), _) => table.keys().cloned().collect(),
        (Some(other), _) => {
            return Err(format!(
                "`{above}` is a {}, so `{path}` stands for nothing",
                other.type_str()
            ));
        }
        (None, _) => {
            return Err(format!(
                "there is no `{above}` in the experiment, so `{path}` stands for nothing"
            ));
        }
    };
    let mut all = Vec::new();
    for key in keys {
        let mut parts = parts.clone();
        parts[at] = &key;
        all.extend(expand(&parts.join("."), experiment)?);
    }
    match all.is_empty() {
        true => Err(format!("`{above}` is empty, so `{path}` stands for nothing")),
        false => Ok(all),
    }
}

/// What the experiment says at the first of the places.
pub fn written(place: &Place, experiment: &Table) -> Option<f64> {
    match overrides::get(experiment, &place.paths[0])? {
        Value::Float(value) => Some(*value),
        Value::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::Paths;
    use super::*;

    fn spec(paths: &[&str]) -> ParameterSpec {
        ParameterSpec {
            path: Paths(paths.iter().map(|p| p.to_string()).collect()),
            name: None,
            initial: None,
            bounds: None,
            scale: None,
            log: false,
            integer: false,
            levels: None,
            values: None,
        }
    }

    fn experiment() -> Table {
        "rate_hz = 240\n[joints.a]\nx = [1, 2.5]\n[joints.b]\nx = [3]\n[[props]]\nname = \"ball\"\nmass = 2\n"
            .parse()
            .unwrap()
    }

    #[test]
    fn a_star_stands_for_every_entry() {
        // each entry of tables and arrays becomes a parameter, named by its path
        let names = |paths: &[&str]| -> Vec<String> {
            let all = places(&spec(paths), &experiment()).unwrap();
            all.into_iter().map(|p| p.name).collect()
        };
        assert_eq!(
            names(&["joints.*.x.*"]),
            ["joints.a.x.0", "joints.a.x.1", "joints.b.x.0"]
        );
        assert_eq!(names(&["props.*.mass"]), ["props.0.mass"]);
        assert_eq!(names(&["joints.a.x.0-1"]), ["joints.a.x.0", "joints.a.x.1"]);
        assert_eq!(names(&["joints.*.x.0-0"]), ["joints.a.x.0", "joints.b.x.0"]);
        // not in an array, so it is a name
        assert_eq!(names(&["joints.1-2.x"]), ["joints.1-2.x"]);
        assert_eq!(names(&["rate_hz"]), ["rate_hz"]);
        let error = places(&spec(&["joints.a.x.*", "joints.b.x.*"]), &experiment()).unwrap_err();
        assert!(error.contains("equally many"), "{error}");
        for (path, part) in [
            ("joint.*.x", "no `joint`"),
            ("rate_hz.*", "integer"),
            ("joints.a.x.1-2", "2 entries"),
            ("joints.a.x.1-0", "2 entries"),
            ("*", "themselves"),
            ("a..b", "empty part"),
        ] {
            let error = places(&spec(&[path]), &experiment()).unwrap_err();
            assert!(error.contains(part), "{path}: {error}");
        }
    }

    #[test]
    fn a_value_is_written_to_all_its_places_and_read_back() {
        // write, read: the same number; a whole number where one is asked for
        let mut table = experiment();
        let place = places(&spec(&["props.ball.mass", "joints.b.x.0"]), &table)
            .unwrap()
            .remove(0);
        assert_eq!(written(&place, &table), Some(2.0));
        place.write(&mut table, 0.123456789).unwrap();
        assert_eq!(overrides::get(&table, "props.0.mass"), Some(&Value::Float(0.123456789)));
        assert_eq!(overrides::get(&table, "joints.b.x.0"), Some(&Value::Float(0.123456789)));
        let place = Place { integer: true, ..place };
        place.write(&mut table, 2.6).unwrap();
        assert_eq!(overrides::get(&table, "props.0.mass"), Some(&Value::Integer(3)));
    }

    #[test]
    fn nine_digits_are_those_that_a_file_has() {
        // rounding twice changes nothing, and the printed number has at most nine significant digits
        for value in [1.0 / 3.0, -2.0e-7 / 7.0, 123456789.123, 0.0, 1e300 / 3.0, 5e-324] {
            let rounded = nine_digits(value);
            assert_eq!(nine_digits(rounded), rounded);
            assert!((rounded - value).abs() <= 0.6e-8 * value.abs());
        }
        assert_eq!(nine_digits(1.0 / 3.0), 0.333333333);
    }
}
