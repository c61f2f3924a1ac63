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

/// Removes the first thing of the list that equals this one.
pub(super) fn remove_first(list: &mut Vec<Thing>, thing: Thing) {
    if let Some(i) = list.iter().position(|other| *other == thing) {
        list.remove(i);
    }
}

/// Removes the first thing of the list that is in this cell; false when there is none.
pub(super) fn remove_at(list: &mut Vec<Thing>, x: i8, y: i8) -> bool {
    match list.iter().position(|thing| thing.is_at(x, y)) {
        Some(i) => {
            list.remove(i);
            true
        }
        None => false,
    }
}

/// Visits the places of a list from the last to the first. The list may shrink on the way; a place that is no longer
/// there ends the walk.
macro_rules! newest_first {
    ($list:expr, |$i:ident| $body:block) => {
        let mut place = $list.len();
        while place > 0 && place <= $list.len() {
            place -= 1;
            let $i = place;
            $body
        }
    };
}

pub(super) use newest_first;

/// Moves the enemy at place `i` when its time has come, with what it meets before and after. `enemy` becomes the moved
/// enemy; the result is the place from which an enemy was removed, if any.
pub(super) fn advance_enemy(
    list: &mut Vec<Thing>,
    bullets: &mut Vec<Thing>,
    i: usize,
    enemy: &mut Thing,
    (x, y, move_period): (i8, i8, i32),
    turn: &mut Turn,
) -> Option<usize> {
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
    list[i] = *enemy;
    if !gone {
        return None;
    }
    let at = list.iter().position(|other| other == enemy)?;
    list.remove(at);
    Some(at)
}
