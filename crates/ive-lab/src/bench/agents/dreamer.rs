//! Updates and decisions of Dreamer in the size that learns to walk from states.

use ive::Rng;
use ive_agents::dreamer::loss::Sequences;
use ive_agents::dreamer::network::Model;
use ive_agents::dreamer::planner::Planner;
use ive_agents::dreamer::{Behaviour, Config, Inputs, Mind, Scratch, Sizes};
use ive_agents::nn::Executor;

use super::super::measure::{Measured, best};
use crate::exit::{Failure, Outcome};

const OBSERVATION: usize = 24;
const MOTORS: usize = 6;

/// The default preset, with so many imagined paths; an agent at the beginning, and random data.
struct Bench {
    config: Config,
    mind: Mind,
    data: Sequences,
    rng: Rng,
}

impl Bench {
    fn new(starts: usize) -> Outcome<Self> {
        let text = include_str!("../../../presets/dreamer.default.toml");
        let config: Config = toml::from_str(text).map_err(|e| Failure::internal(e.to_string()))?;
        let config = Config { starts, ..config };
        let sizes = Sizes {
            observation: OBSERVATION,
            action: MOTORS,
            stochastic: config.stochastic,
            deterministic: config.deterministic,
            width: config.width,
            channels: config.channels,
        };
        let mut rng = Rng::from_seed(0);
        let mind = Mind::new(&config, Model::new(&sizes), &sizes, &rng);
        let rows = config.batch * config.length;
        let mut draw = |count: usize| (0..count).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
        let data = Sequences {
            batch: config.batch,
            observations: draw(rows * OBSERVATION),
            actions: draw(rows * MOTORS),
            rewards: draw(rows),
        };
        Ok(Self { config, mind, data, rng })
    }
}

/// Updates with 125 and with all 625 imagined paths, new noise included.
pub fn updates(repeats: u32) -> Outcome<Vec<Measured>> {
    let mut all = Vec::new();
    for starts in [125, 625] {
        let Bench { config, mut mind, data, mut rng } = Bench::new(starts)?;
        let (mut executor, mut scratch) = (Executor::default(), Scratch::default());
        all.push(best(&format!("dreamer update {starts}"), "the default preset", 4 * repeats, || {
            mind.update(&config, &data, &mut rng, &mut executor, &mut scratch, 0)
                .map(|said| _ = std::hint::black_box(said))
                .map_err(|e| Failure::internal(e.to_string()))
        })?);
    }
    Ok(all)
}

/// Decisions from an observation to an action: the state is filtered, then the actor or a planner chooses.
pub fn decisions(repeats: u32) -> Outcome<Vec<Measured>> {
    let Bench { config, mind, data, mut rng } = Bench::new(125)?;
    let (mut executor, mut planner) = (Executor::default(), Planner::default());
    let mut inputs = Inputs::default();
    let zeros = |count: usize| vec![0.0; count];
    inputs.z = zeros(config.stochastic);
    inputs.d = zeros(config.deterministic);
    inputs.actions = zeros(MOTORS);
    inputs.noise = vec![0.5; config.stochastic];
    inputs.observations = data.observations[..OBSERVATION].to_vec();
    let (mut all, noise) = (Vec::new(), [0.5; MOTORS]);
    for (name, behaviour) in
        [("actor", Behaviour::Actor), ("sample", Behaviour::Sample), ("grad", Behaviour::Gradient)]
    {
        let config = Config { behaviour, ..config.clone() };
        let case = format!("dreamer decision {name}");
        all.push(best(&case, "from the observation", 20 * repeats, || {
            let mut action = Vec::new();
            executor.run(&mind.frozen(), |g| {
                let state = mind.filter(g, &mut inputs);
                if behaviour == Behaviour::Actor {
                    let chosen = mind.act(g, state, Some(&noise));
                    g.read(chosen, &mut action);
                }
            });
            if behaviour != Behaviour::Actor {
                action = planner.plan(&mind, &config, &inputs.z, &inputs.d, &mut rng).action;
            }
            std::hint::black_box(&action);
            Ok(())
        })?);
    }
    Ok(all)
}
