//! Whole sessions with `ive reproduce walker` and its runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use session::{Scratch, json, refused, text};

fn engine() -> bool {
    ive_envs::native::for_tests(ive_envs::native::Package::Mujoco).is_some()
}

/// The files of a finished run that reports need, all but its checkpoints.
const CARRIED: [&str; 4] = ["config.toml", "result.json", "metrics.jsonl", "sessions.jsonl"];

#[test]
fn the_smoke_preset_writes_table_1_and_its_finished_runs_can_be_carried_elsewhere() {
    if !engine() {
        return;
    }
    let dir = Scratch::new("table1");
    let output = dir.ive("reproduce walker --preset smoke --out out");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for word in ["H4", "333 times fewer than the paper's", "fewer than 5 runs of each method", "report.html"]
    {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let part = dir.0.join("out/walker");
    for table in
        ["table1", "table1_learning", "table1_differences", "table1_plans", "table1_cost", "runs", "curves"]
    {
        assert!(part.join(format!("{table}.csv")).metadata().unwrap().len() > 40, "{table}");
    }
    for figure in ["table1_curves", "table1_final", "table1_plans"] {
        for ending in ["svg", "png"] {
            assert!(part.join(format!("{figure}.{ending}")).metadata().unwrap().len() > 1000, "{figure}");
        }
    }
    let summary = json(&part.join("summary.json"));
    assert_eq!((&summary["numbers"]["runs"], &summary["numbers"]["runs_planned"]), (&4.into(), &4.into()));
    let report = std::fs::read_to_string(dir.0.join("out/report.html")).unwrap();
    assert!(!report.contains("NaN"), "what is missing is a dash");

    // Elsewhere: without checkpoints, and without training anything.
    let runs = "walker/runs/walk,eta=0.3";
    for method in ["dreamer", "mu-sigma-ive,beta=0.1,step=0.1"] {
        for seed in 0..2 {
            let name = format!("{runs}/{method}/seed-{seed}");
            let (from, to) = (dir.0.join("out").join(&name), dir.0.join("carried").join(&name));
            std::fs::create_dir_all(&to).unwrap();
            let bytes: u64 =
                CARRIED.map(|file| std::fs::copy(from.join(file), to.join(file)).unwrap()).iter().sum();
            assert!(bytes < 10_000, "{bytes}");
        }
    }
    std::fs::copy(dir.0.join("out/ive.json"), dir.0.join("carried/ive.json")).unwrap();
    let again = dir.ive("reproduce walker --preset smoke --out carried --report-only");
    assert!(again.status.success(), "{}", text(&again.stderr));
    let carried = json(&dir.0.join("carried/walker/summary.json"));
    assert_eq!((&carried["numbers"], &carried["claims"]), (&summary["numbers"], &summary["claims"]));
    // More seeds: what is not there is not made, and the report says so.
    let more = dir.ive("reproduce walker --preset smoke --out carried --seeds 3 --report-only --json");
    assert!(text(&more.stdout).contains("Not complete: 4 of 6 runs"), "{}", text(&more.stderr));
    refused(
        &dir.ive("reproduce walker --preset smoke --out nowhere --report-only"),
        64,
        &["nothing to report"],
    );
}

#[test]
fn odd_starts_are_told_from_ordinary_ones_by_every_score() {
    if !engine() {
        return;
    }
    let dir = Scratch::new("odd-starts");
    let trained = dir.ive("train dreamer --env walker:walk --preset smoke --run r --greedy-episodes 1");
    assert!(trained.status.success(), "{}", text(&trained.stderr));
    let tested = dir.ive("eval r --ood --states 32 --csv scores.csv --plot starts.png --json");
    assert!(tested.status.success(), "{}", text(&tested.stderr));
    let found: serde_json::Value = serde_json::from_slice(&tested.stdout).unwrap();
    let starts = found["starts"]["detections"].as_array().unwrap();
    let names: Vec<_> = starts.iter().map(|start| start["corruption"].as_str().unwrap()).collect();
    assert_eq!(names, ["ordinary again", "air", "joints", "fast"]);
    for start in starts {
        let own: Vec<_> =
            start["further"].as_array().unwrap().iter().map(|s| s["score"].as_str().unwrap()).collect();
        assert_eq!(own, ["σ-IVE of 10 futures", "KL surprise", "reconstruction error"]);
    }
    assert_eq!(
        (found["starts"]["states"].as_u64(), found["starts"]["episodes"].as_u64()),
        (Some(32), Some(4))
    );
    let csv = std::fs::read_to_string(dir.0.join("scores.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.starts_with("start: air,")).count(), 32);
    assert!(dir.0.join("starts.png").metadata().unwrap().len() > 1000);
    let watched = dir.ive("eval r --episodes 1 --plot episode.png --gif episode.gif");
    assert!(watched.status.success(), "{}", text(&watched.stderr));
    let begins = |file: &str, with: &[u8]| std::fs::read(dir.0.join(file)).unwrap().starts_with(with);
    assert!(begins("episode.png", b"\x89PNG") && begins("episode.gif", b"GIF89a"));
}

#[test]
fn methods_and_thresholds_that_do_not_exist_are_refused() {
    let dir = Scratch::new("table1-names");
    let walker = |rest: &str| dir.ive(&format!("reproduce walker --preset smoke {rest}"));
    refused(&walker("--set methods=mu-sigma-ivy"), 78, &["walker.methods", "did you mean mu-sigma-ive"]);
    refused(&walker("--set thresholds=0.3,1.5"), 78, &["walker.thresholds: 1.5 is outside the range 0 to 1"]);
    refused(&walker("--set betas=inf"), 78, &["walker.betas: inf is outside"]);
    refused(&walker("--set task=fly"), 78, &["walker.task: there is no `fly`"]);
    refused(&walker("--set agent_preset=huge"), 78, &["walker, dreamer", "no preset `huge`"]);
    let dry = dir.ive("reproduce walker --preset small --set thresholds=0.5 --set betas=1,10 --dry-run");
    assert!(dry.status.success() && text(&dry.stdout).contains("mu-sigma-emve"), "{}", text(&dry.stderr));
}
