//! Divides transforms into tiles that fit the shared memory of a block.

/// log2 of the columns of a tile of columns: neighbouring units read neighbouring words.
const LOG_LANES: u32 = 4;

/// The tiles of a transform, whose words are read as a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    /// log2 of the rows of the matrix, the number of stages that work on columns; 0 where one tile holds the
    /// polynomial.
    pub(super) log_height: u32,
    /// log2 of the columns of a tile of columns.
    pub(super) log_lanes: u32,
}

impl Tiling {
    /// The tiling of `1 << log_degree` words where a tile has at most `shared_words`.
    pub(super) fn new(log_degree: u32, shared_words: u32) -> Self {
        let log_tile = shared_words.max(2).ilog2();
        if log_degree <= log_tile {
            return Self { log_height: 0, log_lanes: 0 };
        }
        // Both passes have about the same number of stages, and their tiles fit.
        let log_height = (log_degree / 2).max(log_degree - log_tile).min(log_tile);
        let log_lanes = LOG_LANES.min(log_degree - log_height).min(log_tile - log_height);
        Self { log_height, log_lanes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_their_memory_and_cover_the_row_at_every_degree() {
        for log_tile in 5..=14 {
            for log_degree in 0..=17u32.min(2 * log_tile) {
                let tiling = Tiling::new(log_degree, 1 << log_tile);
                assert!(
                    log_degree - tiling.log_height <= log_tile,
                    "rows of 2^{log_degree} in tiles of 2^{log_tile}: {tiling:?}"
                );
                assert!(
                    tiling.log_height + tiling.log_lanes <= log_tile.min(log_degree),
                    "columns of 2^{log_degree}: {tiling:?}"
                );
                assert_eq!(tiling.log_height == 0, log_degree <= log_tile);
            }
        }
    }
}
