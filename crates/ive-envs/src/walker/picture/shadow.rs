//! What the walker hides from the lamp.
//!
//! MuJoCo's shadows have sharp edges, and where they fall the lamp adds nothing.

use super::cast::{Rectangle, Target, Vec3, minus};
use super::scene::{LAMP, Scene};

/// The capsules as the lamp sees them.
#[derive(Clone, Debug)]
pub struct Shadow {
    lamp: Vec3,
    obstacles: [(Target, Rectangle); 7],
}

/// How far in front of a point an obstacle must be, as a part of the way from the lamp: 2 to 3 mm less.
const IN_FRONT: f32 = 0.999;

impl Shadow {
    pub fn new(scene: &Scene) -> Self {
        Self { lamp: scene.lamp, obstacles: scene.obstacles.map(|target| (target, target.outline(&LAMP))) }
    }

    /// Whether one of the capsules lies between the lamp and the point, other than the one to which the point belongs.
    #[inline]
    pub fn falls_on(&self, point: Vec3, own: Option<usize>) -> bool {
        let direction = minus(point, self.lamp);
        let (x, y) = (direction[0] / -direction[2], direction[1] / -direction[2]);
        self.obstacles.iter().enumerate().any(|(number, (target, outline))| {
            outline.contains(x, y) && own != Some(number) && target.hit(direction) < IN_FRONT
        })
    }

    /// From which x to which x there may be shadow on a line along x, given by one of its points; empty if there is none.
    pub fn along(&self, point: Vec3) -> [f32; 2] {
        let [_, across, down] = minus(point, self.lamp);
        let y = across / -down;
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        for (_, outline) in &self.obstacles {
            if outline.y[0] <= y && y <= outline.y[1] {
                range = [range[0].min(outline.x[0]), range[1].max(outline.x[1])];
            }
        }
        range.map(|x| self.lamp[0] - x * down)
    }
}
