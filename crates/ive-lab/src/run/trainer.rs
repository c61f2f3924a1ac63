//! The loop of a run: advance, record, save now and then, stop in good order.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use ive_agents::{Agent, Archive, Metrics};

use super::agents;
use super::checkpoint::{Checkpoints, SaveError};
use super::config::Config;
use super::disk::{DiskError, is_leftover};
use super::log::Log;
use super::manifest::Manifest;
use super::{
    Finished, METRICS, RESULT, RunOptions, events, greedy, metrics, parse_metrics, restore, sessions,
};
use crate::exit::{Failure, Outcome};
use crate::progress::Session;

/// How often progress is told where there is no terminal.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// A run that is being worked on; its directory is locked.
pub struct Trainer<'a> {
    dir: &'a Path,
    config: Config,
    options: &'a RunOptions,
    session: &'a Session,
    progress: &'a ProgressBar,
    agent: Box<dyn Agent>,
    checkpoints: Checkpoints,
    metrics: Log,
    events: Log,
    sessions: sessions::Writer,
    began: (Instant, u64),
    saved: Instant,
    told: Instant,
    /// Since when there has been no room for a checkpoint.
    full_since: Option<Instant>,
}

impl<'a> Trainer<'a> {
    /// Begins the run of a directory, or takes it up where its newest good checkpoint left it.
    pub fn start(
        dir: &'a Path,
        config: Config,
        options: &'a RunOptions,
        session: &'a Session,
        progress: &'a ProgressBar,
    ) -> Outcome<Self> {
        let disk = &options.disk;
        let mut checkpoints = Checkpoints::of(dir, disk);
        let whole = |manifest: &Manifest| log_piece(manifest, dir).map(|_| ());
        let report = |what: &str| session.warn(&format!("{what}; looking for an older one"));
        let found = checkpoints.load(&config, whole, report)?;
        tidy(dir, disk, &checkpoints)?;
        let (agent, kept, kept_events) = match found {
            None => (agents::make(&config.plan)?, Vec::new(), None),
            Some(checkpoint) => {
                let kept = log_piece(&checkpoint.manifest, dir).map_err(Failure::data)?;
                let events = checkpoint.manifest.logs.get(events::FILE);
                let events = events.and_then(|piece| piece.beginning(&dir.join(events::FILE)).ok());
                (restore(&config, checkpoint)?, kept, events)
            }
        };
        let now = Instant::now();
        let step = agent.steps();
        let metrics = Log::open(disk, dir.join(METRICS), &kept)?;
        let events = match kept_events {
            Some(kept) => Log::open(disk, dir.join(events::FILE), &kept)?,
            None => new_events(Log::open(disk, dir.join(events::FILE), &[])?, &kept),
        };
        let sessions = sessions::Writer::begin(dir, disk, step);
        let mut trainer = Self {
            dir,
            config,
            options,
            session,
            progress,
            agent,
            checkpoints,
            metrics,
            events,
            sessions,
            began: (now, step),
            saved: now,
            told: now,
            full_since: None,
        };
        trainer.flush()?;
        trainer.introduce();
        Ok(trainer)
    }

    /// Works until the end, or until somebody asks to stop.
    pub fn run(mut self) -> Outcome<Option<Finished>> {
        let outcome = self.work();
        let end = match &outcome {
            Ok(Some(_)) => "finished",
            Ok(None) => "stopped",
            Err(_) => "failed",
        };
        self.sessions.end(self.agent.steps(), end);
        outcome
    }

    fn work(&mut self) -> Outcome<Option<Finished>> {
        let mut news = Vec::new();
        while self.agent.steps() < self.config.plan.steps {
            if self.session.stopped() {
                self.save_at_last()?;
                return Ok(None);
            }
            self.agent.advance(&mut news).map_err(|e| {
                let failure = agents::failed(&self.config.plan.agent, &e);
                Failure { message: format!("{}; {}", failure.message, self.checkpoints.kept()), ..failure }
            })?;
            news.drain(..).try_for_each(|each| self.record(&each))?;
            self.flush()?;
            self.tell();
            if self.is_due() {
                self.save_if_there_is_room()?;
            }
            self.sessions.refresh(self.agent.steps());
        }
        self.save_at_last()?;
        self.finish()
    }

    /// Adds a line of metrics.
    fn record(&mut self, news: &Metrics) -> Outcome {
        let mut line = format!("{{\"step\":{}", news.step);
        for (name, value) in &news.values {
            if !value.is_finite() {
                let (step, kept) = (news.step, self.checkpoints.kept());
                return Err(Failure::internal(format!(
                    "metric `{name}` is not finite at step {step}; {kept}"
                )));
            }
            line += &format!(",{}:{}", serde_json::json!(name), serde_json::json!(value));
        }
        line += "}\n";
        self.metrics.add(line.as_bytes());
        self.events.add(&events::scalars(sessions::now(), news.step, news.values.iter().copied()));
        Ok(())
    }

    /// Lets others see the metrics. No room is a matter for the next save.
    fn flush(&mut self) -> Outcome {
        let full = |error: DiskError| if error.is_full() { Ok(()) } else { Err(error.into()) };
        self.metrics.flush().or_else(full)?;
        self.events.flush().or_else(full)
    }

    fn is_due(&self) -> bool {
        let every =
            if self.full_since.is_some() { self.options.retry_every } else { self.options.checkpoint_every };
        self.saved.elapsed() >= every
    }

