/** Sessions that the labels of a service ask for: requests stay with their endpoint, which then gets them while it drains, too. */
import { type Labels, ownValue } from "@flotilla/model";
import type { Any } from "@flotilla/proto";
import type { StatefulSession } from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import type { View } from "../../snapshot/view.ts";
import { sessionOfRoutes, sessionState } from "../envoy/routes/route-filters.ts";

export function sessionsAreKept(view: View): boolean {
  return view.feature("persistentSessionFilter");
}

/** True where draining endpoints are kept. As in istiod, the labels decide it alone: the setting is about the filter. */
export function keepsSessions(view: View, labels: Labels): boolean {
  const { cookie, header } = namesIn(view, labels);
  return Boolean(cookie || header);
}

/** Undefined where requests to the service do not keep to an endpoint. */
export function sessionConfig(view: View, labels: Labels): Any | undefined {
  const state = sessionStateOf(view, labels);
  return state && sessionOfRoutes(state);
}

/** See `sessionConfig`. */
export function sessionStateOf(view: View, labels: Labels): StatefulSession | undefined {
  if (!sessionsAreKept(view)) return undefined;
  const { cookie, header } = namesIn(view, labels);
  return cookie || header ? sessionState(cookie, header) : undefined;
}

function namesIn(
  view: View,
  labels: Labels,
): { readonly cookie?: string | undefined; readonly header?: string | undefined } {
  return {
    cookie: ownValue(labels, view.feature("persistentSessionLabel")),
    header: ownValue(labels, view.feature("persistentSessionHeaderLabel")),
  };
}
