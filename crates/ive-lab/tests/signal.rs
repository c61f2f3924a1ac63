//! Sessions with `ive score`, `ive ood`, `ive calibrate` and `ive guard`, on files that NumPy and PyArrow wrote
//! (`fixtures/signal/make.py`), held against NumPy's numbers.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;
use session::{Scratch, json, refused, text};

fn fixture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/signal").join(name).display().to_string()
}

fn expected(key: &str) -> Value {
    json(&PathBuf::from(fixture("expected.json")))[key].clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(rows) => rows.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn succeeds(dir: &Scratch, line: &str) -> Output {
    let output = dir.ive(line);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    output
}

/// Scores that a command writes as JSON are NumPy's.
fn assert_scores(dir: &Scratch, line: &str, key: &str) {
    succeeds(dir, &format!("score {line} --out s.json"));
    let (found, wanted) = (json(&dir.0.join("s.json")), expected(key));
    for name in ["members", "mean", "std"] {
        let (found, wanted) = (numbers(&found[name]), numbers(&wanted[name]));
        assert_eq!(found.len(), wanted.len(), "{line}: {name}");
        for (f, w) in found.iter().zip(&wanted) {
            assert!((f - w).abs() < 1e-12 * w.abs().max(1.0), "{line}: {name} {f} {w}");
        }
    }
}

fn arrays(rewards: &str, values: &str) -> String {
    format!("--rewards {} --values {}", fixture(rewards), fixture(values))
}

#[test]
fn scores_are_those_of_numpy_whatever_the_file() {
    let dir = Scratch::new("score");
    assert_scores(&dir, &format!("{} --gamma 0.93", arrays("rewards.npy", "values.npy")), "gamma");
    assert_scores(&dir, &format!("{} --gamma 0.93", arrays("rewards32.npy", "values32.npy")), "gamma");
    assert_scores(
        &dir,
        &format!("{} --gamma 0.93 --members 1,3 --ddof 1", arrays("rewards.npy", "values.npy")),
        "some",
    );
    let discounts =
        format!("{} --discounts {}", arrays("rewards.npy", "values.npy"), fixture("discounts.npy"));
    assert_scores(&dir, &discounts, "discounts");
    assert_scores(&dir, &format!("{} --gamma 0.93", fixture("stored.npz")), "gamma");
    assert_scores(&dir, &fixture("compressed.npz"), "discounts");
    assert_scores(&dir, &format!("{} --gamma 0.93", fixture("log.csv")), "gamma");
    if cfg!(feature = "parquet") {
        assert_scores(&dir, &format!("{} --gamma 0.93", fixture("log.snappy.parquet")), "gamma");
    }
    // A reward for each state, of which the first is not the value's.
    let states = format!("{} --gamma 0.93 --convention transition", arrays("states.npy", "values.npy"));
    assert_scores(&dir, &states, "gamma");
}

/// What one command writes another reads, in every format, and the same scores come out.
#[test]
fn every_format_that_is_written_is_read() {
    let dir = Scratch::new("formats");
    let input = format!("{} --gamma 0.93", fixture("stored.npz"));
    let mut seen = Vec::new();
    for name in ["s.npz", "s.csv", "s.parquet"] {
        if name == "s.parquet" && !cfg!(feature = "parquet") {
            continue;
        }
        succeeds(&dir, &format!("score {input} --out {name}"));
        let report = succeeds(&dir, &format!("ood --in {name} --out {name} --json"));
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let scores = report["scores"].as_array().unwrap();
        let labels: Vec<&str> = scores.iter().map(|s| s["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["σ-IVE", "σ/|μ|", "low value", "rnd"], "{name}");
        assert_eq!(report["inside"]["episodes"], 3);
        seen.push(report["scores"].clone());
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:?}");
    // CSV on standard output, pictures of both kinds.
    let csv = succeeds(&dir, &format!("score {input} --out -"));
    assert!(
        text(&csv.stdout)
            .starts_with("state,member_0,member_1,member_2,member_3,mean,std,relative,episode,rnd\n0,")
    );
    succeeds(&dir, &format!("score {input} --plot p.png"));
    succeeds(&dir, &format!("score {input} --plot p.svg"));
    assert!(std::fs::read(dir.0.join("p.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(std::fs::read(dir.0.join("p.svg")).unwrap().starts_with(b"<svg"));
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let dir = Scratch::new("misfit");
    let refused = |line: &str, code, words: &[&str]| refused(&dir.ive(&format!("score {line}")), code, words);
    let good = arrays("rewards.npy", "values.npy");
    refused(&good, 64, &["say --gamma"]);
    refused(
        &format!("{good} --gamma 0.9 --discounts {}", fixture("discounts.npy")),
        64,
        &["contain γ already"],
    );
    refused(&format!("{good} --gamma 0.9 --members 0..4"), 64, &["there are predictions for k=0..3"]);
    refused(
        &format!("{good} --gamma 0.9 --out s.txt"),
        64,
        &["does not end in .npz, .csv, .parquet or .json"],
    );
    refused(&format!("{} --gamma 0.9", arrays("big_endian.npy", "values.npy")), 65, &["big endian"]);
    refused(&format!("{} --gamma 0.9", arrays("objects.npy", "values.npy")), 65, &["Python objects"]);
    refused(
        &format!("{} --gamma 0.9", arrays("values.npy", "values.npy")),
        65,
        &["Say which belongs to the value"],
    );
    refused(
        &format!("{} --gamma 0.9", arrays("values.npy", "rewards.npy")),
        65,
        &["one value more than rewards"],
    );
    refused("nowhere.npz --gamma 0.9", 74, &["cannot read nowhere.npz"]);
    refused(&format!("{} --gamma 0.9", fixture("make.py")), 65, &["does not hold the columns value_0"]);
    refused(
        &format!("{} --gamma 0.9", fixture("rewards.npy")),
        64,
        &["name two with --rewards and --values"],
    );
    if cfg!(feature = "parquet") {
        refused(&format!("{} --gamma 0.9", fixture("log.zstd.parquet")), 65, &["compression=\"snappy\""]);
    }
    std::fs::write(dir.0.join("nan.csv"), "value_0,value_1,reward_1\n1,2,3\n1,nan,3\n").unwrap();
    refused("nan.csv --gamma 0.9", 65, &["state 1: the value at k = 1 is NaN, not a finite number"]);
    std::fs::write(dir.0.join("word.csv"), "value_0,value_1,reward_1,action\n1,two,3,left\n").unwrap();
    refused("word.csv --gamma 0.9", 65, &["line 2 has `two` for `value_1`, which is no number"]);
    std::fs::write(dir.0.join("taken.csv"), "value_0,value_1,reward_1,state,member_0\n1,2,3,4,5\n").unwrap();
    refused("taken.csv --gamma 0.9", 65, &["come with `member_0`, a name that results have; rename it"]);
    std::fs::write(dir.0.join("names.csv"), "value_0,value_1,reward_1,episode\n1,2,3,ep0\n").unwrap();
    refused("names.csv --gamma 0.9", 65, &["line 2 has `ep0` for `episode`, which is no number"]);
    std::fs::write(dir.0.join("short.csv"), "value_0,id\n1,2\n").unwrap();
    refused("short.csv --gamma 0.9", 65, &["σ is the spread of two members or more"]);
    let one = dir.ive(&format!("score {good} --gamma 0.9 --members 2"));
    assert_eq!(one.status.code(), Some(64));
    assert!(text(&one.stderr).contains("`2` is one member, and σ is the spread of two or more"));
    refused(
        &format!("{good} --gamma 0.9 --convention state"),
        65,
        &["a reward for each step", "leave it out"],
    );
    refused(&format!("{good} --gamma 0.9 --plot s.foo"), 64, &["s.foo does not end in .png or .svg"]);
    // Nothing was written.
    assert!(!dir.0.join("s.json").exists());
}

/// What is read is never written to, whatever it is called, and stays as it was.
#[test]
fn inputs_are_not_overwritten() {
    let dir = Scratch::new("spared");
    for name in ["rewards.npy", "stored.npz"] {
        std::fs::copy(fixture(name), dir.0.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("stored.npz", dir.0.join("link.npz")).unwrap();
    let before = std::fs::read(dir.0.join("stored.npz")).unwrap();
    for out in ["stored.npz", "./stored.npz", "link.npz"] {
        let line = format!("score stored.npz --gamma 0.93 --out {out}");
        refused(&dir.ive(&line), 64, &["--out would replace stored.npz, which is read"]);
    }
    refused(&dir.ive("score link.npz --gamma 0.93 --out stored.npz"), 64, &["--out would replace link.npz"]);
    assert_eq!(std::fs::read(dir.0.join("stored.npz")).unwrap(), before);
}

/// Messages say what a file has, and what to do.
#[test]
fn files_that_do_not_fit_are_described() {
    let dir = Scratch::new("described");
    let column = |name: &str, text: &str| std::fs::write(dir.0.join(name), text).unwrap();
    column("names.csv", "rew,val\n1,2\n");
    refused(&dir.ive("score names.csv --gamma 0.9"), 65, &["it has rew, val"]);
    column("text.npy", "hello");
    refused(&dir.ive("score text.npy --gamma 0.9"), 65, &["does not begin as its ending says"]);
    // Zeros of 4 states and 2 steps, with the states first.
    for (name, width) in [("r.npy", 2), ("v.npy", 3)] {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': (4, {width}), }}");
        let header = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(header.bytes().chain(vec![0; 8 * 4 * width]));
        std::fs::write(dir.0.join(name), bytes).unwrap();
    }
    refused(&dir.ive("score --rewards r.npy --values v.npy --gamma 0.9"), 65, &["the other way round"]);
}

fn example(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    succeeds(&dir, "score --example logs");
    dir
}

#[test]
fn the_example_shows_what_a_guard_does() {
    let dir = example("guard");
    let said = succeeds(&dir, "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o guard.json");
    assert!(text(&said.stdout).contains("At most 10 % of ordinary episodes"), "{}", text(&said.stdout));
    let guard = json(&dir.0.join("guard.json"));
    assert_eq!((guard["guard"]["n"].as_u64(), guard["guard"]["unit"].as_str()), (Some(200), Some("episode")));
    assert_eq!(guard["provenance"]["blake3"].as_str().unwrap().len(), 64);
    let episodes = |file: &str| {
        let output = dir.ive(&format!("guard guard.json --scores {file} --json"));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        let named = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["episode"].as_i64().unwrap());
        named.collect::<std::collections::BTreeSet<i64>>().len()
    };
    let (ordinary, shifted) = (episodes("logs/ordinary.npz"), episodes("logs/shifted.npz"));
    // With 200 held-out episodes the rate of this guard is below 0.194 with probability 1 − 10⁻⁴ (Beta(20, 181)); of 200 new
    // ones, more than 61 alarms then have a probability below 10⁻⁴. Seven of ten shifted walks reach the unknown cell.
    assert!(ordinary <= 61 && shifted > 100, "{ordinary} and {shifted} of 200");
    let stopped = dir.ive("guard guard.json --scores logs/shifted.npz --stop");
    assert_eq!(text(&stopped.stdout).lines().count(), 1);
    assert!(text(&stopped.stdout).starts_with("alarm at state "));
}

#[test]
fn scores_are_judged_as_they_come() {
    let dir = Scratch::new("lines");
    let scores: String = (1..=99).map(|i| format!("{i}\n")).collect();
    std::fs::write(dir.0.join("held.csv"), format!("std\n{scores}")).unwrap();
    succeeds(&dir, "calibrate held.csv --rate 0.01 -o g.json");
    let ask = |line: &str, input: &str| {
        let mut child = dir
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    let quiet = ask("guard g.json", "1\n99\n\n{\"std\": 5, \"episode\": 3}\n");
    assert_eq!((quiet.status.code(), quiet.stdout.len()), (Some(0), 0), "{}", text(&quiet.stderr));
    let alarms = ask("guard g.json", "1\n99.5\nnan\n{\"std\": 1e3, \"episode\": 7}\n");
    assert_eq!(alarms.status.code(), Some(1));
    assert_eq!(
        text(&alarms.stdout),
        "alarm at state 1: 99.50 > 99.00\nalarm at state 2: NaN, not finite\nalarm at state 3, episode 7: 1000 > 99.00\n"
    );
    let stopped = ask("guard g.json --stop --json", "1\n100\n101\n");
    assert_eq!(text(&stopped.stdout), "{\"episode\":null,\"score\":100.0,\"state\":1,\"threshold\":99.0}\n");
    refused(&ask("guard g.json", "1\nhigh\n"), 65, &["line 2 of standard input: `high` is no number"]);
    refused(&dir.ive("guard held.csv"), 65, &["is no guard of `ive calibrate`"]);
    // A guard on scores does not know how predictions were scored.
    let predictions = fixture("stored.npz");
    refused(&dir.ive(&format!("guard g.json --scores {predictions}")), 64, &["score the file first"]);
    refused(&dir.ive("calibrate held.csv --rate 0.001 -o x.json"), 65, &["at least 999 are needed, got 99"]);
    refused(&dir.ive("calibrate held.csv --rate 0.01 --per episode -o x.json"), 64, &["no array `episode`"]);
    refused(
        &dir.ive("calibrate held.csv --rate 2 -o x.json"),
        64,
        &["--rate: false-alarm rate: 2 is not between 0 and 1"],
    );
    refused(
        &dir.ive("calibrate held.csv --rate 0.01 --score rnd -o x.json"),
        64,
        &["has no `rnd`, only std"],
    );
    assert!(!dir.0.join("x.json").exists());
}

#[test]
fn shifted_states_of_the_example_are_found() {
    let dir = example("ood");
    let line = "ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9 --replicates 200";
    let report: Value =
        serde_json::from_slice(&succeeds(&dir, &format!("{line} --json --plot roc.png")).stdout).unwrap();
    let sigma = &report["scores"][0];
    assert_eq!(sigma["label"], "σ-IVE");
    let area = &sigma["detection"]["auroc"];
    let interval = numbers(&area["interval"]);
    assert!(
        interval[0] < area["value"].as_f64().unwrap() && area["value"].as_f64().unwrap() < interval[1],
        "{area}"
    );
    assert!(interval[0] > 0.5, "{area}");
    assert_eq!(report["outside"]["episodes"], 200);
    assert!(sigma["aurc"]["value"].as_f64().unwrap() < report["mean_error"].as_f64().unwrap());
    let shown = text(&succeeds(&dir, line).stdout);
    assert!(shown.contains("by resampling whole episodes") && shown.contains("risk–coverage"), "{shown}");
    assert!(std::fs::read(dir.0.join("roc.png")).unwrap().starts_with(b"\x89PNG"));
    // The same seed, the same intervals.
    assert_eq!(
        report,
        serde_json::from_slice::<Value>(&succeeds(&dir, &format!("{line} --json")).stdout).unwrap()
    );
}
