//! What is written into a picture: its time and the overlays that are on.

use super::colors::Rgb;
use super::{Overlay, OverlaySet, Picture, lettering};

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
            self.entry(entry, margin, 0.5 * margin + line * i as f32, height);
        }
    }

    /// A swatch and what it stands for, from the upper left corner of the line.
    fn entry(&mut self, entry: &Overlay, x: f32, y: f32, height: f32) {
        let side = (0.62 * height).round() as i64;
        let top = (y + 0.5 * (height - side as f32)).round() as i64;
        self.shade(x as i64, top, side, side, entry.color, 1.0);
        lettering::write(self, entry.label, x + 1.1 * height, y, height, INK);
    }

    /// Writes the overlays that are on side by side below `top`, in as many lines as `legend_lines` says.
    pub(super) fn legend_row(&mut self, on: OverlaySet, top: f32, height: f32) {
        for (entry, x, line) in flow(on, height, self.width as f32) {
            self.entry(entry, x, top + LINE * height * line as f32, height);
        }
    }
}

/// Distance of lines, in heights of letters.
pub(super) const LINE: f32 = 1.25;

/// Where entries stand side by side: distance from the left, and line.
fn flow(on: OverlaySet, height: f32, width: f32) -> Vec<(&'static Overlay, f32, u32)> {
    let (mut x, mut line) = (MARGIN, 0);
    on.entries()
        .map(|entry| {
            let needed = lettering::width(entry.label, height) + 1.1 * height;
            if x > MARGIN && x + needed > width - MARGIN {
                (x, line) = (MARGIN, line + 1);
            }
            let place = (entry, x, line);
            x += needed + 1.2 * height;
            place
        })
        .collect()
}

/// Lines that a legend takes in a picture of a width.
pub(super) fn legend_lines(on: OverlaySet, height: f32, width: f32) -> u32 {
    flow(on, height, width).last().map_or(0, |(_, _, line)| line + 1)
}

/// At the left and right of a line, pixels.
const MARGIN: f32 = 8.0;
