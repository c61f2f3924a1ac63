//! Progress on the terminal, and stopping in good order.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

use crate::exit::{Failure, Outcome};
use crate::output;

/// What a running command knows about its surroundings.
#[derive(Clone, Debug)]
pub struct Session {
    stop: Arc<AtomicBool>,
    /// No progress, for machines.
    pub quiet: bool,
    /// Runs that are not finished are not made here: another engine made those that there are. What is asked of finished ones is done.
    pub only_finished: bool,
}

impl Session {
    /// Listens for Ctrl-C, SIGTERM and SIGUSR1, which ask the work to stop after what it is doing. A second Ctrl-C or
    /// SIGTERM kills; not so a SIGTERM after a SIGUSR1, which is how batch systems announce the end of a job.
    pub fn start(quiet: bool) -> Outcome<Self> {
        let failed = |e| Failure::internal(format!("cannot listen for signals: {e}"));
        let (stop, again) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&again)).map_err(failed)?;
            flag::register(signal, Arc::clone(&again)).map_err(failed)?;
            flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
        }
        flag::register(SIGUSR1, Arc::clone(&stop)).map_err(failed)?;
        Ok(Self { stop, quiet, only_finished: false })
    }

    /// A session that nobody interrupts, for tests.
    #[cfg(test)]
    pub fn silent(stop: &Arc<AtomicBool>) -> Self {
        Self { stop: Arc::clone(stop), quiet: true, only_finished: false }
    }

    /// Asks the work to stop, as a signal would.
    pub fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A progress bar on stderr if that is a terminal; a line at the start otherwise.
    pub fn bar(&self, name: &str, total: usize, unit: &str) -> ProgressBar {
        bar(name, total, unit, self.quiet)
    }

    /// A progress bar for a run of so many steps, whose message is the return so far.
    pub fn run_bar(&self, name: &str, steps: u64) -> ProgressBar {
        if self.quiet || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let template = "{prefix} {wide_bar} {human_pos}/{human_len}  {per_sec}  return {msg}  {eta} left";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let style =
            style.progress_chars("━╸─").with_key("per_sec", |state: &ProgressState, out: &mut dyn Write| {
                let _ = write!(out, "{:.0}/s", state.per_sec());
            });
        ProgressBar::new(steps).with_style(style).with_prefix(name.to_owned()).with_message("–")
    }

    /// A progress bar for bytes that arrive, whose message says what is done with them.
    pub fn bytes_bar(&self, name: &str, bytes: u64) -> ProgressBar {
        if self.quiet || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let template = "{prefix:>9} {wide_bar} {decimal_bytes}/{decimal_total_bytes}  {msg}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(bytes).with_style(style.progress_chars("━╸─")).with_prefix(name.to_owned())
    }

    /// Whether progress is told in lines now and then, because there is no terminal for a bar.
    pub fn tells_lines(&self) -> bool {
        !self.quiet && !std::io::stderr().is_terminal()
    }

    /// A line for the user on stderr.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            output::say(line);
        }
    }
}

/// A progress bar on stderr if that is a terminal; a line at the start otherwise; nothing if it is to be quiet.
pub fn bar(name: &str, total: usize, unit: &str, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    if !std::io::stderr().is_terminal() {
        output::say(&format!("{name}: {total} {unit}"));
        return ProgressBar::hidden();
    }
    let template =
        format!("{{prefix:>9}} {{wide_bar}} {{pos:>4}}/{{len}} {unit}  {{elapsed}} gone, {{eta}} left");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64).with_style(style.progress_chars("━╸─")).with_prefix(name.to_owned())
}

/// A line for the user on stderr that is told even when progress is not.
pub fn warn(line: &str) {
    output::say(&format!("ive: {line}"));
}
