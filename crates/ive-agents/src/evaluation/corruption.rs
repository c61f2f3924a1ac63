//! States that no environment shows, made from states that one does.
//!
//! Every corruption keeps the form of an observation, so what is strange about the result is only its content. Which ones
//! there are depends on the kind of observation: `boards`, `pixels`, `vectors`.

mod boards;
mod pixels;
mod vectors;

use ive::Rng;
use ive_envs::minatar::Game;
use ive_envs::registry::ObservationKind;
use ive_envs::{Sight, Spec};

/// A way to make states strange.
#[derive(Clone, Copy, Debug)]
pub struct Corruption<T: 'static> {
    /// In words.
    pub name: &'static str,
    one: One<T>,
}

/// A corrupted copy of state i, all of which have this shape.
type One<T> = fn(states: &[Vec<T>], i: usize, shape: &[usize], rng: &mut Rng) -> Vec<T>;

impl<T> Corruption<T> {
    /// Corrupted copies of some states of this shape, in their order. `rng` is consumed.
    pub fn apply(&self, states: &[Vec<T>], shape: &[usize], rng: &mut Rng) -> Vec<Vec<T>> {
        (0..states.len()).map(|i| self.of(states, i, shape, rng)).collect()
    }

    /// A corrupted copy of state i; the others are what it may be mixed with.
    pub fn of(&self, states: &[Vec<T>], i: usize, shape: &[usize], rng: &mut Rng) -> Vec<T> {
        (self.one)(states, i, shape, rng)
    }
}

/// One entry of an observation, as agents see them.
pub trait Element: Copy + Default + PartialEq + Send + 'static {
    /// The ways to make an observation of this kind strange.
    fn corruptions(kind: ObservationKind) -> &'static [Corruption<Self>];

    /// As a network takes it.
    fn as_input(self) -> f32;

    /// Observations of this type, if these are some.
    fn of<'a>(observations: &Observations<'a>) -> Option<&'a [Self]>;

    /// What a person would see in place of this observation, if there is something to see.
    fn sight(kind: ObservationKind, spec: &Spec, observation: &[Self]) -> Option<Sight>;
}

/// Observations one after the other in memory, in the type that agents see.
#[derive(Clone, Copy, Debug)]
pub enum Observations<'a> {
    /// Boards and pixels.
    Bytes(&'a [u8]),
    /// Numbers of a body.
    Numbers(&'a [f64]),
}

impl Element for u8 {
    fn as_input(self) -> f32 {
        f32::from(self)
    }

    fn of<'a>(observations: &Observations<'a>) -> Option<&'a [Self]> {
        match observations {
            Observations::Bytes(bytes) => Some(bytes),
            Observations::Numbers(_) => None,
        }
    }

    fn corruptions(kind: ObservationKind) -> &'static [Corruption<Self>] {
        match kind {
            ObservationKind::Board => &boards::ALL,
            ObservationKind::Pixels => &pixels::ALL,
            ObservationKind::Vector => &[],
        }
    }

    fn sight(kind: ObservationKind, spec: &Spec, observation: &[Self]) -> Option<Sight> {
        match kind {
            ObservationKind::Board => {
                let game = Game::from_name(spec.name.strip_prefix("minatar:")?)?;
                Some(Sight::Board { game, cells: observation.to_vec() })
            }
            ObservationKind::Pixels => {
                Some(Sight::Pixels { side: *spec.shape.first()?, rgb: observation.to_vec() })
            }
            ObservationKind::Vector => None,
        }
    }
}

impl Element for f64 {
    fn as_input(self) -> f32 {
        self as f32
    }

    fn of<'a>(observations: &Observations<'a>) -> Option<&'a [Self]> {
        match observations {
            Observations::Numbers(numbers) => Some(numbers),
            Observations::Bytes(_) => None,
        }
    }

    fn corruptions(kind: ObservationKind) -> &'static [Corruption<Self>] {
        if kind == ObservationKind::Vector { &vectors::ALL } else { &[] }
    }

    fn sight(_: ObservationKind, _: &Spec, _: &[Self]) -> Option<Sight> {
        None
    }
}

/// Another state than number i, if there is one.
fn another<'a, T>(states: &'a [Vec<T>], i: usize, rng: &mut Rng) -> &'a [T] {
    match states.len() {
        0 | 1 => &states[i],
        n => &states[(i + 1 + rng.below(n - 1)) % n],
    }
}

/// The state with its rows, `[row, …]`, in the order of `shape`, from bottom to top.
fn upside_down<T: Copy>(state: &[T], shape: &[usize]) -> Vec<T> {
    let row: usize = shape.iter().skip(1).product();
    state.chunks_exact(row.max(1)).rev().collect::<Vec<_>>().concat()
}
