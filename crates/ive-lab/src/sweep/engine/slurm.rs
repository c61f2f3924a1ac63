//! Slurm: an array job, each of whose elements is a task.
//!
//! What Slurm does itself: after the loss of a node and after a preemption it queues a job again (`--requeue`). What it does
//! not: queue a job again that stopped at its time limit. The task does that, see [`requeue`]. A trainer that crashes is
//! started again by the task in place, without Slurm.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{How, ask, full, program, quoted};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::progress::warn;
use crate::run::disk::Disk;
use crate::sweep::manifest::Sweep;

/// What to do where Slurm is not.
const ADVICE: &str = "Slurm's commands are needed: log in to a machine of the cluster, or install them (Debian and Ubuntu: \
                      apt install slurm-client). `--engine local -j N` needs nothing";
/// The array size that Slurm has if nobody configured another one; indices are below it.
const USUAL_ARRAY: u64 = 1001;
/// The largest record of a submission that is read.
const MAX_BYTES: u64 = 1 << 20;

/// What was submitted: `jobs/slurm-JOB.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Submission {
    /// The number of the array job.
    job: String,
    /// What is added to the index of an element to get that of a task.
    offset: u64,
}

/// Writes the job scripts and submits them.
pub fn submit(sweep: &Sweep, tasks: &[u64], how: &How) -> Outcome {
    let scripts = parts(tasks, array_limit(how.dry_run)?)
        .into_iter()
        .map(|(offset, tasks)| Ok((offset, script(sweep, offset, &tasks, how)?)))
        .collect::<Outcome<Vec<_>>>()?;
    if how.dry_run {
        return output::print(&scripts.into_iter().map(|(_, script)| script).collect::<Vec<_>>().join("\n"));
    }
    let disk = Disk::default();
    disk.create_directory(&sweep.jobs())?;
    disk.create_directory(&sweep.dir.join("logs"))?;
    for (offset, script) in scripts {
        let name = format!("slurm-{offset}.sh");
        disk.replace(&sweep.jobs().join(&name), script.as_bytes())?;
        // The script has relative paths, so that nothing in its header depends on the name of the directory.
        let mut command = Command::new("sbatch");
        command.arg("--parsable").arg(Path::new("jobs").join(&name)).current_dir(&sweep.dir);
        let said = ask(&mut command, ADVICE)?;
        if !said.status.success() {
            return Err(refused(sweep, &String::from_utf8_lossy(&said.stderr), &name));
        }
        let answer = String::from_utf8_lossy(&said.stdout);
        let job = answer.trim().split(';').next().unwrap_or_default().to_owned();
        if !is_number(&job) {
            return Err(Failure::io(format!("sbatch answered `{answer}`, which is not the number of a job")));
        }
        let record = Submission { job: job.clone(), offset };
        let text = serde_json::to_string(&record).map_err(|e| Failure::internal(e.to_string()))?;
        disk.replace(&sweep.jobs().join(format!("slurm-{job}.json")), text.as_bytes())?;
        output::print(&format!(
            "submitted as job {job}; its script is {}\n",
            sweep.jobs().join(name).display()
        ))?;
    }
    Ok(())
}

/// Slurm's own words, and that nothing is lost.
fn refused(sweep: &Sweep, words: &str, script: &str) -> Failure {
    let temporary = ["contact", "Connection", "timed out", "temporar", "try again", "Unable"];
    let message = format!(
        "Slurm refused the job:\n{}\nNothing is lost: the script is {}; correct the flags, and `ive sweep resume {}`",
        words.trim(),
        sweep.jobs().join(script).display(),
        sweep.dir.display()
    );
    if temporary.iter().any(|word| words.contains(word)) {
        Failure::io(message)
    } else {
        Failure::usage(message)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// How many elements an array may have.
fn array_limit(dry_run: bool) -> Outcome<u64> {
    let said = match ask(Command::new("scontrol").args(["show", "config"]), ADVICE) {
        Err(_) if dry_run => return Ok(USUAL_ARRAY - 1),
        said => said?,
    };
    let text = String::from_utf8_lossy(&said.stdout);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MaxArraySize")?.split('=').nth(1)?.trim().parse().ok());
    Ok(line.unwrap_or(USUAL_ARRAY).max(2) - 1)
}

/// Tasks in parts whose indices, less an offset, fit an array.
fn parts(tasks: &[u64], limit: u64) -> Vec<(u64, Vec<u64>)> {
    let mut parts: Vec<(u64, Vec<u64>)> = Vec::new();
    for &task in tasks {
        let offset = task / limit * limit;
        match parts.last_mut().filter(|(last, _)| *last == offset) {
            Some((_, part)) => part.push(task - offset),
            None => parts.push((offset, vec![task - offset])),
        }
    }
    parts
}

/// `0-3,7`.
fn ranges(indices: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &index in indices {
        match runs.last_mut().filter(|(_, last)| last + 1 == index) {
            Some((_, last)) => *last = index,
            None => runs.push((index, index)),
        }
    }
    let shown = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(shown).collect::<Vec<_>>().join(",")
}

/// Refuses what a line of a job script cannot hold: nothing that a user typed reaches a shell, or Slurm, half read.
fn safe<'a>(flag: &str, text: &'a str) -> Outcome<&'a str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._,:;=/@%+*[]-".contains(c);
    if !text.is_empty() && text.chars().all(fine) {
        return Ok(text);
    }
    Err(Failure::usage(format!(
        "{flag}: `{text}` has characters that a job script cannot hold safely; write it into the script by hand \
         (--dry-run prints it)"
    )))
}

