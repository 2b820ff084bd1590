// Requests to this server, with the session's CSRF token if they change anything.

export interface FieldFault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** A problem document (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly errors: FieldFault[],
  ) {
    super(detail);
  }
}

const csrf = (): string => document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content ?? "";

async function request(method: string, path: string, body?: string | Blob, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = body instanceof Blob ? "application/octet-stream" : "application/json";
  if (method !== "GET") headers["x-csrf-token"] = csrf();
  const response = await fetch(path, { method, headers, body: body ?? null, signal: signal ?? null });
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Problem(response.status, said.title ?? response.statusText, said.detail ?? "The server gave no further details.", said.errors ?? []);
}

/** GETs JSON. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request("GET", path, undefined, signal)).json();
}

/** Sends JSON and returns the JSON of the response, if any. */
export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await request(method, path, body === undefined ? undefined : JSON.stringify(body), signal);
  return response.status === 204 ? (undefined as T) : response.json();
}

/** POSTs a file, which the browser reads as it sends it, and returns the JSON of the response. */
export async function upload<T>(path: string, file?: Blob): Promise<T> {
  return (await request("POST", path, file)).json();
}
