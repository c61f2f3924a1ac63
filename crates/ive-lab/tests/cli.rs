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
    let first = text(&output.stdout).lines().find(|l| !l.is_empty()).map(str::to_owned).unwrap();
    assert!(first.starts_with("Nothing is decided") && report.contains(&first), "{first}");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "wider than 80 columns:\n{shown}");
    assert!(!shown.contains('\x1b'), "no colours without a terminal");
    for words in [
        "Glossary",
        "fewer than 10 seeds",
        "prefers-color-scheme: dark",
        "ratio; 1 = no effect",
        "AUROC; 0.5 = no effect",
        "difference of probabilities; 0 = no effect",
        "commit ",
        "first passage: probability of having been there at least once",
        "is at the unseen cell at step",
        "(base)",
        "href=\"reaching/reaching_sensitivity.csv\"",
        "href=\"maps/maps_sigma.csv\"",
        "href=\"toy/toy.png\"",
    ] {
        assert!(report.contains(words), "{words} is not in the report");
    }
    for name in ["BeingAt", "FirstPassage", "TieRule", "ties: Random", ">-0", "[-"] {
        assert!(!report.contains(name), "{name} is in the report");
    }
    for link in report.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let there = link.starts_with('#') || dir.0.join("out").join(link).exists();
        assert!(there, "{link} leads nowhere");
    }
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
    for wrong in ["--seeds 0", "--threads 0", "--seeds -5"] {
        let output = dir.ive(&format!("reproduce maps {wrong}"));
        assert_eq!(output.status.code(), Some(64), "{wrong}");
        assert!(text(&output.stderr).contains("must be at least 1"), "{}", text(&output.stderr));
    }
    assert_eq!(dir.ive("reproduce --preset huge").status.code(), Some(64));
    assert_eq!(dir.ive("reproduce --nonsense").status.code(), Some(64));
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 0, "a refused command writes nothing");
}

#[test]
fn output_directories_are_protected() {
    let dir = Scratch::new("out");
    std::fs::create_dir(dir.0.join("mine")).unwrap();
    std::fs::write(dir.0.join("mine/thesis.tex"), "precious").unwrap();
    refused(
        &dir.ive("reproduce maps --preset smoke --out mine"),
        64,
        &["mine is not an ive output directory"],
    );
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
}

