//! `config.toml`: what a run is, resolved, written when it begins and when it is made longer.

use std::path::Path;

use toml::Table;

use super::disk::Disk;
use super::{Plan, agents};
use crate::exit::{Failure, Outcome};
use crate::lock::LOCK;
use crate::store::difference;

/// The name of the file in a run directory, by which it is known to be one.
pub const FILE: &str = "config.toml";
/// The largest one that is read; ours have about 1 KB.
const MAX_BYTES: u64 = 1 << 20;

impl Plan {
    /// Whether `other` is this run, or this run before it was made longer.
    pub fn is_or_was(&self, other: &Self) -> bool {
        let earlier = |(i, &steps): (usize, &u64)| {
            let schedule_steps = if i == 0 { None } else { self.schedule_steps };
            Self { extended: self.extended[..i].to_vec(), steps, schedule_steps, ..self.clone() }
        };
        self == other || self.extended.iter().enumerate().map(earlier).any(|form| form == *other)
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
        let plan: Self =
            table.clone().try_into().map_err(|e: toml::de::Error| damaged(&path, e.message()))?;
        // What is not a field of ours was dropped silently: compare.
        if Table::try_from(&plan).ok().as_ref() != Some(&table) {
            return Err(damaged(&path, "it has keys that are unknown"));
        }
        Ok(plan)
    }

    /// Makes sure that `dir` is a directory of this run: writes the file into an empty directory, compares otherwise.
    /// Returns the run that is there, which may have been shorter once.
    pub fn settle(self, dir: &Path, disk: &Disk) -> Outcome<Self> {
        if disk.look(&dir.join(FILE))?.is_some() {
            let there = Self::read_on(disk, dir)?;
            return self.same_as(&there, dir).map(|()| there);
        }
        if let Some(other) = disk.lasting_names(dir)?.iter().find(|name| *name != LOCK) {
            return Err(Failure::usage(format!(
                "{} is not empty and not a run (it holds {other}); choose another --run",
                dir.display()
            )));
        }
        disk.replace(&dir.join(FILE), self.text()?.as_bytes())?;
        Ok(self)
    }

    /// The settings, without the comment on top.
    pub fn table(&self) -> Outcome<Table> {
        Table::try_from(self).map_err(|e| Failure::config(format!("{FILE}: {e}")))
    }

    /// The text of the file.
    pub fn text(&self) -> Outcome<String> {
        Ok(format!(
            "# A run of {}. Do not edit: the checkpoints belong to exactly these settings. `ive runs extend` makes a run longer.\n\n{}",
            super::program(),
            self.table()?
        ))
    }

    /// Refuses a run of other settings, and names what differs.
    fn same_as(&self, there: &Self, dir: &Path) -> Outcome {
        let ours = Self { extended: there.extended.clone(), ..self.clone() };
        // A run that is older than a setting means its default.
        let full = |plan: &Self| agents::complete(plan).map(|settings| Self { settings, ..plan.clone() });
        if ours == *there || matches!((full(&ours), full(there)), (Ok(a), Ok(b)) if a == b) {
            return Ok(());
        }
        let longer = Self { steps: self.steps, ..there.clone() };
        let (here, steps) = (dir.display(), self.steps);
        let advice = if ours == longer && steps > there.steps {
            format!("; `ive runs extend {here} --steps {steps}` makes it longer")
        } else {
            String::new()
        };
        Err(Failure::usage(format!(
            "{here} is a run with other settings ({}); choose another --run{advice}",
            there.compared_with(&ours)
        )))
    }

    /// What differs between two runs, `seed 1 → 2`.
    pub fn compared_with(&self, other: &Self) -> String {
        let json = |plan| serde_json::to_value(plan).unwrap_or_default();
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
