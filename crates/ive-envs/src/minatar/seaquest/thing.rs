//! What swims and flies in Seaquest, and the lists of it.

use super::super::board::{SIZE, Turn};

/// Anything that swims or flies sideways. Timers that a kind does not use stay 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) x: i8,
    pub(super) y: i8,
    pub(super) rightward: bool,
    pub(super) move_timer: i8,
    pub(super) shot_timer: i8,
}

/// A thing in the top left corner, to be filled in by a saved state.
pub(super) const BLANK: Thing = Thing { x: 0, y: 0, rightward: false, move_timer: 0, shot_timer: 0 };

impl Thing {
    pub(super) fn is_at(self, x: i8, y: i8) -> bool {
        self.x == x && self.y == y
    }

    /// One cell further; false when that is off the board.
    pub(super) fn advance(&mut self) -> bool {
        self.x += if self.rightward { 1 } else { -1 };
        (0..SIZE).contains(&self.x)
    }
}

/// A thing at the edge of the board that it comes from.
pub(super) fn newcomer(rightward: bool, y: i8, move_timer: i32, shot_timer: i32) -> Thing {
    let x = if rightward { 0 } else { SIZE - 1 };
    Thing { x, y, rightward, move_timer: move_timer as i8, shot_timer: shot_timer as i8 }
}

/// Removes the first thing of the list that equals this one, and says where it was.
pub(super) fn remove_first(list: &mut Vec<Thing>, thing: Thing) -> Option<usize> {
    let place = list.iter().position(|other| *other == thing)?;
    list.remove(place);
    Some(place)
}

/// Removes the first thing of the list that is in this cell; false when there is none.
pub(super) fn remove_at(list: &mut Vec<Thing>, x: i8, y: i8) -> bool {
    let place = list.iter().position(|thing| thing.is_at(x, y));
    place.map(|i| list.remove(i)).is_some()
}

/// Moves the enemy at place `i` when its time has come, with what it meets before and after. Returns the enemy as it is
/// now, and the place from which it, or an equal one, was removed.
pub(super) fn advance_enemy(
    enemies: &mut Vec<Thing>,
    i: usize,
    bullets: &mut Vec<Thing>,
    (x, y): (i8, i8),
    move_period: i32,
    turn: &mut Turn,
) -> (Thing, Option<usize>) {
    let enemy = &mut enemies[i];
    turn.terminal |= enemy.is_at(x, y);
    let mut gone = false;
    if enemy.move_timer == 0 {
        enemy.move_timer = move_period as i8;
        if !enemy.advance() {
            gone = true;
        } else if enemy.is_at(x, y) {
            turn.terminal = true;
        } else if remove_at(bullets, enemy.x, enemy.y) {
            turn.reward += 1;
            gone = true;
        }
    } else {
        enemy.move_timer -= 1;
    }
    let enemy = *enemy;
    (enemy, if gone { remove_first(enemies, enemy) } else { None })
}
