//! `ive bench saves`: what it costs to save gigabytes of replay every minute.
//!
//! The replay is that of pixels: windows of 16 steps with 64 × 64 × 3 bytes each, and the probabilities of 15 actions. It is filled,
//! saved once, and then saved again and again after some of it is new, as a run does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use cpu_time::ProcessTime;
use ive::Rng;
use ive_agents::experience::{Experience, Rules, Shape, Window};
use ive_agents::{AgentError, Archive, ArchiveError};
use ive_envs::StepKind;

use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use crate::report::table::Table;
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::run::checkpoint::{Checkpoints, SaveError};
use crate::run::disk::Disk;

/// Arguments of `ive bench saves`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive bench saves
  ive bench saves --gigabytes 6 --saves 10 --dir /scratch")]
pub struct SavesArgs {
    /// Size of the replay
    #[arg(long, default_value_t = 2, allow_negative_numbers = true, value_parser = count::<u32>(1, 1000))]
    gigabytes: u32,
    /// How much of it is new at each save
    #[arg(long, default_value_t = 100, allow_negative_numbers = true, value_parser = count::<u32>(1, 1_000_000))]
    megabytes: u32,
    /// How many saves are measured
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = count::<u32>(1, 1000))]
    saves: u32,
    /// Where to write; a folder is made there and removed at the end [default: the directory for temporary files]
    #[arg(long, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// One JSON object per measurement
    #[arg(long)]
    json: bool,
}

const SHAPE: Shape = Shape { observation: 64 * 64 * 3, action: 1, policy: 15 };
const STEPS: usize = 16;
/// Numbers of the network and its optimiser, which are saved whole: about those of a small residual network.
const WEIGHTS: usize = 3_000_000;

/// What is saved: replay and weights.
struct State {
    replay: Experience<u8, u8>,
    weights: Vec<f32>,
    rng: Rng,
}

impl State {
    fn new(bytes: f64) -> Outcome<Self> {
        let count = (bytes / SHAPE.window_bytes::<u8, u8>(STEPS)).ceil() as usize;
        let internal = |e: AgentError| Failure::internal(e.to_string());
        let replay = Experience::windows(SHAPE, STEPS, count).map_err(internal)?;
        Ok(Self { replay, weights: vec![0.5; WEIGHTS], rng: Rng::from_seed(0) })
    }

    /// Adds so many bytes of noise, which no file system makes smaller.
    fn play(&mut self, bytes: f64) {
        let mut observations = vec![0; (STEPS + 1) * SHAPE.observation];
        let (policies, rewards) = (vec![1.0 / 15.0; (STEPS + 1) * 15], vec![0.5; STEPS]);
        for _ in 0..(bytes / SHAPE.window_bytes::<u8, u8>(STEPS)).round() as usize {
            for word in observations.as_chunks_mut().0 {
                *word = self.rng.next_u64().to_le_bytes();
            }
            self.replay.push(Window {
                observations: &observations,
                actions: &[3; STEPS],
                rewards: &rewards,
                kinds: &[StepKind::Mid; STEPS],
                policies: &policies,
            });
        }
    }

    fn archive(&mut self, archive: &mut Archive<'_>) -> Result<(), ArchiveError> {
        archive.f32("weights", &mut self.weights)?;
        let rules = Rules { observation: &|_| Ok(()), action: &|_| Ok(()), truncates: true };
        self.replay.archive("replay", &rules, archive)
    }
}

/// One measurement.
struct Measured {
    what: String,
    /// Seconds until training goes on.
    waits: f64,
    /// CPU seconds of all threads until it is done.
    cpu: f64,
    /// Seconds until it is done.
    wall: f64,
    /// The most memory that the process ever had, as far as the system tells.
    peak: Option<f64>,
}

