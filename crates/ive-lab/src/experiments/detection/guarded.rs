//! A trained agent under a guard: what it returns in its usual environment and under a shift, with and without a fallback.
//!
//! The guard is calibrated by episode, on ordinary episodes of its own: at most `guard_rate` of ordinary episodes raise an alarm.

use std::ops::ControlFlow;

use ive::{Guard, mean};
use ive_agents::evaluation::{Fallback, Guarded, Judges};
use ive_agents::{Agent, Manner, Moment, Start};
use serde::{Deserialize, Serialize};

use super::sweep::{Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::run::agents::failed;

/// Episodes that set the threshold, and those that are compared: numbers that do not meet.
const HELD_OUT: usize = 1 << 20;
const COMPARED: usize = 1 << 21;
/// Episodes are cut off here; those of Freeway end by themselves before.
const MAX_STEPS: u64 = 3000;

/// Episodes of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// `usual`, or the shift.
    pub condition: String,
    /// `none`, or what the guard judges and how long its fallback stays: `sigma, step`.
    pub guard: String,
    /// Mean return.
    pub total: f64,
    /// The share of episodes with an alarm.
    pub alarmed: f64,
    /// The share of steps in which the fallback acted.
    pub replaced: f64,
}

/// The fallback that settings name.
pub fn fallback(text: &str) -> Fallback {
    if text == "random" { Fallback::Random } else { Fallback::Action(text.to_owned()) }
}

/// Plays everything with one agent.
pub fn play(settings: &Settings, cell: &Cell, agent: &mut dyn Agent) -> Outcome<Vec<Played>> {
    let usual = Manner { max_steps: MAX_STEPS, ..Manner::default() };
    let (mut sigma, mut low, mut episodes) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..settings.guard_episodes as usize {
        episode(settings, agent, cell.seed, HELD_OUT + number, &usual, &mut |moment| {
            if moment.decision.is_some() {
                sigma.push(moment.sigma().unwrap_or(f64::NAN));
                low.push(-moment.mu().unwrap_or(f64::NAN));
                episodes.push(number);
            }
        })?;
    }
    let mut guards: Vec<(String, Option<Guarded>)> = vec![("none".to_owned(), None)];
    for (name, judges, scores) in [("sigma", Judges::Sigma, &sigma), ("low_value", Judges::LowValue, &low)] {
        let guard = ours(Guard::calibrate_episodes(scores, &episodes, settings.guard_rate))?;
        for (how, lasting) in [("step", false), ("episode", true)] {
            let fallback = Some(fallback(&settings.guard_fallback));
            guards.push((
                format!("{name}, {how}"),
                Some(Guarded { guard, judges, fallback, lasting, stop: false }),
            ));
        }
    }
    let shift = Settings::shift(cell.game, &settings.guard_shift)?;
    let corruption = Some(settings.guard_corruption.clone());
    let conditions = [
        ("usual".to_owned(), usual.clone()),
        (
            shift.name.clone(),
            Manner {
                environment: shift.environment.clone(),
                epsilon: unusual(shift.epsilon),
                ..usual.clone()
            },
        ),
        (settings.guard_corruption.clone(), Manner { corruption, ..usual }),
    ];
    let mut all = Vec::new();
    for (condition, manner) in &conditions {
        for (name, guard) in &guards {
            let manner = Manner { guard: guard.clone(), ..manner.clone() };
            let (total, alarmed, replaced) = compare(settings, cell, agent, &manner)?;
            all.push(Played { condition: condition.clone(), guard: name.clone(), total, alarmed, replaced });
        }
    }
    Ok(all)
}

/// Random play is a shift; the ε of surveys is none here.
fn unusual(epsilon: f64) -> f64 {
    if epsilon < 1.0 { 0.0 } else { epsilon }
}

/// Mean return, share of episodes with an alarm, share of steps of the fallback.
fn compare(
    settings: &Settings,
    cell: &Cell,
    agent: &mut dyn Agent,
    manner: &Manner,
) -> Outcome<(f64, f64, f64)> {
    let (mut totals, mut alarmed, mut replaced, mut steps) = (Vec::new(), 0, 0, 0);
    for number in 0..settings.guard_episodes as usize {
        let (mut total, mut alarm) = (0.0, false);
        episode(settings, agent, cell.seed, COMPARED + number, manner, &mut |moment| {
            total += moment.reward;
            alarm |= moment.alarm;
            replaced += usize::from(moment.fallback);
            steps += usize::from(moment.decision.is_some());
        })?;
        totals.push(total);
        alarmed += usize::from(alarm);
    }
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    Ok((mean(&totals), share(alarmed, totals.len()), share(replaced, steps)))
}

fn episode(
    settings: &Settings,
    agent: &mut dyn Agent,
    seed: u64,
    number: usize,
    manner: &Manner,
    see: &mut dyn FnMut(&Moment),
) -> Outcome {
    let mut watch = |moment: &Moment| {
        see(moment);
        ControlFlow::Continue(())
    };
    let played = agent.episode(&Start::numbered(seed, number), manner, &mut watch);
    played.map(|_| ()).map_err(|e| failed(&settings.agent, e))
}
