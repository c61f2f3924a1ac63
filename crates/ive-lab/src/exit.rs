//! Exit codes, decided in one place (the numbers follow `sysexits`); `docs/exit-codes.md` is the table for users.

use ive_envs::native::{NativeError, Problem};

/// Why a command ended without success: one line for the user and the code for the shell.
#[derive(Debug)]
pub struct Failure {
    /// Exit code of the process.
    pub code: u8,
    /// What happened and what to do about it.
    pub message: String,
}

/// What a command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Failure {
            $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Self {
                Self { code: $code, message: message.into() }
            })*
        }
    };
}

kinds! {
    /// The command line is wrong: unknown name, missing or contradictory arguments.
    usage = 64;
    /// Input data are corrupt.
    data = 65;
    /// A bug or a numerical failure of ours.
    internal = 70;
    /// Somebody else holds what we need.
    busy = 73;
    /// Reading or writing failed.
    io = 74;
    /// Interrupted; finished work was kept and the same command resumes it.
    interrupted = 75;
    /// A setting is unknown, malformed or out of range.
    config = 78;
}

impl Failure {
    /// Nobody reads stdout any more, and there is nothing else to do: the end, without a word, and no failure.
    pub fn unread() -> Self {
        Self { code: 0, message: String::new() }
    }
}

impl From<NativeError> for Failure {
    fn from(error: NativeError) -> Self {
        let message = error.to_string();
        match error.problem {
            Problem::Hash { .. } | Problem::Wheel { .. } | Problem::Damaged { .. } => Self::data(message),
            Problem::NoHome | Problem::Platform { .. } | Problem::NotACopy { .. } => Self::config(message),
            Problem::Interrupted => Self::interrupted(message),
            _ => Self::io(message),
        }
    }
}
