//! A real S3 server in the process of the test.

use anyhow::Result;
use std::net::SocketAddr;
use std::path::Path;

/// The key that it admits.
pub(crate) const KEY: &str = "lab";
/// The key's secret.
pub(crate) const SECRET: &str = "lab's";

/// Serves the buckets below `folder` to requests signed with the key.
pub(crate) async fn serve(folder: &Path) -> Result<SocketAddr> {
    let files = s3s_fs::FileSystem::new(folder).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let mut builder = s3s::service::S3ServiceBuilder::new(files);
    builder.set_auth(s3s::auth::SimpleAuth::from_single(KEY, SECRET));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let http = hyper_util::server::conn::auto::Builder::new(hyper_util::rt::TokioExecutor::new());
                let _ = http.serve_connection(hyper_util::rt::TokioIo::new(stream), service).await;
            });
        }
    });
    Ok(address)
}

/// The variables of the environment by which a process finds it.
pub(crate) fn variables(address: SocketAddr, secret: &str) -> Vec<(String, String)> {
    [
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_REGION", "here"),
        ("AWS_ENDPOINT_URL", &format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}
