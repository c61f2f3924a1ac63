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

#[test]
fn lost_and_damaged_evaluations_are_made_again_bit_by_bit() {
    let dir = tempfile::tempdir().unwrap();
    let first = reproduce(dir.path(), &[]);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    if first.status.code() == Some(74) && std::env::var_os("IVE_REQUIRE_NATIVE").is_none() {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(first.status.success(), "{said}");
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
        ("mode=extreme", "there is no `extreme`"),
        ("base=prior=-1", "prior"),
    ] {
        let refused = reproduce(&out, &["--set", change]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(words), "{change}: {said}");
    }
    assert!(!out.exists());
}
