/** The names that the code honours: of its settings, its command line, its debug pages, its metrics, its messages. */
import { messageList } from "@flotilla/analysis";
import { commands } from "../../../../packages/cli/src/commands.ts";
import { discoveryFlags } from "../../../../packages/cli/src/discovery/flags.ts";
import { metricsTables } from "../../../../scripts/metrics-tables.ts";
import { settingsTables } from "../../../../scripts/settings-tables.ts";
import { registryPages } from "../../../../services/service-controller/src/app/pages.ts";
import { injectionPages } from "../../../../services/webhook/src/app/pages.ts";
import { debugPages } from "../../../../services/xds-server/src/debug/pages.ts";
import type { NamesByKind } from "./kinds.ts";

export async function honouredNames(): Promise<NamesByKind<ReadonlySet<string>>> {
  const settings = Object.values(settingsTables).flatMap((table) => Object.values(table));
  const metrics = Object.values(await metricsTables()).flat();
  return {
    environment: new Set(settings.flatMap(({ env, alias }) => (alias === undefined ? [env] : [env, alias]))),
    flags: new Set([...flagsOfDiscovery(), ...flagsOfVersion()]),
    pages: pagesServed(),
    metrics: new Set(metrics.map(({ name }) => name)),
    messages: new Set(messageList.map(({ code }) => code)),
  };
}

/** Those with an effect. */
function flagsOfDiscovery(): readonly string[] {
  return discoveryFlags.flatMap(({ name, effect }) => (effect.type === "none" ? [] : [`--${name}`]));
}

function flagsOfVersion(): readonly string[] {
  const version = commands.find(({ definition }) => definition.name === "version");
  return Object.values(version?.definition.options ?? {}).flatMap(({ flags }) => flags.match(/--[\w-]+/g) ?? []);
}

/** Of all services. Pages look at what they show when they are asked, so that their list needs none of it. */
function pagesServed(): ReadonlySet<string> {
  const nothing = {} as Parameters<typeof debugPages>[0];
  const ofOthers = { ...registryPages({} as Parameters<typeof registryPages>[0]), ...injectionPages(nothing as never) };
  const ofProxies = debugPages(nothing, [], { allowUnsafe: true }).map(({ path }) => path);
  return new Set([...ofProxies, ...Object.keys(ofOthers)].map((path) => `/debug/${path}`));
}
