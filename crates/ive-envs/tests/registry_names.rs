//! What is said about environments that do not exist.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive_envs::registry;

/// The five games are those of Young and Tian (2019).
#[test]
fn a_name_like_no_other_gets_the_names_of_its_family_or_of_all() {
    let said = |name| registry::find(name).unwrap_err().to_string();
    assert_eq!(
        said("minatar:pong"),
        "no environment is called `minatar:pong`; there are minatar:asterix, breakout, freeway, seaquest, space_invaders"
    );
    let grid = said("grid");
    for words in ["minatar:asterix", "procgen:bigfish", "walker:run", "`ive reproduce` only"] {
        assert!(grid.contains(words), "`{words}` is not in `{grid}`");
    }
}
