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
    /// The mean of each block of 2 × 2; a last odd row or column is left out.
    fn halved(&self) -> Self {
        let side = (self.side / 2).max(1);
        let at = |row: usize, column: usize| self.texels[row * self.side + column];
        let mut texels = Vec::with_capacity(side * side);
        for row in (0..2 * side).step_by(2) {
            for column in (0..2 * side).step_by(2) {
                let above = at(row, column) + at(row, column + 1);
                texels.push(0.25 * (above + at(row + 1, column) + at(row + 1, column + 1)));
            }
        }
        Self { side, texels }
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
        let bilinear = |level: &Level| {
            let (column, row) = (level.between(s, beyond), level.between(t, beyond));
            let on = |row: usize| {
                let texels = &level.texels[row * level.side..];
                mix(texels[column.first], texels[column.second], column.part)
            };
            mix(on(row.first), on(row.second), row.part)
        };
        mix(bilinear(below), bilinear(above), part)
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
            let side = row.len() - 1;
            let place = fraction * side as f32 - 0.5;
            let place = if place < 0.0 { place + side as f32 } else { place };
            let first = (place as usize).min(side - 1);
            mix(row[first], row[first + 1], place - first as f32)
        };
        mix(linear(&self.rows[0]), linear(&self.rows[1]), self.part)
    }
}
