/** `flotilla status [OBJECT]`: services, proxies and what they have, refused objects and those not yet in effect; or one object. */
import { ask } from "../connection.ts";
import type { status as definition } from "../definitions/insight.ts";
import { describeObject, type ObjectStatus } from "../object-status.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { collectStatus } from "../status/collect-status.ts";
import { describeStatus } from "../status/describe-status.ts";

export const status: Run<typeof definition> = async ({ options, operands: { object }, terminal }) => {
  const format = formatOf(options);
  if (object !== undefined) {
    const answer = await ask<ObjectStatus>("config-controller", options, "/debug/objects", { object });
    terminal.print(render(format, answer, describeObject));
    return isRefused(answer) ? 3 : 0;
  }
  const found = await collectStatus(options);
  terminal.print(render(format, found, (value) => describeStatus(value, format)));
  if (found.services.every(({ state }) => state === "away")) return 4;
  const isReady = found.services.every(({ state }) => state === "ready");
  return isReady && found.refusals === 0 ? 0 : 3;
};

function isRefused({ state, inForce }: ObjectStatus): boolean {
  return state === "refused" || (inForce?.distribution.refusals.length ?? 0) > 0;
}
