//! `ive bench agents`: decisions, updates and whole runs of the deep agents, ours beside JAX's in the same run.
//!
//! One thread, CPU time, best of several. Our decision begins with the board, the peer's with the latent state. The peer's update
//! of VPN has linear heads, as ours with `network = "relu"`; with `"paper"` ours has hidden layers: where the work differs, ours is more.

mod dreamer;
mod kernels;
mod muesli;

use clap::Args;
use cpu_time::ProcessTime;
use ive::Rng;
use ive_agents::dqn;
use ive_agents::experience::{Experience, Shape};
use ive_agents::learner::{Learner, Optimiser};
use ive_agents::nn::Executor;
use ive_agents::nn::cpu::board;
use ive_agents::nn::cpu::descent::{Adam, CentredRmsProp};
use ive_agents::nn::cpu::torso::{Inference, TORSO};
use ive_agents::vpn::batch::{Batch, Lesson};
use ive_agents::vpn::planner::Planner;
use ive_agents::vpn::{self, Compared, Design, Ends, Form, Goal};
use ive_agents::{Clock, Part};
use ive_envs::{Environment, StepKind, registry};

use super::measure::{Measured, PeerArgs, best, peers, show};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use crate::report::table::Table;
use crate::run::agents::{Request, make, refused, resolve};
use crate::settings::Change;

/// Arguments of `ive bench agents`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive bench agents --python .venv/bin/python
  ive bench agents --no-peers --steps 1e5

The peers need: pip install numpy jax")]
pub struct AgentsArgs {
    /// Environment steps of the whole runs
    #[arg(long, default_value_t = 30_000, allow_negative_numbers = true, value_parser = count::<u64>(1000, u64::MAX))]
    steps: u64,
    #[command(flatten)]
    peers: PeerArgs,
}

const CASES: [(&str, &str); 14] = [
    ("decision", "a decision of VPN(5), branching (4,4,4,1,1): 894 latent steps"),
    ("dqn update", "an update of DQN, batch 32, with targets"),
    ("vpn update", "an update of VPN, 160 latent steps"),
    ("dreamer update 125", "an update of Dreamer: 625 steps lived through, 125 imagined paths of 12"),
    ("dreamer update 625", "the same with 625 imagined paths"),
    ("dreamer decision actor", "a decision of Dreamer: the actor"),
    ("dreamer decision sample", "the best of 10 sampled sequences of 5 actions (♣)"),
    ("dreamer decision grad", "10 gradient steps on a sequence of 5 actions (♢)"),
    (
        "muesli update small",
        "an update of Muesli, 320 pictures of 64 × 64 pixels, 5 model steps, all 15 actions",
    ),
    ("muesli acting 64 small", "actions of Muesli for 64 pictures"),
    ("muesli probe 64 small", "members k = 0..5 of Muesli for 64 pictures"),
    ("muesli update impala 8,16,16", "an update with the residual torso 8, 16, 16"),
    ("muesli acting 64 impala 8,16,16", "its actions for 64 pictures"),
    ("muesli probe 64 impala 8,16,16", "its members for 64 pictures"),
];

/// The network and loss as published, which the JAX prototype has, and the others.
const PAPER: [&str; 2] = ["network=paper", "loss=parts"];
const RELU: [&str; 2] = ["network=relu", "loss=members"];

/// Whole runs: name, agent, changes to its default preset that make it the run of the JAX prototype: no replay, random
/// actions annealed over half of the run. Muesli also plays fruitbot, where its library can be had.
const RUNS: [(&str, &str, &[&str]); 8] = [
    (
        "μ-IVE(5), branching (4,4,4,1,1)",
        "mu-ive",
        &["replay=0", "branching=[4, 4, 4, 1, 1]", PAPER[0], PAPER[1]],
    ),
    (
        "μ-IVE(5), branching (4,2,1,1,1)",
        "mu-ive",
        &["replay=0", "branching=[4, 2, 1, 1, 1]", PAPER[0], PAPER[1]],
    ),
    ("v̂¹", "vpn-v1", &["replay=0", PAPER[0], PAPER[1]]),
    (
        "μ-IVE(5), branching (4,2,1,1,1), relu",
        "mu-ive",
        &["replay=0", "branching=[4, 2, 1, 1, 1]", RELU[0], RELU[1]],
    ),
    ("v̂¹, relu", "vpn-v1", &["replay=0", RELU[0], RELU[1]]),
    ("DQN", "dqn", &[]),
    ("μ-IVE(5), the default preset", "mu-ive", &[]),
    ("Muesli, the default preset, fruitbot", "muesli", &["warm_up=0", "learning_start=0"]),
];

