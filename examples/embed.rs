//! Running a program from Rust: open it, set its inputs, run it, read its outputs.
//!
//!     cargo run --release --example embed

use seqjit::{Engine, Options, Program, Session, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::open("examples/softmax.neff")?;
    let mut session = Session::new(&Engine::new(), &program, Options::default())?;
    session.set_input("x", &Tensor::open("examples/softmax_x.npy".as_ref())?)?;
    let report = session.run()?;
    let y = session.output("y")?;
    println!("{} words made {} {:?}", report.counters.retired, y.dtype.text(), y.shape);
    Ok(())
}
