//! What is written into a picture: its time and the overlays that are on.

use super::colors::Rgb;
use super::{OverlaySet, Picture, lettering};

const INK: Rgb = Rgb(25, 28, 32);
const PAPER: Rgb = Rgb(255, 255, 255);

impl Picture {
    /// Height of writing that can be read in a picture of this size, pixels.
    fn letter_height(&self) -> f32 {
        (self.height as f32 / 28.0).clamp(11.0, 30.0)
    }

    /// Writes the time into the lower left corner.
    pub fn stamp(&mut self, time: f64) {
        let height = self.letter_height() * 1.1;
        let text = format!("{time:.2} s");
        let (width, margin) = (lettering::width(&text, height), 0.35 * height);
        let top = self.height as f32 - height - 2.0 * margin;
        let (w, h) = ((width + 2.0 * margin) as i64, (height + 1.2 * margin) as i64);
        self.shade(0, top as i64, w, h + margin as i64, PAPER, 0.55);
        lettering::write(self, &text, margin, top + 0.4 * margin, height, INK);
    }

    /// Writes the overlays that are on, each with its colour, into the upper left corner.
    pub fn legend(&mut self, on: OverlaySet) {
        let entries: Vec<_> = on.entries().collect();
        if entries.is_empty() {
            return;
        }
        // small enough that all of them fit below one another
        let room = self.height as f32 / (entries.len() as f32 + 2.0);
        let height = self.letter_height().min(room / 1.2).max(7.0);
        let (line, margin) = (1.2 * height, 0.5 * height);
        let widest = entries
            .iter()
            .map(|e| lettering::width(e.label, height))
            .fold(0.0, f32::max);
        let box_width = widest + height + 2.5 * margin;
        let box_height = line * entries.len() as f32 + margin;
        self.shade(0, 0, box_width as i64, box_height as i64, PAPER, 0.55);
        for (i, entry) in entries.iter().enumerate() {
            let top = 0.5 * margin + line * i as f32;
            let side = (0.62 * height).round() as i64;
            let swatch_top = (top + 0.5 * (height - side as f32)).round() as i64;
            self.shade(margin as i64, swatch_top, side, side, entry.color, 1.0);
            lettering::write(self, entry.label, margin + 1.1 * height, top, height, INK);
        }
    }
}
