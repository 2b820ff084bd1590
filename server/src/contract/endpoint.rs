//! Endpoints that read.

use actix_web::{
    FromRequest, Handler, Resource, Responder,
    dev::{AppService, HttpServiceFactory},
    guard, web,
};
use lyceum_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sqlx::PgPool;
use utoipa::{
    PartialSchema as _, ToSchema,
    openapi::{
        Content, HttpMethod, KnownFormat, ObjectBuilder, Ref, RefOr, Required, Response, Schema, SchemaFormat, Type,
        path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, Paths},
        security::SecurityRequirement,
    },
};
use utoipa_actix_web::OpenApiFactory;

use super::{answer::Answer, page::Page};
use crate::api_error::ApiError;

/// What an endpoint is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// Its name: clients name functions after it.
    pub(crate) name: &'static str,
    /// The address below `/api/v1`.
    pub(crate) path: &'static str,
    /// One sentence.
    pub(crate) summary: &'static str,
    /// What the answer contains.
    pub(crate) answer: &'static str,
}

/// An endpoint that reads: `GET`, with a token of scope `read`.
pub(crate) struct Endpoint {
    about: About,
    resource: Resource,
    operation: Operation,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Endpoint {
    /// An endpoint that `handler` answers, of the group `tag`.
    pub(crate) fn get<H, A>(about: About, tag: &str, handler: H) -> Self
    where
        H: Handler<A>,
        A: FromRequest + 'static,
        H::Output: Responder + 'static,
    {
        let resource = Resource::new(about.path).name(about.name).guard(guard::Get());
        let operation = OperationBuilder::new()
            .tag(tag)
            .operation_id(Some(about.name))
            .summary(Some(about.summary))
            .security(SecurityRequirement::new("token", ["read"]));
        Self {
            about,
            resource: resource.to(handler),
            operation: operation.build(),
            schemas: Vec::new(),
        }
    }

    /// With `name` in the address, the id of `what`.
    pub(crate) fn id(self, name: &str, what: &str) -> Self {
        let uuid = SchemaFormat::KnownFormat(KnownFormat::Uuid);
        let id = ObjectBuilder::new().schema_type(Type::String).format(Some(uuid));
        self.at(name, what, id.into())
    }

    /// With `name` in the address, the number of `what`, from 0.
    pub(crate) fn number(self, name: &str, what: &str) -> Self {
        self.at(name, what, u32::schema())
    }

    fn at(mut self, name: &str, what: &str, schema: RefOr<Schema>) -> Self {
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(what))
            .schema(Some(schema));
        let all = self.operation.parameters.get_or_insert_default();
        all.push(parameter.build().into());
        self
    }

    /// With the fields of `Q` as parameters.
    pub(crate) fn query<Q: JsonSchema + 'static>(mut self) -> Self {
        let parameters = super::query_parameters::<Q>().into_iter().map(RefOr::T);
        self.operation.parameters.get_or_insert_default().extend(parameters);
        self
    }

    /// Answers with a `T`.
    pub(crate) fn answers<T: ToSchema>(self) -> Self {
        self.answers_as::<T>(&T::name())
    }

    /// Answers with a page of a list of `T`.
    pub(super) fn lists<T: ToSchema>(mut self) -> Self {
        self.schemas.push((T::name().into_owned(), T::schema()));
        self.answers_as::<Page<T>>(&format!("{}_{}", Page::<T>::name(), T::name()))
    }

    /// Answers with a `T`, which the description has under `name`.
    fn answers_as<T: ToSchema>(mut self, name: &str) -> Self {
        self.schemas.push((name.to_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        let mut response = Response::new(self.about.answer);
        let schema = Content::new(Some(Ref::from_schema_name(name)));
        response.content.insert("application/json".to_owned(), schema.into());
        let all = &mut self.operation.responses.responses;
        all.insert("200".to_owned(), response.into());
        self
    }

    /// Answers with CSV, too.
    pub(crate) fn or_csv(mut self) -> Self {
        let text = Content::new(Some(String::schema()));
        if let Some(RefOr::T(response)) = self.operation.responses.responses.get_mut("200") {
            response.content.insert("text/csv".to_owned(), text.into());
        }
        self
    }
}

impl HttpServiceFactory for Endpoint {
    fn register(self, service: &mut AppService) {
        self.resource.register(service);
    }
}

impl OpenApiFactory for Endpoint {
    fn paths(&self) -> Paths {
        let item = PathItem::new(HttpMethod::Get, self.operation.clone());
        Paths::builder().path(self.about.path, item).build()
    }

    fn schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(self.schemas.iter().cloned());
    }
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// JSON.
    #[default]
    Json,
    /// CSV with a header; the header `Link` has the next page.
    Csv,
}

/// Shows what `read` finds at the address.
pub(crate) fn show<A, T, R>(about: About, tag: &str, read: R) -> Endpoint
where
    A: DeserializeOwned + 'static,
    T: Serialize + ToSchema + 'static,
    R: AsyncFn(&PgPool, A) -> lyceum_store::Result<T> + Clone + 'static,
{
    let handler = move |store: web::Data<Store>, address: web::Path<A>| {
        let read = read.clone();
        async move { Ok::<_, ApiError>(Answer::ok(read(store.pool(), address.into_inner()).await?)) }
    };
    Endpoint::get(about, tag, handler).answers::<T>()
}
