//! What any kind of action can do: be drawn at random, be told to people, and be named by them.

use std::borrow::Cow;

use ive::Rng;

use crate::environment::Spec;

/// An action of an environment: the number of one that has a name, or a number for each motor.
///
/// ```
/// use ive_envs::{Action, Environment, registry};
/// let breakout = registry::make("minatar:breakout", &[("actions", "minimal")], 0)?;
/// assert_eq!(1.name(breakout.spec()), "left");
/// assert_eq!(usize::named(breakout.spec(), "left"), Some(1));
/// assert_eq!([0.5, -1.0].name(breakout.spec()), "+0.50 −1.00");
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
pub trait Action: Copy + Send + 'static {
    /// One of all actions, each as likely as any other.
    fn random(spec: &Spec, rng: &mut Rng) -> Self;

    /// In words.
    fn name(self, spec: &Spec) -> Cow<'static, str>;

    /// The action of this name, if there is one: that of [`name`](Self::name), or `zero` for motors that are off.
    fn named(spec: &Spec, name: &str) -> Option<Self>;

    /// As numbers: the number of the action, or one for each motor.
    fn numbers(&self) -> Vec<f64>;
}

impl Action for usize {
    fn random(spec: &Spec, rng: &mut Rng) -> Self {
        rng.below(spec.actions.len())
    }

    fn name(self, spec: &Spec) -> Cow<'static, str> {
        spec.actions.get(self).map_or_else(|| self.to_string().into(), |&name| name.into())
    }

    fn named(spec: &Spec, name: &str) -> Option<Self> {
        spec.actions.iter().position(|known| *known == name)
    }

    fn numbers(&self) -> Vec<f64> {
        vec![*self as f64]
    }
}

/// Each number uniform in −1…1.
impl<const MOTORS: usize> Action for [f64; MOTORS] {
    fn random(_: &Spec, rng: &mut Rng) -> Self {
        [(); MOTORS].map(|()| 2.0 * rng.uniform() - 1.0)
    }

    fn name(self, _: &Spec) -> Cow<'static, str> {
        let numbers = self.map(|x| format!("{x:+.2}").replace('-', "−"));
        numbers.join(" ").into()
    }

    fn named(_: &Spec, name: &str) -> Option<Self> {
        (name == "zero").then_some([0.0; MOTORS])
    }

    fn numbers(&self) -> Vec<f64> {
        self.to_vec()
    }
}
