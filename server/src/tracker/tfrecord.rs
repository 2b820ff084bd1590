//! TFRecord: the container of TensorBoard's event files. Length and data each have a masked CRC-32C.

pub(super) fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend_from_slice(&length);
    record.extend_from_slice(&masked_crc(&length).to_le_bytes());
    record.extend_from_slice(data);
    record.extend_from_slice(&masked_crc(data).to_le_bytes());
    record
}

/// Masked as TensorFlow does it, so that the checksum of data that holds a checksum remains useful.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As TensorBoard's own writer has it: `RecordWriter.write(b"abc")`.
    #[test]
    fn a_record_is_that_of_tensorboards_writer() {
        let expected = "0300000000000000b099490e6162636e57f121";
        let hex: String = record(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
