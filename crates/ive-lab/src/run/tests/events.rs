//! The event file, read by a decoder that shares nothing with the writer but the definition of the format.

use super::*;

/// CRC-32C bit by bit: the reflected polynomial 0x1EDC6F41.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// The data of all records; panics at a wrong checksum.
fn records(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        assert_eq!(masked(&bytes[..8]), word(&bytes[8..]));
        let data = &bytes[12..12 + length];
        assert_eq!(masked(data), word(&bytes[12 + length..]));
        records.push(data);
        bytes = &bytes[16 + length..];
    }
    records
}

enum Field<'a> {
    Varint(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    Four([u8; 4]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            1 => Field::Eight(bytes.split_off(..8).unwrap().try_into().unwrap()),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Field::Bytes(bytes.split_off(..length).unwrap())
            }
            5 => Field::Four(bytes.split_off(..4).unwrap().try_into().unwrap()),
            other => panic!("coding {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// Step and numbers of all events but the first, which must name the version of the format.
fn scalars(file: &[u8]) -> Vec<(u64, BTreeMap<String, f32>)> {
    let mut out = Vec::new();
    for (i, record) in records(file).into_iter().enumerate() {
        let (mut step, mut values, mut version) = (0, BTreeMap::new(), None);
        for (number, field) in fields(record) {
            match (number, field) {
                (1, Field::Eight(time)) => assert!(f64::from_le_bytes(time) > 1.7e9, "a time before 2023"),
                (2, Field::Varint(n)) => step = n,
                (3, Field::Bytes(text)) => version = Some(text),
                (5, Field::Bytes(summary)) => {
                    for (_, value) in fields(summary) {
                        let Field::Bytes(value) = value else { panic!("a value is a message") };
                        let value = fields(value);
                        let [(1, Field::Bytes(tag)), (2, Field::Four(number))] = value.as_slice() else {
                            panic!("a value is a tag and a number")
                        };
                        values.insert(String::from_utf8(tag.to_vec()).unwrap(), f32::from_le_bytes(*number));
                    }
                }
                (other, _) => panic!("field {other}"),
            }
        }
        assert_eq!(version.is_some(), i == 0);
        if let Some(version) = version {
            assert_eq!(version, b"brain.Event:2");
        } else {
            out.push((step, values));
        }
    }
    out
}

/// The event file says what `metrics.jsonl` says.
pub fn agree_with_metrics(dir: &Path) {
    let events = scalars(&fs::read(dir.join("events.out.tfevents.ive")).unwrap());
    let single = |(step, values): (u64, BTreeMap<String, f64>)| {
        (step, values.into_iter().map(|(name, x)| (name, x as f32)).collect())
    };
    assert_eq!(events, metrics(dir).unwrap().into_iter().map(single).collect::<Vec<_>>());
    assert!(!events.is_empty());
}

#[test]
fn event_file_is_read_back_by_an_independent_decoder() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283, "the check value of CRC-32C");
    agree_with_metrics(finished_run(&[]).path());
}
