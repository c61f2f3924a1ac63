//! TensorBoard event files.
//!
//! A file is a sequence of TFRecords: length (u64), masked CRC-32C of the length, data, masked CRC-32C of the data, all
//! little endian. The data are protocol buffers, `tensorflow.Event`, of which three kinds of field are needed; they are
//! written by hand:
//!
//! ```text
//! Event   { 1: double wall_time   2: int64 step   3: string file_version   5: Summary summary }
//! Summary { 1: repeated Value }   Value { 1: string tag   2: float simple_value }
//! ```

/// The name of the file in a run directory: TensorBoard looks for `tfevents`.
pub const FILE: &str = "events.out.tfevents.ive";

/// The record with which every event file begins.
pub fn first(wall_time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.bytes(3, b"brain.Event:2");
    record(&event.0)
}

/// The record of some numbers at a step.
pub fn scalars<'a>(wall_time: f64, step: u64, values: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<u8> {
    let mut summary = Message::default();
    for (tag, number) in values {
        let mut value = Message::default();
        value.bytes(1, tag.as_bytes());
        value.float(2, number as f32);
        summary.bytes(1, &value.0);
    }
    let mut event = Message::default();
    event.double(1, wall_time);
    event.varint_field(2, step);
    event.bytes(5, &summary.0);
    record(&event.0)
}

/// The framing of TFRecords.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(data.len() + 16);
    out.extend(length);
    out.extend(masked(&length).to_le_bytes());
    out.extend(data);
    out.extend(masked(data).to_le_bytes());
    out
}

/// A checksum that may itself be checksummed again, hence the rotation and the constant.
fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A protocol buffer under construction. A key is the number of the field and how its content is coded: 0 varint,
/// 1 eight bytes, 2 length and bytes, 5 four bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, coding: u64) {
        self.varint(field << 3 | coding);
    }

    fn varint_field(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }
}
