//! The product's server in this process, accessed over HTTP, alongside others on the same database.

use anyhow::{Context as _, Result, ensure};
use lyceum_server::lab::LabSettings;
use lyceum_server::serve::{Server, Serving};
use lyceum_server::token;
use lyceum_store::Remote;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::tokens::Scope;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::house::{House, registry};

const JSON: &str = "application/json";

/// A server without a coordinator, which knows the scripted recipes.
pub struct Lab {
    address: SocketAddr,
    token: String,
    serving: Serving,
}

impl Lab {
    /// Starts the server on a house's database.
    pub async fn open(house: &House) -> Result<Self> {
        let server = Server {
            store: house.store.clone(),
            artifacts: ArtifactStore::folder(&house.artifacts(), house.pool().clone())?,
            registry: registry(),
            settings: LabSettings { threads: Some(1), coordinate: None, ..LabSettings::default() },
        };
        let (address, serving) = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let (secret, _) = token::create(house.pool(), "test", Scope::Admin, None).await?;
        Ok(Self { address, token: secret.expose().to_owned(), serving })
    }

    /// The page at `path`, as HTML.
    pub async fn page(&self, path: &str) -> Result<String> {
        self.ask("GET", path, "text/html", (JSON, "")).await
    }

    /// The JSON at `path`.
    pub async fn get(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.json(path).await?)?)
    }

    /// The text of the JSON at `path`.
    pub async fn json(&self, path: &str) -> Result<String> {
        self.ask("GET", path, JSON, (JSON, "")).await
    }

    /// The server, as a worker on another machine uses it.
    pub fn remote(&self) -> Remote {
        Remote::new(&format!("http://{}", self.address), &self.token)
    }

    /// The response to posting `body` to `path`.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let made = self.ask("POST", path, JSON, (JSON, &body.to_string())).await?;
        Ok(serde_json::from_str(&made)?)
    }

    /// The response to posting a file to `path`.
    pub async fn send_file(&self, path: &str, file: &str) -> Result<Value> {
        let made = self.ask("POST", path, JSON, ("application/octet-stream", file)).await?;
        Ok(serde_json::from_str(&made)?)
    }

    /// Stops the server.
    pub async fn close(self) {
        self.serving.stop().await;
    }

    async fn ask(&self, method: &str, path: &str, accept: &str, (kind, body): (&str, &str)) -> Result<String> {
        let mut stream = TcpStream::connect(self.address).await?;
        // HTTP/1.0: the response ends with the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAccept: {accept}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len(),
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("a response without the end of its headers")?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        ensure!(status.starts_with('2'), "{method} {path}: {head}\n{body}");
        Ok(body.to_owned())
    }
}
