//! Settings of the server, and of the worker that `lyceum up` starts.

use clap::Args;
use lyceum_store::artifact::ArtifactPlace;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use crate::lab::{self, WebhookSettings};
use crate::settings::{File, FileError, HostName, PublicUrl};
use crate::supervise::DataFolder;

/// The server.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// The address to listen on; with anything but a loopback address other machines can connect [default: 127.0.0.1]
    #[arg(long, env = "LYCEUM_HOST", value_name = "IP")]
    host: Option<IpAddr>,

    /// The port to listen on; 0 takes a free one [default: 7654]
    #[arg(long, env = "LYCEUM_PORT", value_name = "PORT")]
    port: Option<u16>,

    /// The address used by browsers and workers, if there is a proxy [default: http://HOST:PORT]
    #[arg(long, env = "LYCEUM_PUBLIC_URL", value_name = "URL")]
    public_url: Option<PublicUrl>,

    /// Names under which the server answers, besides IP addresses, localhost and the name in --public-url; separated by
    /// commas
    #[arg(long, env = "LYCEUM_ALLOWED_HOSTS", value_name = "NAMES", value_delimiter = ',')]
    allowed_hosts: Option<Vec<HostName>>,

    /// The artifact store: a folder, or s3://BUCKET/PREFIX with the environment variables of AWS' tools; must be the
    /// same for all servers of a database [default: artifacts in the data folder]
    #[arg(long, env = "LYCEUM_ARTIFACTS", value_name = "PLACE")]
    artifacts: Option<ArtifactPlace>,

    /// Hosts that webhooks may be sent to although they are at private addresses, such as those of this machine and its
    /// network; separated by commas
    #[arg(long, env = "LYCEUM_PRIVATE_WEBHOOK_HOSTS", value_name = "NAMES", value_delimiter = ',')]
    private_webhook_hosts: Option<Vec<String>>,

    /// A folder of presets (run configs in TOML) that replaces the built-in ones
    #[arg(long, env = "LYCEUM_PRESETS", value_name = "DIR")]
    presets: Option<PathBuf>,
}

/// The server, as resolved.
#[derive(Clone, Debug)]
pub struct Server {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on, 0 for a free one.
    pub port: u16,
    /// The address used by browsers and workers, if different.
    pub public_url: Option<PublicUrl>,
    /// Names under which the server answers, besides IP addresses and `localhost`.
    pub allowed_hosts: Vec<String>,
    /// The artifact store, if not in the data folder.
    pub artifacts: Option<ArtifactPlace>,
    /// Hosts that webhooks may be sent to although they are at private addresses.
    pub private_webhook_hosts: Vec<String>,
    /// The folder of presets, if not built in.
    pub presets: Option<PathBuf>,
}

impl Server {
    /// The API's settings.
    pub fn lab(&self) -> lab::LabSettings {
        lab::LabSettings {
            presets: self.presets.clone(),
            secure_cookies: self.public_url.as_ref().is_some_and(PublicUrl::is_https),
            allowed_hosts: self.allowed_hosts.clone(),
            webhooks: WebhookSettings {
                private_hosts: self.private_webhook_hosts.clone(),
                ..WebhookSettings::default()
            },
            ..lab::LabSettings::default()
        }
    }

    /// Environment variables that give the same settings to another process with the data folder `data`. They are complete,
    /// so its settings file is an empty one.
    pub fn environment(&self, data: &Path) -> Vec<(&'static str, String)> {
        let folder = |path: &Path| path.display().to_string();
        let mut variables = vec![
            ("LYCEUM_CONFIG", "/dev/null".to_owned()),
            ("LYCEUM_DATA", folder(data)),
            ("LYCEUM_ARTIFACTS", self.artifact_place(data).to_string()),
        ];
        variables.extend(self.public_url.as_ref().map(|url| ("LYCEUM_PUBLIC_URL", url.to_string())));
        if !self.allowed_hosts.is_empty() {
            variables.push(("LYCEUM_ALLOWED_HOSTS", self.allowed_hosts.join(",")));
        }
        if !self.private_webhook_hosts.is_empty() {
            variables.push(("LYCEUM_PRIVATE_WEBHOOK_HOSTS", self.private_webhook_hosts.join(",")));
        }
        variables.extend(self.presets.as_deref().map(|presets| ("LYCEUM_PRESETS", folder(presets))));
        variables
    }

    /// The artifact store of a server with the data folder `data`.
    pub fn artifact_place(&self, data: &Path) -> ArtifactPlace {
        let inside = || ArtifactPlace::Folder(DataFolder::artifacts(data));
        self.artifacts.clone().unwrap_or_else(inside)
    }
}

impl ServerArgs {
    /// Fills in missing values from the file and the defaults.
    ///
    /// # Errors
    /// A value in the file is invalid.
    pub fn resolve(self, file: &File) -> Result<Server, FileError> {
        let stored: Self = file.group()?;
        let public_url = self.public_url.or(stored.public_url);
        let named = self.allowed_hosts.or(stored.allowed_hosts).unwrap_or_default();
        let public = public_url.as_ref().map(|url| url.host().to_owned());
        Ok(Server {
            host: self.host.or(stored.host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port: self.port.or(stored.port).unwrap_or(7654),
            allowed_hosts: named.iter().map(|name| name.as_str().to_owned()).chain(public).collect(),
            public_url,
            private_webhook_hosts: self.private_webhook_hosts.or(stored.private_webhook_hosts).unwrap_or_default(),
            artifacts: self.artifacts.or(stored.artifacts),
            presets: self.presets.or(stored.presets),
        })
    }
}

/// The local worker.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Local worker")]
pub struct WorkerArgs {
    /// The worker's executable [default: lyceum-worker next to this one, else on the path]
    #[arg(long, env = "LYCEUM_WORKER", value_name = "FILE")]
    worker: Option<PathBuf>,

    /// Start no worker; work waits for one started elsewhere
    #[arg(long, env = "LYCEUM_NO_WORKER", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    no_worker: Option<bool>,
}

/// The local worker, as resolved.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its executable, if not the default.
    pub program: Option<PathBuf>,
    /// Whether there is one.
    pub wanted: bool,
}

impl WorkerArgs {
    /// Fills in missing values from the file and the defaults.
    ///
    /// # Errors
    /// A value in the file is invalid.
    pub fn resolve(self, file: &File) -> Result<Worker, FileError> {
        let stored: Self = file.group()?;
        Ok(Worker {
            program: self.worker.or(stored.worker),
            wanted: !self.no_worker.or(stored.no_worker).unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_the_public_url_is_allowed() {
        let given = ServerArgs {
            public_url: Some("https://lab.example:8443/".parse().unwrap()),
            allowed_hosts: Some(vec!["server".parse().unwrap()]),
            ..ServerArgs::default()
        };
        let server = given.resolve(&File::default()).unwrap();
        assert_eq!(server.lab().allowed_hosts, ["server", "lab.example"]);
        let plain = ServerArgs::default().resolve(&File::default()).unwrap();
        assert!(plain.allowed_hosts.is_empty());
    }
}
