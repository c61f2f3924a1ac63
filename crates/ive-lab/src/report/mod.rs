//! The report: one HTML file with everything in it, and the same numbers as files.

mod axes;
pub mod board;
pub mod date;
pub mod exhibit;
pub mod film;
pub mod headline;
pub mod number;
mod page;
pub mod plot;
pub mod table;
pub mod terminal;
pub mod unit;

pub use page::{Origin, html};

use serde_json::{Value, json};

use crate::claim::Claim;
use crate::exit::Outcome;
use crate::store::Store;
use plot::Figure;
use table::Table;

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
}
