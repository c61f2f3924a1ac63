//! The verdicts in the terminal: a table that fits its width.

use std::io::IsTerminal;

use super::Findings;
use super::headline::{bounds, headline};
use super::number::ranged;
use crate::claim::{Claim, Verdict};
use crate::output;
use crate::output::layout::{columns, lines};

/// How much room there is, and whether colours are welcome.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Whether verdicts are coloured.
    pub colours: bool,
}

/// Claims are not drawn out further than this: long lines are hard to read.
const WIDEST: usize = 132;
/// The narrowest column of claims.
const NARROWEST: usize = 16;

impl Terminal {
    /// The terminal behind standard output, or 80 columns without colours where there is none.
    pub fn here() -> Self {
        let colours = std::io::stdout().is_terminal() && output::wants_colours();
        Self { width: output::width(), colours }
    }
}

/// The summary, then every claim with its effect, what the effect is measured in, and the verdict.
pub fn verdicts(all: &[Findings], terminal: Terminal) -> String {
    let claims: Vec<&Claim> = all.iter().flat_map(|f| &f.claims).collect();
    let summary = lines(&headline(all), terminal.width).join("\n");
    if claims.is_empty() {
        return summary + "\n";
    }
    let effects: Vec<String> = claims.iter().map(|c| ranged(c.effect, bounds(c))).collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(columns).max().unwrap_or(0);
    let hypothesis = widest(&mut claims.iter().map(|c| c.hypothesis));
    let verdict = widest(&mut claims.iter().map(|c| c.verdict.words()));
    let effect = widest(&mut effects.iter().map(String::as_str)).max(columns(HEAD));
    let room = terminal.width.min(WIDEST).saturating_sub(hypothesis + effect + verdict + 6).max(NARROWEST);
    let claim = widest(&mut claims.iter().map(|c| c.claim.as_str())).min(room);
    let widths = [hypothesis, claim, effect, verdict];

    let mut out = format!("{summary}\n\n{}\n", line(["", "claim", HEAD, "verdict"], widths));
    out += &(widths.map(|w| "─".repeat(w)).join("  ") + "\n");
    for (c, number) in claims.iter().zip(&effects) {
        let texts = lines(&c.claim, claim);
        let unit = format!("{}, null {}", c.unit.symbol, c.unit.no_effect);
        let mut units = vec![number.clone()];
        units.extend(lines(&unit, effect));
        for row in 0..texts.len().max(units.len()) {
            let first = row == 0;
            let cell = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
            let (name, words) = if first { (c.hypothesis, c.verdict.words()) } else { ("", "") };
            let mut text = line([name, &cell(&texts), &cell(&units), words], widths);
            if first && terminal.colours {
                text.truncate(text.len() - words.len());
                text += &format!("\x1b[{}m{words}\x1b[0m", colour(c.verdict));
            }
            out += &(text + "\n");
        }
    }
    out
}

const HEAD: &str = "effect [95 % interval]";

/// Green, red and yellow, bold.
fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "1;32",
        Verdict::NotSupported => "1;31",
        Verdict::NotDecided => "1;33",
    }
}

fn line(cells: [&str; 4], widths: [usize; 4]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, w)| pad(cell, w));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::unit::Unit;
    use serde_json::Value;

    fn claim(effect: f64, interval: (f64, f64), verdict: Verdict) -> Claim {
        Claim {
            hypothesis: "Table 2",
            claim: "As n grows from 1 to 20, the map of σ-IVE(n) becomes more like that of σ-EVE(20)".into(),
            unit: Unit::CORRELATIONS,
            measure: String::new(),
            effect,
            interval,
            verdict,
            undecided: None,
            note: String::new(),
        }
    }

    fn findings(claims: Vec<Claim>) -> [Findings; 1] {
        [Findings {
            name: "maps",
            title: String::new(),
            scale: String::new(),
            text: Vec::new(),
            claims,
            figures: Vec::new(),
            tables: Vec::new(),
            data: Vec::new(),
            numbers: Value::Null,
        }]
    }

    fn three() -> [Findings; 1] {
        findings(vec![
            claim(27.205, (23.784, 31.064), Verdict::Supported),
            claim(-0.123_456, (-1.5, 0.5), Verdict::NotDecided),
            claim(-152.513, (-197.58, -111.728), Verdict::NotSupported),
        ])
    }

    #[test]
    fn the_table_fits_eighty_columns_and_breaks_between_words() {
        let shown = verdicts(&three(), Terminal { width: 80, colours: false });
        assert_eq!(shown.lines().next(), Some("1 of 3 claims supported, 1 not supported, 1 not decided."));
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for words in ["27.2 [23.8, 31.1]", "−0.1 [−1.5, 0.5]", "not decided", "Δ rank correlation"] {
            assert!(shown.contains(words), "{words} is not in\n{shown}");
        }
        let text = "As n grows from 1 to 20, the map of σ-IVE(n) becomes more like that of σ-EVE(20)";
        text.split(' ').for_each(|word| assert!(shown.contains(word), "{word} is broken in\n{shown}"));
        assert!(!shown.contains('\x1b'));
    }

    #[test]
    fn a_wider_terminal_gets_the_claim_in_one_line_and_colours() {
        let shown = verdicts(&three(), Terminal { width: 200, colours: true });
        let claim = &three()[0].claims[0].claim;
        assert!(shown.lines().any(|line| line.contains(claim.as_str())), "{shown}");
        for code in ["\x1b[1;32msupported\x1b[0m", "\x1b[1;31mnot supported", "\x1b[1;33mnot decided"] {
            assert!(shown.contains(code), "{shown}");
        }
    }

    #[test]
    fn too_few_seeds_are_named_in_the_first_line() {
        let unbounded = (f64::NEG_INFINITY, f64::INFINITY);
        let few = findings(vec![claim(1.0, unbounded, Verdict::NotDecided)]);
        let shown = verdicts(&few, Terminal { width: 80, colours: false });
        let first = shown.lines().next();
        assert_eq!(first, Some("Nothing is decided (1 claim): fewer than 10 seeds give no interval."));
    }

    #[test]
    fn accents_take_no_column() {
        assert_eq!((columns("v̂¹"), columns("σ-IVE")), (2, 5));
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
    }
}
