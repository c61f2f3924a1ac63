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
    let specular = if facing > 0.0 {
        HEAD_SPECULAR * GLOSS * highlight(normal, to_light, minus(eye, point))
    } else {
        0.0
    };
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
    /// Both parts, where one colour serves for both.
    pub fn sum(self) -> f32 {
        self.diffuse + self.specular
    }
}

impl std::ops::Add for Shine {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self { diffuse: self.diffuse + other.diffuse, specular: self.specular + other.specular }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walker::picture::scene::EYE;

    const UP: Vec3 = [0.0, 0.0, 1.0];

    fn near(a: f32, b: f32) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }

    /// 0.4 + 0.8 · cos 60°, which MuJoCo's floor shows too: 102 + 102 of 255.
    #[test]
    fn the_floor_under_the_camera_light() {
        near(head(UP, [0.0, 1.0, -2.0], EYE).diffuse, 0.8);
        near(head([0.0, 1.0, 0.0], [0.0, 1.0, -2.0], EYE).diffuse, 0.4);
    }

    /// Straight below the lamp it is 0.7; at 30° from the axis the cone is cos¹⁰ and the floor is turned away by another cos.
    #[test]
    fn the_lamp_fades_like_the_tenth_power() {
        let lamp_at = [0.0, 0.0, 3.0];
        near(lamp(UP, [0.0; 3], [0.0, 9.0, 0.1], lamp_at).diffuse, 0.7);
        let cosine = 0.75_f32.sqrt();
        near(lamp(UP, [3.0_f32.sqrt(), 0.0, 0.0], [0.0, 9.0, 0.1], lamp_at).diffuse, 0.7 * cosine.powi(11));
        assert_eq!(lamp(UP, [3.1, 0.0, 0.0], EYE, lamp_at).diffuse, 0.0, "beyond 45°");
        assert_eq!(lamp([0.0, 0.0, -1.0], [0.0; 3], EYE, lamp_at).diffuse, 0.0, "turned away");
    }

    /// An eye where the mirror image of the lamp would shine sees all of 0.3 · ½.
    #[test]
    fn the_highlight_is_where_a_mirror_would_show_the_lamp() {
        let lamp_at = [0.0, 0.0, 3.0];
        near(lamp(UP, [0.0; 3], [0.0, 0.0, 7.0], lamp_at).specular, 0.15);
        // 20° off the axis, the half vector is 10° off.
        let eye = [0.0, libm::sinf(0.349_065_86), libm::cosf(0.349_065_86)];
        near(lamp(UP, [0.0; 3], eye, lamp_at).specular, 0.15 * libm::powf(libm::cosf(0.174_532_93), 64.0));
    }
}
