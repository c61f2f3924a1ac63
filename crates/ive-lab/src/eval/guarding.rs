//! Shifts under which an agent is made to play, and the guard that watches it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use ive_agents::Manner;
use ive_agents::evaluation::{Fallback, Guarded, Judges};

use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::refused;
use crate::signal::alarm::GuardFile;

/// What can be typed about it.
#[derive(Args, Clone, Debug)]
pub struct GuardingArgs {
    /// Play under a shift: another option of the environment, such as sticky=0.5; may be repeated
    #[arg(long = "option", short = 'o', value_name = "KEY=VALUE", conflicts_with = "ood")]
    options: Vec<String>,
    /// Corrupt everything that the agent sees, by the name that --ood shows, such as "channels rolled"
    #[arg(long, value_name = "NAME", conflicts_with = "ood")]
    corrupt: Option<String>,
    /// Raise alarms by a guard of `ive calibrate` (score sigma, or -mu for low values)
    #[arg(long, value_name = "FILE", conflicts_with = "ood")]
    guard: Option<PathBuf>,
    /// What is done at an alarm in place of the agent's action: the name of an action, or random
    #[arg(long, value_name = "ACTION", requires = "guard")]
    fallback: Option<String>,
    /// The fallback goes on to the end of the episode
    #[arg(long, requires = "fallback")]
    lasting: bool,
    /// Stop the episode at the first alarm
    #[arg(long, requires = "guard", conflicts_with = "fallback")]
    stop: bool,
}

impl GuardingArgs {
    /// The manner of playing with all of this.
    pub fn apply(&self, plan: &Plan, manner: Manner) -> Outcome<Manner> {
        let mut options = BTreeMap::new();
        for text in &self.options {
            let wrong = || Failure::usage(format!("--option: `{text}`: expected KEY=VALUE"));
            let (key, value) = text.split_once('=').ok_or_else(wrong)?;
            options.insert(key.to_owned(), value.to_owned());
        }
        let shifted = || plan.environment()?.changed(&options).map_err(refused);
        let environment = if options.is_empty() { None } else { Some(shifted()?) };
        Ok(Manner { environment, corruption: self.corrupt.clone(), guard: self.guarded()?, ..manner })
    }

    fn guarded(&self) -> Outcome<Option<Guarded>> {
        let Some(path) = &self.guard else { return Ok(None) };
        let file = GuardFile::read(path)?;
        let judges = match file.score.as_str() {
            "sigma" | "std" => Judges::Sigma,
            "-mu" | "-mean" | "-value" => Judges::LowValue,
            other => {
                let message = format!(
                    "--guard: {} judges `{other}`; agents have sigma and -mu (`ive eval --csv`, `ive calibrate --score sigma`)",
                    path.display()
                );
                return Err(Failure::usage(message));
            }
        };
        let fallback = self.fallback.as_ref().map(|name| match name.as_str() {
            "random" => Fallback::Random,
            name => Fallback::Action(name.to_owned()),
        });
        Ok(Some(Guarded { guard: file.guard, judges, fallback, lasting: self.lasting, stop: self.stop }))
    }
}
