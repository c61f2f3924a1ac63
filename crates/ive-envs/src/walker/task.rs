//! What one sees of the walker and what it is paid for: pure functions of its positions and velocities.
//!
//! The body moves in a plane. Its positions q are, in this order, the height of the torso over its resting place
//! (`rootz`), how far it has come (`rootx`), how far it leans forward (`rooty`), and the angles of hip, knee and ankle,
//! first of the right leg, then of the left. Velocities have the same order. All formulas are those of the walker in the
//! DeepMind Control Suite (Tassa et al. 2018), version 1.0.50.

/// Positions, and as many velocities.
pub const JOINTS: usize = 9;
/// Motors, one for each hip, knee and ankle.
pub const MOTORS: usize = 6;
/// Numbers in an observation.
pub const OBSERVATION: usize = 24;
/// Control steps in an episode: 25 seconds, in steps of 25 milliseconds.
pub const EPISODE: u32 = 1000;

/// The names of the motors, in the order of an action. At ±1 they turn with 100, 50 and 20 newton metres.
pub const MOTOR_NAMES: [&str; MOTORS] =
    ["right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle"];

/// The names of the numbers in an observation: directions of the seven limbs, height, velocities.
pub const OBSERVATION_NAMES: [&str; OBSERVATION] = [
    "torso_cos",
    "torso_sin",
    "right_thigh_cos",
    "right_thigh_sin",
    "right_leg_cos",
    "right_leg_sin",
    "right_foot_cos",
    "right_foot_sin",
    "left_thigh_cos",
    "left_thigh_sin",
    "left_leg_cos",
    "left_leg_sin",
    "left_foot_cos",
    "left_foot_sin",
    "height",
    "rootz_velocity",
    "rootx_velocity",
    "rooty_velocity",
    "right_hip_velocity",
    "right_knee_velocity",
    "right_ankle_velocity",
    "left_hip_velocity",
    "left_knee_velocity",
    "left_ankle_velocity",
];

/// The height of the torso's centre in the resting pose, in metres.
const RESTING_HEIGHT: f64 = 1.3;
/// A torso at this height counts as standing.
const STAND_HEIGHT: f64 = 1.2;

/// What the walker is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Run, at 8 m/s.
    Run,
    /// Stand upright.
    Stand,
    /// Walk, at 1 m/s.
    Walk,
}

impl Task {
    /// All three, in alphabetical order.
    pub const ALL: [Self; 3] = [Self::Run, Self::Stand, Self::Walk];

    /// The name, such as `walk`.
    pub fn name(self) -> &'static str {
        ["run", "stand", "walk"][self as usize]
    }

    /// The task of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.name() == name)
    }

    /// What one does in it, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Run => "run on two legs, at 8 m/s or more",
            Self::Stand => "stand upright on two legs",
            Self::Walk => "walk on two legs, at 1 m/s or more",
        }
    }

    /// The speed from which on the reward grows no more, in metres per second; none where speed does not matter.
    pub fn speed(self) -> Option<f64> {
        match self {
            Self::Run => Some(8.0),
            Self::Stand => None,
            Self::Walk => Some(1.0),
        }
    }
}

/// The height of the torso's centre, in metres: `1.3 + rootz`.
pub fn height(qpos: &[f64; JOINTS]) -> f64 {
    RESTING_HEIGHT + qpos[0]
}

/// How upright the torso is, from 0 (head down) to 1: `(1 + cos rooty) / 2`.
pub fn upright(qpos: &[f64; JOINTS]) -> f64 {
    f64::midpoint(1.0, qpos[2].cos())
}

/// The angles of the seven limbs against the upright: torso, then thigh, leg and foot of the right side and of the left.
///
/// The torso turns forward, the joints of the legs backward: `thigh = torso − hip`, `leg = thigh − knee`,
/// `foot = leg − ankle`.
pub fn limb_angles(qpos: &[f64; JOINTS]) -> [f64; 7] {
    let torso = qpos[2];
    let (right_thigh, left_thigh) = (torso - qpos[3], torso - qpos[6]);
    let (right_leg, left_leg) = (right_thigh - qpos[4], left_thigh - qpos[7]);
    [torso, right_thigh, right_leg, right_leg - qpos[5], left_thigh, left_leg, left_leg - qpos[8]]
}

