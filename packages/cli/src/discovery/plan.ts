/** The result of the flags of `flotilla discovery`: settings and ports of the services, and notes on flags without an effect. */
import { existsSync } from "node:fs";
import { CliError } from "../errors.ts";
import { type Ports, portsFrom, type ServiceName } from "../layout.ts";
import type { RunOptions } from "../options.ts";
import { type DiscoveryFlag, discoveryFlags, type FlagEffect } from "./flags.ts";

/** By the name of the flag; `true` for a flag without a value. */
export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

export interface DiscoveryPlan {
  readonly options: RunOptions;
  /** Flags that were given and change nothing, with the reason. */
  readonly notes: readonly string[];
  /** Settings that come from flags, and the addresses of all ports. */
  readonly effective: Readonly<Record<string, string>>;
}

/** Read where they are, as pilot-discovery does without the flags. */
const defaultFiles: Readonly<Record<string, string>> = {
  MESH_CONFIG_FILE: "./etc/istio/config/mesh",
  MESH_NETWORKS_FILE: "./etc/istio/config/meshNetworks",
};
/** pilot-discovery writes "unlimited" as the longest duration that Go has. */
const unlimited = "2562047h47m16.854775807s";

/** @throws CliError CLI_USAGE naming the flag, or both flags of a conflict */
export function planDiscovery(
  given: FlagValues,
  env: Readonly<Record<string, string | undefined>>,
  workDir: string,
): DiscoveryPlan {
  const flags = discoveryFlags.flatMap((flag) => {
    const value = given[flag.name];
    return value === undefined ? [] : [{ flag, value: String(value) }];
  });
  const settings = { ...filesThatExist(env), ...settingsOf(flags), ...logSettings(given["log_output_level"]) };
  const { ports, hosts } = addressesOf(flags);
  const configDir = given["configDir"];
  const inCluster = env["KUBERNETES_SERVICE_HOST"];
  const binding = (service: ServiceName) => ({
    ...(service === "xds-server" || service === "webhook" ? hosts[service] : {}),
    // Of xds-server alone: the others take any free port.
    ...(service !== "xds-server" && { INTROSPECTION_PORT: "0" }),
    ...(inCluster !== undefined && settings["CLUSTER_KUBECONFIG"] === undefined
      ? { KUBERNETES_SERVICE_HOST: inCluster }
      : {}),
  });
  return {
    options: {
      ...{ embedded: false, mesh: undefined, networks: undefined, firstPort: undefined, workDir, ports, binding },
      config: typeof configDir === "string" && configDir !== "" ? configDir : undefined,
      settings: { ...definedOnly(env), ...settings },
    },
    notes: flags.flatMap(({ flag }) => noteOf(flag)),
    effective: { ...settings, ...addressTexts(ports, hosts) },
  };
}

interface Given {
  readonly flag: DiscoveryFlag;
  readonly value: string;
}

function settingsOf(flags: readonly Given[]): Readonly<Record<string, string>> {
  const entries = flags.flatMap(({ flag: { effect }, value }): readonly (readonly [string, string])[] =>
    effect.type === "setting" && value !== unlimited ? [[effect.setting, value]] : [],
  );
  return Object.fromEntries(entries);
}

function filesThatExist(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const found = Object.entries(defaultFiles).filter(([name, file]) => env[name] === undefined && existsSync(file));
  return Object.fromEntries(found);
}

function noteOf({ name, effect }: DiscoveryFlag): readonly string[] {
  return effect.type === "none" ? [`--${name} has no effect: ${effect.reason}`] : [];
}

interface Addresses {
  readonly ports: Ports;
  readonly hosts: Readonly<Record<"xds-server" | "webhook", Readonly<Record<string, string>>>>;
}

type AddressFlag = Given & { readonly effect: Extract<FlagEffect, { type: "address" }> };

