//! About how long a sweep takes, from past runs of the same agents in the same environments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::manifest::{MARK, Sweep};
use crate::exit::Outcome;
use crate::run::Plan;
use crate::run::search::{ROOTS, below};
use crate::run::sessions;

/// Seconds and steps of past runs, by agent and environment.
type Past = BTreeMap<(String, String), (f64, u64)>;

/// What is known of a sweep beforehand.
#[derive(Debug, Default, PartialEq)]
pub struct Estimate {
    /// Processor hours of the tasks about which something is known.
    pub hours: f64,
    /// How many these are.
    pub known: u64,
    /// From how many past runs.
    pub runs: usize,
}

/// Judges by the runs in the usual places, and by the sweeps beside this one.
pub fn of(sweep: &Sweep) -> Outcome<Estimate> {
    // A path of one part lies in the working directory.
    let parent =
        sweep.dir.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let beside = parent.map(std::fs::read_dir).and_then(Result::ok);
    let beside = beside.into_iter().flatten().flatten().map(|entry| entry.path());
    let sweeps = beside.filter(|path| path.join(MARK).exists());
    let usual = ROOTS.iter().map(PathBuf::from).filter(|root| root.exists());
    let mut roots: Vec<PathBuf> = usual.chain(sweeps).collect();
    // A sweep may lie in one of the usual places.
    let all = roots.clone();
    roots.retain(|root| !all.iter().any(|other| other != root && root.starts_with(other)));
    from(sweep, &roots)
}

fn from(sweep: &Sweep, roots: &[PathBuf]) -> Outcome<Estimate> {
    let (mut past, mut estimate) = (Past::new(), Estimate::default());
    for run in roots.iter().map(|root| below(root)).collect::<Outcome<Vec<_>>>()?.concat() {
        let Ok(plan) = Plan::read(&run) else { continue };
        let sessions = sessions::read(&run);
        let steps: u64 = sessions.iter().map(|one| one.to_step.saturating_sub(one.from_step)).sum();
        let seconds: f64 = sessions.iter().map(|one| one.cpu_seconds).sum();
        if steps > 0 && seconds > 0.0 {
            let entry = past.entry((plan.agent, plan.world)).or_default();
            *entry = (entry.0 + seconds, entry.1 + steps);
            estimate.runs += 1;
        }
    }
    for task in sweep.headlines()?.take_while(|_| !past.is_empty()) {
        let work = task?.run;
        if let Some((seconds, steps)) = past.get(&(work.agent, work.world)) {
            estimate.hours += seconds / *steps as f64 * work.steps as f64 / 3600.0;
            estimate.known += 1;
        }
    }
    Ok(estimate)
}

impl Estimate {
    /// In words.
    pub fn words(&self, tasks: u64) -> String {
        let (known, runs) = (self.known, self.runs);
        if known == 0 {
            return "how long it takes is not known: there are no past runs of these agents in these environments here"
                .to_owned();
        }
        let rest = if known < tasks { format!(" for {known} of the {tasks} tasks") } else { String::new() };
        format!("about {} of processor time{rest}, judging by {runs} past runs here", hours(self.hours))
    }
}

/// `3.2 hours`, `14 minutes`.
pub fn hours(hours: f64) -> String {
    match hours {
        h if h >= 48.0 => format!("{:.1} days", h / 24.0),
        h if h >= 1.0 => format!("{h:.1} hours"),
        h if h >= 1.0 / 60.0 => format!("{:.0} minutes", h * 60.0),
        h => format!("{:.0} seconds", h * 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::tests::draft;
    use super::super::task::tests::task;
    use super::*;

    /// By hand: a past run of 1000 steps in 18 s of processor time, three tasks of 2000 steps: 3 · 36 s.
    #[test]
    fn time_follows_from_steps_and_past_runs() {
        let dir = tempfile::tempdir().unwrap();
        let (sweep, _) = Sweep::plan(&dir.path().join("sweep"), &draft(3)).unwrap();
        let past = dir.path().join("past");
        assert_eq!(from(&sweep, &[]).unwrap(), Estimate::default());
        std::fs::create_dir_all(past.join("one")).unwrap();
        std::fs::write(past.join("one/config.toml"), task(0, 9).run.text().unwrap()).unwrap();
        let line = "{\"began\":0,\"host\":\"h\",\"cpu\":null,\"process\":1,\"program\":\"p\",\"from_step\":500,\"to_step\":1500,\
                    \"wall_seconds\":99.0,\"cpu_seconds\":18.0,\"end\":\"finished\"}\n";
        std::fs::write(past.join("one/sessions.jsonl"), line).unwrap();
        let estimate = from(&sweep, &[past]).unwrap();
        assert!(
            (estimate.hours - 0.03).abs() < 1e-12 && estimate.known == 3 && estimate.runs == 1,
            "{estimate:?}"
        );
        assert_eq!(estimate.words(3), "about 2 minutes of processor time, judging by 1 past runs here");
        assert!(estimate.words(4).contains("for 3 of the 4 tasks"));
        assert_eq!([0.005, 0.5, 1.5, 72.0].map(hours), ["18 seconds", "30 minutes", "1.5 hours", "3.0 days"]);
    }
}
