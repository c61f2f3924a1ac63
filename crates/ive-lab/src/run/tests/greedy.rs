//! Greedy episodes: interrupted anywhere, they return what uninterrupted ones return.

use super::*;
use crate::run::agents::make;
use crate::run::greedy::{FILE, Greedy};

/// The smallest runs of an agent.
fn plan_of(agent: &str, world: &str) -> Plan {
    let preset = if agent == "fake" { "default" } else { "smoke" };
    resolve(&Request { agent, world, preset, seed: 5, ..Request::default() }).unwrap()
}

#[test]
fn episodes_that_are_saved_after_every_round_end_as_if_nothing_had_happened() {
    // Short episodes, of which some begin late, and long ones.
    let cases = [
        ("fake", "minatar:seaquest", 18),
        ("dqn", "minatar:breakout", 200),
        ("mu-ive", "minatar:asterix", 100),
        ("dqn", "minatar:freeway", 17),
    ];
    for (name, world, episodes) in cases {
        let (plan, dir, disk) = (plan_of(name, world), scratch(), Disk::default());
        let mut agent = make(&plan).unwrap();
        let mut whole = Greedy::new(&mut *agent, &plan, episodes);
        while whole.returns().is_none() {
            whole.round().unwrap();
        }
        let expected = whole.returns();
        drop(whole);
        let mut sessions = 0;
        let returns = loop {
            let mut greedy = Greedy::new(&mut *agent, &plan, episodes);
            greedy.resume(dir.path(), &disk, "state").unwrap();
            if let Some(returns) = greedy.returns() {
                break returns;
            }
            greedy.round().unwrap();
            greedy.save(dir.path(), &disk, "state").unwrap().unwrap();
            sessions += 1;
        };
        println!("{name} in {world}: {sessions} sessions, returns {returns:?}");
        assert!(sessions > 1);
        assert_eq!(Some(returns), expected, "{name} in {world}");
        let mut other = Greedy::new(&mut *agent, &plan, episodes);
        other.resume(dir.path(), &disk, "another state of the agent").unwrap();
        assert_eq!(other.over(), 0);
    }
}

#[test]
fn a_run_that_is_stopped_in_its_greedy_episodes_keeps_them() {
    let reference = finished_run(&[]);
    let dir = finished_run(&[]);
    fs::remove_file(dir.path().join(RESULT)).unwrap();
    let stop = Arc::new(AtomicBool::new(true));
    let none = complete(dir.path(), &plan(&[]), &options(), &Session::silent(&stop), &ProgressBar::hidden());
    assert_eq!(none.unwrap(), None);
    let saved = fs::read(dir.path().join(FILE)).unwrap();
    for damage in [0, saved.len() / 2, saved.len() - 1] {
        let mut bytes = saved.clone();
        bytes[damage] ^= 1;
        fs::write(dir.path().join(FILE), bytes).unwrap();
        go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
        assert_eq!(essence(dir.path()), essence(reference.path()), "damaged at {damage}");
        assert!(!dir.path().join(FILE).exists());
        fs::remove_file(dir.path().join(RESULT)).unwrap();
    }
}
