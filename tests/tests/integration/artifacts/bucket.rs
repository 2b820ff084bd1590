//! A bucket instead of a folder.

use anyhow::Result;
use lyceum_core::artifact::ArtifactKind;
use lyceum_store::StoreError;
use lyceum_store::artifact::{self, ArtifactStore};
use lyceum_system_tests::house::House;

use crate::artifacts::s3;

#[tokio::test]
async fn a_bucket_keeps_artifacts_as_a_folder_does() -> Result<()> {
    let house = House::new().await?;
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("lab"))?;
    let address = s3::serve(folder.path()).await?;
    let open = async |secret: &str| {
        let mut options = s3::variables(address, secret);
        options.extend(
            [("AWS_UNHEARD_OF", "left alone"), ("PATH", "/bin")].map(|(name, value)| (name.into(), value.into())),
        );
        ArtifactStore::bucket("lab", "runs/a", options, house.pool().clone()).await
    };
    let artifacts = open(s3::SECRET).await?;
    let bytes = b"weights".repeat(100_000);
    let digest = artifacts.put(ArtifactKind::Adapter, bytes.clone()).await?;
    assert_eq!(artifacts.get(digest).await?, bytes);
    let name = digest.to_string();
    let file = folder.path().join("lab/runs/a").join(&name[..2]).join(&name);
    assert_eq!(std::fs::read(&file)?, bytes, "named as in a folder");

    std::fs::write(&file, &bytes[1..])?;
    assert!(matches!(artifacts.get(digest).await, Err(StoreError::Damaged { .. })));
    sqlx::query("UPDATE artifacts SET created_at = now() - interval '2 hours'").execute(house.pool()).await?;
    assert_eq!(artifact::collect(&artifacts, 10).await?, 1);
    assert!(!file.exists());
    assert!(matches!(artifacts.get(digest).await, Err(StoreError::NotFound { .. })));

    let refused = open("somebody else's").await.map(|_| ()).expect_err("a refusal").to_string();
    let told = ["cannot keep artifacts at s3://lab/runs/a", "AWS_SECRET_ACCESS_KEY"];
    assert!(told.iter().all(|part| refused.contains(part)), "{refused}");
    Ok(())
}
