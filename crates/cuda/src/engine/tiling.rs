//! How transforms are cut into tiles that fit the memory that a block shares.

/// Columns of a tile of columns: neighbouring units read neighbouring words.
const LOG_LANES: u32 = 4;

/// How a transform is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    /// log2 of the rows of the matrix: stages that work on columns; 0 where one tile holds all.
    pub(super) log_height: u32,
    /// log2 of the columns of a tile of columns.
    pub(super) log_lanes: u32,
}

impl Tiling {
    /// The tiling of `1 << log_degree` words where a tile has at most `shared_words`.
    pub(super) fn new(log_degree: u32, shared_words: u32) -> Self {
        let log_tile = shared_words.max(2).ilog2();
        Self::with_rows_of(log_degree, log_tile, log_tile)
    }

    /// The tiling where a block has `sums` sums of two words beside each word of a tile of rows; nothing where such tiles are too short.
    pub(super) fn with_sums(log_degree: u32, shared_words: u32, sums: usize) -> Option<Self> {
        let log_tile = shared_words.max(2).ilog2();
        let log_row = (shared_words as usize / (1 + 2 * sums)).checked_ilog2()?;
        (log_degree <= log_row + log_tile).then(|| Self::with_rows_of(log_degree, log_tile, log_row))
    }

    /// Tiles of at most `1 << log_tile` words, and of at most `1 << log_row` in the pass over rows.
    fn with_rows_of(log_degree: u32, log_tile: u32, log_row: u32) -> Self {
        if log_degree <= log_row {
            return Self { log_height: 0, log_lanes: 0 };
        }
        // About as many stages in both passes, and tiles that fit.
        let log_height = (log_degree / 2).max(log_degree - log_row).min(log_tile);
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
                assert!(log_degree - tiling.log_height <= log_tile, "rows of 2^{log_degree} in tiles of 2^{log_tile}: {tiling:?}");
                assert!(tiling.log_height + tiling.log_lanes <= log_tile.min(log_degree), "columns of 2^{log_degree}: {tiling:?}");
                assert_eq!(tiling.log_height == 0, log_degree <= log_tile);
            }
        }
    }

    #[test]
    fn tiles_with_sums_fit_their_memory() {
        for shared_words in [8, 16, 100, 1 << 10, 1 << 14, 29_000] {
            for (log_degree, sums) in (0..=17).flat_map(|log| (1..=20).map(move |sums| (log, sums))) {
                let Some(tiling) = Tiling::with_sums(log_degree, shared_words, sums) else {
                    let longest = shared_words as usize / (1 + 2 * sums);
                    assert!(longest * (shared_words as usize) < 4 << log_degree, "2^{log_degree}, {sums} sums in {shared_words} words");
                    continue;
                };
                assert!((1 + 2 * sums) << (log_degree - tiling.log_height) <= shared_words as usize, "{tiling:?}");
                assert!(
                    1u32 << (tiling.log_height + tiling.log_lanes) <= shared_words && tiling.log_height + tiling.log_lanes <= log_degree
                );
            }
        }
    }
}
