//! Endpoints: what reads, and what acts.

use actix_web::dev::{AppService, HttpServiceFactory};
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, guard, web};
use lyceum_store::Store;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::openapi::path::{Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{
    Content, HttpMethod, KnownFormat, ObjectBuilder, OneOfBuilder, Ref, RefOr, Required, Response, Schema,
    SchemaFormat, Type,
};
use utoipa::{PartialSchema as _, ToSchema};
use utoipa_actix_web::OpenApiFactory;

use super::answer::{Answer, check_if_match};
use super::document::RequestBody;
use super::page::Page;
use crate::api_error::ApiError;

/// What an endpoint is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// Its name: clients name functions after it.
    pub(crate) name: &'static str,
    /// The address below `/api/v1`.
    path: &'static str,
    /// One sentence.
    summary: &'static str,
    /// What the answer contains.
    answer: &'static str,
}

impl About {
    pub(crate) const fn new(name: &'static str, path: &'static str) -> Self {
        Self { name, path, summary: "", answer: "" }
    }

    pub(crate) const fn says(self, summary: &'static str, answer: &'static str) -> Self {
        Self { summary, answer, ..self }
    }
}

/// Handlers of requests.
pub(crate) trait Handles<A>: Handler<A, Output: Responder + 'static> {}

impl<A, H: Handler<A, Output: Responder + 'static>> Handles<A> for H {}

/// An endpoint, for the router and for the description, from which the guard reads who may.
pub(crate) struct Endpoint {
    about: About,
    method: Method,
    resource: Resource,
    operation: Operation,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Endpoint {
    pub(crate) fn path(&self) -> &'static str {
        self.about.path
    }

