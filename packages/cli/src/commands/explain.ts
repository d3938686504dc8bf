/** `flotilla explain PROXY TYPE NAME`: why a proxy has a resource as it is. */
import { ask } from "../connection.ts";
import type { explain as definition } from "../definitions/insight.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** Answer of `/debug/explain` of xds-server. */
export interface Explanation {
  readonly proxy: string;
  readonly name: string;
  readonly version: string;
  readonly position: number;
  readonly since: { readonly position: number; readonly at: string } | string;
  readonly change?: {
    readonly causedBy: readonly string[];
    readonly differences: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
  };
  readonly madeFrom: readonly {
    readonly object: string;
    readonly position?: number;
    readonly at?: string;
    readonly by?: string;
    readonly source?: string;
  }[];
  readonly delivery: {
    readonly acknowledged?: { readonly position: number; readonly at: string };
    readonly refused?: string;
  };
}

export const explain: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const { proxy, type, name } = operands;
  const answer = await ask<Explanation>("xds-server", options, "/debug/explain", { proxyID: proxy, type, name });
  terminal.print(render(formatOf(options), answer, describe));
  return 0;
};

export function describe({ proxy, name, version, position, since, change, madeFrom, delivery }: Explanation): string {
  const when = typeof since === "string" ? since : `as it is since change ${since.position}, ${since.at}`;
  const changes = (change?.differences ?? []).map(
    ({ path, before, after }) => `  ${path}: ${valueText(before)} → ${valueText(after)}`,
  );
  const origins = madeFrom.map(({ object, position: last, at = "", source = "" }) => [
    `  ${object}`,
    last === undefined ? "" : `${last}`,
    at,
    source,
  ]);
  return [
    `${name} of ${proxy}, version ${version}, as of change ${position}`,
    when,
    ...(change === undefined ? [] : [`by ${change.causedBy.join(", ") || "an object that is gone"}`, ...changes]),
    "made from",
    columns([["  OBJECT", "CHANGE", "TIME", "SOURCE"], ...origins]),
    deliveryText(delivery),
  ].join("\n");
}

function deliveryText({ acknowledged, refused }: Explanation["delivery"]): string {
  if (refused !== undefined) return `rejected by the proxy: ${refused}`;
  if (acknowledged === undefined) return "not acknowledged yet";
  return `acknowledged as of change ${acknowledged.position}, ${acknowledged.at}`;
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
