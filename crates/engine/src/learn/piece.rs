//! A part of an update's gradient, computed separately and summed in order of index.

use std::collections::HashMap;
use std::path::Path;

use tch::{Device, Kind, Tensor};

use super::diagnostics::Sums;
use super::optimizer_state::TrainedTensor;
use crate::error::{EngineError, Result};
use crate::weights::{Checkpoint, write_safetensors};

const SUMS: &str = "sums";
const HALVINGS: &str = "halvings";
const PLACE: &str = "place";
const CAPPED: &str = "capped";

/// The gradient of some of an update's sequences, already divided by the normalisers of all of them, so that the whole
/// gradient is the sum of the pieces.
#[derive(Debug)]
pub struct GradientPiece {
    pub(super) names: Vec<String>,
    /// In the order of the trained tensors, fp32.
    pub(super) gradients: Vec<Tensor>,
    pub(super) sums: Vec<Sums>,
    /// How often micro-batches were halved because memory ran out.
    pub halvings: u32,
    /// `None` if the file does not say: older files have no places.
    pub(super) place: Option<PieceIndex>,
}

/// Index and total number of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PieceIndex {
    /// From 0.
    pub(super) index: usize,
    pub(super) of: usize,
}

impl GradientPiece {
    /// The gradient by name of the trained tensor.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.names.iter().map(String::as_str).zip(&self.gradients)
    }

    /// A gradient of zero.
    pub(super) fn zero(trained: &[TrainedTensor]) -> Result<Self> {
        let zeros = trained.iter().map(|tensor| Ok(tensor.values.f_zeros_like()?));
        Ok(Self {
            names: trained.iter().map(|tensor| tensor.name.clone()).collect(),
            gradients: zeros.collect::<Result<_>>()?,
            sums: vec![Sums::default(); trained.first().map_or(0, TrainedTensor::members)],
            halvings: 0,
            place: None,
        })
    }

    /// Refuses pieces unless each part of the whole is present exactly once, in the order of the indices.
    pub(super) fn require_whole(pieces: &[Self]) -> Result<()> {
        let count = pieces.len();
        if count == 0 {
            return Err(EngineError::population(
                "there are no gradient pieces; an update needs all that it was cut into",
            ));
        }
        for (at, piece) in pieces.iter().enumerate() {
            let Some(PieceIndex { index, of }) = piece.place else { continue };
            if (index, of) != (at, count) {
                return Err(EngineError::population(format!(
                    "gradient piece {index} of {of} was given as piece {at} of {count} (indices begin at 0); an update needs \
                     each piece that it was cut into once, by index"
                )));
            }
        }
        Ok(())
    }

    /// Adds another piece. The order of additions affects the last bits, so pieces must be added in the order of their
    /// indices.
    pub(super) fn add(&mut self, other: &Self) -> Result<()> {
        if self.names != other.names || self.sums.len() != other.sums.len() {
            return Err(EngineError::population(format!(
                "a gradient piece of {} tensors for {} members does not fit an update of {} tensors for {}",
                other.names.len(),
                other.sums.len(),
                self.names.len(),
                self.sums.len()
            )));
        }
        for (sum, gradient) in self.gradients.iter_mut().zip(&other.gradients) {
            let _ = sum.f_add_(gradient)?;
        }
        for (sum, other) in self.sums.iter_mut().zip(&other.sums) {
            sum.add(*other);
        }
        self.halvings += other.halvings;
        Ok(())
    }

    /// Writes the piece as a safetensors file. The same piece gives the same bytes.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut tensors: Vec<_> = self
            .names
            .iter()
            .zip(&self.gradients)
            .map(|(name, tensor)| (name.clone(), tensor.shallow_clone()))
            .collect();
        let sums: Vec<f64> = self.sums.iter().flat_map(|sums| sums.to_array()).collect();
        let shape = [self.sums.len() as i64, Sums::WIDTH as i64];
        tensors.push((SUMS.to_owned(), Tensor::f_from_slice(&sums)?.f_view(shape)?));
        let capped: Vec<f64> = self.sums.iter().map(|sums| sums.capped).collect();
        if capped.iter().any(|count| *count > 0.0) {
            tensors.push((CAPPED.to_owned(), Tensor::f_from_slice(&capped)?));
        }
        tensors.push((HALVINGS.to_owned(), Tensor::f_from_slice(&[i64::from(self.halvings)])?));
        if let Some(PieceIndex { index, of }) = self.place {
            let place = [index as i64, of as i64];
            tensors.push((PLACE.to_owned(), Tensor::f_from_slice(&place)?));
        }
        write_safetensors(path, &tensors, HashMap::new())
    }

    /// Reads a piece and checks every tensor against the population's.
    pub fn read(path: &Path, trained: &[TrainedTensor]) -> Result<Self> {
        TrainedTensor::beside(trained, "gradients", || Self::read_whole(path, trained))
    }

    fn read_whole(path: &Path, trained: &[TrainedTensor]) -> Result<Self> {
        let file = Checkpoint::from_file(path)?;
        let members = trained.first().map_or(0, TrainedTensor::members);
        let read = |name: &str, shape: &[i64], kind: Kind| -> Result<Tensor> {
            let values = file.read(name)?.values;
            if values.size() != shape || values.kind() != kind {
                let problem = format!("is {:?} {:?}; expected {kind:?} {shape:?}", values.kind(), values.size());
                return Err(EngineError::tensor(path, name, problem));
            }
            Ok(values)
        };
        let gradients = trained.iter().map(|tensor| {
            let values = read(&tensor.name, &tensor.values.size(), Kind::Float)?;
            Ok(values.f_to_device(tensor.values.device())?)
        });
        let sums = read(SUMS, &[members as i64, Sums::WIDTH as i64], Kind::Double)?;
        let sums = Vec::<f64>::try_from(&sums.f_to_device(Device::Cpu)?.f_flatten(0, -1)?)?;
        let mut sums: Vec<Sums> = sums.as_chunks().0.iter().map(|sums| Sums::from_array(*sums)).collect();
        if file.contains(CAPPED) {
            let capped = read(CAPPED, &[members as i64], Kind::Double)?;
            for (sums, capped) in sums.iter_mut().zip(Vec::<f64>::try_from(&capped.f_to_device(Device::Cpu)?)?) {
                sums.capped = capped;
            }
        }
        let halvings = read(HALVINGS, &[1], Kind::Int64)?.f_int64_value(&[0])?;
        let place = if file.contains(PLACE) {
            let place = read(PLACE, &[2], Kind::Int64)?;
            let number = |at| -> Result<usize> {
                let number = place.f_int64_value(&[at])?;
                usize::try_from(number).map_err(|_| {
                    EngineError::tensor(
                        path,
                        PLACE,
                        format!("holds {number}; expected an index and a number of pieces"),
                    )
                })
            };
            Some(PieceIndex { index: number(0)?, of: number(1)? })
        } else {
            None
        };
        Ok(Self {
            names: trained.iter().map(|tensor| tensor.name.clone()).collect(),
            gradients: gradients.collect::<Result<_>>()?,
            sums,
            halvings: u32::try_from(halvings).unwrap_or(u32::MAX),
            place,
        })
    }
}
