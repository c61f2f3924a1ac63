//! Checkpoints that a released version wrote. Every later version must go on with them to the same result, or refuse them
//! in words.
//!
//! `tests/golden/` holds a run of each agent in the middle. Networks are as large as ever, but of each large tensor all but the
//! first part is zero, and runs of zeros are coded (`unfold`), so that a payload takes some hundred kilobytes. `expected.json` is
//! what the version that wrote the checkpoint made of it.

use std::path::PathBuf;

use ive_agents::{Kind, Tensors};
use serde_json::{Value, json};

use super::*;
use crate::run::journal::Journal;

/// The agents and the steps of their checkpoints.
const AGENTS: [(&str, u64); 2] = [("dqn", 300), ("mu-ive", 320)];
/// Tensors with more numbers than this are thinned, to one in [`THIN`].
const LARGE: usize = 4096;
const THIN: usize = 32;

fn folder(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(agent)
}

/// The bytes of a file in which runs of zeros are coded: again and again a number of zeros, a number of other bytes, and those.
fn unfold(mut coded: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !coded.is_empty() {
        let number = |at: usize| u32::from_le_bytes(coded[at..at + 4].try_into().unwrap()) as usize;
        let (zeros, others) = (number(0), number(4));
        bytes.resize(bytes.len() + zeros, 0);
        bytes.extend_from_slice(&coded[8..8 + others]);
        coded = &coded[8 + others..];
    }
    bytes
}

fn fold(bytes: &[u8]) -> Vec<u8> {
    let (mut coded, mut at) = (Vec::new(), 0);
    let run = |at: usize| bytes[at..].iter().take_while(|&&b| b == 0).count();
    while at < bytes.len() {
        let start = at + run(at);
        let mut end = start;
        // Short runs of zeros are not worth the two numbers.
        while end < bytes.len() && run(end) < 16 {
            end += 1 + run(end);
        }
        let end = end.min(bytes.len());
        coded.extend_from_slice(&u32::try_from(start - at).unwrap().to_le_bytes());
        coded.extend_from_slice(&u32::try_from(end - start).unwrap().to_le_bytes());
        coded.extend_from_slice(&bytes[start..end]);
        at = end;
    }
    coded
}

fn summary(dir: &Path) -> Value {
    let Finished { steps, return_100, greedy, last, state, metrics, .. } = finished(dir).unwrap().unwrap();
    json!({ "steps": steps, "return_100": return_100, "greedy": greedy, "last": last, "state": state,
        "metrics": metrics })
}

/// A run directory as it was when its checkpoint was written.
fn copy(agent: &str, step: u64) -> tempfile::TempDir {
    let (dir, from) = (scratch(), folder(agent));
    fs::create_dir(dir.path().join("checkpoints")).unwrap();
    let checkpoint = format!("checkpoints/{step:012}");
    for name in ["config.toml", METRICS, &format!("{checkpoint}.json")] {
        fs::copy(from.join(name), dir.path().join(name)).unwrap();
    }
    let payload = fs::read(from.join(format!("{checkpoint}.safetensors.folded"))).unwrap();
    fs::write(dir.path().join(format!("{checkpoint}.safetensors")), unfold(&payload)).unwrap();
    dir
}

#[test]
fn checkpoints_of_version_0_1_go_on_to_the_same_result() {
    for (agent, step) in AGENTS {
        let dir = copy(agent, step);
        let plan = Plan::read(dir.path()).unwrap();
        go(dir.path(), &plan, &options()).unwrap().unwrap();
        let expected = fs::read(folder(agent).join("expected.json")).unwrap();
        assert_eq!(summary(dir.path()), serde_json::from_slice::<Value>(&expected).unwrap(), "{agent}");
    }
}

#[test]
fn runs_of_zeros_are_coded_and_come_back() {
    let mut bytes = vec![0; 100];
    bytes.extend([1, 2, 0, 3]);
    bytes.extend([0; 40]);
    for end in 0..=bytes.len() {
        assert_eq!(unfold(&fold(&bytes[..end])), bytes[..end]);
    }
}

fn thinned(mut tensors: Tensors) -> Tensors {
    for stored in tensors.values_mut().filter(|stored| stored.kind == Kind::F32) {
        let numbers = stored.bytes.len() / 4;
        if numbers > LARGE {
            stored.bytes[numbers / THIN * 4..].fill(0);
        }
    }
    tensors
}

/// Writes the files again. Only for a new version of the format, beside those of the old one.
#[test]
#[ignore = "writes tests/golden; not a test"]
fn make_golden_checkpoints() {
    for (agent, step) in AGENTS {
        let (world, preset, steps) = ("minatar:breakout", "smoke", Some(640));
        let (seed, greedy_episodes) = (11, Some(5));
        let request = Request { agent, preset, world, seed, steps, greedy_episodes, ..Request::default() };
        let plan = resolve(&request).unwrap();
        let (dir, disk) = (scratch(), Disk::default());
        let config = plan.clone().settle(dir.path(), &disk).unwrap();
        let mut journal = Journal::open(dir.path(), &disk, None).unwrap();
        let mut trained = agents::make(&plan).unwrap();
        while trained.steps() < step {
            let mut news = Vec::new();
            trained.advance(&mut news).unwrap();
            news.iter().for_each(|each| journal.add(each).unwrap());
        }
        let logs = journal.sync().unwrap();
        let mut checkpoints = Checkpoints::of(dir.path(), &disk);
        let mut state = checkpoints.collect(step, &mut |archive| trained.archive(archive)).unwrap();
        state.tensors = thinned(state.tensors);
        assert!(checkpoints.save(&config, state, logs).is_ok());
        let to = folder(agent);
        fs::create_dir_all(to.join("checkpoints")).unwrap();
        let checkpoint = format!("checkpoints/{step:012}");
        for name in ["config.toml", METRICS, &format!("{checkpoint}.json")] {
            fs::copy(dir.path().join(name), to.join(name)).unwrap();
        }
        let payload = fs::read(dir.path().join(format!("{checkpoint}.safetensors"))).unwrap();
        fs::write(to.join(format!("{checkpoint}.safetensors.folded")), fold(&payload)).unwrap();
        let copied = copy(agent, step);
        go(copied.path(), &plan, &options()).unwrap().unwrap();
        fs::write(to.join("expected.json"), crate::store::pretty(&summary(copied.path()))).unwrap();
    }
}
