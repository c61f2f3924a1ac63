//! Where output goes: closed pipes, full disks, files of every kind, terminals of eighty columns.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod session;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use session::{Scratch, text};

/// A run to look at.
const TRAIN: &str =
    "train mu-ive --env minatar:breakout --preset smoke --steps 400 --greedy-episodes 2 --run";
const MAPS: &str = "reproduce maps --preset smoke --set learner=limit --out";

/// Every command that prints something. `it` is a finished run.
fn commands() -> Vec<String> {
    let lines = [
        "--help",
        "--version",
        "train --help",
        "completions bash",
        "env list",
        "env list --json",
        "env show minatar:breakout",
        "env trace minatar:breakout --steps 5",
        "runs list .",
        "runs list --json .",
        "runs show it",
        "runs show it --json",
        "runs resume it",
        "runs resume it --json",
        "train dqn --env minatar:breakout --dry-run",
        "eval it",
        "eval it --json",
        "eval it --episodes 2",
        "eval it --strange --states 4",
        "eval it --strange --states 4 --json",
        "score --example logs",
        "score logs/ordinary.npz --gamma 0.9",
        "score logs/ordinary.npz --gamma 0.9 --json",
        "score logs/ordinary.npz --gamma 0.9 --out -",
        "ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9 --replicates 100",
        "ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9 --replicates 100 --json",
        "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o guard.json",
        "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o - --score std",
        "guard guard.json --scores logs/shifted.npz",
        "guard guard.json --scores logs/shifted.npz --stop --json",
        "reproduce maps --dry-run",
        "play minatar:breakout --policy random --steps 2 --gif x.gif",
        "setup --check",
        "setup --check --json",
        "bench envs breakout --repeats 1 --python /bin/false",
        "bench envs breakout --repeats 1 --python /bin/false --json",
    ];
    let made = [format!("{MAPS} maps"), format!("{MAPS} maps --json"), format!("{TRAIN} new")];
    lines.map(str::to_owned).into_iter().chain(made).collect()
}

/// A directory with a finished run, in which nothing is installed.
fn scratch(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    let trained = dir.ive(&format!("{TRAIN} it --json"));
    assert!(trained.status.success(), "{}", text(&trained.stderr));
    for line in ["score --example logs", "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o guard.json"] {
        assert!(dir.ive(line).status.success(), "{line}");
    }
    dir
}

fn command(dir: &Scratch, line: &str) -> Command {
    let mut command = dir.command(line);
    command.env("IVE_HOME", dir.0.join("home")).env_remove("IVE_PROCGEN").env_remove("IVE_MUJOCO");
    command
}

/// The end of a pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// A disk that is always full: opened here, never named to the command.
fn full() -> Stdio {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(full.metadata().unwrap().file_type().is_char_device());
    full.into()
}

