//! Whole sessions with the `ive` command, as a user has them.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use session::{Scratch, json, refused, text};

const QUICK: &str = "--set epochs=20 --set steps=10 --set sensitivity_seeds=2 --set sensitivity_sgd_seeds=1";

#[test]
fn all_experiments_write_a_report_and_every_file_it_promises() {
    let dir = Scratch::new("all");
    let output = dir.ive("reproduce --preset smoke --out out");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for word in ["H1", "H2", "H4", "H5", "Fig. 1", "verdict", "report.html"] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
    let files = [
        "report.html",
        "toy/toy.svg",
        "toy/toy.png",
        "toy/toy_sigma.csv",
        "maps/maps.svg",
        "maps/maps_all_seed.png",
        "maps/maps_all_mean.svg",
        "maps/maps_detection.csv",
        "reaching/reaching.svg",
        "reaching/reaching_curves.csv",
        "reaching/reaching_paired.csv",
        "reaching/reaching_sensitivity.csv",
    ];
    for file in files {
        assert!(dir.0.join("out").join(file).metadata().unwrap().len() > 100, "{file}");
    }
    for name in ["toy", "maps", "reaching"] {
        let summary = json(&dir.0.join("out").join(name).join("summary.json"));
        assert_eq!(summary["experiment"], name);
        for key in ["scale", "claims", "numbers", "provenance"] {
            assert!(!summary[key].is_null(), "{name}: {key}");
        }
    }
    let report = std::fs::read_to_string(dir.0.join("out/report.html")).unwrap();
    assert_eq!(report.matches("<figure").count(), 5);
    for fetch in ["src=\"", "href=\"http", "url(http", "@import"] {
        assert!(!report.contains(fetch), "the report must fetch nothing, but has {fetch}");
    }
}

