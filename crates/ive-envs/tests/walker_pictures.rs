//! Our pictures of the walker beside those of MuJoCo.
//!
//! `walker_pictures.py` made the fixtures with dm_control 1.0.50, MuJoCo 3.17.0 and EGL. Poses with even numbers served to find out how
//! MuJoCo draws ("studied"); poses with odd numbers were added when the renderer was finished ("held out").

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

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
    camera: Point,
    light: Point,
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
            camera: numbers(&pose["camera"]),
            light: numbers(&pose["light"]),
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
        assert!(sampling != Sampling::Edges || mean <= 1.0, "the default was closer than this");
    }
}

#[test]
fn capsules_camera_and_light_are_where_mujoco_puts_them() {
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
        near(body.camera(), reference.camera);
        near(body.light(), reference.light);
    }
}

#[test]
fn a_picture_depends_on_the_pose_alone() {
    let references = references();
    let (mut one, mut other) = (Renderer::default(), Renderer::default());
    let forwards: Vec<_> = references.iter().map(|r| one.render(&r.qpos).unwrap()).collect();
    let mut backwards: Vec<_> = references.iter().rev().map(|r| other.render(&r.qpos).unwrap()).collect();
    backwards.reverse();
    assert!(forwards == backwards);
}

/// The bytes of all pictures together, from one of our machines: others must find the same.
#[test]
fn value_stability_of_the_pictures() {
    let mut renderer = Renderer::default();
    let pictures: Vec<u8> = references().iter().flat_map(|r| renderer.render(&r.qpos).unwrap()).collect();
    assert_eq!(ive_envs::fnv1a(&pictures), 3_218_454_138_023_235_759);
}

#[test]
fn a_supersampled_picture_shows_the_same_scene() {
    let (mut plain, mut fine) = (Renderer::default(), Renderer::new(SIDE, SIDE, Sampling::Super(3)).unwrap());
    for reference in references().iter().step_by(9) {
        let d = difference(&plain.render(&reference.qpos).unwrap(), &fine.render(&reference.qpos).unwrap());
        assert!(d.mean > 0.0 && d.mean < 3.0, "{}", d.mean);
    }
}

#[test]
fn other_shapes_keep_the_vertical_view() {
    // Twice as wide: the middle half is the square picture.
    let mut wide = Renderer::new(2 * SIDE, SIDE, Sampling::Edges).unwrap();
    let mut square = Renderer::default();
    let qpos = references()[40].qpos;
    let (wide, square) = (wide.render(&qpos).unwrap(), square.render(&qpos).unwrap());
    let middle: Vec<u8> =
        wide.chunks(6 * SIDE).flat_map(|row| row[SIDE / 2 * 3..3 * SIDE / 2 * 3].iter().copied()).collect();
    assert!(difference(&middle, &square).mean < 0.1);
}

#[test]
fn sizes_that_make_no_picture_are_refused() {
    for (width, height) in [(0, 64), (64, 0), (1025, 64), (64, usize::MAX)] {
        assert_eq!(
            Renderer::new(width, height, Sampling::Edges).err(),
            Some(PictureError::Size { width, height })
        );
    }
    for n in [0, 5, usize::MAX] {
        assert_eq!(Renderer::new(64, 64, Sampling::Super(n)).err(), Some(PictureError::Supersampling(n)));
    }
    let mut renderer = Renderer::new(3, 2, Sampling::Single).unwrap();
    assert_eq!(renderer.render(&[0.0; 9]).map(|picture| picture.len()), Ok(18));
    let wrong = renderer.render_into(&[0.0; 9], &mut [0; 17]);
    assert_eq!(wrong, Err(PictureError::Length { expected: 18, got: 17 }));
}

#[test]
fn a_pose_that_is_not_finite_is_refused_and_leaves_the_buffer_alone() {
    let mut renderer = Renderer::default();
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let mut qpos = [0.0; 9];
        qpos[4] = value;
        let mut picture = vec![7; BYTES];
        let error = renderer.render_into(&qpos, &mut picture).unwrap_err();
        assert!(matches!(error, PictureError::NotFinite { index: 4, .. }));
        assert!(error.to_string().contains("qpos[4]"));
        assert!(picture.iter().all(|&byte| byte == 7));
    }
}

#[test]
fn absurd_poses_are_drawn_without_complaint() {
    let mut renderer = Renderer::default();
    for index in 0..9 {
        for size in [1e3, 1e6, 1e20, 1e40, 1e300, f64::MAX] {
            for value in [size, -size] {
                let mut qpos = [0.1; 9];
                qpos[index] = value;
                renderer.render(&qpos).unwrap();
                renderer.render(&[value; 9]).unwrap();
            }
        }
    }
    // Nothing of it stays behind.
    assert!(renderer.render(&[0.0; 9]) == Renderer::default().render(&[0.0; 9]));
}

/// Writes MuJoCo's picture, ours, and eight times their difference for each pose, two poses in a row, each pixel `zoom` times as large.
fn write_sheet(path: &Path, references: &[&Reference], zoom: usize) {
    const ACROSS: usize = 6;
    let mut renderer = Renderer::default();
    let mut pictures = Vec::new();
    for reference in references {
        let ours = renderer.render(&reference.qpos).unwrap();
        let apart =
            ours.iter().zip(&reference.picture).map(|(a, b)| a.abs_diff(*b).saturating_mul(8)).collect();
        pictures.extend([reference.picture.clone(), ours, apart]);
    }
    let (width, height) = (ACROSS * SIDE * zoom, pictures.len().div_ceil(ACROSS) * SIDE * zoom);
    let mut pixels = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            let (row, column) = (y / zoom, x / zoom);
            let picture = &pictures[row / SIDE * ACROSS + column / SIDE];
            pixels.extend(&picture[3 * (row % SIDE * SIDE + column % SIDE)..][..3]);
        }
    }
    let file = BufWriter::new(File::create(path).unwrap());
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    println!("wrote {}", path.display());
}

#[test]
#[ignore = "writes pictures, for people: see docs/worlds/walker-pixels.md"]
fn side_by_side() {
    let references = references();
    let some: Vec<&Reference> = references.iter().skip(1).step_by(12).collect();
    write_sheet(&in_package("../../docs/worlds/walker-pixels.png"), &some, 2);
    let all: Vec<&Reference> = references.iter().collect();
    write_sheet(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("walker-pixels.png"), &all, 4);
}
