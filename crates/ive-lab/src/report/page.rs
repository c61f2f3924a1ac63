//! The report as one HTML file: summary, introduction, a chapter for each experiment, provenance.
//!
//! It fetches nothing. Its links lead to the files beside it, and to the documents of a copy of the repository if the
//! report lies inside one.

use std::path::Path;

use serde_json::Value;

use super::Findings;
use super::headline::{advice, bounds, headline};
use super::number::{ranged, real_minus};
use super::plot::Figure;
use super::table::{Table, escape};
use crate::claim::{Claim, Verdict};

/// Tables with more columns stay out of the report.
const WIDEST: usize = 12;

const STYLE: &str = include_str!("style.css");
const INTRODUCTION: &str = include_str!("intro.html");

/// Documents that explain the report.
const DOCUMENTS: [(&str, &str); 3] = [
    ("docs/deviations.md", "where we depart from the paper"),
    ("docs/paper-map.md", "from each equation and figure to the code"),
    ("docs/summary.md", "the files beside this report"),
];

/// Where a report comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The content of `provenance` in `summary.json`.
    pub provenance: &'a Value,
    /// The directory in which the report will lie.
    pub place: &'a Path,
}

/// The whole report.
pub fn html(all: &[Findings], origin: Origin<'_>) -> String {
    let Origin { provenance, place } = origin;
    let contents: String =
        all.iter().map(|f| format!("<li><a href=\"#{}\">{}</a></li>", f.name, escape(&f.title))).collect();
    let chapters: String = all.iter().map(chapter).collect();
    let word = |key: &str| escape(provenance[key].as_str().unwrap_or("unknown"));
    let advice =
        advice(all, &word("preset")).map_or(String::new(), |text| format!("<p>{}</p>\n", escape(&text)));
    let settings = serde_json::to_string_pretty(provenance).unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>Model-value inconsistency: what holds</title><style>{STYLE}</style></head><body>\n\
         <header><h1>Does the agent know that it does not know?</h1>\n\
         <p class=\"headline\">{}</p>\n{advice}\
         <p>Experiments of <cite>Model-Value Inconsistency as a Signal for Epistemic \
         Uncertainty</cite> (Filos et al., ICML 2022), rerun. A claim is <b>supported</b> \
         when the 95 % interval of its effect over seeds lies on the claimed side, <b>not supported</b> when it \
         lies on the other, and <b>not decided</b> otherwise.</p>\n\
         <p class=\"origin\"><code>{}</code> · {} · version {}, commit {}</p>\n\
         <ul>{contents}</ul></header>\n{INTRODUCTION}{chapters}\
         <section id=\"provenance\"><h2>Provenance</h2><p>The same command gives the same numbers, whatever the number \
         of threads.</p>{}<details><summary>command, settings, version and machine</summary>\
         <pre>{}</pre></details></section></body></html>\n",
        escape(&headline(all)),
        word("command"),
        word("date"),
        word("version"),
        word("commit"),
        documents(place),
        escape(&settings)
    )
}

/// Links to the documents, if the report lies in a copy of the repository; their names otherwise.
fn documents(place: &Path) -> String {
    let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let depth = place.ancestors().position(|above| above.join(DOCUMENTS[0].0).is_file());
    let item = |(path, what): &(&str, &str)| {
        let name = depth.map_or(format!("<code>{path}</code> of the repository"), |depth| {
            format!("<a href=\"{}{path}\">{path}</a>", "../".repeat(depth))
        });
        format!("<li>{name}: {what}</li>")
    };
    format!("<ul>{}</ul>\n", DOCUMENTS.iter().map(item).collect::<String>())
}

