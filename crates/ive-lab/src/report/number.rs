//! Numbers as people read them: as many digits as mean something, and a real minus sign.

/// A number with so many decimals and a real minus sign; never `−0.000`.
pub fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// A text in which hyphens before numbers are minus signs: `-0.02 [-0.04, 0.01]`.
pub fn real_minus(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let number = letters.peek().is_some_and(char::is_ascii_digit) && matches!(before, ' ' | '[' | '(');
        out.push(if c == '-' && number { '−' } else { c });
        before = c;
    }
    out
}

/// Three significant digits, at most three of them after the point; a dash where there is no number.
pub fn short(x: f64) -> String {
    if x.is_nan() {
        return "–".to_owned();
    }
    if x == 0.0 { "0".to_owned() } else { fixed(x, decimals(x.abs(), 2)) }
}

/// `27.2 [23.8, 31.1]`: an effect and its interval, with as many decimals as show two digits of the interval's width;
/// three at most.
pub fn ranged(effect: f64, interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(
        || short(effect),
        |(low, high)| {
            let digits = decimals(high - low, 1);
            format!("{} [{}, {}]", fixed(effect, digits), fixed(low, digits), fixed(high, digits))
        },
    )
}

/// How many decimals show `more` digits after the first of a number.
fn decimals(of: f64, more: i32) -> usize {
    if of > 0.0 { (f64::from(more) - of.log10().floor()).clamp(0.0, 3.0) as usize } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_width_of_the_interval() {
        assert_eq!(ranged(27.205, Some((23.784, 31.064))), "27.2 [23.8, 31.1]");
        assert_eq!(ranged(152.513, Some((111.728, 197.58))), "153 [112, 198]");
        assert_eq!(ranged(0.114, Some((0.075, 0.156))), "0.114 [0.075, 0.156]");
        assert_eq!(ranged(-0.0284, Some((-0.0812, 0.0224))), "−0.03 [−0.08, 0.02]");
        assert_eq!(ranged(1.0, Some((1.0, 1.0))), "1.000 [1.000, 1.000]");
        assert_eq!(ranged(27.205, None), "27.2");
        assert_eq!(ranged(0.0371, None), "0.037");
    }

    #[test]
    fn minus_is_a_minus_sign_and_zero_has_none() {
        assert_eq!([fixed(-1.25, 1), fixed(-0.0001, 3), fixed(0.0, 2)], ["−1.2", "0.000", "0.00"]);
        assert_eq!(
            real_minus("-0.02 [-0.04, 0.01], 5e-4, 2026-01-02"),
            "−0.02 [−0.04, 0.01], 5e-4, 2026-01-02"
        );
    }
}
