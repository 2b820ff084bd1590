//! What a trainer is given.

use std::collections::{HashMap, hash_map::Entry};
use std::sync::Arc;

use lyceum_core::artifact::Digest;
use lyceum_core::work::{Piece, SequenceRef, UpdatePayload};
use lyceum_models::token_batch::{RequestTokens, SampleTokens, TokenBatch};

use crate::adapter::{Version, disk};
use crate::handler::{Context, HandlerError};
use crate::scratch::ScratchFile;

/// An update, with all that its payload refers to.
pub struct Lesson {
    /// What to do.
    pub payload: Arc<UpdatePayload>,
    /// The versions that the members start from, with their optimizer states.
    pub starts: Vec<Version>,
    /// The versions that members are kept close to, if any member names its own.
    pub references: Option<References>,
    /// The pieces to sum, for an update that was split.
    pub gradients: Vec<ScratchFile>,
    batches: HashMap<Digest, TokenBatch>,
}

/// The KL references of an update in which at least one member names its own.
pub struct References {
    /// One per member; the version it starts from where it names none.
    pub versions: Vec<Version>,
    /// Indices of the members that name none.
    pub unnamed: Vec<usize>,
}

impl Lesson {
    /// Reads everything that `payload` refers to.
    ///
    /// # Errors
    /// If something cannot be read.
    pub async fn read(payload: Arc<UpdatePayload>, context: &Context) -> Result<Self, HandlerError> {
        let mut starts = Vec::new();
        let mut batches = HashMap::new();
        for member in &payload.members {
            starts.push(Version::read(context, member.from, true).await?);
            for sequence in &member.sequences {
                if let Entry::Vacant(vacant) = batches.entry(sequence.tokens) {
                    let bytes = context.get(sequence.tokens).await?;
                    vacant.insert(TokenBatch::from_bytes(&bytes)?);
                }
            }
        }
        let mut gradients = Vec::new();
        if let Some(Piece::Apply { gradients: digests }) = &payload.piece {
            for digest in digests {
                let file = ScratchFile::new().map_err(disk)?;
                context.fetch(*digest, file.file().try_clone().map_err(disk)?).await?;
                gradients.push(file);
            }
        }
        Ok(Self {
            references: References::read(&payload, context).await?,
            payload,
            starts,
            gradients,
            batches,
        })
    }

    /// The tokens of a sequence.
    ///
    /// # Errors
    /// Its rollout has no such sample.
    pub fn tokens(&self, sequence: &SequenceRef) -> Result<(&RequestTokens, &SampleTokens), HandlerError> {
        let request = self
            .batches
            .get(&sequence.tokens)
            .and_then(|batch| batch.request(&sequence.request));
        let sample = request.and_then(|request| request.samples.get(sequence.sample as usize));
        request.zip(sample).ok_or_else(|| {
            HandlerError::Permanent(format!(
                "tokens {} have no sample {} of a request `{}`",
                sequence.tokens, sequence.sample, sequence.request
            ))
        })
    }
}

impl References {
    /// `None` if no member names a reference, or the loss has no KL term.
    async fn read(payload: &UpdatePayload, context: &Context) -> Result<Option<Self>, HandlerError> {
        let is_named = payload.members.iter().any(|member| member.kl_reference.is_some());
        if !is_named || payload.loss.kl_reference().is_none() {
            return Ok(None);
        }
        let mut versions = Vec::new();
        let mut unnamed = Vec::new();
        for (place, member) in payload.members.iter().enumerate() {
            if member.kl_reference.is_none() {
                unnamed.push(place);
            }
            let reference = member.kl_reference.unwrap_or(member.from);
            versions.push(Version::read(context, reference, false).await?);
        }
        Ok(Some(Self { versions, unnamed }))
    }
}
