/** The names that the code honours: of its settings, its command line, its debug pages, its metrics, its messages. */
import { messageList } from "@flotilla/analysis";
import { commands } from "../../../../packages/cli/src/commands.ts";
import { discoveryFlags } from "../../../../packages/cli/src/discovery/flags.ts";
import { metricsTables } from "../../../../scripts/metrics-tables.ts";
import { settingsTables } from "../../../../scripts/settings-tables.ts";
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
  return discoveryFlags.flatMap(({ name, effect }) => (["none", "missing"].includes(effect.type) ? [] : [`--${name}`]));
}

function flagsOfVersion(): readonly string[] {
  const version = commands.find(({ definition }) => definition.name === "version");
  return Object.values(version?.definition.options ?? {}).flatMap(({ flags }) => flags.match(/--[\w-]+/g) ?? []);
}

/** Pages look at what they show when they are asked, so that their list needs none of it. */
function pagesServed(): ReadonlySet<string> {
  const nothing = {} as Parameters<typeof debugPages>[0];
  return new Set(debugPages(nothing, [], { allowUnsafe: true }).map(({ path }) => `/debug/${path}`));
}
