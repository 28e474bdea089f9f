//! Compiling on a thread of the engine.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::block::CodeKey;

/// A thread that compiles what it is sent, in that order, as long as this lives.
pub(super) struct Worker {
    /// `None` while the worker is dropped.
    batches: Option<Sender<Vec<CodeKey>>>,
    /// What is queued is wanted no more.
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread.
    pub(super) fn start(compile: impl Fn(&[CodeKey]) + Send + 'static) -> io::Result<Worker> {
        let (batches, received) = mpsc::channel::<Vec<CodeKey>>();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        let work = move || {
            let wanted = received.iter().take_while(|_| !stop.load(Ordering::Relaxed));
            wanted.for_each(|batch| compile(&batch));
        };
        let thread = thread::Builder::new().name("seqjit compiler".into()).spawn(work)?;
        Ok(Worker { batches: Some(batches), stopping, thread: Some(thread) })
    }

    /// Queues shapes; `false`: the thread has ended, which it only does after a panic.
    pub(super) fn send(&self, batch: Vec<CodeKey>) -> bool {
        self.batches.as_ref().is_some_and(|batches| batches.send(batch).is_ok())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The thread ends behind the batch that it is working on.
        self.stopping.store(true, Ordering::Relaxed);
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its own thread.
            let _ = thread.join();
        }
    }
}
