//! The sky: a gradient with stars.
//!
//! MuJoCo draws the sky as a cube of six textures of 800 × 800 texels around the scene. The camera turns with nothing, so it sees the
//! same part of two faces for ever, and the sky is a constant picture.

use super::scene::{CAMERA, HALF_VIEW, through};
use super::texture::{Beyond, Pyramid};
use std::sync::OnceLock;

/// Texels along a side of a face.
const SIDE: usize = 800;
/// The share of texels that are stars.
const STARS: f64 = 0.01;
/// The colour at the zenith; the nadir is black (`skybox.xml`).
const ZENITH: [f32; 3] = [0.4, 0.6, 0.8];
/// The faces in the order in which MuJoCo fills them: right, left, up, down, front, back.
const FACES: usize = 6;
const DOWN: usize = 3;
const BACK: usize = 5;

/// How bright the gradient is at an elevation, both as parts of their greatest values: ½ + p / √(2 (1 + p²)) with p from −1 to 1.
/// The form was found by comparison with MuJoCo's texture, which it equals in every texel.
fn brightness(elevation: f64) -> f64 {
    0.5 + elevation / (2.0 * (1.0 + elevation * elevation)).sqrt()
}

/// Which texels of the two visible faces are stars, as indices, ascending.
///
/// MuJoCo draws one uniform number per texel, face by face and row by row, from the 64-bit Mersenne Twister with seed 42; those
/// below 0.01 become stars. That takes some milliseconds, so it is done once per process.
fn stars() -> &'static [Vec<u32>; 2] {
    static STARS_OF: OnceLock<[Vec<u32>; 2]> = OnceLock::new();
    STARS_OF.get_or_init(|| {
        let mut random = Mt19937_64::from_seed(42);
        let mut faces = [Vec::new(), Vec::new()];
        for face in 0..FACES {
            for texel in 0..(SIDE * SIDE) as u32 {
                let uniform = random.next_u64() as f64 / 18_446_744_073_709_551_616.0;
                if uniform < STARS {
                    match face {
                        BACK => faces[0].push(texel),
                        DOWN => faces[1].push(texel),
                        _ => {}
                    }
                }
            }
        }
        faces
    })
}

/// The sky as the camera sees it, in bytes.
pub fn picture(width: usize, height: usize) -> Vec<u8> {
    let faces = stars().each_ref().map(|stars| {
        let mut texels = vec![0.0; SIDE * SIDE];
        stars.iter().for_each(|&star| texels[star as usize] = 1.0);
        Pyramid::new(SIDE, texels)
    });
    let pixel = 2.0 * HALF_VIEW / height as f32;
    let mut bytes = Vec::with_capacity(width * height * 3);
    for row in 0..height {
        let y = (0.5 * height as f32 - row as f32 - 0.5) * pixel;
        for column in 0..width {
            let x = (column as f32 + 0.5 - 0.5 * width as f32) * pixel;
            bytes.extend(colour(&faces, x, y, pixel));
        }
    }
    bytes
}

/// The sky through the point (x, y) of a screen at distance 1 with pixels of this size.
fn colour(faces: &[Pyramid; 2], x: f32, y: f32, pixel: f32) -> [u8; 3] {
    let [_, ahead, up] = through(x, y);
    let [_, ahead_by_y, up_by_y] = CAMERA.up;
    // In front of us is the face that MuJoCo calls the back one, with x to the left; below us, t grows ahead. On a face the
    // coordinates are quotients from −1 to 1, and depth² is the denominator of their derivatives.
    let in_front = ahead >= -up;
    let (depth, depth_by_y, across, across_by_y) =
        if in_front { (ahead, ahead_by_y, -up, -up_by_y) } else { (-up, -up_by_y, ahead, ahead_by_y) };
    let (s, t) = (x / depth, across / depth);
    let by_x = 1.0 / depth;
    let by_y = [s * depth_by_y / depth, (across_by_y - t * depth_by_y) / depth];
    let width = by_x.max((by_y[0] * by_y[0] + by_y[1] * by_y[1]).sqrt()) * pixel * 0.5 * SIDE as f32;
    let side = if in_front { -s } else { s };
    let face = &faces[usize::from(!in_front)];
    let star = face.sample(0.5 * (1.0 + side), 0.5 * (1.0 + t), width, Beyond::Stays);
    let horizontal = f64::from(x * x + ahead * ahead).sqrt();
    let elevation = libm::atan2(f64::from(up), horizontal) / std::f64::consts::FRAC_PI_2;
    let light = brightness(elevation) as f32;
    ZENITH.map(|zenith| (255.0 * (zenith * light * (1.0 - star) + star) + 0.5) as u8)
}

const WORDS: usize = 312;
const MIDDLE: usize = 156;

/// The 64-bit Mersenne Twister (Nishimura 2000, *Tables of 64-bit Mersenne twisters*).
struct Mt19937_64 {
    words: [u64; WORDS],
    next: usize,
}

impl Mt19937_64 {
    fn from_seed(seed: u64) -> Self {
        let mut words = [seed; WORDS];
        for i in 1..WORDS {
            let previous = words[i - 1] ^ (words[i - 1] >> 62);
            words[i] = previous.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i as u64);
        }
        Self { words, next: WORDS }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let joined = (self.words[i] & !0x7fff_ffff) | (self.words[(i + 1) % WORDS] & 0x7fff_ffff);
            let odd = (joined & 1).wrapping_neg() & 0xb502_6f5a_a966_19e9;
            self.words[i] = self.words[(i + MIDDLE) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn next_u64(&mut self) -> u64 {
        if self.next == WORDS {
            self.refill();
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= (y >> 29) & 0x5555_5555_5555_5555;
        y ^= (y << 17) & 0x71d6_7fff_eda6_0000;
        y ^= (y << 37) & 0xfff7_eee0_0000_0000;
        y ^ (y >> 43)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ten-thousandth output for the default seed, from the C++ standard, [rand.predef].
    #[test]
    fn the_twister_gives_the_number_of_the_standard() {
        let mut random = Mt19937_64::from_seed(5489);
        let tenthousandth = (0..10_000).map(|_| random.next_u64()).last();
        assert_eq!(tenthousandth, Some(9_981_545_732_273_789_042));
    }

    /// Counts and first texels read from the model's texture in MuJoCo 3.17.0.
    #[test]
    fn the_stars_are_those_of_mujoco() {
        let [back, down] = stars();
        assert_eq!((back.len(), down.len()), (6356, 6337));
        assert_eq!(back[..6], [20, 385, 729, 1018, 1099, 1145]);
        assert_eq!(down[..6], [77, 175, 576, 722, 786, 849]);
    }

    /// Bytes of the gradient in MuJoCo's texture, which are rounded down: blue of 204 at the zenith.
    #[test]
    fn the_gradient_is_that_of_mujoco() {
        let blue = |elevation: f64| (204.0 * brightness(elevation)).floor();
        let up_to = |tangent: f64| libm::atan(tangent) / std::f64::consts::FRAC_PI_2;
        assert_eq!([blue(up_to(1.0)), blue(up_to(-1.0)), blue(-1.0), blue(1.0)], [166.0, 37.0, 0.0, 204.0]);
    }
}
