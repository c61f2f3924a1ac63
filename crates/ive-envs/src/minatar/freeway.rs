//! Freeway. A chicken crosses eight lanes of traffic, upwards in the middle of the board. Arriving at the top is worth 1
//! and brings new traffic; a car sends the chicken back to the start. There is nothing to lose but time: the game
//! lasts 2501 steps whatever happens.
//!
//! The chicken can move in one step of three. Lane i is row i + 1; a car of speed s moves one cell in every s + 1 steps
//! and drives around the board for ever.

use super::board::{Action, Rules, SIZE, Turn, put};
use crate::random::Random;
use crate::state::{Archive, StateError};

const LANES: usize = 8;
const COLUMN: i8 = 4;
const START: i8 = 9;
const COOLDOWN: i32 = 3;
const TIME_LIMIT: i32 = 2500;

/// The state of a game of Freeway. Cars are kept field by field, so that a loop over the lanes can be vectorised.
#[derive(Clone, Debug)]
pub(crate) struct Freeway {
    row: i8,
    cooldown: i32,
    time_left: i32,
    x: [i8; LANES],
    timer: [i8; LANES],
    /// Steps between moves less one, and the direction of a move (−1 or 1).
    pause: [i8; LANES],
    direction: [i8; LANES],
}

impl super::world::Rulebook for Freeway {
    const CHANNELS: &'static [&'static str] =
        &["chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"];

    fn begin(_: Rules, random: &mut impl Random) -> Self {
        let mut game = Self {
            row: START,
            cooldown: COOLDOWN,
            time_left: TIME_LIMIT,
            x: [0; LANES],
            timer: [0; LANES],
            pause: [1; LANES],
            direction: [1; LANES],
        };
        game.new_traffic(random);
        game
    }

    fn act(&mut self, action: Action, random: &mut impl Random) -> Turn {
        let mut turn = Turn::default();
        if self.cooldown == 0 && matches!(action, Action::Up | Action::Down) {
            self.cooldown = COOLDOWN;
            self.row = if action == Action::Up { self.row - 1 } else { (self.row + 1).min(START) };
        }
        if self.row == 0 {
            turn.reward = 1;
            self.new_traffic(random);
            self.row = START;
        }
        self.drive();
        self.cooldown = (self.cooldown - 1).max(0);
        self.time_left -= 1;
        turn.terminal = self.time_left < 0;
        turn
    }

    fn observe(&self, out: &mut [u8]) {
        put::<7>(out, COLUMN, self.row, 0);
        for i in 0..LANES {
            let (x, y) = (self.x[i], i as i8 + 1);
            put::<7>(out, x, y, 1);
            put::<7>(out, around(x - self.direction[i]), y, 1 + self.pause[i] as usize);
        }
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        archive.int(&mut self.row, 1..=9)?;
        archive.int(&mut self.cooldown, 0..=COOLDOWN)?;
        archive.int(&mut self.time_left, -1..=TIME_LIMIT)?;
        for i in 0..LANES {
            archive.int(&mut self.x[i], 0..=9)?;
            archive.int(&mut self.timer[i], 0..=5)?;
            archive.int(&mut self.pause[i], 1..=5)?;
            let mut right = self.direction[i] > 0;
            archive.flag(&mut right)?;
            self.direction[i] = if right { 1 } else { -1 };
        }
        Ok(())
    }
}

/// The column reached when the board is a cylinder.
#[inline]
fn around(x: i8) -> i8 {
    if x < 0 {
        x + SIZE
    } else if x >= SIZE {
        x - SIZE
    } else {
        x
    }
}

impl Freeway {
    /// New speeds and directions; the cars stay where they are.
    fn new_traffic(&mut self, random: &mut impl Random) {
        self.pause = self.pause.map(|_| 1 + random.below(5) as i8);
        self.direction = self.direction.map(|_| if random.uniform() < 0.5 { -1 } else { 1 });
        self.timer = self.pause;
    }

    /// Moves the cars. The chicken is hit by the car of its lane both before and after that car's move.
    fn drive(&mut self) {
        let lane = self.row as usize - 1;
        let hit_before = lane < LANES && self.x[lane] == COLUMN;
        for i in 0..LANES {
            let due = self.timer[i] == 0;
            self.timer[i] = if due { self.pause[i] } else { self.timer[i] - 1 };
            self.x[i] = around(self.x[i] + if due { self.direction[i] } else { 0 });
        }
        if hit_before || (lane < LANES && self.x[lane] == COLUMN) {
            self.row = START;
        }
    }
}
