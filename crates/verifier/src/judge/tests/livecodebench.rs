//! LiveCodeBench's test cases: JSON, or base64 of zlib of a pickled string of JSON.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lyceum_core::verify::CodePair;
use serde::Deserialize;

/// Maximum decompressed size of a field.
const MAX_UNFOLDED: u64 = 512 << 20;

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

#[derive(Deserialize)]
struct Case {
    input: String,
    output: String,
    testtype: TestType,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TestType {
    Stdin,
    Functional,
}

pub(super) fn cases(public: Option<&str>, private: Option<&str>) -> Result<Cases, String> {
    let mut cases = Vec::new();
    for (name, field) in [("public_test_cases", public), ("private_test_cases", private)] {
        if let Some(text) = field {
            cases.extend(read(text).map_err(|reason| format!("field `{name}`: {reason}"))?);
        }
    }
    let is_functional = cases.iter().any(|case| case.testtype == TestType::Functional);
    if is_functional && cases.iter().any(|case| case.testtype == TestType::Stdin) {
        return Err("test cases of both types, `stdin` and `functional`".to_owned());
    }
    Ok(Cases {
        is_functional,
        pairs: cases.into_iter().map(|case| (case.input, case.output)).collect(),
    })
}

fn read(text: &str) -> Result<Vec<Case>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let packed = STANDARD
        .decode(text.trim())
        .map_err(|error| format!("neither a JSON list nor base64: {error}"))?;
    let mut pickle = Vec::new();
    let mut unfolding = flate2::read::ZlibDecoder::new(packed.as_slice()).take(MAX_UNFOLDED + 1);
    unfolding
        .read_to_end(&mut pickle)
        .map_err(|error| format!("not zlib: {error}"))?;
    if pickle.len() as u64 > MAX_UNFOLDED {
        return Err(format!("it unfolds to more than {MAX_UNFOLDED} bytes"));
    }
    serde_json::from_str(pickled_string(&pickle)?).map_err(|error| error.to_string())
}

/// The string in a pickle that holds exactly one string. Only the opcodes needed for that are supported, so nothing can
/// be executed.
fn pickled_string(pickle: &[u8]) -> Result<&str, String> {
    const PROTO: u8 = 0x80;
    const FRAME: u8 = 0x95;
    const SHORT_BINUNICODE: u8 = 0x8C;
    const BINUNICODE: u8 = b'X';
    const BINUNICODE8: u8 = 0x8D;
    const MEMOIZE: u8 = 0x94;
    const BINPUT: u8 = b'q';
    const LONG_BINPUT: u8 = b'r';
    const STOP: u8 = b'.';
    let mut rest = pickle;
    let mut take = |count: usize| -> Result<&[u8], String> {
        let (head, tail) = rest.split_at_checked(count).ok_or("the pickle ends too soon")?;
        rest = tail;
        Ok(head)
    };
    let length = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let mut string = None;
    loop {
        let opcode = take(1)?[0];
        let count = match opcode {
            PROTO | BINPUT => {
                take(1)?;
                continue;
            }
            LONG_BINPUT => {
                take(4)?;
                continue;
            }
            FRAME => {
                take(8)?;
                continue;
            }
            MEMOIZE => continue,
            STOP => break,
            SHORT_BINUNICODE => length(take(1)?),
            BINUNICODE => length(take(4)?),
            BINUNICODE8 => length(take(8)?),
            other => return Err(format!("the pickle holds more than a string (opcode {other:#04x})")),
        };
        if string.is_some() {
            return Err("the pickle holds more than one string".to_owned());
        }
        string = Some(std::str::from_utf8(take(count)?).map_err(|error| format!("the pickled string: {error}"))?);
    }
    string.ok_or_else(|| "the pickle holds no string".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{cases, pickled_string};

    #[test]
    fn private_tests_are_unpacked_without_a_pickle_machine() {
        // python3 -c "import base64,json,pickle,zlib; print(base64.b64encode(zlib.compress(pickle.dumps(json.dumps(
        //     [{'input': '1', 'output': '2', 'testtype': 'stdin'}])))).decode())"
        let packed = "eJxrYJlqwQABPSbR1UqZeQWlJUpWCkqGSjoKSvmlJVCuEYhbklpcUlJZkAoSKC5JycxTqo2dogcAOgkSqg==";
        let unpacked = cases(Some(r#"[{"input":"0","output":"1","testtype":"stdin"}]"#), Some(packed));
        match unpacked {
            Ok(cases) => assert_eq!(
                cases.pairs,
                [("0".to_owned(), "1".to_owned()), ("1".to_owned(), "2".to_owned())]
            ),
            Err(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn a_pickle_that_would_call_something_is_refused() {
        assert!(
            pickled_string(b"cos\nsystem\n(S'true'\ntR.")
                .unwrap_err()
                .contains("opcode 0x63")
        );
        assert!(pickled_string(b"\x80\x04\x8c").unwrap_err().contains("too soon"));
        assert!(
            pickled_string(b"\x80\x04X\xff\xff\xff\xffa.")
                .unwrap_err()
                .contains("too soon")
        );
    }
}
