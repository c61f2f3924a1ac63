//! `ive train`: from the command line to a finished run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout};
use crate::progress::Session;
use crate::run::agents::{AGENTS, Kind, Request, resolve};
use crate::run::{Finished, Plan, RESULT, RunOptions, complete, status::Status};
use crate::settings::Change;

/// What comes after the options in `--help`: the agents, from their table.
fn after_help() -> String {
    let agent = |kind: &Kind| {
        let also = if kind.aliases.is_empty() {
            String::new()
        } else {
            format!(" (also: {})", kind.aliases.join(", "))
        };
        layout::fold(&format!("  {:<8} {}{also}", kind.name, kind.summary), 80, 11)
    };
    let agents: String = AGENTS.iter().map(agent).collect();
    format!("Agents:\n{agents}\n{AFTER_AGENTS}")
}

const AFTER_AGENTS: &str = "\
Presets: default and smoke (takes seconds) for all; paper-literal for dqn and the vpn agents, paper \
for muesli (as far as the settings were published); pixels for dreamer.

Examples:
  ive train dqn --env minatar:breakout
  ive train mu-ive --env minatar:asterix --steps 5e5 --set learning_rate=1e-4
  ive train vpn-v1 --env minatar:seaquest -o sticky=0 --run ive-out/seaquest
  ive train muesli --env procgen:fruitbot -o mode=easy -o levels=10
  ive train dqn --env minatar:breakout --dry-run     only show the settings

A run is a directory: settings, metrics (also for TensorBoard), checkpoints, result. Ctrl-C, SIGTERM \
and SIGUSR1 finish the round, save, and exit with code 75; the same command, or `ive runs resume \
RUN`, resumes it. Even after a kill the result is bit-identical to that of an uninterrupted run.

Exit codes: 0 done, 64 usage, 65 corrupt data, 70 internal or not finite, 73 busy, 74 input or \
output, 75 interrupted, 78 settings.";

/// Arguments of `ive train`.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct TrainArgs {
    /// The agent
    agent: String,
    /// The environment, such as minatar:breakout (`ive env list` names all)
    #[arg(long = "env", value_name = "ENV")]
    world: String,
    /// An option of the environment (`ive env show` names all); may be repeated
    #[arg(long = "option", short = 'o', value_name = "KEY=VALUE", value_parser = option)]
    options: Vec<(String, String)>,
    /// Which settings to start from
    #[arg(long, default_value = "default")]
    preset: String,
    /// How many environment steps, such as 2e6 or 2_000_000 [default: as the preset says]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<u64>(1, i64::MAX as u64))]
    steps: Option<u64>,
    /// The seed from which all randomness comes
    #[arg(long, default_value_t = 0, value_name = "S", allow_negative_numbers = true,
          value_parser = count::<u64>(0, i64::MAX as u64))]
    seed: u64,
    /// The run directory [default: runs/GAME-AGENT-SEED]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Change a setting; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = Change::parse)]
    changes: Vec<Change>,
    /// Settings file (TOML) with a table per agent, such as [dqn]; lies between the preset and --set
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The device for gradients: cpu (hand-written), engine (the tensor engine on the CPU), or a graphics device of this build
    #[arg(long, default_value = "cpu")]
    device: String,
    #[command(flatten)]
    carrying_out: CarryingOut,
    /// How many greedy episodes are played at the end
    #[arg(long, default_value_t = 100, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<usize>(0, u64::MAX))]
    greedy_episodes: usize,
    /// Print the resolved settings and stop
    #[arg(long)]
    dry_run: bool,
}

/// What does not change the result.
#[derive(Args, Debug)]
pub struct CarryingOut {
    /// Seconds between checkpoints; 0 for one after every round. The first comes after five seconds at most
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    pub checkpoint_every: Duration,
    /// Print the result as JSON, and no progress
    #[arg(long)]
    pub json: bool,
}

fn option(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected key=value, for example sticky=0")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Reads a number of seconds, for the command line.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Outcome {
    let plan = resolve(&Request {
        agent: &args.agent,
        preset: &args.preset,
        world: &args.world,
        options: args.options.iter().cloned().collect::<BTreeMap<_, _>>(),
        seed: args.seed,
        steps: args.steps,
        file: args.config.as_deref(),
        changes: &args.changes,
        device: Some(&args.device),
        greedy_episodes: Some(args.greedy_episodes),
        points: 50,
    })?;
    let dir = args.run.clone().unwrap_or_else(|| default_dir(&plan));
    if args.dry_run {
        return output::print(&format!("# {}\n\n{}", dir.display(), plan.table()?));
    }
    carry_out(&dir, &plan, &args.carrying_out)
}

fn default_dir(plan: &Plan) -> PathBuf {
    let game = plan.world.rsplit(':').next().unwrap_or(&plan.world);
    Path::new("runs").join(format!("{game}-{}-{}", plan.agent, plan.seed))
}

/// Works on a run until it is finished or somebody asks to stop, and shows the result.
pub fn carry_out(dir: &Path, plan: &Plan, how: &CarryingOut) -> Outcome {
    let options = RunOptions { checkpoint_every: how.checkpoint_every, ..RunOptions::default() };
    let session = Session::start(how.json)?;
    let done_before = dir.join(RESULT).exists();
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |n| n.display().to_string());
    let progress = session.run_bar(&name, plan.steps);
    let Some(finished) = complete(dir, plan, &options, &session, &progress)? else {
        let (here, step) = (dir.display(), Status::of(dir).step);
        let at = if step < plan.steps { "" } else { ", in the greedy episodes" };
        return Err(Failure::interrupted(format!(
            "stopped at step {step} of {}{at}, everything is saved; resume with: ive runs resume {here}",
            plan.steps
        )));
    };
    if done_before {
        session.say(&format!("{} is finished already", dir.display()));
    }
    if how.json {
        let json = serde_json::to_value(&finished).map_err(|e| Failure::internal(e.to_string()))?;
        return output::json(&json);
    }
    output::print(&format!("{}\nresult: {}\n", summary(&finished), dir.join(RESULT).display()))
}

/// What came out, in a few lines.
pub fn summary(finished: &Finished) -> String {
    let Finished { agent, world, seed, steps, return_100, greedy, .. } = finished;
    let mut text = format!("{agent} in {world}, seed {seed}, {steps} steps");
    if let Some(mean) = return_100 {
        text += &format!("\nreturn {mean:.2}, mean of the last 100 training episodes");
    }
    if !greedy.is_empty() {
        let (mean, error) = ive::mean_and_error(greedy);
        // One episode has no error.
        let error = if error.is_finite() { format!(" ± {error:.2}") } else { String::new() };
        let n = greedy.len();
        text += &format!("\nreturn {mean:.2}{error}, mean and standard error of {n} greedy episodes");
    }
    text
}
