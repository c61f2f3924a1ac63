//! Axes: where a number lies on the page, and the round numbers beside it.

/// A scale from numbers to places on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// `low` lies at `from` and `high` at `to`.
    pub fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to }
    }

    /// An axis with room for these numbers and a little more.
    pub fn around(numbers: impl Iterator<Item = f64>, place: (f64, f64)) -> Self {
        let ends =
            numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 1.0) };
        let room = if high > low { 0.06 * (high - low) } else { 0.5 };
        Self::new((low - room, high + room), place)
    }

    /// Where a number lies.
    pub fn at(&self, x: f64) -> f64 {
        self.from + (x - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Multiples of 1, 2 or 5 times a power of ten, at most `most` + 1 of them, with their places.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / most as f64;
        let power = 10f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough * (1.0 - 1e-9));
        let step = factor.unwrap_or(10.0) * power;
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last)
            .map(|n| n as f64 * step)
            .map(|x| (self.at(x), format!("{x:.decimals$}").replace('-', "−")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
        Axis::new((low, high), (0.0, 100.0)).ticks(most).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(0.0, 10.0, 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(-0.013, 0.031, 4), ["0.00", "0.02"]);
        assert_eq!(labels(-3.0, 3.0, 3), ["−2", "0", "2"]);
        assert_eq!(labels(0.0, 2500.0, 10), ["0", "500", "1000", "1500", "2000", "2500"]);
    }

    #[test]
    fn numbers_lie_between_the_ends() {
        let axis = Axis::around([1.0, 3.0].into_iter(), (100.0, 0.0));
        assert!(axis.at(1.0) < 100.0 && axis.at(3.0) > 0.0 && (axis.at(2.0) - 50.0).abs() < 1e-9);
        let constant = Axis::around([2.0].into_iter(), (0.0, 1.0));
        assert!((constant.at(2.0) - 0.5).abs() < 1e-12);
        assert!(Axis::around(std::iter::empty(), (0.0, 1.0)).at(0.5).is_finite());
    }
}
