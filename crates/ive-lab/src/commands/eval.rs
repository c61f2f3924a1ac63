//! `ive eval`: the agent of a run plays, and says what it expects.

use std::path::PathBuf;

use clap::Args;
use ive_agents::Agent;
use ive_envs::Environment;
use ive_envs::minatar::Game;
use serde_json::{Value, json};

use super::play::record::{Recorder, Recording};
use super::play::view::View;
use crate::count::count;
use crate::eval::episode::{Episode, Manner, member_set, play};
use crate::eval::{portrait, show, strange};
use crate::exit::{Failure, Outcome};
use crate::output::{self, file, layout};
use crate::run::{Plan, agents::worlds, load, search::find};

/// Arguments of `ive eval`.
#[derive(Args, Debug)]
#[command(after_help = "\
One episode is shown step by step: the action, the reward, the value by which the agent chose \
(unless that is μ-IVE), μ-IVE and σ-IVE (mean and standard deviation of the k-step values of that \
action along the plan), and the discounted return that followed. Several episodes get a line each. \
Without --seed the environments are those of the greedy episodes in the run's result.json. Runs \
that are still in training can be looked at, too: the newest checkpoint counts.

Files are written completely or not at all. - or /dev/stdout as a FILE is standard output; the \
text then goes to standard error.

--strange shows the agent states out of distribution and says how well σ-IVE tells them from \
ordinary ones, beside the trivial detector \"low predicted value\". Differences below about 0.03 \
mean little with 512 states.

Examples:
  ive eval breakout-mu-ive-0                    one episode, step by step
  ive eval breakout-mu-ive-0 --plot episode.png --gif episode.gif
  ive eval runs/breakout-mu-ive-0 --episodes 100 --csv steps.csv
  ive eval runs/breakout-dqn-0 --episodes 20 --epsilon 0.05 --json
  ive eval runs/breakout-mu-ive-0 --strange

Exit codes: 0 done, 64 usage, 65 corrupt data, 70 internal or not finite, \
74 input or output.")]
pub struct EvalArgs {
    /// The run: its directory, or its name in `runs` or `ive-out`
    run: PathBuf,
    /// How many episodes
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<u32>(1, 100_000))]
    episodes: u32,
    /// The seed of environments and random actions [default: that of the run]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = count::<u64>(0, u64::MAX))]
    seed: Option<u64>,
    /// The probability of a random action; value, μ and σ then still are those of the greedy one
    #[arg(long, default_value = "0", value_name = "E", value_parser = probability)]
    epsilon: f64,
    /// Write all steps of all episodes, with every member of the ensemble
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the first episode: values and σ over time, and pictures of the game
    #[arg(long, value_name = "FILE.png")]
    plot: Option<PathBuf>,
    /// Write an animation of the first episode
    #[arg(long, value_name = "FILE.gif")]
    gif: Option<PathBuf>,
    /// Print JSON: a summary of each episode and of all
    #[arg(long)]
    json: bool,
    /// Do not play: does σ notice states out of distribution?
    #[arg(long, conflicts_with_all = ["episodes", "epsilon", "csv", "plot", "gif"])]
    strange: bool,
    /// How many ordinary states are corrupted
    #[arg(long, requires = "strange", default_value_t = 512, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<u32>(2, 100_000))]
    states: u32,
}

fn probability(text: &str) -> Result<f64, String> {
    let p = text.parse().map_err(|_| "expected a number between 0 and 1".to_owned())?;
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(format!("{p} is not between 0 and 1")) }
}

/// Runs the command.
pub fn run(args: &EvalArgs) -> Outcome {
    let tell = check_files(args)?;
    let dir = find(&args.run)?;
    let (plan, mut agent) = load(&dir)?;
    let seed = args.seed.unwrap_or(plan.seed);
    let about = json!({
        "run": dir.display().to_string(), "agent": plan.agent, "world": plan.world, "step": agent.steps(), "seed": seed,
    });
    if args.strange {
        return look_for_strange(args, &plan, agent.as_mut(), seed, about);
    }
    let manner = Manner { seed, epsilon: args.epsilon, discount: discount(&plan)? };
    let several = args.episodes > 1;
    let actions = worlds(&plan)?(0).spec().actions.clone();
    let mut episodes: Vec<Episode> = Vec::new();
    for number in 0..args.episodes as usize {
        let watch = number == 0 && (args.plot.is_some() || args.gif.is_some());
        let episode = play(agent.as_mut(), &plan, manner, number, watch)?;
        if !args.json && number == 0 {
            tell(&heading(&plan, agent.steps(), &episode))?;
        }
        if !args.json && several {
            tell(&show::row(&episode, number == 0))?;
        }
        episodes.push(episode);
    }
    let title = format!("{} in {} after {} steps of training", plan.agent, plan.world, agent.steps());
    write_files(args, &episodes, &actions, &plan, &title, manner.discount)?;
    if args.json {
        let members = member_set(episodes[0].members()).map(|set| set.to_string());
        let how = json!({ "epsilon": manner.epsilon, "discount": manner.discount, "members": members });
        return print_json(&[about, how, show::json(&episodes)]);
    }
    let means = format!("(predicted and realised are means over the steps, γ = {})\n", manner.discount);
    if several {
        return tell(&(show::summary(&episodes) + &means));
    }
    let (table, line) = (show::steps(&episodes[0], &actions), show::line(&episodes[0]));
    tell(&format!("\n{table}\n{}{means}", layout::fold(&line, output::width(), 2)))
}

