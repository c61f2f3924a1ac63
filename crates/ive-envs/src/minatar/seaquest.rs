//! Seaquest. A submarine hunts fish and enemy submarines (1 each) and picks up divers, and must come up before its
//! oxygen runs out. Surfacing costs a diver and ends the game when there is none; with six of them aboard it is worth
//! up to 10, more the earlier. Touching an enemy or its bullets ends the game. With difficulty ramping, every surfacing
//! makes enemies faster and more frequent.
//!
//! Row 0 is the surface and row 9 holds two gauges: oxygen from the left, divers from the right. Row 1 to 8 is the sea.
//!
//! Each kind of thing is a list in order of birth. Lists are walked from the newest to the oldest, and what is to be
//! removed is the *first entry equal to it*: that decides what happens when two equal things share a cell, so it is
//! part of the rules here. A visit removes one entry of the list at most, so the places still to be visited exist.

mod thing;

use super::board::{Action, Rules, SIZE, Turn, put};
use crate::random::Random;
use crate::state::{Archive, StateError};
use thing::{BLANK, Thing, advance_enemy, newcomer, remove_at, remove_first};

const ENEMY_SPAWN_PERIOD: i32 = 20;
const DIVER_SPAWN_PERIOD: i32 = 30;
const MOVE_PERIOD: i32 = 5;
const FASTEST_MOVE_PERIOD: i32 = 2;
const DIVER_MOVE_PERIOD: i32 = 5;
const SHOT_COOLDOWN: i32 = 5;
const ENEMY_SHOT_INTERVAL: i32 = 10;
const FULL_OXYGEN: i32 = 200;
const FULL_CREW: i32 = 6;

/// The state of a game of Seaquest.
#[derive(Clone, Debug)]
pub(crate) struct Seaquest {
    rules: Rules,
    x: i8,
    y: i8,
    rightward: bool,
    oxygen: i32,
    /// Divers aboard. The count falls below zero when one surfaces again with an emptied crew.
    crew: i32,
    at_surface: bool,
    cooldown: i32,
    enemy_timer: i32,
    enemy_period: i32,
    diver_timer: i32,
    move_period: i32,
    ramp_index: i32,
    bullets: Vec<Thing>,
    divers: Vec<Thing>,
    subs: Vec<Thing>,
    enemy_bullets: Vec<Thing>,
    fish: Vec<Thing>,
}

