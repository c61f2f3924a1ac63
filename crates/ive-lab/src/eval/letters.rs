//! A few letters of five by seven pixels, for pictures that are too small for a font.

/// Columns and rows of a letter.
pub const SIZE: (usize, usize) = (5, 7);
/// From one letter to the next.
pub const ADVANCE: usize = 6;

/// The rows of a letter from top to bottom, five bits each, the leftmost the highest; nothing for letters that are not
/// here.
fn rows(letter: char) -> [u8; 7] {
    match letter {
        '0' => [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '2' => [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111],
        '3' => [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
        '4' => [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
        '5' => [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
        '6' => [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        '8' => [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
        '9' => [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
        '.' => [0, 0, 0, 0, 0, 0b01100, 0b01100],
        '−' => [0, 0, 0, 0b11111, 0, 0, 0],
        'μ' => [0, 0b10001, 0b10001, 0b10001, 0b10011, 0b11101, 0b10000],
        'σ' => [0, 0b01111, 0b10010, 0b10001, 0b10001, 0b10001, 0b01110],
        'v' => [0, 0, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100],
        's' => [0, 0, 0b01111, 0b10000, 0b01110, 0b00001, 0b11110],
        't' => [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110],
        'e' => [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
        'p' => [0, 0, 0b10110, 0b11001, 0b11110, 0b10000, 0b10000],
        'a' => [0, 0, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111],
        'l' => [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        'u' => [0, 0, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101],
        _ => [0; 7],
    }
}

/// How many pixels wide a text is, without the gap behind it.
pub fn width(text: &str, scale: usize) -> usize {
    (text.chars().count() * ADVANCE).saturating_sub(1) * scale
}

/// Calls `dot` with the top left corner of every block of `scale` by `scale` pixels that belongs to a text.
pub fn write(text: &str, (left, top): (usize, usize), scale: usize, mut dot: impl FnMut(usize, usize)) {
    for (i, letter) in text.chars().enumerate() {
        for (y, row) in rows(letter).into_iter().enumerate() {
            for x in (0..SIZE.0).filter(|x| row >> (SIZE.0 - 1 - x) & 1 == 1) {
                dot(left + (i * ADVANCE + x) * scale, top + y * scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_are_used_differ() {
        let used: Vec<char> = "0123456789.−μσvstepalu".chars().collect();
        for (i, &a) in used.iter().enumerate() {
            assert_ne!(rows(a), [0; 7], "{a}");
            used[..i].iter().for_each(|&b| assert_ne!(rows(a), rows(b), "{a} and {b}"));
        }
        assert_eq!((width("12", 2), rows(' ')), (22, [0; 7]));
    }

    /// By eye: a one at (3, 1), twice as large.
    #[test]
    fn text_lies_where_it_was_put() {
        let mut dots = Vec::new();
        write("1", (3, 1), 2, |x, y| dots.push((x, y)));
        assert_eq!(dots[..3], [(7, 1), (5, 3), (7, 3)]);
        assert_eq!(dots.len(), 10);
    }
}
