//! A parent: an adapter's files, read module by module.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use lyceum_core::work::{LoraShape, Projection};
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};

use super::Module;
use crate::error::{EngineError, Result};
use crate::evolve;
use crate::peft::{self, AdapterConfig, AdapterFiles, CONFIG, WEIGHTS};

/// A parent adapter. Its weights stay in their file, or in the artifact's bytes, until a module is asked for.
pub struct Parent {
    folder: PathBuf,
    config_text: Vec<u8>,
    config: AdapterConfig,
    shape: LoraShape,
    bytes: Bytes,
    slots: Vec<Slot>,
}

enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

/// Location of a module's factors.
struct Slot {
    name: String,
    inputs: usize,
    outputs: usize,
    a: Stored,
    b: Stored,
}

struct Stored {
    key: String,
    dtype: Dtype,
    place: Range<usize>,
}

/// Scales a parent's factors to the first parent's scaling: both are multiplied by this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit(f32);

/// Layout of a child's weights file.
pub(super) struct Layout {
    pub(super) header: Vec<u8>,
    /// Size of the file in bytes.
    pub(super) length: u64,
    /// Offsets of A and B, by module.
    pub(super) places: Vec<[u64; 2]>,
}

impl Parent {
    /// Opens a PEFT folder. Reads only the configuration and the header of the weights.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(CONFIG);
        let config_text = std::fs::read(&path).map_err(|source| EngineError::io(&path, source))?;
        if read_config(&path, &config_text)?.is_uneven() {
            return Self::from_files(&folder.display().to_string(), AdapterFiles::read(folder)?);
        }
        let path = folder.join(WEIGHTS);
        let file = File::open(&path).map_err(|source| EngineError::io(&path, source))?;
        // SAFETY: the map is read-only. It would fault if another process truncated the file while it is mapped, but
        // adapters are never modified after they are written.
        let bytes = unsafe { Mmap::map(&file) }.map_err(|source| EngineError::io(&path, source))?;
        Self::new(folder, config_text, Bytes::Mapped(bytes))
    }

    /// Opens an adapter from its files in memory; `name` stands for the folder in messages.
    pub fn from_files(name: &str, files: AdapterFiles) -> Result<Self> {
        let folder = Path::new(name);
        let plain = files.without_patterns(None);
        let files = plain.map_err(|(file, reason)| EngineError::file(folder.join(file), reason))?;
        Self::new(folder, files.config, Bytes::Owned(files.weights))
    }

    fn new(folder: &Path, config_text: Vec<u8>, bytes: Bytes) -> Result<Self> {
        let file = folder.join(CONFIG);
        let config = read_config(&file, &config_text)?;
        let path = folder.join(WEIGHTS);
        let malformed = |error: safetensors::SafeTensorError| {
            EngineError::file(&path, format!("not a complete safetensors file ({error})"))
        };
        SafeTensors::deserialize(bytes.all()).map_err(malformed)?;
        let (header, metadata) = SafeTensors::read_metadata(bytes.all()).map_err(malformed)?;
        let tensors = metadata.tensors();
        let names = tensors.keys().map(String::as_str);
        let shape = config.shape_of(names).map_err(|reason| EngineError::file(&file, reason))?;
        // The data begins after the eight-byte header length and the header.
        let slots = slots(&path, &metadata, &shape, header + 8)?;
        Ok(Self { folder: folder.to_owned(), config_text, config, shape, bytes, slots })
    }

    /// Refuses an adapter whose shape is not `expected`.
    pub fn check_shape(&self, expected: &LoraShape) -> Result<()> {
        if self.shape == *expected {
            return Ok(());
        }
        let reason = format!("the adapter's shape is {}; expected {expected}", self.shape);
        Err(EngineError::file(self.folder.join(CONFIG), reason))
    }

    pub(super) fn config_text(&self) -> &[u8] {
        &self.config_text
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    pub(super) fn modules(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn rank(&self) -> usize {
        self.shape.r as usize
    }

    pub(super) fn scaling(&self) -> f64 {
        self.shape.scaling()
    }

    /// The name of a module, such as `layers.0.q_proj`.
    pub(super) fn name(&self, index: usize) -> &str {
        &self.slots[index].name
    }

    /// Returns the scaling that fits this parent to `first`, or refuses a parent that cannot be mixed with it.
    pub(super) fn fit(&self, first: &Self) -> Result<Fit> {
        let refuse = |field: &str, ours: String, theirs: String| {
            let reason = format!("`{field}` is {ours}; it must be {theirs}, as in {}", first.folder.display());
            Err(EngineError::file(self.folder.join(CONFIG), reason))
        };
        if self.shape.r != first.shape.r {
            return refuse("r", self.shape.r.to_string(), first.shape.r.to_string());
        }
        if self.shape.target_modules != first.shape.target_modules {
            let names =
                |shape: &LoraShape| shape.target_modules.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
            return refuse("target_modules", names(&self.shape), names(&first.shape));
        }
        if let (Some(ours), Some(theirs)) =
            (&self.config.base_model_name_or_path, &first.config.base_model_name_or_path)
            && ours != theirs
        {
            return refuse("base_model_name_or_path", ours.clone(), theirs.clone());
        }
        let weights = self.folder.join(WEIGHTS);
        if self.slots.len() != first.slots.len() {
            let layers = |parent: &Self| parent.slots.len() / parent.shape.target_modules.len();
            let reason = format!(
                "adapts {} layers; {} adapts {}, so they belong to different bases",
                layers(self),
                first.folder.display(),
                layers(first)
            );
            return Err(EngineError::file(weights, reason));
        }
        for (ours, theirs) in self.slots.iter().zip(&first.slots) {
            if (ours.inputs, ours.outputs) != (theirs.inputs, theirs.outputs) {
                let problem = format!(
                    "is of a module of {} inputs and {} outputs; in {} it has {} and {}, so they belong to different bases",
                    ours.inputs,
                    ours.outputs,
                    first.folder.display(),
                    theirs.inputs,
                    theirs.outputs
                );
                return Err(EngineError::tensor(weights, &ours.a.key, problem));
            }
        }
        if self.scaling() == first.scaling() {
            return Ok(Fit(1.0));
        }
        let ratio = self.scaling() / first.scaling();
        if !(ratio > 0.0 && ratio.is_finite()) {
            let valid = format!("a positive number (or {})", first.shape.lora_alpha);
            return refuse("lora_alpha", self.shape.lora_alpha.to_string(), valid);
        }
        Ok(Fit(ratio.sqrt() as f32))
    }

    /// Refuses NaN and infinity, naming the tensor.
    pub(super) fn check_finite(&self) -> Result<()> {
        evolve::for_each(self.slots.len(), |index| {
            let Slot { a, b, .. } = &self.slots[index];
            for stored in [a, b] {
                if !is_finite(stored.dtype, &self.bytes()[stored.place.clone()]) {
                    let path = self.folder.join(WEIGHTS);
                    return Err(EngineError::tensor(path, &stored.key, "holds NaN or infinity"));
                }
            }
            Ok(())
        })
    }

    /// A module's factors in fp32.
    pub(super) fn module(&self, index: usize, Fit(factor): Fit) -> Module {
        let slot = &self.slots[index];
        let read = |stored: &Stored| {
            let mut values = decode(stored.dtype, &self.bytes()[stored.place.clone()]);
            if factor != 1.0 {
                values.iter_mut().for_each(|value| *value *= factor);
            }
            values
        };
        Module { rank: self.rank(), inputs: slot.inputs, outputs: slot.outputs, a: read(&slot.a), b: read(&slot.b) }
    }

    /// The layout of the weights file of a child of this shape, in fp32, tensors sorted by name.
    pub(super) fn child_layout(&self) -> Layout {
        let mut sizes: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for slot in &self.slots {
            sizes.insert(&slot.a.key, [self.rank(), slot.inputs]);
            sizes.insert(&slot.b.key, [slot.outputs, self.rank()]);
        }
        let mut end = 0;
        let mut starts = HashMap::new();
        let mut header = serde_json::Map::new();
        header.insert("__metadata__".to_owned(), serde_json::json!({ "format": "pt" }));
        for (key, shape) in sizes {
            let start = end;
            end += shape[0] * shape[1] * size_of::<f32>();
            starts.insert(key, start);
            let info = serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, end] });
            header.insert(key.to_owned(), info);
        }
        let mut text = serde_json::Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let data = 8 + text.len();
        let place = |stored: &Stored| (data + starts[stored.key.as_str()]) as u64;
        Layout {
            length: (data + end) as u64,
            places: self.slots.iter().map(|slot| [place(&slot.a), place(&slot.b)]).collect(),
            header: [&(text.len() as u64).to_le_bytes()[..], &text].concat(),
        }
    }
}

