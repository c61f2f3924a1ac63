//! `ive bench score`: ensembles and statistics of logged predictions, ours beside NumPy's and JAX's in the same run.
//!
//! The floor is memory: for a million states and k = 0..5 in f64, rewards and values are 88 MB to be read, μ and σ 16 MB and
//! the members 48 MB to be written.

use clap::Args;
use ive::{Discounts, Members, Predictions, Rng, Statistics};

use super::measure::{Measured, PeerArgs, best, peers, show};
use crate::count::count;
use crate::exit::Outcome;
use crate::experiments::ours;

/// Arguments of `ive bench score`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive bench score --python .venv/bin/python
  ive bench score --states 1e5 --no-peers --json

The peers need: pip install numpy jax")]
pub struct ScoreArgs {
    /// How many states
    #[arg(long, default_value_t = 1_000_000, allow_negative_numbers = true, value_parser = count::<u32>(1, 10_000_000))]
    states: u32,
    #[command(flatten)]
    peers: PeerArgs,
}

/// The cases, with what each is.
const CASES: [(&str, &str); 5] = [
    ("floor", "copying as many bytes as statistics in f64 read"),
    ("statistics-f64", "μ and σ over k = 0..5, f64"),
    ("scores-f64", "members, μ and σ, f64"),
    ("statistics-f32", "μ and σ over k = 0..5, f32"),
    ("scores-f32", "members, μ and σ, f32"),
];

const STEPS: usize = 5;

/// Runs the command.
pub fn run(args: &ScoreArgs) -> Outcome {
    let arguments = [args.states.to_string(), args.peers.repeats.to_string()];
    let files = [("score.py", include_str!("peers/score.py"))];
    let peers = peers(&args.peers, &files, &arguments, "numpy jax")?;
    let title = format!("{} states × 6 members, best of {} by CPU time", args.states, args.peers.repeats);
    show(&args.peers, &title, &CASES, &measure(args)?, &peers)
}

fn measure(args: &ScoreArgs) -> Outcome<Vec<Measured>> {
    let (states, repeats) = (args.states as usize, args.peers.repeats);
    let rng = &mut Rng::from_seed(0);
    let mut normals = |n: usize| {
        let mut x = vec![0.0; n];
        rng.fill_normal(&mut x);
        x
    };
    let (rewards, values) = (normals(STEPS * states), normals((STEPS + 1) * states));
    let single = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let mut copy = vec![0.0; rewards.len() + values.len()];
    let mut all = vec![best("floor", "a copy, 1 thread", repeats, || {
        copy[..rewards.len()].copy_from_slice(&rewards);
        copy[rewards.len()..].copy_from_slice(&values);
        std::hint::black_box(&mut copy);
        Ok(())
    })?];
    drop(copy);
    all.extend(cases("f64", &rewards, &values, states, repeats)?);
    all.extend(cases("f32", &single(&rewards), &single(&values), states, repeats)?);
    Ok(all)
}

fn cases<T: Copy + Into<f64> + Send + Sync>(
    kind: &str,
    rewards: &[T],
    values: &[T],
    states: usize,
    repeats: u32,
) -> Outcome<Vec<Measured>> {
    let members = Members::up_to(STEPS as u16);
    let predictions = ours(Predictions::new(rewards, values, Discounts::Constant(0.99), states))?;
    let variant = format!("1 thread, {kind} to f64");
    let statistics = best(&format!("statistics-{kind}"), &variant, repeats, || {
        ours(predictions.statistics(&members, 0)).map(|found| drop(std::hint::black_box(found)))
    })?;
    let mut there = Statistics::default();
    let reused = best(&format!("statistics-{kind}"), &format!("{variant}, arrays reused"), repeats, || {
        ours(predictions.statistics_into(&members, 0, &mut there))?;
        std::hint::black_box(&mut there);
        Ok(())
    })?;
    let scores = best(&format!("scores-{kind}"), &variant, repeats, || {
        ours(predictions.score(&members, 0)).map(|found| drop(std::hint::black_box(found)))
    })?;
    let (mut ensemble, mut there) = ours(predictions.score(&members, 0))?;
    let scores_reused =
        best(&format!("scores-{kind}"), &format!("{variant}, arrays reused"), repeats, || {
            ours(predictions.score_into(&members, 0, &mut ensemble, &mut there))?;
            std::hint::black_box((&mut ensemble, &mut there));
            Ok(())
        })?;
    Ok(vec![statistics, reused, scores, scores_reused])
}
