//! Suggestions for names that do not exist.

/// Up to three known names that look like `name`, best first.
///
/// ```
/// assert_eq!(ive_envs::nearest("breakuot", ["asterix", "breakout", "freeway"]), ["breakout"]);
/// assert!(ive_envs::nearest("zzz", ["asterix", "breakout"]).is_empty());
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |k: &str| if k.contains(name) { 1.0 } else { strsim::jaro_winkler(name, k) };
    let mut found: Vec<_> =
        known.into_iter().map(|k| (likeness(k), k)).filter(|(like, _)| *like >= 0.75).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(3).map(|(_, k)| k).collect()
}
