//! `ive eval`: the agent of a run plays, and says what it expects.

use std::path::PathBuf;

use clap::Args;
use ive::Members;
use ive_agents::evaluation::Survey;
use ive_agents::{Agent, Estimates, Manner};
use serde_json::{Value, json};

use crate::commands::score::{Tell, probability, shared};
use crate::count::count;
use crate::eval::episode::{Episode, play};
use crate::eval::guarding::GuardingArgs;
use crate::eval::{animation, detectors, members, ood, portrait, show};
use crate::exit::{Failure, Outcome};
use crate::output::{self, file, layout};
use crate::report::table::grouped;
use crate::run::{Plan, agents::failed, load, search::find};

/// Pixels a side of what is drawn of an environment that can be drawn in any size.
const PICTURE: usize = 128;

/// Arguments of `ive eval`.
#[derive(Args, Debug)]
#[command(after_help = "\
One episode is shown step by step: the action, the reward, the value by which the agent chose \
(unless that is μ-IVE), μ-IVE and σ-IVE (mean and standard deviation of the k-step values of that \
action along the plan), and the discounted return that followed. Several episodes get a line each. \
Without --seed the environments are those of the greedy episodes in the run's result.json. Runs \
that are still in training can be looked at, too: the newest checkpoint counts.

--members says over which k: 1..5 by default. k = 0 is left out, because a value prediction network \
never trains the value of the state it has just encoded; 0..5 adds it. Agents that do train it \
(Dreamer, or train_zero=true) show 0..5 by themselves.

--ood is the out-of-distribution test. It shows the agent corrupted states and says how well σ-IVE \
tells them from ordinary ones, beside σ/|μ| and the trivial detector \"low predicted value\", with \
intervals by episode; an agent with further scores of its own, such as Dreamer, is shown with them. \
Where episodes can start oddly (the walker: in the air, bent, fast), the first states of such episodes are \
told from those of ordinary ones, too. With --csv it writes the scores of every state, with --plot a picture.

--option and --corrupt put the agent under a shift. --guard watches it by a threshold of `ive \
calibrate` on the CSV of ordinary episodes: alarms are counted, and --fallback acts in place of the \
agent in states with an alarm (--lasting: from the first alarm to the end), --stop ends the episode.

Files are written completely or not at all. - or /dev/stdout as a FILE is standard output; the \
text then goes to standard error.

Examples:
  ive eval breakout-mu-ive-0                    one episode, step by step
  ive eval breakout-mu-ive-0 --plot episode.png --gif episode.gif
  ive eval runs/breakout-mu-ive-0 --episodes 100 --csv steps.csv
  ive eval runs/breakout-mu-ive-0 --members 0..5
  ive eval runs/breakout-dqn-0 --episodes 20 --epsilon 0.05 --json
  ive eval runs/breakout-mu-ive-0 --ood --csv scores.csv --plot ood.png
  ive eval breakout-mu-ive-0 --episodes 100 --csv ordinary.csv
  ive calibrate ordinary.csv --score sigma --rate 0.05 -o guard.json
  ive eval breakout-mu-ive-0 --episodes 50 --seed 9 --corrupt \"channels rolled\" --guard guard.json --fallback random

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
    /// Which members μ and σ are taken over [default: 1.. as far as the model was trained]
    #[arg(long, value_name = "K..K", value_parser = members::parse)]
    members: Option<Members>,
    /// Write all steps of all episodes, with every member of the ensemble; with --ood, the scores of every state
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the first episode: values and σ over time, and pictures of the game; with --ood, the detectors
    #[arg(long, value_name = "FILE.png")]
    plot: Option<PathBuf>,
    /// Write an animation of the first episode, with μ and σ below the board
    #[arg(long, value_name = "FILE.gif")]
    gif: Option<PathBuf>,
    /// Print JSON: a summary of each episode and of all
    #[arg(long)]
    json: bool,
    /// Out-of-distribution test: does σ notice corrupted states?
    #[arg(long, visible_alias = "strange", conflicts_with_all = ["episodes", "epsilon", "gif"])]
    ood: bool,
    #[command(flatten)]
    guarding: GuardingArgs,
    /// How many ordinary states are corrupted
    #[arg(long, requires = "ood", default_value_t = 512, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<u32>(2, 100_000))]
    states: u32,
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
    if args.ood {
        return out_of_distribution(args, &plan, agent.as_mut(), (seed, about), tell);
    }
    let discount = agent.summary().discount;
    let manner = Manner { epsilon: args.epsilon, members: args.members.clone(), ..Manner::default() };
    let mut manner = args.guarding.apply(&plan, manner)?;
    let several = args.episodes > 1;
    let mut episodes: Vec<Episode> = Vec::new();
    for number in 0..args.episodes as usize {
        let watch = number == 0 && (args.plot.is_some() || args.gif.is_some());
        manner.pictures = watch.then_some(PICTURE);
        let episode = play(agent.as_mut(), &plan.agent, seed, &manner, number)?;
        if !args.json && number == 0 {
            tell(&heading(&plan, agent.steps(), episode.members.as_ref()))?;
        }
        if !args.json && several {
            let head = if number == 0 { format!("\n{}\n", show::head(&episode)) } else { String::new() };
            tell(&format!("{head}{}\n", show::row(&episode)))?;
        }
        episodes.push(episode);
    }
    write_files(args, &episodes, &plan, agent.steps(), discount)?;
    if args.json {
        let members = episodes[0].members.as_ref().map(ToString::to_string);
        let how = json!({ "epsilon": manner.epsilon, "discount": discount, "members": members });
        return print_json(&[about, how, show::json(&episodes)]);
    }
    let means = format!("predicted and realised are means over the steps, γ = {discount}");
    if several {
        let lines = show::summary(&episodes);
        return tell(&format!("{lines}\n({} episodes; {means})\n", episodes.len()));
    }
    let (table, line) = (show::steps(&episodes[0]), show::line(&episodes[0]));
    tell(&format!("\n{table}\n{}({means})\n", paragraph(&line)))
}

