//! Asterix. The player walks on a field of eight lanes, one thing at most in each. Things enter at the left or the
//! right edge and cross their lane: gold is worth 1 when touched, an enemy ends the game. With difficulty ramping,
//! things come and move faster and faster.
//!
//! Lane i is row i + 1; rows 0 and 9 stay empty. A thing that leaves the board is gone.

use super::board::{Action, Rules, SIZE, Turn, put};
use crate::random::Random;
use crate::state::{Archive, StateError};

const LANES: usize = 8;
const SPAWN_PERIOD: i32 = 10;
const MOVE_PERIOD: i32 = 5;
const RAMP_INTERVAL: i32 = 100;

/// Something on its way along a lane.
#[derive(Clone, Copy, Debug)]
struct Thing {
    x: i8,
    rightward: bool,
    gold: bool,
}

/// The state of a game of Asterix.
#[derive(Clone, Debug)]
pub(crate) struct Asterix {
    ramping: bool,
    x: i8,
    y: i8,
    lanes: [Option<Thing>; LANES],
    spawn_period: i32,
    spawn_timer: i32,
    move_period: i32,
    move_timer: i32,
    ramp_timer: i32,
    ramp_index: i32,
}

impl super::world::Rulebook for Asterix {
    const CHANNELS: &'static [&'static str] = &["player", "enemy", "trail", "gold"];

    fn begin(rules: Rules, _: &mut impl Random) -> Self {
        Self {
            ramping: rules.ramping,
            x: 5,
            y: 5,
            lanes: [None; LANES],
            spawn_period: SPAWN_PERIOD,
            spawn_timer: SPAWN_PERIOD,
            move_period: MOVE_PERIOD,
            move_timer: MOVE_PERIOD,
            ramp_timer: RAMP_INTERVAL,
            ramp_index: 0,
        }
    }

    fn act(&mut self, action: Action, random: &mut impl Random) -> Turn {
        let mut turn = Turn::default();
        if self.spawn_timer == 0 {
            self.spawn(random);
            self.spawn_timer = self.spawn_period;
        }
        match action {
            Action::Left => self.x = (self.x - 1).max(0),
            Action::Right => self.x = (self.x + 1).min(SIZE - 1),
            Action::Up => self.y = (self.y - 1).max(1),
            Action::Down => self.y = (self.y + 1).min(LANES as i8),
            Action::Noop | Action::Fire => {}
        }
        // Only the thing in the player's own lane can be touched.
        self.touch(&mut turn);
        if self.move_timer == 0 {
            self.move_timer = self.move_period;
            for lane in &mut self.lanes {
                *lane = lane.and_then(advance);
            }
            self.touch(&mut turn);
        }
        self.spawn_timer -= 1;
        self.move_timer -= 1;
        if self.ramping {
            self.ramp();
        }
        turn
    }

    fn observe(&self, out: &mut [u8]) {
        put::<4>(out, self.x, self.y, 0);
        for (i, thing) in self.lanes.iter().enumerate() {
            let Some(thing) = thing else { continue };
            let y = i as i8 + 1;
            put::<4>(out, thing.x, y, if thing.gold { 3 } else { 1 });
            let behind = if thing.rightward { thing.x - 1 } else { thing.x + 1 };
            if (0..SIZE).contains(&behind) {
                put::<4>(out, behind, y, 2);
            }
        }
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        archive.int(&mut self.x, 0..=9)?;
        archive.int(&mut self.y, 1..=8)?;
        for lane in &mut self.lanes {
            let mut present = lane.is_some();
            archive.flag(&mut present)?;
            let mut thing = lane.unwrap_or(Thing { x: 0, rightward: false, gold: false });
            archive.int(&mut thing.x, 0..=9)?;
            archive.flag(&mut thing.rightward)?;
            archive.flag(&mut thing.gold)?;
            *lane = present.then_some(thing);
        }
        archive.int(&mut self.spawn_period, 1..=SPAWN_PERIOD)?;
        archive.int(&mut self.spawn_timer, 0..=SPAWN_PERIOD)?;
        archive.int(&mut self.move_period, 1..=MOVE_PERIOD)?;
        archive.int(&mut self.move_timer, 0..=MOVE_PERIOD)?;
        archive.int(&mut self.ramp_timer, -1..=RAMP_INTERVAL)?;
        archive.int(&mut self.ramp_index, 0..=100)
    }
}

/// The thing one cell further, unless that is off the board.
fn advance(thing: Thing) -> Option<Thing> {
    let x = if thing.rightward { thing.x + 1 } else { thing.x - 1 };
    (0..SIZE).contains(&x).then_some(Thing { x, ..thing })
}

impl Asterix {
    /// A new thing in a random free lane. Side and kind are drawn even when no lane is free.
    fn spawn(&mut self, random: &mut impl Random) {
        let rightward = random.uniform() < 0.5;
        let gold = random.uniform() < 1.0 / 3.0;
        let free = self.lanes.iter().filter(|lane| lane.is_none()).count();
        if free == 0 {
            return;
        }
        let chosen = random.below(free as u32) as usize;
        if let Some(lane) = self.lanes.iter_mut().filter(|lane| lane.is_none()).nth(chosen) {
            *lane = Some(Thing { x: if rightward { 0 } else { SIZE - 1 }, rightward, gold });
        }
    }

    fn touch(&mut self, turn: &mut Turn) {
        let lane = &mut self.lanes[self.y as usize - 1];
        match *lane {
            Some(thing) if thing.x == self.x && thing.gold => {
                turn.reward += 1;
                *lane = None;
            }
            Some(thing) if thing.x == self.x => turn.terminal = true,
            _ => {}
        }
    }

    /// Harder every 102 steps, until everything happens in every step.
    fn ramp(&mut self) {
        if self.spawn_period <= 1 && self.move_period <= 1 {
            return;
        }
        if self.ramp_timer >= 0 {
            self.ramp_timer -= 1;
            return;
        }
        if self.move_period > 1 && self.ramp_index % 2 == 1 {
            self.move_period -= 1;
        }
        if self.spawn_period > 1 {
            self.spawn_period -= 1;
        }
        self.ramp_index += 1;
        self.ramp_timer = RAMP_INTERVAL;
    }
}
