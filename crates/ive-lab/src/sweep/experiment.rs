//! Every run of an experiment as the tasks of a sweep, and back: the tables and verdicts of an experiment from a sweep.
//!
//! The runs lie where `ive reproduce --out DIR` looks for them, so that nothing has to be copied.

use super::manifest::{Draft, Experiment, Sweep};
use super::task::Task;
use crate::exit::{Failure, Outcome};
use crate::experiments::{self, EXPERIMENTS, Plan};
use crate::settings::Layers;

/// All runs of an experiment.
pub fn draft(plan: &Plan) -> Outcome<Draft> {
    let (runs, word) = (plan.runs()?, plan.experiment.name);
    if runs.is_empty() {
        return Err(Failure::usage(format!(
            "{word} takes minutes and has no runs to distribute; `ive reproduce {word}` makes it here"
        )));
    }
    let experiment = Experiment { name: word.to_owned(), settings: plan.settings()? };
    let mut draft = Draft { experiment: Some(experiment), tasks: runs.len() as u64, ..Draft::default() };
    for (index, (name, run)) in runs.into_iter().enumerate() {
        let dir = format!("{word}/runs/{name}");
        draft.lines += &Task::new(index as u64, name, dir, run)?.line()?;
    }
    Ok(draft)
}

/// The experiment whose runs a sweep has, with the settings that it was planned with.
pub fn plan(sweep: &Sweep) -> Outcome<Plan> {
    let here = sweep.dir.display();
    let none = || {
        Failure::usage(format!(
            "{here} is a sweep of single runs, not of an experiment; `ive sweep gather` makes a table"
        ))
    };
    let Experiment { name, settings } = sweep.manifest.experiment.as_ref().ok_or_else(none)?;
    let odd = |what: String| Failure::data(format!("{here}: its experiment, {name}: {what}"));
    let experiment: &experiments::Experiment = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == name)
        .ok_or_else(|| odd("there is none of this name".to_owned()))?;
    let settings = toml::Table::try_from(settings).map_err(|e| odd(e.to_string()))?;
    Plan::new(experiment, Layers::from_preset(experiment.name, &settings.to_string())?, &[], None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Preset;

    fn asked(name: &str, seeds: Option<u64>) -> Plan {
        let experiment = experiments::Experiment::parse(name).unwrap()[0];
        Plan::new(experiment, experiment.layers(Preset::Smoke).unwrap(), &[], seeds).unwrap()
    }

    #[test]
    fn an_experiment_survives_the_way_through_a_sweep() {
        for name in ["minatar", "procgen", "trials", "walker"] {
            let dir = tempfile::tempdir().unwrap();
            let asked = asked(name, Some(2));
            let (sweep, _) = Sweep::plan(dir.path(), &draft(&asked).unwrap()).unwrap();
            assert!(sweep.manifest.tasks > 1);
            assert_eq!(plan(&sweep).unwrap().settings().unwrap(), asked.settings().unwrap());
            let mut tasks = sweep.tasks().unwrap().map(Result::unwrap);
            assert!(tasks.all(|task| task.dir == format!("{name}/runs/{}", task.name)));
        }
        assert!(draft(&asked("toy", None)).unwrap_err().message.contains("ive reproduce toy"));
    }
}