/// Says something to the user.
type Tell = fn(&str) -> Outcome;

/// Refuses places for files before anything is played. Returns where the text goes: to stderr if a file takes stdout.
fn check_files(args: &EvalArgs) -> Outcome<Tell> {
    let files =
        [("--csv", &args.csv, None), ("--plot", &args.plot, Some("png")), ("--gif", &args.gif, Some("gif"))];
    let mut to_stdout = Vec::new();
    for (flag, path, ending) in files {
        let Some(path) = path else { continue };
        file::check(flag, path, ending)?;
        if file::is_stdout(path) {
            to_stdout.push(flag);
        }
    }
    if args.json && !to_stdout.is_empty() {
        to_stdout.push("--json");
    }
    match to_stdout.as_slice() {
        [] => Ok(output::print),
        [_] => Ok(|text| {
            output::say(text.trim_end_matches('\n'));
            Ok(())
        }),
        several => Err(Failure::usage(format!("{} cannot share standard output", several.join(" and ")))),
    }
}

/// What is shown, and over which members.
fn heading(plan: &Plan, steps: u64, episode: &Episode) -> String {
    let Plan { agent, world, .. } = plan;
    let note = show::members_note(episode.members(), agent);
    layout::fold(&format!("{agent} in {world} {}; {note}", training(plan, steps)), output::width(), 2)
}

/// How far training is, `after 30080 steps of training (30000 asked for; rounds are completed)`.
fn training(plan: &Plan, steps: u64) -> String {
    match plan.steps {
        asked if steps > asked => {
            format!("after {steps} steps of training ({asked} asked for; the last round is always completed)")
        }
        asked if steps < asked => format!("after {steps} of {asked} steps of training"),
        _ => format!("after {steps} steps of training"),
    }
}

/// γ, which every agent has among its settings.
fn discount(plan: &Plan) -> Outcome<f64> {
    let value = plan.settings.get("discount");
    let number = value.and_then(|v| v.as_float().or_else(|| v.as_integer().map(|n| n as f64)));
    number.ok_or_else(|| Failure::config(format!("{}: the run has no setting `discount`", plan.agent)))
}

fn write_files(
    args: &EvalArgs,
    episodes: &[Episode],
    actions: &[&str],
    plan: &Plan,
    title: &str,
    discount: f64,
) -> Outcome {
    let game = || {
        let game = plan.world.strip_prefix("minatar:").and_then(Game::from_name);
        game.ok_or_else(|| Failure::usage(format!("there are no pictures of {}", plan.world)))
    };
    if let Some(path) = &args.csv {
        file::write(path, show::csv(episodes, actions).as_bytes())?;
    }
    if let Some(path) = &args.plot {
        file::write(path, &portrait::draw(&episodes[0], game()?, title, discount)?)?;
    }
    if let Some(path) = &args.gif {
        let recording = Recording { gif: Some(path.clone()), fps: 8, ..Recording::default() };
        let mut recorder = Recorder::new(View::of(&plan.world)?, recording)?;
        episodes[0].sights.iter().try_for_each(|sight| recorder.add(sight))?;
        recorder.finish()?;
    }
    Ok(())
}

fn look_for_strange(args: &EvalArgs, plan: &Plan, agent: &mut dyn Agent, seed: u64, about: Value) -> Outcome {
    let report = strange::detect(agent, &worlds(plan)?, args.states as usize, seed)?;
    if args.json {
        let report = serde_json::to_value(&report).map_err(|e| Failure::internal(e.to_string()))?;
        return print_json(&[about, report]);
    }
    let over = report.members.as_ref().map_or_else(
        || show::members_note(0, &plan.agent),
        |set| format!("σ-IVE and μ-IVE over the members {set} along the plan"),
    );
    let about = format!("{} in {} {}; {over}", plan.agent, plan.world, training(plan, agent.steps()));
    let about = layout::fold(&about, output::width(), 2);
    output::print(&format!("{about}\n{}", layout::fold(&show::strange(&report), output::width(), 0)))
}

/// Prints the fields of some objects as one.
fn print_json(parts: &[Value]) -> Outcome {
    let fields = parts.iter().filter_map(Value::as_object).flatten();
    let all: serde_json::Map<String, Value> = fields.map(|(k, v)| (k.clone(), v.clone())).collect();
    output::json(&Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_steps_than_asked_for_are_explained() {
        let mut plan = Plan {
            agent: "mu-ive".to_owned(),
            world: "minatar:breakout".to_owned(),
            options: std::collections::BTreeMap::new(),
            seed: 0,
            steps: 30_000,
            settings: toml::Table::new(),
        };
        let more = "after 30080 steps of training (30000 asked for; the last round is always completed)";
        assert_eq!(training(&plan, 30_080), more);
        assert_eq!(training(&plan, 10_080), "after 10080 of 30000 steps of training");
        plan.steps = 10_080;
        assert_eq!(training(&plan, 10_080), "after 10080 steps of training");
    }
}
