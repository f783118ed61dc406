//! The numbers of the runs side by side, and the settings in which they differ.

use super::axes::signed;
use super::read::Run;

/// A row of the table of results.
pub struct Row {
    pub label: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    /// Per run, as text; empty where there is none.
    pub values: Vec<String>,
    /// The run that is clearly best.
    pub best: Option<usize>,
}

/// A number of `summary.json`, and how it is shown.
struct Quantity {
    key: &'static str,
    label: &'static str,
    unit: &'static str,
    /// Units shown per unit of the file.
    scale: f64,
    decimals: usize,
    /// Whether less is plainly better.
    less_is_better: bool,
    meaning: &'static str,
}

#[rustfmt::skip]
const QUANTITIES: [Quantity; 16] = [
    Quantity { key: "duration_s", label: "simulated", unit: "s", scale: 1.0, decimals: 2, less_is_better: false, meaning: "time until the run ended" },
    Quantity { key: "fell_at_s", label: "fell at", unit: "s", scale: 1.0, decimals: 2, less_is_better: false, meaning: "first time the rule of [fall] held" },
    Quantity { key: "tracking_error_mean_deg", label: "tracking error", unit: "°", scale: 1.0, decimals: 2, less_is_better: true, meaning: "angle between joint and target, mean over joints and time" },
    Quantity { key: "tracking_error_worst_joint_deg", label: "tracking error, worst joint", unit: "°", scale: 1.0, decimals: 2, less_is_better: true, meaning: "mean over time of the joint with the largest mean" },
    Quantity { key: "root_error_mean_m", label: "root error", unit: "mm", scale: 1e3, decimals: 1, less_is_better: true, meaning: "distance of the root from where the controller wants it, mean" },
    Quantity { key: "foot_slip_m", label: "foot slip", unit: "mm", scale: 1e3, decimals: 2, less_is_better: true, meaning: "largest slide of a loaded foot within one stance" },
    Quantity { key: "max_penetration_m", label: "penetration", unit: "mm", scale: 1e3, decimals: 2, less_is_better: true, meaning: "deepest overlap of bodies in contact" },
    Quantity { key: "max_joint_limit_violation_deg", label: "beyond joint limits", unit: "°", scale: 1.0, decimals: 2, less_is_better: true, meaning: "farthest that a joint left its range" },
    Quantity { key: "saturated_share", label: "at torque limits", unit: "%", scale: 100.0, decimals: 1, less_is_better: true, meaning: "share of the steps with a joint at its limit" },
    Quantity { key: "pd_law_unmet_share", label: "off the PD law", unit: "%", scale: 100.0, decimals: 1, less_is_better: true, meaning: "share of the steps in which a torque was not exactly the clamped PD law" },
    Quantity { key: "assist_impulse_ns", label: "help, force", unit: "N s", scale: 1.0, decimals: 1, less_is_better: true, meaning: "time integral of the external force at the root" },
    Quantity { key: "assist_angular_impulse_nms", label: "help, torque", unit: "N m s", scale: 1.0, decimals: 1, less_is_better: true, meaning: "time integral of the external torque at the root" },
    Quantity { key: "steps", label: "steps", unit: "", scale: 1.0, decimals: 0, less_is_better: false, meaning: "physics steps computed" },
    Quantity { key: "real_time_factor", label: "speed", unit: "× real time", scale: 1.0, decimals: 1, less_is_better: false, meaning: "seconds simulated per second of computing; depends on the machine" },
    Quantity { key: "us_per_step", label: "time per step", unit: "µs", scale: 1.0, decimals: 1, less_is_better: false, meaning: "computing time; depends on the machine" },
    Quantity { key: "state_hash", label: "state hash", unit: "", scale: 1.0, decimals: 0, less_is_better: false, meaning: "of the whole state at the end; equal runs have equal hashes" },
];

fn shown(quantity: &Quantity, value: f64) -> String {
    let value = value * quantity.scale;
    let text = match value.abs() >= 1e7 {
        true => format!("{value:.2e}"),
        false => format!("{value:.*}", quantity.decimals),
    };
    signed(text)
}

/// The results of all runs.
pub fn results(runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for q in &QUANTITIES {
        let values: Vec<String> = (runs.iter())
            .map(|run| match (q.key, run.number(q.key), run.text(q.key)) {
                ("fell_at_s", None, _) if run.summary.is_some() => "never".to_string(),
                ("tracking_error_worst_joint_deg", Some(value), _) => match run.text("tracking_error_worst_joint") {
                    Some(joint) => format!("{} ({joint})", shown(q, value)),
                    None => String::new(),
                },
                (_, Some(value), _) => shown(q, value),
                (_, None, Some(text)) => text.to_string(),
                _ => String::new(),
            })
            .collect();
        if values.iter().all(String::is_empty) {
            continue;
        }
        rows.push(Row {
            label: q.label,
            unit: q.unit,
            meaning: q.meaning,
            best: best(q, runs, &values),
            values,
        });
    }
    rows
}

/// The run with the least value, if less is better, all runs can be compared (they reached the same end on their feet), and what is
/// shown of the others is larger.
fn best(q: &Quantity, runs: &[Run], values: &[String]) -> Option<usize> {
    let comparable = |r: &Run| r.went_well() && (r.duration() - runs[0].duration()).abs() < 1e-6;
    if !q.less_is_better || runs.len() < 2 || !runs.iter().all(comparable) {
        return None;
    }
    let numbers: Option<Vec<f64>> = runs.iter().map(|r| r.number(q.key)).collect();
    let numbers = numbers?;
    let best = (0..numbers.len()).min_by(|a, b| numbers[*a].total_cmp(&numbers[*b]))?;
    // by a hundredth at least
    let others = (0..numbers.len()).filter(|i| *i != best);
    let clearly = |i: usize| numbers[i] - numbers[best] > 0.01 * numbers[i].abs() && values[i] != values[best];
    others.into_iter().all(clearly).then_some(best)
}

/// A setting that is not the same everywhere: its key, and its value in each run or study.
pub struct Difference {
    pub key: String,
    pub values: Vec<Option<String>>,
}

/// Every setting in which experiments or studies differ, in the order of their keys.
pub fn differences(settings: &[&toml::Table]) -> Vec<Difference> {
    let flat: Vec<Vec<(String, String)>> = (settings.iter())
        .map(|table| {
            let mut out = Vec::new();
            flatten("", &toml::Value::Table((*table).clone()), &mut out);
            out
        })
        .collect();
    let mut keys: Vec<&String> = flat.iter().flatten().map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .map(|key| Difference {
            key: key.clone(),
            values: (flat.iter())
                .map(|f| f.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()))
                .collect(),
        })
        .filter(|d| d.values.windows(2).any(|w| w[0] != w[1]))
        .collect()
}

fn flatten(key: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
    let inner = |name: &str| match key {
        "" => name.to_string(),
        _ => format!("{key}.{name}"),
    };
    match value {
        toml::Value::Table(table) if !table.is_empty() => {
            table.iter().for_each(|(name, value)| flatten(&inner(name), value, out));
        }
        // lists of tables are numbered, as for `--set`
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            let numbered = list.iter().enumerate();
            numbered.for_each(|(i, value)| flatten(&inner(&i.to_string()), value, out));
        }
        value => out.push((key.to_string(), value.to_string())),
    }
}
