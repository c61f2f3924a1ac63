//! `ive reproduce procgen` as a user runs it: its files, and what becomes of them when work is lost. Skipped where the library of Procgen cannot be had.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use std::path::Path;
use std::process::{Command, Output};

fn reproduce(out: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ive"));
    command.args(["reproduce", "procgen", "--preset", "smoke", "--seeds", "1", "--json", "--out"]).arg(out);
    command.args(["--set", "levels=[3]", "--set", "steps=256", "--set", "controls=warm-up"]);
    command.args(more).output().unwrap()
}

/// Whether it worked; false where the library cannot be had.
fn worked(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(74) && std::env::var_os("IVE_REQUIRE_NATIVE").is_none() {
        eprintln!("skipped: {said}");
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

#[test]
fn lost_and_damaged_evaluations_are_made_again_bit_by_bit() {
    let dir = tempfile::tempdir().unwrap();
    let first = reproduce(dir.path(), &[]);
    if !worked(&first) {
        return;
    }
    let run = dir.path().join("procgen/runs/fruitbot/3-levels/prior/seed-0/evaluation");
    let files = ["seen", "unseen", "random-seen", "random-unseen"].map(|set| run.join(format!("{set}.json")));
    let before: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    let table = std::fs::read(dir.path().join("procgen/runs.csv")).unwrap();

    std::fs::remove_file(&files[0]).unwrap();
    let mut damaged = before[1].clone();
    damaged[200] ^= 1;
    std::fs::write(&files[1], damaged).unwrap();
    let again = reproduce(dir.path(), &[]);
    assert!(again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("unseen.json is damaged"));
    let after: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(before == after && std::fs::read(dir.path().join("procgen/runs.csv")).unwrap() == table);

    // Other readings of the same runs.
    let heads = reproduce(dir.path(), &["--set", "ablation=heads"]);
    assert!(heads.status.success() && String::from_utf8_lossy(&heads.stdout).contains("σ-EVE"));
}

/// Figs. 13 and 14 in their smallest form. The plain agent of both is one run; what is evaluated again gives the same bytes.
#[test]
fn agents_act_on_their_signal_in_training_and_in_evaluation() {
    let dir = tempfile::tempdir().unwrap();
    let few = ["--set", "optimism_levels=[3]", "--set", "pessimism_levels=[3]"];
    let optimism = reproduce(dir.path(), &[&few[..], &["--set", "ablation=optimism"]].concat());
    if !worked(&optimism) {
        return;
    }
    let root = dir.path().join("procgen");
    let runs = root.join("runs/fruitbot/3-levels");
    let mut names: Vec<String> =
        std::fs::read_dir(&runs).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "logit-eve-jsd-increasing-n2-b1",
            "logit-jsd-increasing-n5-b1",
            "prior",
            "probability-sigma-n3-b0.1"
        ]
    );
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    // Four agents, four sets of states each.
    assert_eq!(read("optimism_runs.csv").lines().count(), 1 + 4 * 4);
    assert!(read("figure13.csv").contains("z + 1 d inc, n = 5"));
    assert!(root.join("figure13.png").exists() && root.join("figure13_training.png").exists());
    assert!(!root.join("figure13_gain.png").exists(), "no pair has learned");
    let plain = std::fs::read(runs.join("prior/seed-0/result.json")).unwrap();

    let pessimism = || reproduce(dir.path(), &[&few[..], &["--set", "ablation=pessimism"]].concat());
    assert!(worked(&pessimism()));
    assert_eq!(
        std::fs::read(runs.join("prior/seed-0/result.json")).unwrap(),
        plain,
        "the same agent, not changed"
    );
    // β = 0, 0.3, 1 and 3, on training and on unseen levels.
    let table = read("pessimism_runs.csv");
    assert_eq!(table.lines().count(), 1 + 4 * 2);
    assert!(root.join("figure14.png").exists() && root.join("figure14_gain.png").exists());
    let file = runs.join("prior/seed-0/evaluation/unseen-logit-jsd-increasing-n5-b-3.json");
    let before = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(worked(&pessimism()));
    assert!(std::fs::read(&file).unwrap() == before && read("pessimism_runs.csv") == table);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    for (change, words) in [
        ("games=fruitbt", "fruitbot"),
        ("games=maze", "there is no `maze`"),
        ("levels=[1000001]", "procgen.levels"),
        ("levels=[]", "at least one"),
        ("levels=[5, 5]", "twice"),
        ("ablation=head", "heads"),
        ("ablation=optimist", "optimism"),
        ("optimists=logit:sigma:5", "space:signal:n:β"),
        ("optimists=probability:sigma:5:1.5", "between 0 and 1"),
        ("optimists=logit:sigma:0:1", "at least 2"),
        ("optimists=logit:eve-sigma:3:1", "value_heads"),
        ("pessimism_signal=eve-sigma", "value_heads"),
        ("pessimism_betas=[nan]", "pessimism_betas"),
        ("pessimism_depth=1", "pessimism_depth"),
        ("pessimism_judged=7", "one of pessimism_betas"),
        ("mode=extreme", "there is no `extreme`"),
        ("base=prior=-1", "prior"),
    ] {
        let refused = reproduce(&out, &["--set", change]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(words), "{change}: {said}");
    }
    assert!(!out.exists());
}
