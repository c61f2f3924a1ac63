//! Who carries out the networks of an agent, by name.

use super::Device;
use crate::AgentError;

/// Who carries out the networks of an agent. Plans and optimisers stay on the processor.
///
/// ```
/// use ive_agents::nn::Backend;
/// assert!(matches!(Backend::parse("cpu")?, Backend::Fused));
/// assert!(matches!(Backend::parse("engine")?, Backend::Engine(_)));
/// assert!(Backend::parse("abacus").unwrap_err().to_string().contains("cpu, engine"));
/// # Ok::<(), ive_agents::AgentError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum Backend {
    /// The tape of [`cpu`](super::cpu).
    #[default]
    Fused,
    /// The tensor engine on one of its devices.
    Engine(Device),
}

/// Names of all backends, with the cargo feature that each one needs, if any.
const NAMES: [(&str, Option<&str>); 7] = [
    ("cpu", None),
    ("engine", None),
    ("cuda", Some("cuda")),
    ("metal", Some("metal")),
    ("rocm", Some("rocm")),
    ("vulkan", Some("vulkan")),
    ("wgpu", Some("wgpu")),
];

impl Backend {
    /// The backend of a name: `cpu` is the tape, `engine` the tensor engine on the processor, and the others are
    /// graphics processors, each if this build has the cargo feature of that name and this machine such a device.
    ///
    /// # Errors
    /// If there is no such backend in this build, with those that there are, or if its device does not open.
    pub fn parse(name: &str) -> Result<Self, AgentError> {
        match Self::find(name) {
            Some(Self::Engine(device)) => {
                return device.open().map(Self::Engine).map_err(|reason| AgentError::Setting {
                    key: "device",
                    problem: format!("{name} cannot be used on this machine ({reason}); cpu always can"),
                });
            }
            Some(Self::Fused) => return Ok(Self::Fused),
            None => {}
        }
        let here = Self::names().join(", ");
        let problem = match NAMES.iter().find(|known| known.0 == name) {
            Some((_, Some(feature))) => {
                format!("must be one of {here} in this build; for {name}, build with `--features {feature}`")
            }
            _ => format!("must be one of {here} in this build, got {name}"),
        };
        Err(AgentError::Setting { key: "device", problem })
    }

    /// The names that this build knows.
    pub fn names() -> Vec<&'static str> {
        NAMES.iter().map(|known| known.0).filter(|name| Self::find(name).is_some()).collect()
    }

    fn find(name: &str) -> Option<Self> {
        if name == "cpu" { Some(Self::Fused) } else { Device::named(name).map(Self::Engine) }
    }

    /// The device of the tensor engine, if it is used.
    pub fn device(&self) -> Option<&Device> {
        match self {
            Self::Fused => None,
            Self::Engine(device) => Some(device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_this_build_and_errors_list_them() {
        let names = Backend::names();
        assert_eq!(names[..2], ["cpu", "engine"]);
        for name in &names[..2] {
            Backend::parse(name).unwrap();
        }
        let error = |name| Backend::parse(name).unwrap_err().to_string();
        assert_eq!(
            error("gpu"),
            format!("device must be one of {} in this build, got gpu", names.join(", "))
        );
        if !names.contains(&"cuda") {
            assert!(error("cuda").ends_with("for cuda, build with `--features cuda`"), "{}", error("cuda"));
        }
    }
}
