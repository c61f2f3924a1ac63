//! Breakout. A ball flies diagonally, one cell per step, and bounces off walls, bricks and the paddle in the bottom
//! row. Each brick of the three rows at the top is worth 1 and disappears. A ball that passes the paddle ends the game;
//! when the last brick is gone, the next ball to arrive at the bottom row brings all of them back.
//!
//! A ball that has just broken a brick flies through whatever bricks it meets until it has been in a cell without one.

use super::board::{Action, Rules, SIZE, Turn, cell, put};
use crate::random::Random;
use crate::state::{Archive, StateError};

/// Rows 1 to 3.
const WALL: u128 = ((1 << 30) - 1) << 10;
const BOTTOM: i8 = SIZE - 1;

/// The entries of four neighbouring cells for each of the sixteen ways in which bricks can fill them: writing a whole
/// wall entry by entry would be half of the time of a step.
const FOUR_BRICKS: [[u8; 16]; 16] = {
    let mut table = [[0; 16]; 16];
    let mut i = 0;
    while i < 64 {
        table[i / 4][i % 4 * 4 + 3] = (((i / 4) >> (i % 4)) & 1) as u8;
        i += 1;
    }
    table
};

/// The state of a game of Breakout.
#[derive(Clone, Debug)]
pub(crate) struct Breakout {
    paddle: i8,
    x: i8,
    y: i8,
    /// The direction of flight, each component −1 or 1.
    dx: i8,
    dy: i8,
    /// Where the ball was one step ago.
    trail: (i8, i8),
    bricks: u128,
    /// The last cell held a brick.
    striking: bool,
}

impl super::world::Rulebook for Breakout {
    const CHANNELS: &'static [&'static str] = &["paddle", "ball", "trail", "brick"];

    fn begin(_: Rules, random: &mut impl Random) -> Self {
        let (x, dx) = if random.below(2) == 0 { (0, 1) } else { (SIZE - 1, -1) };
        Self { paddle: 4, x, y: 3, dx, dy: 1, trail: (x, 3), bricks: WALL, striking: false }
    }

    fn act(&mut self, action: Action, _: &mut impl Random) -> Turn {
        match action {
            Action::Left => self.paddle = (self.paddle - 1).max(0),
            Action::Right => self.paddle = (self.paddle + 1).min(SIZE - 1),
            _ => {}
        }
        self.fly()
    }

    fn observe(&self, out: &mut [u8]) {
        put::<4>(out, self.paddle, BOTTOM, 0);
        put::<4>(out, self.x, self.y, 1);
        put::<4>(out, self.trail.0, self.trail.1, 2);
        let bricks = (self.bricks >> 10) as usize;
        for (i, cells) in out[40..160].chunks_mut(16).enumerate() {
            let four = &FOUR_BRICKS[(bricks >> (4 * i)) & 15];
            cells.iter_mut().zip(four).for_each(|(entry, brick)| *entry |= brick);
        }
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        for place in [&mut self.paddle, &mut self.x, &mut self.y, &mut self.trail.0, &mut self.trail.1] {
            archive.int(place, 0..=9)?;
        }
        for component in [&mut self.dx, &mut self.dy] {
            let mut positive = *component > 0;
            archive.flag(&mut positive)?;
            *component = if positive { 1 } else { -1 };
        }
        archive.cells(&mut self.bricks, WALL)?;
        archive.flag(&mut self.striking)
    }
}

impl Breakout {
    /// Moves the ball.
    fn fly(&mut self) -> Turn {
        let mut turn = Turn::default();
        let (old_x, old_y) = (self.x, self.y);
        self.trail = (old_x, old_y);
        let (mut x, mut y) = (old_x + self.dx, (old_y + self.dy).min(BOTTOM));
        if !(0..SIZE).contains(&x) {
            x = x.clamp(0, SIZE - 1);
            self.dx = -self.dx;
        }
        let mut in_brick = false;
        if y < 0 {
            y = 0;
            self.dy = -self.dy;
        } else if self.bricks & cell(x, y) != 0 {
            in_brick = true;
            if !self.striking {
                turn.reward = 1;
                self.bricks &= !cell(x, y);
                y = old_y;
                self.dy = -self.dy;
            }
        } else if y == BOTTOM {
            if self.bricks == 0 {
                self.bricks = WALL;
            }
            if old_x == self.paddle || x == self.paddle {
                // Caught from above: back up. Caught at the corner: back where it came from.
                if old_x != self.paddle {
                    self.dx = -self.dx;
                }
                self.dy = -self.dy;
                y = old_y;
            } else {
                turn.terminal = true;
            }
        }
        self.striking = in_brick;
        (self.x, self.y) = (x, y);
        turn
    }
}
