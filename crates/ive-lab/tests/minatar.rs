//! Whole sessions with `ive reproduce minatar`.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use session::{Scratch, json, refused, text};

#[test]
fn the_smoke_preset_writes_table_2_and_every_file_it_promises() {
    let dir = Scratch::new("table2");
    let output = dir.ive("reproduce minatar --preset smoke --out out");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for word in ["H6", "Table 2", "1000 times fewer than the paper's", "report.html"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let part = dir.0.join("out/minatar");
    for table in [
        "table2",
        "table2_paired",
        "table2_normalised",
        "table2_overestimation",
        "table2_cost",
        "table2_depths",
        "runs",
        "curves",
    ] {
        assert!(part.join(format!("{table}.csv")).metadata().unwrap().len() > 100, "{table}");
    }
    for figure in ["table2_curves", "table2_final", "table2_predicted", "table2_depths"] {
        for ending in ["svg", "png"] {
            assert!(part.join(format!("{figure}.{ending}")).metadata().unwrap().len() > 1000, "{figure}");
        }
    }
    let summary = json(&part.join("summary.json"));
    assert_eq!((&summary["numbers"]["runs"], &summary["numbers"]["runs_planned"]), (&20.into(), &20.into()));
    assert_eq!(
        summary["numbers"]["games"]["breakout"]["agents"]["mu-ive"]["paper"],
        serde_json::json!([22.0, 0.7])
    );
    let verdicts: Vec<_> = summary["claims"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
    assert!(verdicts.len() == 9 && verdicts.iter().all(|v| *v == "not-decided"), "one seed decides nothing");
    assert!(part.join("runs/space_invaders/vpn-v5/seed-0/result.json").exists());
    let report = std::fs::read_to_string(dir.0.join("out/report.html")).unwrap();
    assert_eq!(report.matches("<figure").count(), 4);
    assert!(!report.contains("NaN"), "what is missing is a dash");
    // What agents have answered about their members needs their checkpoints no more.
    let depths = std::fs::read(part.join("table2_depths.csv")).unwrap();
    for agent in ["dqn", "vpn-v1", "vpn-v5", "mu-ive"] {
        std::fs::remove_dir_all(part.join(format!("runs/breakout/{agent}/seed-0/checkpoints"))).unwrap();
    }
    let again = dir.ive("reproduce minatar --preset smoke --out out --report-only");
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(std::fs::read(part.join("table2_depths.csv")).unwrap(), depths);
}

#[test]
fn games_agents_and_seeds_that_do_not_exist_are_refused() {
    let dir = Scratch::new("table2-names");
    let minatar = |rest: &str| dir.ive(&format!("reproduce minatar --preset smoke {rest}"));
    refused(&minatar("--set games=breakuot"), 78, &["minatar.games", "`breakuot`", "did you mean breakout"]);
    refused(&minatar("--set games=pong"), 78, &["`pong`", "there are asterix, breakout"]);
    refused(&minatar("--set agents=dqn,vpn-v6"), 78, &["minatar.agents", "`vpn-v6`", "vpn-v5"]);
    refused(&minatar("--set agents=dqn,dqn"), 78, &["`dqn` is there twice"]);
    refused(&minatar("--set games="), 78, &["minatar.games: at least one"]);
    assert_eq!(minatar("--seeds 0").status.code(), Some(64));
    refused(&minatar("--set steps=0"), 78, &["minatar.steps: 0 is outside the range 1 to"]);
    refused(&minatar("--set agent_preset=huge"), 78, &["minatar, ", "no preset `huge`"]);
    refused(&dir.ive("reproduce minatr"), 64, &["no experiment `minatr`", "did you mean minatar"]);
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 0, "a refused command writes nothing");
    let all = dir.ive("reproduce --preset smoke --dry-run");
    assert!(!text(&all.stdout).contains("minatar"), "all leaves minatar out");
}

/// Ctrl-C saves what is running; the same command goes on and ends as if nothing had happened. More seeds keep the
/// runs that are there, other steps do not.
#[cfg(unix)]
#[test]
fn an_interrupted_table_goes_on_and_ends_the_same() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let dir = Scratch::new("table2-stop");
    let line = "reproduce minatar --preset smoke --set games=breakout --set agents=vpn-v1,mu-ive --set steps=6000 --seeds 2";
    let mut first =
        dir.command(&format!("{line} --out a")).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let log = dir.0.join("a/minatar/runs/breakout/mu-ive/seed-0/metrics.jsonl");
    let patience = Instant::now();
    while std::fs::read_to_string(&log).map_or(0, |t| t.lines().count()) < 1 {
        assert!(patience.elapsed() < Duration::from_mins(2), "no run began");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut first.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(75), "{said}");
    assert!(said.contains("the same command resumes from there"), "{said}");
    let result = dir.0.join("a/minatar/runs/breakout/mu-ive/seed-0/result.json");
    assert!(!result.exists(), "the run was finished before the stop");

    let again = dir.ive(&format!("{line} --out a"));
    assert!(
        again.status.success() && text(&again.stderr).contains("resumes at step"),
        "{}",
        text(&again.stderr)
    );
    assert!(dir.ive(&format!("{line} --out b")).status.success());
    let summary = |out: &str| {
        let all = json(&dir.0.join(out).join("minatar/summary.json"));
        (all["numbers"].clone(), all["claims"].clone(), all["scale"].clone())
    };
    assert_eq!(summary("a"), summary("b"));
    for file in ["runs.csv", "curves.csv", "table2.csv", "table2_paired.csv", "table2_curves.svg"] {
        let read = |out: &str| std::fs::read(dir.0.join(out).join("minatar").join(file)).unwrap();
        assert_eq!(read("a"), read("b"), "{file}");
    }

    let more = dir.ive(&format!("{line} --out a").replace("--seeds 2", "--seeds 3"));
    assert!(text(&more.stderr).contains("4 of 6 runs are there already"), "{}", text(&more.stderr));
    let other = dir.ive(&format!("{line} --out a").replace("6000", "7000"));
    refused(&other, 64, &["other settings (minatar.steps 6000 → 7000)", "--overwrite"]);
}

