//! The loop of a run: advance, record, save now and then, stop in good order.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use ive_agents::{Agent, Archive};

use super::agents;
use super::checkpoint::{Checkpoints, SaveError, Saving};
use super::greedy::{self, Greedy};
use super::journal::{Journal, METRICS, metrics_on};
use super::manifest::Manifest;
use super::segments::Fingerprint;
use super::{Finished, Plan, RESULT, RunOptions, restore, seal, sessions};
use crate::exit::{Failure, Outcome};
use crate::progress::{Session, warn};

/// When the first checkpoint of a run comes at the latest.
const FIRST_AFTER: Duration = Duration::from_secs(5);
/// How often progress is told where there is no terminal.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// A run that is being worked on; its directory is locked.
pub struct Trainer<'a> {
    dir: &'a Path,
    plan: Plan,
    options: &'a RunOptions,
    session: &'a Session,
    progress: &'a ProgressBar,
    agent: Box<dyn Agent>,
    checkpoints: Checkpoints,
    journal: Journal,
    sessions: sessions::Writer,
    /// The step of a checkpoint on its way to the disk, and its thread.
    saving: Option<(u64, Saving)>,
    saved: Instant,
    /// When progress was told last, and at which step.
    told: (Instant, u64),
    /// Since when there has been no room for a checkpoint.
    full_since: Option<Instant>,
}

impl<'a> Trainer<'a> {
    /// Begins the run of a directory, or takes it up where its newest good checkpoint left it.
    pub fn start(
        dir: &'a Path,
        plan: Plan,
        options: &'a RunOptions,
        session: &'a Session,
        progress: &'a ProgressBar,
    ) -> Outcome<Self> {
        let disk = &options.disk;
        let mut checkpoints = Checkpoints::of(dir, disk).with_segments_of(options.segment_bytes);
        let whole = |manifest: &Manifest| Journal::check(manifest, dir, disk);
        let report = |what: &str| warn(&format!("{what}; looking for an older one"));
        let found = checkpoints.load(&plan, whole, report)?;
        checkpoints.tidy()?;
        disk.tidy(dir)?;
        if found.is_none() && disk.look(&dir.join(METRICS))?.is_some_and(|seen| seen.length > 0) {
            session.say(&format!(
                "{}: it was interrupted before its first checkpoint, and begins anew",
                dir.display()
            ));
        }
        let journal = Journal::open(dir, disk, found.as_ref().map(|checkpoint| &checkpoint.manifest))?;
        let agent = match found {
            None => agents::make(&plan)?,
            Some(checkpoint) => restore(&plan, checkpoint)?,
        };
        let (now, step) = (Instant::now(), agent.steps());
        let sessions = sessions::Writer::begin(dir, disk, step)?;
        let mut trainer = Self {
            dir,
            plan,
            options,
            session,
            progress,
            agent,
            checkpoints,
            journal,
            sessions,
            saving: None,
            saved: now,
            told: (now, step),
            full_since: None,
        };
        trainer.introduce();
        Ok(trainer)
    }

    /// Works until the end, or until somebody asks to stop.
    pub fn run(mut self) -> Outcome<Option<Finished>> {
        let outcome = self.work();
        // Whatever went wrong, a save that is under way is not cut off.
        let ended = self.end_save();
        let outcome = outcome.and_then(|finished| ended.map(|()| finished));
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
        while self.agent.steps() < self.plan.steps {
            if self.session.stopped() {
                self.save_at_last()?;
                return Ok(None);
            }
            let advanced = self.agent.advance(&mut news);
            if self.saving.as_ref().is_some_and(|(_, saving)| advanced.is_err() || saving.is_over()) {
                let ended = self.end_save();
                // What an agent has to say comes first.
                if advanced.is_ok() {
                    ended?;
                }
            }
            advanced.map_err(|e| {
                let failure = agents::failed(&self.plan.agent, e);
                Failure { message: format!("{}; {}", failure.message, self.checkpoints.kept()), ..failure }
            })?;
            for each in news.drain(..) {
                self.journal.add(&each).map_err(|name| {
                    let (step, kept) = (each.step, self.checkpoints.kept());
                    Failure::internal(format!("metric `{name}` is not finite at step {step}; {kept}"))
                })?;
            }
            self.journal.flush()?;
            self.tell();
            if self.is_due() {
                self.save_if_there_is_room()?;
            }
            self.sessions.refresh(self.agent.steps());
        }
        self.save_at_last()?;
        self.finish()
    }

