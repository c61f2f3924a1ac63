//! Numbers that are not finite, put in on purpose where the world or the mathematics could bring them. Only in tests.

use std::borrow::Cow;
use std::cell::RefCell;

use crate as ive_agents_under_test;
use crate::nn::cpu::Layout;

#[path = "../tests/pond/mod.rs"]
mod pond;

thread_local! {
    /// Where, from which step on, and the step at which it happened.
    static SITE: RefCell<Option<(String, u64, Option<u64>)>> = const { RefCell::new(None) };
}

/// The next time that an agent of this thread comes by the site at this step or later, a number is not finite.
pub fn put(site: &str, step: u64) {
    SITE.set(Some((site.to_owned(), step, None)));
}

/// The step at which it happened.
pub fn struck() -> Option<u64> {
    SITE.with_borrow(|site| site.as_ref().and_then(|site| site.2))
}

fn strikes(site: &str, step: u64) -> bool {
    SITE.with_borrow_mut(|armed| match armed {
        Some((at, from, when @ None)) if at == site && step >= *from => {
            *when = Some(step);
            true
        }
        _ => false,
    })
}

/// A number, or not a number.
pub fn number(site: &str, step: u64, number: f64) -> f64 {
    if strikes(site, step) { f64::NAN } else { number }
}

/// Numbers that are kept, or one that cannot be: of bytes there is none.
pub fn kept<T: crate::archive::Element>(site: &str, step: u64, numbers: &mut [T]) {
    if strikes(site, step) {
        let mut wrong = Vec::new();
        T::decode(&f32::NAN.to_le_bytes(), &mut wrong);
        numbers[0] = wrong[0];
    }
}

/// Observations, or with a byte that no board has.
pub fn observations(step: u64, observations: &[u8]) -> Cow<'_, [u8]> {
    if !strikes("observation", step) {
        return Cow::Borrowed(observations);
    }
    let mut wrong = observations.to_vec();
    wrong[0] = 255;
    Cow::Owned(wrong)
}

/// The last entry of the gradient of one tensor.
pub fn gradient(layout: &Layout, step: u64, gradient: &mut [f32]) {
    for slot in layout.slots() {
        if strikes(&format!("gradient of {}", slot.name), step) {
            gradient[slot.range.end - 1] = f32::INFINITY;
        }
    }
}

mod tests {
    use super::*;
    use crate::{Agent, Archive, Kind, dqn, dreamer, muesli, vpn};
    use ive_envs::ByteEnvironment;
    use ive_envs::minatar::{Game, Options, make};
    use std::sync::Arc;

    fn environment(seed: u64) -> ByteEnvironment {
        make(Game::Breakout, &Options::default(), seed).unwrap()
    }

    fn config<T: serde::de::DeserializeOwned>(text: &str) -> T {
        let pairs = text.lines().map(|line| line.split_once(" = ").unwrap());
        let value = |text: &str| serde_json::from_str(text).unwrap();
        let object = pairs.map(|(key, text)| (key.to_owned(), value(text))).collect();
        serde_json::from_value(serde_json::Value::Object(object)).unwrap()
    }

    fn dqn_agent() -> dqn::Dqn {
        let config = config(
            "steps = 2000\ndiscount = 0.99\nbatch = 8\nreplay_capacity = 1000\nreplay_start = 100\nupdate_every = 1\n\
             target_every = 100\nlearning_rate = 0.00025\nsmoothing = 0.95\nrms_epsilon = 0.01\nexploration_final = 0.1\n\
             exploration_steps = 100\nlog_every = 100",
        );
        dqn::Dqn::new(&config, Arc::new(environment), 3).unwrap()
    }

    fn vpn_agent() -> vpn::Vpn {
        let config = config(
            "steps = 2000\nworlds = 4\ndiscount = 0.99\nwindow = 5\nprediction = 3\nweights = [1, 1]\nbranching = [2, 1]\n\
             learning_rate = 0.00025\nlearning_rate_decay = 0.8\nlearning_rate_linear = false\nadam_epsilon = 1e-8\n\
             clip = 40.0\nreduction = \"sum\"\ntarget_every = 100\nexploration_final = 0.05\nexploration_fraction = 0.1\n\
             replay = 1\nreplay_capacity = 200\nreplay_start = 0\nrandom_steps = 20\nends = \"absorb\"\naction_scale = 4.0\n\
             input_scale = 1.0\nlog_every = 100",
        );
        vpn::Vpn::new(&config, Arc::new(environment), 3).unwrap()
    }

