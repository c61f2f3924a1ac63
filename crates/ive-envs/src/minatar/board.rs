//! What the five games share: a board of 10 × 10 cells, six actions, and the outcome of a turn.

/// Rows and columns of the board.
pub(crate) const SIZE: i8 = 10;
/// Cells of the board.
pub(crate) const CELLS: usize = 100;

/// What a player can do; not every action means something in every game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Noop,
    /// Move left.
    Left,
    /// Move up.
    Up,
    /// Move right.
    Right,
    /// Move down.
    Down,
    /// Shoot.
    Fire,
}

impl Action {
    /// All six, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Noop, Self::Left, Self::Up, Self::Right, Self::Down, Self::Fire];

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        ["noop", "left", "up", "right", "down", "fire"][self as usize]
    }
}

/// The options that change the rules of a game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The game gets harder with time.
    pub ramping: bool,
    /// Seaquest as it was before October 2022.
    pub oxygen_flash: bool,
}

/// What a turn brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    pub reward: i32,
    pub terminal: bool,
}

/// Sets the entry of an observation with `C` channels.
#[inline]
pub(crate) fn put<const C: usize>(out: &mut [u8], x: i8, y: i8, channel: usize) {
    out[(y as usize * SIZE as usize + x as usize) * C + channel] = 1;
}

/// The bit of a cell in a set of cells.
#[inline]
pub(crate) fn cell(x: i8, y: i8) -> u128 {
    1 << (y as u32 * SIZE as u32 + x as u32)
}
