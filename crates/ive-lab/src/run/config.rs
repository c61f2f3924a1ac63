//! `config.toml`: what a run is, resolved, written once when it begins.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::disk::Disk;
use super::{Plan, RunOptions};
use crate::exit::{Failure, Outcome};
use crate::lock::LOCK;
use crate::store::difference;

/// The name of the file in a run directory, by which it is known to be one.
pub const FILE: &str = "config.toml";
/// The largest one that is read; ours have about 1 KB.
const MAX_BYTES: u64 = 1 << 20;

/// Everything that the result of a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Where it is computed.
    pub device: String,
    /// How many greedy episodes are played at the end.
    pub greedy_episodes: usize,
    /// Agent, world, seed, steps and settings.
    #[serde(flatten)]
    pub plan: Plan,
}

impl Config {
    /// The run of this plan.
    pub fn new(plan: &Plan, options: &RunOptions) -> Self {
        Self { device: options.device.clone(), greedy_episodes: options.greedy_episodes, plan: plan.clone() }
    }

    /// Reads the file of a run directory.
    pub fn read(dir: &Path) -> Outcome<Self> {
        Self::read_on(&Disk::default(), dir)
    }

    /// The same on any disk.
    pub fn read_on(disk: &Disk, dir: &Path) -> Outcome<Self> {
        let path = dir.join(FILE);
        let absent = || Failure::usage(format!("{} is not a run: it has no {FILE}", dir.display()));
        let bytes = disk.read(&path, MAX_BYTES)?.ok_or_else(absent)?;
        let text = String::from_utf8(bytes).map_err(|_| damaged(&path, "it is not text"))?;
        let table: Table = text.parse().map_err(|e: toml::de::Error| damaged(&path, e.message()))?;
        let config: Self =
            table.clone().try_into().map_err(|e: toml::de::Error| damaged(&path, e.message()))?;
        // What is not a field of ours was dropped silently: compare.
        if Table::try_from(&config).ok().as_ref() != Some(&table) {
            return Err(damaged(&path, "it has keys that are unknown"));
        }
        Ok(config)
    }

    /// Makes sure that `dir` is a directory of this run: writes the file into an empty directory, compares otherwise.
    pub fn settle(&self, dir: &Path, disk: &Disk) -> Outcome {
        if disk.look(&dir.join(FILE))?.is_some() {
            return self.same_as(&Self::read_on(disk, dir)?, dir);
        }
        if let Some(other) = disk.lasting_names(dir)?.iter().find(|name| *name != LOCK) {
            return Err(Failure::usage(format!(
                "{} is not empty and not a run (it holds {other}); choose another --run",
                dir.display()
            )));
        }
        Ok(disk.replace(&dir.join(FILE), self.text()?.as_bytes())?)
    }

    /// The settings, without the comment on top.
    pub fn table(&self) -> Outcome<Table> {
        Table::try_from(self).map_err(|e| Failure::config(format!("{FILE}: {e}")))
    }

    fn text(&self) -> Outcome<String> {
        Ok(format!(
            "# A run of {}. Written once: the checkpoints belong to exactly these settings.\n\n{}",
            super::program(),
            self.table()?
        ))
    }

    /// Refuses a run of other settings, and names what differs.
    fn same_as(&self, there: &Self, dir: &Path) -> Outcome {
        if self == there {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} is a run with other settings ({}); choose another --run",
            dir.display(),
            there.compared_with(self)
        )))
    }

    /// What differs between two runs, `seed 1 → 2`.
    pub fn compared_with(&self, other: &Self) -> String {
        let json = |config| serde_json::to_value(config).unwrap_or_default();
        difference(&json(self), &json(other))
    }
}

fn damaged(path: &Path, what: &str) -> Failure {
    let what = what.trim().lines().next().unwrap_or_default();
    Failure::data(format!(
        "{} is damaged ({what}); put back the original, or begin anew in another directory",
        path.display()
    ))
}
