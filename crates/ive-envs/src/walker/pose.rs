//! How episodes start: limbs at random angles, 1.3 m up, at rest, so that the walker falls at once; or oddly, as no episode of the
//! original does.

use super::task::JOINTS;
use crate::random::Stream;
use crate::registry::OptionError;
use std::f64::consts::PI;

/// Where the angles of a leg start and end, in degrees: hip, knee, ankle. `body.xml` has the same limits.
const LEG: [(f64, f64); 3] = [(-20.0, 100.0), (-150.0, 0.0), (-45.0, 45.0)];

/// A random pose: the lean uniform in (−π, π), the angles of both legs uniform within their limits, and no displacement.
///
/// Seven draws in the order of the joints, as dm_control makes them: with NumPy's generator the poses are the same.
pub(super) fn random(stream: &mut Stream) -> [f64; JOINTS] {
    let mut uniform = |low: f64, high: f64| low + (high - low) * stream.uniform();
    let lean = uniform(-PI, PI);
    let mut qpos = [0.0, 0.0, lean, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for (angle, (low, high)) in qpos[3..].iter_mut().zip(LEG.into_iter().cycle()) {
        *angle = uniform(low.to_radians(), high.to_radians());
    }
    qpos
}

/// How episodes start. All but the first are odd: they show an agent what it has never met, for tests of its doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// As in the original: a random pose at rest.
    Ordinary,
    /// Lifted by up to 1.5 m, every velocity normal with standard deviation 5.
    Air,
    /// The same with hips, knees and ankles anywhere within ±2.5 rad.
    Joints,
    /// A random pose with velocities of standard deviation 15.
    Fast,
}

/// How far odd starts are lifted, in metres, and bent, in radians.
const LIFT: f64 = 1.5;
const BEND: f64 = 2.5;

impl Start {
    /// All of them; the odd ones are those after the first.
    pub const ALL: [Self; 4] = [Self::Ordinary, Self::Air, Self::Joints, Self::Fast];

    /// The name, as it is written in the option `start`.
    pub fn name(self) -> &'static str {
        ["ordinary", "air", "joints", "fast"][self as usize]
    }

    pub(super) fn from_option(value: &str) -> Result<Self, OptionError> {
        let known = Self::ALL.into_iter().find(|start| start.name() == value);
        known.ok_or_else(|| OptionError::value("start", value, "ordinary, air, joints or fast"))
    }

    /// Positions and velocities at the start of an episode.
    pub(super) fn draw(self, stream: &mut Stream) -> ([f64; JOINTS], [f64; JOINTS]) {
        let mut qpos = random(stream);
        if matches!(self, Self::Air | Self::Joints) {
            qpos[0] += LIFT * stream.uniform();
        }
        if self == Self::Joints {
            qpos[3..].iter_mut().for_each(|angle| *angle = BEND * (2.0 * stream.uniform() - 1.0));
        }
        let speed = [0.0, 5.0, 5.0, 15.0][self as usize];
        let mut qvel = [0.0; JOINTS];
        if speed > 0.0 {
            qvel.iter_mut().for_each(|v| *v = speed * normal(stream));
        }
        (qpos, qvel)
    }
}

/// A standard normal deviate, by Marsaglia's polar method.
fn normal(stream: &mut Stream) -> f64 {
    loop {
        let (x, y) = (2.0 * stream.uniform() - 1.0, 2.0 * stream.uniform() - 1.0);
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            return x * (-2.0 * libm::log(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    /// Over 2000 starts: a standard deviation is known to 1.6 %, so a tenth is six of its errors; largest displacements come within a
    /// tenth of their bounds and never beyond.
    #[test]
    fn odd_starts_are_as_odd_as_they_say() {
        for (start, lift, bend, speed) in [
            (Start::Ordinary, 0.0, 0.0, 0.0),
            (Start::Air, 1.5, 0.0, 5.0),
            (Start::Joints, 1.5, 2.5, 5.0),
            (Start::Fast, 0.0, 0.0, 15.0),
        ] {
            let (mut stream, mut plain) = (Stream::new(Generator::Ive, 7), Stream::new(Generator::Ive, 7));
            let ordinary = random(&mut plain);
            let drawn: Vec<_> = (0..2000).map(|_| start.draw(&mut stream)).collect();
            assert_eq!(drawn[0].0[1..3], ordinary[1..3], "the pose is drawn first, as ever");
            let highest = drawn.iter().map(|(q, _)| q[0]).fold(0.0, f64::max);
            assert!(highest <= lift && highest >= 0.9 * lift, "{start:?}: {highest}");
            let bent = drawn.iter().map(|(q, _)| q[4]).fold(f64::NEG_INFINITY, f64::max);
            assert!(
                if bend > 0.0 { (0.9 * bend..=bend).contains(&bent) } else { bent <= 0.0 },
                "{start:?}: {bent}"
            );
            let square =
                drawn.iter().flat_map(|(_, v)| v).map(|v| v * v).sum::<f64>() / (2000.0 * JOINTS as f64);
            assert!((square.sqrt() - speed).abs() <= 0.1 * speed, "{start:?}: {}", square.sqrt());
        }
    }
}
