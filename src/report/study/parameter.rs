//! What `study.toml` and `sweep.toml` say about parameters.

use toml::{Table, Value};

/// A column of parameters, and what is known of it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Parameter {
    pub name: String,
    pub bounds: Option<[f64; 2]>,
    /// Whether its logarithms were searched.
    pub log: bool,
}

/// How near a bound counts as at it, as a share of the distance of the bounds (of their logarithms, if those were searched).
pub const NEAR: f64 = 0.01;

/// Which bound a value is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Lower,
    Upper,
}

impl Parameter {
    /// What the tables `[[parameters]]` of `settings` say of the column `name`: that of this name or path, or that whose `*` stands
    /// for it.
    pub fn of(name: &str, settings: &Table) -> Parameter {
        let mut parameter = Parameter {
            name: name.to_string(),
            ..Parameter::default()
        };
        let tables = settings.get("parameters").and_then(Value::as_array);
        let Some(table) = tables.into_iter().flatten().find(|t| stands_for(t, name)) else {
            return parameter;
        };
        let number = |v: &Value| {
            v.as_float()
                .or(v.as_integer().map(|i| i as f64))
                .filter(|v| v.is_finite())
        };
        let pair: Option<Vec<f64>> = (table.get("bounds").and_then(Value::as_array))
            .and_then(|b| b.iter().map(number).collect())
            .filter(|b: &Vec<f64>| b.len() == 2 && b[0] < b[1]);
        parameter.bounds = pair.map(|b| [b[0], b[1]]);
        let log = table.get("log").and_then(Value::as_bool) == Some(true);
        parameter.log = log && parameter.bounds.is_none_or(|b| b[0] > 0.0);
        parameter
    }

    /// 0 at the lower bound, 1 at the upper one.
    pub fn share(&self, value: f64) -> Option<f64> {
        let [low, high] = self.bounds?;
        match self.log {
            true if value <= 0.0 => None,
            true => Some(libm::log(value / low) / libm::log(high / low)),
            false => Some((value - low) / (high - low)),
        }
    }

    /// The bound that a value is at, to within 1 % of the distance of the bounds.
    pub fn at_bound(&self, value: f64) -> Option<Bound> {
        match self.share(value)? {
            s if s <= NEAR => Some(Bound::Lower),
            s if s >= 1.0 - NEAR => Some(Bound::Upper),
            _ => None,
        }
    }
}

/// Whether any table of `settings` stands for a column of this name.
pub fn is_known(name: &str, settings: &Table) -> bool {
    let tables = settings.get("parameters").and_then(Value::as_array);
    tables.into_iter().flatten().any(|t| stands_for(t, name))
}

fn stands_for(table: &Value, column: &str) -> bool {
    if let Some(name) = table.get("name").and_then(Value::as_str) {
        // the parameters of a `*` are numbered
        let number = column.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let numbered = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        return column == name || numbered;
    }
    let path = match table.get("path") {
        Some(Value::String(path)) => path.as_str(),
        Some(Value::Array(paths)) => paths.first().and_then(Value::as_str).unwrap_or(""),
        _ => return false,
    };
    let (pattern, parts) = (path.split('.'), column.split('.'));
    pattern.clone().count() == parts.clone().count()
        && pattern
            .zip(parts)
            .all(|(p, part)| p == "*" || p == part || is_within(p, part))
}

/// Whether a part of a path is among the entries `a-b` of an array.
fn is_within(pattern: &str, part: &str) -> bool {
    let ends = pattern
        .split_once('-')
        .and_then(|(a, b)| Some((a.parse::<usize>().ok()?, b.parse().ok()?)));
    match (ends, part.parse::<usize>()) {
        (Some((first, last)), Ok(i)) => (first..=last).contains(&i),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "
        parameters = [
            { path = 'controller.kp_scale', bounds = [0.1, 10.0], log = true },
            { path = ['character.set.*.mass', 'x'], name = 'mass', bounds = [1, 3] },
            { path = 'offsets.*.knots.1' },
            { path = 'offsets.knee.3-11' },
        ]";

    /// Every column that a table can stand for is found: by name, by number, by path, by `*`.
    #[test]
    fn columns_find_their_tables() {
        let settings: Table = toml::from_str(SETTINGS).unwrap();
        assert_eq!(Parameter::of("mass.12", &settings).bounds, Some([1.0, 3.0]));
        assert_eq!(Parameter::of("mass", &settings).bounds, Some([1.0, 3.0]));
        assert!(is_known("offsets.hip.knots.1", &settings) && !is_known("offsets.hip.knots.2", &settings));
        assert!(is_known("offsets.knee.11", &settings) && !is_known("offsets.knee.12", &settings));
        assert!(!is_known("mass.", &settings) && !is_known("masses.1", &settings));
        assert!(Parameter::of("controller.kp_scale", &settings).log);
    }

    /// A hundredth of the distance of the bounds, of logarithms where those are searched.
    #[test]
    fn values_within_a_hundredth_are_at_their_bound() {
        let settings: Table = toml::from_str(SETTINGS).unwrap();
        let kp = Parameter::of("controller.kp_scale", &settings);
        // 1 % of ln 100 is 0.046
        assert_eq!(kp.at_bound(0.104), Some(Bound::Lower));
        assert_eq!(kp.at_bound(0.11), None);
        assert_eq!(kp.at_bound(9.6), Some(Bound::Upper));
        let mass = Parameter::of("mass", &settings);
        assert_eq!(mass.at_bound(2.981), Some(Bound::Upper));
        assert_eq!(mass.at_bound(2.979), None);
    }
}