/// Runs the command.
pub fn run(args: &AgentsArgs) -> Outcome {
    let programs = [
        ("agents.py", include_str!("peers/agents.py")),
        ("dreamer.py", include_str!("peers/dreamer.py")),
        ("muesli.py", include_str!("peers/muesli.py")),
    ];
    let mut theirs = Vec::new();
    for program in programs {
        theirs.extend(peers(&args.peers, &[program], &[args.peers.repeats.to_string()], "numpy jax")?);
    }
    let title = format!("one thread, best of {} by CPU time", args.peers.repeats);
    let small = vec![dqn_update(args)?, vpn_update(args, Form::Paper)?, vpn_update(args, Form::Relu)?];
    let mine = [decisions(args)?, small, larger_updates(args)?].concat();
    show(&args.peers, &title, &CASES, &mine, &theirs)?;
    if !args.peers.json {
        let table = layout::table(&kernels::table(4 * args.peers.repeats)?, output::width());
        stream(&format!("GFLOP/s of products and convolutions, one thread\n\n{table}\n"))?;
    }
    whole_runs(args)
}

/// Boards of a game played at random, as bits.
fn some_boards(count: usize, channels_of: &str) -> Outcome<Vec<u64>> {
    let mut world = registry::make(channels_of, &[], 0).map_err(refused)?;
    let mut rng = Rng::from_seed(0);
    let mut now = world.reset();
    let channels = now.observation.len() / (board::SIZE * board::SIZE);
    let (mut bits, mut all) = (vec![0; board::words(channels)], Vec::new());
    for _ in 0..count {
        board::pack(&now.observation, &mut bits);
        all.extend_from_slice(&bits);
        now = if now.kind.is_last() {
            world.reset()
        } else {
            world.step(rng.below(6)).map_err(|e| Failure::internal(e.to_string()))?
        };
    }
    Ok(all)
}

fn decisions(args: &AgentsArgs) -> Outcome<Vec<Measured>> {
    let net = vpn::network::Network::new(4, 6);
    let boards = some_boards(16, "minatar:breakout")?;
    let mut planner = Planner::new(&net, 0.99, &[1.0; 5], &[4, 4, 4, 1, 1]);
    planner.load(&net.initial(1.0, 4.0, &mut Rng::from_seed(0)));
    let mut choices = Vec::new();
    let mut one = |batch: usize| -> Outcome<Measured> {
        let boards = &boards[..batch * net.torso.board.words()];
        let mut measured = best("decision", &format!("batch {batch}"), 20 * args.peers.repeats, || {
            planner.plan(boards, &mut choices);
            std::hint::black_box(&choices);
            Ok(())
        })?;
        measured.cpu /= batch as f64;
        measured.wall /= batch as f64;
        Ok(measured)
    };
    Ok(vec![one(1)?, one(16)?])
}

fn dqn_update(args: &AgentsArgs) -> Outcome<Measured> {
    let net = dqn::network::Network::new(7, 6);
    let mut x = net.initial(&mut Rng::from_seed(0));
    let mut target = Inference::new(&net.torso);
    target.load(&x);
    let boards = some_boards(64, "minatar:freeway")?;
    let (now, next) = boards.split_at(boards.len() / 2);
    let mut batch = dqn::loss::Batch { boards: now.to_vec(), ..Default::default() };
    batch.actions.extend((0..32).map(|i| i % 6));
    let (mut executor, mut gradient) = (Executor::default(), vec![0.0; x.len()]);
    let (mut features, mut torso, mut q) =
        (vec![0.0; 32 * board::FEATURES], vec![0.0; 32 * TORSO], Vec::new());
    let mut optimiser = CentredRmsProp::new(x.len(), 0.95, 0.01);
    best("dqn update", "batch 32", 20 * args.peers.repeats, || {
        target.forward(next, &mut features, &mut torso);
        net.values_of(&x, &torso, &mut q);
        batch.targets.clear();
        batch
            .targets
            .extend(q.chunks_exact(6).map(|q| 0.1 + 0.99 * q.iter().copied().fold(f32::MIN, f32::max)));
        dqn::loss::gradient(&net, &x, &batch, &mut executor, &mut gradient);
        optimiser.step(&mut x, &gradient, 1.0, 2.5e-4);
        Ok(())
    })
}

