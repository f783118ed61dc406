//! A contact sheet: moments of a run side by side.

use super::colors::Rgb;
use super::legend::{LINE, legend_lines};
use super::{OverlaySet, Picture, lettering};

const PAPER: Rgb = Rgb(255, 255, 255);
const INK: Rgb = Rgb(25, 28, 32);
const GAP: u32 = 4;

/// A sheet that is filled cell by cell; it holds no picture but itself.
pub struct Sheet {
    picture: Picture,
    cell: (u32, u32),
    columns: u32,
    header: u32,
    footer: u32,
}

/// Columns and rows for `cells` cells of a size: few empty places, about as wide as a page is long.
fn layout(cells: u32, cell: (u32, u32)) -> (u32, u32) {
    let cells = cells.max(1);
    let shape = |columns: u32| {
        let rows = cells.div_ceil(columns);
        let ratio = f64::from(columns * cell.0) / f64::from(rows * cell.1);
        let empty = f64::from(columns * rows - cells) / f64::from(cells);
        libm::log(ratio / 1.6).abs() + 4.0 * empty
    };
    let columns = (1..=cells).min_by(|a, b| shape(*a).total_cmp(&shape(*b))).unwrap_or(1);
    (columns, cells.div_ceil(columns))
}

/// What is above and below the cells, pixels.
struct Margins {
    title: u32,
    legend: u32,
    footer: u32,
    /// Height of the legend's letters.
    letters: f32,
}

impl Margins {
    fn new(cell: (u32, u32), width: u64, on: OverlaySet) -> Margins {
        let line = (cell.1 / 9).clamp(16, 48);
        let letters = 0.6 * line as f32;
        let lines = legend_lines(on, letters, width as f32) as f32;
        Margins {
            title: line + line / 4,
            legend: (LINE * letters * lines).ceil() as u32,
            footer: line,
            letters,
        }
    }

    fn header(&self) -> u32 {
        self.title + self.legend
    }
}

impl Sheet {
    /// Pixels of a sheet with a legend of these overlays.
    pub fn size(cells: u32, cell: (u32, u32), legend: OverlaySet) -> (u64, u64) {
        let (columns, rows) = layout(cells, cell);
        let along = |n: u32, size: u32| u64::from(n) * u64::from(size + GAP) + u64::from(GAP);
        let width = along(columns, cell.0);
        let margins = Margins::new(cell, width, legend);
        let height = along(rows, cell.1) + u64::from(margins.header() + margins.footer);
        (width, height)
    }

    /// An empty sheet for `cells` pictures of `cell` pixels, with a title and a legend above.
    pub fn new(cells: u32, cell: (u32, u32), title: &str, legend: OverlaySet) -> Sheet {
        let (columns, _) = layout(cells, cell);
        let (width, height) = Sheet::size(cells, cell, legend);
        let margins = Margins::new(cell, width, legend);
        let mut picture = Picture::filled(width as u32, height as u32, PAPER);
        let letters = 0.7 * margins.title as f32;
        let title = lettering::shortened(title, letters, width as f32 - 16.0);
        lettering::write(&mut picture, &title, 8.0, 0.15 * margins.title as f32, letters, INK);
        picture.legend_row(legend, margins.title as f32, margins.letters);
        Sheet {
            picture,
            cell,
            columns,
            header: margins.header(),
            footer: margins.footer,
        }
    }

    /// Upper left corner of a cell.
    pub fn corner(&self, index: u32) -> (u32, u32) {
        let (row, column) = (index / self.columns, index % self.columns);
        (
            GAP + column * (self.cell.0 + GAP),
            self.header + GAP + row * (self.cell.1 + GAP),
        )
    }

    /// Puts a picture into a cell.
    pub fn put(&mut self, index: u32, picture: &Picture) {
        let (x, y) = self.corner(index);
        self.picture.place(picture, x, y);
    }

    /// The sheet with a line below.
    pub fn finish(mut self, footer: &str) -> Picture {
        let letters = 0.62 * self.footer as f32;
        let top = self.picture.height as f32 - self.footer as f32;
        let text = lettering::shortened(footer, letters, self.picture.width as f32 - 16.0);
        lettering::write(
            &mut self.picture,
            &text,
            8.0,
            top + 0.1 * self.footer as f32,
            letters,
            INK,
        );
        self.picture
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lie_side_by_side_inside_the_sheet() {
        // no two cells overlap, whatever their number, and all are on the paper between title and footer
        for cells in [1, 2, 5, 6, 8, 12, 13, 40] {
            let cell = (32, 24);
            let legend = OverlaySet::ALL;
            let sheet = Sheet::new(cells, cell, "title", legend);
            let (width, height) = Sheet::size(cells, cell, legend);
            assert_eq!(
                (u64::from(sheet.picture.width), u64::from(sheet.picture.height)),
                (width, height)
            );
            for i in 0..cells {
                let (x, y) = sheet.corner(i);
                assert!(u64::from(x + cell.0) <= width && u64::from(y + cell.1 + sheet.footer) <= height);
                assert!(y >= sheet.header);
                for j in 0..i {
                    let (u, v) = sheet.corner(j);
                    assert!(
                        x.abs_diff(u) >= cell.0 || y.abs_diff(v) >= cell.1,
                        "{i} and {j} of {cells}"
                    );
                }
            }
        }
    }

    #[test]
    fn few_places_of_a_sheet_stay_empty() {
        // a number that makes a rectangle makes one, and else at most a third of the last row is missing
        assert_eq!(layout(8, (320, 240)), (4, 2));
        assert_eq!(layout(12, (320, 240)), (4, 3));
        for cells in 1..=60 {
            let (columns, rows) = layout(cells, (320, 240));
            assert!(columns * rows - cells <= 1 + cells / 6, "{cells}: {columns}x{rows}");
        }
    }
}
