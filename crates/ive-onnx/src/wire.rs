//! A look at the bytes of a file before anything is made of them.
//!
//! A protobuf message grows when it is decoded: an empty node takes two bytes in the file and two hundred in memory. So
//! fields are counted first, in one pass that allocates nothing, and what is never accepted is refused here: tensors
//! in other files, graphs inside of nodes (loops and branches), functions, sparse tensors.
//! Field numbers are those of `onnx.proto3`.

/// Fields of all messages together: 24 bytes each in memory, when they are strings.
const MAX_FIELDS: u64 = 4_000_000;
/// Messages: some hundred bytes each in memory.
const MAX_MESSAGES: u64 = 200_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    ValueInfo,
    Type,
    TensorType,
    TensorShape,
    /// A message without messages in it.
    Leaf,
}

enum Field {
    /// A number, a string, or one that the engine does not read.
    Plain,
    Nested(Message),
    Refused(&'static str),
}

fn field(of: Message, number: u64) -> Field {
    use Message::{Attribute, Graph, Leaf, Model, Node, Tensor, TensorShape, TensorType, Type, ValueInfo};
    const GRAPHS: &str =
        "it has a graph inside of a node (Loop, If, Scan): unroll or export without control flow";
    const SPARSE: &str = "it has sparse tensors";
    const EXTERNAL: &str = "it keeps tensors in other files (external data): export it as one file";
    match (of, number) {
        (Model, 7) => Field::Nested(Graph),
        (Model, 8 | 14) | (Graph, 14 | 16) | (Node, 9) | (Tensor, 3) | (TensorShape, 1) => {
            Field::Nested(Leaf)
        }
        (Model, 20) => Field::Refused("it has training information"),
        (Model, 25) => Field::Refused("it has functions: export it with functions inlined"),
        (Graph, 1) => Field::Nested(Node),
        (Graph, 5) | (Attribute, 5 | 10) => Field::Nested(Tensor),
        (Graph, 11..=13) => Field::Nested(ValueInfo),
        (Graph, 15) | (Attribute, 22 | 23) => Field::Refused(SPARSE),
        (Node, 5) => Field::Nested(Attribute),
        (Attribute, 6 | 11) => Field::Refused(GRAPHS),
        (Attribute, 15) | (ValueInfo, 2) => Field::Nested(Type),
        (Type, 1) => Field::Nested(TensorType),
        (TensorType, 2) => Field::Nested(TensorShape),
        (Tensor, 13) => Field::Refused(EXTERNAL),
        _ => Field::Plain,
    }
}

/// Why some bytes are not taken.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    Malformed(String),
    Refused(&'static str),
    TooMany(&'static str, u64),
}

/// Reads the bytes of a model as protobuf, without decoding it.
pub(crate) fn scan(bytes: &[u8]) -> Result<(), Fault> {
    Scan { bytes, fields: 0, messages: 0 }.message(Message::Model, 0, bytes.len())
}

struct Scan<'a> {
    bytes: &'a [u8],
    fields: u64,
    messages: u64,
}

impl Scan<'_> {
    /// Calls itself no deeper than there are kinds of messages, because no kind leads back to itself.
    fn message(&mut self, kind: Message, mut at: usize, end: usize) -> Result<(), Fault> {
        self.messages += 1;
        if self.messages > MAX_MESSAGES {
            return Err(Fault::TooMany("number of messages", MAX_MESSAGES));
        }
        while at < end {
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                return Err(Fault::TooMany("number of fields", MAX_FIELDS));
            }
            let key = self.varint(&mut at, end)?;
            let size = match key & 7 {
                0 => self.varint(&mut at, end).map(|_| 0)?,
                1 => 8,
                2 => usize::try_from(self.varint(&mut at, end)?).unwrap_or(usize::MAX),
                5 => 4,
                other => return Err(Fault::Malformed(format!("byte {at}: wire type {other}"))),
            };
            let next = at.checked_add(size).filter(|next| *next <= end);
            let next =
                next.ok_or_else(|| Fault::Malformed(format!("byte {at}: a field ends after its message")))?;
            match field(kind, key >> 3) {
                Field::Plain => {}
                Field::Refused(why) => return Err(Fault::Refused(why)),
                Field::Nested(inner) if key & 7 == 2 => self.message(inner, at, next)?,
                Field::Nested(_) => {
                    return Err(Fault::Malformed(format!("byte {at}: a number for a message")));
                }
            }
            at = next;
        }
        Ok(())
    }

    fn varint(&self, at: &mut usize, end: usize) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in 0..10 {
            let byte = *self.bytes[..end]
                .get(*at)
                .ok_or_else(|| Fault::Malformed(format!("it ends at byte {at}")))?;
            *at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(7 * shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::Malformed(format!("byte {at}: a number of more than ten bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_and_cut_off_bytes_are_malformed() {
        assert_eq!(scan(&[]), Ok(()));
        assert!(matches!(scan(&[0x3a, 5, 0]), Err(Fault::Malformed(_))), "a graph of five bytes, one there");
        assert!(matches!(scan(&[0xff; 11]), Err(Fault::Malformed(_))), "a number without an end");
        assert!(matches!(scan(&[0x0b]), Err(Fault::Malformed(_))), "a group");
        assert!(matches!(
            scan(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Err(Fault::Malformed(_))
        ));
    }

    #[test]
    fn a_bomb_of_empty_nodes_is_refused_before_it_is_decoded() {
        // Graph (field 7) of 300 000 empty nodes (field 1).
        let nodes = [0x0a, 0].repeat(300_000);
        let mut bytes = vec![0x3a, 0xc0, 0xcf, 0x24];
        bytes.extend(nodes);
        assert_eq!(scan(&bytes), Err(Fault::TooMany("number of messages", MAX_MESSAGES)));
    }

    #[test]
    fn external_data_and_graphs_in_nodes_are_refused() {
        // Graph > initializer (5) > external_data (13).
        assert!(
            matches!(scan(&[0x3a, 4, 0x2a, 2, 0x6a, 0]), Err(Fault::Refused(why)) if why.contains("external"))
        );
        // Graph > node (1) > attribute (5) > graph (6).
        let looped = scan(&[0x3a, 6, 0x0a, 4, 0x2a, 2, 0x32, 0]);
        assert!(matches!(looped, Err(Fault::Refused(why)) if why.contains("Loop")));
    }
}
