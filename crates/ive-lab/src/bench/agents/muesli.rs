//! Muesli on pictures of 64 × 64 pixels: one update of the agent's own network, decisions, and members. 20 sequences of 16 steps, a model
//! unrolled five steps, values of all 15 actions from the target network.

use ive::Rng;
use ive_agents::experience::{Experience, Shape};
use ive_agents::learner::{Learner, Optimiser};
use ive_agents::muesli::batch::Batch;
use ive_agents::muesli::loss::{self, Lesson, Weights};
use ive_agents::muesli::network::Network;
use ive_agents::muesli::predict::Predictor;
use ive_agents::muesli::targets::{Normaliser, Rules, targets};
use ive_agents::muesli::torso::{Seen, View};
use ive_agents::muesli::{Config, Seeing};
use ive_agents::nn::Executor;
use ive_agents::nn::cpu::descent::Adam;
use ive_envs::StepKind;

use crate::bench::measure::{Measured, best};
use crate::exit::{Failure, Outcome};
use crate::run::agents::{Request, resolve, typed};

const ACTIONS: usize = 15;
const PICTURE: [usize; 3] = [64, 64, 3];
const ENVIRONMENTS: usize = 64;

/// What an update looks at, and its buffers.
struct Update {
    config: Config,
    net: Network,
    learner: Learner,
    priors: Vec<f32>,
    executor: Executor,
    windows: Experience<u8, u8>,
    batch: Batch,
    normaliser: Normaliser,
}

impl Update {
    /// Random pictures and parameters, the settings of the default preset but for the torso.
    fn new(torso: Seeing, channels: &[usize]) -> Outcome<Self> {
        let request = Request { agent: "muesli", world: "procgen:fruitbot", ..Request::default() };
        let preset: Config = typed(&resolve(&request)?)?;
        let config = Config { torso, channels: channels.to_vec(), halve: true, ..preset };
        let net = Network::new(View::Pixels(PICTURE), ACTIONS, &config);
        let mut rng = Rng::from_seed(0);
        let adam = Adam::new(net.layout.len(), 1e-8).with_decay(0.0, 1.0);
        let parameters = net.initial(&mut rng);
        let sequences = config.fresh + config.replayed;
        let shape = Shape { observation: PICTURE.iter().product(), action: 1, policy: ACTIONS };
        let mut windows = Experience::zeroed(shape, config.window, sequences)
            .map_err(|e| Failure::internal(e.to_string()))?;
        for (i, t) in (0..sequences).flat_map(|i| (0..=config.window).map(move |t| (i, t))) {
            windows.set_observation(i, t, &pictures(1, &mut rng));
            windows.set_policy(i, t, &[1.0 / ACTIONS as f32; ACTIONS]);
            if t < config.window {
                windows.set_step(i, t, &[rng.below(ACTIONS) as u8], 0.0, StepKind::Mid);
            }
        }
        Ok(Self {
            learner: Learner::new(net.layout.clone(), parameters, Optimiser::Adam(adam), f64::INFINITY),
            priors: net.initial_priors(&mut rng),
            executor: Executor::default(),
            windows,
            batch: Batch::default(),
            normaliser: Normaliser::default(),
            net,
            config,
        })
    }

    /// One update: bytes to numbers, targets, gradient, step and moving average.
    fn run(&mut self) -> Outcome {
        let all: Vec<_> = (0..self.windows.len()).map(|i| self.windows.get(i)).collect();
        self.batch.fill(&all, self.config.window, &self.net.torso);
        let supports = self.config.supports();
        let target = Predictor {
            net: &self.net,
            parameters: [self.learner.target(), &self.priors],
            supports: &supports,
            discount: self.config.discount,
        };
        let said = target.of_states(&self.batch.seen, self.batch.states(), &mut self.executor);
        let rules = Rules { discount: 0.995, retrace: 0.95, shares: [0.03, 0.003], clip: 1.0, decay: 0.99 };
        let targets = targets(&self.batch, &said, &rules, &mut self.normaliser);
        let lesson = Lesson {
            batch: &self.batch,
            targets: &targets,
            supports: &supports,
            depth: self.config.unroll,
            weights: Weights { gradient: 1.0, improvement: 1.0, model: 1.0, value: 0.25, reward: 1.0 },
            warm_up: false,
        };
        let (x, gradient) = self.learner.gradient();
        let losses = loss::gradient(&self.net, [x, &self.priors], &lesson, &mut self.executor, gradient);
        let stepped = self.learner.step(&[("loss", losses.total)], 1.0, 1e-4, 0);
        stepped.map_err(|e| Failure::internal(e.to_string()))?;
        self.learner.move_target(0.1);
        Ok(())
    }

    /// What the target network makes of 64 pictures.
    fn ask(&mut self, pictures: &[u8], work: impl FnOnce(Predictor<'_>, &Seen, &mut Executor)) {
        let (mut seen, supports) = (Seen::default(), self.config.supports());
        self.net.torso.prepare(pictures, &mut seen);
        let target = Predictor {
            net: &self.net,
            parameters: [self.learner.target(), &self.priors],
            supports: &supports,
            discount: self.config.discount,
        };
        work(target, &seen, &mut self.executor);
    }
}

fn pictures(count: usize, rng: &mut Rng) -> Vec<u8> {
    (0..count * PICTURE.iter().product::<usize>()).map(|_| rng.below(256) as u8).collect()
}

/// Updates, decisions and members of both torsos.
pub fn measure(repeats: u32) -> Outcome<Vec<Measured>> {
    let mut all = Vec::new();
    let torsos = [("small", Seeing::Small, &[16, 32][..]), ("impala 8,16,16", Seeing::Impala, &[8, 16, 16])];
    for (name, torso, channels) in torsos {
        let mut update = Update::new(torso, channels)?;
        let variant = "the agent's network on the tape";
        all.push(best(&format!("muesli update {name}"), variant, 4 * repeats, || update.run())?);
        let shown = pictures(ENVIRONMENTS, &mut Rng::from_seed(1));
        let depth = update.config.unroll;
        all.push(best(&format!("muesli acting 64 {name}"), variant, 4 * repeats, || {
            update.ask(&shown, |target, seen, executor| {
                std::hint::black_box(target.act(seen, ENVIRONMENTS, executor));
            });
            Ok(())
        })?);
        all.push(best(&format!("muesli probe 64 {name}"), variant, 4 * repeats, || {
            update.ask(&shown, |target, seen, executor| {
                let first = |_: usize, row: usize, _: &[f32]| (row % ACTIONS) as u8;
                let paths = target.imagine(seen, [ENVIRONMENTS, 1], depth, executor, first);
                std::hint::black_box(paths.members(target.discount));
            });
            Ok(())
        })?);
    }
    Ok(all)
}
