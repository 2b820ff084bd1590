//! Where the server listens and what it allows.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use clap::Args;
use lyceum_store::artifact::ArtifactPlace;
use serde::Deserialize;

use super::{File, FileError};
use crate::api;

/// The server.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// The address to listen at; anything but a loopback address lets other machines in [default: 127.0.0.1]
    #[arg(long, env = "LYCEUM_HOST", value_name = "IP")]
    host: Option<IpAddr>,

    /// The port to listen at; 0 takes a free one [default: 7654]
    #[arg(long, env = "LYCEUM_PORT", value_name = "PORT")]
    port: Option<u16>,

    /// The address that browsers and workers use, if a proxy stands in front [default: http://HOST:PORT]
    #[arg(long, env = "LYCEUM_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,

    /// Where artifacts are kept: a folder, or s3://BUCKET/PREFIX with the environment variables of AWS' tools; servers of one
    /// database share it [default: artifacts in the data folder]
    #[arg(long, env = "LYCEUM_ARTIFACTS", value_name = "PLACE")]
    artifacts: Option<ArtifactPlace>,

    /// A folder of presets (run configs in TOML) instead of those that the server was built with
    #[arg(long, env = "LYCEUM_PRESETS", value_name = "DIR")]
    presets: Option<PathBuf>,
}

/// The server, as resolved.
#[derive(Clone, Debug)]
pub struct Server {
    /// The address to listen at.
    pub host: IpAddr,
    /// The port to listen at, 0 for a free one.
    pub port: u16,
    /// The address that browsers and workers use, if it is not the one listened at.
    pub public_url: Option<String>,
    /// Where the artifacts are, if it is not in the data folder.
    pub artifacts: Option<ArtifactPlace>,
    /// The folder of presets, if it is not that of the build.
    pub presets: Option<PathBuf>,
}

impl Server {
    /// What the API allows on this server.
    pub fn api(&self) -> api::ApiSettings {
        api::ApiSettings {
            presets: self.presets.clone(),
            secure_cookies: self
                .public_url
                .as_deref()
                .is_some_and(|url| url.starts_with("https://")),
            ..api::ApiSettings::default()
        }
    }

    /// Where the artifacts are, for a server with the data folder `data`.
    pub fn artifact_place(&self, data: &Path) -> ArtifactPlace {
        let inside = || ArtifactPlace::Folder(data.join("artifacts"));
        self.artifacts.clone().unwrap_or_else(inside)
    }
}

impl ServerArgs {
    /// Fills up from the file and the defaults.
    ///
    /// # Errors
    /// A value of the file that is wrong.
    pub fn resolve(self, file: &File) -> Result<Server, FileError> {
        let stored: Self = file.group()?;
        Ok(Server {
            host: self.host.or(stored.host).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port: self.port.or(stored.port).unwrap_or(7654),
            public_url: self.public_url.or(stored.public_url),
            artifacts: self.artifacts.or(stored.artifacts),
            presets: self.presets.or(stored.presets),
        })
    }
}