/// Refuses a directory in whose name Slurm would look for patterns of its own: the logs of its tasks lie below it.
fn plain_place(dir: &str) -> Outcome {
    let odd = |c: char| c == '%' || c == '\\' || c.is_control();
    if dir.chars().any(odd) {
        return Err(Failure::usage(format!(
            "{dir}: Slurm takes `%`, backslashes and line ends in the name of a directory for its own; give it another name"
        )));
    }
    Ok(())
}

/// The name of the job, out of that of the directory.
fn job_name(dir: &str) -> String {
    let name = Path::new(dir).file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    format!("ive-{}", name.chars().map(plain).take(40).collect::<String>())
}

/// The job script of one array.
fn script(sweep: &Sweep, offset: u64, indices: &[u64], how: &How) -> Outcome<String> {
    let dir = full(&sweep.dir)?;
    plain_place(&dir)?;
    let limit = how.max_parallel.map_or(String::new(), |n| format!("%{n}"));
    let place = if offset == 0 { String::new() } else { format!("{offset}+") };
    let mut text = "#!/bin/bash\n".to_owned();
    let mut line = |option: String| {
        let _ = writeln!(text, "#SBATCH {option}");
    };
    line(format!("--job-name={}", job_name(&dir)));
    line(format!("--array={}{limit}", ranges(indices)));
    line("--requeue".to_owned());
    line("--open-mode=append".to_owned());
    // B: to the process of the batch script, which is the task once it has taken its place (exec). Without it the signal
    // goes to job steps only, of which there are none.
    line(format!("--signal=B:USR1@{}", how.grace));
    line(format!("--output=logs/{place}%a.log"));
    for (flag, value) in [("--partition", &how.partition), ("--account", &how.account), ("--time", &how.time)]
    {
        if let Some(value) = value {
            line(format!("{flag}={}", safe(flag, value)?));
        }
    }
    for flag in &how.flags {
        let flag = safe("--flag", flag)?;
        if !flag.starts_with('-') {
            return Err(Failure::usage(format!(
                "--flag: `{flag}` is not a flag of sbatch, such as --gres=gpu:1"
            )));
        }
        line(flag.to_owned());
    }
    let index = if offset == 0 {
        "$SLURM_ARRAY_TASK_ID".to_owned()
    } else {
        format!("$((SLURM_ARRAY_TASK_ID + {offset}))")
    };
    let flags: String = how.task_flags().iter().map(|flag| format!(" {flag}")).collect();
    let _ = write!(
        text,
        "\n# Made by `ive sweep submit`. It may be edited and submitted by hand, from the directory of the sweep:\n\
         # sbatch jobs/slurm-{offset}.sh\n\
         exec {} sweep task {} \"{index}\" --slurm{flags}\n",
        quoted(&program()?),
        quoted(&dir)
    );
    Ok(text)
}

fn submissions(sweep: &Sweep) -> Outcome<Vec<Submission>> {
    let disk = Disk::default();
    let mut all = Vec::new();
    for name in disk.names(&sweep.jobs())? {
        if name.strip_prefix("slurm-").and_then(|rest| rest.strip_suffix(".json")).is_some_and(is_number) {
            let bytes = disk.read(&sweep.jobs().join(name), MAX_BYTES)?.unwrap_or_default();
            all.extend(serde_json::from_slice::<Submission>(&bytes).ok().filter(|one| is_number(&one.job)));
        }
    }
    Ok(all)
}

