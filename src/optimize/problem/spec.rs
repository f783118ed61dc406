//! What a study file says about the problem: which numbers of which experiment may change, and within which bounds.

use std::fmt;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A number of an experiment that may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// Where it stands in the experiment file: `controller.kp_scale`, `character.set.body.left_thigh.mass`. All of several places
    /// get the same value; `*` stands for every entry of an array or table and `2-5` for entries 2 to 5 of an array (counted from
    /// 0), each of which becomes a parameter of its own.
    pub path: Paths,
    /// What tables call it; the (first) path if absent.
    pub name: Option<String>,
    /// Where the search begins; what the experiment says if absent.
    pub initial: Option<f64>,
    /// Smallest and largest value; none if absent.
    pub bounds: Option<[f64; 2]>,
    /// Standard deviation at the beginning, in the parameter's unit, or of its natural logarithm if `log`; a fifth of the distance
    /// of the bounds if absent.
    pub scale: Option<f64>,
    /// Search among its logarithms.
    #[serde(default, skip_serializing_if = "is_false")]
    pub log: bool,
    /// Only whole numbers.
    #[serde(default, skip_serializing_if = "is_false")]
    pub integer: bool,
    /// Sweeps: how many values between the bounds, both included.
    pub levels: Option<usize>,
    /// Sweeps: these values.
    pub values: Option<Vec<f64>>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// One path or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths(pub Vec<String>);

impl Serialize for Paths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [path] => serializer.serialize_str(path),
            _ => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PathsVisitor;
        impl<'de> Visitor<'de> for PathsVisitor {
            type Value = Paths;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a path like \"controller.kp_scale\" or an array of them")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<Paths, E> {
                Ok(Paths(vec![path.to_string()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Paths, A::Error> {
                let mut paths = Vec::new();
                while let Some(path) = seq.next_element()? {
                    paths.push(path);
                }
                match paths.is_empty() {
                    true => Err(de::Error::invalid_length(0, &self)),
                    false => Ok(Paths(paths)),
                }
            }
        }
        deserializer.deserialize_any(PathsVisitor)
    }
}
