//! From the nine numbers of a pose to seven capsules in space.
//!
//! The walker moves in the plane of x (forward) and z (up); y only tells the legs apart. Lengths, radii and joints are those of
//! `walker.xml` in the DeepMind Control Suite (Tassa et al. 2018).

use std::f64::consts::PI;

/// A point or a direction: x forward, y to the left, z up.
pub type Point = [f64; 3];

/// The generalised positions of the walker: rootz, rootx, rooty, then hip, knee and ankle of the right and of the left leg.
pub type Qpos = [f64; 9];

/// All points at most `radius` away from a line between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// The two ends of the line.
    pub ends: [Point; 2],
    /// The distance of the surface from the line.
    pub radius: f64,
}

impl Capsule {
    /// The middle of the capsule, which is also its centre of mass.
    pub fn centre(&self) -> Point {
        let [a, b] = self.ends;
        [0, 1, 2].map(|i| 0.5 * (a[i] + b[i]))
    }

    /// The mass in kg at a density of 1000 kg/m³: that of a cylinder and a ball.
    pub fn mass(&self) -> f64 {
        let [a, b] = self.ends;
        let length = [0, 1, 2].map(|i| (a[i] - b[i]) * (a[i] - b[i])).iter().sum::<f64>().sqrt();
        let r = self.radius;
        1000.0 * PI * r * r * (length + 4.0 / 3.0 * r)
    }
}

/// Where the parts of the walker are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// The middle of the torso, in the world.
    pub torso: Point,
    /// Torso; right thigh, leg and foot; left thigh, leg and foot. Relative to [`torso`](Self::torso), so that they stay exact
    /// however far the walker went.
    pub capsules: [Capsule; 7],
    /// The centre of mass, relative to [`torso`](Self::torso).
    pub centre_of_mass: Point,
}

/// Where camera `side` and the light are in the pose of all zeros. Both keep their distance to the centre of mass (`trackcom`).
const CAMERA_AT: Point = [0.0, -2.0, TORSO_HEIGHT + 0.7];
const LIGHT_AT: Point = [0.0, 0.0, TORSO_HEIGHT + 2.0];
/// Height of the torso's middle when `rootz` is 0.
const TORSO_HEIGHT: f64 = 1.3;
/// Distances from the middle of the torso to either end of its line, the lower one being the hips, from hip to knee and from knee to ankle.
const HIP: f64 = 0.3;
const THIGH: f64 = 0.45;
const LEG: f64 = 0.5;
/// From the ankle to the middle of the foot, and half the length of the foot.
const HEEL: f64 = 0.06;
const HALF_FOOT: f64 = 0.1;
/// How far the legs are from the plane of the torso; the right one has the smaller y and is nearer to the camera.
const STANCE: f64 = 0.05;

/// A direction in the plane after a turn by `angle` about y: what was x points to (cos, −sin), what was z to (sin, cos).
fn turned(angle: f64, x: f64, z: f64) -> [f64; 2] {
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    [x * cos + z * sin, z * cos - x * sin]
}

/// The sum of two positions in the plane.
fn plus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

/// A capsule between two points of the plane with this y.
fn capsule(a: [f64; 2], b: [f64; 2], y: f64, radius: f64) -> Capsule {
    Capsule { ends: [[a[0], y, a[1]], [b[0], y, b[1]]], radius }
}

/// Thigh, leg and foot. Hinges turn about −y: a positive angle moves what hangs below forward.
fn limb(torso_angle: f64, joints: &[f64], y: f64) -> [Capsule; 3] {
    let thigh_angle = torso_angle - joints[0];
    let leg_angle = thigh_angle - joints[1];
    let foot_angle = leg_angle - joints[2];
    let hip = turned(torso_angle, 0.0, -HIP);
    let knee = plus(hip, turned(thigh_angle, 0.0, -THIGH));
    let ankle = plus(knee, turned(leg_angle, 0.0, -LEG));
    let heel = plus(ankle, turned(foot_angle, HEEL - HALF_FOOT, 0.0));
    let toe = plus(ankle, turned(foot_angle, HEEL + HALF_FOOT, 0.0));
    [capsule(hip, knee, y, 0.05), capsule(knee, ankle, y, 0.04), capsule(heel, toe, y, 0.05)]
}

/// The walker in this pose.
///
/// ```
/// use ive_envs::walker::picture::kinematics::body;
/// let standing = body(&[0.0; 9]);
/// let foot = standing.capsules[3].centre();
/// assert!((standing.torso[2] + foot[2] - 0.05).abs() < 1e-12, "its sole touches the floor");
/// ```
pub fn body(qpos: &Qpos) -> Body {
    let angle = qpos[2];
    let torso = capsule(turned(angle, 0.0, -HIP), turned(angle, 0.0, HIP), 0.0, 0.07);
    let [right_thigh, right_leg, right_foot] = limb(angle, &qpos[3..6], -STANCE);
    let [left_thigh, left_leg, left_foot] = limb(angle, &qpos[6..9], STANCE);
    let capsules = [torso, right_thigh, right_leg, right_foot, left_thigh, left_leg, left_foot];
    Body {
        torso: [qpos[1], 0.0, TORSO_HEIGHT + qpos[0]],
        capsules,
        centre_of_mass: centre_of_mass(&capsules),
    }
}

impl Body {
    /// The camera that follows the walker, relative to [`torso`](Self::torso).
    pub fn camera(&self) -> Point {
        self.following(CAMERA_AT)
    }

    /// The light that follows the walker, relative to [`torso`](Self::torso).
    pub fn light(&self) -> Point {
        self.following(LIGHT_AT)
    }

    /// What is as far from the centre of mass as this place is in the pose of all zeros.
    fn following(&self, place: Point) -> Point {
        let upright = body(&[0.0; 9]);
        [0, 1, 2]
            .map(|i| self.centre_of_mass[i] + (place[i] - (upright.torso[i] + upright.centre_of_mass[i])))
    }
}

/// Σ mᵢ cᵢ / Σ mᵢ.
fn centre_of_mass(capsules: &[Capsule]) -> Point {
    let mut total = 0.0;
    let mut moment = [0.0; 3];
    for capsule in capsules {
        let (mass, centre) = (capsule.mass(), capsule.centre());
        total += mass;
        for i in 0..3 {
            moment[i] += mass * centre[i];
        }
    }
    moment.map(|sum| sum / total)
}