/// A text in lines that fit the terminal.
fn paragraph(text: &str) -> String {
    layout::fold(text, output::width(), 0)
}

/// Refuses places for files before anything is played. Returns where the text goes: to stderr if a file takes stdout.
fn check_files(args: &EvalArgs) -> Outcome<Tell> {
    let files: [(&str, &Option<PathBuf>, &[&str]); 3] =
        [("--csv", &args.csv, &[]), ("--plot", &args.plot, &["png"]), ("--gif", &args.gif, &["gif"])];
    let mut to_stdout = Vec::new();
    for (flag, path, endings) in files {
        let Some(path) = path else { continue };
        file::check(flag, path, endings)?;
        if file::is_stdout(path) {
            to_stdout.push(flag);
        }
    }
    shared(to_stdout, args.json)
}

/// What is shown, and over which members.
fn heading(plan: &Plan, steps: u64, members: Option<&Members>) -> String {
    let Plan { agent, world, .. } = plan;
    let about = format!("{agent} in {world} {}.", training(plan, steps));
    paragraph(&about) + &paragraph(&(members::note(members, agent) + "."))
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

/// `mu-ive after 300 000 steps of training`.
fn trained(plan: &Plan, steps: u64) -> String {
    format!("{} after {} steps of training", plan.agent, grouped(steps))
}

fn write_files(args: &EvalArgs, episodes: &[Episode], plan: &Plan, steps: u64, discount: f64) -> Outcome {
    if let Some(path) = &args.csv {
        file::write(path, show::csv(episodes).as_bytes())?;
    }
    if let Some(path) = &args.plot {
        let occasion =
            portrait::Occasion { agent: &trained(plan, steps), environment: &plan.world, discount };
        file::write(path, &portrait::draw(&episodes[0], occasion)?)?;
    }
    if let Some(path) = &args.gif {
        file::write(path, &animation::gif(&episodes[0], animation::SCALE)?)?;
    }
    Ok(())
}

fn out_of_distribution(
    args: &EvalArgs,
    plan: &Plan,
    agent: &mut dyn Agent,
    (seed, about): (u64, Value),
    tell: Tell,
) -> Outcome {
    let (states, members) = (args.states as usize, args.members.as_ref());
    let refused = |e| failed(&plan.agent, e);
    let survey = Survey { members: args.members.clone(), ..Survey::new(states, seed) };
    let seen = agent.scores(&survey).map_err(refused)?;
    let report = ood::judge(&seen)?;
    let odd = plan.environment()?.odd_starts();
    let starts = if odd.is_empty() {
        None
    } else {
        let scored = agent.starts(&odd, states, seed, members).map_err(refused)?;
        let report = ood::judge(&scored)?;
        Some((scored, report))
    };
    if let Some(path) = &args.csv {
        let starts = starts.as_ref().map(|(scored, _)| scored);
        file::write(path, detectors::csv(&seen, starts).as_bytes())?;
    }
    if let Some(path) = &args.plot {
        let who = format!("{} in {}", trained(plan, agent.steps()), plan.world);
        let drawn = match &starts {
            Some((scored, report)) => {
                detectors::draw(scored, report, &who, "Does σ notice starts that no episode has?")?
            }
            None => detectors::draw(&seen, &report, &who, "Does σ notice boards that the game never shows?")?,
        };
        file::write(path, &drawn)?;
    }
    if args.json {
        let value =
            |report: &ood::Report| serde_json::to_value(report).map_err(|e| Failure::internal(e.to_string()));
        let starts = starts.map(|(_, report)| value(&report)).transpose()?;
        let starts = starts.map_or(Value::Null, |report| json!({ "starts": report }));
        return print_json(&[about, value(&report)?, starts]);
    }
    let members = seen.ordinary.scores.members.as_ref().and_then(|all| all.first());
    let head = heading(plan, agent.steps(), members.map(Estimates::ks));
    tell(&format!("{head}\n{}", detectors::table(&report, "corruption")))?;
    starts.map_or(Ok(()), |(_, report)| {
        let words =
            "The first eight states of episodes that start as none does, against those of ordinary episodes.";
        tell(&format!("\n{}\n{}", paragraph(words), detectors::table(&report, "start")))
    })
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
            device: "cpu".to_owned(),
            greedy_episodes: 100,
            extended: Vec::new(),
            agent: "mu-ive".to_owned(),
            world: "minatar:breakout".to_owned(),
            options: std::collections::BTreeMap::new(),
            seed: 0,
            steps: 30_000,
            settings: toml::Table::new(),
            schedule_steps: None,
        };
        let more = "after 30080 steps of training (30000 asked for; the last round is always completed)";
        assert_eq!(training(&plan, 30_080), more);
        assert_eq!(training(&plan, 10_080), "after 10080 of 30000 steps of training");
        plan.steps = 10_080;
        assert_eq!(training(&plan, 10_080), "after 10080 steps of training");
    }
}
