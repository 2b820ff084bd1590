//! A client of the REST API for the command line.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, SendBody};

use crate::settings::Secret;
use crate::supervise::data_folder::{admin_token_file, announced_address};

/// A server and the token for it.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    token: Secret,
}

/// An event sent by the server.
pub(crate) struct ServerEvent {
    pub(crate) number: i64,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Client {
    /// The server at `url`, or that of `lyceum up` in the data folder.
    ///
    /// # Errors
    /// There is no server, or no token for it.
    pub(crate) fn new(url: Option<String>, token: Option<Secret>, data: &Path) -> anyhow::Result<Self> {
        let announced = || announced_address(data).map(|address| address.trim().to_owned());
        let base = url.or_else(announced).context(
            "no server is running in the data folder; start `lyceum up`, or give the server with --url or LYCEUM_URL",
        )?;
        let file = admin_token_file(data);
        let token = match token {
            Some(token) => token,
            None => std::fs::read_to_string(&file)
                .map(|text| Secret::from(text.trim().to_owned()))
                .with_context(|| format!("there is no token in {}; use --token or LYCEUM_TOKEN", file.display()))?,
        };
        let config = Agent::config_builder().http_status_as_error(false).timeout_connect(Some(Duration::from_secs(10)));
        Ok(Self { agent: config.build().into(), base: base.trim_end_matches('/').to_owned(), token })
    }

    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.agent.get(format!("{}{path}", self.base)).header("authorization", self.bearer());
        self.answer(request.call().map_err(|error| self.unreachable(error))?)
    }

    /// The first `limit` items of the list at `path`, which has a query, read page by page.
    pub(crate) fn items(&self, path: &str, limit: u32) -> anyhow::Result<Vec<Value>> {
        let joined = if path.ends_with('?') { "" } else { "&" };
        let limit = limit as usize;
        let mut items: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        while items.len() < limit {
            let wanted = (limit - items.len()).min(100);
            let mut page = self.get(&format!("{path}{joined}limit={wanted}{cursor}"))?;
            items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        Ok(items)
    }

    /// GET of a response that is not JSON.
    pub(crate) fn text(&self, path: &str) -> anyhow::Result<String> {
        let request = self.agent.get(format!("{}{path}", self.base)).header("authorization", self.bearer());
        let mut response = request.call().map_err(|error| self.unreachable(error))?;
        match response.status().as_u16() {
            200..300 => response.body_mut().read_to_string().context("the server's response is not text"),
            _ => bail!("{}", problem(&mut response)),
        }
    }

    /// GET of a file, written to `out`.
    pub(crate) fn download(&self, path: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        let request = self.agent.get(format!("{}{path}", self.base)).header("authorization", self.bearer());
        let mut response = request.call().map_err(|error| self.unreachable(error))?;
        match response.status().as_u16() {
            200..300 => {
                std::io::copy(&mut response.body_mut().as_reader(), out).map(drop).context("the download broke off")
            }
            _ => bail!("{}", problem(&mut response)),
        }
    }

    /// POST; actions have no body.
    pub(crate) fn post(&self, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let request = self.agent.post(format!("{}{path}", self.base)).header("authorization", self.bearer());
        let response = match body {
            Some(body) => request.header("content-type", "application/json").send(body.to_string()),
            None => request.send_empty(),
        };
        self.answer(response.map_err(|error| self.unreachable(error))?)
    }

    pub(crate) fn delete(&self, path: &str) -> anyhow::Result<()> {
        let request = self.agent.delete(format!("{}{path}", self.base)).header("authorization", self.bearer());
        let mut response = request.call().map_err(|error| self.unreachable(error))?;
        match response.status().is_success() {
            true => Ok(()),
            false => bail!("{}", problem(&mut response)),
        }
    }

    /// POST of a file of a media type, streamed.
    pub(crate) fn post_file(&self, path: &str, media: &str, file: &mut dyn Read) -> anyhow::Result<Value> {
        let request = self
            .agent
            .post(format!("{}{path}", self.base))
            .header("authorization", self.bearer())
            .header("content-type", media);
        let response = request.send(SendBody::from_reader(file));
        self.answer(response.map_err(|error| self.unreachable(error))?)
    }

    /// Passes every event after number `after` to `each` until the stream ends or `each` fails. Returns whether more
    /// events may follow.
    pub(crate) fn events(
        &self,
        path: &str,
        after: i64,
        mut each: impl FnMut(ServerEvent) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        let request = self.agent.get(format!("{}{path}?after={after}", self.base));
        let request = request.header("authorization", self.bearer()).header("accept", "text/event-stream");
        let mut response = request.call().map_err(|error| self.unreachable(error))?;
        match response.status().as_u16() {
            200 => {}
            204 => return Ok(false),
            _ => bail!("{}", problem(&mut response)),
        }
        let (mut number, mut kind) = (0, String::new());
        for line in BufReader::new(response.body_mut().as_reader()).lines() {
            // The caller reconnects after the last number if the connection breaks.
            let Ok(line) = line else { break };
            if let Some(id) = line.strip_prefix("id: ") {
                number = id.parse().unwrap_or(number);
            } else if let Some(name) = line.strip_prefix("event: ") {
                kind = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data).context("the server sent an event that is not JSON")?;
                each(ServerEvent { number, kind: kind.clone(), data: data["data"].clone() })?;
            }
        }
        Ok(true)
    }

    fn answer(&self, mut response: Response<ureq::Body>) -> anyhow::Result<Value> {
        match response.status().as_u16() {
            204 => Ok(Value::Null),
            200..300 => response.body_mut().read_json().context("the server's response is not JSON"),
            _ => bail!("{}", problem(&mut response)),
        }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    fn unreachable(&self, error: ureq::Error) -> anyhow::Error {
        anyhow::anyhow!("cannot reach {}: {error}; check that the server is running and that --url is right", self.base)
    }
}

/// The message of a problem document, with all its faults.
fn problem(response: &mut Response<ureq::Body>) -> String {
    let status = response.status();
    let Ok(problem) = response.body_mut().read_json::<Value>() else {
        return format!("the server responded with {status}");
    };
    let faults = problem["errors"].as_array().into_iter().flatten().map(|fault| {
        let place = fault["pointer"].as_str().or(fault["parameter"].as_str()).unwrap_or_default();
        format!("{place}: {}", fault["detail"].as_str().unwrap_or_default())
    });
    let faults: Vec<String> = faults.collect();
    match faults.is_empty() {
        true => problem["detail"].as_str().unwrap_or("the server refused").to_owned(),
        false => faults.join("; "),
    }
}
