//! `ive env trace walker:…`: positions and velocities in every bit.

use super::numbers;
use super::trace::TraceArgs;
use crate::exit::{Failure, Outcome};
use ive::Rng;
use ive_envs::registry::AnyEnvironment;
use ive_envs::walker::picture::Renderer;
use ive_envs::walker::task::JOINTS;
use ive_envs::walker::{Action, Walker};
use ive_envs::{Environment, StepKind, TimeStep, fnv1a};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// An action with each of its numbers uniform in −1…1.
pub fn random_action(rng: &mut Rng) -> Action {
    Action::default().map(|_| 2.0 * rng.uniform() - 1.0)
}

/// Lets a walker walk and prints what happens to it; the inner error is that of printing.
pub(super) fn trace(args: &TraceArgs, out: &mut impl Write) -> Outcome<io::Result<()>> {
    // Files first: whoever mistyped something need not wait for a library.
    let actions = actions(args)?;
    let pose = args.qpos.as_ref().map(|path| numbers::whole(path).map(|pose| (path, pose)));
    let pose = pose.transpose()?;
    let (mut walker, renderer) = match args.world.open()? {
        AnyEnvironment::Walker(walker) => (*walker, None),
        AnyEnvironment::Pixels(pixels) => (pixels.into_walker(), Some(Renderer::default())),
        AnyEnvironment::Bytes(_) => {
            return Err(Failure::internal(format!("{} is no walker", args.world.name)));
        }
    };
    if let Some((path, pose)) = pose {
        let at = |error| Failure::data(format!("{}: {error}", path.display()));
        walker = walker.starting_at(pose).map_err(at)?;
    }
    let mut seen = Seen { renderer, json: args.json };
    walker.reset();
    for (i, &action) in actions.iter().enumerate() {
        let step = walker.step(action).map_err(|error| Failure::data(format!("step {}: {error}", i + 1)))?;
        let ended = step.kind.is_last();
        let line = seen.line(i + 1, action, step, &walker)?;
        if let Err(error) = writeln!(out, "{line}") {
            return Ok(Err(error));
        }
        if ended {
            walker.reset();
        }
    }
    Ok(Ok(()))
}

/// As many actions as there are steps.
fn actions(args: &TraceArgs) -> Outcome<Vec<Action>> {
    let usual = args.steps.unwrap_or(1000);
    if args.actions == "zero" {
        return Ok(vec![Action::default(); usual]);
    }
    if args.actions == "random" {
        // A stream of its own: the world's draws do not depend on the policy.
        let mut rng = Rng::from_seed(args.world.seed).fold_in(1);
        return Ok((0..usual).map(|_| random_action(&mut rng)).collect());
    }
    let mut actions = numbers::lines(Path::new(&args.actions))?;
    let (got, needed) = (actions.len(), args.steps.unwrap_or(actions.len()));
    if got < needed {
        let (path, last) = (&args.actions, got + 1);
        return Err(Failure::data(format!(
            "{path}:{last}: the file ends after {got} actions, {needed} are needed"
        )));
    }
    actions.truncate(needed);
    Ok(actions)
}

/// How steps are printed.
struct Seen {
    /// There if the walker is to be seen as a picture.
    renderer: Option<Renderer>,
    json: bool,
}

/// A step as JSON.
#[derive(Serialize)]
struct Line {
    step: usize,
    action: Action,
    reward: f64,
    truncated: bool,
    qpos: [String; JOINTS],
    qvel: [String; JOINTS],
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

impl Seen {
    fn line(
        &mut self,
        step: usize,
        action: Action,
        now: TimeStep<Vec<f64>>,
        walker: &Walker,
    ) -> Outcome<String> {
        let picture = self.renderer.as_mut().map(|renderer| renderer.render(walker.qpos())).transpose();
        let picture = picture.map_err(|error| Failure::internal(error.to_string()))?;
        let hash = picture.map(|picture| format!("{:016x}", fnv1a(&picture)));
        let [qpos, qvel] =
            [walker.qpos(), walker.qvel()].map(|xs| xs.map(|x| format!("{:016x}", x.to_bits())));
        let (reward, truncated) = (now.reward, now.kind == StepKind::Truncated);
        if self.json {
            let line = serde_json::to_string(&Line { step, action, reward, truncated, qpos, qvel, hash });
            return line.map_err(|error| Failure::internal(error.to_string()));
        }
        let hash = hash.map_or_else(String::new, |hash| format!("  picture {hash}"));
        let [qpos, qvel] = [qpos, qvel].map(|numbers| numbers.join(" "));
        Ok(format!("{step:>8}  reward {reward:<20}  {truncated:<5}  qpos {qpos}  qvel {qvel}{hash}"))
    }
}
