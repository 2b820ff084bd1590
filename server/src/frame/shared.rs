//! Pages as whoever has only a link to one sees them: links to what is not shared lead nowhere.

use actix_web::http::Uri;
use lol_html::errors::RewritingError;
use lol_html::{RewriteStrSettings, element, rewrite_str};

use crate::frame::address::PageAddress;

/// `html`, the page at `here`, in which only links to what `shared` covers, within the page and to other sites are links.
pub(super) fn without_links_elsewhere(html: &str, shared: &PageAddress, here: &Uri) -> Result<String, RewritingError> {
    let check = element!("a[href]", |link| {
        let address = link.get_attribute("href").unwrap_or_default();
        if !stays(&address.replace("&#38;", "&").replace("&amp;", "&"), shared, here) {
            link.remove_attribute("href");
        }
        Ok(())
    });
    rewrite_str(html, RewriteStrSettings { element_content_handlers: vec![check], ..RewriteStrSettings::new() })
}

fn stays(address: &str, shared: &PageAddress, here: &Uri) -> bool {
    let address = address.split('#').next().unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    match path {
        "" => address.is_empty() || shared.covers(here.path(), query),
        "/login" => true,
        path if path.starts_with('/') => shared.covers(path.strip_suffix(".json").unwrap_or(path), query),
        _ => path.starts_with("https://") || path.starts_with("http://"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_what_is_shared_remain() {
        let run = "/runs/00000000-0000-4000-8000-000000000001";
        let shared = PageAddress::parse(run).unwrap();
        let here = run.parse().unwrap();
        let kept = |href: &str| {
            let html = format!("<a class=\"button\" href=\"{href}\">x</a>");
            without_links_elsewhere(&html, &shared, &here).unwrap() == html
        };
        let problem = format!("{run}/problems?type=code_o&#38;valid=true");
        for own in ["", "#data", "?step=3", run, &problem, "/login", "https://example.org/"] {
            assert!(kept(own), "{own}");
        }
        for other in ["/", "/runs", "/runs/x", "/work?run=1", "//evil.example/", "javascript:alert(1)"] {
            assert!(!kept(other), "{other}");
        }
        let table = PageAddress::parse("/runs?tag=a&state=running").unwrap();
        let next = "<a href=\"?state=running&#38;tag=a&#38;cursor=x\">next</a>";
        let all = "<a href=\"?state=running\">all</a>";
        let here = "/runs?tag=a&state=running".parse().unwrap();
        assert_eq!(without_links_elsewhere(next, &table, &here).unwrap(), next);
        assert_eq!(without_links_elsewhere(all, &table, &here).unwrap(), "<a>all</a>");
    }
}