    fn muesli_config() -> muesli::Config {
        config(
            "steps = 2000\nworlds = 4\nwindow = 5\nupdates = 1\nfresh = 1\nreplayed = 1\nreplay_capacity = 100\n\
             learning_start = 0\nunroll = 3\ndiscount = 0.99\nretrace = 0.95\nadvantage_clip = 1.0\nadvantage_decay = 0.99\n\
             behaviour_share = 0.03\nuniform_share = 0.003\ngradient_weight = 1.0\nimprovement_weight = 1.0\n\
             model_weight = 1.0\nvalue_weight = 0.25\nreward_weight = 1.0\nlearning_rate = 0.001\n\
             learning_rate_final = 0.0\nweight_decay = 0.0\nadam_epsilon = 1e-8\ntarget_rate = 0.1\ntorso = \"small\"\n\
             channels = [4, 4]\nhalve = true\nfeatures = 8\nmodel = \"lstm\"\nlatent = 8\nhead = 8\natoms = 11\n\
             value_support = 4.0\nreward_support = 2.5\nprior = 5.0\ncentre = true\nwarm_up = 2\nwarm_up_rate = 0.003\n\
             value_heads = 1\nevaluate = \"sample\"\nlog_every = 100",
        )
    }

    fn dreamer_agent() -> dreamer::Dreamer<f64> {
        let config = config(
            "steps = 2000\nprefill = 40\nreplay_capacity = 1000\ntrain_every = 20\nupdates = 1\nbatch = 2\nlength = 4\nstarts = 3\n\
             horizon = 3\nstochastic = 2\ndeterministic = 4\nwidth = 4\nchannels = 1\ndiscount = 0.9\nlambda = 0.9\n\
             divergence_weight = 0.1\nfree_nats = 0.0\nobservation_weight = 1.0\nreward_weight = 10.0\nmodel_rate = 1e-3\n\
             value_rate = 1e-3\nactor_rate = 1e-3\nadam_epsilon = 1e-7\nclip = 100.0\nexploration = 0.3\n\
             behaviour = \"gradient\"\nutility = \"ive\"\nbeta = 0.1\nplan_horizon = 2\nplan_noise = \"common\"\n\
             plan_iterations = 1\nplan_step = 0.1\ncandidates = 2\nensemble = 2\nlog_every = 100\nevaluate_every = 0\n\
             evaluation_episodes = 1",
        );
        dreamer::Dreamer::new(&config, pond::ponds(), 3).unwrap()
    }

    /// What an agent would save holds no number that is not finite: single precision, and the sums in double precision.
    fn is_clean(agent: &mut dyn Agent) -> bool {
        let mut archive = Archive::saving();
        agent.archive(&mut archive).unwrap();
        archive.into_tensors().iter().all(|(name, stored)| match stored.kind {
            Kind::F32 => stored.bytes.as_chunks().0.iter().all(|&b| f32::from_le_bytes(b).is_finite()),
            Kind::U64 if name.starts_with("meter") || name == "episodes.calibration" => {
                stored.bytes.as_chunks().0.iter().all(|&b| f64::from_le_bytes(b).is_finite())
            }
            _ => true,
        })
    }

    fn check(make: &dyn Fn() -> Box<dyn Agent>, layouts: &[&Layout], losses: &[&str]) {
        let slots = layouts.iter().flat_map(|layout| layout.slots());
        let gradients = slots.map(|slot| format!("gradient of {}", slot.name));
        let numbers = losses.iter().map(|&loss| loss.to_owned());
        let sites: Vec<String> = ["observation", "reward"]
            .map(str::to_owned)
            .into_iter()
            .chain(numbers)
            .chain(gradients)
            .collect();
        assert!(sites.len() > 8, "{sites:?}");
        for site in sites {
            let (mut agent, mut log) = (make(), Vec::new());
            put(&site, 200);
            let error = loop {
                assert!(agent.steps() < 500, "nobody noticed {site}");
                if let Err(error) = agent.advance(&mut log) {
                    break error.to_string();
                }
                assert_eq!(struck(), None, "{site} was let through");
            };
            let step = struck().unwrap();
            let boards = !losses.contains(&"kl");
            let words = if site == "observation" && boards {
                format!("the observation at step {step} holds something other than zeros and ones")
            } else {
                format!("{site} is not finite at step {step}")
            };
            assert!(error.starts_with(&words), "`{error}` does not begin with `{words}`");
            assert!(log.iter().flat_map(|m| &m.values).all(|(_, x)| x.is_finite()));
            assert!(is_clean(&mut *agent), "{site}");
        }
    }

    #[test]
    fn what_is_not_finite_is_reported_in_the_same_step_and_never_enters_the_state() {
        let layout = dqn::network::Network::new(4, 6).layout;
        check(&|| Box::new(dqn_agent()), &[&layout], &["loss"]);
        let layout = vpn::network::Network::new(4, 6).layout;
        check(&|| Box::new(vpn_agent()), &[&layout], &["loss_reward", "loss_value"]);
        let layout = muesli::network::Network::new(muesli::torso::View::Board(4), 6, &muesli_config()).layout;
        let agent = || muesli::Muesli::new(&muesli_config(), Arc::new(environment), 3).unwrap();
        let losses = ["loss_gradient", "loss_improvement", "loss_model", "loss_value", "loss_reward"];
        check(&|| Box::new(agent()), &[&layout], &losses);
        let dreamer = dreamer_agent();
        let mind = dreamer.mind();
        let layouts = [&mind.model.layout, &mind.value.layout, &mind.actor.layout];
        let losses = ["kl", "loss_observation", "loss_reward", "loss_actor", "loss_value"];
        check(&|| Box::new(dreamer_agent()), &layouts, &losses);
    }
}
