/** Whether requests to a service stay with their endpoint, which then gets them while it drains, too. */

import type { Labels } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { View } from "../../snapshot/view.ts";

export function keepsSessions(view: View, labels: Labels): boolean {
  if (!view.flag("PILOT_ENABLE_PERSISTENT_SESSION_FILTER", false)) return false;
  const cookie = view.setting("PILOT_PERSISTENT_SESSION_LABEL", "istio.io/persistent-session");
  const header = view.setting("PILOT_PERSISTENT_SESSION_HEADER_LABEL", "istio.io/persistent-session-header");
  return Boolean(ownValue(labels, cookie) || ownValue(labels, header));
}
