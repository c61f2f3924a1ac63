//! The floor: a strip of checkered tiles.
//!
//! It reaches from x = −2 to 498 and from y = −0.8 to 0.8. MuJoCo draws it as a mesh of 198 × 4 rectangles, of two triangles each, and the
//! lamp is computed at their corners only. With 2.5 m between corners the light on the floor is plainly made of triangles, so
//! we compute the same corners. Numbers of rectangles, the diagonal and the place of the tiles were found
//! by comparison. A texture multiplies all light, the specular part too.

use super::cast::{Vec3, dot};
use super::light::{head, lamp};
use super::scene::{CAMERA, EYE, HALF_VIEW, Scene};
use super::texture::{Line, Pyramid};

/// The edges in the world: x from −2 to 498, y from −0.8 to 0.8.
const X: [f64; 2] = [-2.0, 498.0];
const HALF_WIDTH: f32 = 0.8;
/// Rectangles along x and y.
const COLUMNS: usize = 198;
const ROWS: usize = 4;
const COLUMN: f64 = (X[1] - X[0]) / COLUMNS as f64;
const ROW: f32 = 2.0 * HALF_WIDTH / ROWS as f32;

/// The texture shows 2 × 2 tiles of 1 m. It begins in the far left corner of the floor, and its rows run towards us.
const PERIOD: f64 = 2.0;
/// Texels along a side, and the two colours in bytes.
const SIDE: usize = 300;
const DARK: [f32; 3] = [25.0, 51.0, 76.0];
const BRIGHT: [f32; 3] = [51.0, 76.0, 102.0];

/// The normal of the floor.
const UP: Vec3 = [0.0, 0.0, 1.0];

/// The checker of the suite's material `grid`: 0 dark, 1 bright, with a bright line of one texel along the rim (`mark="edge"`).
pub fn tiles() -> Pyramid {
    let last = SIDE - 1;
    let texel = |row: usize, column: usize| {
        let rim = row == 0 || column == 0 || row == last || column == last;
        f32::from(rim || (row < SIDE / 2) != (column < SIDE / 2))
    };
    Pyramid::new(SIDE, (0..SIDE * SIDE).map(|i| texel(i / SIDE, i % SIDE)).collect())
}

/// The floor of one picture. Positions are relative to the camera.
#[derive(Clone, Debug)]
pub struct Floor {
    /// The edges in x and y, and the height (negative: it is below us).
    x: [f32; 2],
    y: [f32; 2],
    z: f32,
    /// Where the texture begins in x, less than one period away.
    tiles_at: f32,
    /// The corners of the mesh that may be seen: x of the first column, the light at each column.
    first: f32,
    corners: Vec<[f32; ROWS + 1]>,
    head: f32,
}

impl Floor {
    /// The floor under this scene, lit as far as a picture of this shape (width over height) may show it.
    pub fn new(scene: &Scene, aspect: f32) -> Self {
        let [x, y, z] = scene.camera;
        let edges = [(-HALF_WIDTH) - y as f32, HALF_WIDTH - y as f32];
        let height = -z as f32;
        // The farthest point in view: at the far edge, in the corner of the picture.
        let reach = f64::from(2.0 * edges[1] * HALF_VIEW * aspect);
        let column_at = |x: f64| ((x - X[0]) / COLUMN).clamp(0.0, COLUMNS as f64) as usize;
        let (left, right) = (column_at(x - reach), column_at(x + reach) + 1);
        let first = (X[0] + left as f64 * COLUMN - x) as f32;
        let corner = |column: usize, row: usize| {
            let point = [first + (column as f64 * COLUMN) as f32, edges[0] + row as f32 * ROW, height];
            lamp(UP, point, EYE, scene.lamp).sum()
        };
        Self {
            x: X.map(|edge| (edge - x) as f32),
            y: edges,
            z: height,
            tiles_at: ((X[0] - x) % PERIOD) as f32,
            first,
            corners: (0..=right - left)
                .map(|column| [0, 1, 2, 3, 4].map(|row| corner(column, row)))
                .collect(),
            head: head(UP, [0.0, 1.0, height], EYE).sum(),
        }
    }