fn output(mut command: Command) -> Output {
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// `setup --check` finds nothing installed, and says so whoever reads; a guard that has seen an alarm, too.
fn own_code(line: &str) -> i32 {
    match line.split(' ').next() {
        Some("setup") => 65,
        Some("guard") => 1,
        _ => 0,
    }
}

#[test]
fn a_closed_pipe_is_the_quiet_end_of_every_command() {
    let dir = scratch("pipe");
    for line in commands() {
        let mut command = command(&dir, &line);
        command.stdout(closed()).stderr(Stdio::piped());
        let output = output(command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(own_code(&line)), "{line}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{line}: {said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_an_error_of_every_command() {
    let dir = scratch("full");
    for line in commands() {
        let mut command = command(&dir, &line);
        command.stdout(full()).stderr(Stdio::piped());
        let output = output(command);
        let said = text(&output.stderr);
        let code = if line.starts_with("setup") { 65 } else { 74 };
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(!said.contains("panicked"), "{line}: {said}");
        assert!(
            code == 65 || said.contains("cannot write to standard output: No space left"),
            "{line}: {said}"
        );
    }
}

/// The terminal was closed, or whoever read the log is gone: no reason to stop.
#[test]
fn nothing_stops_because_nobody_reads_standard_error() {
    let dir = scratch("stderr");
    let ends: &[fn() -> Stdio] = if cfg!(target_os = "linux") { &[closed, full] } else { &[closed] };
    for (number, end) in ends.iter().enumerate() {
        let mut lines = commands();
        lines.push(format!("{TRAIN} new-{number}"));
        lines.push(format!("{MAPS} maps-{number}"));
        for line in lines {
            let mut command = command(&dir, &line);
            command.stdout(Stdio::piped()).stderr(end());
            let output = output(command);
            assert_eq!(output.status.code(), Some(own_code(&line)), "{line}");
            assert!(!output.stdout.is_empty(), "{line}");
        }
        assert!(dir.0.join(format!("new-{number}/result.json")).exists());
        // What is wrong is still told by the code.
        let mut wrong = command(&dir, "runs show nowhere");
        wrong.stdout(Stdio::null()).stderr(end());
        assert_eq!(output(wrong).status.code(), Some(64));
    }
}

#[test]
fn links_pipes_and_standard_output_take_files() {
    let dir = scratch("files");
    let at = |name: &str| dir.0.join(name);
    let succeeds = |line: &str| {
        let output = dir.ive(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        output
    };
    succeeds("eval it --csv steps.csv");
    let steps = fs::read(at("steps.csv")).unwrap();
    assert!(steps.starts_with(b"episode,step,action"));

    // A link stays, and what it leads to is written.
    fs::create_dir(at("data")).unwrap();
    fs::write(at("data/old.csv"), "old").unwrap();
    symlink("data/old.csv", at("link.csv")).unwrap();
    succeeds("eval it --csv link.csv");
    assert!(at("link.csv").is_symlink());
    assert_eq!(fs::read(at("data/old.csv")).unwrap(), steps);
    succeeds("score logs/ordinary.npz --gamma 0.9 --out link.csv");
    assert!(at("link.csv").is_symlink());
    assert!(fs::read(at("data/old.csv")).unwrap().starts_with(b"state,member_0"));

    // A pipe stays, and its reader gets everything.
    for (name, line, begins) in [
        ("csv", "eval it --csv", &steps[..]),
        ("plot", "eval it --plot", b"\x89PNG"),
        ("gif", "eval it --gif", b"GIF89a"),
        ("npz", "score logs/ordinary.npz --gamma 0.9 --out", b"state,member_0"),
        ("score", "score logs/ordinary.npz --gamma 0.9 --plot", b"\x89PNG"),
        (
            "roc",
            "ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9 --replicates 100 --plot",
            b"\x89PNG",
        ),
        ("json", "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o", b"{\n"),
        ("film", "play minatar:breakout --policy random --steps 3 --gif", b"GIF89a"),
    ] {
        let pipe = at(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        succeeds(&format!("{line} {name}"));
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{name} was replaced");
        assert!(reader.join().unwrap().starts_with(begins), "{name}");
    }

    // A link of our own like that of the system, which a mistake would destroy for the whole machine.
    symlink("/proc/self/fd/1", at("stdout")).unwrap();
    assert_eq!(text(&succeeds("eval it --csv stdout").stdout), text(&steps));
    assert!(at("stdout").is_symlink());
    // Standard output takes nothing but the file then; the text is told on the other side.
    for name in ["-", "/dev/stdout"] {
        let output = succeeds(&format!("eval it --csv {name}"));
        assert_eq!(text(&output.stdout), text(&steps));
        assert!(text(&output.stderr).contains("steps of training"), "{}", text(&output.stderr));
    }
    // Also where it is a file: renaming over it would lose what is written afterwards.
    let mut command = dir.command("eval it --csv /dev/stdout");
    command.stdout(File::create(at("redirected")).unwrap()).stderr(Stdio::null());
    assert!(output(command).status.success());
    assert_eq!(fs::read(at("redirected")).unwrap(), steps);
    let film = succeeds("play minatar:breakout --policy random --steps 2 --gif -");
    assert!(film.stdout.starts_with(b"GIF89a") && film.stdout.ends_with(b";"));
    session::refused(&dir.ive("eval it --csv - --plot -"), 64, &["--csv and --plot cannot share"]);
    session::refused(&dir.ive("eval it --csv - --json"), 64, &["--csv and --json cannot share"]);

    // Directories by a link, for pictures and for results.
    symlink("data", at("pictures")).unwrap();
    succeeds("play minatar:breakout --policy random --steps 2 --frames pictures");
    assert!(at("pictures").is_symlink() && at("data/000002.png").exists());
    symlink("results", at("out")).unwrap();
    fs::create_dir(at("results")).unwrap();
    succeeds(&format!("{MAPS} out"));
    assert!(at("out").is_symlink() && at("results/report.html").exists());
}

/// A device of our own: a mistake would destroy a real one for the whole machine. 1, 3 is `null`.
#[test]
#[cfg(target_os = "linux")]
fn devices_are_written_to_and_never_replaced() {
    let dir = scratch("device");
    let null = dir.0.join("null");
    let made = Command::new("mknod").arg(&null).args(["c", "1", "3"]).output().unwrap();
    if !made.status.success() || OpenOptions::new().write(true).open(&null).is_err() {
        // Only the administrator makes devices, and not on every disk.
        return;
    }
    for line in [
        "eval it --csv null",
        "eval it --plot null",
        "eval it --gif null",
        "score logs/ordinary.npz --gamma 0.9 --out null --plot null",
        "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o null",
    ] {
        let output = dir.ive(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        assert!(fs::symlink_metadata(&null).unwrap().file_type().is_char_device(), "{line}");
    }
}

#[test]
fn films_have_the_ending_of_films() {
    let dir = scratch("endings");
    let play = dir.ive("play minatar:breakout --policy random --steps 2 --gif x.mp4");
    session::refused(&play, 64, &["--gif: x.mp4 does not end in .gif"]);
    session::refused(&dir.ive("eval it --gif x.mp4"), 64, &["--gif: x.mp4 does not end in .gif"]);
}

/// What people read fits a terminal of eighty columns; only paths and lines for programs may be longer.
#[test]
fn nothing_that_people_read_is_wider_than_eighty_columns() {
    let dir = scratch("wide");
    let nested = Path::new("ive-out/minatar-small/minatar/runs/breakout/mu-ive");
    fs::create_dir_all(dir.0.join(nested)).unwrap();
    fs::rename(dir.0.join("it"), dir.0.join(nested).join("seed-0")).unwrap();
    let run = "ive-out/minatar-small/minatar/runs/breakout/mu-ive/seed-0";
    let lines = [
        "env list".to_owned(),
        "env show minatar:seaquest".to_owned(),
        "env show procgen:coinrun".to_owned(),
        "env show walker:walk".to_owned(),
        "runs list".to_owned(),
        format!("runs show {run}"),
        format!("eval {run}"),
        format!("eval {run} --episodes 3"),
        format!("eval {run} --strange --states 4"),
        "score logs/ordinary.npz --gamma 0.9".to_owned(),
        "ood --in logs/ordinary.npz --out logs/shifted.npz --gamma 0.9 --replicates 100".to_owned(),
        "calibrate logs/held-out.npz --gamma 0.9 --rate 0.1 -o guard.json".to_owned(),
        "guard guard.json --scores logs/shifted.npz".to_owned(),
        "setup --check".to_owned(),
        "bench envs breakout --repeats 1 --python /bin/false".to_owned(),
        format!("{TRAIN} r"),
        "play minatar:breakout --policy random --steps 2 --gif x.gif".to_owned(),
    ];
    let verbs = [
        "",
        "reproduce",
        "train",
        "runs",
        "runs list",
        "eval",
        "env",
        "env trace",
        "play",
        "setup",
        "score",
        "ood",
        "calibrate",
        "guard",
        "bench envs",
        "bench score",
    ];
    for line in lines.into_iter().chain(verbs.map(|verb| format!("{verb} --help"))) {
        let mut command = command(&dir, &line);
        let output = command.output().unwrap();
        let shown = text(&output.stdout);
        assert!(!shown.is_empty(), "{line}");
        for shown in shown.lines().filter(|shown| !shown.trim().starts_with("ive-out/")) {
            assert!(shown.chars().count() <= 80, "{line}: {} columns in\n{shown}", shown.chars().count());
        }
        assert!(!shown.contains('\x1b'), "{line}: colours are for terminals");
    }
}

#[test]
fn runs_are_listed_wherever_commands_put_them() {
    let dir = Scratch::new("listed");
    let none = dir.ive("runs list");
    assert!(none.status.success());
    assert_eq!(text(&none.stdout), "there are no runs in `runs` or `ive-out` here; `ive train` makes one\n");
    assert_eq!(text(&dir.ive("runs list --json").stdout), "[]\n");
    fs::create_dir(dir.0.join("empty")).unwrap();
    assert_eq!(
        text(&dir.ive("runs list empty").stdout),
        "there are no runs in or below empty; `ive train` makes one\n"
    );
    session::refused(&dir.ive("runs list nowhere"), 74, &["cannot read nowhere"]);
    assert!(dir.ive(&format!("{TRAIN} ive-out/breakout")).status.success());
    assert!(dir.ive(&format!("{TRAIN} runs/second")).status.success());
    let listed = text(&dir.ive("runs list").stdout);
    for name in ["ive-out/breakout", "runs/second"] {
        assert!(listed.contains(name), "{name} is not in\n{listed}");
    }
    // By its name alone, too.
    assert!(dir.ive("runs show breakout").status.success());
    let below: serde_json::Value = serde_json::from_slice(&dir.ive("runs list . --json").stdout).unwrap();
    assert_eq!(below.as_array().unwrap().len(), 2);
}

#[test]
fn counts_are_typed_as_people_type_them() {
    let dir = Scratch::new("counts");
    let train =
        |rest: &str| dir.ive(&format!("train dqn --env minatar:breakout --preset smoke --dry-run {rest}"));
    for steps in ["1e6", "1_000_000", "1000000"] {
        let output = train(&format!("--steps {steps}"));
        assert!(text(&output.stdout).contains("steps = 1000000\n"), "{}", text(&output.stdout));
    }
    let said = |rest: &str| {
        let output = train(rest);
        assert_eq!(output.status.code(), Some(64), "{rest}");
        text(&output.stderr)
    };
    assert!(said("--steps -5").contains("invalid value '-5' for '--steps <N>': must be at least 1"));
    assert!(said("--steps 0").contains("must be at least 1"));
    assert!(said("--steps many").contains("expected a whole number from 1"));
    assert!(said("--seed -1").contains("must be at least 0"));
    session::refused(&train("--set batch=-5"), 78, &["dqn.batch must be a whole number from 0, not `-5`"]);
    session::refused(&train("--set batch=abc"), 78, &["dqn.batch: `abc` is not a whole number"]);
    assert!(text(&train("--set batch=1e2").stdout).contains("batch = 100\n"));
}

/// The results of several experiments share a report, so one of them alone has no place there.
#[test]
fn an_output_directory_of_other_experiments_says_what_it_holds() {
    let dir = Scratch::new("others");
    let quick = "--preset smoke --set learner=limit --set steps=10 --set sensitivity_seeds=2 --set sensitivity_sgd_seeds=1";
    assert!(dir.ive(&format!("reproduce all {quick} --out out")).status.success());
    let toy = dir.ive("reproduce toy --preset smoke --set steps=10 --out out");
    let words =
        ["out holds the results and the report of maps, reaching, toy, not of toy", "choose another --out"];
    session::refused(&toy, 64, &words);
}

#[test]
fn the_version_names_the_commit() {
    let dir = Scratch::new("version");
    let output = dir.ive("--version");
    assert!(output.status.success() && output.stderr.is_empty());
    let shown = text(&output.stdout);
    assert!(shown.starts_with("ive 0.1.0 (commit ") && shown.ends_with(")\n"), "{shown}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&dir.ive(&format!("completions {shell}")).stdout);
        assert!(script.contains("reproduce") && script.contains("greedy-episodes"), "{shell}");
    }
}
