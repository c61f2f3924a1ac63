//! From observations to features: what Muesli sees with.
//!
//! Pictures are bytes; they are centred to −1..1, and halved in height and width where a torso says so. Boards of MinAtar have a
//! convolution of their own, which costs as much as there are ones.

use ive::Rng;

use super::config::{Config, Seeing};
use crate::AgentError;
use crate::nn::cpu::board::{Board, FEATURES, FILTERS, SIZE};
use crate::nn::layout::normal;
use crate::nn::{Activation, Block, Conv, Graph, Layout, Pool, Slot, Var};

const ROOT_2: f64 = std::f64::consts::SQRT_2;

/// Weights and biases of the convolutions of one block of a residual torso: the first, and two pairs.
type BlockNames = [[&'static str; 2]; 5];

const BLOCKS: [BlockNames; 3] = [
    [
        ["block.0", "block.0.bias"],
        ["block.0.0", "block.0.0.bias"],
        ["block.0.1", "block.0.1.bias"],
        ["block.0.2", "block.0.2.bias"],
        ["block.0.3", "block.0.3.bias"],
    ],
    [
        ["block.1", "block.1.bias"],
        ["block.1.0", "block.1.0.bias"],
        ["block.1.1", "block.1.1.bias"],
        ["block.1.2", "block.1.2.bias"],
        ["block.1.3", "block.1.3.bias"],
    ],
    [
        ["block.2", "block.2.bias"],
        ["block.2.0", "block.2.0.bias"],
        ["block.2.1", "block.2.1.bias"],
        ["block.2.2", "block.2.2.bias"],
        ["block.2.3", "block.2.3.bias"],
    ],
];

/// The form in which observations come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Pictures `[height, width, colour]`.
    Pixels([usize; 3]),
    /// Boards of MinAtar with so many channels.
    Board(usize),
}

impl View {
    /// The form of observations of this shape.
    ///
    /// # Errors
    /// If it is neither a board nor a picture that can be halved.
    pub fn of(shape: &[usize]) -> Result<Self, AgentError> {
        match *shape {
            [SIZE, SIZE, channels] if channels > 0 => Ok(Self::Board(channels)),
            [height, width, 3] if height >= 16 && width >= 16 && height % 2 == 0 && width % 2 == 0 => {
                Ok(Self::Pixels([height, width, 3]))
            }
            _ => Err(AgentError::Setting {
                key: "the environment",
                problem: format!("must show boards or pictures, {shape:?} is neither"),
            }),
        }
    }

    /// Bytes of an observation.
    pub fn bytes(self) -> usize {
        match self {
            Self::Pixels(shape) => shape.iter().product(),
            Self::Board(channels) => SIZE * SIZE * channels,
        }
    }
}

/// Observations as a torso takes them, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    numbers: Vec<f32>,
    boards: Vec<u64>,
}

impl Seen {
    /// Observations that are numbers, for a torso without convolutions.
    pub fn vectors(numbers: Vec<f32>) -> Self {
        Self { numbers, boards: Vec::new() }
    }
}

/// A block of a residual torso (Espeholt et al., 2018): convolution, largest of 3 × 3 at every second place, and twice
/// `x + conv(relu(conv(relu x)))`.
#[derive(Clone, Debug)]
pub struct Residual {
    first: Conv,
    pool: Pool,
    pairs: [[Conv; 2]; 2],
}

/// What an observation passes through first.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a network has one")]
pub enum Torso {
    /// Pictures of half the size, and two convolutions of 4 × 4 at every second place.
    Small([Conv; 2]),
    /// Three residual blocks, on pictures of half or full size.
    Residual {
        /// The blocks.
        blocks: Vec<Residual>,
        /// Whether pictures are halved.
        halve: bool,
    },
    /// 16 filters of 3 × 3 cells, on boards.
    Board {
        /// The convolution.
        board: Board,
        /// Its weights.
        weight: Slot,
        /// Its biases.
        bias: Slot,
    },
    /// Nothing: so many numbers as they are.
    Vectors(usize),
}

