//! Whole numbers as people type them: `1000000`, `1_000_000` or `1e6`.

/// Reads a whole number of a range, for the command line.
pub fn count<T: TryFrom<u64>>(
    min: u64,
    max: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = parse(text, min)?;
        if number < min {
            return Err(format!("must be at least {min}"));
        }
        let too_large = || format!("must be at most {max}");
        if number > max { Err(too_large()) } else { T::try_from(number).map_err(|_| too_large()) }
    }
}

/// Reads a whole number; `min` is for the message.
fn parse(text: &str, min: u64) -> Result<u64, String> {
    let digits = text.trim();
    if digits.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!("must be at least {min}"));
    }
    whole(digits).ok_or_else(|| format!("expected a whole number from {min}, such as 20000, 20_000 or 2e4"))
}

/// The number, if the text is one that is whole and fits.
pub fn whole(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?)
        }
        None => (text, 0_u32),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    // Underscores stand between digits only.
    let plain = |part: &str| {
        part.split('_').all(|piece| piece.bytes().all(|b| b.is_ascii_digit()) && !piece.is_empty())
    };
    if !plain(before) || !(after.is_empty() || plain(after)) {
        return None;
    }
    let digits: String = [before, after].concat().replace('_', "");
    let zeros = exponent.checked_sub(u32::try_from(after.len()).ok()?)?;
    digits.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(zeros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_may_be_typed_in_three_ways() {
        for text in ["1000000", "1_000_000", "1e6", "1E6", "1e+6", "1.0e6", "0.1e7", " 1e6 "] {
            assert_eq!(count::<u64>(1, u64::MAX)(text), Ok(1_000_000), "{text}");
        }
        assert_eq!(whole("2.5e6"), Some(2_500_000));
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole("0"), Some(0));
    }

    #[test]
    fn what_is_no_count_is_refused_in_plain_words() {
        let said = |text: &str| count::<u32>(1, 100)(text).unwrap_err();
        let form = "expected a whole number from 1, such as 20000, 20_000 or 2e4";
        for text in
            ["", "x", "1.5", "1e-3", "_1", "1_", "1__0", "1e99", "nan", "inf", "--5", "-", "1e", "e5", "0x10"]
        {
            assert_eq!(said(text), form, "{text}");
        }
        assert_eq!((said("-5"), said("0")), ("must be at least 1".into(), "must be at least 1".into()));
        assert_eq!((said("101"), said("1e9")), ("must be at most 100".into(), "must be at most 100".into()));
    }
}
