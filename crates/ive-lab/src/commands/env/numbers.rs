//! Real numbers in files: decimal, or the bits of a double as 0x and 16 digits, which nothing is lost in.

use crate::exit::{Failure, Outcome};
use std::path::Path;

/// What is wrong, and in which line.
type Wrong = (usize, String);

/// The numbers of a file, one array per line.
pub(super) fn lines<const N: usize>(path: &Path) -> Outcome<Vec<[f64; N]>> {
    read(path, |text| {
        let line = |(i, line): (usize, &str)| {
            let words = line.split_whitespace();
            let numbers = words.map(number).collect::<Result<Vec<f64>, _>>();
            numbers.and_then(|numbers| exactly(&numbers)).map_err(|what| (i + 1, what))
        };
        text.lines().enumerate().map(line).collect()
    })
}

/// All numbers of a file, over as many lines as it likes.
pub(super) fn whole<const N: usize>(path: &Path) -> Outcome<[f64; N]> {
    read(path, |text| {
        let words =
            text.lines().enumerate().flat_map(|(i, line)| line.split_whitespace().map(move |w| (i, w)));
        let numbers = words.map(|(i, word)| number(word).map_err(|what| (i + 1, what)));
        let numbers = numbers.collect::<Result<Vec<f64>, Wrong>>()?;
        exactly(&numbers).map_err(|what| (text.lines().count().max(1), what))
    })
}

fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T, Wrong>) -> Outcome<T> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::io(format!("cannot read {shown}: {error}")))?;
    parse(&text).map_err(|(line, what)| Failure::data(format!("{shown}:{line}: {what}")))
}

fn number(word: &str) -> Result<f64, String> {
    // Of digits only: the parser would also take a sign.
    let are_bits = |digits: &str| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = match word.strip_prefix("0x") {
        Some(digits) if are_bits(digits) => u64::from_str_radix(digits, 16).ok().map(f64::from_bits),
        Some(_) => return Err(format!("`{word}` is not 0x and the 16 digits of a double's bits")),
        None => word.parse().ok(),
    };
    match number {
        None => Err(format!("`{word}` is not a number")),
        Some(number) if !number.is_finite() => Err(format!("`{word}` is not a finite number")),
        Some(number) => Ok(number),
    }
}

fn exactly<const N: usize>(numbers: &[f64]) -> Result<[f64; N], String> {
    let got = numbers.len();
    numbers.try_into().map_err(|_| format!("{got} numbers, where there should be {N}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_bits() {
        // 0x3ff8… is one and a half, from the definition of the format; 0x8000… is minus zero.
        let words = ["1.5", "0x3ff8000000000000", "-2e-3", "+4"].map(number);
        assert_eq!(words, [Ok(1.5), Ok(1.5), Ok(-0.002), Ok(4.0)]);
        assert!(number("0x8000000000000000").is_ok_and(|x| x == 0.0 && x.is_sign_negative()));
        assert_eq!(number("x"), Err("`x` is not a number".into()));
        for word in ["0x3ff8", "0x+ff8000000000000", "0xgff8000000000000"] {
            assert_eq!(number(word), Err(format!("`{word}` is not 0x and the 16 digits of a double's bits")));
        }
        for word in ["nan", "-inf", "1e999", "0x7ff0000000000000", "0x7ff8000000000000"] {
            assert_eq!(number(word), Err(format!("`{word}` is not a finite number")));
        }
    }

    #[test]
    fn how_many_there_are_is_counted() {
        assert_eq!(exactly(&[1.0, 2.0]), Ok([1.0, 2.0]));
        assert_eq!(exactly::<6>(&[0.0; 5]), Err("5 numbers, where there should be 6".into()));
    }
}