/// The tasks that are queued or running, as far as Slurm knows. Where there is no Slurm, none are.
pub fn queued(sweep: &Sweep) -> Outcome<BTreeSet<u64>> {
    let mut tasks = BTreeSet::new();
    for Submission { job, offset } in submissions(sweep)? {
        let Ok(said) = ask(Command::new("squeue").args(["-h", "-r", "-o", "%K", "-j", &job]), ADVICE) else {
            break;
        };
        // A job that ended long ago is an error to Slurm: it is not queued.
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        tasks.extend(
            text.lines().filter_map(|line| line.trim().parse::<u64>().ok()).map(|index| index + offset),
        );
    }
    Ok(tasks)
}

/// Lets jobs go on that Slurm holds because it could not start them, as when a node dies at that moment. Those that somebody
/// holds stay held: an element is named by its index, since the number of an array means all of it.
pub fn release(sweep: &Sweep) -> Outcome {
    for Submission { job, .. } in submissions(sweep)? {
        let said = ask(Command::new("squeue").args(["-h", "-r", "-o", "%F_%K %r", "-j", &job]), ADVICE)?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        for held in text.lines().filter_map(|line| line.strip_suffix(" launch failed requeued held")) {
            if held.split('_').all(is_number) {
                ask(Command::new("scontrol").args(["release", held]), ADVICE)?;
            }
        }
    }
    Ok(())
}

/// Cancels all jobs of a sweep. Running tasks save before they go.
pub fn cancel(sweep: &Sweep) -> Outcome {
    let jobs: Vec<String> = submissions(sweep)?.into_iter().map(|one| one.job).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    let said = ask(Command::new("scancel").args(&jobs), ADVICE)?;
    let words = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    if !words.is_empty() {
        warn(&words);
    }
    Ok(())
}

/// The shell that asks Slurm to queue a job again. Slurm answers by ending the job, this shell included, so it ignores
/// SIGTERM. A job that was queued again is held for two minutes; the second half lifts that as soon as the job waits. It may be
/// killed with the job (where Slurm tracks processes by cgroups): then the two minutes pass.
fn requeueing(job: &str) -> String {
    format!(
        "trap '' TERM\n\
         (for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n\
         sleep 1\n\
         scontrol show job -o {job} | grep -q JobState=PENDING && scontrol update JobId={job} StartTime=now && break\n\
         done) >/dev/null 2>&1 </dev/null &\n\
         scontrol requeue {job}"
    )
}

/// Has Slurm queue this job again, if it is for us to ask: not if somebody cancelled it, and not if Slurm does it anyway.
pub fn requeue() -> Outcome {
    let job = std::env::var("SLURM_JOB_ID").unwrap_or_default();
    if !is_number(&job) {
        return Err(Failure::usage("this is not a job of Slurm (SLURM_JOB_ID is not set): not queued again"));
    }
    let said = ask(Command::new("scontrol").args(["show", "job", "-o", &job]), ADVICE)?;
    let about = String::from_utf8_lossy(&said.stdout).into_owned();
    let state = about.split_whitespace().find_map(|word| word.strip_prefix("JobState=")).unwrap_or("unknown");
    if !state.split(',').any(|state| ["RUNNING", "SIGNALING"].contains(&state)) {
        warn(&format!("job {job} is {state} and not queued again by the task"));
        return Ok(());
    }
    let said = ask(Command::new("sh").args(["-c", &requeueing(&job)]), "a shell is needed")?;
    if said.status.success() {
        warn(&format!("job {job} is queued again"));
        return Ok(());
    }
    let words = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Err(Failure::io(format!("job {job} could not be queued again: {words}; `ive sweep resume` does it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_written_as_ranges_and_split_where_slurm_has_a_limit() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(
            parts(&[0, 999, 1000, 1001, 2500], 1000),
            [(0, vec![0, 999]), (1000, vec![0, 1]), (2000, vec![500])]
        );
    }

    #[test]
    fn what_a_script_cannot_hold_is_refused() {
        for text in
            ["gpu", "gpu,cpu", "1-00:00:00", "--gres=gpu:a100:1", "--mail-user=me@example.org", "n[1-3]"]
        {
            assert_eq!(safe("--flag", text).unwrap(), text);
        }
        for text in
            ["", "a b", "a'b", "a\"b", "$(reboot)", "a\nb", "`x`", "β", "a#b", "a\\b", "a|b", "a&b", "a>b"]
        {
            assert_eq!(safe("--flag", text).unwrap_err().code, 64, "{text}");
        }
        assert_eq!(job_name("/data/my $(sweep)"), "ive-my---sweep-");
        plain_place("/data/it's \"my\" $(sweep) β;&|>#*?[x]!").unwrap();
        for dir in ["/data/100%", "/data/a\\b", "/data/a\nb"] {
            assert_eq!(plain_place(dir).unwrap_err().code, 64, "{dir}");
        }
    }
}
