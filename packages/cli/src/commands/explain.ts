/** `flotilla explain PROXY TYPE NAME`: why a proxy has a resource as it is. */
import { ask } from "../connection.ts";
import type { explain as definition } from "../definitions/insight.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import type { Part } from "../proxy-config/dump.ts";

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
    /** False: the proxy does not subscribe to it. */
    readonly asked?: boolean;
    readonly acknowledged?: { readonly position: number; readonly at: string };
    readonly refused?: string;
  };
}

export const explain: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const { proxy, type, name } = operands;
  const query = { proxyID: proxy, type, name };
  const answer = await ask<Explanation>("xds-server", options, "/debug/explain", query).catch((error: unknown) => {
    throw withPlaceToLook(error, proxy, type);
  });
  terminal.print(render(formatOf(options), answer, describe));
  return 0;
};

export function describe({ proxy, name, version, position, since, change, madeFrom, delivery }: Explanation): string {
  const when = typeof since === "string" ? since : `as it is since change ${since.position}, ${since.at}`;
  const changes = (change?.differences ?? []).map(
    ({ path, before, after }) => `  ${path}: ${valueText(before)} → ${valueText(after)}`,
  );
  const [settings, objects] = [madeFrom.filter(isSetting), madeFrom.filter((one) => !isSetting(one))];
  const origins = objects.map(({ object, position: last, at = "", source = "" }) => [
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
    ...(settings.length === 0
      ? []
      : [`by the settings ${settings.map(({ object }) => object.slice(settingWord.length)).join(", ")}`]),
    deliveryText(delivery),
  ].join("\n");
}

const settingWord = "setting ";

function isSetting({ object }: Explanation["madeFrom"][number]): boolean {
  return object.startsWith(settingWord);
}

const partsByType: ReadonlyMap<string, Part> = new Map([
  ["cds", "clusters"],
  ["lds", "listeners"],
  ["rds", "routes"],
  ["eds", "endpoints"],
  ["sds", "secrets"],
]);

/** Names the command that lists the resources of the type. */
function withPlaceToLook(error: unknown, proxy: string, type: string): unknown {
  const part = partsByType.get(type);
  if (!(error instanceof CliError) || error.code !== "CLI_ABSENT" || part === undefined) return error;
  if (!/ gets no /.test(error.message)) return error;
  const text = error.message.replace(/^\[CLI_ABSENT\] /, "");
  return new CliError(error.code, `${text}: \`flotilla proxy-config ${part} ${proxy} -o json\` has all names`);
}

function deliveryText({ asked, acknowledged, refused }: Explanation["delivery"]): string {
  if (asked === false) return "the proxy does not subscribe to it: this is what it would get";
  if (refused !== undefined) return `rejected by the proxy: ${refused}`;
  if (acknowledged === undefined) return "not acknowledged yet";
  return `acknowledged as of change ${acknowledged.position}, ${acknowledged.at}`;
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
