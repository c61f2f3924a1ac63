//! Pictures of a game as PNG files and as a GIF animation.

use crate::exit::{Failure, Outcome};
use crate::store::write_atomically;
use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{self, Picture};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// What is to be written.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// A directory for a PNG per picture.
    pub frames: Option<PathBuf>,
    /// A file for an animation.
    pub gif: Option<PathBuf>,
    /// Pixels per cell.
    pub scale: u16,
    /// Pictures per second.
    pub fps: u16,
}

/// Writes what it is shown, if anything was asked for. An animation is made in memory and written
/// at the end, completely or not at all.
pub struct Recorder {
    game: Game,
    scale: usize,
    /// Hundredths of a second that a picture of the animation stands.
    delay: u16,
    frames: Option<PathBuf>,
    gif: Option<(PathBuf, gif::Encoder<Vec<u8>>)>,
    count: usize,
}

fn failed(path: &Path, error: impl Display) -> Failure {
    Failure::io(format!("cannot write {}: {error}", path.display()))
}

impl Recorder {
    /// A recorder that was shown nothing yet. Places that cannot be written to are refused now, not after a game.
    pub fn new(game: Game, what: Recording) -> Outcome<Self> {
        let Recording { frames, gif, scale, fps } = what;
        let scale = usize::from(scale);
        if let Some(directory) = &frames {
            fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        }
        let begin = |path: PathBuf| {
            if path.is_dir() {
                return Err(failed(&path, "it is a directory"));
            }
            let above = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(above).map_err(|error| failed(&path, error))?;
            let Picture { side, palette, .. } = picture::draw(game, &[], scale);
            let mut encoder = gif::Encoder::new(Vec::new(), side as u16, side as u16, &palette.concat())
                .map_err(|error| failed(&path, error))?;
            encoder.set_repeat(gif::Repeat::Infinite).map_err(|error| failed(&path, error))?;
            Ok((path, encoder))
        };
        let gif = gif.map(begin).transpose()?;
        Ok(Self { game, scale, delay: 100 / fps, frames, gif, count: 0 })
    }

    /// Whether anything is to be written.
    pub fn is_active(&self) -> bool {
        self.frames.is_some() || self.gif.is_some()
    }

    /// Takes a picture of an observation.
    pub fn add(&mut self, observation: &[u8]) -> Outcome {
        if !self.is_active() {
            return Ok(());
        }
        let picture = picture::draw(self.game, observation, self.scale);
        if let Some(directory) = &self.frames {
            let path = directory.join(format!("{:06}.png", self.count));
            let bytes = png(&picture).map_err(|error| failed(&path, error))?;
            fs::write(&path, bytes).map_err(|error| failed(&path, error))?;
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
    pub fn finish(self) -> Outcome<String> {
        let mut places: Vec<PathBuf> = self.frames.into_iter().collect();
        if let Some((path, encoder)) = self.gif {
            write_atomically(&path, &encoder.into_inner().map_err(|error| failed(&path, error))?)?;
            places.push(path);
        }
        let written = places.iter().map(|place| format!("; {} pictures in {}", self.count, place.display()));
        Ok(written.collect::<Vec<_>>().concat())
    }
}

fn png(picture: &Picture) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.side as u32, picture.side as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(picture.palette.concat());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.pixels)?;
    writer.finish()?;
    Ok(bytes)
}
