//! Our pictures of the walker beside those of MuJoCo.
//!
//! `walker_pictures.py` made the fixtures with dm_control 1.0.50, MuJoCo 3.17.0 and EGL. Poses with even numbers served to find out how
//! MuJoCo draws ("studied"); poses with odd numbers were kept apart ("held out").

use ive_envs::walker::picture::kinematics::{self, Point};
use ive_envs::walker::picture::{PictureError, Qpos, Renderer, Sampling};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

const SIDE: usize = 64;
const BYTES: usize = SIDE * SIDE * 3;

/// A pose and what MuJoCo made of it.
struct Reference {
    kind: String,
    qpos: Qpos,
    geoms: Vec<Point>,
    centre_of_mass: Point,
    picture: Vec<u8>,
}

fn in_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn numbers<const N: usize>(value: &serde_json::Value) -> [f64; N] {
    let list: Vec<f64> = value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    list.try_into().unwrap()
}

fn references() -> Vec<Reference> {
    let json = std::fs::read_to_string(in_package("tests/fixtures/walker_pictures.json")).unwrap();
    let poses: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let file = BufReader::new(File::open(in_package("tests/fixtures/walker_pictures.png")).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels.len(), poses.len() * BYTES);
    let pictures = pixels.chunks(BYTES);
    poses
        .iter()
        .zip(pictures)
        .map(|(pose, picture)| Reference {
            kind: pose["kind"].as_str().unwrap().to_owned(),
            qpos: numbers(&pose["qpos"]),
            geoms: pose["geoms"].as_array().unwrap().iter().map(numbers).collect(),
            centre_of_mass: numbers(&pose["centre_of_mass"]),
            picture: picture.to_vec(),
        })
        .collect()
}

/// How two pictures differ, in bytes.
struct Difference {
    mean: f64,
    /// The share of bytes that are more than 24 apart.
    far: f64,
}

fn difference(a: &[u8], b: &[u8]) -> Difference {
    let apart: Vec<f64> = a.iter().zip(b).map(|(&a, &b)| f64::from(a.abs_diff(b))).collect();
    let len = apart.len() as f64;
    Difference {
        mean: apart.iter().sum::<f64>() / len,
        far: apart.iter().filter(|&&d| d > 24.0).count() as f64 / len,
    }
}

/// Prints the differences of some poses and gives the mean one.
fn report(what: &str, differences: &[Difference]) -> f64 {
    let count = differences.len() as f64;
    let mean = differences.iter().map(|d| d.mean).sum::<f64>() / count;
    let worst = differences.iter().map(|d| d.mean).fold(0.0, f64::max);
    let far = differences.iter().map(|d| d.far).sum::<f64>() / count;
    println!(
        "{what:>12}: {count:>2} poses, mean {mean:.3}, worst pose {worst:.3}, {:.2} % of bytes over 24",
        100.0 * far
    );
    mean
}

#[test]
fn pictures_are_close_to_those_of_mujoco() {
    let references = references();
    assert!(references.len() >= 60);
    for sampling in [Sampling::Edges, Sampling::Single, Sampling::Super(2)] {
        println!("{sampling:?}");
        let mut renderer = Renderer::new(SIDE, SIDE, sampling).unwrap();
        let compare = |reference: &Reference| {
            let d = difference(&renderer.render(&reference.qpos).unwrap(), &reference.picture);
            (reference.kind.clone(), d)
        };
        let all: Vec<(String, Difference)> = references.iter().map(compare).collect();
        let mut kinds: Vec<&String> = all.iter().map(|(kind, _)| kind).collect();
        kinds.dedup();
        let pick = |wanted: &dyn Fn(usize, &str) -> bool| {
            let picked = all.iter().enumerate().filter(|(i, (kind, _))| wanted(*i, kind));
            picked.map(|(_, (_, d))| Difference { ..*d }).collect::<Vec<_>>()
        };
        for kind in kinds {
            report(kind, &pick(&|_, k| k == kind));
        }
        report("studied", &pick(&|i, _| i % 2 == 0));
        let held_out = report("held out", &pick(&|i, _| i % 2 == 1));
        let mean = report("all", &pick(&|_, _| true));
        assert!(mean <= 4.0 && held_out <= 4.0, "the bar is 4 of 255");
    }
}

#[test]
fn capsules_and_centre_of_mass_are_where_mujoco_puts_them() {
    for reference in references() {
        let body = kinematics::body(&reference.qpos);
        let near = |ours: Point, theirs: Point| {
            let world = [0, 1, 2].map(|i| body.torso[i] + ours[i]);
            assert!((0..3).all(|i| (world[i] - theirs[i]).abs() < 1e-6), "{world:?} {theirs:?}");
        };
        assert_eq!(reference.geoms.len(), body.capsules.len());
        for (capsule, &theirs) in body.capsules.iter().zip(&reference.geoms) {
            near(capsule.centre(), theirs);
        }
        near(body.centre_of_mass, reference.centre_of_mass);
    }
}

/// Places pictures in columns of `across`, each `zoom` times as large.
fn sheet(pictures: &[Vec<u8>], across: usize, zoom: usize) -> (usize, usize, Vec<u8>) {
    let (width, height) = (across * SIDE * zoom, pictures.len().div_ceil(across) * SIDE * zoom);
    let mut pixels = vec![255; width * height * 3];
    for y in 0..height {
        for x in 0..width {
            let (row, column) = (y / zoom, x / zoom);
            let Some(picture) = pictures.get(row / SIDE * across + column / SIDE) else { continue };
            let from = 3 * (row % SIDE * SIDE + column % SIDE);
            pixels[3 * (y * width + x)..][..3].copy_from_slice(&picture[from..from + 3]);
        }
    }
    (width, height, pixels)
}

/// Writes MuJoCo's pictures, ours, and eight times their difference, side by side: `IVE_SHEET=file.png IVE_EVERY=6 IVE_ZOOM=2`.
#[test]
#[ignore = "writes a picture: for people, see docs/worlds/walker-pixels.md"]
fn side_by_side() {
    let number = |name: &str, default: usize| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let path = std::env::var("IVE_SHEET").unwrap_or_else(|_| "walker-pixels.png".to_owned());
    let mut renderer = Renderer::default();
    let mut pictures = Vec::new();
    for reference in references().iter().skip(number("IVE_FIRST", 0)).step_by(number("IVE_EVERY", 6)) {
        let ours = renderer.render(&reference.qpos).unwrap();
        let apart =
            ours.iter().zip(&reference.picture).map(|(a, b)| a.abs_diff(*b).saturating_mul(8)).collect();
        pictures.extend([reference.picture.clone(), ours, apart]);
    }
    let (width, height, pixels) = sheet(&pictures, number("IVE_ACROSS", 6), number("IVE_ZOOM", 2));
    let file = BufWriter::new(File::create(&path).unwrap());
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    println!("wrote {path}");
}
