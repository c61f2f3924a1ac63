//! Rays and capsules.
//!
//! All rays of a picture start at one of two points, the camera or the light. A [`Target`] is a capsule prepared for rays from such a
//! point: what does not depend on the direction is computed once. Arithmetic is plain `f32` in a fixed order, without fused
//! operations, so pictures are the same bytes on every machine.

/// A point or a direction in single precision.
pub type Vec3 = [f32; 3];

#[inline]
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub fn plus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline]
pub fn minus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline]
pub fn times(a: Vec3, factor: f32) -> Vec3 {
    [a[0] * factor, a[1] * factor, a[2] * factor]
}

/// The direction of `a` with length 1.
#[inline]
pub fn unit(a: Vec3) -> Vec3 {
    times(a, 1.0 / dot(a, a).sqrt())
}

/// Three perpendicular directions: to the right, up, and straight ahead.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub right: Vec3,
    pub up: Vec3,
    pub ahead: Vec3,
}

/// The rectangle [left, right] × [bottom, top] on a screen at distance 1 ahead.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    pub x: [f32; 2],
    pub y: [f32; 2],
}

impl Rectangle {
    const EVERYWHERE: Self =
        Self { x: [f32::NEG_INFINITY, f32::INFINITY], y: [f32::NEG_INFINITY, f32::INFINITY] };

    #[inline]
    pub fn contains(&self, x: f32, y: f32) -> bool {
        self.x[0] <= x && x <= self.x[1] && self.y[0] <= y && y <= self.y[1]
    }

    /// The smallest rectangle around both.
    pub fn around(self, other: Self) -> Self {
        let hull = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        Self { x: hull(self.x, other.x), y: hull(self.y, other.y) }
    }
}

/// A capsule as seen from a point.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// One end, relative to the point, and the way from it to the other end.
    end: Vec3,
    axis: Vec3,
    radius: f32,
    /// axis·axis, −axis·end, and end·end − r².
    axis_axis: f32,
    axis_from: f32,
    power: f32,
    /// What remains of the quadratic for the cylinder when the direction is taken out.
    constant: f32,
}

impl Target {
    /// The capsule between two ends, given relative to the point that looks.
    pub fn new(ends: [Vec3; 2], radius: f32) -> Self {
        let [end, other] = ends;
        let axis = minus(other, end);
        let (axis_axis, axis_from) = (dot(axis, axis), -dot(axis, end));
        let power = dot(end, end) - radius * radius;
        let constant = axis_axis * power - axis_from * axis_from;
        Self { end, axis, radius, axis_axis, axis_from, power, constant }
    }

    /// The smallest t ≥ 0 at which t·`direction` lies on the surface, infinite if there is none.
    ///
    /// For the infinite cylinder around the axis w, with the end at a: |(t d − a) × w|² = r² w², a quadratic in t. If that point
    /// is beyond an end of the axis, the ball around this end decides.
    #[inline]
    pub fn hit(&self, direction: Vec3) -> f32 {
        let length = dot(direction, direction);
        let along = dot(self.axis, direction);
        let towards = dot(self.end, direction);
        let a = length * self.axis_axis - along * along;
        let b = self.axis_axis * towards + self.axis_from * along;
        let discriminant = b * b - a * self.constant;
        if discriminant < 0.0 {
            return f32::INFINITY;
        }
        let t = (b - discriminant.sqrt()) / a;
        let position = self.axis_from + t * along;
        if position > 0.0 && position < self.axis_axis {
            return if t >= 0.0 { t } else { f32::INFINITY };
        }
        if position <= 0.0 {
            ball(length, towards, self.power)
        } else {
            let power = self.power - 2.0 * self.axis_from + self.axis_axis;
            ball(length, towards + along, power)
        }
    }

    /// The direction away from the surface at a point on it.
    #[inline]
    pub fn normal(&self, point: Vec3) -> Vec3 {
        let from_end = minus(point, self.end);
        let part = (dot(from_end, self.axis) / self.axis_axis).clamp(0.0, 1.0);
        times(minus(from_end, times(self.axis, part)), 1.0 / self.radius)
    }