    fn is_due(&self) -> bool {
        let RunOptions { retry_every, checkpoint_every, .. } = *self.options;
        let every = match (self.full_since, self.checkpoints.newest()) {
            (Some(_), _) => retry_every,
            // Whoever kills a run soon after it began should not find that nothing was kept.
            (None, None) => checkpoint_every.min(FIRST_AFTER),
            (None, Some(_)) => checkpoint_every,
        };
        self.saving.is_none() && self.saved.elapsed() >= every
    }

    /// Collects the state, and brings it to the disk, on a thread of its own if that is wanted.
    fn begin_save(&mut self) -> Result<(), SaveError> {
        let step = self.agent.steps();
        if self.checkpoints.newest().is_some_and(|saved| saved.step == step) {
            // Perhaps an older one could not be removed at the time.
            return self.checkpoints.tidy().map_err(SaveError::Failed);
        }
        let logs = self.journal.sync()?;
        let state = self.checkpoints.collect(step, &mut |archive| self.agent.archive(archive))?;
        if self.options.background {
            self.saving = Some((step, self.checkpoints.begin(&self.plan, state, logs)));
            return Ok(());
        }
        self.checkpoints.save(&self.plan, state, logs)?;
        self.sessions.saved(step);
        Ok(())
    }

    /// Waits for a save that is under way, if there is one.
    fn end_save(&mut self) -> Outcome {
        let Some((step, saving)) = self.saving.take() else { return Ok(()) };
        let saved = self.checkpoints.end(saving);
        if saved.is_ok() {
            self.sessions.saved(step);
        }
        self.heed(saved)
    }

    /// Saves, or warns that there is no room and goes on; gives up when that has lasted too long.
    fn save_if_there_is_room(&mut self) -> Outcome {
        self.end_save()?;
        let begun = self.begin_save();
        self.saved = Instant::now();
        // Whether there is room is known at the end.
        if begun.is_ok() && self.saving.is_some() { Ok(()) } else { self.heed(begun) }
    }

    /// What follows from a save.
    fn heed(&mut self, saved: Result<(), SaveError>) -> Outcome {
        match saved {
            Ok(()) => {
                self.full_since = None;
                Ok(())
            }
            Err(SaveError::Failed(failure)) => Err(failure),
            Err(SaveError::Full(error)) => {
                self.saved = Instant::now();
                let since = *self.full_since.get_or_insert(self.saved);
                let kept = self.checkpoints.kept();
                if since.elapsed() >= self.options.give_up_after {
                    let minutes = since.elapsed().as_secs() / 60;
                    return Err(Failure::io(format!("{error}, for {minutes} minutes now; {kept}")));
                }
                let again = self.options.retry_every.as_secs();
                warn(&format!("{error}; {kept}; training goes on, next attempt in {again} s"));
                Ok(())
            }
        }
    }

