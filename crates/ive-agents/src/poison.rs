//! Numbers that are not finite, put in on purpose where the world or the mathematics could bring them. Only in tests.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::nn::cpu::Layout;

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
    use crate::{Agent, Archive, Kind, dqn, vpn};
    use ive_envs::minatar::{ByteWorld, Game, Options, make};

    fn world(seed: u64) -> ByteWorld {
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
        dqn::Dqn::new(&config, &world, 3).unwrap()
    }

    fn vpn_agent() -> vpn::Vpn {
        let config = config(
            "steps = 2000\nworlds = 4\ndiscount = 0.99\nwindow = 5\nprediction = 3\nweights = [1, 1]\nbranching = [2, 1]\n\
             learning_rate = 0.00025\nlearning_rate_decay = 0.8\nlearning_rate_linear = false\nadam_epsilon = 1e-8\n\
             clip = 40.0\nreduction = \"sum\"\ntarget_every = 100\nexploration_final = 0.05\nexploration_fraction = 0.1\n\
             replay = 1\nreplay_capacity = 200\nreplay_start = 0\nrandom_steps = 20\nends = \"absorb\"\naction_scale = 4.0\n\
             input_scale = 1.0\nlog_every = 100",
        );
        vpn::Vpn::new(&config, &world, 3).unwrap()
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

    fn check(make: &dyn Fn() -> Box<dyn Agent>, layout: &Layout, losses: &[&str]) {
        let gradients = layout.slots().iter().map(|slot| format!("gradient of {}", slot.name));
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
            let words = if site == "observation" {
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
        check(&|| Box::new(dqn_agent()), &layout, &["loss"]);
        let layout = vpn::network::Network::new(4, 6).layout;
        check(&|| Box::new(vpn_agent()), &layout, &["loss_reward", "loss_value"]);
    }
}