/// The observation: (cos, sin) of the seven limb angles, the height, the nine velocities.
pub fn observation(qpos: &[f64; JOINTS], qvel: &[f64; JOINTS]) -> [f64; OBSERVATION] {
    let mut seen = [0.0; OBSERVATION];
    let (directions, rest) = seen.split_at_mut(14);
    for (pair, angle) in directions.chunks_exact_mut(2).zip(limb_angles(qpos)) {
        (pair[1], pair[0]) = angle.sin_cos();
    }
    rest[0] = height(qpos);
    rest[1..].copy_from_slice(qvel);
    seen
}

/// 1 from `bound` on; below it a Gaussian tail that is 0.1 at the distance `margin`:
/// `exp(−½ (d s)²)` with `d = (bound − x) / margin` and `s = √(−2 ln 0.1)`.
pub fn gaussian_tolerance(x: f64, bound: f64, margin: f64) -> f64 {
    if x >= bound {
        return 1.0;
    }
    let scale = (-2.0 * 0.1_f64.ln()).sqrt();
    let far = (bound - x) / margin * scale;
    (-0.5 * (far * far)).exp()
}

/// 1 from `bound` on; below it a straight line that is ½ at the distance `margin`, and 0 where the line is not positive:
/// `max(0, 1 − d / 2)` with `d = (bound − x) / margin`.
pub fn linear_tolerance(x: f64, bound: f64, margin: f64) -> f64 {
    if x >= bound {
        return 1.0;
    }
    (1.0 - (bound - x) / margin * 0.5).max(0.0)
}

/// The reward for standing, from 0 to 1: `(3 standing + upright) / 4`, where standing is the Gaussian tolerance of the
/// height with the bound 1.2 m and the margin 0.6 m.
pub fn stand_reward(qpos: &[f64; JOINTS]) -> f64 {
    let standing = gaussian_tolerance(height(qpos), STAND_HEIGHT, STAND_HEIGHT / 2.0);
    (3.0 * standing + upright(qpos)) / 4.0
}

/// The reward of a task, from 0 to 1, at a horizontal velocity of the centre of mass in metres per second:
/// `stand (5 move + 1) / 6`, where move is the linear tolerance of the velocity with the task's speed as bound and half
/// of it as margin. For standing it is the stand reward itself.
pub fn reward(task: Task, qpos: &[f64; JOINTS], velocity: f64) -> f64 {
    let stand = stand_reward(qpos);
    let Some(speed) = task.speed() else { return stand };
    let moving = linear_tolerance(velocity, speed, speed / 2.0);
    stand * (5.0 * moving + 1.0) / 6.0
}

/// The reward with the threshold η: `r` if `r ≥ η`, else 0. It makes rewards sparse. Paper: Sec. 4.
pub fn threshold(reward: f64, eta: f64) -> f64 {
    if reward >= eta { reward } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definitions at the places that fix them: the Gaussian tail at n margins is 0.1^(n²), the line is straight.
    #[test]
    fn tolerances_have_their_closed_forms() {
        assert_eq!([1.2, 7.0].map(|x| gaussian_tolerance(x, 1.2, 0.6)), [1.0; 2]);
        for (n, want) in [(0.5, 0.1_f64.powf(0.25)), (1.0, 0.1), (2.0, 1e-4)] {
            let got = gaussian_tolerance(1.2 - 0.6 * n, 1.2, 0.6);
            assert!((got - want).abs() < 1e-15, "{n} margins: {got}");
        }
        for (x, want) in [(8.0, 1.0), (9.0, 1.0), (6.0, 0.75), (4.0, 0.5), (0.0, 0.0), (-3.0, 0.0)] {
            assert_eq!(linear_tolerance(x, 8.0, 4.0), want, "at {x}");
        }
    }

    /// Standing still upright is worth 1 for standing and 1/6 for the others; at full speed all are worth 1.
    #[test]
    fn rewards_of_an_upright_walker() {
        let rest = [0.0; JOINTS];
        assert_eq!(Task::ALL.map(|task| reward(task, &rest, 0.0)), [1.0 / 6.0, 1.0, 1.0 / 6.0]);
        assert_eq!(Task::ALL.map(|task| reward(task, &rest, 8.0)), [1.0; 3]);
        // Head down at 0.6 m: standing is 0.1, upright is 0.
        let fallen = [-0.7, 0.0, std::f64::consts::PI, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!((reward(Task::Stand, &fallen, 0.0) - 0.075).abs() < 1e-15);
    }

    #[test]
    fn threshold_keeps_what_reaches_it() {
        assert_eq!([0.29, 0.3, 0.31].map(|r| threshold(r, 0.3)), [0.0, 0.3, 0.31]);
        assert_eq!(threshold(0.0, 0.0), 0.0);
    }
}
