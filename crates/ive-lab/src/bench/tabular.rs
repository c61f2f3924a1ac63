//! `ive bench tabular`: the reaching figure and exact ensembles, ours beside NumPy's, SciPy's and JAX's in the same run.
//!
//! CPU time counts, over all threads, and the best of several repetitions; wall time is shown beside it. The peers are
//! the programs in `peers/`, which do the same work; they run in a Python of the user's.

use clap::Args;
use ive::{ExactIve, Members, Probability, Rng, TabularModel};
use rayon::prelude::*;

use super::measure::{Measured, PeerArgs, best, peers, show};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::experiments::reaching::{run::seed, sweep::Settings};
use crate::experiments::{Experiment, Preset, ours};
use crate::settings::Change;

/// Arguments of `ive bench tabular`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive bench tabular --python .venv/bin/python
  ive bench tabular --epochs 10000 --repeats 1     the figure at full length
  ive bench tabular --no-peers --json

The peers need: pip install numpy scipy jax")]
pub struct TabularArgs {
    /// Epochs of the reaching figure, on both sides (the figure itself has 10000)
    #[arg(long, default_value_t = 200, allow_negative_numbers = true, value_parser = count::<u32>(1, 100_000))]
    epochs: u32,
    #[command(flatten)]
    peers: PeerArgs,
}

/// The cases, with what each is.
const CASES: [(&str, &str); 5] = [
    ("reaching", "reaching figure, 100 seeds × (5 values + 5 models), minibatches"),
    ("limit", "reaching figure, 100 seeds, exact limits"),
    ("small", "exact IVE(20), 100 tables of 25 states"),
    ("dense", "exact IVE(20), 1000 states, dense"),
    ("sparse", "exact IVE(20), 100000 states, 8 successors"),
];

/// Runs the command.
pub fn run(args: &TabularArgs) -> Outcome {
    let arguments = [args.epochs.to_string(), args.peers.repeats.to_string()];
    let peers = peers(&args.peers, &PEERS, &arguments, "numpy scipy jax")?;
    let title = format!("{} epochs, best of {} by CPU time", args.epochs, args.peers.repeats);
    show(&args.peers, &title, &CASES, &measure(args)?, &peers)
}

/// The settings of the peers: γ = 0.99, Adam at 5e-5, first of the best.
fn reaching(learner: &str, epochs: u32) -> Outcome<Settings> {
    let set = |text: &str| Change::parse(text).map_err(Failure::internal);
    let changes = [
        set("discount=0.99")?,
        set("learning_rate=5e-5")?,
        set("ties=first")?,
        set(&format!("epochs={epochs}"))?,
        set(&format!("learner={learner}"))?,
        set("seeds=100")?,
    ];
    let mut layers = Experiment::parse("reaching")?[0].layers(Preset::Paper)?;
    layers.add_changes(&changes)?;
    layers.build::<Settings>()?.checked()
}

fn measure(args: &TabularArgs) -> Outcome<Vec<Measured>> {
    let threads = rayon::current_num_threads();
    let figure = |settings: &Settings| -> Outcome {
        let curves: Vec<_> = (0..settings.seeds)
            .into_par_iter()
            .map(|s| seed(settings, s, &|| true))
            .collect::<Outcome<_>>()?;
        std::hint::black_box(curves);
        Ok(())
    };
    let (sgd, limit) = (reaching("sgd", args.epochs)?, reaching("limit", args.epochs)?);
    let mut all = vec![best("reaching", &format!("{threads} threads"), args.peers.repeats, || figure(&sgd))?];
    // One thread, as NumPy has.
    all.push(best("limit", "1 thread, f64", 5 * args.peers.repeats, || {
        (0..limit.seeds)
            .try_for_each(|s| seed(&limit, s, &|| true).map(|curves| drop(std::hint::black_box(curves))))
    })?);
    let rng = &mut Rng::from_seed(0);
    let (double, single) = (|p: f64| p, |p: f64| p as f32);
    let repeats = args.peers.repeats;
    let tables: Vec<_> = ours((0..100).map(|_| dense(25, rng, double)).collect())?;
    all.push(exact("small", "f64", 10 * repeats, 1, &tables)?);
    let tables = [("f64", ours(dense(1000, rng, double))?), ("f32", ours(dense(1000, rng, single))?)];
    for (precision, table) in tables {
        let table = [table];
        for threads in [1, 2] {
            all.push(exact("dense", precision, 10 * repeats, threads, &table)?);
        }
    }
    let tables =
        [("f64", ours(sparse(100_000, 8, rng, double))?), ("f32", ours(sparse(100_000, 8, rng, single))?)];
    for (precision, table) in tables {
        let table = [table];
        for threads in [1, 2] {
            all.push(exact("sparse", precision, 3 * repeats, threads, &table)?);
        }
    }
    Ok(all)
}

/// A table and its learned values.
type Learned = (TabularModel, Vec<f64>);

/// σ-IVE(20) of states and pairs for each table; `precision` is that of its probabilities.
fn exact(case: &str, precision: &str, repeats: u32, threads: usize, tables: &[Learned]) -> Outcome<Measured> {
    let policy = vec![0.25; tables[0].1.len()];
    let ive = ExactIve::new(&policy, 0.99, Members::up_to(20)).threads(threads);
    let variant = format!("{threads} thread{}, {precision}", if threads > 1 { "s" } else { "" });
    best(case, &variant, repeats, || {
        tables.iter().try_for_each(|(model, q)| {
            ours(model.inconsistency(q, &ive)).map(|s| drop(std::hint::black_box(s)))
        })
    })
}

fn normals(n: usize, rng: &mut Rng) -> Vec<f64> {
    let mut x = vec![0.0; n];
    rng.fill_normal(&mut x);
    x
}

fn rows<P>(n: usize, width: usize, rng: &mut Rng, stored: impl Fn(f64) -> P) -> Vec<P> {
    let mut p: Vec<f64> = (0..n * width).map(|_| rng.uniform()).collect();
    for row in p.chunks_mut(width) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    p.into_iter().map(stored).collect()
}

fn dense<P: Probability>(states: usize, rng: &mut Rng, stored: impl Fn(f64) -> P) -> ive::Result<Learned> {
    let pairs = 4 * states;
    let (reward, transition) = (normals(pairs, rng), rows(pairs, states, rng, stored));
    Ok((TabularModel::dense(states, 4, reward, transition)?, normals(pairs, rng)))
}

fn sparse<P: Probability>(
    states: usize,
    successors: usize,
    rng: &mut Rng,
    stored: impl Fn(f64) -> P,
) -> ive::Result<Learned> {
    let pairs = 4 * states;
    let offsets = (0..=pairs).map(|i| i * successors).collect();
    let next = (0..pairs * successors).map(|_| rng.below(states) as u32).collect();
    let (reward, probability) = (normals(pairs, rng), rows(pairs, successors, rng, stored));
    Ok((TabularModel::sparse(states, 4, reward, offsets, next, probability)?, normals(pairs, rng)))
}

const PEERS: [(&str, &str); 3] = [
    ("peers.py", include_str!("peers/peers.py")),
    ("tabular.py", include_str!("peers/tabular.py")),
    ("tabular_jax.py", include_str!("peers/tabular_jax.py")),
];