/// The number of threads changes no bit, and a second run of the same command uses what is there.
#[test]
fn results_do_not_depend_on_threads_and_are_used_again() {
    let dir = Scratch::new("threads");
    for threads in [1, 2] {
        let output = dir
            .ive(&format!("reproduce reaching --preset smoke {QUICK} --threads {threads} --out t{threads}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let seeds = |n: u8| {
        let file = std::fs::read_to_string(dir.0.join(format!("t{n}/reaching/seeds.jsonl"))).unwrap();
        let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(seeds(1), seeds(2));
    assert_eq!(
        json(&dir.0.join("t1/reaching/summary.json"))["numbers"],
        json(&dir.0.join("t2/reaching/summary.json"))["numbers"]
    );
    let again = dir.ive(&format!("reproduce reaching --preset smoke {QUICK} --out t1"));
    assert!(text(&again.stderr).contains("4 of 4 seeds are there already"), "{}", text(&again.stderr));
}

#[test]
fn names_and_settings_that_do_not_exist_are_refused_with_the_nearest() {
    let dir = Scratch::new("names");
    refused(&dir.ive("reproduce mapps"), 64, &["no experiment `mapps`", "did you mean maps"]);
    refused(&dir.ive("reproduce maps --set epochz=3"), 78, &["no setting `epochz`", "did you mean epochs"]);
    refused(&dir.ive("reproduce maps --set toy.steps=3"), 78, &["no experiment `toy` takes part"]);
    refused(&dir.ive("reproduce maps --set epochs=0"), 78, &["maps.epochs: 0 is outside the range 1 to"]);
    refused(
        &dir.ive("reproduce maps --set discount=1.5"),
        78,
        &["maps.discount: 1.5 is outside the range 0 to 0.999"],
    );
    refused(&dir.ive("reproduce maps --set epochs=many"), 78, &["maps.epochs: `many` is not a"]);
    refused(&dir.ive("reproduce maps --set learner=adam"), 78, &["maps:", "adam"]);
    refused(
        &dir.ive("reproduce reaching --set k_min=5"),
        78,
        &["reaching.k_min: 5 is outside the range 0 to 4"],
    );
    refused(&dir.ive("reproduce maps --seeds 0"), 78, &["maps.seeds: 0 is outside the range 1 to"]);
    refused(&dir.ive("reproduce maps --threads 0"), 64, &["--threads: 0 is outside the range"]);
    assert_eq!(dir.ive("reproduce --preset huge").status.code(), Some(64));
    assert_eq!(dir.ive("reproduce --nonsense").status.code(), Some(64));
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 0, "a refused command writes nothing");
}

#[test]
fn output_directories_are_protected() {
    let dir = Scratch::new("out");
    std::fs::create_dir(dir.0.join("mine")).unwrap();
    std::fs::write(dir.0.join("mine/thesis.tex"), "precious").unwrap();
    refused(&dir.ive("reproduce maps --preset smoke --out mine"), 64, &["mine is not empty and not ours"]);
    assert_eq!(std::fs::read_dir(dir.0.join("mine")).unwrap().count(), 1);
    refused(&dir.ive("reproduce maps --preset smoke --out mine/thesis.tex/x"), 74, &["cannot create"]);

    let limit = "reproduce maps --preset smoke --set learner=limit --out out";
    assert!(dir.ive(limit).status.success());
    let other = dir.ive(&format!("{limit} --seeds 2"));
    refused(&other, 64, &["other settings (maps.seeds 3 → 2)", "--overwrite"]);
    assert!(dir.ive(&format!("{limit} --seeds 2 --overwrite")).status.success());

    // A line cut off in mid-write is repeated; a damaged one is named.
    let log = dir.0.join("out/maps/seeds.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() - 40]).unwrap();
    assert!(dir.ive(&format!("{limit} --seeds 2")).status.success());
    let mut lines: Vec<String> = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    let mut before: Vec<String> = whole.lines().map(str::to_owned).collect();
    before.sort();
    assert_eq!(lines, before, "the repeated seed gives the same bits");
    std::fs::write(&log, format!("garbage\n{whole}")).unwrap();
    let damaged = dir.ive(&format!("{limit} --seeds 2"));
    assert_eq!(damaged.status.code(), Some(65));
    assert!(text(&damaged.stderr).contains("seeds.jsonl line 1"));
}

#[test]
fn settings_files_lie_between_preset_and_command_line() {
    let dir = Scratch::new("config");
    std::fs::write(dir.0.join("a.toml"), "[maps]\nepochs = 7\nbatch = 64\n").unwrap();
    let output = dir.ive("reproduce maps --preset smoke --config a.toml --set batch=32 --dry-run");
    let settings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&settings["maps"]["epochs"], &settings["maps"]["batch"]), (&7.into(), &32.into()));
    std::fs::write(dir.0.join("b.toml"), "[maps]\nepoch = 7\n").unwrap();
    refused(
        &dir.ive("reproduce maps --config b.toml"),
        78,
        &["b.toml: maps has no setting `epoch`", "did you mean epochs"],
    );
    std::fs::write(dir.0.join("c.toml"), "[map]\nepochs = 7\n").unwrap();
    refused(&dir.ive("reproduce maps --config c.toml"), 78, &["no experiment `map`", "did you mean maps"]);
    refused(&dir.ive("reproduce maps --config missing.toml"), 74, &["cannot read missing.toml"]);
}

#[test]
fn json_is_for_machines() {
    let dir = Scratch::new("json");
    let output = dir.ive("reproduce maps --preset smoke --set learner=limit --json --out out");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all[0]["numbers"]["seeds"], 3);
    assert!(
        all[0]["claims"].as_array().unwrap().iter().all(|c| c["verdict"] == "not-decided"),
        "three seeds decide nothing"
    );
}

/// A second command on the same directory is refused at once; Ctrl-C keeps finished seeds, and the same command goes on.
#[cfg(unix)]
#[test]
fn a_running_command_holds_its_directory_and_stops_in_good_order() {
    let dir = Scratch::new("stop");
    let line = "reproduce maps --preset smoke --seeds 400 --set epochs=400 --threads 1 --out out";
    let mut first = dir.command(line).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let log = dir.0.join("out/maps/seeds.jsonl");
    let patience = Instant::now();
    while std::fs::read_to_string(&log).map_or(0, |t| t.lines().count()) < 3 {
        assert!(patience.elapsed() < Duration::from_mins(2), "no seed was finished");
        std::thread::sleep(Duration::from_millis(20));
    }
    refused(&dir.ive(line), 73, &["another `ive` is writing to out"]);
    let kill = Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(first.wait().unwrap().code(), Some(75));
    let finished = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!((3..400).contains(&finished), "{finished} seeds");
    assert_eq!(json(&dir.0.join("out/maps/summary.json"))["numbers"]["seeds"], finished as u64);
    let again = dir.ive(&line.replace("--seeds 400", "--seeds 5 --overwrite"));
    assert!(again.status.success(), "{}", text(&again.stderr));
}

