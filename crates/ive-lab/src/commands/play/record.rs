//! Pictures of a game as PNG files and as a GIF animation.

use super::PlayArgs;
use crate::exit::{Failure, Outcome};
use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{self, Picture};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes what it is shown, if anything was asked for.
pub(super) struct Recorder {
    game: Game,
    scale: usize,
    /// Hundredths of a second that a picture of the animation stands.
    delay: u16,
    frames: Option<PathBuf>,
    gif: Option<(PathBuf, gif::Encoder<BufWriter<File>>)>,
    count: usize,
}

fn failed(path: &Path, error: impl Display) -> Failure {
    Failure::io(format!("cannot write {}: {error}", path.display()))
}

impl Recorder {
    pub(super) fn new(game: Game, args: &PlayArgs) -> Outcome<Self> {
        let scale = usize::from(args.scale);
        if let Some(directory) = &args.frames {
            fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        }
        let gif = match &args.gif {
            None => None,
            Some(path) => {
                let Picture { side, palette, .. } = picture::draw(game, &[], scale);
                let file = BufWriter::new(File::create(path).map_err(|error| failed(path, error))?);
                let mut encoder = gif::Encoder::new(file, side as u16, side as u16, &palette.concat())
                    .map_err(|error| failed(path, error))?;
                encoder.set_repeat(gif::Repeat::Infinite).map_err(|error| failed(path, error))?;
                Some((path.clone(), encoder))
            }
        };
        Ok(Self { game, scale, delay: 100 / args.fps, frames: args.frames.clone(), gif, count: 0 })
    }

    /// Whether anything is to be written.
    pub(super) fn is_active(&self) -> bool {
        self.frames.is_some() || self.gif.is_some()
    }

    pub(super) fn add(&mut self, observation: &[u8]) -> Outcome {
        if !self.is_active() {
            return Ok(());
        }
        let picture = picture::draw(self.game, observation, self.scale);
        if let Some(directory) = &self.frames {
            let path = directory.join(format!("{:06}.png", self.count));
            write_png(&path, &picture).map_err(|error| failed(&path, error))?;
        }
        if let Some((path, encoder)) = &mut self.gif {
            let side = picture.side as u16;
            let mut frame = gif::Frame::from_indexed_pixels(side, side, picture.pixels, None);
            frame.palette = None;
            frame.delay = self.delay;
            encoder.write_frame(&frame).map_err(|error| failed(path, error))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Closes the files: what was written, in words.
    pub(super) fn finish(self) -> Outcome<String> {
        let mut places: Vec<PathBuf> = self.frames.into_iter().collect();
        if let Some((path, encoder)) = self.gif {
            let buffer = encoder.into_inner().map_err(|error| failed(&path, error))?;
            buffer.into_inner().map_err(|error| failed(&path, error))?;
            places.push(path);
        }
        let written = places.iter().map(|place| format!("; {} pictures in {}", self.count, place.display()));
        Ok(written.collect::<Vec<_>>().concat())
    }
}

fn write_png(path: &Path, picture: &Picture) -> Result<(), Box<dyn std::error::Error>> {
    let mut encoder =
        png::Encoder::new(BufWriter::new(File::create(path)?), picture.side as u32, picture.side as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(picture.palette.concat());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.pixels)?;
    writer.finish()?;
    Ok(())
}
