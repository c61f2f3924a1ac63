//! What trained agents were asked, and what they answered: kept beside the runs, so that nothing is asked twice.
//!
//! An answer is kept under the name of its run and all that it depends on. Whoever has the answer needs the run no more.

use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::{Failure, Outcome};
use crate::progress::Session;
use crate::store::{SeedLog, Store};

/// Something that is asked, under its name.
#[derive(Clone, Debug)]
pub struct Question<Item> {
    pub name: String,
    /// What the answer depends on.
    pub asked: Value,
    pub item: Item,
}

/// What could be worked out, and why the first of the others failed.
pub type Answered<T> = (Vec<T>, Option<Failure>);

/// What is kept: an answer, under what was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept<T> {
    asked: Value,
    answer: T,
}

/// Answers that are kept, and the log to which others are added.
#[derive(Debug)]
pub struct Answers<T> {
    done: Vec<(u64, Kept<T>)>,
    log: SeedLog,
}

/// The place of an answer in its store.
fn number(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    let first = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    // JSON numbers are exact up to 2⁵³.
    u64::from_le_bytes(*first) >> 11
}

impl<T: Serialize + DeserializeOwned + Clone + Send + Sync> Answers<T> {
    /// Those of a store.
    pub fn open(store: &Store) -> Outcome<Self> {
        let (done, log) = store.seeds()?;
        Ok(Self { done, log })
    }

    /// The answer to a question, if it is kept.
    pub fn to<Item>(&self, question: &Question<Item>) -> Option<&T> {
        let place = number(&question.name);
        let mine = |(n, kept): &&(u64, Kept<T>)| *n == place && kept.asked == question.asked;
        self.done.iter().rev().find(mine).map(|(_, kept)| &kept.answer)
    }

    /// All answers in the order of the questions; those that are missing are worked out, several at a time. After a request to stop
    /// none is begun. One that cannot be worked out leaves the others alone.
    pub fn all<Item: Sync>(
        &self,
        bar: ProgressBar,
        session: &Session,
        questions: &[Question<Item>],
        answer: impl Fn(&Item) -> Outcome<T> + Sync,
    ) -> Answered<(String, T)> {
        let one = |question: &Question<Item>| {
            let found = match self.to(question) {
                Some(known) => known.clone(),
                None if session.stopped() => return Ok(None),
                None => {
                    let found = answer(&question.item)?;
                    let kept = Kept { asked: question.asked.clone(), answer: found.clone() };
                    self.log.add(number(&question.name), &kept)?;
                    found
                }
            };
            bar.inc(1);
            Ok(Some((question.name.clone(), found)))
        };
        let all: Vec<Outcome<Option<(String, T)>>> = questions.par_iter().map(one).collect();
        bar.finish_and_clear();
        let (mut answers, mut failure) = (Vec::new(), None);
        for one in all {
            match one {
                Ok(found) => answers.extend(found),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        (answers, failure)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// Asked again, nothing is worked out; asked something else under the same name, it is.
    #[test]
    fn nothing_is_asked_twice() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &json!({}), false).unwrap();
        let session = Session::silent(&Arc::new(AtomicBool::new(false)));
        let worked = AtomicUsize::new(0);
        let ask = |asked: i64| {
            let question = |n: u64| Question { name: n.to_string(), asked: json!(asked), item: n };
            let questions = [question(3), question(1)];
            let twice = |n: &u64| {
                worked.fetch_add(1, Ordering::Relaxed);
                Ok(2 * n)
            };
            let kept: Answers<u64> = Answers::open(&store.part("answers")).unwrap();
            kept.all(ProgressBar::hidden(), &session, &questions, twice).0
        };
        let expected = [("3".to_owned(), 6), ("1".to_owned(), 2)];
        for (asked, count) in [(0, 2), (0, 2), (1, 4), (0, 4)] {
            assert_eq!(ask(asked), expected);
            assert_eq!(worked.load(Ordering::Relaxed), count);
        }
    }

    /// One that cannot be worked out does not take the others with it.
    #[test]
    fn a_failure_leaves_the_others_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &json!({}), false).unwrap();
        let session = Session::silent(&Arc::new(AtomicBool::new(false)));
        let kept: Answers<u64> = Answers::open(&store.part("answers")).unwrap();
        let questions = [1, 2, 3].map(|n: u64| Question { name: n.to_string(), asked: json!(0), item: n });
        let odd = |n: &u64| if n % 2 == 1 { Ok(*n) } else { Err(Failure::data("two")) };
        let (answers, failure) = kept.all(ProgressBar::hidden(), &session, &questions, odd);
        assert_eq!(answers, [("1".to_owned(), 1), ("3".to_owned(), 3)]);
        assert_eq!(failure.unwrap().message, "two");
    }
}
