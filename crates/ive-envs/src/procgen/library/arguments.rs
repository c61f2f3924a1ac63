//! The options of the library, in its own form.

use super::{COption, INT32, UINT8};
use crate::procgen::{ACTIONS, Game, Options};
use std::ffi::{c_char, c_int, c_void};

/// The value of an option in memory that the library may keep a pointer to.
#[derive(Debug)]
pub(super) enum Datum {
    Flag(Box<u8>),
    Int(Box<i32>),
    Text(Box<[u8]>),
}

impl Datum {
    pub(super) fn option(&mut self, key: &str) -> COption {
        let mut name = [0; 128];
        for (to, from) in name.iter_mut().zip(key.bytes()) {
            *to = from as c_char;
        }
        let (dtype, count, data): (_, _, *mut c_void) = match self {
            Self::Flag(flag) => (UINT8, 1, (&raw mut **flag).cast()),
            Self::Int(int) => (INT32, 1, (&raw mut **int).cast()),
            Self::Text(text) => (UINT8, text.len() as c_int, text.as_mut_ptr().cast()),
        };
        COption { name, dtype, count, data }
    }
}

/// All seventeen options that the library wants.
pub(super) fn arguments(
    game: Game,
    options: &Options,
    seed: i32,
    assets: &str,
) -> Vec<(&'static str, Datum)> {
    let flag = |yes: bool| Datum::Flag(Box::new(u8::from(yes)));
    let int = |number: i32| Datum::Int(Box::new(number));
    let text = |text: &str| Datum::Text(text.as_bytes().into());
    let (levels, start_level) = options.level_range(game);
    vec![
        ("center_agent", flag(options.center_agent)),
        ("use_generated_assets", flag(options.generated_assets)),
        ("use_monochrome_assets", flag(options.monochrome)),
        ("restrict_themes", flag(options.restrict_themes)),
        ("use_backgrounds", flag(options.backgrounds)),
        ("paint_vel_info", flag(options.velocity_info)),
        ("distribution_mode", int(options.mode.number())),
        ("env_name", text(game.name())),
        ("num_levels", int(levels)),
        ("start_level", int(start_level)),
        ("num_actions", int(ACTIONS.len() as i32)),
        ("use_sequential_levels", flag(options.sequential_levels)),
        ("debug_mode", int(0)),
        ("rand_seed", int(seed)),
        // Threads are ours: the library's own wake each other once per environment, and two of them lose against one.
        ("num_threads", int(0)),
        ("render_human", flag(false)),
        ("resource_root", text(assets)),
    ]
}
