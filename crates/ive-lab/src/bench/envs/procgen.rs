//! Procgen beside the Python package on the same library and beside EnvPool.
//!
//! All of them spend their time in the same games, so the differences are small, and on a busy machine smaller than what
//! other work does to a measurement. Therefore ours and the peers take turns, block by block: the ratio is the median over
//! the blocks, and the rate that of the best block. The Python package plays the same games with the same actions.

use super::{EnvsArgs, thousands};
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use cpu_time::ProcessTime;
use ive_envs::procgen::{Game, Mode, Options, Procgen};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The games of the paper, which are measured unless others are named.
pub(super) const USUAL: [Game; 5] =
    [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];

/// Blocks per repetition, and steps of a block.
const BLOCKS: u32 = 8;
const STEPS: usize = 64;

const PEERS: &str = include_str!("../peers/procgen.py");

/// Measures the games and prints a table.
pub(super) fn run(games: &[Game], args: &EnvsArgs) -> Outcome {
    let envs = args.batch.unwrap_or(64) as usize;
    if !args.json {
        let title = format!("steps per CPU-second, one thread, {envs} environments, easy, all levels");
        let about = format!("\n{title}, best of {} blocks; ratios are medians\n", args.repeats * BLOCKS);
        let head = format!(
            "{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "game", "ive", "Python", "EnvPool", "ratio", "ratio"
        );
        stream(&format!("{}\n{head}\n", layout::fold(&about, output::width(), 0)))?;
    }
    let mut alone = true;
    for &game in games {
        let [ours, python, envpool] = measure(game, envs, args)?;
        alone &= python.is_empty() && envpool.is_empty();
        let rate = |seconds: &[f64]| {
            let best = seconds.iter().copied().reduce(f64::min);
            best.map(|best| (STEPS * envs) as f64 / best)
        };
        let [rates, ratios] = [[rate(&python), rate(&envpool)], [&python, &envpool].map(|p| ratio(p, &ours))];
        let (name, ours) = (format!("procgen:{}", game.name()), rate(&ours).unwrap_or(0.0));
        if args.json {
            let line = serde_json::json!({
                "game": name, "batch": envs, "repeats": args.repeats, "unit": "steps per CPU-second", "ive": ours,
                "python": rates[0], "envpool": rates[1], "python_ratio": ratios[0], "envpool_ratio": ratios[1],
            });
            stream(&format!("{line}\n"))?;
        } else {
            let [python, envpool] = rates.map(|rate| rate.map_or("–".into(), tenths));
            let [a, b] = ratios.map(|ratio| ratio.map_or("–".into(), |ratio| format!("{ratio:.2}×")));
            stream(&format!("{name:<18}{:>10}{python:>10}{envpool:>10}{a:>10}{b:>10}\n", tenths(ours)))?;
        }
    }
    if alone && !args.json {
        let python = &args.python;
        let text = format!(
            "\nNo peer was found by `{python}`: pip install procgen==0.10.7 envpool, or --python PATH."
        );
        stream(&layout::fold(&text, output::width(), 0))?;
    }
    Ok(())
}

/// How many times as long the peer takes: the median over the blocks.
fn ratio(theirs: &[f64], ours: &[f64]) -> Option<f64> {
    let mut ratios: Vec<f64> = theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// The rate with a digit more than for MinAtar.
fn tenths(rate: f64) -> String {
    if rate < 1e5 { format!("{:.1}k", rate / 1e3) } else { thousands(rate) }
}

/// CPU seconds of every block: ours, the Python package's, EnvPool's.
fn measure(game: Game, envs: usize, args: &EnvsArgs) -> Outcome<[Vec<f64>; 3]> {
    let options = Options { mode: Mode::Easy, ..Options::default() };
    let mut games = Procgen::new(game, &options, envs, 1, 0).map_err(|e| Failure::io(e.to_string()))?;
    let mut peers = ["procgen", "envpool"].map(|name| Peer::start(name, game, envs, &args.python));
    let (mut x, mut last, mut seconds) = (1, vec![4; envs], [const { Vec::new() }; 3]);
    for _ in 0..args.repeats * BLOCKS {
        let actions: Vec<Vec<usize>> = (0..STEPS).map(|_| act(&mut x, &mut last)).collect();
        let start = ProcessTime::now();
        for actions in &actions {
            let now = games.step(actions).map_err(|e| Failure::internal(e.to_string()))?;
            std::hint::black_box(now.observations);
        }
        seconds[0].push(start.elapsed().as_secs_f64());
        for (peer, seconds) in peers.iter_mut().zip(&mut seconds[1..]) {
            seconds.extend(peer.as_mut().and_then(Peer::block));
        }
    }
    Ok(seconds)
}

/// The actions of a step; each repeats the last one or is drawn anew, evenly. The peers do the same.
fn act(x: &mut u64, last: &mut [usize]) -> Vec<usize> {
    for action in &mut *last {
        *x = (1_103_515_245 * *x + 12345) % (1 << 31);
        let drawn = (*x >> 16) % 30;
        *action = if drawn < 15 { drawn as usize } else { *action };
    }
    last.to_vec()
}

/// A peer in a process of its own, which works when it is asked to.
struct Peer {
    process: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// The peer, if this Python has it.
    fn start(name: &str, game: Game, envs: usize, python: &str) -> Option<Self> {
        let mut process = Command::new(python)
            .args(["-c", PEERS, name, &envs.to_string(), game.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (to, from) = (process.stdin.take()?, BufReader::new(process.stdout.take()?).lines());
        let mut peer = Self { process, to, from };
        let ready = peer.from.by_ref().map_while(Result::ok).any(|line| line == "ready");
        ready.then_some(peer)
    }

    /// CPU seconds of a block.
    fn block(&mut self) -> Option<f64> {
        self.to.write_all(b"\n").ok()?;
        self.from.next()?.ok()?.trim().parse().ok()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It is of no more use, and nobody would read its complaints.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_the_median_over_blocks() {
        assert_eq!(ratio(&[2.0, 9.0, 3.0], &[1.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(ratio(&[], &[1.0]), None);
    }
}
