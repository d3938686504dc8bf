/** Sessions that stay with one endpoint, as a service's labels ask for. Source: scenario services/persistent-session. */
import type { Labels } from "@flotilla/model";
import { type Any, create, type GenMessage, type Message, pack } from "@flotilla/proto";
import { StatefulSessionPerRouteSchema } from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import { CookieBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie_pb";
import { HeaderBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/header/v3/header_pb";

export const sessionFilter = "envoy.filters.http.stateful_session";
/** Value: `cookie` or `cookie:/path`. */
const cookieLabel = "istio.io/persistent-session";
const headerLabel = "istio.io/persistent-session-header";

/** What of a service decides about its sessions: `cookie name:path`, `header name` or nothing. */
export function sessionText(labels: Labels): string {
  const cookie = labels[cookieLabel];
  if (cookie) return `cookie ${cookie}`;
  const header = labels[headerLabel];
  return header ? `header ${header}` : "";
}

/** The virtual host's part of the filter's configuration. */
export function sessionConfig(text: string): Any | undefined {
  const [kind, value = ""] = text.split(" ");
  if (kind === "header") {
    const state = create(HeaderBasedSessionStateSchema, { name: value });
    return statefulSession("envoy.http.stateful_session.header", HeaderBasedSessionStateSchema, state);
  }
  if (kind !== "cookie") return undefined;
  const [name = "", path] = value.split(":");
  const state = create(CookieBasedSessionStateSchema, { cookie: { name, path: path ?? "/" } });
  return statefulSession("envoy.http.stateful_session.cookie", CookieBasedSessionStateSchema, state);
}

function statefulSession<State extends Message>(name: string, schema: GenMessage<State>, state: State): Any {
  const perRoute = create(StatefulSessionPerRouteSchema, {
    override: { case: "statefulSession", value: { sessionState: { name, typedConfig: pack(schema, state) } } },
  });
  return pack(StatefulSessionPerRouteSchema, perRoute);
}
