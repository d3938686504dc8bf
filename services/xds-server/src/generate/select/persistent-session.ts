/** Whether requests to a service stay with their endpoint, which then gets them while it drains, too: as its labels ask for. */
import { type Labels, ownValue } from "@flotilla/model";
import type { Any } from "@flotilla/proto";
import type { View } from "../../snapshot/view.ts";
import { sessionState } from "../envoy/routes/route-filters.ts";

export function sessionsAreKept(view: View): boolean {
  return view.feature("persistentSessionFilter");
}

export function keepsSessions(view: View, labels: Labels): boolean {
  const { cookie, header } = namesIn(view, labels);
  return Boolean(cookie || header);
}

/** Undefined where requests to the service do not keep to an endpoint. */
export function sessionConfig(view: View, labels: Labels): Any | undefined {
  const { cookie, header } = namesIn(view, labels);
  return sessionState(cookie, header);
}

function namesIn(
  view: View,
  labels: Labels,
): { readonly cookie?: string | undefined; readonly header?: string | undefined } {
  if (!sessionsAreKept(view)) return {};
  return {
    cookie: ownValue(labels, view.feature("persistentSessionLabel")),
    header: ownValue(labels, view.feature("persistentSessionHeaderLabel")),
  };
}
