//! The documents are tested too: what they name exists.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All Rust text of a crate.
fn source(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &source(&path);
        } else if path.extension().is_some_and(|e| e == "rs") {
            text += &std::fs::read_to_string(&path).unwrap();
        }
    }
    text
}

fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn defines(text: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "trait", "mod", "const", "type"].iter().any(|kind| {
        text.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
            !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    }) || text.lines().any(|l| {
        // A variant of an enum.
        l.trim().trim_end_matches([',', '{', ' ']).split('(').next() == Some(name)
    })
}

#[test]
fn every_symbol_and_test_of_the_paper_map_exists() {
    let map = read("docs/paper-map.md");
    let (mut symbols, mut tests) = (0, 0);
    for line in map.lines().filter(|l| l.starts_with('|')) {
        for word in in_backticks(line) {
            if let Some((file, test)) = word.split_once(".rs::") {
                let name = test.rsplit("::").next().unwrap();
                assert!(
                    read(&format!("{file}.rs")).contains(&format!("fn {name}(")),
                    "no test {name} in {file}.rs"
                );
                tests += 1;
            } else if let Some((krate, path)) = word.split_once("::").filter(|(k, _)| k.starts_with("ive")) {
                let folder = root().join("crates").join(krate.replace('_', "-")).join("src");
                let name = path.rsplit("::").next().unwrap();
                assert!(defines(&source(&folder), name), "{word} does not exist");
                symbols += 1;
            }
        }
    }
    assert!(symbols > 20 && tests > 20, "the map names {symbols} symbols and {tests} tests");
}

/// Every figure, table and equation of the paper has a row.
#[test]
fn the_paper_map_is_complete() {
    let map = read("docs/paper-map.md");
    let row = |item: &str| map.lines().any(|l| l.starts_with(&format!("| {item}")));
    (1..=16).for_each(|n| assert!(row(&format!("Fig. {n}")) || row(&format!("Figure {n}")), "Figure {n}"));
    (1..=3).for_each(|n| assert!(row(&format!("Table {n}")), "Table {n}"));
    (1..=40).for_each(|n| assert!(row(&format!("Eq. ({n})")), "Eq. ({n})"));
    let rows = || map.lines().filter(|l| l.starts_with("| H"));
    (1..=6).for_each(|n| assert!(rows().any(|l| l.contains(&format!("H{n}"))), "H{n}"));
}

/// The library is published alone: its page must not lead to files that are not in the package.
#[test]
fn the_page_of_the_library_stands_alone_and_names_examples_that_exist() {
    let page = read("crates/ive/README.md");
    assert!(!page.contains("]("), "only links that rustdoc resolves");
    let examples: Vec<&str> = in_backticks(&page).filter_map(|word| word.strip_suffix(".rs")).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for name in examples {
        assert!(root().join(format!("crates/ive/examples/{name}.rs")).exists(), "{name}");
    }
}

/// The Markdown files of a folder.
fn documents(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

#[test]
fn links_in_documents_lead_somewhere() {
    let all = [".", "docs", "docs/worlds", "docs/decisions", "results"].map(documents).concat();
    assert!(all.len() > 40, "{} documents", all.len());
    for document in all {
        let (folder, text) = (document.parent().unwrap(), std::fs::read_to_string(&document).unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") && !link.starts_with('#') {
                let target = link.split('#').next().unwrap();
                assert!(folder.join(target).exists(), "{}: {target} does not exist", document.display());
            }
        }
    }
}

/// The cells of a line of CSV; quoted ones may have commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    for (i, part) in line.split('"').enumerate() {
        let inside = i % 2 == 1;
        for (j, piece) in part.split(|c| c == ',' && !inside).enumerate() {
            if j > 0 {
                cells.push(String::new());
            }
            cells.last_mut().unwrap().push_str(piece);
        }
    }
    cells
}

#[test]
fn the_verdicts_on_tables_are_those_of_the_results() {
    let document = read("docs/tabular.md");
    for experiment in ["toy", "maps", "reaching"] {
        let summary = read(&format!("results/tabular/paper/{experiment}/summary.json"));
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        for claim in summary["claims"].as_array().unwrap() {
            let of = |key: &str| claim[key].as_str().unwrap();
            let row = document.lines().find(|line| line.contains(of("claim")));
            let row = row.unwrap_or_else(|| panic!("docs/tabular.md lacks: {}", of("claim")));
            assert!(row.ends_with(&format!("| {} |", of("verdict").replace('-', " "))), "{row}");
            let shown: f64 = cell(row, 3).split(' ').next().unwrap().replace('−', "-").parse().unwrap();
            let effect = claim["effect"].as_f64().unwrap();
            assert!((shown - effect).abs() < 0.02 * effect.abs().max(0.3), "{row}: {effect}");
        }
    }
}

/// Each effect of the README stands in the document that its row names, and in the same words if that is its own page.
#[test]
fn the_effects_of_the_readme_are_those_of_their_pages() {
    let readme = read("README.md");
    let table = readme.split("| the paper's claim |").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut page = String::new();
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows {
        if let Some(link) = row.split("](").nth(1) {
            page = read(link.split(')').next().unwrap());
        }
        let effect = cell(row, 3).trim_start_matches('+').trim_end_matches(" times");
        assert!(page.contains(effect), "{row}: no page has {effect}");
    }
}

#[test]
fn counts_of_the_out_of_distribution_test_are_those_of_the_results() {
    let (mut cells, mut silent, mut beaten) = (0, 0, 0);
    for entry in std::fs::read_dir(root().join("results/ood")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        for cell in run["detections"].as_array().unwrap() {
            let of = |key: &str| cell[key].as_f64().unwrap();
            cells += 1;
            silent += usize::from(of("sigma") < 0.5);
            beaten += usize::from(of("sigma") < of("low_value"));
        }
    }
    let page = read("docs/detection.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let words = format!(
        "of {cells} AUROCs of σ-IVE, seven corruptions each, {silent} are below 0.5, where an alarm on high σ would be \
         silent, and {beaten} are below that of a low value"
    );
    assert!(page.contains(&words), "docs/detection.md lacks: {words}");
}

/// A cell of a row of a table.
fn cell(row: &str, column: usize) -> &str {
    row.split('|').nth(column).unwrap().trim()
}

#[test]
fn the_numbers_of_table_2_are_those_of_the_results() {
    let document = read("docs/table-2.md");
    let screening =
        ["vpn-v1", "long"].map(|name| format!("results/minatar-screening/{name}/trials/trials.csv"));
    for file in screening.iter().map(String::as_str).chain(["results/minatar/table2.csv"]) {
        for line in read(file).lines() {
            let row = cells(line)[1..].join(" | ");
            assert!(document.contains(&format!(" | {row} |")), "docs/table-2.md has no `{row}` of {file}");
        }
    }
    let summary: serde_json::Value = serde_json::from_str(&read("results/minatar/summary.json")).unwrap();
    for claim in summary["claims"].as_array().unwrap() {
        let (text, verdict) = (claim["claim"].as_str().unwrap(), claim["verdict"].as_str().unwrap());
        let effect = format!("{:+.3}", claim["effect"].as_f64().unwrap()).replace('-', "−");
        let row = document.lines().find(|line| line.contains(text)).unwrap();
        assert!(row.contains(&effect) && row.contains(&verdict.replace('-', " ")), "{row}");
    }
}
