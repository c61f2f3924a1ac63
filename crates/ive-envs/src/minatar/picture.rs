//! Pictures of the games, for people: a colour for each kind of object, trails as small dots, players on top.

use super::Game;
use super::board::CELLS;

/// A colour as red, green and blue.
pub type Colour = [u8; 3];

const PLAYER: Colour = [0x4c, 0xc9, 0xf0];
const FOE: Colour = [0xef, 0x47, 0x6f];
const GOLD: Colour = [0xff, 0xd1, 0x66];
const WHITE: Colour = [0xf8, 0xf9, 0xfa];
const TRAIL: Colour = [0x7c, 0x86, 0x9c];
const NIGHT: Colour = [0x14, 0x17, 0x20];
const FLOOR: Colour = [0x1b, 0x1f, 0x2b];

/// How a channel is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// Its colour.
    pub colour: Colour,
    /// The part of a cell's width that it fills: 1 for a body, less for a bullet or a trail.
    pub width: f64,
    /// A letter for screens without colours.
    pub letter: char,
}

const fn body(colour: Colour, letter: char) -> Paint {
    Paint { colour, width: 0.92, letter }
}

const fn dot(colour: Colour, letter: char) -> Paint {
    Paint { colour, width: 0.36, letter }
}

const ASTERIX: [Paint; 4] = [body(PLAYER, 'A'), body(FOE, 'x'), dot(TRAIL, '.'), body(GOLD, '$')];
const BREAKOUT: [Paint; 4] =
    [body(PLAYER, '='), body(WHITE, 'o'), dot(TRAIL, '.'), body([0xf4, 0x84, 0x5f], '#')];
const FREEWAY: [Paint; 7] = [
    body(GOLD, 'C'),
    body(FOE, 'x'),
    dot([0xff, 0x9e, 0x80], '1'),
    dot([0xd9, 0x86, 0x7c], '2'),
    dot([0xad, 0x75, 0x77], '3'),
    dot([0x84, 0x65, 0x70], '4'),
    dot([0x63, 0x58, 0x69], '5'),
];
const SEAQUEST: [Paint; 10] = [
    body(PLAYER, 'S'),
    body([0x2a, 0x7f, 0xa5], 's'),
    dot(WHITE, '-'),
    dot(TRAIL, '.'),
    dot(FOE, '*'),
    body([0xf4, 0x84, 0x5f], 'f'),
    body([0xc7, 0x7d, 0xff], 'x'),
    body([0x90, 0xe0, 0xef], 'O'),
    body(GOLD, 'd'),
    body([0xff, 0xe2, 0x9a], 'D'),
];
const ALIEN: Colour = [0x7b, 0xd3, 0x89];
const SPACE_INVADERS: [Paint; 6] =
    [body(PLAYER, 'A'), body(ALIEN, 'M'), body(ALIEN, 'M'), body(ALIEN, 'M'), dot(WHITE, '|'), dot(FOE, '*')];

/// How the channels of a game are shown.
pub fn paints(game: Game) -> &'static [Paint] {
    match game {
        Game::Asterix => &ASTERIX,
        Game::Breakout => &BREAKOUT,
        Game::Freeway => &FREEWAY,
        Game::Seaquest => &SEAQUEST,
        Game::SpaceInvaders => &SPACE_INVADERS,
    }
}

/// The colour of an empty cell in this row.
pub fn ground(game: Game, row: usize) -> Colour {
    match (game, row) {
        (Game::Asterix | Game::Freeway, 0 | 9) | (Game::Seaquest, 9) => NIGHT,
        (Game::Seaquest, 0) => [0x2b, 0x3a, 0x55],
        (Game::Seaquest, _) => [0x12, 0x2b, 0x4a],
        _ => FLOOR,
    }
}

/// The channel that one sees in a cell: the lowest number wins, but what moves covers what trails, and bullets are
/// never hidden.
pub fn visible(game: Game, observation: &[u8], cell: usize) -> Option<usize> {
    let paints = paints(game);
    let set = observation.get(cell * paints.len()..(cell + 1) * paints.len())?;
    let order: &[usize] = match game {
        Game::Asterix => &[0, 1, 3, 2],
        Game::Breakout => &[1, 0, 3, 2],
        Game::Freeway => &[0, 1, 2, 3, 4, 5, 6],
        Game::Seaquest => &[2, 4, 0, 1, 5, 6, 9, 7, 8, 3],
        Game::SpaceInvaders => &[4, 5, 0, 1, 2, 3],
    };
    order.iter().copied().find(|&channel| set[channel] != 0)
}

/// A square picture with a palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels per side.
    pub side: usize,
    /// The colours that occur.
    pub palette: Vec<Colour>,
    /// Numbers of colours, row by row.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Red, green and blue of every pixel, row by row.
    pub fn rgb(&self) -> Vec<u8> {
        self.pixels.iter().flat_map(|&pixel| self.palette[usize::from(pixel)]).collect()
    }
}

/// Draws an observation with `scale` pixels per cell and side. The palette is the same for all pictures of a game.
///
/// ```
/// use ive_envs::minatar::{Game, picture};
/// let mut observation = [0; 400];
/// observation[(9 * 10 + 4) * 4] = 1; // the paddle
/// let picture = picture::draw(Game::Breakout, &observation, 16);
/// assert_eq!((picture.side, picture.pixels.len()), (160, 160 * 160));
/// assert_eq!(picture.rgb()[3 * (150 * 160 + 70)..][..3], picture::paints(Game::Breakout)[0].colour);
/// ```
pub fn draw(game: Game, observation: &[u8], scale: usize) -> Picture {
    let paints = paints(game);
    let mut palette: Vec<Colour> = paints.iter().map(|paint| paint.colour).collect();
    palette.extend((0..10).map(|row| ground(game, row)));
    let side = 10 * scale;
    let mut pixels = vec![0; side * side];
    for cell in 0..CELLS {
        let (row, column) = (cell / 10, cell % 10);
        let shown = visible(game, observation, cell);
        for y in 0..scale {
            for x in 0..scale {
                let covered = shown.filter(|&channel| covers(paints[channel].width, scale, x, y));
                let colour = covered.unwrap_or(paints.len() + row);
                pixels[(row * scale + y) * side + column * scale + x] = colour as u8;
            }
        }
    }
    Picture { side, palette, pixels }
}

/// Whether a pixel of a cell belongs to a centred square of this relative width, with its corners cut.
fn covers(width: f64, scale: usize, x: usize, y: usize) -> bool {
    let half = (width * scale as f64 / 2.0).max(0.5);
    let away = |z: usize| (z as f64 + 0.5 - scale as f64 / 2.0).abs();
    let (dx, dy) = (away(x), away(y));
    dx <= half && dy <= half && dx + dy <= 2.0 * half * 0.94
}
