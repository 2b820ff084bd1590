//! Lengths of keys and values, rounded up.

use tch::Device;

/// What lengths are rounded up to, in positions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    capacity: i64,
    attention: i64,
}

impl Rounding {
    pub(super) const CPU: Self = Self {
        capacity: 64,
        attention: 1,
    };
    /// libtorch may plan a kernel for each new shape, so that attention to one more position in each step is slow.
    pub(super) const GPU: Self = Self {
        capacity: 128,
        attention: 128,
    };

    pub(super) fn of(device: Device) -> Self {
        if device.is_cuda() { Self::GPU } else { Self::CPU }
    }

    /// Positions to have room for if `positions` are needed.
    pub(super) fn capacity(self, positions: i64) -> i64 {
        up(positions, self.capacity)
    }

    /// Positions to attend to if `positions` are in use; at most the capacity for them.
    pub(super) fn attention(self, positions: i64) -> i64 {
        up(positions, self.attention)
    }
}

fn up(positions: i64, step: i64) -> i64 {
    (positions + step - 1) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_attends_to_whole_steps_and_a_cpu_to_what_is_in_use() {
        let lengths = [0, 1, 64, 65, 128, 129];
        assert_eq!(
            lengths.map(|length| Rounding::of(Device::Cpu).attention(length)),
            lengths
        );
        let gpu = Rounding::of(Device::Cuda(0));
        assert_eq!(
            lengths.map(|length| gpu.attention(length)),
            [0, 128, 128, 128, 128, 256]
        );
    }

    #[test]
    fn what_is_attended_to_has_room() {
        for rounding in [Rounding::CPU, Rounding::GPU] {
            assert!((0..1000).all(|length| rounding.attention(length) <= rounding.capacity(length)));
        }
        assert_eq!(Rounding::CPU.capacity(65), 128);
        assert_eq!(Rounding::GPU.capacity(129), 256);
    }
}
