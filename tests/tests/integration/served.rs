//! Runs whose tokens servers generate: a stand-in that speaks vLLM's interface, and vLLM itself where `VLLM_PYTHON` names an
//! interpreter that has it. What a worker makes of single answers is tested in `tests/stand-in`.

mod real;
mod run;
mod several;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../stand-in/tests/served/stage.rs"]
mod stage;
