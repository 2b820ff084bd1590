//! Files of rows as JSON objects on lines, whatever they are: plain, gzip, a JSON array, objects over several lines, or
//! Parquet.

mod array;
mod foreign;
mod gzip;
mod joined;
mod object;
mod parquet;
mod text;

pub use joined::Joined;
pub use text::{Text, json_lines};
