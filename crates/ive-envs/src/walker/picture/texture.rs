//! Square textures of one number per texel, made smaller by halves as OpenGL does it.

/// A texture and its halved copies.
#[derive(Clone, Debug)]
pub struct Pyramid {
    levels: Vec<Level>,
}

/// One size of a texture, row by row.
#[derive(Clone, Debug)]
struct Level {
    side: usize,
    texels: Vec<f32>,
}

/// What lies beyond the rim of a texture.
#[derive(Clone, Copy, Debug)]
pub enum Beyond {
    /// The texture again.
    Repeats,
    /// The texels of the rim.
    Stays,
}

/// A place between two neighbours, and how far it is from the first to the second.
#[derive(Clone, Copy, Debug)]
struct Between {
    first: usize,
    second: usize,
    part: f32,
}

impl Level {
    /// The texture with half as many texels along a side, rounded down. A texel is what the larger one shows in its middle: the mean
    /// of 2 × 2 texels, except that an odd side is not quite halved and the means are a little uneven.
    fn halved(&self) -> Self {
        let side = (self.side / 2).max(1);
        let middle = |i: usize| self.between((i as f32 + 0.5) / side as f32, Beyond::Stays);
        let texels = (0..side * side).map(|i| self.bilinear(middle(i % side), middle(i / side))).collect();
        Self { side, texels }
    }

    /// The number between four texels.
    fn bilinear(&self, column: Between, row: Between) -> f32 {
        let on = |row: usize| {
            let texels = &self.texels[row * self.side..];
            mix(texels[column.first], texels[column.second], column.part)
        };
        mix(on(row.first), on(row.second), row.part)
    }

    /// The two texels around the coordinate `s`, of which 0 to 1 is the whole texture. Texels are known at their middles.
    fn between(&self, s: f32, beyond: Beyond) -> Between {
        let place = s * self.side as f32 - 0.5;
        let below = place.floor();
        let last = self.side as i64 - 1;
        let index = |i: i64| match beyond {
            Beyond::Repeats => i.rem_euclid(last + 1) as usize,
            Beyond::Stays => i.clamp(0, last) as usize,
        };
        Between { first: index(below as i64), second: index(below as i64 + 1), part: place - below }
    }
}

#[inline]
fn mix(a: f32, b: f32, part: f32) -> f32 {
    a + (b - a) * part
}

impl Pyramid {
    /// The pyramid on this texture, row by row.
    pub fn new(side: usize, texels: Vec<f32>) -> Self {
        let mut levels = vec![Level { side, texels }];
        while let Some(level) = levels.last().filter(|level| level.side > 1) {
            levels.push(level.halved());
        }
        Self { levels }
    }

    /// The two levels between which a pixel as wide as `width` texels lies, and how far it is from the first to the second.
    fn around(&self, width: f32) -> (&Level, &Level, f32) {
        let height = (libm::log2f(width)).clamp(0.0, (self.levels.len() - 1) as f32);
        let below = height as usize;
        let above = (below + 1).min(self.levels.len() - 1);
        (&self.levels[below], &self.levels[above], height - below as f32)
    }

    /// The texture at (s, t) for a pixel as wide as `width` texels: linear in both directions and between the levels.
    pub fn sample(&self, s: f32, t: f32, width: f32, beyond: Beyond) -> f32 {
        let (below, above, part) = self.around(width);
        let on = |level: &Level| level.bilinear(level.between(s, beyond), level.between(t, beyond));
        mix(on(below), on(above), part)
    }

    /// Everything that [`sample`](Self::sample) gives for one t and one width, if the texture repeats.
    pub fn line(&self, t: f32, width: f32, line: &mut Line) {
        let (below, above, part) = self.around(width);
        line.part = part;
        for (level, row) in [below, above].into_iter().zip(&mut line.rows) {
            let at = level.between(t, Beyond::Repeats);
            let first = &level.texels[at.first * level.side..][..level.side];
            let second = &level.texels[at.second * level.side..][..level.side];
            row.clear();
            row.extend(first.iter().zip(second).map(|(&a, &b)| mix(a, b, at.part)));
            row.push(row[0]);
        }
    }
}

/// A texture along a horizontal line: a row of either level, its first texel repeated at the end.
#[derive(Clone, Debug, Default)]
pub struct Line {
    rows: [Vec<f32>; 2],
    part: f32,
}

impl Line {
    /// The texture at `s`, which may be any number: only its fraction counts.
    #[inline]
    pub fn sample(&self, s: f32) -> f32 {
        // Cheaper than `floor`, which is a call where the processor may not have the instruction.
        let rest = s - s as i32 as f32;
        let fraction = if rest < 0.0 { rest + 1.0 } else { rest };
        let linear = |row: &[f32]| {
            let side = row.len() as i32 - 1;
            let place = fraction * side as f32 - 0.5;
            let place = if place < 0.0 { place + side as f32 } else { place };
            let first = (place as i32).min(side - 1);
            let index = first as usize;
            mix(row[index], row[index + 1], place - first as f32)
        };
        mix(linear(&self.rows[0]), linear(&self.rows[1]), self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A texture of 6 × 6 with the numbers 0 to 35.
    fn counted() -> Pyramid {
        Pyramid::new(6, (0..36u8).map(f32::from).collect())
    }

    #[test]
    fn levels_are_means_of_blocks() {
        let pyramid = counted();
        assert_eq!(pyramid.levels[1].texels, [3.5, 5.5, 7.5, 15.5, 17.5, 19.5, 27.5, 29.5, 31.5]);
        assert_eq!(pyramid.levels[2].texels, [17.5], "one texel of three shows the middle one");
    }

    #[test]
    fn samples_lie_between_texels_and_between_levels() {
        let pyramid = counted();
        let at = |s: f32, t: f32, width| pyramid.sample(s, t, width, Beyond::Stays);
        assert!((at(1.5 / 6.0, 0.5 / 6.0, 1.0) - 1.0).abs() < 1e-5, "the middle of texel 1");
        assert!((at(2.0 / 6.0, 1.0 / 6.0, 1.0) - 4.5).abs() < 1e-5, "the corner of texels 1, 2, 7 and 8");
        assert!((at(0.5, 0.5, 2.0) - 17.5).abs() < 1e-5, "the middle of the level with 3 texels");
        let halfway = 0.5 * (at(0.3, 0.4, 1.0) + at(0.3, 0.4, 2.0));
        assert!((at(0.3, 0.4, 2.0_f32.sqrt()) - halfway).abs() < 1e-4);
        assert!((at(-9.0, -9.0, 1.0) - 0.0).abs() < 1e-5, "beyond the rim the rim stays");
        assert!(
            (pyramid.sample(0.0, 0.5 / 6.0, 1.0, Beyond::Repeats) - 2.5).abs() < 1e-5,
            "between texels 5 and 0"
        );
    }

    #[test]
    fn a_line_is_the_texture_along_it() {
        let pyramid = counted();
        let mut line = Line::default();
        for width in [0.5, 1.3, 2.0, 3.1, 100.0] {
            pyramid.line(0.37, width, &mut line);
            for step in -50..50_i8 {
                let s = f32::from(step) / 17.0;
                let expected = pyramid.sample(s, 0.37, width, Beyond::Repeats);
                assert!((line.sample(s) - expected).abs() < 1e-3, "{width} {s}");
            }
        }
    }
}