/// The lines of a trace in JSON.
fn traced(output: &std::process::Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn walkers_are_listed_and_described() {
    let dir = Scratch::new("walker-list");
    let list = text(&dir.ive("env list").stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names[names.len() - 3..], ["walker:run", "walker:stand", "walker:walk"]);
    let shown = text(&dir.ive("env show walker:walk").stdout);
    for words in [
        "24 real numbers",
        "14 height",
        "6 numbers from −1 to 1",
        "5 left_ankle",
        "observation ",
        "threshold ",
    ] {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
    let shown = traced(&dir.ive("env show walker:stand --json"));
    assert_eq!(
        (&shown[0]["action_kind"], &shown[0]["shape"]),
        (&"continuous".into(), &serde_json::json!([24]))
    );
    refused(&dir.ive("env show walker:wlak"), 64, &["did you mean walker:walk"]);
}

/// What is wrong is told before a library is looked for.
#[test]
fn walkers_refuse_what_makes_no_sense() {
    let dir = Scratch::new("walker-bad");
    let write = |name: &str, words: &str| std::fs::write(dir.0.join(name), words).unwrap();
    let trace = |rest: &str| dir.ive(&format!("env trace walker:walk {rest}"));
    write("five", "0 0 0 0 0 0\n0 0 0 0 0\n");
    refused(&trace("--actions five"), 65, &["five:2: 5 numbers, where there should be 6"]);
    write("nan", "0 0 0 0 0 nan\n");
    refused(&trace("--actions nan"), 65, &["nan:1: `nan` is not a finite number"]);
    write("word", "0 0 0 left 0 0\n");
    refused(&trace("--actions word"), 65, &["word:1: `left` is not a number"]);
    write("short", "0 0 0 0 0 0\n");
    refused(
        &trace("--actions short --steps 2"),
        65,
        &["short:2: the file ends after 1 actions, 2 are needed"],
    );
    refused(&trace("--actions nowhere"), 74, &["cannot read nowhere"]);
    refused(&trace("--qpos nowhere"), 74, &["cannot read nowhere"]);
    write("eight", "0 0 0 0\n0 0 0 0\n");
    refused(&trace("--qpos eight"), 65, &["eight:2: 8 numbers, where there should be 9"]);
    write("infinite", "0 0 0 0\n0 0x7ff0000000000000 0 0 0\n");
    refused(&trace("--qpos infinite"), 65, &["infinite:2: `0x7ff0000000000000` is not a finite number"]);
    refused(&trace("-o repeat=0"), 64, &["repeat cannot be `0`"]);
    refused(&trace("-o sticky=0.1"), 64, &["no option is called `sticky`", "repeat, threshold"]);
    refused(&trace("--envs 2"), 64, &["--envs and --threads are for Procgen only"]);
    refused(&dir.ive("env trace walker:jump"), 64, &["no environment is called `walker:jump`"]);
    refused(&dir.ive("env trace minatar:breakout --qpos eight"), 64, &["are for the walker only"]);
    refused(&dir.ive("env trace minatar:breakout --actions zero"), 64, &["are for the walker only"]);
    let play = |rest: &str| dir.ive(&format!("play walker:walk --gif x.gif {rest}"));
    refused(&play(""), 64, &["walker:walk has no keyboard control", "--policy random or --policy zero"]);
    refused(&play("--policy zero --scale 17"), 64, &["1 to 16 times 64 pixels"]);
    refused(&play("--policy runs/mine"), 64, &["--policy takes keyboard, random or a run"]);
    refused(
        &dir.ive("play minatar:breakout --policy zero --gif x.gif"),
        64,
        &["--policy zero is for the walker"],
    );
    for (env, kinds) in [
        ("walker:walk", "vectors of numbers with continuous actions"),
        ("walker:walk -o observation=pixels", "pixels with continuous actions"),
        ("procgen:coinrun", "pixels with numbered actions"),
    ] {
        let fits = "what fits: minatar:asterix, minatar:breakout";
        let words = ["dqn learns boards with numbered actions", kinds, fits];
        refused(&dir.ive(&format!("train dqn --env {env} --steps 10 --dry-run")), 64, &words);
    }
}

/// Positions that are known without us: those given, which the walker has at rest before the first step, after a step of
/// 25 ms of free fall (there is no air, and motors at zero do nothing to it): a height lower by ½ g t², and a speed of −g t.
#[test]
fn a_falling_walker_is_traced_bit_by_bit() {
    if ive_envs::native::for_tests(ive_envs::native::Package::Mujoco).is_none() {
        return;
    }
    let dir = Scratch::new("walker-trace");
    let bits =
        |value: &serde_json::Value| f64::from_bits(u64::from_str_radix(value.as_str().unwrap(), 16).unwrap());
    std::fs::write(dir.0.join("pose"), "1.0 0x3ff8000000000000 0\n0 0 0  0 0\t0\n").unwrap();
    let line = "env trace walker:stand -o repeat=1 --qpos pose --actions zero --steps 1 --json";
    let step = &traced(&dir.ive(line))[0];
    let (t, g) = (0.025, 9.81);
    // The integrator is semi-implicit: with ten steps of h it falls ½ g (t² + t h).
    assert!((bits(&step["qpos"][0]) - (1.0 - 0.5 * g * (t * t + t * 0.0025))).abs() < 1e-6, "{step}");
    assert!((bits(&step["qvel"][0]) + g * t).abs() < 1e-4, "{step}");
    assert_eq!((bits(&step["qpos"][1]), step["step"].as_u64()), (1.5, Some(1)));
    assert_eq!((&step["truncated"], step["reward"].as_f64()), (&false.into(), Some(1.0)));

    // The same actions, drawn or from a file, in either form, give the same bits; the text has what JSON has.
    let options = "env trace walker:walk -o rng=numpy --seed 5 --steps 4";
    let drawn = traced(&dir.ive(&format!("{options} --json")));
    let words = |step: &serde_json::Value, bits: bool| {
        let numbers = step["action"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap());
        let words = numbers.map(|x| if bits { format!("0x{:016x}", x.to_bits()) } else { x.to_string() });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    let file: String = drawn.iter().enumerate().map(|(i, step)| words(step, i % 2 == 0)).collect();
    std::fs::write(dir.0.join("moves"), file).unwrap();
    let read = dir.ive("env trace walker:walk -o rng=numpy --seed 5 --actions moves --json");
    assert_eq!(traced(&read), drawn);
    let plain = text(&dir.ive(options).stdout);
    let last: Vec<&str> = plain.lines().last().unwrap().split_whitespace().collect();
    assert_eq!((last[0], last[5..14].len(), last.len()), ("4", 9, 24), "{plain}");
    assert_eq!(
        last[5..14],
        drawn[3]["qpos"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect::<Vec<_>>()
    );

    // An episode of 1,000 control steps is cut off and another one begins.
    let long = traced(&dir.ive("env trace walker:run -o repeat=400 --steps 4 --json"));
    let ends: Vec<bool> = long.iter().map(|step| step["truncated"].as_bool().unwrap()).collect();
    assert_eq!(ends, [false, false, true, false]);
    let seen = traced(&dir.ive("env trace walker:run -o observation=pixels --steps 1 --json"));
    assert_eq!(seen[0]["hash"].as_str().unwrap().len(), 16);
}

#[test]
fn walkers_are_drawn_as_large_as_one_likes() {
    if ive_envs::native::for_tests(ive_envs::native::Package::Mujoco).is_none() {
        return;
    }
    let dir = Scratch::new("walker-play");
    let play =
        dir.ive("play walker:walk --policy random --steps 2 --frames pictures --gif walk.gif --scale 2");
    assert!(play.status.success(), "{}", text(&play.stderr));
    assert!(text(&play.stdout).starts_with("steps: 2, episodes ended: 0"), "{}", text(&play.stdout));
    assert_eq!(std::fs::read_dir(dir.0.join("pictures")).unwrap().count(), 3);
    let picture = std::fs::read(dir.0.join("pictures/000002.png")).unwrap();
    assert_eq!(picture[16..24], [0, 0, 0, 128, 0, 0, 0, 128]); // width and height of a PNG
    assert!(std::fs::read(dir.0.join("walk.gif")).unwrap().starts_with(b"GIF89a\x80\0\x80\0"));
    assert!(dir.ive("play walker:stand --policy zero --steps 1 --gif usual.gif").status.success());
    assert!(std::fs::read(dir.0.join("usual.gif")).unwrap().starts_with(b"GIF89a\0\x01\0\x01")); // 256 × 256
}

/// σ is exactly zero on all visited cells, the ratio to them infinite: once it was written as null, and the finished
/// experiment could never be opened again.
#[test]
fn an_infinite_ratio_is_written_read_back_and_judged() {
    let dir = Scratch::new("infinite");
    let line =
        "reproduce maps --preset smoke --seeds 1 --set learner=limit --set data_steps=100000 --out out";
    for attempt in 0..2 {
        let output = dir.ive(line);
        assert!(output.status.success(), "attempt {attempt}: {}", text(&output.stderr));
    }
    let seeds = std::fs::read_to_string(dir.0.join("out/maps/seeds.jsonl")).unwrap();
    assert!(seeds.contains("\"ratio\":null"), "the ratio is not infinite: {seeds}");
    let claims = json(&dir.0.join("out/maps/summary.json"))["claims"].clone();
    let claim = claims.as_array().unwrap().iter().find(|c| c["hypothesis"] == "H2").unwrap().clone();
    assert!(claim["note"].as_str().unwrap().contains("the ratio infinite"), "{claim}");
    assert!(claim["undecided"].as_str().unwrap().starts_with("too few seeds: 1"), "{claim}");
}
