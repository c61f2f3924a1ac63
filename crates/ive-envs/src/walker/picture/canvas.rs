//! Putting a picture together: the sky, the floor over it, the walker over both.

use super::floor::{self, Floor};
use super::kinematics::Qpos;
use super::layer::{Layer, NOTHING, Samples, Screen, single};
use super::light::{head, lamp, skin};
use super::scene::{EYE, REFLECTANCE, Scene};
use super::shadow::Shadow;
use super::sky;
use super::texture::{Line, Pyramid};
use std::sync::Arc;

/// The largest number of samples in a pixel.
const MOST: usize = 4;

/// Everything that pictures of one size share, and the memory to draw them in.
#[derive(Clone, Debug)]
pub struct Canvas {
    screen: Screen,
    samples: Samples,
    sky: Arc<[u8]>,
    tiles: Arc<Pyramid>,
    walker: Layer,
    mirrored: Layer,
}

impl Canvas {
    pub fn new(width: usize, height: usize, samples: Samples) -> Self {
        let screen = Screen::new(width, height);
        Self {
            screen,
            samples,
            sky: sky::picture(width, height).into(),
            tiles: Arc::new(floor::tiles()),
            walker: Layer::new(screen, samples),
            mirrored: Layer::new(screen, samples),
        }
    }

    /// Draws this pose.
    pub fn draw(&mut self, qpos: &Qpos, picture: &mut [u8]) {
        let scene = Scene::new(qpos);
        let floor = Floor::new(&scene, self.screen.width as f32 / self.screen.height as f32);
        let shadow = Shadow::new(&scene);
        picture.copy_from_slice(&self.sky);
        self.walker.draw(&scene.walker, 0..self.screen.height, |direction, t| floor.hides(direction, t));
        self.draw_floor(&scene, &floor, &shadow, picture);
        self.draw_walker(&scene, &shadow, picture);
    }

    fn draw_floor(&mut self, scene: &Scene, floor: &Floor, shadow: &Shadow, picture: &mut [u8]) {
        let Some([top, bottom]) = floor.edges() else { return };
        let rows = self.screen.rows(top, bottom);
        self.mirrored.draw(&scene.mirrored, rows.clone(), |_, _| false);
        let mut texture = Line::default();
        for row in rows {
            let seen = Seen::new(floor, &self.screen, self.samples, row);
            let ahead = self.screen.ahead(row as f32 + 0.5);
            let line = floor.line(ahead, self.screen.pixel, &self.tiles, &mut texture);
            let [from, to] = shadow.along(line.point(0.0));
            let mirror = self.mirrored.rows.contains(&row);
            for column in 0..self.screen.width {
                let x = self.screen.x(single(column) + 0.5);
                let part = seen.part(x);
                if part == 0.0 || !self.walker.at(row, column).contains(&NOTHING) {
                    continue;
                }
                let point = line.point(x);
                let lit = !(from <= point[0] && point[0] <= to && shadow.falls_on(point, None));
                let mut colour = line.colour(x, lit);
                if mirror && self.mirrored.columns.contains(&column) {
                    let mirrored = self.mirror_image(scene, floor, row, column);
                    (0..3).for_each(|i| colour[i] += mirrored[i]);
                }
                let at = 3 * (row * self.screen.width + column);
                blend(&mut picture[at..at + 3], colour, part);
            }
        }
    }

    /// What the floor returns of the walker in a pixel. The mirror image is as bright as the side of the walker that it shows, but without shadows.
    #[inline]
    fn mirror_image(&self, scene: &Scene, floor: &Floor, row: usize, column: usize) -> [f32; 3] {
        let eye = floor.mirror(EYE);
        let (sum, _) = self.mirrored.colour(row, column, &scene.mirrored, |number, point| {
            let point = floor.mirror(point);
            let normal = scene.walker[number].normal(point);
            skin(head(normal, point, eye) + lamp(normal, point, eye, scene.lamp))
        });
        sum.map(|sum| 255.0 * REFLECTANCE * sum / self.samples.len() as f32)
    }

    fn draw_walker(&self, scene: &Scene, shadow: &Shadow, picture: &mut [u8]) {
        for row in self.walker.rows.clone() {
            for column in self.walker.columns.clone() {
                let (sum, count) = self.walker.colour(row, column, &scene.walker, |number, point| {
                    let normal = scene.walker[number].normal(point);
                    let (head, lamp) = (head(normal, point, EYE), lamp(normal, point, EYE, scene.lamp));
                    let dark = lamp.diffuse == 0.0 || shadow.falls_on(point, Some(number));
                    skin(if dark { head } else { head + lamp })
                });
                if count > 0 {
                    let colour = sum.map(|sum| 255.0 * sum / count as f32);
                    let at = 3 * (row * self.screen.width + column);
                    blend(&mut picture[at..at + 3], colour, count as f32 / self.samples.len() as f32);
                }
            }
        }
    }
}

/// Where in a row of pixels the floor is seen.
struct Seen {
    /// For each sample, between which middles of pixels it meets the floor.
    spans: [[f32; 2]; MOST],
    samples: usize,
    /// Where all of them do.
    all: [f32; 2],
}

impl Seen {
    fn new(floor: &Floor, screen: &Screen, samples: Samples, row: usize) -> Self {
        let mut spans = [[0.0; 2]; MOST];
        let mut all = [f32::NEG_INFINITY, f32::INFINITY];
        for (span, &[x, y]) in spans.iter_mut().zip(samples) {
            let from_middle = (x - 0.5) * screen.pixel;
            *span = floor.span(screen.ahead(row as f32 + y)).map(|edge| edge - from_middle);
            all = [all[0].max(span[0]), all[1].min(span[1])];
        }
        Self { spans, samples: samples.len(), all }
    }

    /// Which part of the pixel with this middle shows the floor.
    #[inline]
    fn part(&self, x: f32) -> f32 {
        let within = |span: &[f32; 2]| span[0] <= x && x <= span[1];
        if within(&self.all) {
            return 1.0;
        }
        let count = self.spans[..self.samples].iter().filter(|span| within(span)).count();
        count as f32 / self.samples as f32
    }
}

/// Mixes a colour over what is there. What is brighter than white becomes white, and bytes are rounded to the nearest.
#[inline]
fn blend(pixel: &mut [u8], colour: [f32; 3], part: f32) {
    for (byte, colour) in pixel.iter_mut().zip(colour) {
        let below = f32::from(*byte);
        let mixed = if part == 1.0 { colour } else { below + (colour.min(255.0) - below) * part };
        *byte = (mixed + 0.5) as u8;
    }
}