    /// An endpoint that reads, for tokens of scope `read`, which `handler` answers, of the group `tag`.
    pub(crate) fn get<A: FromRequest + 'static>(about: About, tag: &str, handler: impl Handles<A>) -> Self {
        Self::new(Method::GET, about, tag, handler).scope("read")
    }

    /// An endpoint that acts, for tokens of scope `write`.
    pub(crate) fn post<A: FromRequest + 'static>(about: About, tag: &str, handler: impl Handles<A>) -> Self {
        Self::new(Method::POST, about, tag, handler)
    }

    /// An endpoint that writes what is at its address, for tokens of scope `write`.
    pub(crate) fn put<A: FromRequest + 'static>(about: About, tag: &str, handler: impl Handles<A>) -> Self {
        Self::new(Method::PUT, about, tag, handler)
    }

    /// An endpoint that changes what is at its address, for tokens of scope `write`.
    pub(crate) fn patch<A: FromRequest + 'static>(about: About, tag: &str, handler: impl Handles<A>) -> Self {
        Self::new(Method::PATCH, about, tag, handler)
    }

    /// An endpoint that deletes what is at its address, for tokens of scope `write`.
    pub(crate) fn delete<A: FromRequest + 'static>(about: About, tag: &str, handler: impl Handles<A>) -> Self {
        Self::new(Method::DELETE, about, tag, handler)
    }

    fn new<A>(method: Method, about: About, tag: &str, handler: impl Handles<A>) -> Self
    where
        A: FromRequest + 'static,
    {
        let resource = Resource::new(about.path).name(about.name).guard(guard::Method(method.clone()));
        let operation = OperationBuilder::new().tag(tag).operation_id(Some(about.name)).summary(Some(about.summary));
        let endpoint =
            Self { about, method, resource: resource.to(handler), operation: operation.build(), schemas: Vec::new() };
        endpoint.scope("write")
    }

    /// For tokens of this scope.
    pub(crate) fn scope(mut self, scope: &str) -> Self {
        self.operation.security = Some(vec![SecurityRequirement::new("token", [scope])]);
        self
    }

    /// For workers, too.
    pub(crate) fn or_worker(mut self) -> Self {
        let ways = self.operation.security.get_or_insert_default();
        ways.push(SecurityRequirement::new("token", ["worker"]));
        self
    }

    /// For everybody, without a token.
    pub(crate) fn open(mut self) -> Self {
        self.operation.security = Some(Vec::new());
        self
    }

    /// With more to say than the summary.
    pub(crate) fn describe(mut self, text: &str) -> Self {
        self.operation.description = Some(text.to_owned());
        self
    }

    pub(crate) fn takes<T: RequestBody + ToSchema>(mut self) -> Self {
        self.schemas.push((T::name().into_owned(), super::schema::bounded::<T>()));
        T::schemas(&mut self.schemas);
        let body = RequestBodyBuilder::new().required(Some(Required::True));
        let schema = Content::new(Some(Ref::from_schema_name(T::name())));
        self.operation.request_body = Some(body.content("application/json", schema).build().into());
        self
    }

    /// With a file as the body of requests, of one of these media types.
    pub(crate) fn takes_file(mut self, what: Option<&str>, types: &[&str]) -> Self {
        let mut body = RequestBodyBuilder::new().required(Some(Required::True)).description(what);
        for media in types {
            let schema = if media.ends_with("json") { String::schema() } else { Vec::<u8>::schema() };
            body = body.content(*media, Content::new(Some(schema)));
        }
        self.operation.request_body = Some(body.build().into());
        self
    }

    /// Refuses a change of what is no longer as the caller knows it ([`check_if_match`]).
    pub(crate) fn if_match(self) -> Self {
        self.header("If-Match", "Its expected ETag", Type::String)
    }

    /// Happens once however often it is sent with the same key ([`super::idempotent`]).
    pub(crate) fn idempotent(self) -> Self {
        let what = "Repeats the response of the request with the same key";
        self.header("Idempotency-Key", what, Type::String)
    }

    /// With a header, which may be left out.
    pub(crate) fn header(mut self, name: &str, what: &str, kind: Type) -> Self {
        let format = matches!(kind, Type::Integer).then_some(SchemaFormat::KnownFormat(KnownFormat::Int64));
        let schema = ObjectBuilder::new().format(format).schema_type(SchemaType::from_iter([kind, Type::Null]));
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(what))
            .schema(Some(schema));
        let all = self.operation.parameters.get_or_insert_default();
        all.push(parameter.build().into());
        self
    }

    /// With `name` in the address, the id of `what`.
    pub(crate) fn id(self, name: &str, what: &str) -> Self {
        let uuid = SchemaFormat::KnownFormat(KnownFormat::Uuid);
        let id = ObjectBuilder::new().schema_type(Type::String).format(Some(uuid));
        self.at(name, what, id.into())
    }

    /// With `name` in the address, the name of `what`.
    pub(crate) fn name(self, name: &str, what: &str) -> Self {
        self.at(name, what, String::schema())
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

    pub(crate) fn answers<T: ToSchema>(self) -> Self {
        self.answers_as::<T>("200", &T::name())
    }

    /// Answers with a new `T`.
    pub(crate) fn creates<T: ToSchema>(self) -> Self {
        self.answers_as::<T>("201", &T::name())
    }

    /// Answers with a `T`, which is changed from now on.
    pub(crate) fn begins<T: ToSchema>(self) -> Self {
        self.answers_as::<T>("202", &T::name())
    }

    /// Answers with a page of a list of `T`.
    pub(super) fn lists<T: ToSchema>(mut self) -> Self {
        self.schemas.push((T::name().into_owned(), T::schema()));
        self.answers_as::<Page<T>>("200", &format!("{}_{}", Page::<T>::name(), T::name()))
    }

    /// Answers with a `T`, which the description has under `name`.
    fn answers_as<T: ToSchema>(mut self, status: &str, name: &str) -> Self {
        self.schemas.push((name.to_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        self.answer(status, "application/json", Ref::from_schema_name(name).into())
    }

    /// Answers with a `T`, or with `null`.
    pub(crate) fn answers_or_null<T: ToSchema>(mut self) -> Self {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        let either = OneOfBuilder::new().item(Ref::from_schema_name(T::name()));
        let either = either.item(ObjectBuilder::new().schema_type(Type::Null));
        self.answer("200", "application/json", either.into())
    }

    /// Answers with a JSON object that has no schema here.
    pub(crate) fn answers_object(self) -> Self {
        let object = ObjectBuilder::new().schema_type(Type::Object);
        self.answer("200", "application/json", object.into())
    }

    /// Answers with bytes of this media type.
    pub(crate) fn answers_bytes(self, media: &str) -> Self {
        self.answer("200", media, Vec::<u8>::schema())
    }

    /// Answers with a text of this media type, too.
    pub(crate) fn or_text(self, media: &str) -> Self {
        self.answer("200", media, String::schema())
    }

    /// Answers with CSV, too.
    pub(crate) fn or_csv(self) -> Self {
        self.or_text("text/csv")
    }

    /// May answer with this status and a `T`, too.
    pub(crate) fn or_answers<T: ToSchema>(mut self, status: &str, what: &str) -> Self {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        let schema = Ref::from_schema_name(T::name());
        self.respond(status, what, "application/json", schema.into())
    }

    fn answer(self, status: &str, media: &str, schema: RefOr<Schema>) -> Self {
        let what = self.about.answer;
        self.respond(status, what, media, schema)
    }

    fn respond(mut self, status: &str, what: &str, media: &str, schema: RefOr<Schema>) -> Self {
        let all = &mut self.operation.responses.responses;
        let response = all.entry(status.to_owned());
        if let RefOr::T(response) = response.or_insert_with(|| Response::new(what).into()) {
            response.content.insert(media.to_owned(), Content::new(Some(schema)).into());
        }
        self
    }

    pub(crate) fn answers_nothing(self) -> Self {
        let what = self.about.answer;
        self.or("204", what)
    }

    /// May answer with this status, too.
    pub(crate) fn or(mut self, status: &str, what: &str) -> Self {
        let all = &mut self.operation.responses.responses;
        all.insert(status.to_owned(), Response::new(what).into());
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
        let method = match self.method {
            Method::POST => HttpMethod::Post,
            Method::PUT => HttpMethod::Put,
            Method::PATCH => HttpMethod::Patch,
            Method::DELETE => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        let item = PathItem::new(method, self.operation.clone());
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

/// Acts on what `find` finds at the address, if it still matches `If-Match`, and answers with the result.
pub(crate) fn act<A, T, F, D>(about: About, tag: &str, find: F, act: D) -> Endpoint
where
    A: DeserializeOwned + Copy + 'static,
    T: Serialize + ToSchema + 'static,
    F: AsyncFn(&PgPool, A) -> lyceum_store::Result<T> + Clone + 'static,
    D: AsyncFn(&PgPool, A) -> lyceum_store::Result<()> + Clone + 'static,
{
    let handler = move |request: HttpRequest, store: web::Data<Store>, address: web::Path<A>| {
        let (find, act) = (find.clone(), act.clone());
        async move {
            let db = store.pool();
            check_if_match(&request, &find(db, *address).await?)?;
            act(db, *address).await?;
            Ok::<_, ApiError>(Answer::accepted(find(db, *address).await?))
        }
    };
    Endpoint::post(about, tag, handler).begins::<T>()
}

/// Deletes what `find` finds at the address, if it still matches `If-Match`.
pub(crate) fn delete<A, T, F, R>(about: About, tag: &str, find: F, remove: R) -> Endpoint
where
    A: DeserializeOwned + Copy + 'static,
    T: Serialize + 'static,
    F: AsyncFn(&PgPool, A) -> lyceum_store::Result<T> + Clone + 'static,
    R: AsyncFn(&PgPool, A) -> lyceum_store::Result<()> + Clone + 'static,
{
    let handler = move |request: HttpRequest, store: web::Data<Store>, address: web::Path<A>| {
        let (find, remove) = (find.clone(), remove.clone());
        async move {
            check_if_match(&request, &find(store.pool(), *address).await?)?;
            remove(store.pool(), *address).await?;
            Ok::<_, ApiError>(HttpResponse::NoContent().finish())
        }
    };
    Endpoint::delete(about, tag, handler).answers_nothing()
}
