//! Space Invaders. A cannon at the bottom shoots at a block of aliens that marches sideways, turns round and comes one
//! row lower at each wall, and speeds up as it shrinks. The alien column nearest to the cannon shoots back. Each alien
//! is worth 1; being hit or reached ends the game. A new block follows the last alien, faster if difficulty ramps.
//!
//! Sets of cells are bit sets (bit 10·row + column), so a move of everything is one shift.

use super::board::{Action, CELLS, Rules, SIZE, Turn, cell, put};
use crate::random::Random;
use crate::state::{Archive, StateError};

const SHOT_COOLDOWN: i32 = 5;
const MOVE_INTERVAL: i32 = 12;
const FASTEST_INTERVAL: i32 = 6;
const ENEMY_SHOT_INTERVAL: i32 = 10;

const BOARD: u128 = (1 << CELLS) - 1;
const ROW: u128 = (1 << SIZE) - 1;
const BOTTOM: u128 = ROW << 90;
/// One bit in each row: shifted by x it is column x.
const COLUMN: u128 = BOARD / ROW;
/// Rows 0 to 3, columns 2 to 7.
const BLOCK: u128 = 0xfc | (0xfc << 10) | (0xfc << 20) | (0xfc << 30);

/// The state of a game of Space Invaders.
#[derive(Clone, Debug)]
pub(crate) struct SpaceInvaders {
    ramping: bool,
    cannon: i8,
    cooldown: i32,
    aliens: u128,
    leftward: bool,
    move_interval: i32,
    move_timer: i32,
    shot_timer: i32,
    shots: u128,
    enemy_shots: u128,
}

impl super::world::Rulebook for SpaceInvaders {
    const CHANNELS: &'static [&'static str] =
        &["cannon", "alien", "alien going left", "alien going right", "friendly bullet", "enemy bullet"];

    fn begin(rules: Rules, _: &mut impl Random) -> Self {
        Self {
            ramping: rules.ramping,
            cannon: 5,
            cooldown: 0,
            aliens: BLOCK,
            leftward: true,
            move_interval: MOVE_INTERVAL,
            move_timer: MOVE_INTERVAL,
            shot_timer: ENEMY_SHOT_INTERVAL,
            shots: 0,
            enemy_shots: 0,
        }
    }

    fn act(&mut self, action: Action, _: &mut impl Random) -> Turn {
        let mut turn = Turn::default();
        match action {
            Action::Fire if self.cooldown == 0 => {
                self.shots |= cell(self.cannon, SIZE - 1);
                self.cooldown = SHOT_COOLDOWN;
            }
            Action::Left => self.cannon = (self.cannon - 1).max(0),
            Action::Right => self.cannon = (self.cannon + 1).min(SIZE - 1),
            _ => {}
        }
        self.shots >>= SIZE;
        self.enemy_shots = (self.enemy_shots << SIZE) & BOARD;
        let cannon = cell(self.cannon, SIZE - 1);
        turn.terminal |= (self.enemy_shots | self.aliens) & cannon != 0;
        if self.move_timer == 0 {
            self.move_timer = self.move_interval.min(self.aliens.count_ones() as i32);
            turn.terminal |= self.march();
            turn.terminal |= self.aliens & cannon != 0;
        }
        if self.shot_timer == 0 {
            self.shot_timer = ENEMY_SHOT_INTERVAL;
            self.enemy_shots |= shooter(self.aliens, self.cannon);
        }
        let hit = self.aliens & self.shots;
        turn.reward = hit.count_ones() as i32;
        self.aliens &= !hit;
        self.shots &= !hit;
        self.cooldown = (self.cooldown - 1).max(0);
        self.move_timer -= 1;
        self.shot_timer -= 1;
        if self.aliens == 0 {
            self.aliens = BLOCK;
            if self.ramping && self.move_interval > FASTEST_INTERVAL {
                self.move_interval -= 1;
            }
        }
        turn
    }

    fn observe(&self, out: &mut [u8]) {
        put::<6>(out, self.cannon, SIZE - 1, 0);
        let heading = if self.leftward { 2 } else { 3 };
        for_each_cell(self.aliens, |i| {
            out[i * 6 + 1] = 1;
            out[i * 6 + heading] = 1;
        });
        for_each_cell(self.shots, |i| out[i * 6 + 4] = 1);
        for_each_cell(self.enemy_shots, |i| out[i * 6 + 5] = 1);
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        archive.int(&mut self.cannon, 0..=9)?;
        archive.int(&mut self.cooldown, 0..=SHOT_COOLDOWN)?;
        archive.cells(&mut self.aliens, BOARD)?;
        if self.aliens == 0 {
            return Err(StateError::Corrupt { what: "there are no aliens" });
        }
        archive.flag(&mut self.leftward)?;
        archive.int(&mut self.move_interval, FASTEST_INTERVAL..=MOVE_INTERVAL)?;
        archive.int(&mut self.move_timer, 0..=MOVE_INTERVAL)?;
        archive.int(&mut self.shot_timer, 0..=ENEMY_SHOT_INTERVAL)?;
        archive.cells(&mut self.shots, BOARD)?;
        archive.cells(&mut self.enemy_shots, BOARD)
    }
}

/// Calls `visit` with the number of every cell of the set.
#[inline]
fn for_each_cell(set: u128, mut visit: impl FnMut(usize)) {
    for (mut half, offset) in [(set as u64, 0), ((set >> 64) as u64, 64)] {
        while half != 0 {
            visit(offset + half.trailing_zeros() as usize);
            half &= half - 1;
        }
    }
}

/// The lowest alien of the column nearest to the cannon; of two equally near columns, the left one.
fn shooter(aliens: u128, cannon: i8) -> u128 {
    for distance in 0..SIZE {
        for x in [cannon - distance, cannon + distance] {
            if (0..SIZE).contains(&x) {
                let column = aliens & (COLUMN << x);
                if column != 0 {
                    return 1 << column.ilog2();
                }
            }
        }
    }
    0
}

impl SpaceInvaders {
    /// Moves the aliens: sideways, or down and about at a wall. True if some had already reached the bottom.
    fn march(&mut self) -> bool {
        let wall = if self.leftward { COLUMN } else { COLUMN << (SIZE - 1) };
        if self.aliens & wall == 0 {
            self.aliens = if self.leftward { self.aliens >> 1 } else { self.aliens << 1 };
            return false;
        }
        self.leftward = !self.leftward;
        let landed = self.aliens & BOTTOM;
        self.aliens = ((self.aliens << SIZE) & BOARD) | (landed >> 90);
        landed != 0
    }
}
