//! Options as they are written, and what can be wrong with them.

use crate::native::{NativeError, Problem};
use crate::nearest;
use std::fmt;

/// An option of an environment, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub key: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// What it can be.
    pub values: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A name, an option or a value that does not exist.
#[derive(Debug)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such environment.
    UnknownName {
        /// The name given.
        name: String,
        /// Names that look like it; if there are none, the message lists what there is.
        near: Vec<String>,
    },
    /// The environment has no such option.
    UnknownOption {
        /// The option given.
        key: String,
        /// Options that look like it, or all of them.
        near: Vec<String>,
    },
    /// The option cannot have this value.
    Value {
        /// The option.
        key: String,
        /// The value given.
        value: String,
        /// What it can be.
        allowed: String,
    },
    /// The environment has no numbered actions.
    NotNumbered {
        /// Its name.
        name: String,
    },
    /// The native library of the environment cannot be had.
    Native(NativeError),
}

/// One of two words, or an error that names both.
pub(crate) fn choice(
    key: &str,
    value: &str,
    yes: &'static str,
    no: &'static str,
) -> Result<bool, OptionError> {
    match value {
        _ if value == yes => Ok(true),
        _ if value == no => Ok(false),
        _ => Err(OptionError::value(key, value, format!("{no} or {yes}"))),
    }
}

impl OptionError {
    pub(crate) fn value(key: &str, value: &str, allowed: impl Into<String>) -> Self {
        Self::Value { key: key.into(), value: value.into(), allowed: allowed.into() }
    }

    /// A library that is there but cannot be used.
    pub(crate) fn unusable(reason: impl fmt::Display) -> Self {
        Self::Native(Problem::Unusable { reason: reason.to_string() }.into())
    }

    pub(crate) fn unknown(key: &str, known: &[OptionInfo]) -> Self {
        let mut near = nearest(key, known.iter().map(|option| option.key));
        if near.is_empty() {
            near = known.iter().map(|option| option.key).collect();
        }
        Self::UnknownOption { key: key.into(), near: near.into_iter().map(String::from).collect() }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, near } if near.is_empty() => {
                write!(f, "no environment is called `{name}`; there are {}", super::names_like(name))?;
                if name.contains("grid") {
                    write!(f, " (the gridworld of the paper is part of `ive reproduce` only)")?;
                }
                Ok(())
            }
            Self::UnknownName { name, near } => {
                write!(f, "no environment is called `{name}`; did you mean {}?", near.join(", "))
            }
            Self::UnknownOption { key, near } => {
                write!(f, "no option is called `{key}`; there is {}", near.join(", "))
            }
            Self::Value { key, value, allowed } => {
                write!(f, "{key} cannot be `{value}`: it must be {allowed}")
            }
            Self::NotNumbered { name } => {
                write!(
                    f,
                    "{name} has continuous actions; an environment with numbered actions is needed here"
                )
            }
            Self::Native(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OptionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Native(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NativeError> for OptionError {
    fn from(error: NativeError) -> Self {
        Self::Native(error)
    }
}
