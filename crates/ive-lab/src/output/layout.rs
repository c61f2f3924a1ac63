//! Text that fits the terminal: tables and paragraphs no wider than they may be.

use crate::report::table::Table;

/// How narrow a column may become before lines get longer than they should.
const NARROWEST: usize = 6;

/// A table with lines of at most `width` columns: where it is wider, its widest columns are folded.
pub fn table(table: &Table, width: usize) -> String {
    let widths = widths(table, width);
    let rule = widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  ") + "\n";
    let row = |cells: &Vec<String>| {
        let folded: Vec<Vec<String>> = cells.iter().zip(&widths).map(|(cell, w)| lines(cell, *w)).collect();
        let height = folded.iter().map(Vec::len).max().unwrap_or(0);
        let line = |i: usize| {
            let cells = folded.iter().zip(&widths).map(|(cell, width)| {
                let text = cell.get(i).map_or("", String::as_str);
                format!("{text}{}", " ".repeat(width.saturating_sub(columns(text)) + 2))
            });
            cells.collect::<String>().trim_end().to_owned() + "\n"
        };
        (0..height).map(line).collect::<String>()
    };
    row(&table.head) + &rule + &table.rows.iter().map(row).collect::<String>()
}

/// Whether a table is no wider than this without folding.
pub fn fits(table: &Table, width: usize) -> bool {
    widths(table, usize::MAX).iter().map(|w| w + 2).sum::<usize>() <= width + 2
}

fn widths(table: &Table, width: usize) -> Vec<usize> {
    let natural = |column: usize| {
        let cells = std::iter::once(&table.head).chain(&table.rows);
        cells.filter_map(|row| row.get(column)).map(|cell| columns(cell)).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..table.head.len()).map(natural).collect();
    while widths.iter().map(|w| w + 2).sum::<usize>() > width.saturating_add(2) {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// A paragraph in lines of at most `width` columns, all but the first indented by so many spaces.
pub fn fold(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    for paragraph in text.lines() {
        let first = lines_of(paragraph, width, width.saturating_sub(indent));
        out += &first.join(&format!("\n{}", " ".repeat(indent)));
        out.push('\n');
    }
    out
}

/// Lines of at most so many columns, broken between words where that is possible.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    lines_of(text, width, width)
}

/// Words in lines, the first of which may have another length; words that are longer are broken, paths after a slash.
fn lines_of(text: &str, first: usize, rest: usize) -> Vec<String> {
    let text = text.trim_end();
    let words = text.trim_start();
    let mut lines = Vec::new();
    // Spaces at the start are an indent, which belongs to the first line.
    let mut line = text[..text.len() - words.len()].to_owned();
    let mut empty = true;
    for mut word in words.split(' ') {
        loop {
            let room = if lines.is_empty() { first } else { rest };
            let gap = if empty { "" } else { " " };
            if columns(&line) + gap.len() + columns(word) <= room {
                line = line + gap + word;
                empty &= word.is_empty();
                break;
            }
            if empty {
                // The word alone is too long.
                let end = word.char_indices().nth(room.max(1)).map_or(word.len(), |(at, _)| at);
                let cut = word[..end].rfind('/').map_or(end, |at| at + 1);
                line += &word[..cut];
                word = &word[cut..];
            }
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            empty = true;
        }
    }
    lines.push(line);
    lines
}

/// How many columns of a terminal a text takes: colours take none, nor do accents that stand on the letter before them.
pub fn columns(text: &str) -> usize {
    let mut count = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            chars.by_ref().find(|c| *c == 'm');
        } else if !('\u{300}'..='\u{36f}').contains(&c) {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_are_folded_and_narrow_ones_stay() {
        let mut wide = Table::new("", &["what", "where"]);
        wide.row(["a library for games".to_owned(), "/home/somebody/data".to_owned()]);
        assert_eq!(table(&wide, 80), wide.text());
        assert!(fits(&wide, 40) && !fits(&wide, 39));
        let folded = table(&wide, 24);
        assert_eq!(
            folded,
            "what         where\n───────────  ───────────\na library    /home/\nfor games    somebody/\n             data\n"
        );
        assert!(folded.lines().all(|line| line.chars().count() <= 24));
    }

    #[test]
    fn paragraphs_are_folded_with_an_indent() {
        assert_eq!(fold("one two three four", 9, 2), "one two\n  three\n  four\n");
        assert_eq!(fold("short", 9, 2), "short\n");
        assert_eq!(fold("abcdefghij", 4, 0), "abcd\nefgh\nij\n");
        assert_eq!(fold("  key    what it does", 14, 4), "  key    what\n    it does\n");
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(columns("\x1b[32mdone\x1b[0m"), 4);
        assert_eq!(columns("σ-IVE"), 5);
        assert_eq!(columns("v\u{302}"), 1);
    }
}
