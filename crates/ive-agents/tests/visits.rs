//! Visits to many places, by an agent with a model on MinAtar.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive::Members;
use ive_agents::Evaluate;
use ive_agents::evaluation::{Visit, Visited};
use ive_agents::muesli::{Config, Muesli, further};
use ive_agents::{AgentError, Bonus, Further, Player, Signal, Space};
use ive_envs::registry::Registered;

fn agent() -> Muesli {
    let config: Config = serde_json::from_str(
        r#"{
        "steps": 512, "worlds": 2, "window": 8, "updates": 1, "fresh": 1, "replayed": 1, "replay_capacity": 64, "learning_start": 16,
        "unroll": 5, "discount": 0.9, "retrace": 0.95, "advantage_clip": 1.0, "advantage_decay": 0.99, "behaviour_share": 0.03,
        "uniform_share": 0.003, "gradient_weight": 1.0, "improvement_weight": 1.0, "model_weight": 1.0, "value_weight": 0.25,
        "reward_weight": 1.0, "learning_rate": 1e-3, "learning_rate_final": 0.0, "weight_decay": 0.0, "adam_epsilon": 1e-8,
        "target_rate": 0.1, "torso": "small", "channels": [4, 4], "halve": true, "features": 16, "model": "residual", "latent": 8,
        "head": 8, "atoms": 11, "value_support": 4.0, "reward_support": 2.5, "prior": 5.0, "centre": true, "warm_up": 2,
        "warm_up_rate": 3e-3, "value_heads": 3, "evaluate": "sample", "log_every": 64 }"#,
    )
    .unwrap();
    let breakout = Registered::new("minatar:breakout", &[]).unwrap();
    Muesli::new(&config, Muesli::source(&breakout).unwrap(), 3).unwrap()
}

fn visit(places: &[(&str, &str)], apart: usize, epsilon: f64) -> Visit {
    let place = |option: &(&str, &str)| Registered::new("minatar:breakout", &[*option]).unwrap();
    Visit {
        places: places.iter().map(place).collect(),
        episodes: 3,
        seed: 7,
        epsilon,
        max_steps: 60,
        apart,
        members: Members::new(0..=5).unwrap(),
        discount: 1.0,
        bonus: None,
    }
}

fn of(agent: &mut Muesli, visit: &Visit) -> Visited {
    agent.visit(visit).unwrap()
}

/// Streams depend on the place and the number of an episode only, so what else is visited changes nothing.
#[test]
fn a_visit_can_be_repeated_and_places_do_not_disturb_each_other() {
    let agent = &mut agent();
    let both = of(agent, &visit(&[("sticky", "0"), ("sticky", "0.1")], 4, 0.0));
    assert_eq!(of(agent, &visit(&[("sticky", "0"), ("sticky", "0.1")], 4, 0.0)), both);
    let first = of(agent, &visit(&[("sticky", "0")], 4, 0.0));
    assert_eq!(first.episodes, both.episodes[..3]);
    assert!(both.states.starts_with(&first.states) && first.states.len() < both.states.len());
    assert!(both.states.iter().skip(first.states.len()).all(|state| state.place == 1));
    assert_eq!(both.further, [further::SEQUENCES, further::SEQUENCES_WITH_ZERO, Further::EVE]);
    let scores = both.states.iter().flat_map(|state| &state.further);
    assert!(scores.copied().all(|x| x.is_finite() && x >= 0.0));
}

/// A visit on which the agent avoids what it does not know is another one, can be repeated, and leaves nothing behind.
#[test]
fn a_visit_may_have_a_manner_of_its_own() {
    let (agent, plain) = (&mut agent(), visit(&[("sticky", "0"), ("sticky", "0.1")], 4, 0.0));
    let bonus = Bonus { space: Space::Logit, signal: Signal::JsdIncreasing, depth: 5, beta: -50.0 };
    let before = of(agent, &plain);
    let careful = Visit { bonus: Some(bonus), ..plain.clone() };
    let first = of(agent, &careful);
    assert_eq!(of(agent, &careful), first);
    assert_ne!(first.episodes, before.episodes);
    assert_eq!(of(agent, &plain), before);
    let short = Visit { bonus: Some(Bonus { depth: 1, ..bonus }), ..plain };
    assert!(agent.visit(&short).unwrap_err().to_string().contains("depth must be at least 2"));
}

/// With every state scored, no discount and whole episodes, the first state of an episode realises its return.
#[test]
fn states_realise_what_follows_them() {
    let often = |apart| Visit { episodes: 12, ..visit(&[("sticky", "0.1")], apart, 1.0) };
    let visited = of(&mut agent(), &often(1));
    let steps: usize = visited.episodes.iter().map(|e| e.steps).sum();
    assert_eq!(visited.states.len(), steps);
    let mut at = 0;
    for episode in &visited.episodes {
        assert_eq!(visited.states[at].realised, episode.total);
        at += episode.steps;
    }
    assert!(visited.episodes.iter().any(|e| e.ended) && visited.episodes.iter().any(|e| e.total > 0.0));
    let sparse = of(&mut agent(), &often(7));
    assert_eq!(sparse.episodes, visited.episodes, "scoring changes nothing in the play");
    assert!(sparse.states.len() <= steps / 7 + 12 && sparse.states.len() + 12 >= steps / 7);
}

#[test]
fn another_kind_of_environment_is_refused() {
    let mut odd = visit(&[("sticky", "0")], 4, 0.0);
    odd.places.push(Registered::new("minatar:freeway", &[]).unwrap());
    assert!(matches!(agent().visit(&odd), Err(AgentError::Form { .. })));
}