fn chapter(findings: &Findings) -> String {
    let mut out = format!("<section id=\"{0}\"><h2>{1}</h2>\n", findings.name, escape(&findings.title));
    out += &format!("<p class=\"scale\">{}</p>\n", escape(&findings.scale));
    out += &findings.text.iter().map(|t| format!("<p>{}</p>\n", escape(t))).collect::<String>();
    out += &claims(&findings.claims);
    out += &findings.figures.iter().map(|f| figure(findings.name, f)).collect::<String>();
    // Very wide tables are for spreadsheets: they are among the files, not in the report.
    let (shown, wide): (Vec<_>, Vec<_>) = findings.tables.iter().partition(|(_, t)| t.head.len() <= WIDEST);
    let link = |name: &str| format!("<a href=\"{}/{name}.csv\">{name}.csv</a>", findings.name);
    for (name, table) in shown {
        let class = if table.head.len() > 3 { "wide" } else { "narrow" };
        out += &format!(
            "<div class=\"{class}\" tabindex=\"0\">{}</div>\n<p class=\"files\">{}</p>\n",
            table.html(),
            link(name)
        );
    }
    let more =
        |(name, table): &&(&str, Table)| format!("<li>{}: {}</li>", link(name), escape(&table.caption));
    let more: String = wide.iter().copied().chain(&findings.data).map(|t| more(&t)).collect();
    if !more.is_empty() {
        out += &format!("<p>Further files:</p><ul class=\"files\">{more}</ul>\n");
    }
    out + "</section>\n"
}

/// Panels flow with the width of the page; the file has all of them in one picture.
fn figure(folder: &str, figure: &Figure) -> String {
    let panels: String = figure.panels.iter().map(|p| format!("<div class=\"panel\">{p}</div>")).collect();
    let key = |(colour, label): &(String, String)| {
        let bar = format!("<rect y=\"3\" width=\"22\" height=\"4\" fill=\"{colour}\"/>");
        let sample = format!("<svg width=\"22\" height=\"10\" aria-hidden=\"true\">{bar}</svg> ");
        let sample = if colour.is_empty() { String::new() } else { sample };
        format!("<li>{sample}{}</li>", escape(label))
    };
    let legend: String = figure.legend.iter().map(key).collect();
    let legend = if legend.is_empty() { legend } else { format!("<ul class=\"legend\">{legend}</ul>") };
    let Figure { name, caption, kind, .. } = figure;
    format!(
        "<figure id=\"{name}\"><div class=\"panels {kind}\">{panels}</div>{legend}<figcaption>{} <span class=\"files\">\
         <a href=\"{folder}/{name}.svg\">SVG</a> <a href=\"{folder}/{name}.png\">PNG</a></span></figcaption></figure>\n",
        escape(caption)
    )
}

fn claims(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let row = |c: &Claim| {
        let class = match c.verdict {
            Verdict::Supported => "yes",
            Verdict::NotSupported => "no",
            Verdict::NotDecided => "open",
        };
        let how: Vec<String> =
            [&c.measure, &c.note].into_iter().filter(|t| !t.is_empty()).map(|t| escape(t)).collect();
        format!(
            "<tr><td class=\"hypothesis\">{}</td><td class=\"claim\">{}<br><small>{}</small></td>\
             <td class=\"number\"><b>{}</b><br><small>{}</small></td><td class=\"verdict {class}\">{}</td></tr>\n",
            c.hypothesis,
            escape(&c.claim),
            real_minus(&how.join("; ")).replace(" ± ", "\u{a0}±\u{a0}"),
            ranged(c.effect, bounds(c)),
            c.unit.words(),
            c.verdict.words()
        )
    };
    let rows: String = claims.iter().map(row).collect();
    format!(
        "<table class=\"claims\"><thead><tr><th></th><th>claim, and how it was measured</th>\
         <th>effect [95 % interval]</th><th>verdict</th></tr></thead><tbody>{rows}</tbody></table>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_linked_from_inside_the_repository_and_named_elsewhere() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let inside = documents(&repository.join("ive-out/small"));
        assert!(inside.contains("href=\"../../docs/deviations.md\""), "{inside}");
        let outside = documents(Path::new("/nowhere/at/all"));
        assert!(outside.contains("docs/deviations.md") && !outside.contains("href"), "{outside}");
    }
}