impl super::world::Rulebook for Seaquest {
    const CHANNELS: &'static [&'static str] = &[
        "sub front",
        "sub back",
        "friendly bullet",
        "trail",
        "enemy bullet",
        "enemy fish",
        "enemy sub",
        "oxygen gauge",
        "diver gauge",
        "diver",
    ];

    fn begin(rules: Rules, _: &mut impl Random) -> Self {
        Self {
            rules,
            x: 5,
            y: 0,
            rightward: false,
            oxygen: FULL_OXYGEN,
            crew: 0,
            at_surface: true,
            cooldown: 0,
            enemy_timer: ENEMY_SPAWN_PERIOD,
            enemy_period: ENEMY_SPAWN_PERIOD,
            diver_timer: DIVER_SPAWN_PERIOD,
            move_period: MOVE_PERIOD,
            ramp_index: 0,
            bullets: Vec::new(),
            divers: Vec::new(),
            subs: Vec::new(),
            enemy_bullets: Vec::new(),
            fish: Vec::new(),
        }
    }

    fn begin_again(&mut self, rules: Rules, random: &mut impl Random) {
        let lists =
            [&mut self.bullets, &mut self.divers, &mut self.subs, &mut self.enemy_bullets, &mut self.fish];
        let [bullets, divers, subs, enemy_bullets, fish] = lists.map(|list| {
            list.clear();
            std::mem::take(list)
        });
        *self = Self { bullets, divers, subs, enemy_bullets, fish, ..Self::begin(rules, random) };
    }

    fn act(&mut self, action: Action, random: &mut impl Random) -> Turn {
        let mut turn = Turn::default();
        if self.enemy_timer == 0 {
            self.enemy_timer = self.enemy_period;
            self.spawn_enemy(random);
        }
        if self.diver_timer == 0 {
            self.diver_timer = DIVER_SPAWN_PERIOD;
            self.spawn_diver(random);
        }
        self.steer(action);
        self.move_bullets(&mut turn);
        self.move_divers();
        self.move_subs(&mut turn);
        self.move_enemy_bullets(&mut turn);
        self.move_fish(&mut turn);
        for timer in [&mut self.enemy_timer, &mut self.diver_timer, &mut self.cooldown] {
            *timer = (*timer - 1).max(0);
        }
        self.breathe(&mut turn);
        turn
    }

    fn observe(&self, out: &mut [u8]) {
        put::<10>(out, self.x, self.y, 0);
        let behind = if self.rightward { self.x - 1 } else { self.x + 1 };
        if (0..SIZE).contains(&behind) {
            put::<10>(out, behind, self.y, 1);
        }
        let kinds = [
            (&self.bullets, 2),
            (&self.enemy_bullets, 4),
            (&self.fish, 5),
            (&self.subs, 6),
            (&self.divers, 9),
        ];
        for (list, channel) in kinds {
            for thing in list {
                put::<10>(out, thing.x, thing.y, channel);
                let behind = if thing.rightward { thing.x - 1 } else { thing.x + 1 };
                if channel >= 5 && (0..SIZE).contains(&behind) {
                    put::<10>(out, behind, thing.y, 3);
                }
            }
        }
        for x in 0..self.oxygen_cells() {
            put::<10>(out, x, SIZE - 1, 7);
        }
        for x in (9 - self.crew.max(0))..9 {
            put::<10>(out, x as i8, SIZE - 1, 8);
        }
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        archive.int(&mut self.x, 0..=9)?;
        archive.int(&mut self.y, 0..=8)?;
        archive.flag(&mut self.rightward)?;
        archive.int(&mut self.oxygen, -2..=FULL_OXYGEN)?;
        archive.int(&mut self.crew, i32::MIN / 2..=FULL_CREW)?;
        archive.flag(&mut self.at_surface)?;
        archive.int(&mut self.cooldown, 0..=SHOT_COOLDOWN)?;
        archive.int(&mut self.enemy_timer, 0..=ENEMY_SPAWN_PERIOD)?;
        archive.int(&mut self.enemy_period, 1..=ENEMY_SPAWN_PERIOD)?;
        archive.int(&mut self.diver_timer, 0..=DIVER_SPAWN_PERIOD)?;
        archive.int(&mut self.move_period, FASTEST_MOVE_PERIOD..=MOVE_PERIOD)?;
        archive.int(&mut self.ramp_index, 0..=100)?;
        let lists =
            [&mut self.bullets, &mut self.divers, &mut self.subs, &mut self.enemy_bullets, &mut self.fish];
        for list in lists {
            archive.list(list, &BLANK, |archive, thing| {
                archive.int(&mut thing.x, 0..=9)?;
                archive.int(&mut thing.y, 0..=8)?;
                archive.flag(&mut thing.rightward)?;
                archive.int(&mut thing.move_timer, 0..=5)?;
                archive.int(&mut thing.shot_timer, 0..=10)
            })?;
        }
        Ok(())
    }
}

impl Seaquest {
    /// A fish or a submarine in a random row, unless another enemy comes towards it there.
    fn spawn_enemy(&mut self, random: &mut impl Random) {
        let rightward = random.uniform() < 0.5;
        let is_sub = random.uniform() < 1.0 / 3.0;
        let y = 1 + random.below(8) as i8;
        let opposes = |other: &Thing| other.y == y && other.rightward != rightward;
        if self.subs.iter().any(opposes) || self.fish.iter().any(opposes) {
            return;
        }
        if is_sub {
            self.subs.push(newcomer(rightward, y, self.move_period, ENEMY_SHOT_INTERVAL));
        } else {
            self.fish.push(newcomer(rightward, y, self.move_period, 0));
        }
    }

    fn spawn_diver(&mut self, random: &mut impl Random) {
        let rightward = random.uniform() < 0.5;
        let y = 1 + random.below(8) as i8;
        self.divers.push(newcomer(rightward, y, DIVER_MOVE_PERIOD, 0));
    }

    fn steer(&mut self, action: Action) {
        match action {
            Action::Fire if self.cooldown == 0 => {
                self.bullets.push(Thing { x: self.x, y: self.y, rightward: self.rightward, ..BLANK });
                self.cooldown = SHOT_COOLDOWN;
            }
            Action::Left => (self.x, self.rightward) = ((self.x - 1).max(0), false),
            Action::Right => (self.x, self.rightward) = ((self.x + 1).min(SIZE - 1), true),
            Action::Up => self.y = (self.y - 1).max(0),
            Action::Down => self.y = (self.y + 1).min(SIZE - 2),
            Action::Noop | Action::Fire => {}
        }
    }

