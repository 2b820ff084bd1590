//! `/datasets/new`: a form that imports a file or a dataset of the hub.

use actix_web::{HttpResponse, get};
use askama::Template;
use lyceum_core::{
    benchmark::shipped_suites,
    dataset::{MapField, OracleKind, Purpose, RowFormat, row_formats},
};
use serde::Serialize;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::View,
    },
};

#[derive(Template, Serialize)]
#[template(path = "dataset_new.html")]
struct NewDatasetPage {
    #[serde(skip)]
    layout: Layout,
    purposes: [&'static str; Purpose::ALL.len()],
    formats: Vec<NamedFormat>,
    suites: Vec<NamedSuite>,
    oracles: [&'static str; OracleKind::ALL.len()],
    /// The fields of a map.
    fields: Vec<NamedField>,
}

/// A format of rows.
#[derive(Serialize)]
struct NamedFormat {
    name: &'static str,
    title: &'static str,
    source: &'static str,
}

/// A suite, whose own file can be imported.
#[derive(Serialize)]
struct NamedSuite {
    name: &'static str,
    title: &'static str,
}

/// A field of a map.
#[derive(Serialize)]
struct NamedField {
    name: &'static str,
    about: &'static str,
    /// The kinds of oracle that have it.
    oracles: Vec<&'static str>,
    /// Those that need it.
    needed: Vec<&'static str>,
}

impl NamedFormat {
    fn of(format: &'static RowFormat) -> Self {
        Self {
            name: &format.name,
            title: &format.title,
            source: &format.source,
        }
    }
}

impl NamedField {
    fn of(field: &MapField) -> Self {
        let names = |oracles: &[OracleKind]| oracles.iter().map(|oracle| oracle.name()).collect();
        Self {
            name: field.name,
            about: field.about,
            oracles: names(field.oracles),
            needed: names(field.needed),
        }
    }
}

/// The form.
#[get("/datasets/new")]
pub(crate) async fn show_new_dataset(view: View) -> Result<HttpResponse, ApiError> {
    let suites = shipped_suites().iter().map(|suite| NamedSuite {
        name: &suite.name,
        title: &suite.title,
    });
    view.show(&NewDatasetPage {
        layout: view.layout("Import a dataset", Section::Datasets),
        purposes: Purpose::ALL.map(Purpose::name),
        formats: row_formats().iter().map(NamedFormat::of).collect(),
        suites: suites.collect(),
        oracles: OracleKind::ALL.map(OracleKind::name),
        fields: MapField::ALL.iter().map(NamedField::of).collect(),
    })
}