#[test]
fn worlds_are_listed_described_and_traced() {
    let dir = Scratch::new("env");
    let list = text(&dir.ive("env list").stdout);
    for game in ["asterix", "breakout", "freeway", "seaquest", "space_invaders"] {
        assert!(list.contains(&format!("minatar:{game}")), "{list}");
    }
    let shown = text(&dir.ive("env show minatar:seaquest").stdout);
    assert!(shown.contains("10") && shown.to_lowercase().contains("licence"), "{shown}");
    refused(&dir.ive("env show minatar:breakuot"), 64, &["minatar:breakout"]);
    let trace = dir.ive("env trace minatar:breakout --seed 3 --rng numpy --actions random --steps 5 --json");
    let lines: Vec<serde_json::Value> =
        text(&trace.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["hash"].as_str().unwrap().len(), 16);
    std::fs::write(dir.0.join("actions"), "0\n1\nx\n").unwrap();
    let bad = dir.ive("env trace minatar:breakout --seed 3 --rng numpy --actions actions --steps 3 --json");
    assert!(!bad.status.success() && text(&bad.stderr).contains("actions:3:"), "{}", text(&bad.stderr));
}

/// Without the library there is nothing to trace; `ive-envs` says so in its tests.
#[test]
fn worlds_of_procgen_are_listed_described_traced_and_drawn() {
    let dir = Scratch::new("procgen");
    let list = text(&dir.ive("env list").stdout);
    assert_eq!(list.lines().filter(|line| line.starts_with("procgen:")).count(), 16, "{list}");
    let shown = text(&dir.ive("env show procgen:coinrun").stdout);
    assert!(shown.contains("64 × 64 × 3 bytes 0 to 255") && shown.contains("7 right"), "{shown}");
    refused(&dir.ive("env show procgen:coinrnu"), 64, &["procgen:coinrun"]);
    refused(&dir.ive("env trace procgen:coinrun -o mode=memory"), 64, &["easy, hard, exploration"]);
    refused(&dir.ive("env trace minatar:breakout --envs 2"), 64, &["--envs"]);
    if ive_envs::native::provide(ive_envs::native::Package::Procgen).is_err() {
        return;
    }
    let line = "env trace procgen:coinrun -o mode=easy -o levels=10 --envs 3 --steps 4 --json";
    let trace = text(&dir.ive(line).stdout);
    let lines: Vec<serde_json::Value> = trace.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 12);
    let last = &lines[11];
    assert_eq!(
        (last["step"].as_u64(), last["env"].as_u64(), last["first"].as_bool()),
        (Some(4), Some(2), Some(false))
    );
    assert!(last["level_seed"].as_u64().unwrap() < 10 && last["hash"].as_str().unwrap().len() == 16);
    assert_eq!(text(&dir.ive(&format!("{line} --threads 2")).stdout), trace);
    let play =
        dir.ive("play procgen:maze --policy random --steps 2 --frames pictures --gif maze.gif --scale 2");
    assert!(play.status.success(), "{}", text(&play.stderr));
    let picture = std::fs::read(dir.0.join("pictures/000002.png")).unwrap();
    assert_eq!(picture[16..24], [0, 0, 0, 128, 0, 0, 0, 128]); // width and height of a PNG
    assert!(std::fs::read(dir.0.join("maze.gif")).unwrap().starts_with(b"GIF89a\x80\0\x80\0"));
    refused(&dir.ive("train dqn --env procgen:coinrun --steps 10"), 78, &["procgen:coinrun is not"]);
}
