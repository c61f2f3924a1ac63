//! `ive env trace`: every step of a run, in a form that other implementations can be compared with.

use super::{EnvironmentArgs, walker};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::run::agents::refused;
use clap::Args;
use ive::Rng;
use ive_envs::procgen::{ACTIONS, Game, Options, Procgen};
use ive_envs::registry::{self, ActionKind};
use ive_envs::{ByteEnvironment, Environment, StepKind, fnv1a};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
#[command(after_help = "\
Each line holds the step, the action passed in, the reward, whether the episode ended, and the \
64-bit FNV-1a hash of the observation: one byte per entry, in the order row, column, channel. A new \
episode begins after every end.

Procgen has a line per step and environment: step, environment, action, reward, whether the \
observation is the first of an episode (the reward then belongs to the one before), the number of \
the level, and the hash of the 64 × 64 × 3 bytes.

The walker has a line per agent step: step, reward, whether the episode was cut off, and the nine \
positions and nine velocities after the step as the 16 hexadecimal digits of their bits; with \
-o observation=pixels also the hash of the picture. Numbers in files are decimal, or 0x and those \
16 digits.

Examples:
  ive env trace minatar:breakout --rng numpy --seed 3 --steps 1000
  ive env trace minatar:seaquest --rng numpy --actions moves.txt --json
  ive env trace minatar:seaquest -o oxygen_flash=on --steps 500
  ive env trace procgen:coinrun -o mode=easy -o levels=500 --envs 8 --steps 600
  ive env trace walker:walk -o repeat=1 -o rng=numpy --actions moves.txt --json
  ive env trace walker:run -o threshold=0.3 --qpos pose.txt --actions zero")]
pub(super) struct TraceArgs {
    #[command(flatten)]
    pub(super) world: EnvironmentArgs,
    /// A file with one action number per line (step by step, one for each environment; walker: six numbers a line), or
    /// `random`; walker: also `zero`.
    #[arg(long, default_value = "random", value_name = "FILE|random|zero")]
    pub(super) actions: String,
    /// How many steps, at most ten million [default: all of the file, or 1000].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<usize>(1, 10_000_000))]
    pub(super) steps: Option<usize>,
    /// Walker: a file with the nine positions in which episodes start [default: at random].
    #[arg(long, value_name = "FILE")]
    pub(super) qpos: Option<PathBuf>,
    /// Procgen: how many environments [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<usize>(1, 65_536))]
    envs: Option<usize>,
    /// Procgen: on how many threads; it changes nothing but the time [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<usize>(1, 1024))]
    threads: Option<usize>,
    /// One JSON object per line.
    #[arg(long)]
    pub(super) json: bool,
}

impl TraceArgs {
    /// Makes the environment and prints what happens in it; the inner error is that of printing.
    pub(super) fn run(&self, out: &mut impl Write) -> Outcome<io::Result<()>> {
        let entry = registry::find(&self.world.name).map_err(refused)?;
        let procgen = entry.name.strip_prefix("procgen:").and_then(Game::from_name);
        if procgen.is_none() && (self.envs.is_some() || self.threads.is_some()) {
            return Err(Failure::usage("--envs and --threads are for Procgen only"));
        }
        if entry.action_kind == ActionKind::Continuous {
            return walker::trace(self, out);
        }
        if self.qpos.is_some() || self.actions == "zero" {
            return Err(Failure::usage("--qpos and --actions zero are for the walker only"));
        }
        if let Some(game) = procgen {
            let mut games = self.procgen(game)?;
            let actions = self.actions(ACTIONS.len(), games.num_envs())?;
            return Ok(trace_procgen(out, &mut games, &actions, self.json));
        }
        let mut world = self.world.make()?;
        let actions = self.actions(world.spec().actions.len(), 1)?;
        Ok(trace(out, &mut world, &actions, self.json))
    }

    /// The environments of Procgen that were asked for.
    fn procgen(&self, game: Game) -> Outcome<Procgen> {
        let mut options = Options::default();
        for (key, value) in self.world.options()? {
            options.set(&key, &value).map_err(refused)?;
        }
        let (envs, threads) = (self.envs.unwrap_or(1), self.threads.unwrap_or(1));
        let games = Procgen::new(game, &options, envs, threads, self.world.seed);
        games.map_err(refused)
    }