/// Same-sized convolution of 3 × 3.
fn three(layout: &mut Layout, names: [&'static str; 2], picture: [usize; 3], filters: usize) -> Conv {
    let pool = Pool { picture, window: [3, 3], stride: [1, 1], padding: [[0, 0]; 2] }.same();
    Conv::new(layout, names, pool, filters, Activation::Linear)
}

impl Residual {
    fn new(layout: &mut Layout, names: &BlockNames, picture: [usize; 3], filters: usize) -> Self {
        let first = three(layout, names[0], picture, filters);
        let [height, width, _] = picture;
        let pool =
            Pool { picture: [height, width, filters], window: [3, 3], stride: [2, 2], padding: [[0, 0]; 2] }
                .same();
        let [down, right] = pool.places();
        let mut pair = |first: usize| {
            let conv = three(layout, names[first], [down, right, filters], filters);
            let inner = Conv { activation: Activation::Relu, ..conv };
            [inner, three(layout, names[first + 1], [down, right, filters], filters)]
        };
        Self { first, pool, pairs: [pair(1), pair(3)] }
    }

    /// The picture that comes out.
    fn picture(&self) -> [usize; 3] {
        let [down, right] = self.pool.places();
        [down, right, self.pool.picture[2]]
    }

    fn forward(&self, g: &mut dyn Graph, p: Block, x: Var) -> Var {
        let x = g.conv(p, &self.first, x);
        let mut x = g.max_pool(&self.pool, x);
        for [inner, outer] in &self.pairs {
            let y = g.activate(x, Activation::Relu);
            let y = g.conv(p, inner, y);
            let y = g.conv(p, outer, y);
            x = g.linear(&[(1.0, x), (1.0, y)], 0.0);
        }
        x
    }

    fn convolutions(&self) -> impl Iterator<Item = &Conv> {
        std::iter::once(&self.first).chain(self.pairs.iter().flatten())
    }
}

impl Torso {
    /// Adds the tensors of the torso that the settings name for observations of this form.
    pub fn new(layout: &mut Layout, view: View, config: &Config) -> Self {
        match (view, config.torso) {
            (View::Board(channels), _) => Self::Board {
                board: Board::new(channels),
                weight: layout.add("conv", &[3, 3, channels, FILTERS]),
                bias: layout.add("conv.bias", &[FILTERS]),
            },
            (View::Pixels([height, width, colours]), Seeing::Small) => {
                let window = |picture| Pool { picture, window: [4, 4], stride: [2, 2], padding: [[0, 0]; 2] };
                let [a, b] = [config.channels[0], config.channels[1]];
                let first = window([height / 2, width / 2, colours]);
                let [down, right] = first.places();
                let second = Pool { padding: [[0, 1]; 2], ..window([down, right, a]) };
                Self::Small([
                    Conv::new(layout, ["conv.0", "conv.0.bias"], first, a, Activation::Relu),
                    Conv::new(layout, ["conv.1", "conv.1.bias"], second, b, Activation::Relu),
                ])
            }
            (View::Pixels([height, width, colours]), Seeing::Impala) => {
                let by = if config.halve { 2 } else { 1 };
                let mut picture = [height / by, width / by, colours];
                let mut block = |(names, &filters): (&BlockNames, &usize)| {
                    let block = Residual::new(layout, names, picture, filters);
                    picture = block.picture();
                    block
                };
                let blocks = BLOCKS.iter().zip(&config.channels).map(&mut block).collect();
                Self::Residual { blocks, halve: config.halve }
            }
        }
    }

    /// Numbers of a picture, a board or a vector when it comes in, and of what comes out.
    pub fn sizes(&self) -> [usize; 2] {
        let shown = |conv: &Conv| {
            let [down, right] = conv.pool.places();
            [conv.pool.picture.iter().product(), down * right * conv.filters()]
        };
        match self {
            Self::Small([first, second]) => [shown(first)[0], shown(second)[1]],
            Self::Residual { blocks, .. } => {
                let last = blocks.last().map_or(0, |block| block.picture().iter().product());
                [blocks.first().map_or(0, |block| shown(&block.first)[0]), last]
            }
            Self::Board { board, .. } => [board.words(), FEATURES],
            Self::Vectors(n) => [*n, *n],
        }
    }

    /// Adds observations to those seen.
    pub fn prepare(&self, observations: &[u8], seen: &mut Seen) {
        match self {
            Self::Small([first, _]) => halve(observations, first.pool.picture[1], &mut seen.numbers),
            Self::Residual { blocks, halve: true } => {
                halve(observations, blocks[0].first.pool.picture[1], &mut seen.numbers);
            }
            Self::Residual { .. } => {
                seen.numbers.extend(observations.iter().map(|&b| f32::from(b) * (2.0 / 255.0) - 1.0));
            }
            Self::Board { board, .. } => {
                let start = seen.boards.len();
                let bytes = SIZE * SIZE * board.channels();
                seen.boards.resize(start + observations.len() / bytes * board.words(), 0);
                let words = seen.boards[start..].chunks_exact_mut(board.words());
                for (observation, words) in observations.chunks_exact(bytes).zip(words) {
                    crate::nn::cpu::board::pack(observation, words);
                }
            }
            Self::Vectors(_) => seen.numbers.extend(observations.iter().map(|&b| f32::from(b))),
        }
    }

    /// Forgets what was seen.
    pub fn clear(seen: &mut Seen) {
        seen.numbers.clear();
        seen.boards.clear();
    }

    /// The numbers behind the convolutions, of states `from` to `to` of those seen.
    pub fn forward(&self, g: &mut dyn Graph, p: Block, seen: &Seen, [from, to]: [usize; 2]) -> Var {
        let [width, _] = self.sizes();
        if let Self::Board { board, weight, bias } = self {
            return g.boards(p, board, weight, bias, &seen.boards[from * width..to * width]);
        }
        let x = g.input(&seen.numbers[from * width..to * width], width);
        match self {
            Self::Small(convs) => convs.iter().fold(x, |x, conv| g.conv(p, conv, x)),
            Self::Residual { blocks, .. } => {
                let x = blocks.iter().fold(x, |x, block| block.forward(g, p, x));
                g.activate(x, Activation::Relu)
            }
            Self::Board { .. } | Self::Vectors(_) => x,
        }
    }

    /// Draws initial weights of variance `2 / fan_in`; biases stay zero.
    pub fn initialise(&self, all: &mut [f32], rng: &mut Rng) {
        let draw = |slot: &Slot, all: &mut [f32], rng: &mut Rng| {
            let [high, wide, channels, _] = slot.shape[..] else { return };
            normal(slot.of_mut(all), ROOT_2 / ((high * wide * channels) as f64).sqrt(), rng);
        };
        match self {
            Self::Small(convs) => convs.iter().for_each(|conv| draw(&conv.weight, all, rng)),
            Self::Residual { blocks, .. } => {
                let convs = blocks.iter().flat_map(Residual::convolutions);
                convs.for_each(|conv| draw(&conv.weight, all, rng));
            }
            Self::Board { weight, .. } => draw(weight, all, rng),
            Self::Vectors(_) => {}
        }
    }
}

/// Adds pictures of half the height and width, so many pixels wide, from bytes to −1..1: the mean of each 2 × 2 pixels.
fn halve(pictures: &[u8], width: usize, out: &mut Vec<f32>) {
    const COLOURS: usize = 3;
    let start = out.len();
    out.resize(start + pictures.len() / 4, 0.0);
    let rows = pictures.chunks_exact(4 * width * COLOURS);
    for (pair, out) in rows.zip(out[start..].chunks_exact_mut(width * COLOURS)) {
        let (above, below) = pair.split_at(2 * width * COLOURS);
        let (above, below) = (above.as_chunks::<{ 2 * COLOURS }>().0, below.as_chunks::<{ 2 * COLOURS }>().0);
        for ((a, b), out) in above.iter().zip(below).zip(out.as_chunks_mut::<COLOURS>().0) {
            for c in 0..COLOURS {
                let sum = [a[c], a[c + COLOURS], b[c], b[c + COLOURS]].map(u16::from).iter().sum::<u16>();
                out[c] = f32::from(sum) * (2.0 / 4.0 / 255.0) - 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two pictures of 2 × 4 pixels become 1 × 2; 255 is 1, 0 is −1.
    #[test]
    fn pictures_are_centred_and_halved() {
        let pixel = |r: u8, g: u8, b: u8| [r, g, b];
        let picture = [
            [pixel(255, 0, 10), pixel(255, 0, 20), pixel(0, 0, 0), pixel(0, 51, 0)],
            [pixel(255, 0, 30), pixel(255, 0, 40), pixel(0, 0, 0), pixel(0, 0, 0)],
        ];
        let bytes = picture.concat().concat();
        let mut out = Vec::new();
        halve(&[bytes.clone(), bytes].concat(), 2, &mut out);
        let one = [1.0, -1.0, 25.0 * 2.0 / 255.0 - 1.0, -1.0, 51.0 / 4.0 * 2.0 / 255.0 - 1.0, -1.0];
        assert_eq!(out.len(), 12);
        out.iter().zip(one.iter().cycle()).for_each(|(o, e)| assert!((o - e).abs() < 1e-6, "{o} and {e}"));
    }

    #[test]
    fn only_boards_and_pictures_are_views() {
        assert_eq!(View::of(&[10, 10, 4]).unwrap(), View::Board(4));
        assert_eq!(View::of(&[64, 64, 3]).unwrap(), View::Pixels([64, 64, 3]));
        assert_eq!(View::of(&[64, 64, 3]).unwrap().bytes(), 12_288);
        for shape in [&[24][..], &[64, 64, 4], &[63, 64, 3], &[10, 10, 0]] {
            assert!(View::of(shape).is_err(), "{shape:?}");
        }
    }
}
