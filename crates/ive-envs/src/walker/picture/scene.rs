//! What there is to see: camera, light, materials, and the walker as the camera meets it.
//!
//! The numbers are those of the DeepMind Control Suite (`walker.xml`, `common/visual.xml`, `common/materials.xml`) and, where these are
//! silent, MuJoCo's defaults. All positions are relative to the camera, in the axes of the world.

use super::cast::{Frame, Target, Vec3};
use super::kinematics::{Body, Point, Qpos, body};

/// The tangent of half the vertical field of view of 45°.
pub const HALF_VIEW: f32 = 0.414_213_57;

/// Sine and cosine of 60°, the angle by which the camera is tilted up from looking straight down.
const SIN: f32 = 0.866_025_4;
const COS: f32 = 0.5;

/// The camera `side` looks along y, 30° downwards.
pub const CAMERA: Frame = Frame { right: [1.0, 0.0, 0.0], up: [0.0, COS, SIN], ahead: [0.0, SIN, -COS] };

/// The camera is where everything is measured from.
pub const EYE: Vec3 = [0.0; 3];

/// The light shines straight down.
pub const LAMP: Frame = Frame { right: [1.0, 0.0, 0.0], up: [0.0, 1.0, 0.0], ahead: [0.0, 0.0, -1.0] };

/// The lamp: colour white, with these strengths; it fades like the tenth power of the cosine and ends at 45°.
pub const LAMP_DIFFUSE: f32 = 0.7;
pub const LAMP_SPECULAR: f32 = 0.3;
pub const LAMP_CUTOFF: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// The light on the camera, which shines along its axis and everywhere with the same strength.
pub const HEAD_AMBIENT: f32 = 0.4;
pub const HEAD_DIFFUSE: f32 = 0.8;
pub const HEAD_SPECULAR: f32 = 0.1;

/// The colour of the walker, and how much of a specular light every material returns.
pub const SKIN: [f32; 3] = [0.7, 0.5, 0.3];
pub const GLOSS: f32 = 0.5;
/// How much of what it mirrors the floor returns; MuJoCo adds it to the floor's own colour.
pub const REFLECTANCE: f32 = 0.2;

/// The direction from the camera through the point (x, y) of a screen at distance 1.
#[inline]
pub fn through(x: f32, y: f32) -> Vec3 {
    [x, COS * y + SIN, SIN * y - COS]
}

/// A pose, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Where the camera is in the world.
    pub camera: Point,
    /// The lamp, relative to the camera.
    pub lamp: Vec3,
    /// The capsules as the camera sees them.
    pub walker: [Target; 7],
    /// Their mirror images below the floor, as the camera sees them.
    pub mirrored: [Target; 7],
    /// The capsules as the lamp sees them: what they hide from it is in shadow.
    pub obstacles: [Target; 7],
}

impl Scene {
    pub fn new(qpos: &Qpos) -> Self {
        let body = body(qpos);
        let Body { torso, capsules, .. } = body;
        let (camera, light) = (body.camera(), body.light());
        let height = torso[2] + camera[2];
        let seen_from = |from: Point| {
            capsules.map(|capsule| {
                Target::new(capsule.ends.map(|end| single(minus(end, from))), capsule.radius as f32)
            })
        };
        let mirrored = capsules.map(|capsule| {
            let ends = capsule.ends.map(|end| {
                let [x, y, z] = minus(end, camera);
                single([x, y, -2.0 * height - z])
            });
            Target::new(ends, capsule.radius as f32)
        });
        Self {
            camera: plus(torso, camera),
            lamp: single(minus(light, camera)),
            walker: seen_from(camera),
            mirrored,
            obstacles: seen_from(light),
        }
    }
}

fn plus(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn single(point: Point) -> Vec3 {
    point.map(|x| x as f32)
}
