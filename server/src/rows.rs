//! Files of rows, on this machine, in a request or on the Hugging Face hub, as JSON objects on lines: plain, gzip, a JSON
//! array, objects over several lines, or Parquet.

mod array;
mod foreign;
mod gzip;
mod hub;
mod joined;
mod object;
mod parquet;
mod text;

pub(crate) use hub::{Address, Hub, HubError, NotAnAddress};
pub(crate) use joined::Joined;
pub(crate) use text::{Text, json_lines};