    fn save(&mut self) -> Result<(), SaveError> {
        let step = self.agent.steps();
        if self.checkpoints.newest().is_some_and(|saved| saved.step == step) {
            // Perhaps an older one could not be removed at the time.
            return self.checkpoints.tidy().map_err(SaveError::Failed);
        }
        let mut archive = Archive::saving();
        let unsaved = |e: ive_agents::ArchiveError| SaveError::Failed(Failure::internal(e.to_string()));
        self.agent.archive(&mut archive).map_err(unsaved)?;
        let logs = BTreeMap::from([
            (METRICS.to_owned(), self.metrics.sync()?),
            (events::FILE.to_owned(), self.events.sync()?),
        ]);
        self.checkpoints.save(&self.config, step, &archive.into_tensors(), logs)
    }

    /// Saves, or warns that there is no room and goes on; gives up when that has lasted too long.
    fn save_if_there_is_room(&mut self) -> Outcome {
        let saved = self.save();
        self.saved = Instant::now();
        match saved {
            Ok(()) => {
                self.full_since = None;
                Ok(())
            }
            Err(SaveError::Failed(failure)) => Err(failure),
            Err(SaveError::Full(error)) => {
                let since = *self.full_since.get_or_insert(self.saved);
                let kept = self.checkpoints.kept();
                if since.elapsed() >= self.options.give_up_after {
                    let minutes = since.elapsed().as_secs() / 60;
                    return Err(Failure::io(format!("{error}, for {minutes} minutes now; {kept}")));
                }
                let again = self.options.retry_every.as_secs();
                self.session.warn(&format!("{error}; {kept}; training goes on, next attempt in {again} s"));
                Ok(())
            }
        }
    }

    /// Saves before the end, waiting for room if need be; not when somebody asked to stop and waits for us.
    fn save_at_last(&mut self) -> Outcome {
        loop {
            self.save_if_there_is_room()?;
            if self.full_since.is_none() {
                return Ok(());
            }
            while !self.is_due() {
                if self.session.stopped() {
                    let kept = self.checkpoints.kept();
                    return Err(Failure::io(format!("stopped, but there was no room to save; {kept}")));
                }
                std::thread::sleep(self.options.retry_every.min(Duration::from_millis(100)));
            }
        }
    }

    /// Plays greedy episodes and writes the result. Everything in it comes from the final state and from the files.
    fn finish(&mut self) -> Outcome<Option<Finished>> {
        let (plan, session) = (&self.config.plan, self.session);
        let episodes = self.config.greedy_episodes;
        self.progress.set_message("– playing greedy episodes");
        let Some(greedy) = greedy::play(&mut *self.agent, plan, episodes, || !session.stopped())? else {
            return Ok(None);
        };
        let finished = Finished {
            agent: plan.agent.clone(),
            world: plan.world.clone(),
            seed: plan.seed,
            steps: self.agent.steps(),
            return_100: self.agent.recent_return(),
            greedy,
            last: metrics(self.dir)?.pop().map(|(_, values)| values).unwrap_or_default(),
            state: self.checkpoints.newest().map(|saved| saved.blake3.clone()).unwrap_or_default(),
        };
        let mut text = serde_json::to_vec_pretty(&finished).map_err(|e| Failure::internal(e.to_string()))?;
        text.push(b'\n');
        self.options.disk.replace(&self.dir.join(RESULT), &text)?;
        self.progress.finish();
        Ok(Some(finished))
    }

    fn introduce(&mut self) {
        let (step, total) = (self.agent.steps(), self.config.plan.steps);
        self.progress.set_position(step);
        self.progress.reset_eta();
        if step > 0 {
            self.session.say(&format!("{}: goes on at step {step} of {total}", self.dir.display()));
        } else if self.session.tells_lines() {
            self.session.say(&format!("{}: {total} steps", self.dir.display()));
        }
    }

    fn tell(&mut self) {
        let (step, total) = (self.agent.steps(), self.config.plan.steps);
        self.progress.set_position(step);
        let mean = self.agent.recent_return().map_or("–".to_owned(), |mean| format!("{mean:.2}"));
        if self.session.tells_lines() && self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            let rate = (step - self.began.1) as f64 / self.began.0.elapsed().as_secs_f64();
            let left = total.saturating_sub(step) as f64 / rate / 60.0;
            self.session.say(&format!(
                "{}: step {step} of {total}, return {mean}, {rate:.0} steps/s, {left:.0} min left",
                self.dir.display()
            ));
        }
        self.progress.set_message(mean);
    }
}

/// The metrics that a checkpoint pins, if they are there.
fn log_piece(manifest: &Manifest, dir: &Path) -> Result<Vec<u8>, String> {
    let piece = manifest.logs.get(METRICS).ok_or_else(|| format!("it does not know {METRICS}"))?;
    piece.beginning(&dir.join(METRICS))
}

/// An event file made from metrics that are there already, if any: it only repeats them, so that its loss is no loss.
fn new_events(mut events: Log, kept: &[u8]) -> Log {
    let now = sessions::now();
    events.add(&events::first(now));
    for (step, values) in String::from_utf8_lossy(kept).lines().filter_map(parse_metrics) {
        events.add(&events::scalars(now, step, values.iter().map(|(name, x)| (name.as_str(), *x))));
    }
    events
}

/// Removes what killed writers left behind.
fn tidy(dir: &Path, disk: &super::disk::Disk, checkpoints: &Checkpoints) -> Outcome {
    checkpoints.tidy()?;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if is_leftover(&entry.file_name().to_string_lossy()) {
            disk.remove(&entry.path())?;
        }
    }
    Ok(())
}
