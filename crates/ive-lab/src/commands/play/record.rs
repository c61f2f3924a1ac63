//! Pictures of a game as PNG files and as a GIF animation.

use super::view::{View, enlarge};
use crate::exit::{Failure, Outcome};
use crate::output::file;
use ive_envs::minatar::picture::{self, Colour, Picture};
use std::borrow::Cow;
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
    /// Pixels per cell, if not as many as usual.
    pub scale: Option<u16>,
    /// Pictures per second.
    pub fps: u16,
}

/// Writes what it is shown, if anything was asked for. An animation is made in memory and written
/// at the end, completely or not at all.
pub struct Recorder {
    view: View,
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
    pub fn new(view: View, what: Recording) -> Outcome<Self> {
        let Recording { frames, gif, scale, fps } = what;
        let scale = usize::from(scale.unwrap_or(view.scale()));
        if let Some(directory) = &frames {
            fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        }
        let begin = |path: PathBuf| {
            if path.is_dir() {
                return Err(failed(&path, "it is a directory"));
            }
            let above = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(above).map_err(|error| failed(&path, error))?;
            let side = (view.cells() * scale) as u16;
            let mut encoder = gif::Encoder::new(Vec::new(), side, side, &common_palette(view))
                .map_err(|error| failed(&path, error))?;
            encoder.set_repeat(gif::Repeat::Infinite).map_err(|error| failed(&path, error))?;
            Ok((path, encoder))
        };
        let gif = gif.map(begin).transpose()?;
        Ok(Self { view, scale, delay: 100 / fps, frames, gif, count: 0 })
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
        if let Some(directory) = &self.frames {
            let path = directory.join(format!("{:06}.png", self.count));
            let bytes = png(self.view, observation, self.scale).map_err(|error| failed(&path, error))?;
            file::write(&path, &bytes)?;
        }
        if let Some((path, encoder)) = &mut self.gif {
            let mut frame = frame(self.view, observation, self.scale);
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
            file::write(&path, &encoder.into_inner().map_err(|error| failed(&path, error))?)?;
            places.push(path);
        }
        let written = places.iter().map(|place| format!("; {} pictures in {}", self.count, place.display()));
        Ok(written.collect::<Vec<_>>().concat())
    }
}

/// The palette that all pictures of an animation share; photographs have one each.
fn common_palette(view: View) -> Vec<u8> {
    match view {
        View::Board(game) => picture::draw(game, &[], 1).palette.concat(),
        View::Photo(_) => Vec::new(),
    }
}

/// A picture of an animation. It has at most 256 colours; where a photograph has more, they are replaced by similar ones.
fn frame(view: View, observation: &[u8], scale: usize) -> gif::Frame<'static> {
    match view {
        View::Board(game) => {
            let Picture { side, pixels, .. } = picture::draw(game, observation, scale);
            let mut frame = gif::Frame::from_indexed_pixels(side as u16, side as u16, pixels, None);
            frame.palette = None;
            frame
        }
        View::Photo(side) => {
            let mut frame = gif::Frame::from_rgb_speed(side as u16, side as u16, observation, 1);
            frame.buffer = Cow::Owned(enlarge(&frame.buffer, side, scale));
            (frame.width, frame.height) = ((side * scale) as u16, (side * scale) as u16);
            frame
        }
    }
}

/// A picture as a file, in its true colours.
fn png(view: View, observation: &[u8], scale: usize) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let side = (view.cells() * scale) as u32;
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels = match view {
        View::Board(game) => {
            let picture = picture::draw(game, observation, scale);
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(picture.palette.concat());
            picture.pixels
        }
        View::Photo(side) => {
            encoder.set_color(png::ColorType::Rgb);
            let (colours, _): (&[Colour], _) = observation.as_chunks();
            enlarge(colours, side, scale).concat()
        }
    };
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(bytes)
}
