//! The contract of players, shown by one that nothing else here resembles: continuous actions, a recurrent memory, an
//! environment that only truncates.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use std::ops::ControlFlow;
use std::sync::Arc;

use ive::{Guard, GuardUnit, Members, Rng};
use ive_agents::evaluation::{Fallback, Guarded, Judges, Observations, Saved, Survey};
use ive_agents::{
    AgentError, Decision, End, Estimates, Evaluate, Further, Manner, Memory, Moment, Player, Source, Start,
    Wish,
};
use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered};
use ive_envs::{BoxedEnvironment, Environment, Spec, StateError, StepError, StepKind, TimeStep};

type Motors = [f64; 2];

/// A point that is pushed about for twenty steps; what one sees of it is noisy.
struct Point {
    spec: Spec,
    rng: Rng,
    place: Motors,
    steps: u64,
}

const LENGTH: u64 = 20;

impl Point {
    fn new(seed: u64) -> Self {
        let spec = Spec {
            name: "test:point".to_owned(),
            shape: vec![2],
            channels: vec!["x", "y"],
            actions: vec!["right", "up"],
        };
        Self { spec, rng: Rng::from_seed(seed), place: [0.0; 2], steps: 0 }
    }
}

impl Environment for Point {
    type Action = Motors;
    type Element = f64;

    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn reset_into(&mut self, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        self.place = [self.rng.uniform(), self.rng.uniform()];
        self.steps = 0;
        self.observe_into(observation)?;
        Ok(TimeStep::new(StepKind::First, 0.0))
    }
    fn step_into(&mut self, action: Motors, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        let wind = self.rng.uniform();
        self.place = [self.place[0] + action[0] + wind, self.place[1] + action[1]];
        self.steps += 1;
        self.observe_into(observation)?;
        let kind = if self.steps == LENGTH { StepKind::Truncated } else { StepKind::Mid };
        Ok(TimeStep::new(kind, self.place[0]))
    }
    fn observe_into(&self, observation: &mut [f64]) -> Result<(), StepError> {
        observation.copy_from_slice(&self.place);
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        let words = self.rng.to_words().into_iter();
        let words = words.chain(self.place.map(f64::to_bits)).chain([self.steps]);
        words.flat_map(u64::to_le_bytes).collect()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = state.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let [a, b, c, d, e, x, y, steps] = words[..] else {
            return Err(StateError::Corrupt { what: "it has another length" });
        };
        self.rng = Rng::from_words([a, b, c, d, e]);
        (self.place, self.steps) = ([x, y].map(f64::from_bits), steps);
        Ok(())
    }
}

/// What it carries: a running sum of what it saw and did, and a stream from which it draws.
#[derive(Clone)]
struct Trace {
    sum: f64,
    rng: Rng,
}

impl Memory for Trace {
    fn save(&self) -> Vec<u8> {
        let words = self.rng.to_words().into_iter().chain([self.sum.to_bits()]);
        words.flat_map(u64::to_le_bytes).collect()
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let [a, b, c, d, e, sum] = words[..] else {
            return Err(StateError::Corrupt { what: "it has another length" });
        };
        (self.rng, self.sum) = (Rng::from_words([a, b, c, d, e]), f64::from_bits(sum));
        Ok(())
    }
}

struct Recurrent {
    source: Source<Motors, f64>,
    spec: Spec,
}

fn point(seed: u64) -> BoxedEnvironment<Motors, f64> {
    Box::new(Point::new(seed))
}

impl Recurrent {
    fn new() -> Self {
        Self { source: Arc::new(point), spec: Point::new(0).spec }
    }
}

impl Player for Recurrent {
    type Action = Motors;
    type Element = f64;
    type Memory = Trace;

    const LEARNS: &'static [Kinds] =
        &[Kinds { observation: ObservationKind::Vector, action: ActionKind::Continuous }];

