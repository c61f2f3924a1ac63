//! What Dreamer carries from step to step of an episode: a latent state, the last action, and the stream of its noise.

use ive::Rng;
use ive_envs::StateError;

use super::config::Sizes;
use crate::archive::{Archive, ArchiveError, Element};
use crate::player::Memory;

/// What is carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// z.
    pub z: Vec<f32>,
    /// d.
    pub d: Vec<f32>,
    /// What was done last; zeros at the start.
    pub action: Vec<f32>,
    /// Where noise comes from.
    pub rng: Rng,
}

impl Carried {
    /// At the start of an episode: zeros.
    pub fn new(sizes: &Sizes, rng: Rng) -> Self {
        let zeros = |n| vec![0.0; n];
        Self { z: zeros(sizes.stochastic), d: zeros(sizes.deterministic), action: zeros(sizes.action), rng }
    }

    /// Begins another episode; the stream goes on.
    pub fn restart(&mut self) {
        for part in [&mut self.z, &mut self.d, &mut self.action] {
            part.fill(0.0);
        }
    }

    /// Saves or restores.
    pub fn archive(&mut self, name: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.f32(&format!("{name}.z"), &mut self.z)?;
        archive.f32(&format!("{name}.d"), &mut self.d)?;
        archive.f32(&format!("{name}.action"), &mut self.action)?;
        archive.rng(&format!("{name}.rng"), &mut self.rng)
    }
}

impl Memory for Carried {
    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        u64::encode(&self.rng.to_words(), &mut bytes);
        for part in [&self.z, &self.d, &self.action] {
            f32::encode(part, &mut bytes);
        }
        bytes
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let wrong = |what| StateError::Corrupt { what };
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        let (first, rest) = bytes.split_at_checked(40).ok_or(wrong("it is too short"))?;
        u64::decode(first, &mut words);
        f32::decode(rest, &mut numbers);
        let lengths = [self.z.len(), self.d.len(), self.action.len()];
        if rest.len() != 4 * lengths.iter().sum::<usize>() {
            return Err(wrong("it has another length"));
        }
        if !numbers.iter().all(|x| x.is_finite()) {
            return Err(wrong("it has a number that is not finite"));
        }
        self.rng = Rng::from_words(words.try_into().map_err(|_| wrong("it is too short"))?);
        let (z, rest) = numbers.split_at(lengths[0]);
        let (d, action) = rest.split_at(lengths[1]);
        self.z.copy_from_slice(z);
        self.d.copy_from_slice(d);
        self.action.copy_from_slice(action);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_survives_bytes_and_damage_is_refused() {
        let sizes =
            Sizes { observation: 24, action: 6, stochastic: 4, deterministic: 8, width: 12, channels: 1 };
        let mut carried = Carried::new(&sizes, Rng::from_seed(1));
        carried.d[3] = 0.5;
        carried.action[5] = -1.0;
        carried.rng.next_u64();
        let mut other = Carried::new(&sizes, Rng::from_seed(2));
        other.restore(&carried.save()).unwrap();
        assert_eq!(other, carried);
        let mut bytes = carried.save();
        assert!(other.restore(&bytes[1..]).is_err() && other.restore(&[]).is_err());
        bytes[40..44].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(other.restore(&bytes).is_err());
        assert_eq!(other, carried);
    }
}
