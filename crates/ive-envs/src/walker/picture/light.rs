//! How a surface looks under the two lights: the model of fixed-function OpenGL (Blinn 1977), which MuJoCo uses.
//!
//! A light adds ambient + diffuse · N·L + specular · (N·H)⁶⁴, where N is the normal, L points to the light, V to the camera and H halfway
//! between them. 64 is MuJoCo's shininess of ½ times 128. OpenGL computes this at the corners of its triangles; we do so for the floor,
//! whose triangles are large, and at every pixel of the walker, whose triangles are about that small.

use super::cast::{Vec3, dot, minus, plus, times, unit};
use super::scene::{
    CAMERA, GLOSS, HEAD_AMBIENT, HEAD_DIFFUSE, HEAD_SPECULAR, LAMP_CUTOFF, LAMP_DIFFUSE, LAMP_SPECULAR, SKIN,
};

/// x⁶⁴.
fn to_the_64(x: f32) -> f32 {
    let mut power = x;
    for _ in 0..6 {
        power *= power;
    }
    power
}

/// What a light adds: a part that takes the colour of the surface, and one that keeps its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shine {
    pub diffuse: f32,
    pub specular: f32,
}

/// The light on the camera at a point seen by `eye`. It comes from far behind it, so it has the same direction everywhere.
#[inline]
pub fn head(normal: Vec3, point: Vec3, eye: Vec3) -> Shine {
    let to_light = times(CAMERA.ahead, -1.0);
    let facing = dot(normal, to_light).max(0.0);
    let specular =
        if facing > 0.0 { HEAD_SPECULAR * GLOSS * highlight(normal, to_light, minus(eye, point)) } else { 0.0 };
    Shine { diffuse: HEAD_AMBIENT + HEAD_DIFFUSE * facing, specular }
}

/// The lamp at a point seen by `eye`, if nothing hides it.
#[inline]
pub fn lamp(normal: Vec3, point: Vec3, eye: Vec3, lamp: Vec3) -> Shine {
    let to_light = unit(minus(lamp, point));
    let facing = dot(normal, to_light);
    // The lamp shines down, so the cosine of its angle is the height of the unit vector towards it.
    let cosine = to_light[2];
    if facing <= 0.0 || cosine < LAMP_CUTOFF {
        return Shine::default();
    }
    let square = cosine * cosine;
    let fourth = square * square;
    let cone = fourth * fourth * square;
    let specular = LAMP_SPECULAR * GLOSS * highlight(normal, to_light, minus(eye, point));
    Shine { diffuse: cone * LAMP_DIFFUSE * facing, specular: cone * specular }
}

/// (N·H)⁶⁴.
#[inline]
fn highlight(normal: Vec3, to_light: Vec3, to_eye: Vec3) -> f32 {
    to_the_64(dot(normal, unit(plus(to_light, unit(to_eye)))).max(0.0))
}

/// The colour of the walker's skin under this light.
#[inline]
pub fn skin(shine: Shine) -> [f32; 3] {
    SKIN.map(|colour| colour * shine.diffuse + shine.specular)
}

impl Shine {
    #[inline]
    pub fn times(self, factor: f32) -> Self {
        Self { diffuse: self.diffuse * factor, specular: self.specular * factor }
    }
}

impl std::ops::Add for Shine {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { diffuse: self.diffuse + other.diffuse, specular: self.specular + other.specular }
    }
}
