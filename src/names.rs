//! Names that were mistyped.
//!
//! In: a name and those there are. Out: the one that was most likely meant. Knows nothing of what is named.

/// The name in `known` that `name` was most likely meant to be, if one is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slip of a letter is found, another word is not.
    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near_enough() {
        assert_eq!(nearest("torque_limt", ["kp", "torque_limit"]), Some("torque_limit"));
        assert_eq!(nearest("zebra", ["kp", "torque_limit"]), None);
    }
}
