//! safetensors files whose tensors are read one at a time: those of moments are larger than a worker's memory may be.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use safetensors::View;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

/// The longest header, as safetensors has it.
const LONGEST_HEADER: u64 = 100_000_000;

/// A file, and where its tensors are.
pub(super) struct Tensors {
    file: File,
    /// Of the first tensor's first byte.
    start: u64,
    entries: BTreeMap<String, TensorInfo>,
    /// Its name in messages.
    shown: String,
}

impl Tensors {
    /// Reads the header of the file at `path`, which messages call `shown`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a whole safetensors file.
    pub(super) fn open(path: &Path, shown: &str) -> Result<Self, String> {
        let unread = |error: io::Error| format!("{shown} cannot be read: {error}");
        let mut file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(unread)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER.min(bytes) {
            return Err(format!("{shown}: a header of {length} bytes"));
        }
        let mut header = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_exact(&mut header).map_err(unread)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| format!("{shown}: {error}"))?;
        let start = 8 + length;
        let told = start + metadata.data_len() as u64;
        if told != bytes {
            return Err(format!("{shown} has {bytes} bytes, and its header tells of {told}"));
        }
        let entries = metadata.tensors().into_iter();
        Ok(Self {
            file,
            start,
            entries: entries.map(|(name, info)| (name, info.clone())).collect(),
            shown: shown.to_owned(),
        })
    }

    /// The shapes of the tensors, by name.
    pub(super) fn shapes(&self) -> impl Iterator<Item = (&String, &Vec<usize>)> {
        self.entries.iter().map(|(name, info)| (name, &info.shape))
    }

    /// Takes the number of a tensor `[1]` of integers out of those of the file; none if there is no such number.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn take_number(&mut self, name: &str) -> Result<Option<u64>, String> {
        match self.entries.remove(name) {
            Some(info) if info.dtype == Dtype::I64 && info.shape == [1] => {
                let bytes = self.read(&info).map_err(|error| self.unread(&error))?;
                let (words, _) = bytes.as_chunks::<8>();
                Ok(words.first().and_then(|word| u64::try_from(i64::from_le_bytes(*word)).ok()))
            }
            _ => Ok(None),
        }
    }

    /// Refuses tensors that are missing, of other shapes or kinds, or not finite, and those that nobody asked for.
    pub(super) fn check(&self, expected: &BTreeMap<String, Vec<usize>>) -> Result<(), String> {
        let shown = &self.shown;
        for (name, shape) in expected {
            let Some(info) = self.entries.get(name) else { return Err(format!("{shown} has no `{name}`")) };
            if info.dtype != Dtype::F32 || info.shape != *shape {
                return Err(format!(
                    "`{name}` of {shown} is {:?} {:?}; F32 {shape:?} is valid",
                    info.dtype, info.shape
                ));
            }
            let bytes = self.read(info).map_err(|error| self.unread(&error))?;
            let (words, _) = bytes.as_chunks::<4>();
            if let Some(at) = words.iter().position(|word| !f32::from_le_bytes(*word).is_finite()) {
                let value = f32::from_le_bytes(words[at]);
                return Err(format!("number {at} of `{name}` of {shown} is {value}; it must be finite"));
            }
        }
        match self.entries.keys().find(|name| !expected.contains_key(*name)) {
            Some(stray) => Err(format!("{shown} has `{stray}`, which is no part of the adapter")),
            None => Ok(()),
        }
    }

    /// Writes the tensors to `path` as safetensors orders them, with `number` as a tensor `[1]` if there is one.
    ///
    /// # Errors
    /// One cannot be read, or the file cannot be written.
    pub(super) fn write(
        &self,
        path: &Path,
        number: Option<(&str, u64)>,
        metadata: HashMap<String, String>,
    ) -> Result<(), String> {
        let failed = RefCell::new(None);
        let mut views: Vec<(&str, Stored<'_>)> = Vec::new();
        for (name, info) in &self.entries {
            let failed = &failed;
            views.push((name, Stored::Tensor { of: self, info, failed }));
        }
        if let Some((name, number)) = number {
            views.push((name, Stored::Number(number.to_le_bytes())));
        }
        let written = safetensors::serialize_to_file(views, Some(metadata), path);
        if let Some(error) = failed.into_inner() {
            return Err(self.unread(&error));
        }
        written.map_err(|error| error.to_string())
    }

    fn read(&self, info: &TensorInfo) -> io::Result<Vec<u8>> {
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        self.file.read_exact_at(&mut bytes, self.start + from as u64)?;
        Ok(bytes)
    }

    fn unread(&self, error: &io::Error) -> String {
        format!("{} cannot be read: {error}", self.shown)
    }
}

/// A tensor to be written.
enum Stored<'a> {
    Tensor {
        of: &'a Tensors,
        info: &'a TensorInfo,
        /// Why one could not be read.
        failed: &'a RefCell<Option<io::Error>>,
    },
    Number([u8; 8]),
}

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Self::Tensor { info, .. } => info.dtype,
            Self::Number(_) => Dtype::I64,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Tensor { info, .. } => &info.shape,
            Self::Number(_) => &[1],
        }
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Tensor { of, info, failed } => match of.read(info) {
                Ok(bytes) => bytes.into(),
                Err(error) => {
                    failed.replace(Some(error));
                    vec![0; self.data_len()].into()
                }
            },
            Self::Number(bytes) => bytes.as_slice().into(),
        }
    }

    fn data_len(&self) -> usize {
        match self {
            Self::Tensor { info, .. } => info.data_offsets.1 - info.data_offsets.0,
            Self::Number(bytes) => bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    #[test]
    fn a_file_is_written_as_safetensors_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let floats: Vec<u8> = [1.0_f32, -2.0, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let step = 7_i64.to_le_bytes();
        let float = || TensorView::new(Dtype::F32, vec![3], &floats).unwrap();
        let number = TensorView::new(Dtype::I64, vec![1], &step).unwrap();
        let metadata = || HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let views = [("b", float()), ("step", number), ("a", float())];
        let whole = safetensors::serialize(views, Some(metadata())).unwrap();
        std::fs::write(&from, &whole).unwrap();
        let mut file = Tensors::open(&from, "from").unwrap();
        assert_eq!(file.take_number("step"), Ok(Some(7)));
        assert_eq!(file.take_number("step"), Ok(None));
        let shapes: BTreeMap<String, Vec<usize>> = file.shapes().map(|(name, of)| (name.clone(), of.clone())).collect();
        file.check(&shapes).unwrap();
        file.write(&to, Some(("step", 7)), metadata()).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), whole);

        std::fs::write(&from, &whole[..whole.len() - 1]).unwrap();
        assert!(file.write(&to, None, metadata()).unwrap_err().contains("from cannot be read"));
        let cut = Tensors::open(&from, "from").err().unwrap();
        assert!(cut.contains("and its header tells of"), "{cut}");
        std::fs::write(&from, &whole[..7]).unwrap();
        assert!(Tensors::open(&from, "from").is_err());
    }
}
