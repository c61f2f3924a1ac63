//! The poses in which episodes start: limbs at random angles, 1.3 m up, at rest. The walker falls at once.

use super::task::JOINTS;
use crate::random::Stream;
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