    /// As many actions as there are steps, for each environment.
    fn actions(&self, num_actions: usize, envs: usize) -> Outcome<Vec<usize>> {
        if self.actions == "random" {
            // A stream of its own: the environment's draws do not depend on the policy.
            let mut rng = Rng::from_seed(self.world.seed).fold_in(1);
            let needed = self.steps.unwrap_or(1000).saturating_mul(envs);
            return Ok((0..needed).map(|_| rng.below(num_actions)).collect());
        }
        let path = Path::new(&self.actions);
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::io(format!("cannot read {}: {error}", path.display())))?;
        let mut actions = parse_actions(&text, num_actions)
            .map_err(|(line, what)| Failure::data(format!("{}:{line}: {what}", path.display())))?;
        let needed = self.steps.unwrap_or(actions.len() / envs).saturating_mul(envs);
        if actions.len() < needed {
            let (got, last) = (actions.len(), actions.len() + 1);
            let path = path.display();
            return Err(Failure::data(format!(
                "{path}:{last}: the file ends after {got} actions, {needed} are needed"
            )));
        }
        actions.truncate(needed);
        Ok(actions)
    }
}

/// One action number per line; on failure the line and what is wrong with it.
fn parse_actions(text: &str, num_actions: usize) -> Result<Vec<usize>, (usize, String)> {
    let parse = |(i, line): (usize, &str)| match line.trim().parse::<usize>() {
        Err(_) => Err((i + 1, format!("`{}` is not an action number", line.trim()))),
        Ok(action) if action >= num_actions => {
            Err((i + 1, format!("action {action} does not exist: there are 0 to {}", num_actions - 1)))
        }
        Ok(action) => Ok(action),
    };
    text.lines().enumerate().map(parse).collect()
}

fn trace(out: &mut impl Write, world: &mut ByteEnvironment, actions: &[usize], json: bool) -> io::Result<()> {
    let mut observation = vec![0; world.spec().observation_len()];
    let refused = |error| io::Error::other(format!("the environment refused a step: {error}"));
    world.reset_into(&mut observation).map_err(refused)?;
    for (i, &action) in actions.iter().enumerate() {
        let step = world.step_into(action, &mut observation).map_err(refused)?;
        let (number, hash, terminal) = (i + 1, fnv1a(&observation), step.kind == StepKind::Terminated);
        let reward = step.reward;
        if json {
            writeln!(
                out,
                r#"{{"step":{number},"action":{action},"reward":{reward},"terminal":{terminal},"hash":"{hash:016x}"}}"#
            )?;
        } else {
            writeln!(out, "{number:>8}  action {action}  reward {reward:>2}  {terminal:<5}  {hash:016x}")?;
        }
        if terminal {
            world.reset_into(&mut observation).map_err(refused)?;
        }
    }
    Ok(())
}

fn trace_procgen(out: &mut impl Write, games: &mut Procgen, actions: &[usize], json: bool) -> io::Result<()> {
    let envs = games.num_envs();
    for (t, actions) in actions.chunks_exact(envs).enumerate() {
        let now = games.step(actions).map_err(|error| io::Error::other(error.to_string()))?;
        for (i, picture) in now.observations.chunks_exact(now.observations.len() / envs).enumerate() {
            let (step, action, hash) = (t + 1, actions[i], fnv1a(picture));
            let (reward, first, level) = (now.rewards[i], now.firsts[i] != 0, now.level_seeds[i]);
            if json {
                writeln!(
                    out,
                    r#"{{"step":{step},"env":{i},"action":{action},"reward":{reward},"first":{first},"level_seed":{level},"hash":"{hash:016x}"}}"#
                )?;
            } else {
                writeln!(
                    out,
                    "{step:>8}  env {i:>3}  action {action:>2}  reward {reward:>5}  {first:<5}  level {level:>10}  {hash:016x}"
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_numbers_that_exist() {
        assert_eq!(parse_actions("0\n 5 \n3\n", 6), Ok(vec![0, 5, 3]));
        assert_eq!(parse_actions("0\nx\n", 6), Err((2, "`x` is not an action number".into())));
        assert_eq!(parse_actions("0\n1\n6", 6), Err((3, "action 6 does not exist: there are 0 to 5".into())));
        assert_eq!(parse_actions("-1", 6), Err((1, "`-1` is not an action number".into())));
        assert_eq!(parse_actions("1\n\n2", 6), Err((2, "`` is not an action number".into())));
    }
}
