//! Settings of an experiment: preset ← file ← command line, checked once, valid ever after.

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::exit::{Failure, Outcome};

/// A change from the command line, `key=value` or `experiment.key=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    experiment: Option<String>,
    key: String,
    value: String,
}

impl Change {
    /// Reads `key=value` or `experiment.key=value`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected key=value, for example epochs=2000")?;
        let (experiment, key) = match name.trim().split_once('.') {
            Some((experiment, key)) => (Some(experiment.to_owned()), key),
            None => (None, name.trim()),
        };
        Ok(Self { experiment, key: key.to_owned(), value: value.trim().to_owned() })
    }

    /// Whether it sets this key.
    pub fn sets(&self, key: &str) -> bool {
        self.key == key
    }

    fn concerns(&self, experiment: &str, table: &Table) -> bool {
        match &self.experiment {
            Some(named) => named == experiment,
            None => table.contains_key(&self.key),
        }
    }
}

/// The settings of one experiment before they are checked.
#[derive(Clone, Debug)]
pub struct Layers {
    experiment: &'static str,
    table: Table,
}

impl Layers {
    /// Starts from a preset, which names every key.
    pub fn from_preset(experiment: &'static str, text: &str) -> Outcome<Self> {
        let table = text.parse().map_err(|e| Failure::internal(format!("preset of {experiment}: {e}")))?;
        Ok(Self { experiment, table })
    }

    /// Lays the table `[experiment]` of a settings file on top.
    pub fn add_file(&mut self, file: &Table, path: &str) -> Outcome {
        let Some(section) = file.get(self.experiment) else { return Ok(()) };
        let section = section.as_table().ok_or_else(|| {
            Failure::config(format!("{path}: `{}` must be a table, [{0}]", self.experiment))
        })?;
        section.iter().try_for_each(|(key, value)| self.set(key, value.clone(), path))
    }

    /// Lays the changes of the command line on top.
    pub fn add_changes(&mut self, changes: &[Change]) -> Outcome {
        for change in changes {
            if !change.concerns(self.experiment, &self.table) {
                continue;
            }
            let value = self.read(&change.key, &change.value)?;
            self.set(&change.key, value, "--set")?;
        }
        Ok(())
    }

    /// A value from the command line, in the type that the preset has.
    fn read(&self, key: &str, text: &str) -> Outcome<Value> {
        let parsed = match self.table.get(key) {
            Some(Value::String(_)) => Some(Value::String(text.trim_matches('"').to_owned())),
            Some(Value::Float(_)) => text.parse().ok().map(Value::Float),
            // As everywhere on the command line, 1e6 is a whole number too.
            Some(Value::Integer(_)) if crate::count::whole(text).is_some() => {
                crate::count::whole(text).and_then(|n| i64::try_from(n).ok()).map(Value::Integer)
            }
            // A list can be typed without brackets, and its words without quotes: games=breakout,asterix.
            Some(Value::Array(old)) if !text.starts_with('[') => {
                let words = || {
                    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                    Value::Array(words.map(|word| Value::String(word.to_owned())).collect())
                };
                if old.iter().all(Value::is_str) && !old.is_empty() {
                    Some(words())
                } else {
                    let listed =
                        format!("x = [{text}]").parse::<Table>().ok().and_then(|mut t| t.remove("x"));
                    // Of an empty list nobody knows what belongs into it.
                    listed.or_else(|| old.is_empty().then(words))
                }
            }
            _ => format!("x = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("x")),
        };
        parsed.ok_or_else(|| {
            let expected = self.table.get(key).map_or("a value", kind);
            Failure::config(format!("{}.{key}: `{text}` is not {expected}", self.experiment))
        })
    }

    fn set(&mut self, key: &str, value: Value, origin: &str) -> Outcome {
        let name = self.experiment;
        let Some(old) = self.table.get(key) else {
            return Err(Failure::config(format!(
                "{origin}: {name} has no setting `{key}`{}",
                suggest(key, self.table.keys())
            )));
        };
        let value = match (old, value) {
            (Value::Float(_), Value::Integer(i)) => Value::Float(i as f64),
            (_, value) => value,
        };
        // No setting counts below zero.
        if !value.same_type(old) || value.as_integer().is_some_and(|n| n < 0) {
            let must = kind(old);
            return Err(Failure::config(format!("{origin}: {name}.{key} must be {must}, not `{value}`")));
        }
        self.table.insert(key.to_owned(), value);
        Ok(())
    }

    /// The typed settings.
    pub fn build<T: DeserializeOwned>(self) -> Outcome<T> {
        let name = self.experiment;
        self.table
            .try_into()
            .map_err(|e: toml::de::Error| Failure::config(format!("{name}: {}", e.message().trim())))
    }

    fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }
}

/// The tables of a settings file.
pub fn read_file(path: &Path) -> Outcome<Table> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|e| Failure::io(format!("cannot read {shown}: {e}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::config(format!("{shown} is not a text file; settings are TOML in UTF-8")))?;
    text.parse().map_err(|e| Failure::config(format!("{shown}: {e}")))
}

/// What a value is, in plain words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "a whole number from 0",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list such as [1, 2]",
        Value::String(_) => "a word",
        _ => "a value",
    }
}

