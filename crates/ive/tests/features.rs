//! The optional features: what is written reads back, what is wrong is refused, and streams are those of the rand crates.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

#[cfg(feature = "serde")]
mod saved {
    use ive::*;
    use serde::{Serialize, de::DeserializeOwned};

    fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }

    fn path() -> Rollout {
        let mut path = Rollout::start(vec![0.1, -4.0]).unwrap();
        path.push(&[0.3, 0.0], &[0.9, 0.0], &[1.0 / 3.0, 1e300]).unwrap();
        path
    }

    #[test]
    fn what_is_written_reads_back() {
        let path = path();
        let ensemble = ValueEnsemble::implicit(&path);
        assert_eq!(again(&path), path);
        assert_eq!(again(&ensemble), ensemble);
        assert_eq!(
            again(&ensemble.select(&Members::new([1]).unwrap()).unwrap()).unroll_lengths().unwrap().lengths(),
            [1]
        );
        let explicit = ValueEnsemble::from_members([[1.0], [2.0]]).unwrap();
        assert_eq!(again(&explicit), explicit);
        let mut rng = Rng::from_seed(3).fold_in(1);
        rng.uniform();
        assert_eq!(again(&rng), rng);
        for signal in
            [Signal::Mean, Signal::Std { ddof: 1 }, Signal::MeanPlusStd { beta: -0.5 }, Signal::Range]
        {
            assert_eq!(again(&signal), signal);
        }
        let error = StratifiedMean::new(&[vec![1.0, 2.0]]).unwrap();
        assert_eq!(again(&error), error);
        let sigma = Inconsistency { states: vec![0.5], pairs: vec![0.25, 0.75] };
        assert_eq!(again(&sigma), sigma);
    }

    /// The saved forms are a promise: files outlive versions.
    #[test]
    fn saved_forms_stay_as_they_are() {
        let text = |value: &dyn Fn() -> serde_json::Value| value().to_string();
        assert_eq!(text(&|| serde_json::to_value(Members::new([7, 1]).unwrap()).unwrap()), "[1,7]");
        assert_eq!(text(&|| serde_json::to_value(Ties::Uniform).unwrap()), "\"uniform\"");
        assert_eq!(text(&|| serde_json::to_value(Attitude::Seeking).unwrap()), "\"seeking\"");
        assert_eq!(text(&|| serde_json::to_value(Weighting::Decreasing).unwrap()), "\"decreasing\"");
        assert_eq!(text(&|| serde_json::to_value(Signal::Std { ddof: 0 }).unwrap()), r#"{"std":{"ddof":0}}"#);
        let guard = ive::Guard::calibrate(&[1.0, 2.5, 2.0], 0.25).unwrap();
        assert_eq!(
            text(&|| serde_json::to_value(guard).unwrap()),
            r#"{"n":3,"rate":0.25,"threshold":2.5,"unit":"step"}"#
        );
        let mut path = Rollout::start(vec![1.0]).unwrap();
        path.push(&[0.5], &[0.5], &[2.0]).unwrap();
        assert_eq!(
            text(&|| serde_json::to_value(&path).unwrap()),
            r#"{"start":[1.0],"steps":[{"discount":[0.5],"reward":[0.5],"value":[2.0]}]}"#
        );
        assert_eq!(
            text(&|| serde_json::to_value(ValueEnsemble::implicit(&path)).unwrap()),
            r#"{"members":[[1.0],[1.5]],"unroll_lengths":[0,1]}"#
        );
    }

    #[test]
    fn what_is_read_is_checked() {
        let refused = |error: serde_json::Error| error.to_string();
        let lengths = serde_json::from_str::<Members>("[70000]").unwrap_err();
        assert!(refused(lengths).starts_with("horizon k: 70000 is outside the range 0 to 65535"));
        assert!(serde_json::from_str::<Members>("[]").is_err());
        let ragged = serde_json::from_str::<ValueEnsemble>(r#"{"members":[[1.0],[]],"unroll_lengths":null}"#);
        assert!(
            refused(ragged.unwrap_err())
                .starts_with("states of an ensemble member: expected length 1, got 0")
        );
        let other = serde_json::from_str::<ValueEnsemble>(r#"{"members":[[1.0]],"unroll_lengths":[0,1]}"#);
        assert!(
            refused(other.unwrap_err())
                .starts_with("unroll lengths, one for each member: expected length 1, got 2")
        );
        let guard = r#"{"n":3,"rate":0.01,"threshold":2.5,"unit":"step"}"#;
        let error = serde_json::from_str::<ive::Guard>(guard).unwrap_err();
        assert!(refused(error).contains("at least 99 are needed, got 3"));
        let discount = r#"{"start":[1.0],"steps":[{"reward":[0.5],"discount":[1.5],"value":[2.0]}]}"#;
        let error = serde_json::from_str::<Rollout>(discount).unwrap_err();
        assert!(refused(error).starts_with("discount: 1.5 is outside the range 0 to 1"));
    }
}

#[cfg(feature = "rand_core")]
mod streams {
    use rand_core::{Rng as _, SeedableRng};

    /// Words, half words and bytes are those of `rand_xoshiro`, so any distribution built on them agrees too.
    #[test]
    fn streams_are_those_of_rand_xoshiro() {
        let mut ours = <ive::Rng as SeedableRng>::seed_from_u64(42);
        let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(42);
        let (mut a, mut b) = ([0; 37], [0; 37]);
        for _ in 0..100 {
            assert_eq!(ours.next_u32(), theirs.next_u32());
            assert_eq!(ours.next_u64(), theirs.next_u64());
            ours.fill_bytes(&mut a);
            theirs.fill_bytes(&mut b);
            assert_eq!(a, b);
        }
        assert_eq!(<ive::Rng as SeedableRng>::from_seed(7u64.to_le_bytes()), ive::Rng::from_seed(7));
    }
}
