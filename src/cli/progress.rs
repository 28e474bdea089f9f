//! The progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seqjit::{Program, Progress};

/// Drawings in a second.
const RATE: u8 = 10;

/// A bar on standard error while the program runs; nothing where that is no terminal.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar as long as the program has words.
    pub fn new(program: &Program) -> Bar {
        let streams = program.image().cores.iter().flat_map(|core| &core.streams);
        let words = streams.map(|stream| stream.words.len() as u64).sum();
        let bar = ProgressBar::with_draw_target(Some(words), ProgressDrawTarget::stderr_with_hz(RATE));
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} words, {elapsed}") {
            bar.set_style(style);
        }
        Bar(bar)
    }

    /// Shows how far the run is. Loops may retire more words than there are.
    pub fn show(&mut self, progress: &Progress) {
        self.show_words(progress.retired);
    }

    /// [`Self::show`] for those who know nothing but the number of words.
    pub fn show_words(&mut self, retired: u64) {
        if self.0.length().is_some_and(|length| length < retired) {
            self.0.set_length(retired);
        }
        self.0.set_position(retired);
    }

    /// Makes room for other output until the next [`Self::show`].
    pub fn pause(&self) {
        self.0.suspend(|| {});
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
