/** Whether requests to a service stay with their endpoint, which then gets them while it drains, too. */

import type { Labels } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { View } from "../../snapshot/view.ts";

export function keepsSessions(view: View, labels: Labels): boolean {
  if (!view.feature("persistentSessionFilter")) return false;
  const cookie = view.feature("persistentSessionLabel");
  const header = view.feature("persistentSessionHeaderLabel");
  return Boolean(ownValue(labels, cookie) || ownValue(labels, header));
}
