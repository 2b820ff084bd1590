//! `/views/{id}` leads to the page that was saved.

use actix_web::{HttpResponse, get, http::header::LOCATION, web};
use lyceum_store::views;
use uuid::Uuid;

use crate::{api_error::ApiError, frame::address::PageAddress, lab::Lab};

#[get("/views/{id}")]
pub(crate) async fn open_view(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let saved = views::find(db, *id).await?;
    let page = PageAddress::parse(&saved.address).map_err(ApiError::not_found)?;
    match page.missing_run(db).await? {
        Some(run) => Err(ApiError::not_found(format!(
            "the saved view `{}` shows the run {run}, which was deleted; delete the view at /views, or save it anew",
            saved.name
        ))),
        None => Ok(HttpResponse::SeeOther()
            .insert_header((LOCATION, page.address()))
            .finish()),
    }
}