    fn move_bullets(&mut self, turn: &mut Turn) {
        for i in (0..self.bullets.len()).rev() {
            let on_board = self.bullets[i].advance();
            let bullet = self.bullets[i];
            if !on_board {
                remove_first(&mut self.bullets, bullet);
            } else if remove_at(&mut self.fish, bullet.x, bullet.y)
                || remove_at(&mut self.subs, bullet.x, bullet.y)
            {
                turn.reward += 1;
                remove_first(&mut self.bullets, bullet);
            }
        }
    }

    fn move_divers(&mut self) {
        for i in (0..self.divers.len()).rev() {
            let diver = &mut self.divers[i];
            let mut gone = diver.is_at(self.x, self.y) && self.crew < FULL_CREW;
            let mut aboard = gone;
            if !gone && diver.move_timer == 0 {
                diver.move_timer = DIVER_MOVE_PERIOD as i8;
                let lost = !diver.advance();
                aboard = !lost && diver.is_at(self.x, self.y) && self.crew < FULL_CREW;
                gone = lost || aboard;
            } else if !gone {
                diver.move_timer -= 1;
            }
            let diver = *diver;
            self.crew += i32::from(aboard);
            if gone {
                remove_first(&mut self.divers, diver);
            }
        }
    }

    /// Moves the enemy submarines and lets them shoot; one that was removed a moment ago still does.
    fn move_subs(&mut self, turn: &mut Turn) {
        for i in (0..self.subs.len()).rev() {
            let player = (self.x, self.y);
            let (mut sub, removed) =
                advance_enemy(&mut self.subs, i, &mut self.bullets, player, self.move_period, turn);
            if sub.shot_timer == 0 {
                sub.shot_timer = ENEMY_SHOT_INTERVAL as i8;
                self.enemy_bullets.push(Thing { move_timer: 0, shot_timer: 0, ..sub });
            } else {
                sub.shot_timer -= 1;
            }
            // The entry itself may have slid one place down when an equal, older one was removed in its stead.
            match removed {
                None => self.subs[i] = sub,
                Some(at) if at < i => self.subs[i - 1] = sub,
                Some(_) => {}
            }
        }
    }

    fn move_enemy_bullets(&mut self, turn: &mut Turn) {
        for i in (0..self.enemy_bullets.len()).rev() {
            turn.terminal |= self.enemy_bullets[i].is_at(self.x, self.y);
            let on_board = self.enemy_bullets[i].advance();
            let bullet = self.enemy_bullets[i];
            if on_board {
                turn.terminal |= bullet.is_at(self.x, self.y);
            } else {
                remove_first(&mut self.enemy_bullets, bullet);
            }
        }
    }

    fn move_fish(&mut self, turn: &mut Turn) {
        for i in (0..self.fish.len()).rev() {
            advance_enemy(&mut self.fish, i, &mut self.bullets, (self.x, self.y), self.move_period, turn);
        }
    }

    /// Oxygen below the surface; above it, the crew goes ashore.
    fn breathe(&mut self, turn: &mut Turn) {
        let dead = if self.rules.oxygen_flash { self.oxygen < 0 } else { self.oxygen <= 0 };
        turn.terminal |= dead;
        if self.y > 0 {
            self.oxygen -= 1;
            self.at_surface = false;
        } else if !self.at_surface {
            if self.crew == 0 {
                turn.terminal = true;
            } else {
                turn.reward += self.surface();
            }
        }
    }

    /// Refills the oxygen for one diver. A full crew is worth what oxygen was left; all of it leaves, and one more.
    fn surface(&mut self) -> i32 {
        let mut reward = 0;
        self.at_surface = true;
        if self.crew == FULL_CREW {
            reward = self.oxygen_tenths();
            self.crew = 0;
        }
        self.oxygen = FULL_OXYGEN;
        self.crew -= 1;
        if self.rules.ramping && (self.enemy_period > 1 || self.move_period > FASTEST_MOVE_PERIOD) {
            if self.move_period > FASTEST_MOVE_PERIOD && self.ramp_index % 2 == 1 {
                self.move_period -= 1;
            }
            if self.enemy_period > 1 {
                self.enemy_period -= 1;
            }
            self.ramp_index += 1;
        }
        reward
    }

    /// Oxygen left, in tenths of a full tank, rounded down.
    fn oxygen_tenths(&self) -> i32 {
        (self.oxygen * 10).div_euclid(FULL_OXYGEN)
    }

    /// The cells of the oxygen gauge. Below zero the old game counted them from the wrong end.
    fn oxygen_cells(&self) -> i8 {
        match self.oxygen_tenths() {
            tenths if tenths < 0 && self.rules.oxygen_flash => SIZE - 1,
            tenths => tenths.max(0) as i8,
        }
    }
}
