//! JSON as Python values, with integers of any size.

use num_bigint::BigInt;

use super::{Comparison, MAX_DEPTH, PyStr, UniqueKeys, Value};

impl Value {
    /// Parses JSON like Python's `json.loads`. A number out of range becomes infinite.
    ///
    /// # Errors
    /// If the text is not JSON, or nests deeper than [`MAX_DEPTH`].
    pub fn from_json(text: &str) -> Result<Self, String> {
        // The whole text is validated first, so that the parser below can be simple.
        serde_json::from_str::<serde::de::IgnoredAny>(text).or_else(|error| {
            // Numbers out of range are valid here.
            if error.to_string().starts_with("number out of range") {
                Ok(serde::de::IgnoredAny)
            } else {
                Err(error.to_string())
            }
        })?;
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.space();
        if reader.rest.is_empty() { Ok(value) } else { Err("text after the end of the JSON".to_owned()) }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        self.space();
        if self.eat(text) { Ok(()) } else { Err(format!("`{text}` is missing in the JSON")) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("the JSON nests deeper than {MAX_DEPTH}"));
        }
        self.space();
        if self.eat("null") {
            Ok(Value::None)
        } else if self.eat("true") {
            Ok(Value::Bool(true))
        } else if self.eat("false") {
            Ok(Value::Bool(false))
        } else if self.rest.starts_with('"') {
            self.string().map(Value::Str)
        } else if self.eat("[") {
            self.list(depth)
        } else if self.eat("{") {
            self.object(depth)
        } else {
            self.number()
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        self.space();
        if self.eat("]") {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if !self.eat(",") {
                self.expect("]")?;
                return Ok(Value::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut pairs = Vec::new();
        self.space();
        if !self.eat("}") {
            loop {
                self.space();
                let key = Value::Str(self.string()?);
                self.expect(":")?;
                pairs.push((key, self.value(depth + 1)?));
                self.space();
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
        }
        let mut keys = UniqueKeys::new(Comparison::Python);
        if pairs.iter().enumerate().any(|(at, (key, _))| keys.insert(key, at).is_some()) {
            return Err("a key is repeated in an object".to_owned());
        }
        Ok(Value::Dict(pairs))
    }

    fn string(&mut self) -> Result<PyStr, String> {
        let mut end = None;
        let mut bytes = self.rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()),
                b'"' => {
                    end = Some(at + 1);
                    break;
                }
                _ => {}
            }
        }
        let (text, rest) = self.rest.split_at(end.ok_or("a string that does not end")?);
        let text: String = serde_json::from_str(text).map_err(|error| error.to_string())?;
        self.rest = rest;
        Ok(PyStr::from(text.as_str()))
    }

    fn number(&mut self) -> Result<Value, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let unreadable = || format!("unreadable JSON at {text:?}");
        if text.contains(['.', 'e', 'E']) {
            return text.parse().map(Value::Float).map_err(|_| unreadable());
        }
        if text.len() > super::MAX_INT_BITS as usize / 3 {
            return Err("an integer with too many digits".to_owned());
        }
        BigInt::parse_bytes(text.as_bytes(), 10).map(Value::Int).ok_or_else(unreadable)
    }
}
