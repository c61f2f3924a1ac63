//! Looking at trained agents, through the command as users have it.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use session::{Scratch, json, refused, text};

/// A run of a second or so that learns next to nothing.
fn train(dir: &Scratch, agent: &str, run: &str) {
    let line = format!(
        "train {agent} --env minatar:breakout --preset smoke --steps 400 --greedy-episodes 3 --seed 7 --run {run}"
    );
    let output = dir.ive(&line);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A CSV file as rows of named cells.
fn csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        assert_eq!(line.split(',').count(), head.len());
        head.iter().zip(line.split(',')).map(|(k, v)| ((*k).to_owned(), v.to_owned())).collect()
    };
    lines.map(row).collect()
}

fn number(row: &BTreeMap<String, String>, key: &str) -> f64 {
    row[key].parse().unwrap()
}

fn json_of(dir: &Scratch, line: &str) -> serde_json::Value {
    let output = dir.ive(line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}: {}", text(&output.stderr)))
}

#[test]
fn steps_sums_and_statistics_agree() {
    let dir = Scratch::new("eval");
    train(&dir, "mu-ive", "runs/it");
    let files = "--csv out/steps.csv --plot out/episode.png --gif out/episode.gif";
    let shown = dir.ive(&format!("eval it --epsilon 0.2 {files}"));
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let shown = text(&shown.stdout);
    for word in ["k=1..5", "μ-IVE", "σ-IVE", "realised", "after 400 steps of training"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let rows = csv(&dir.0.join("out/steps.csv"));
    let total: f64 = rows.iter().map(|row| number(row, "reward")).sum();
    assert!(shown.contains(&format!("return {total}, length {},", rows.len())), "{shown}");
    let mut later = 0.0;
    for row in rows.iter().rev() {
        let members: Vec<f64> = (1..=5).map(|k| number(row, &format!("member_{k}"))).collect();
        let mu = members.iter().sum::<f64>() / 5.0;
        let sigma = (members.iter().map(|m| (m - mu).powi(2)).sum::<f64>() / 5.0).sqrt();
        assert!((number(row, "mu") - mu).abs() < 1e-12 && (number(row, "sigma") - sigma).abs() < 1e-12);
        assert!((number(row, "value") - mu).abs() < 1e-5, "μ-IVE chooses by the mean of its members");
        later = number(row, "reward") + 0.99 * later;
        assert!((number(row, "realised") - later).abs() < 1e-12);
    }
    let begins = |file: &str, with: &[u8]| std::fs::read(dir.0.join(file)).unwrap().starts_with(with);
    assert!(begins("out/episode.png", b"\x89PNG") && begins("out/episode.gif", b"GIF89a"));
    // The board is square; the strips of μ and σ lie below it.
    let gif = std::fs::read(dir.0.join("out/episode.gif")).unwrap();
    let side = |at: usize| u16::from_le_bytes([gif[at], gif[at + 1]]);
    assert!(side(6) == 240 && side(8) > 300, "{} × {}", side(6), side(8));
    let files = std::fs::read_dir(dir.0.join("out")).unwrap().count();
    assert_eq!(files, 3, "no temporary files are left");
}

/// Without a seed the episodes are the greedy ones of the run; with one they are others, but always the same.
#[test]
fn episodes_are_those_of_the_result_and_of_their_seed() {
    let dir = Scratch::new("eval-episodes");
    for agent in ["vpn-v1", "dqn"] {
        train(&dir, agent, agent);
        let line = format!("eval {agent} --episodes 3 --json");
        let seen = json_of(&dir, &line);
        let returns: Vec<f64> =
            seen["episodes"].as_array().unwrap().iter().map(|e| e["return"].as_f64().unwrap()).collect();
        assert_eq!(serde_json::json!(returns), json(&dir.0.join(agent).join("result.json"))["greedy"]);
        let other = json_of(&dir, &format!("{line} --seed 9 --epsilon 0.5"));
        assert_eq!(other, json_of(&dir, &format!("{line} --seed 9 --epsilon 0.5")));
        assert_ne!(other["summary"], seen["summary"]);
    }
    // A plan of one step has a full ensemble all the same; an agent without a model has none, and says so.
    assert_eq!(json_of(&dir, "eval vpn-v1 --json")["members"], "k=1..5");
    let shown = text(&dir.ive("eval dqn --episodes 2 --csv dqn.csv --plot dqn.png").stdout);
    assert!(shown.contains("dqn has no model") && !shown.contains("mean σ"), "{shown}");
    assert!(shown.contains("(2 episodes;") && shown.contains("± error"), "{shown}");
    let wide = text(&dir.ive("eval vpn-v1 --episodes 3").stdout);
    assert!(wide.lines().all(|line| line.chars().count() <= 80), "wider than 80 columns:\n{wide}");
    assert!(wide.contains("predicted") && wide.contains("mean σ"), "{wide}");
    assert!(!csv(&dir.0.join("dqn.csv"))[0].contains_key("sigma"));
    assert!(dir.0.join("dqn.png").exists());
}

/// k = 0 is left out unless somebody asks for it, and the output says why.
#[test]
fn members_are_those_asked_for() {
    let dir = Scratch::new("eval-members");
    train(&dir, "mu-ive", "it");
    let usual = dir.ive("eval it --csv usual.csv");
    let words = |output: &Output| text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "k = 0 is left out, because a value prediction network never trains the value";
    assert!(words(&usual).contains(why), "{}", words(&usual));
    let all = dir.ive("eval it --members 0..5 --csv all.csv");
    assert!(words(&all).contains("over the members k=0..5"), "{}", words(&all));
    let (usual, all) = (csv(&dir.0.join("usual.csv")), csv(&dir.0.join("all.csv")));
    assert!(!usual[0].contains_key("member_0") && usual.len() == all.len());
    for (a, b) in usual.iter().zip(&all) {
        (1..=5).for_each(|k| assert_eq!(a[&format!("member_{k}")], b[&format!("member_{k}")]));
        let mu = (0..=5).map(|k| number(b, &format!("member_{k}"))).sum::<f64>() / 6.0;
        assert!((number(b, "mu") - mu).abs() < 1e-12);
    }
    refused(&dir.ive("eval it --members 1..9"), 64, &["trained to predict 5 steps", "k=0..5, not k=1..9"]);
    train(&dir, "dqn", "dqn");
    refused(&dir.ive("eval dqn --members 0..5"), 64, &["this agent has no model"]);
}

#[test]
fn corrupted_states_get_a_table_with_intervals_scores_and_a_picture() {
    let dir = Scratch::new("eval-ood");
    train(&dir, "vpn-v5", "v5");
    let found = json_of(&dir, "eval v5 --ood --states 40 --json --csv scores.csv --plot detectors.png");
    assert_eq!((&found["states"], &found["members"]), (&40.into(), &"k=1..5".into()));
    let detections = found["detections"].as_array().unwrap();
    assert_eq!(detections.len(), 7);
    for one in detections {
        let [sigma, relative, low] =
            ["sigma", "sigma_over_mu", "low_value"].map(|key| one[key].as_f64().unwrap());
        assert!([sigma, relative, low].iter().all(|area| (0.0..=1.0).contains(area)), "{one}");
        assert!(one["better"].is_null() || (one["better"] == "sigma") == (sigma > low), "{one}");
        let [from, to] = [0, 1].map(|end| one["sigma_interval"][end].as_f64().unwrap());
        assert!(from <= sigma && sigma <= to, "{one}");
    }
    assert_eq!(found, json_of(&dir, "eval v5 --strange --states 40 --json"), "the old name does the same");
    let scores = csv(&dir.0.join("scores.csv"));
    assert_eq!(scores.len(), 8 * 40);
    let of = |name: &str| -> Vec<f64> {
        scores.iter().filter(|row| row["corruption"] == name).map(|row| number(row, "sigma")).collect()
    };
    let (ordinary, empty) = (of("none"), of("empty board"));
    let wins = |&x: &f64| {
        ordinary.iter().map(|&y| if x == y { 0.5 } else { f64::from(u8::from(x > y)) }).sum::<f64>()
    };
    let area = empty.iter().map(wins).sum::<f64>() / 1600.0;
    assert!((area - detections[6]["sigma"].as_f64().unwrap()).abs() < 1e-12, "the scores give the AUROC");
    assert!(std::fs::read(dir.0.join("detectors.png")).unwrap().starts_with(b"\x89PNG"));
    let shown = text(&dir.ive("eval v5 --ood --states 40").stdout);
    for word in ["two states merged", "σ-IVE", "σ/|μ|", "low value", "AUROC", "mean σ", "*", "episodes"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "wider than 80 columns:\n{shown}");
}

#[test]
fn agents_play_their_own_world() {
    let dir = Scratch::new("eval-play");
    train(&dir, "dqn", "runs/it");
    let played = dir.ive("play minatar:breakout --policy it --sticky 0 --steps 20 --gif it.gif --scale 4");
    assert!(text(&played.stdout).contains("steps: 20"), "{}", text(&played.stderr));
    assert!(std::fs::read(dir.0.join("it.gif")).unwrap().starts_with(b"GIF89a"));
    let cases = [
        (
            "play minatar:asterix --policy it --gif x.gif",
            "runs/it plays minatar:breakout, not minatar:asterix",
        ),
        (
            "play minatar:breakout --policy absent --gif x.gif",
            "keyboard, random or a run: absent is not a run",
        ),
        ("play minatar:breakout --policy it --gif x.gif -o actions=minimal", "trained with other actions"),
        ("play minatar:breakout --policy it", "playing needs a terminal"),
    ];
    for (line, words) in cases {
        refused(&dir.ive(line), 64, &[words]);
    }
    assert!(!dir.0.join("x.gif").exists());
}

#[test]
fn what_is_no_run_or_no_place_for_a_file_is_refused() {
    let dir = Scratch::new("eval-errors");
    train(&dir, "dqn", "it");
    std::fs::create_dir(dir.0.join("empty")).unwrap();
    let cases = [
        ("eval absent", 64, "absent is not a run: it does not exist"),
        ("eval empty", 64, "empty is not a run: it has no config.toml"),
        ("eval it/result.json", 64, "it/result.json is not a run"),
        ("eval it --plot it.svg", 64, "--plot: it.svg does not end in .png"),
        ("eval it --csv empty", 64, "--csv: empty is a directory"),
        ("eval it --csv it/config.toml/x", 74, "cannot look at it/config.toml"),
    ];
    for (line, code, words) in cases {
        refused(&dir.ive(line), code, &[words]);
    }
    for line in
        ["eval it --episodes 0", "eval it --epsilon 1.5", "eval it --states 9", "eval it --ood --gif x"]
    {
        assert_eq!(dir.ive(line).status.code(), Some(64), "{line}");
    }
    // A run that has only begun, then one whose checkpoints are damaged, then one whose settings are.
    let copy = |to: &str| {
        std::fs::create_dir(dir.0.join(to)).unwrap();
        std::fs::copy(dir.0.join("it/config.toml"), dir.0.join(to).join("config.toml")).unwrap();
    };
    copy("begun");
    refused(&dir.ive("eval begun"), 64, &["begun has no checkpoint yet"]);
    for entry in std::fs::read_dir(dir.0.join("it/checkpoints")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "safetensors") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let damaged = dir.ive("eval it");
    assert_eq!(damaged.status.code(), Some(65));
    assert!(text(&damaged.stderr).contains("is good (see above)"), "{}", text(&damaged.stderr));
    copy("broken");
    std::fs::write(dir.0.join("broken/config.toml"), "agent = 3").unwrap();
    refused(&dir.ive("eval broken"), 65, &["broken/config.toml is damaged"]);
}

/// From ordinary episodes to a guard, and from the guard to a fallback.
#[test]
fn a_guard_of_ordinary_episodes_watches_shifted_ones() {
    let dir = Scratch::new("eval-guard");
    train(&dir, "mu-ive", "runs/it");
    assert!(dir.ive("eval it --episodes 9 --csv ordinary.csv").status.success());
    let made = dir.ive("calibrate ordinary.csv --score sigma --rate 0.1 -o guard.json");
    assert!(made.status.success(), "{}", text(&made.stderr));
    // The threshold is the largest σ of all: in the same episodes there is no alarm.
    let usual = json_of(&dir, "eval it --episodes 9 --guard guard.json --fallback left --json");
    assert_eq!(usual["summary"]["alarms"]["mean"], 0.0);
    let shifted = "eval it --episodes 9 --option sticky=0.5 --seed 3 --guard guard.json --fallback left --csv shifted.csv";
    assert!(dir.ive(shifted).status.success());
    for row in csv(&dir.0.join("shifted.csv")) {
        assert_eq!(row["alarm"], row["fallback"]);
        assert!(row["fallback"] == "0" || row["action"] == "left");
    }
    refused(
        &dir.ive("eval it --guard guard.json --fallback jump"),
        64,
        &["--fallback", "there is no action `jump`"],
    );
    refused(&dir.ive("eval it --option sticky=2"), 64, &["sticky"]);
    refused(&dir.ive("eval it --corrupt fog"), 64, &["--corrupt", "empty board"]);
    let value = dir.ive("calibrate ordinary.csv --score realised --rate 0.1 -o other.json");
    assert!(value.status.success());
    refused(&dir.ive("eval it --guard other.json"), 64, &["judges `realised`"]);
}
