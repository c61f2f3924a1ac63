//! `ive bench tabular`: the reaching figure and exact ensembles, ours beside NumPy's, SciPy's and JAX's in the same run.
//!
//! CPU time counts, over all threads, and the best of several repetitions; wall time is shown beside it. The peers are
//! the programs in `peers/`, which do the same work; they run in a Python of the user's.

use clap::Args;
use ive::{ExactIve, Members, Rng, TabularModel};
use rayon::prelude::*;

use super::measure::{Measured, PeerArgs, best, peers, show};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::experiments::reaching::{run::seed, sweep::Settings};
use crate::experiments::{Name, Plan, Preset, ours};
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
    ];
    match Plan::new(Name::Reaching, Name::Reaching.layers(Preset::Paper)?, &changes, Some(100))? {
        Plan::Reaching(settings) => Ok(settings),
        _ => Err(Failure::internal("a plan for reaching is one")),
    }
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
    let tables: Vec<_> = ours((0..100).map(|_| dense(25, rng)).collect())?;
    all.push(exact("small", 10 * args.peers.repeats, 1, &tables)?);
    let table = [ours(dense(1000, rng))?];
    for threads in [1, 2] {
        all.push(exact("dense", 10 * args.peers.repeats, threads, &table)?);
    }
    let table = [ours(sparse(100_000, 8, rng))?];
    for threads in [1, 2] {
        all.push(exact("sparse", 3 * args.peers.repeats, threads, &table)?);
    }
    Ok(all)
}

/// σ-IVE(20) of states and pairs for each table.
fn exact(case: &str, repeats: u32, threads: usize, tables: &[(TabularModel, Vec<f64>)]) -> Outcome<Measured> {
    let policy = vec![0.25; tables[0].1.len()];
    let ive = ExactIve::new(&policy, 0.99, Members::up_to(20)).threads(threads);
    let variant = format!("{threads} thread{}, f64", if threads > 1 { "s" } else { "" });
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

fn rows(n: usize, width: usize, rng: &mut Rng) -> Vec<f64> {
    let mut p: Vec<f64> = (0..n * width).map(|_| rng.uniform()).collect();
    for row in p.chunks_mut(width) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    p
}

fn dense(states: usize, rng: &mut Rng) -> ive::Result<(TabularModel, Vec<f64>)> {
    let pairs = 4 * states;
    Ok((TabularModel::dense(states, 4, normals(pairs, rng), rows(pairs, states, rng))?, normals(pairs, rng)))
}

fn sparse(states: usize, successors: usize, rng: &mut Rng) -> ive::Result<(TabularModel, Vec<f64>)> {
    let pairs = 4 * states;
    let offsets = (0..=pairs).map(|i| i * successors).collect();
    let next = (0..pairs * successors).map(|_| rng.below(states) as u32).collect();
    let model =
        TabularModel::sparse(states, 4, normals(pairs, rng), offsets, next, rows(pairs, successors, rng))?;
    Ok((model, normals(pairs, rng)))
}

const PEERS: [(&str, &str); 3] = [
    ("peers.py", include_str!("peers/peers.py")),
    ("tabular.py", include_str!("peers/tabular.py")),
    ("tabular_jax.py", include_str!("peers/tabular_jax.py")),
];