/** @throws CliError CLI_USAGE */
function addressesOf(flags: readonly Given[]): Addresses {
  const addresses = flags.flatMap(({ flag, value }): readonly AddressFlag[] =>
    flag.effect.type === "address" && value !== "" ? [{ flag, value, effect: flag.effect }] : [],
  );
  const ports: Record<keyof Ports, number> = { ...portsFrom(undefined) };
  const hostFrom = new Map<string, { readonly host: string; readonly flag: string }>();
  for (const { flag, value, effect } of addresses) {
    const { host, port } = parseAddress(flag.name, value);
    ports[effect.port] = port;
    const other = hostFrom.get(effect.hostSetting);
    if (other !== undefined && other.host !== host)
      throw new CliError(
        "CLI_USAGE",
        `--${other.flag} and --${flag.name} name different hosts (${other.host}, ${host}): they share ${effect.hostSetting}`,
      );
    hostFrom.set(effect.hostSetting, { host, flag: flag.name });
  }
  refuseSharedPorts(ports);
  const hostOf = (name: string) => ({ [name]: hostFrom.get(name)?.host ?? "0.0.0.0" });
  return {
    ports,
    hosts: { "xds-server": { ...hostOf("XDS_HOST"), ...hostOf("HEALTH_HOST") }, webhook: hostOf("WEBHOOK_HOST") },
  };
}

/** Ports are on one host: two services, or two flags, cannot have the same. */
function refuseSharedPorts(ports: Ports): void {
  const nameOf = (key: string) => {
    const flag = discoveryFlags.find(({ effect }) => effect.type === "address" && effect.port === key);
    return flag === undefined ? `the port ${key} of another service` : `--${flag.name}`;
  };
  const seen = new Map<number, string>();
  for (const [key, port] of Object.entries(ports) as readonly (readonly [string, number])[]) {
    const other = port === 0 ? undefined : seen.get(port);
    if (other !== undefined)
      throw new CliError("CLI_USAGE", `${nameOf(other)} and ${nameOf(key)} are both port ${port}: change one of them`);
    seen.set(port, key);
  }
}

function parseAddress(flag: string, value: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = "", digits = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535)
    throw new CliError("CLI_USAGE", `--${flag}=${value} is no address such as :15010 or 127.0.0.1:15010`);
  const host = bracketed ?? plain;
  return { host: host === "" || host === "*" ? "0.0.0.0" : host, port };
}

const levels: Readonly<Record<string, string>> = {
  ...{ debug: "debug", info: "info", warn: "warn", error: "error" },
  ...{ fatal: "error", none: "silent" },
};

/** `info`, or `default:info,xds:debug` as pilot-discovery reads it. @throws CliError CLI_USAGE */
function logSettings(text: string | boolean | undefined): Readonly<Record<string, string>> {
  if (typeof text !== "string" || text === "") return {};
  const parts = text.split(",").map((part) => {
    const [scope = "", word = ""] = part.includes(":") ? part.split(":") : ["default", part];
    const level = new Map(Object.entries(levels)).get(word.trim());
    if (level === undefined)
      throw new CliError(
        "CLI_USAGE",
        `--log_output_level=${text}: ${word} is none of ${Object.keys(levels).join(", ")}`,
      );
    return { scope: scope.trim(), level };
  });
  const general = parts.findLast(({ scope }) => scope === "default" || scope === "all");
  const scopes = parts.filter(({ scope }) => scope !== "default" && scope !== "all");
  return {
    ...(general !== undefined && { LOG_LEVEL: general.level }),
    ...(scopes.length > 0 && { LOG_SCOPE_LEVELS: scopes.map(({ scope, level }) => `${scope}:${level}`).join(",") }),
  };
}

function addressTexts(ports: Ports, hosts: Addresses["hosts"]): Readonly<Record<string, string>> {
  const all = { ...hosts["xds-server"], ...hosts.webhook };
  const texts = discoveryFlags.flatMap(({ name, effect }): readonly (readonly [string, string])[] =>
    // own key: one of our settings
    effect.type === "address" ? [[name, `${all[effect.hostSetting]}:${ports[effect.port]}`]] : [],
  );
  return Object.fromEntries(texts);
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