/// Runs are independent and each has one thread, so that the number of workers changes nothing but the cost.
#[test]
fn one_and_two_threads_give_the_same_table() {
    let dir = Scratch::new("table2-threads");
    for threads in ["1", "2"] {
        let line = format!(
            "reproduce minatar --preset smoke --set games=seaquest --seeds 2 --threads {threads} --out {threads}"
        );
        assert!(dir.ive(&line).status.success());
    }
    let read = |out: &str, file: &str| std::fs::read(dir.0.join(out).join("minatar").join(file)).unwrap();
    for file in ["runs.csv", "curves.csv", "table2.csv", "table2_paired.csv", "table2_normalised.csv"] {
        assert_eq!(read("1", file), read("2", file), "{file}");
    }
    for agent in ["dqn", "vpn-v1", "vpn-v5", "mu-ive"] {
        // The result holds a hash of the whole final state: weights, optimiser, replay, worlds and generators.
        for file in ["result.json", "metrics.jsonl"] {
            let file = format!("runs/seaquest/{agent}/seed-1/{file}");
            assert_eq!(read("1", &file), read("2", &file), "{file}");
        }
    }
}

#[test]
fn trials_compare_each_change_with_the_base() {
    let dir = Scratch::new("trials");
    let line = "reproduce trials --preset smoke --out out";
    let output = dir.ive(line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = json(&dir.0.join("out/trials/summary.json"));
    assert_eq!(summary["numbers"]["runs"], 6);
    assert_eq!(summary["numbers"]["gain"]["base"][0]["effect"], 0.0, "the base is as good as itself");
    let changed = dir.0.join("out/trials/runs/clip=1e9; learning_rate=1e-4/breakout/seed-0/config.toml");
    let config = std::fs::read_to_string(changed).unwrap();
    assert!(config.contains("learning_rate = 0.0001") && config.contains("clip = 1000000000"), "{config}");
    assert!(dir.0.join("out/trials/trials_gain.png").metadata().unwrap().len() > 1000);
    let more = dir.ive(&format!("{line} --set changes=[\"replay=2\",\"window=5\"]"));
    assert!(text(&more.stderr).contains("4 of 6 runs are there already"), "{}", text(&more.stderr));
    let trials = |rest: &str| dir.ive(&format!("reproduce trials --preset smoke --out other {rest}"));
    refused(&trials("--set changes=replays=1"), 78, &["trials, `replays=1`", "replay"]);
    refused(&trials("--set changes=[\"window=5\",\"window=5\"]"), 78, &["`window=5` is there twice"]);
    refused(&trials("--set changes=replay"), 78, &["`replay`: expected key=value"]);
    refused(&trials("--set games=pong"), 78, &["trials.games: there is no `pong`"]);
    assert!(!dir.0.join("other").exists(), "a refused command writes nothing");
}

/// Reports do not repeat damage: a changed number, a result of another agent, and a lost line of metrics are refused.
#[test]
fn damaged_and_foreign_results_do_not_reach_the_report() {
    let dir = Scratch::new("table2-damage");
    let line = "reproduce minatar --preset smoke --set games=breakout --set agents=dqn,mu-ive --set steps=400 \
                --set random_episodes=10 --out out";
    assert!(dir.ive(line).status.success());
    let run = |agent: &str| dir.0.join("out/minatar/runs/breakout").join(agent).join("seed-0");
    let (result, metrics) = (run("dqn").join("result.json"), run("dqn").join("metrics.jsonl"));
    let good = [&result, &metrics].map(|path| std::fs::read_to_string(path).unwrap());
    let changed = good[0].replacen("\"return_100\": 0.", "\"return_100\": 9.", 1);
    assert_ne!(changed, good[0]);
    std::fs::write(&result, changed).unwrap();
    let fails = |code: i32, words: &[&str]| {
        let output = dir.ive(line);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        words.iter().for_each(|w| assert!(error.contains(w), "`{w}` is not in `{error}`"));
    };
    fails(65, &["breakout/dqn/seed-0", "its checksum differs", "ive runs resume"]);
    std::fs::copy(run("mu-ive").join("result.json"), &result).unwrap();
    fails(78, &["another run than config.toml says", "agent \"mu-ive\" → \"dqn\""]);
    std::fs::write(&result, &good[0]).unwrap();
    let shorter = good[1].trim_end().rsplit_once('\n').unwrap().0;
    std::fs::write(&metrics, format!("{shorter}\n")).unwrap();
    fails(65, &["metrics.jsonl has", "from a copy"]);
    std::fs::write(&metrics, &good[1]).unwrap();
    assert!(dir.ive(line).status.success());
}
