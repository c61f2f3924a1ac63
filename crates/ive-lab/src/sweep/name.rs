//! Names of tasks as paths: plain characters only, whatever was asked for, and never two tasks in one place.

/// The longest component of a path.
const LONGEST: usize = 80;

/// A component of a path for any text. What cannot stay is replaced, and a few digits of the text's hash keep two such
/// texts apart.
pub fn component(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._=,+-".contains(c);
    // `minatar:breakout` is an ordinary name; its colon is not worth a hash.
    let simple = text.replace(':', "-");
    if simple.len() <= LONGEST
        && simple.chars().all(plain)
        && !simple.starts_with(['.', '-'])
        && !simple.is_empty()
    {
        return simple;
    }
    let kept: String = simple.chars().map(|c| if plain(c) { c } else { '-' }).take(LONGEST - 10).collect();
    format!("{}-{}", kept.trim_start_matches(['.', '-']), &blake3::hash(text.as_bytes()).to_hex()[..8])
        .trim_start_matches('-')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_and_others_become_plain() {
        assert_eq!(component("minatar:breakout"), "minatar-breakout");
        assert_eq!(component("learning_rate=0.0001"), "learning_rate=0.0001");
        let strange =
            ["", ".", "..", "a b", "a'b", "$(reboot)", "`x`", "naïve", "β", "a/b", "a\nb", "-rf", "\\"];
        let mut seen = Vec::new();
        for text in strange.iter().map(|text| (*text).to_owned()).chain(["x".repeat(300)]) {
            let name = component(&text);
            let fine = |c: char| c.is_ascii_alphanumeric() || "._=,+-".contains(c);
            assert!(name.chars().all(fine) && name.len() <= LONGEST + 1, "{text}: {name}");
            assert!(!name.starts_with(['.', '-']) && !name.is_empty(), "{text}: {name}");
            assert!(!seen.contains(&name), "{text}: {name}");
            seen.push(name);
        }
    }
}
