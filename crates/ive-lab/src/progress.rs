//! Progress on the terminal, and stopping in good order.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{Failure, Outcome};

/// What a running command knows about its surroundings.
#[derive(Clone, Debug)]
pub struct Session {
    stop: Arc<AtomicBool>,
    /// No progress, for machines.
    pub quiet: bool,
}

impl Session {
    /// Listens for Ctrl-C and SIGTERM: the first asks the work to stop after what it is doing, the second kills.
    pub fn start(quiet: bool) -> Outcome<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
                .map_err(|e| Failure::internal(format!("cannot listen for signals: {e}")))?;
        }
        Ok(Self { stop, quiet })
    }

    /// Whether somebody asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A progress bar on stderr if that is a terminal; a line at the start otherwise.
    pub fn bar(&self, name: &str, total: usize, unit: &str) -> ProgressBar {
        if self.quiet {
            return ProgressBar::hidden();
        }
        if !std::io::stderr().is_terminal() {
            eprintln!("{name}: {total} {unit}");
            return ProgressBar::hidden();
        }
        let template =
            format!("{{prefix:>9}} {{bar:32}} {{pos:>4}}/{{len}} {unit}  {{elapsed}} gone, {{eta}} left");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(total as u64).with_style(style.progress_chars("━╸─")).with_prefix(name.to_owned())
    }

    /// A line for the user on stderr.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }
}
