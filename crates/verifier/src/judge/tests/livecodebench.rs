//! LiveCodeBench's test cases: JSON, or base64 of zlib of a pickled string of JSON.

use std::io::{BufRead, BufReader, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lyceum_core::verify::CodePair;
use serde::Deserialize;

/// Maximum decompressed size of a field.
const MAX_UNFOLDED: u64 = 256 << 20;

/// Maximum number of test cases of a row.
const MAX_CASES: usize = 10_000;

/// Imports that LiveCodeBench's own harness puts before a solution.
pub(super) const PREAMBLE: &str = "\
from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
from builtins import *
from typing import *
import string
import re
import datetime
import collections
import heapq
import bisect
import copy
import math
import random
import statistics
import itertools
import functools
import operator
import io
import sys
import json
sys.setrecursionlimit(50000)
";

/// The test cases of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cases {
    pub(super) is_functional: bool,
    pub(super) pairs: Vec<CodePair>,
}

#[derive(Debug, Deserialize)]
struct Case {
    input: String,
    output: String,
    testtype: TestType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TestType {
    Stdin,
    Functional,
}

pub(super) fn cases(public: Option<&str>, private: Option<&str>) -> Result<Cases, String> {
    let mut cases = Vec::new();
    for (name, field) in [("public_test_cases", public), ("private_test_cases", private)] {
        if let Some(text) = field {
            cases.extend(read(text, MAX_UNFOLDED).map_err(|reason| format!("field `{name}`: {reason}"))?);
        }
    }
    if cases.len() > MAX_CASES {
        return Err(format!("{} test cases; at most {MAX_CASES} are run", cases.len()));
    }
    let is_functional = cases.iter().any(|case| case.testtype == TestType::Functional);
    if is_functional && cases.iter().any(|case| case.testtype == TestType::Stdin) {
        return Err("test cases of both types, `stdin` and `functional`".to_owned());
    }
    Ok(Cases { is_functional, pairs: cases.into_iter().map(|case| (case.input, case.output)).collect() })
}

fn read(text: &str, max_unfolded: u64) -> Result<Vec<Case>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let packed = STANDARD.decode(text.trim()).map_err(|error| format!("neither a JSON list nor base64: {error}"))?;
    let mut unfolding = BufReader::new(flate2::read::ZlibDecoder::new(packed.as_slice()).take(max_unfolded));
    let cases = unpickled(&mut unfolding);
    if unfolding.get_ref().limit() == 0 {
        return Err(format!("it unfolds to more than {max_unfolded} bytes"));
    }
    cases
}

/// The test cases in a pickle that holds exactly one string. Only the opcodes needed for that are supported, so nothing
/// can be executed. The string is read as it is unfolded and never held as a whole.
fn unpickled(mut pickle: impl BufRead) -> Result<Vec<Case>, String> {
    const PROTO: u8 = 0x80;
    const FRAME: u8 = 0x95;
    const SHORT_BINUNICODE: u8 = 0x8C;
    const BINUNICODE: u8 = b'X';
    const BINUNICODE8: u8 = 0x8D;
    const MEMOIZE: u8 = 0x94;
    const BINPUT: u8 = b'q';
    const LONG_BINPUT: u8 = b'r';
    const STOP: u8 = b'.';
    let mut cases = None;
    loop {
        let opcode = number(&mut pickle, 1)?;
        let length = match opcode as u8 {
            PROTO | BINPUT => {
                number(&mut pickle, 1)?;
                continue;
            }
            LONG_BINPUT => {
                number(&mut pickle, 4)?;
                continue;
            }
            FRAME => {
                number(&mut pickle, 8)?;
                continue;
            }
            MEMOIZE => continue,
            STOP => break,
            SHORT_BINUNICODE => number(&mut pickle, 1)?,
            BINUNICODE => number(&mut pickle, 4)?,
            BINUNICODE8 => number(&mut pickle, 8)?,
            other => return Err(format!("the pickle holds more than a string (opcode {other:#04x})")),
        };
        if cases.is_some() {
            return Err("the pickle holds more than one string".to_owned());
        }
        let mut string = pickle.by_ref().take(length);
        let read = serde_json::from_reader(&mut string);
        std::io::copy(&mut string, &mut std::io::sink()).map_err(|error| unreadable(&error))?;
        if string.limit() > 0 {
            return Err(TOO_SOON.to_owned());
        }
        cases = Some(read.map_err(|error| error.to_string())?);
    }
    cases.ok_or_else(|| "the pickle holds no string".to_owned())
}

const TOO_SOON: &str = "the pickle ends too soon";

/// The next bytes as a little-endian number.
fn number(pickle: &mut impl BufRead, length: usize) -> Result<u64, String> {
    let mut bytes = [0; 8];
    pickle.read_exact(&mut bytes[..length]).map_err(|error| unreadable(&error))?;
    Ok(u64::from_le_bytes(bytes))
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => TOO_SOON.to_owned(),
        _ => format!("not zlib: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::{cases, read, unpickled};

    #[test]
    fn private_tests_are_unpacked_without_a_pickle_machine() {
        // python3 -c "import base64,json,pickle,zlib; print(base64.b64encode(zlib.compress(pickle.dumps(json.dumps(
        //     [{'input': '1', 'output': '2', 'testtype': 'stdin'}])))).decode())"
        let packed = "eJxrYJlqwQABPSbR1UqZeQWlJUpWCkqGSjoKSvmlJVCuEYhbklpcUlJZkAoSKC5JycxTqo2dogcAOgkSqg==";
        let unpacked = cases(Some(r#"[{"input":"0","output":"1","testtype":"stdin"}]"#), Some(packed));
        match unpacked {
            Ok(cases) => assert_eq!(cases.pairs, [("0".to_owned(), "1".to_owned()), ("1".to_owned(), "2".to_owned())]),
            Err(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn a_field_that_unfolds_without_end_is_refused() {
        let mut pickle = b"\x80\x04\x8d".to_vec();
        pickle.extend((1_u64 << 40).to_le_bytes());
        let endless = pickle.as_slice().chain(std::io::repeat(b' ').take(1 << 20));
        let mut folded = Vec::new();
        let written = flate2::read::ZlibEncoder::new(endless, flate2::Compression::fast()).read_to_end(&mut folded);
        assert!(written.is_ok() && folded.len() < 1 << 16);
        let refused = read(&STANDARD.encode(&folded), 1 << 19).unwrap_err();
        assert!(refused.contains("it unfolds to more than 524288 bytes"), "{refused}");
    }

    #[test]
    fn a_pickle_that_would_call_something_is_refused() {
        assert!(unpickled(&b"cos\nsystem\n(S'true'\ntR."[..]).unwrap_err().contains("opcode 0x63"));
        assert!(unpickled(&b"\x80\x04\x8c"[..]).unwrap_err().contains("too soon"));
        assert!(unpickled(&b"\x80\x04X\xff\xff\xff\xffa."[..]).unwrap_err().contains("too soon"));
    }
}