    /// Saves before the end, waiting for room if need be; not when somebody asked to stop and waits for us.
    fn save_at_last(&mut self) -> Outcome {
        loop {
            self.save_if_there_is_room()?;
            self.end_save()?;
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

    /// The hash of the final state: of its payload, and of what its logs hold, if it has any.
    fn state(&mut self) -> Outcome<String> {
        let Some(saved) = self.checkpoints.newest() else { return Ok(String::new()) };
        if saved.segments.is_empty() {
            return Ok(saved.blake3.clone());
        }
        let payload = saved.blake3.clone();
        let mut logs = Fingerprint::default();
        let hashed = self.agent.archive(&mut Archive::saving_to(&mut logs));
        hashed.map_err(|e| Failure::internal(e.to_string()))?;
        Ok(logs.with(&payload))
    }

    /// Plays greedy episodes and writes the result. Everything in it comes from the final state and from the files.
    fn finish(&mut self) -> Outcome<Option<Finished>> {
        let state = self.state()?;
        let Some(greedy) = self.play_greedily(&state)? else { return Ok(None) };
        let plan = &self.plan;
        let logs = self.journal.sync()?;
        let finished = Finished {
            agent: plan.agent.clone(),
            world: plan.world.clone(),
            seed: plan.seed,
            steps: self.agent.steps(),
            return_100: self.agent.summary().recent_return,
            greedy,
            last: metrics_on(&self.options.disk, self.dir)?
                .pop()
                .map(|(_, values)| values)
                .unwrap_or_default(),
            state,
            metrics: logs.get(METRICS).cloned().ok_or_else(|| Failure::internal("there are no metrics"))?,
            run: self.plan.clone(),
        };
        self.options.disk.replace(&self.dir.join(RESULT), &seal::seal(&finished)?)?;
        // Of no use any more; if it stays, it does no harm.
        let _ = self.options.disk.remove(&self.dir.join(greedy::FILE));
        self.progress.finish();
        Ok(Some(finished))
    }

    /// The returns of greedy episodes; `None` if asked to stop. They are saved as often as training is, and before a stop.
    fn play_greedily(&mut self, state: &str) -> Outcome<Option<Vec<f64>>> {
        let (dir, options) = (self.dir, self.options);
        let disk = &options.disk;
        let mean = self.mean();
        let (plan, all) = (&self.plan, self.plan.greedy_episodes);
        let mut greedy = Greedy::new(&mut *self.agent, plan, all);
        greedy.resume(dir, disk, state)?;
        loop {
            if let Some(returns) = greedy.returns() {
                return Ok(Some(returns));
            }
            if self.session.stopped() {
                greedy.save(dir, disk, state)??;
                return Ok(None);
            }
            self.progress.set_message(format!("{mean}, {} of {all} greedy episodes", greedy.over()));
            greedy.round().map_err(|e| agents::failed(&plan.agent, e))?;
            if self.saved.elapsed() >= options.checkpoint_every {
                self.saved = Instant::now();
                match greedy.save(dir, disk, state)? {
                    Err(error) if error.is_full() => warn(&format!("{error}; the next attempt follows")),
                    other => other?,
                }
            }
        }
    }

    /// The return so far, for people.
    fn mean(&self) -> String {
        self.agent.summary().recent_return.map_or("–".to_owned(), |mean| format!("{mean:.2}"))
    }

    fn introduce(&mut self) {
        let (step, total) = (self.agent.steps(), self.plan.steps);
        if step > 0 {
            self.session.say(&format!("{}: resumes at step {step} of {total}", self.dir.display()));
        } else if self.session.tells_lines() {
            self.session.say(&format!("{}: {total} steps", self.dir.display()));
        }
        self.progress.set_position(step);
        self.progress.reset_eta();
    }

    fn tell(&mut self) {
        let (step, total) = (self.agent.steps(), self.plan.steps);
        self.progress.set_position(step);
        let mean = self.mean();
        if self.session.tells_lines() && self.told.0.elapsed() >= TELL_EVERY {
            let rate = (step - self.told.1) as f64 / self.told.0.elapsed().as_secs_f64();
            self.told = (Instant::now(), step);
            // Updates of pictures take long; while they do, nobody can tell.
            let left = total.saturating_sub(step) as f64 / rate / 60.0;
            let left = if rate > 0.0 { format!(", {left:.0} min left") } else { String::new() };
            self.session.say(&format!(
                "{}: step {step} of {total}, return {mean}, {rate:.0} steps/s{left}",
                self.dir.display()
            ));
        }
        self.progress.set_message(mean);
    }
}
