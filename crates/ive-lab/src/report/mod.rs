//! The report: one HTML file with everything in it, and the same numbers as files.

mod axes;
pub mod film;
pub mod plot;
pub mod table;

use serde_json::{Value, json};

use crate::claim::{Claim, Verdict};
use crate::exit::Outcome;
use crate::store::Store;
use plot::Figure;
use table::{Table, escape};

/// Tables with more columns stay out of the report.
const WIDEST: usize = 12;

/// What an experiment found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Short name, `maps`.
    pub name: &'static str,
    /// Title of its chapter.
    pub title: String,
    /// How the run compares with the paper's in size, in one sentence.
    pub scale: String,
    /// What is shown and how to read it, in a few sentences.
    pub text: Vec<String>,
    /// Verdicts.
    pub claims: Vec<Claim>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables, each with a file name.
    pub tables: Vec<(&'static str, Table)>,
    /// Long tables for programs, each with a file name; not in the report.
    pub data: Vec<(&'static str, Table)>,
    /// Numbers for machines.
    pub numbers: Value,
}

impl Findings {
    /// Writes `summary.json` (last), CSV, SVG and PNG.
    pub fn write(&self, store: &Store, provenance: &Value) -> Outcome {
        let store = store.part(self.name);
        for (name, table) in self.tables.iter().chain(&self.data) {
            store.write(&format!("{name}.csv"), table.csv().as_bytes())?;
        }
        for figure in &self.figures {
            store.write(&format!("{}.svg", figure.name), figure.svg.as_bytes())?;
            store.write(&format!("{}.png", figure.name), &figure.png)?;
        }
        store.write_json("summary.json", &self.summary(provenance))
    }

    /// The content of `summary.json` (`docs/summary.md`).
    pub fn summary(&self, provenance: &Value) -> Value {
        json!({
            "experiment": self.name,
            "scale": self.scale,
            "claims": self.claims,
            "numbers": self.numbers,
            "provenance": provenance,
        })
    }

    fn html(&self) -> String {
        let mut out = format!("<section id=\"{0}\"><h2>{1}</h2>\n", self.name, escape(&self.title));
        out += &format!("<p class=\"scale\">{}</p>\n", escape(&self.scale));
        out += &self.text.iter().map(|t| format!("<p>{}</p>\n", escape(t))).collect::<String>();
        out += &claims_html(&self.claims);
        for figure in &self.figures {
            // The drawing carries an XML declaration of its own, which has no place inside HTML.
            let svg = figure.svg.find("<svg").map_or("", |at| &figure.svg[at..]);
            out += &format!(
                "<figure id=\"{}\">{svg}<figcaption>{}</figcaption></figure>\n",
                figure.name,
                escape(&figure.caption)
            );
        }
        // Very wide tables are for spreadsheets: they are among the files, not in the report.
        out += &self
            .tables
            .iter()
            .filter(|(_, t)| t.head.len() <= WIDEST)
            .map(|(_, t)| format!("<div class=\"wide\">{}</div>\n", t.html()))
            .collect::<String>();
        out + "</section>\n"
    }
}

fn claims_html(claims: &[Claim]) -> String {
    let row = |c: &Claim| {
        let class = match c.verdict {
            Verdict::Supported => "yes",
            Verdict::NotSupported => "no",
            Verdict::NotDecided => "open",
        };
        format!(
            "<tr><td>{}</td><td>{}<br><small>{}</small></td><td class=\"number\">{}</td><td class=\"{class}\">{}</td></tr>\n",
            c.hypothesis,
            escape(&c.claim),
            escape(&[c.measure.as_str(), c.note.as_str()].join("; ")),
            effect(c),
            c.verdict.words()
        )
    };
    let rows: String = claims.iter().map(row).collect();
    format!(
        "<table class=\"claims\"><thead><tr><th></th><th>claim of the paper, and how it was measured</th>\
         <th>effect [95 % interval]</th><th>verdict</th></tr></thead><tbody>{rows}</tbody></table>\n"
    )
}

/// `0.912 [0.894, 0.929]`.
pub fn effect(c: &Claim) -> String {
    let (low, high) = c.interval;
    if low.is_finite() {
        format!("{:.3} [{low:.3}, {high:.3}]", c.effect)
    } else {
        format!("{:.3}", c.effect)
    }
}

/// The verdicts of all experiments, for the terminal.
pub fn verdicts(all: &[Findings]) -> Table {
    let mut table = Table::new("Verdicts", &["", "claim", "effect [95 % interval]", "verdict"]);
    for c in all.iter().flat_map(|f| &f.claims) {
        table.row([c.hypothesis.to_owned(), c.claim.clone(), effect(c), c.verdict.words().to_owned()]);
    }
    table
}

const STYLE: &str = include_str!("style.css");

/// The whole report.
pub fn html(all: &[Findings], provenance: &Value) -> String {
    let contents: String =
        all.iter().map(|f| format!("<li><a href=\"#{}\">{}</a></li>", f.name, escape(&f.title))).collect();
    let chapters: String = all.iter().map(Findings::html).collect();
    let origin = serde_json::to_string_pretty(provenance).unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Model-value inconsistency: what holds</title><style>{STYLE}</style></head><body>\n\
         <header><h1>Does the agent know that it does not know?</h1>\n\
         <p>Experiments of <cite>Model-Value Inconsistency as a Signal for Epistemic \
         Uncertainty</cite> (Filos et al., ICML 2022), run by <code>ive reproduce</code>. A claim is <b>supported</b> \
         when the 95 % interval of its effect over seeds lies on the claimed side, <b>not supported</b> when it \
         lies on the other, and <b>not decided</b> otherwise.</p><ul>{contents}</ul></header>\n{chapters}\
         <section id=\"provenance\"><h2>Provenance</h2><p>Command, settings, version and machine. The same command \
         gives the same numbers, whatever the number of threads.</p><details><summary>all settings</summary>\
         <pre>{}</pre></details></section></body></html>\n",
        escape(&origin)
    )
}