/// Four windows of ten steps: 40 starts, 160 predictions. The heads of the peer are linear, like those of `relu`.
fn vpn_update(args: &AgentsArgs, form: Form) -> Outcome<Measured> {
    let design = Design { form, ..Design::default() };
    let net = vpn::network::Network::designed(7, 6, design);
    let (heads, compared) = match form {
        Form::Paper => ("heads with 64 hidden units", Compared::Parts),
        Form::Relu => ("linear heads", Compared::Members),
    };
    let x = net.initial(1.0, 4.0, &mut Rng::from_seed(0));
    let words = net.torso.board.words();
    let boards = some_boards(44, "minatar:freeway")?;
    let shape = Shape { observation: words, action: 1, policy: 0 };
    let mut windows: Experience<u64, u8> =
        Experience::zeroed(shape, 10, 4).map_err(|e| Failure::internal(e.to_string()))?;
    for (i, board) in boards.chunks_exact(words).enumerate() {
        windows.set_observation(i / 11, i % 11, board);
        if i % 11 < 10 {
            windows.set_step(i / 11, i % 11, &[(i % 6) as u8], 0.1, StepKind::Mid);
        }
    }
    let lessons = (0..4).map(|i| Lesson { window: windows.get(i), bootstrap: Some(1.0) });
    let (mut batch, mut executor) = (Batch::default(), Executor::default());
    let (goal, mut said) = (Goal { compared, ..Goal::default() }, Vec::new());
    let adam = Optimiser::Adam(Adam::new(x.len(), 1e-8));
    let mut learner = Learner::new(net.layout.clone(), x, adam, 40.0);
    best("vpn update", &format!("40 starts, 160 steps, {heads}"), 20 * args.peers.repeats, || {
        batch.fill(lessons.clone(), 5, 0.99, Ends::Absorb);
        let (x, gradient) = learner.gradient();
        vpn::loss::gradient(&net, x, &batch, &goal, &mut executor, gradient, &mut said);
        learner.step(&[], 1.0, 1e-4, 0).map(|_| ()).map_err(|e| Failure::internal(e.to_string()))
    })
}

/// Updates and decisions of the larger agents.
fn larger_updates(args: &AgentsArgs) -> Outcome<Vec<Measured>> {
    let mut all = dreamer::updates(args.peers.repeats)?;
    all.extend(dreamer::decisions(args.peers.repeats)?);
    all.extend(muesli::measure(args.peers.repeats)?);
    Ok(all)
}

/// Environment steps per CPU-second over whole runs on Breakout, and where the time went.
fn whole_runs(args: &AgentsArgs) -> Outcome {
    let head: Vec<&str> =
        ["run", "steps per CPU-second"].into_iter().chain(Part::ALL.map(Part::name)).collect();
    let mut table = Table::new("whole runs", &head);
    for (name, agent, changes) in RUNS {
        let changes: Vec<Change> = std::iter::once(&"exploration_fraction=0.5")
            .filter(|_| !["dqn", "muesli"].contains(&agent))
            .chain(changes)
            .map(|c| Change::parse(c).map_err(Failure::internal))
            .collect::<Outcome<_>>()?;
        let world = if agent == "muesli" { "procgen:fruitbot" } else { "minatar:breakout" };
        let request =
            Request { agent, world, steps: Some(args.steps), changes: &changes, ..Request::default() };
        let mut runner = make(&resolve(&request)?)?;
        let (start, mut log) = (ProcessTime::now(), Vec::new());
        while runner.steps() < args.steps {
            runner.advance(&mut log).map_err(|e| Failure::internal(e.to_string()))?;
        }
        let rate = runner.steps() as f64 / start.elapsed().as_secs_f64();
        let shares = runner.summary().clock.as_ref().map(Clock::shares).unwrap_or_default();
        let cells = shares.map(|share| format!("{:.0} %", 100.0 * share));
        table.row([name.to_owned(), format!("{rate:.0}")].into_iter().chain(cells));
        if args.peers.json {
            let mut line = serde_json::json!({ "case": "whole run", "run": name, "steps": args.steps,
                "steps_per_cpu_second": rate });
            for (part, share) in Part::ALL.iter().zip(shares) {
                line["shares"][part.name()] = share.into();
            }
            stream(&format!("{line}\n"))?;
        }
    }
    if args.peers.json {
        return Ok(());
    }
    let (steps, table) = (args.steps, layout::table(&table, output::width()));
    stream(&format!(
        "whole runs of {steps} steps on Breakout or fruitbot, nothing left out, and where the time went\n\n{table}"
    ))
}