/// Refuses changes that concern none of the experiments, with the nearest names.
pub fn check_changes(changes: &[Change], all: &[Layers]) -> Outcome {
    for change in changes {
        if let Some(named) = &change.experiment {
            if !all.iter().any(|l| l.experiment == named) {
                let names: Vec<String> = all.iter().map(|l| l.experiment.to_owned()).collect();
                let hint = suggest(named, names.iter());
                return Err(Failure::config(format!("--set: no experiment `{named}` takes part{hint}")));
            }
        } else if !all.iter().any(|l| l.has(&change.key)) {
            let hint = suggest(&change.key, all.iter().flat_map(|l| l.table.keys()));
            let names: Vec<&str> = all.iter().map(|l| l.experiment).collect();
            let message = format!("--set: no setting `{}` in {}{hint}", change.key, names.join(", "));
            return Err(Failure::config(message));
        }
    }
    Ok(())
}

/// `; did you mean …?`, or how to see what there is.
pub fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let mut known: Vec<&str> = known.map(String::as_str).collect();
    known.sort_unstable();
    known.dedup();
    match ive_envs::nearest(name, known.iter().copied()).as_slice() {
        [] => format!("; there are {}", known.join(", ")),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

/// `Ok` when `min ≤ value ≤ max`; the error names field, value and range.
pub fn range(field: &str, value: impl Into<f64>, min: f64, max: f64) -> Outcome {
    let value = value.into();
    let outside = |_| Failure::config(format!("{field}: {value} is outside the range {min} to {max}"));
    ive::in_range("setting", value, min, max).map_err(outside)
}

/// What a list of names stands for: each must be known and given once, and there must be one.
pub fn named<T: Copy + PartialEq>(
    field: &str,
    names: &[String],
    known: &[(&'static str, T)],
) -> Outcome<Vec<T>> {
    let mut found = Vec::new();
    for name in names {
        let Some((_, item)) = known.iter().find(|(word, _)| word == name) else {
            let words: Vec<String> = known.iter().map(|(word, _)| (*word).to_owned()).collect();
            return Err(Failure::config(format!(
                "{field}: there is no `{name}`{}",
                suggest(name, words.iter())
            )));
        };
        if found.contains(item) {
            return Err(Failure::config(format!("{field}: `{name}` is there twice")));
        }
        found.push(*item);
    }
    if found.is_empty() {
        return Err(Failure::config(format!("{field}: at least one is needed")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers() -> Layers {
        Layers::from_preset("maps", "epochs = 10\nrate = 0.5\nlearner = \"sgd\"").unwrap()
    }

    #[test]
    fn layers_override_and_keep_types() {
        let mut l = layers();
        l.add_file(&"[maps]\nepochs = 20\nrate = 1".parse().unwrap(), "x.toml").unwrap();
        l.add_changes(&[Change::parse("epochs=30").unwrap(), Change::parse("toy.steps=1").unwrap()]).unwrap();
        let t: Table = l.build().unwrap();
        assert_eq!(
            t.to_string().lines().collect::<Vec<_>>(),
            ["epochs = 30", "learner = \"sgd\"", "rate = 1.0"]
        );
    }

    #[test]
    fn a_settings_file_that_is_not_text_is_a_wrong_setting_and_an_absent_one_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.toml");
        assert_eq!(read_file(&path).unwrap_err().code, 74);
        std::fs::write(&path, b"[maps]\nlearner = \"\xff\"\n").unwrap();
        let failure = read_file(&path).unwrap_err();
        assert!(
            failure.code == 78 && failure.message.contains("x.toml is not a text file"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn whole_numbers_may_have_an_exponent() {
        let mut l = layers();
        l.add_changes(&[Change::parse("epochs=1e6").unwrap()]).unwrap();
        assert_eq!(l.build::<Table>().unwrap()["epochs"], Value::Integer(1_000_000));
    }

    #[test]
    fn lists_of_words_need_no_brackets() {
        let games = |text: &str| {
            let mut l = Layers::from_preset("minatar", "games = [\"asterix\"]").unwrap();
            l.add_changes(&[Change::parse(text).unwrap()]).unwrap();
            l.build::<Table>().unwrap()["games"].to_string()
        };
        assert_eq!(games("games=breakout, freeway"), "[\"breakout\", \"freeway\"]");
        assert_eq!(games("games=[\"breakout\"]"), "[\"breakout\"]");
        assert_eq!(games("games="), "[]");
        // Of an empty list nobody knows whether it holds words or numbers.
        let vpn = |text: &str| {
            let mut l = Layers::from_preset("minatar", "vpn = []").unwrap();
            l.add_changes(&[Change::parse(text).unwrap()]).unwrap();
            l.build::<Table>().unwrap()["vpn"].to_string()
        };
        assert_eq!(vpn("vpn=network=paper, loss=parts"), "[\"network=paper\", \"loss=parts\"]");
        assert_eq!(vpn("vpn=0.1, 2.0"), "[0.1, 2.0]");
        assert_eq!(vpn("vpn="), "[]");
    }

    #[test]
    fn mistakes_are_named_with_suggestions() {
        let set = |text: &str| layers().add_changes(&[Change::parse(text).unwrap()]).unwrap_err().message;
        assert_eq!(set("epochs=many"), "maps.epochs: `many` is not a whole number from 0");
        assert_eq!(set("epochs=-5"), "--set: maps.epochs must be a whole number from 0, not `-5`");
        assert_eq!(set("epochs=2.5"), "--set: maps.epochs must be a whole number from 0, not `2.5`");
        assert_eq!(set("rate=fast"), "maps.rate: `fast` is not a number");
        assert_eq!(set("maps.epoch=1"), "--set: maps has no setting `epoch`; did you mean epochs?");
        let unknown = check_changes(&[Change::parse("epohcs=3").unwrap()], &[layers()]).unwrap_err();
        assert_eq!(
            (unknown.code, unknown.message.as_str()),
            (78, "--set: no setting `epohcs` in maps; did you mean epochs?")
        );
        assert!(Change::parse("epochs").is_err());
    }
}
