//! Sessions with `ive score --model` on models that PyTorch exported, held against ONNX Runtime and NumPy
//! (`crates/ive-onnx/tests/models/make.py`).

#![cfg(feature = "onnx")]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::path::PathBuf;

use serde_json::Value;
use session::{Scratch, json, refused, text};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../ive-onnx/tests/models").join(name)
}

fn line(name: &str, states: &str, more: &str) -> String {
    let dir = folder(name);
    format!("score --model {} --states {} {more}", dir.display(), dir.join(states).display())
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(rows) => rows.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn scores(dir: &Scratch, line: &str) -> Value {
    let output = dir.ive(&format!("{line} --out s.json"));
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    json(&dir.0.join("s.json"))
}

fn close(what: &str, found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() < 1e-5 * w.abs().max(1.0), "{what}: {f} {w}");
    }
}

#[test]
fn scores_of_exported_models_are_those_of_onnx_runtime() {
    let dir = Scratch::new("onnx");
    for (name, states) in
        [("mlp", "states.npy"), ("gru", "states.npy"), ("lstm", "states.npz"), ("conv", "states.npy")]
    {
        let found = scores(&dir, &line(name, states, ""));
        let wanted = json(&folder(name).join("expected.json"));
        close(name, &numbers(&found["std"]), &numbers(&wanted["std"]));
        close(name, &numbers(&found["members"]), &numbers(&wanted["members"]));
    }
}

#[test]
fn pairs_of_states_and_actions_come_in_order_with_the_number_of_the_action() {
    let dir = Scratch::new("onnx-actions");
    let found = scores(&dir, &line("mlp", "states.npy", "--actions"));
    assert_eq!(numbers(&found["action"]), [0.0, 1.0, 2.0].repeat(5));
    let wanted = json(&folder("mlp").join("expected.json"));
    let (members, actions) = (numbers(&wanted["members"]), numbers(&wanted["actions"][0]));
    let found = numbers(&found["members"]);
    for k in 1..=5 {
        for (state, action) in actions.iter().enumerate() {
            let pair = found[(k - 1) * 15 + state * 3 + *action as usize];
            close("pair", &[pair], &[members[k * 5 + state]]);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let dir = Scratch::new("onnx-refused");
    refused(&dir.ive(&line("mlp", "../gru/states.npy", "")), 65, &["not"]);
    refused(&dir.ive(&line("lstm", "../mlp/states.npy", "")), 65, &["NPZ"]);
    for (wrong, word) in [
        (line("mlp", "states.npy", "--horizon 0"), "--horizon"),
        (line("mlp", "states.npy", "--gamma 0.9"), "--gamma"),
        ("score --model somewhere".to_owned(), "--states"),
    ] {
        let output = dir.ive(&wrong);
        assert_eq!(output.status.code(), Some(64), "{wrong}");
        assert!(text(&output.stderr).contains(word), "{wrong}");
    }
    refused(&dir.ive(&line("conv", "states.npy", "--actions")), 64, &["no numbers"]);
    refused(&dir.ive(&line("mlp", "states.npy", "--actions --members 0..5")), 64, &["1.."]);
    refused(&dir.ive(&line("nothing", "../mlp/states.npy", "")), 74, &["model.toml"]);
    // A copy that samples, and one whose settings are wrong.
    for name in ["dynamics.onnx", "value.onnx", "policy.onnx", "states.npy"] {
        std::fs::copy(folder("mlp").join(name), dir.0.join(name)).unwrap();
    }
    let settings = std::fs::read_to_string(folder("mlp").join("model.toml")).unwrap();
    std::fs::write(dir.0.join("model.toml"), settings.replace("argmax", "sample")).unwrap();
    refused(&dir.ive("score --model . --states states.npy"), 64, &["--samples"]);
    let once = scores(&dir, "score --model . --states states.npy --samples 30 --seed 4");
    assert_eq!(once, scores(&dir, "score --model . --states states.npy --samples 30 --seed 4"));
    assert_ne!(once, scores(&dir, "score --model . --states states.npy --samples 30 --seed 5"));
    std::fs::write(dir.0.join("model.toml"), settings.replace("gamma = 0.97", "gamma = 2")).unwrap();
    refused(&dir.ive("score --model . --states states.npy"), 78, &["gamma"]);
}

/// Boards of random play, and the same as a file of NumPy.
fn boards(path: &std::path::Path) -> Vec<u8> {
    use ive_envs::Environment as _;
    use ive_envs::minatar::{Game, Options, make};
    let mut world = make(Game::Breakout, &Options::default(), 5).unwrap();
    let mut all = world.reset().observation;
    for i in 0..29 {
        let step = world.step(i * 7 % 6).unwrap();
        all.extend(if step.kind.is_last() { world.reset().observation } else { step.observation });
    }
    let mut head = "{'descr': '|u1', 'fortran_order': False, 'shape': (30, 10, 10, 4), }".to_owned();
    head += &" ".repeat(63 - (10 + head.len()) % 64);
    head.push('\n');
    let length = u16::try_from(head.len()).unwrap().to_le_bytes();
    let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &length, head.as_bytes(), &all].concat();
    std::fs::write(path, bytes).unwrap();
    all
}

/// With one action kept behind the first, the plan of the agent is the greedy policy of the folder: all members are the same. Two
/// engines sum float32 in different orders, hence 1e-4.
#[test]
fn an_exported_agent_is_scored_as_it_scores_itself() {
    use ive_agents::evaluation::Observations;
    let dir = Scratch::new("onnx-export");
    let seen = boards(&dir.0.join("boards.npy"));
    for network in ["paper", "relu"] {
        let line = format!(
            "train mu-ive --env minatar:breakout --preset smoke --steps 2000 --greedy-episodes 1 --seed 3 --run runs/{network} \
             --set branching=[6,1,1,1,1] --set network={network} --set value_heads=2"
        );
        let output = dir.ive(&line);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let output = dir.ive(&format!("export {network} {network}-model"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let line = format!("score --model {network}-model --states boards.npy --actions --members 1..5");
        let found = numbers(&scores(&dir, &line)["members"]);
        let (_, mut agent) = ive_lab::load(&dir.0.join("runs").join(network)).unwrap();
        let decisions = agent.answer(Observations::Bytes(&seen), None).unwrap();
        assert_eq!((decisions.len(), found.len()), (30, 5 * 30 * 6));
        for (state, decision) in decisions.iter().enumerate() {
            let action = decision.action[0] as usize;
            for (k, member) in decision.members.as_ref().unwrap().values().iter().enumerate() {
                let pair = found[k * 180 + state * 6 + action];
                let place = format!("{network}, state {state}, k = {}: {pair} {member}", k + 1);
                assert!((pair - member).abs() < 1e-4 * member.abs().max(1.0), "{place}");
            }
        }
    }
    refused(&dir.ive("export paper paper-model"), 64, &["model exists"]);
    refused(&dir.ive("export nothing other"), 64, &["is not a run"]);
    let dqn =
        "train dqn --env minatar:breakout --preset smoke --steps 400 --greedy-episodes 1 --run runs/dqn";
    assert!(dir.ive(dqn).status.success());
    refused(&dir.ive("export dqn other"), 64, &["dqn has no model"]);
    assert!(!dir.0.join("other").exists());
}
