//! Pages of lists.

use actix_web::HttpRequest;
use actix_web::http::header::LINK;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lyceum_store::page::{self, Key, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::Answer;
use crate::api_error::ApiError;

/// Default rows per page.
pub(crate) const DEFAULT_LIMIT: u32 = 50;

/// The direction of a list sorted by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

impl Order {
    /// Its name in addresses.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

impl From<Order> for page::Order {
    fn from(order: Order) -> Self {
        match order {
            Order::Newest => Self::Newest,
            Order::Oldest => Self::Oldest,
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// The rows.
    pub(crate) items: Vec<T>,
    /// The `cursor` of the next page; absent on the last. The header `Link` has the whole address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// The header `Link` with the address of the next page, if there is one.
    pub(crate) fn link(&self, request: &HttpRequest) -> Option<String> {
        self.next.as_deref().map(|cursor| link(request, cursor))
    }
}

/// A list in one of its orders. Its name is part of its cursors, so they are not valid for other lists.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    name: String,
    window: Window,
}

impl Listing {
    /// The requested part of the list `name`.
    pub(crate) fn new(
        name: &str,
        limit: Option<u32>,
        cursor: Option<&str>,
        order: Option<Order>,
    ) -> Result<Self, ApiError> {
        let order = order.unwrap_or_default();
        let name = format!("{name}.{}", order.name());
        let window = Window {
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            after: cursor.map(|cursor| read_cursor(&name, cursor)).transpose()?,
            order: order.into(),
        };
        Ok(Self { name, window })
    }

    /// The window for the store.
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// `page` with the cursor of the next page.
    pub(crate) fn page<T>(&self, page: page::Page<T>) -> Page<T> {
        Page { items: page.items, next: page.next.map(|key| write_cursor(&self.name, key)) }
    }

    /// The response with `page` and the address of the next one.
    pub(crate) fn answer<T>(&self, request: &HttpRequest, page: page::Page<T>) -> Answer<Page<T>> {
        let page = self.page(page);
        let link = page.link(request);
        let answer = Answer::ok(page);
        match link {
            Some(link) => answer.header(LINK, &link),
            None => answer,
        }
    }
}

/// Format of cursors, so that a later release can recognize those of this one.
const VERSION: u8 = 1;

fn write_cursor(list: &str, key: Key) -> String {
    let key = (VERSION, list, key.seq, key.value);
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&key).unwrap_or_default())
}

fn read_cursor(list: &str, cursor: &str) -> Result<Key, ApiError> {
    let wrong = |detail: &str| ApiError::invalid_query(vec![("cursor".to_owned(), detail.to_owned())]);
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong("this is not a cursor; use `next` of a page"))?;
    let (version, name, seq, value): (u8, String, i64, Option<f32>) =
        serde_json::from_slice(&bytes).map_err(|_| wrong("this is not a cursor; use `next` of a page"))?;
    if version != VERSION || name != list {
        return Err(wrong("this cursor belongs to another list, order or release; start again without it"));
    }
    Ok(Key { value, seq })
}

/// RFC 8288.
fn link(request: &HttpRequest, cursor: &str) -> String {
    let kept = request.query_string().split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query = kept.map(str::to_owned).chain([format!("cursor={cursor}")]).collect::<Vec<_>>().join("&");
    format!("<{}?{query}>; rel=\"next\"", request.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_reads_back_what_it_wrote(seq: i64, value in proptest::option::of(0f32..=1.0)) {
            let key = Key { value, seq };
            prop_assert_eq!(read_cursor("runs.newest", &write_cursor("runs.newest", key)).unwrap(), key);
        }

        #[test]
        fn what_is_no_cursor_is_refused(text in ".{0,60}") {
            prop_assert!(read_cursor("runs.newest", &text).is_err());
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = write_cursor("runs.newest", Key { value: None, seq: 3 });
        assert!(read_cursor("runs.oldest", &cursor).is_err());
    }
}