fn read_config(path: &Path, text: &[u8]) -> Result<AdapterConfig> {
    AdapterConfig::parse(text).map_err(|reason| EngineError::file(path, reason))
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

fn slots(path: &Path, metadata: &Metadata, shape: &LoraShape, data: usize) -> Result<Vec<Slot>> {
    let tensors = metadata.tensors();
    let mut slots = Vec::new();
    for layer in 0.. {
        let present = |&projection: &Projection| tensors.contains_key(&peft::key(layer, projection, 'A'));
        if !shape.target_modules.iter().any(present) {
            break;
        }
        for &projection in &shape.target_modules {
            let rank = shape.r as usize;
            let (a, inputs) = stored(path, &tensors, peft::key(layer, projection, 'A'), data, |size| match *size {
                [r, inputs] if r == rank && inputs > 0 => Ok(inputs),
                _ => Err(format!("[{rank}, inputs]")),
            })?;
            let (b, outputs) = stored(path, &tensors, peft::key(layer, projection, 'B'), data, |size| match *size {
                [outputs, r] if r == rank && outputs > 0 => Ok(outputs),
                _ => Err(format!("[outputs, {rank}]")),
            })?;
            slots.push(Slot { name: format!("layers.{layer}.{projection}"), inputs, outputs, a, b });
        }
    }
    let known = |name: &str| slots.iter().any(|slot| slot.a.key == name || slot.b.key == name);
    match tensors.keys().filter(|name| !known(name)).min() {
        Some(stray) => Err(EngineError::tensor(
            path,
            stray,
            "is not part of a LoRA adapter whose layers are numbered consecutively from 0",
        )),
        None => Ok(slots),
    }
}

fn stored(
    path: &Path,
    tensors: &HashMap<String, &TensorInfo>,
    key: String,
    data: usize,
    width: impl Fn(&[usize]) -> std::result::Result<usize, String>,
) -> Result<(Stored, usize)> {
    let Some(info) = tensors.get(&key) else { return Err(EngineError::tensor(path, key, "is missing")) };
    let width = match width(&info.shape) {
        Ok(width) => width,
        Err(expected) => {
            let problem = format!("has shape {:?}; expected {expected} from the configuration", info.shape);
            return Err(EngineError::tensor(path, key, problem));
        }
    };
    if !matches!(info.dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16) {
        let problem = format!("is of type {:?}; supported: F32, BF16 and F16", info.dtype);
        return Err(EngineError::tensor(path, key, problem));
    }
    let place = data + info.data_offsets.0..data + info.data_offsets.1;
    let dtype = info.dtype;
    Ok((Stored { key, dtype, place }, width))
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f32> {
    let halves = || bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    match dtype {
        Dtype::BF16 => halves().map(|bits| bf16::from_bits(bits).to_f32()).collect(),
        Dtype::F16 => halves().map(|bits| f16::from_bits(bits).to_f32()).collect(),
        _ => words(bytes).map(f32::from_bits).collect(),
    }
}

/// Whether no value's exponent is all ones.
fn is_finite(dtype: Dtype, bytes: &[u8]) -> bool {
    const F32: u32 = 0x7f80_0000;
    // A fold without an early exit can be vectorised.
    let any = match dtype {
        Dtype::BF16 => halves_hold(bytes, 0x7f80),
        Dtype::F16 => halves_hold(bytes, 0x7c00),
        _ => words(bytes).fold(false, |found, bits| found | (bits & F32 == F32)),
    };
    !any
}

fn halves_hold(bytes: &[u8], exponent: u16) -> bool {
    bytes
        .chunks_exact(2)
        .fold(false, |found, two| found | (u16::from_le_bytes([two[0], two[1]]) & exponent == exponent))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}
