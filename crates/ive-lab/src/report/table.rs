//! Tables, for the terminal, the report and spreadsheets.

use std::fmt::Write;

use super::number::real_minus;

/// A table of text; numbers are formatted by whoever makes it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
    /// Rows that the report makes stand out, by number.
    pub highlighted: Vec<usize>,
}

impl Table {
    /// A table with these column heads.
    pub fn new(caption: &str, head: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            head: head.iter().map(|h| (*h).to_owned()).collect(),
            rows: Vec::new(),
            highlighted: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// For spreadsheets.
    pub fn csv(&self) -> String {
        let quote = |cell: &String| {
            if cell.contains([',', '"', '\n']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let line = |cells: &Vec<String>| cells.iter().map(quote).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }

    /// For the terminal: columns padded to their widest cell, two spaces apart.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = std::iter::once(&self.head).chain(&self.rows);
            cells.filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let mut out = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(out, "{cell}{}", " ".repeat(width - cell.chars().count() + 2));
            }
            out.trim_end().to_owned() + "\n"
        };
        let rule = widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  ") + "\n";
        line(&self.head) + &rule + &self.rows.iter().map(line).collect::<String>()
    }

    /// For the report. The error of `0.17 ± 0.02` is set small, so that it can go below its number where a table is wide.
    pub fn html(&self) -> String {
        let cell = |tag: &str, text: &String| {
            let text = real_minus(&escape(text));
            let parts = text.split_once(" ± ").filter(|_| tag == "td");
            let inner =
                parts.map_or(text.clone(), |(mean, error)| format!("{mean} <small>± {error}</small>"));
            format!("<{tag}>{inner}</{tag}>")
        };
        let line = |tag: &str, cells: &Vec<String>| cells.iter().map(|c| cell(tag, c)).collect::<String>();
        let row = |(i, cells): (usize, &Vec<String>)| {
            let class = if self.highlighted.contains(&i) { " class=\"highlighted\"" } else { "" };
            format!("<tr{class}>{}</tr>\n", line("td", cells))
        };
        let body: String = self.rows.iter().enumerate().map(row).collect();
        let dense = if self.head.len() > 7 { " class=\"dense\"" } else { "" };
        format!(
            "<table{dense}><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{body}</tbody></table>\n",
            escape(&self.caption),
            line("th", &self.head)
        )
    }
}

/// Text that is safe inside HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A large number in groups of three digits, `2 000 000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let group = |(i, digit): (usize, char)| {
        let gap = if i > 0 && (digits.len() - i).is_multiple_of(3) { "\u{202f}" } else { "" };
        format!("{gap}{digit}")
    };
    digits.chars().enumerate().map(group).collect()
}

/// A mean and its standard error, `.159 ± .025`.
pub fn plus_minus((mean, error): (f64, f64)) -> String {
    if error.is_finite() { format!("{mean:.3} ± {error:.3}") } else { format!("{mean:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!([7, 999, 2_000_000].map(grouped), ["7", "999", "2\u{202f}000\u{202f}000"]);
    }

    #[test]
    fn one_table_three_forms() {
        let mut t = Table::new("a < b", &["σ", "note"]);
        t.row(["1".to_owned(), "x, \"y\"".to_owned()]);
        assert_eq!(t.csv(), "σ,note\n1,\"x, \"\"y\"\"\"\n");
        assert_eq!(t.text(), "σ  note\n─  ──────\n1  x, \"y\"\n");
        assert!(t.html().contains("<caption>a &lt; b</caption>") && t.html().contains("<td>1</td>"));
        t.row([plus_minus((-0.25, 0.125)), String::new()]);
        t.highlighted.push(1);
        assert!(t.csv().ends_with("\n-0.250 ± 0.125,\n"), "spreadsheets know the hyphen only");
        assert!(t.html().contains("<tr class=\"highlighted\"><td>−0.250 <small>± 0.125</small></td>"));
    }
}