    fn source(_: &Registered) -> Option<Source<Motors, f64>> {
        None
    }
    fn environments(&self) -> &Source<Motors, f64> {
        &self.source
    }
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn begin(&self, rng: &Rng) -> Trace {
        Trace { sum: 0.0, rng: rng.clone() }
    }
    fn decide(
        &mut self,
        observations: &[f64],
        memories: &mut [Trace],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<Motors>>, AgentError> {
        let one = |(seen, memory): (&[f64], &mut Trace)| {
            memory.sum += seen[0];
            let action = [memory.sum.sin(), memory.rng.uniform()];
            let members = match wish {
                Wish::These(wish) => Estimates::select(wish, Some(0.0), &[memory.sum, 2.0 * memory.sum])?,
                _ => Estimates::new(Members::new(1..=2).unwrap(), vec![memory.sum, 2.0 * memory.sum]),
            };
            Ok(Decision { action, value: memory.sum, members: Some(members) })
        };
        observations.chunks(2).zip(memories).map(one).collect()
    }
    fn further(&mut self, observations: &[f64], memories: &[Trace]) -> Result<Vec<Further>, AgentError> {
        let change = observations.chunks(2).zip(memories).map(|(seen, memory)| seen[0] - memory.sum);
        Ok(vec![Further { name: "change", scores: change.collect() }])
    }
    fn remember(&self, memory: &mut Trace, action: Motors, step: TimeStep<()>) {
        memory.sum += 0.1 * action[0] + 0.01 * step.reward;
    }
}

fn moments(manner: &Manner, number: usize) -> (Vec<Moment>, End) {
    let mut seen = Vec::new();
    let end = Recurrent::new().episode(&Start::numbered(7, number), manner, &mut |moment| {
        seen.push(moment.clone());
        ControlFlow::Continue(())
    });
    (seen, end.unwrap())
}

#[test]
fn an_episode_is_a_moment_for_each_state_and_one_for_its_end() {
    let (seen, end) = moments(&Manner::default(), 0);
    assert_eq!((seen.len() as u64, end), (LENGTH + 1, End::Over));
    let kinds: Vec<StepKind> = seen.iter().map(|moment| moment.kind).collect();
    assert_eq!((kinds[0], kinds[1], kinds[20]), (StepKind::First, StepKind::Mid, StepKind::Truncated));
    assert!(seen.iter().enumerate().all(|(t, moment)| moment.step == t as u64));
    let (last, first) = (seen.last().unwrap(), &seen[0]);
    assert!(last.decision.is_none() && last.reward != 0.0 && first.reward == 0.0);
    let decision = first.decision.as_ref().unwrap();
    let (members, sum) = (decision.members.as_ref().unwrap(), decision.value);
    assert_eq!((members.ks().to_string().as_str(), members.values()), ("k=1..2", &[sum, 2.0 * sum][..]));
    // By hand: the mean of x and 2x is 1.5 x, and both are half of x away from it.
    assert!((first.mu().unwrap() - 1.5 * sum).abs() < 1e-12);
    assert!((first.sigma().unwrap() - 0.5 * sum.abs()).abs() < 1e-12);
    assert!(decision.action.starts_with(['+', '−']), "{}", decision.action);
    assert_eq!(moments(&Manner::default(), 0).0, seen, "the seed decides");
    assert_ne!(moments(&Manner::default(), 1).0, seen);
}

#[test]
fn episodes_are_cut_off_stopped_and_asked_for_members() {
    let short = Manner { max_steps: 3, ..Manner::default() };
    let (seen, end) = moments(&short, 0);
    assert_eq!((seen.len(), end, seen[3].kind), (4, End::CutOff, StepKind::Mid));
    assert!(seen[3].decision.is_none());
    let mut count = 0;
    let stopped = Recurrent::new().episode(&Start::numbered(7, 0), &Manner::default(), &mut |_| {
        count += 1;
        if count == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped.unwrap(), count), (End::Stopped, 5));
    let with = |text: [usize; 2]| Manner { members: Members::new(text).ok(), ..Manner::default() };
    let members = moments(&with([0, 2]), 0).0[0].decision.clone().unwrap().members.unwrap();
    assert_eq!((members.ks().lengths(), members.values()[0]), (&[0, 2][..], 0.0));
    let mut refuse = |_: &Moment| ControlFlow::Continue(());
    let refused = Recurrent::new().episode(&Start::numbered(7, 0), &with([1, 3]), &mut refuse);
    let words = "this agent was trained to predict 2 steps, so there are k=0..2, not k∈{1,3}";
    assert_eq!(refused.unwrap_err().to_string(), words);
}

/// A random action is remembered as it was done, not as it was decided: otherwise the first decision after it would be
/// that of the greedy episode with the same wind.
#[test]
fn what_was_done_is_remembered_whoever_decided_it() {
    let random = Manner { epsilon: 1.0, ..Manner::default() };
    let (greedy, random) = (moments(&Manner::default(), 0).0, moments(&random, 0).0);
    assert!(random.iter().all(|moment| moment.random == moment.decision.is_some()));
    assert_eq!(greedy[0].decision.as_ref().unwrap().value, random[0].decision.as_ref().unwrap().value);
    assert_ne!(greedy[0].decision.as_ref().unwrap().action, random[0].decision.as_ref().unwrap().action);
    let value = |moments: &[Moment]| moments[1].decision.as_ref().unwrap().value;
    assert_ne!(value(&greedy), value(&random));
}

#[test]
fn greedy_episodes_are_those_shown_and_survive_being_saved_with_their_memory() {
    let mut player = Recurrent::new();
    let mut whole = player.greedy(7, 40);
    while whole.returns().is_none() {
        whole.round().unwrap();
    }
    let returns = whole.returns().unwrap();
    drop(whole);
    for (number, total) in returns.iter().enumerate() {
        let shown: f64 = moments(&Manner::default(), number).0.iter().map(|moment| moment.reward).sum();
        assert_eq!(shown, *total, "episode {number}");
    }
    let fresh = player.greedy(7, 40).save();
    let mut text = serde_json::to_string(&fresh).unwrap();
    let mut rounds = 0;
    let again = loop {
        let mut episodes = player.greedy(7, 40);
        assert!(episodes.resume(serde_json::from_str::<Saved>(&text).unwrap()));
        if let Some(returns) = episodes.returns() {
            break returns;
        }
        episodes.round().unwrap();
        text = serde_json::to_string(&episodes.save()).unwrap();
        rounds += 1;
    };
    assert!(rounds > 1);
    assert_eq!(again, returns);
    let mut fewer = player.greedy(7, 39);
    assert!(!fewer.resume(fresh), "of another number of episodes");
}

#[test]
fn states_of_any_kind_are_corrupted_and_scored() {
    let survey = Survey::new(32, 5);
    let scored = Recurrent::new().scores(&survey).unwrap();
    assert_eq!((scored.ordinary.episodes.len(), &*scored.ordinary.scores.name), (32, "none"));
    let names: Vec<&str> = scored.corrupted.iter().map(|scores| &*scores.name).collect();
    assert_eq!(names.len(), 5);
    for scores in &scored.corrupted {
        assert_eq!(scores.values.len(), 32);
        assert!(scores.example.is_none(), "there is nothing to see");
        assert_ne!(scores.values, scored.ordinary.scores.values, "{}", scores.name);
    }
    // Negating what is seen changes the sum that is carried by twice what is seen: the rest of the memory is the same.
    assert_eq!(Recurrent::new().scores(&survey).unwrap(), scored);
}

/// Only what was expected of the step before differs. By hand: here a value is what is carried, c, plus what is seen, x, the reward is x, and γ is 1. With
/// c₀ and x₀ one step before and δ = c − (c₀ + x₀), surprise is |x + δ| where nothing is seen any more and |x + δ + x₀| where nothing was seen before,
/// either; |δ| and |δ + 2 x₀| for turned signs.
#[test]
fn corruptions_that_last_are_compared_with_what_was_corrupted_before() {
    let once = Survey::new(32, 5);
    let lasting = Survey { lasting: true, ..once.clone() };
    let [once, lasting] = [once, lasting].map(|survey| Recurrent::new().scores(&survey).unwrap());
    assert_eq!(lasting.ordinary, once.ordinary);
    for (a, b) in once.corrupted.iter().zip(&lasting.corrupted) {
        assert_eq!((&a.values, &a.members, &a.further), (&b.values, &b.members, &b.further));
    }
    let index = |name: &str| once.corrupted.iter().position(|scores| scores.name == name).unwrap();
    let (zero, turned) = (index("zero"), index("signs turned"));
    let mut moved = 0;
    for i in 0..32 {
        let x = once.ordinary.scores.values[i] - once.corrupted[zero].values[i];
        let (small, large) = (once.corrupted[turned].surprise[i], lasting.corrupted[turned].surprise[i]);
        let found = lasting.corrupted[zero].surprise[i];
        let signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
        let fits = |&(a, b): &(f64, f64)| {
            let (delta, before) = (a * small, (b * large - a * small) / 2.0);
            ((x + delta).abs() - once.corrupted[zero].surprise[i]).abs() < 1e-9
                && ((x + delta + before).abs() - found).abs() < 1e-9
        };
        // Where an episode begins there was no state before, and no surprise.
        assert!(found == 0.0 || signs.iter().any(fits), "state {i}");
        moved += usize::from((large - small).abs() > 0.1);
    }
    assert!(moved > 20, "{moved}");
}

/// An alarm wherever |x|/2 is above the threshold; what it does then is what its fallback says.
#[test]
fn a_guard_replaces_actions_at_alarms_or_from_the_first_one_on() {
    let free = moments(&Manner::default(), 0).0;
    let sigmas: Vec<f64> = free.iter().filter_map(Moment::sigma).collect();
    let mut sorted = sigmas.clone();
    sorted.sort_by(f64::total_cmp);
    let guard = Guard::from_parts(sorted[10], 0.5, 20, GuardUnit::Episode).unwrap();
    let guarded = |fallback, lasting, stop| Manner {
        guard: Some(Guarded { guard, judges: Judges::Sigma, fallback, lasting, stop }),
        ..Manner::default()
    };
    // Without a fallback nothing changes but what is told.
    let told = moments(&guarded(None, false, false), 0).0;
    for (moment, free) in told.iter().zip(&free) {
        assert_eq!(moment.alarm, free.sigma().is_some_and(|sigma| sigma > sorted[10]));
        assert_eq!((moment.decision.clone(), moment.fallback), (free.decision.clone(), false));
    }
    let zero = Some(Fallback::Action("zero".to_owned()));
    let name = |moment: &Moment| moment.decision.as_ref().unwrap().action.to_string();
    for moment in moments(&guarded(zero.clone(), false, false), 0).0.iter().filter(|m| m.decision.is_some()) {
        assert_eq!(moment.fallback, moment.alarm);
        assert!(!moment.fallback || name(moment) == "+0.00 +0.00");
    }
    let lasting = moments(&guarded(zero, true, false), 0).0;
    let first = lasting.iter().position(|moment| moment.alarm).unwrap();
    let acting = lasting.iter().filter(|m| m.decision.is_some()).enumerate();
    acting.for_each(|(t, moment)| assert_eq!(moment.fallback, t >= first));
    let (stopped, end) = moments(&guarded(None, false, true), 0);
    assert!(
        end == End::Stopped
            && stopped.last().unwrap().alarm
            && stopped.iter().filter(|m| m.alarm).count() == 1
    );
    let unknown = guarded(Some(Fallback::Action("jump".to_owned())), false, false);
    let refused =
        Recurrent::new().episode(&Start::numbered(7, 0), &unknown, &mut |_| ControlFlow::Continue(()));
    assert_eq!(refused.unwrap_err().to_string(), "there is no action `jump`; there are right, up");
}

#[test]
fn broken_eyes_change_what_an_agent_does_and_unknown_ones_are_refused() {
    let blind = |name: &str| Manner { corruption: Some(name.to_owned()), ..Manner::default() };
    let zero = moments(&blind("zero"), 0).0;
    assert_eq!(zero[0].decision.as_ref().unwrap().value, 0.0, "it sees nothing at all");
    assert_ne!(zero[3].reward, moments(&Manner::default(), 0).0[3].reward);
    let refused =
        Recurrent::new().episode(&Start::numbered(7, 0), &blind("fog"), &mut |_| ControlFlow::Continue(()));
    assert!(refused.unwrap_err().to_string().starts_with("there is no corruption `fog`; there are "));
}

#[test]
fn a_recurrent_agent_is_not_asked_about_single_observations() {
    let ask = |observations| Recurrent::new().answer(observations, None).unwrap_err();
    assert!(matches!(ask(Observations::Numbers(&[0.0, 1.0])), AgentError::Recurrent));
    assert_eq!(
        ask(Observations::Numbers(&[0.0; 3])).to_string(),
        "observations: 2 entries each, got 3 in all"
    );
    assert_eq!(ask(Observations::Bytes(&[0, 1])).to_string(), "observations: they are of another type");
}

/// An agent's own scores are asked for with the memory from before the decision: here what is seen minus the sum so far.
#[test]
fn scores_of_an_agents_own_see_the_memory_before_the_decision() {
    let scored = Recurrent::new().starts(&[], 30, 5, None).unwrap();
    assert_eq!(scored.ordinary.episodes.len(), 32, "whole episodes of eight steps");
    assert_eq!(scored.ordinary.episodes[7..9], [0, 1]);
    let names: Vec<&str> = scored.corrupted.iter().map(|scores| &*scores.name).collect();
    assert_eq!(names, ["ordinary again"]);
    for scores in [&scored.ordinary.scores, &scored.corrupted[0]] {
        let Further { name, scores: change } = &scores.further[0];
        assert_eq!((*name, change.len(), scores.values.len()), ("change", 32, 32));
        // At the start of an episode nothing is carried, so both are what is seen.
        (0..32).step_by(8).for_each(|first| assert_eq!(change[first], scores.values[first]));
        assert!(change[1] < scores.values[1], "then something is");
    }
    assert_ne!(scored.ordinary.scores.values, scored.corrupted[0].values, "other seeds");
    assert_eq!(Recurrent::new().starts(&[], 30, 5, None).unwrap(), scored);
    let walker = Registered::new("walker:walk", &[]).unwrap();
    assert!(
        Recurrent::new().starts(&walker.odd_starts(), 8, 5, None).is_err(),
        "another kind of environment"
    );
}