/// Measures work, which says after how many seconds training can go on.
fn measured(what: String, work: impl FnOnce(Instant) -> Outcome<f64>) -> Outcome<Measured> {
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    let waits = work(wall)?;
    let (cpu, wall) = (cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
    Ok(Measured { what, waits, cpu, wall, peak: peak() })
}

/// The largest resident size so far, in bytes.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix(" kB")?.parse::<f64>().ok()?)
}

/// Runs the command.
pub fn run(args: &SavesArgs) -> Outcome {
    let above = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = above.join(format!("ive-saves-{}", std::process::id()));
    let found = measure(args, &dir);
    let _ = std::fs::remove_dir_all(&dir);
    show(args, &found?)
}

fn measure(args: &SavesArgs, dir: &Path) -> Outcome<Vec<Measured>> {
    let disk = Disk::default();
    disk.create_directory(dir)?;
    let plan = resolve(&Request { agent: "dqn", world: "minatar:breakout", ..Request::default() })?;
    let mut checkpoints = Checkpoints::of(dir, &disk);
    let (bytes, new) = (1e9 * f64::from(args.gigabytes), 1e6 * f64::from(args.megabytes));
    let mut state = State::new(bytes)?;
    state.play(bytes);
    let mut found = vec![measured("the replay is filled".to_owned(), |_| Ok(0.0))?];
    let mut save = |state: &mut State, step: u64, what: String| {
        measured(what, |start| {
            let collected =
                checkpoints.collect(step, &mut |archive| state.archive(archive)).map_err(failure)?;
            let saving = checkpoints.begin(&plan, collected, BTreeMap::new());
            let waits = start.elapsed().as_secs_f64();
            checkpoints.end(saving).map_err(failure)?;
            Ok(waits)
        })
    };
    found.push(save(&mut state, 1, format!("the first save: {} GB", args.gigabytes))?);
    for i in 1..=args.saves {
        state.play(new);
        let step = 1 + u64::from(i);
        found.push(save(&mut state, step, format!("save {i}: {} MB are new", args.megabytes))?);
    }
    drop(state);
    let load = |start: Instant| load(dir, &plan, bytes).map(|()| start.elapsed().as_secs_f64());
    found.push(measured("check and load".to_owned(), load)?);
    Ok(found)
}

fn failure(error: SaveError) -> Failure {
    match error {
        SaveError::Full(error) => error.into(),
        SaveError::Failed(failure) => failure,
    }
}

fn load(dir: &Path, plan: &Plan, bytes: f64) -> Outcome {
    let mut checkpoints = Checkpoints::of(dir, &Disk::default());
    let found = checkpoints.load(plan, |_| Ok(()), output::say)?;
    let mut found = found.ok_or_else(|| Failure::internal("the checkpoint has gone"))?;
    let mut archive = Archive::loading_from(found.tensors, &mut found.logs);
    State::new(bytes)?.archive(&mut archive).map_err(|e| Failure::internal(e.to_string()))
}

fn show(args: &SavesArgs, found: &[Measured]) -> Outcome {
    let head = ["work", "training waits", "of a minute", "CPU", "until it is safe", "peak memory"];
    let mut table = Table::new("saves", &head);
    for Measured { what, waits, cpu, wall, peak } in found {
        if args.json {
            let line = serde_json::json!({ "case": what, "waits": waits, "cpu": cpu, "wall": wall, "peak_bytes": peak });
            stream(&format!("{line}\n"))?;
        }
        let memory = peak.map_or("–".to_owned(), |peak| format!("{:.2} GB", peak / 1e9));
        let share = format!("{:.2} %", 100.0 * waits / 60.0);
        let [waits, cpu, wall] = [waits, cpu, wall].map(|x| format!("{x:.2} s"));
        table.row([what.clone(), waits, share, cpu, wall, memory]);
    }
    if args.json {
        return Ok(());
    }
    let width = output::width();
    let about = format!(
        "a replay of {} GB of pixels, saved as segments; every save is hashed and synced",
        args.gigabytes
    );
    stream(&format!("{}\n{}\n", layout::fold(&about, width, 0), layout::table(&table, width)))
}