    /// Whether the floor lies between the camera and the point at t·`direction`.
    #[inline]
    pub fn hides(&self, direction: Vec3, t: f32) -> bool {
        if t * direction[2] >= self.z || self.z >= 0.0 {
            return false;
        }
        let meets = self.z / direction[2];
        let (x, y) = (meets * direction[0], meets * direction[1]);
        self.x[0] <= x && x <= self.x[1] && self.y[0] <= y && y <= self.y[1]
    }

    /// The mirror image of a point.
    #[inline]
    pub fn mirror(&self, [x, y, z]: Vec3) -> Vec3 {
        [x, y, 2.0 * self.z - z]
    }

    /// Where on the screen its far and its near edge are, top first; none if we are not above it.
    pub fn edges(&self) -> Option<[f32; 2]> {
        let on_screen = |y: f32| {
            let point = [0.0, y, self.z];
            dot(point, CAMERA.up) / dot(point, CAMERA.ahead)
        };
        (self.z < 0.0).then(|| [on_screen(self.y[1]), on_screen(self.y[0])])
    }

    /// The part of a horizontal line of the screen, from x to x, in which the floor is seen; empty if the line misses it.
    ///
    /// `ahead` is the direction at the middle of the line. The camera is not rolled, so the line meets the floor at one distance and y.
    pub fn span(&self, ahead: Vec3) -> [f32; 2] {
        let distance = self.z / ahead[2];
        let y = distance * ahead[1];
        let seen = self.z < 0.0 && ahead[2] < 0.0 && self.y[0] <= y && y <= self.y[1];
        if seen { self.x.map(|x| x / distance) } else { [f32::INFINITY, f32::NEG_INFINITY] }
    }

    /// The floor along such a line, with pixels of this size; also a little beyond its edges.
    pub fn line<'a>(
        &'a self,
        ahead: Vec3,
        pixel: f32,
        tiles: &Pyramid,
        texture: &'a mut Line,
    ) -> FloorLine<'a> {
        let distance = self.z / ahead[2];
        let y = distance * ahead[1];
        // How far the point moves on the floor from one pixel to the next, to the right and upwards.
        let right = distance * pixel;
        let up = distance * pixel * (CAMERA.up[1] - CAMERA.up[2] * ahead[1] / ahead[2]);
        let texels = SIDE as f32 / PERIOD as f32;
        let from_edge = y - self.y[0];
        let t = (self.y[1] - y) / PERIOD as f32;
        tiles.line(t, right.max(up) * texels, texture);
        let row = (from_edge / ROW).clamp(0.0, (ROWS - 1) as f32) as usize;
        FloorLine { floor: self, texture, distance, y, row, part: from_edge / ROW - row as f32 }
    }
}

/// The floor along a horizontal line of the picture.
#[derive(Debug)]
pub struct FloorLine<'a> {
    floor: &'a Floor,
    texture: &'a Line,
    distance: f32,
    y: f32,
    /// The row of the mesh, and how far the line is from its first to its second corner.
    row: usize,
    part: f32,
}

impl FloorLine<'_> {
    /// The point behind x on the screen.
    #[inline]
    pub fn point(&self, x: f32) -> Vec3 {
        [self.distance * x, self.y, self.floor.z]
    }

    /// The colour there, in bytes, with the lamp or in shadow.
    #[inline]
    pub fn colour(&self, x: f32, lit: bool) -> [f32; 3] {
        let x = self.distance * x;
        let bright = self.texture.sample((x - self.floor.tiles_at) / PERIOD as f32);
        let light = self.floor.head + if lit { self.lamp(x) } else { 0.0 };
        let channel = |i: usize| (DARK[i] + (BRIGHT[i] - DARK[i]) * bright) * light;
        [channel(0), channel(1), channel(2)]
    }

    /// The lamp's light between the corners of a triangle. The diagonal runs from the second corner in x to the second in y.
    #[inline]
    fn lamp(&self, x: f32) -> f32 {
        let columns = (x - self.floor.first) / COLUMN as f32;
        let column = (columns as i32).clamp(0, self.floor.corners.len() as i32 - 2);
        let (a, b) = (columns - column as f32, self.part);
        let column = column as usize;
        let [left, right] = [&self.floor.corners[column], &self.floor.corners[column + 1]];
        let [near, far] = [self.row, self.row + 1];
        let (c, d) = (1.0 - a, 1.0 - b);
        if a + b < 1.0 {
            left[near] * (c - b) + right[near] * a + left[far] * b
        } else {
            right[far] * (a - d) + left[far] * c + right[near] * d
        }
    }
}
