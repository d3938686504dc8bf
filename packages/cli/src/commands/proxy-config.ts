/** `flotilla proxy-config PART PROXY`: what xds-server sends a proxy, as tables or whole. */
import { ownValue } from "@flotilla/model";
import { ask } from "../connection.ts";
import type { proxyConfig as definition } from "../definitions/proxies.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import {
  type ConfigDump,
  type DumpedResource,
  dumpTypes,
  type Part,
  parts,
  resourcesOf,
} from "../proxy-config/dump.ts";
import { tables } from "../proxy-config/tables.ts";

export const proxyConfig: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const wanted = partsOf(operands.part);
  const query = { proxyID: operands.proxy, types: dumpTypes(wanted) };
  const dump = await ask<ConfigDump>("xds-server", options, "/debug/config_dump", query);
  const isMeant = ({ name }: DumpedResource) => options.name === undefined || name.includes(options.name);
  const found = wanted.map((part) => [part, resourcesOf(dump, part).filter(isMeant)] as const);
  const whole = Object.fromEntries(found.map(([part, all]) => [part, all.map(({ json }) => json)]));
  const [only] = wanted;
  const value = wanted.length === 1 && only !== undefined ? whole[only] : whole;
  const describe = () => found.map(([part, all]) => tableOf(part, all)).join("\n\n");
  terminal.print(render(formatOf(options), value, describe));
  return 0;
};

/** Short names of istioctl. */
const shortNames: Readonly<Record<string, Part>> = {
  c: "clusters",
  l: "listeners",
  r: "routes",
  ep: "endpoints",
  s: "secrets",
};

/** Accepts the singular and the short names too, as istioctl does. @throws CliError CLI_USAGE */
function partsOf(given: string): readonly Part[] {
  if (given === "all" || given === "a") return parts;
  const part = ownValue(shortNames, given) ?? parts.find((one) => one === given || one === `${given}s`);
  if (part === undefined) throw new CliError("CLI_USAGE", `${given} is none of ${parts.join(", ")}, all`);
  return [part];
}

function tableOf(part: Part, all: readonly DumpedResource[]): string {
  const { heads, rows } = tables[part];
  if (all.length === 0) return `no ${part}`;
  return columns([heads, ...all.flatMap(rows)]);
}
