//! An agent of a run plays, and somebody watches, or only the recorder.

use super::record::Recorder;
use super::screen::{Command, Screen, command_until};
use super::thought::{Thought, Thoughts};
use super::view::{View, bytes};
use super::{PlayArgs, Score};
use crate::commands::env::EnvironmentArgs;
use crate::exit::{Failure, Outcome};
use crate::progress;
use crate::run::agents::{failed, refused};
use crate::run::load;
use crate::run::search::find;
use indicatif::ProgressBar;
use ive_agents::{Agent, AgentError, Manner, Moment, Start};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// An agent and the environment in which it is watched.
pub(super) struct Watched {
    agent: Box<dyn Agent>,
    /// Its name, and where it is from.
    name: String,
    run: String,
    manner: Manner,
    /// How pictures of the environment are shown.
    pub(super) view: View,
}

/// Who watches.
pub(super) enum Eyes<'a> {
    /// Nobody; pictures are made. The bar is there from the first moment on.
    Closed(Option<ProgressBar>),
    /// Somebody at a terminal, so many steps per second.
    Open(&'a mut Screen, u16),
}

impl Watched {
    /// The agent of a run. It knows only its own environment, but may meet it with other options. Pictures have `side` pixels a
    /// side where the environment heeds that.
    pub(super) fn ready(run: &Path, args: &EnvironmentArgs, side: usize) -> Outcome<Self> {
        let dir = find(run).map_err(|failure| Failure {
            message: format!("--policy takes keyboard, random or a run: {}", failure.message),
            ..failure
        })?;
        let (plan, agent) = load(&dir)?;
        let run = dir.display().to_string();
        if plan.world != args.name {
            let (knows, asked) = (plan.world, &args.name);
            return Err(Failure::usage(format!("the agent of {run} plays {knows}, not {asked}")));
        }
        let options = args.options()?.into_iter().collect();
        let environment = plan.environment()?.changed(&options).map_err(refused)?;
        // Every generator has the seed 0.
        let sight = environment.open(0).map_err(refused)?.sight(side);
        let view = View::of(sight.as_ref(), &args.name)?;
        let manner = Manner {
            max_steps: u64::MAX,
            pictures: Some(side),
            environment: Some(environment),
            ..Manner::default()
        };
        Ok(Self { agent, name: plan.agent, run, manner, view })
    }

    /// Plays episode after episode until the steps are over or whoever watches has seen enough.
    pub(super) fn play(
        &mut self,
        args: &PlayArgs,
        eyes: Eyes<'_>,
        recorder: &mut Recorder,
    ) -> Outcome<Score> {
        let limit = match eyes {
            Eyes::Closed(_) => Some(args.steps.unwrap_or(200)),
            Eyes::Open(..) => args.steps,
        };
        let mut watching = Watching {
            eyes,
            recorder,
            limit,
            score: Score::default(),
            thoughts: Thoughts::default(),
            quit: false,
        };
        let seed = args.world.seed;
        for number in 0.. {
            // The first episode is that of the seed as it was typed.
            let start = Start::numbered(seed, number);
            let start = if number == 0 { start.in_environment(seed) } else { start };
            let mut failure = None;
            let mut watch = |moment: &Moment| {
                watching.see(moment).unwrap_or_else(|error| {
                    failure = Some(error);
                    ControlFlow::Break(())
                })
            };
            let end = self.agent.episode(&start, &self.manner, &mut watch);
            if let Some(failure) = failure {
                return Err(failure);
            }
            end.map_err(|error| self.refusal(error))?;
            if watching.quit {
                break;
            }
        }
        if let Eyes::Closed(Some(bar)) = &watching.eyes {
            bar.finish_and_clear();
        }
        Ok(watching.score)
    }

    fn refusal(&self, error: AgentError) -> Failure {
        match error {
            AgentError::Form { .. } => Failure::usage(format!(
                "the agent of {} was trained with other actions; leave the option `actions` as it was",
                self.run
            )),
            error => failed(&self.name, error),
        }
    }
}

struct Watching<'a, 'b> {
    eyes: Eyes<'a>,
    recorder: &'b mut Recorder,
    limit: Option<u64>,
    score: Score,
    thoughts: Thoughts,
    /// Whether it is enough for good, and not only of this episode.
    quit: bool,
}

impl Watching<'_, '_> {
    /// Looks at a moment, and says whether to go on with the episode.
    fn see(&mut self, moment: &Moment) -> Outcome<ControlFlow<()>> {
        let sight = moment.sight.as_ref().map_or(&[][..], bytes);
        if moment.step == 0 {
            self.score.total = 0.0;
            self.thoughts.clear();
        } else {
            self.score.count(moment.reward, moment.kind.is_last());
        }
        self.recorder.add(sight)?;
        self.quit = self.limit.is_some_and(|limit| self.score.steps >= limit);
        if self.quit {
            return Ok(ControlFlow::Break(()));
        }
        let Some(mu) = moment.mu() else { return Ok(ControlFlow::Continue(())) };
        self.thoughts.push(Thought { mu, sigma: moment.sigma() });
        match &mut self.eyes {
            Eyes::Closed(bar) => {
                let steps = self.limit.unwrap_or_default() as usize;
                let bar = bar.get_or_insert_with(|| progress::bar("pictures", steps, "steps", false));
                bar.set_position(self.score.steps);
                Ok(ControlFlow::Continue(()))
            }
            Eyes::Open(screen, fps) => {
                let flow = wait(screen, *fps, sight, &self.score, &self.thoughts);
                let flow = flow.map_err(|error| Failure::io(format!("cannot use the terminal: {error}")))?;
                self.quit = flow == Some(Command::Quit);
                Ok(if flow.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            }
        }
    }
}

/// Shows a moment for its time, or as long as there is a pause; the command that ended it, if one did.
fn wait(
    screen: &mut Screen,
    fps: u16,
    sight: &[u8],
    score: &Score,
    thoughts: &Thoughts,
) -> std::io::Result<Option<Command>> {
    let mut paused = false;
    loop {
        screen.show(sight, score, if paused { "paused" } else { "" })?;
        screen.think(&thoughts.lines())?;
        match command_until(Instant::now() + Duration::from_secs(1) / u32::from(fps))? {
            Some(Command::Pause) => paused = !paused,
            Some(Command::Act(_)) => paused = false,
            Some(other) => return Ok(Some(other)),
            None => {}
        }
        if !paused {
            return Ok(None);
        }
    }
}
