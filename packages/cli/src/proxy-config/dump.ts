/** Reads the parts of a config_dump (`/debug/config_dump` of xds-server, in the shape of Envoy's). */

/** A resource with its name, as JSON. */
export interface DumpedResource {
  readonly name: string;
  readonly json: Fields;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface ConfigDump {
  readonly configs: readonly Fields[];
}

/** In the order in which they are shown. */
export const parts = ["clusters", "listeners", "routes", "endpoints", "secrets"] as const;
export type Part = (typeof parts)[number];

/** For each part: its value of the page's `types` parameter, its lists in the dump, and the field of their entries that holds the resource. */
const places: Readonly<Record<Part, { readonly type: string; readonly list: string; readonly at: string }>> = {
  clusters: { type: "cds", list: "dynamicActiveClusters", at: "cluster" },
  listeners: { type: "lds", list: "dynamicListeners", at: "activeState.listener" },
  routes: { type: "rds", list: "dynamicRouteConfigs", at: "routeConfig" },
  endpoints: { type: "eds", list: "dynamicEndpointConfigs", at: "endpointConfig" },
  secrets: { type: "sds", list: "dynamicActiveSecrets", at: "secret" },
};

export function dumpTypes(wanted: readonly Part[]): string {
  return wanted.map((part) => places[part].type).join();
}

export function resourcesOf({ configs }: ConfigDump, part: Part): readonly DumpedResource[] {
  const { list, at } = places[part];
  return configs
    .flatMap((config) => listAt(config, list))
    .flatMap((entry) => {
      const json = valueAt(entry, at);
      return isFields(json) ? [{ name: textAt(json, "name") || textAt(json, "clusterName"), json }] : [];
    });
}

/** A place such as `address.socketAddress.address`; undefined where there is none. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split(".").reduce((at, key) => (isFields(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

export function textAt(value: unknown, path: string): string {
  const found = valueAt(value, path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

export function listAt(value: unknown, path: string): readonly Fields[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
