/** Sessions that stay with one endpoint, as a service's labels ask for. Source: scenario services/persistent-session. */
import { type Any, create, type GenMessage, type Message, pack } from "@flotilla/proto";
import { StatefulSessionPerRouteSchema } from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import { CookieBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie_pb";
import { HeaderBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/header/v3/header_pb";

export const sessionFilter = "envoy.filters.http.stateful_session";

/** The filter's configuration for requests that keep to one endpoint; a cookie (`name` or `name:/path`) counts more than a header. */
export function sessionState(cookie: string | undefined, header: string | undefined): Any | undefined {
  if (!cookie && header) {
    const state = create(HeaderBasedSessionStateSchema, { name: header });
    return statefulSession("envoy.http.stateful_session.header", HeaderBasedSessionStateSchema, state);
  }
  if (!cookie) return undefined;
  const [name = "", path] = cookie.split(":");
  const state = create(CookieBasedSessionStateSchema, { cookie: { name, path: path ?? "/" } });
  return statefulSession("envoy.http.stateful_session.cookie", CookieBasedSessionStateSchema, state);
}

function statefulSession<State extends Message>(name: string, schema: GenMessage<State>, state: State): Any {
  const perRoute = create(StatefulSessionPerRouteSchema, {
    override: { case: "statefulSession", value: { sessionState: { name, typedConfig: pack(schema, state) } } },
  });
  return pack(StatefulSessionPerRouteSchema, perRoute);
}
