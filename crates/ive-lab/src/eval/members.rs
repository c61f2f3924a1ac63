//! Which members of the implicit ensemble μ and σ are taken over.
//!
//! By default those that the agent was trained to have. For a value prediction network that is k = 1 to as far as the model was
//! trained to predict: the value of a state that it has just encoded, k = 0, is trained with `train_zero` only. Whoever asks
//! for k = 0 gets it.

use ive::Members;

/// Reads `1..5` (both ends belong to it) or `0,2,5`: two members or more.
pub fn parse(text: &str) -> Result<Members, String> {
    let number = |part: &str| {
        part.trim()
            .parse::<usize>()
            .map_err(|_| format!("`{text}` is no set of members; write 1..5, 0..5 or 0,2,5"))
    };
    let members = match text.split_once("..") {
        Some((first, last)) => Members::new(number(first)?..=number(last.trim_start_matches('='))?),
        None => Members::new(text.split(',').map(number).collect::<Result<Vec<_>, _>>()?),
    };
    let members = members.map_err(|e| match e {
        ive::Error::Empty { .. } => format!("`{text}` has no members; write 1..5 or 0..5"),
        other => other.to_string(),
    })?;
    if members.len() < 2 {
        return Err(format!(
            "`{text}` is one member, and σ is the spread of two or more; write 1..5, 0..5 or 0,2,5"
        ));
    }
    Ok(members)
}

/// Which members μ and σ are taken over, along which path and why, or that there are none.
pub fn note(members: Option<&Members>, agent: &str) -> String {
    let Some(members) = members else {
        return format!("{agent} has no model: there are no members, no μ-IVE and no σ-IVE");
    };
    let has_zero = members.lengths().contains(&0);
    let (path, zero) = match (agent, has_zero) {
        ("muesli", true) => ("one path of actions drawn from the policy", ""),
        ("muesli", false) => ("one path of actions drawn from the policy", " (--members 0..5 adds k = 0)"),
        ("dreamer", true) => ("the means of the prior and the modes of the actor", ""),
        ("dreamer", false) => {
            ("the means of the prior and the modes of the actor", " (--members 0..5 adds k = 0)")
        }
        (_, true) => (
            "the plan",
            "; k = 0 is among them: a value prediction network trains the value of the state it has just encoded only \
             with train_zero=true",
        ),
        (_, false) => (
            "the plan",
            "; k = 0 is left out, because a value prediction network never trains the value of the state it has \
             just encoded, unless train_zero is set (--members 0..5 adds it)",
        ),
    };
    format!("μ-IVE and σ-IVE over the members {members} along {path}{zero}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_with_both_ends() {
        let shown = ["1..5", "0..5", "0..=2", "5,0,2"].map(|text| parse(text).unwrap().to_string());
        assert_eq!(shown, ["k=1..5", "k=0..5", "k=0..2", "k∈{0,2,5}"]);
        assert!(parse("5..1").unwrap_err().contains("has no members"));
        assert!(["3", "3..3", "3,3"].iter().all(|text| parse(text).unwrap_err().contains("one member")));
        for text in ["", "a..b", "1..", "-1..5", "1.5"] {
            assert!(parse(text).unwrap_err().contains("no set of members"), "{text}");
        }
        assert!(parse("0..99999999999").unwrap_err().contains("outside the range"));
    }

    #[test]
    fn nobody_has_members_without_a_model() {
        assert!(note(Some(&parse("1..5").unwrap()), "mu-ive").contains("k = 0 is left out"));
        assert!(note(None, "dqn").contains("dqn has no model"));
        let dreamer = note(Some(&parse("0..5").unwrap()), "dreamer");
        assert!(dreamer.ends_with("along the means of the prior and the modes of the actor"), "{dreamer}");
    }
}