    /// The part of a screen that the capsule covers, as a rectangle.
    pub fn outline(&self, frame: &Frame) -> Rectangle {
        let ball = |centre: Vec3| {
            let depth = dot(centre, frame.ahead);
            if depth <= self.radius {
                return Rectangle::EVERYWHERE;
            }
            Rectangle {
                x: tangents(dot(centre, frame.right), depth, self.radius),
                y: tangents(dot(centre, frame.up), depth, self.radius),
            }
        };
        ball(self.end).around(ball(plus(self.end, self.axis)))
    }
}

/// Where a ray meets a ball: t² d·d − 2 t c·d + (c·c − r²) = 0 for a centre c.
#[inline]
fn ball(length: f32, towards: f32, power: f32) -> f32 {
    let discriminant = towards * towards - length * power;
    let t = (towards - discriminant.sqrt()) / length;
    // A negative discriminant makes t not a number, and the comparison false.
    if t >= 0.0 { t } else { f32::INFINITY }
}

/// The slopes of the two lines through the origin that touch a circle at (`side`, `depth`).
fn tangents(side: f32, depth: f32, radius: f32) -> [f32; 2] {
    let reach = radius * (side * side + depth * depth - radius * radius).sqrt();
    let below = depth * depth - radius * radius;
    [(side * depth - reach) / below, (side * depth + reach) / below]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Frame = Frame { right: [1.0, 0.0, 0.0], up: [0.0, 0.0, 1.0], ahead: [0.0, 1.0, 0.0] };

    /// An upright capsule of length 2 and radius ½, five ahead of us.
    fn upright() -> Target {
        Target::new([[0.0, 5.0, -1.0], [0.0, 5.0, 1.0]], 0.5)
    }

    #[test]
    fn rays_meet_the_cylinder_and_both_balls() {
        let near = |t: f32, expected: f32| assert!((t - expected).abs() < 1e-5, "{t} {expected}");
        near(upright().hit([0.0, 1.0, 0.0]), 4.5);
        near(upright().hit([0.0, 2.0, 0.0]), 2.25);
        // Through (3/10, 5 − 4/10): 3² + 4² = 5², on the cylinder.
        near(upright().hit([0.3, 4.6, 0.9]), 1.0);
        // Through the upper ball at (0, 5 − 3/10, 1 + 4/10), and the lower one likewise.
        near(upright().hit([0.0, 4.7, 1.4]), 1.0);
        near(upright().hit([0.0, 4.7, -1.4]), 1.0);
        assert_eq!(upright().hit([0.0, 5.0, 1.6]), f32::INFINITY);
        assert_eq!(upright().hit([0.6, 5.0, 0.0]), f32::INFINITY);
        assert_eq!(upright().hit([0.0, -1.0, 0.0]), f32::INFINITY, "it is behind us");
    }

    #[test]
    fn normals_point_away_from_the_line() {
        let near = |a: Vec3, b: Vec3| assert!(minus(a, b).iter().all(|d| d.abs() < 1e-5), "{a:?} {b:?}");
        near(upright().normal([0.3, 4.6, 0.9]), [0.6, -0.8, 0.0]);
        near(upright().normal([0.0, 4.7, 1.4]), [0.0, -0.6, 0.8]);
    }

    #[test]
    fn the_outline_is_just_wide_enough() {
        // The tangent to a circle of radius r at distance d has the sine r / d.
        let slope = libm::tanf(libm::asinf(0.1));
        let outline = upright().outline(&AHEAD);
        assert!((outline.x[1] - slope).abs() < 1e-5 && (outline.x[0] + slope).abs() < 1e-5);
        assert!(upright().hit([0.999 * slope, 1.0, 0.0]) < f32::INFINITY);
        assert_eq!(upright().hit([1.001 * slope, 1.0, 0.0]), f32::INFINITY);
        let top = outline.y[1];
        assert!(upright().hit([0.0, 1.0, 0.999 * top]) < f32::INFINITY);
        assert_eq!(upright().hit([0.0, 1.0, 1.001 * top]), f32::INFINITY);
    }
}
