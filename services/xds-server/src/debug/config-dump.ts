/** `/debug/config_dump`: what a proxy gets, in the shape of Envoy's own config_dump, without secrets. */
import { ownValue } from "@flotilla/model";
import { bytesToJson, type JsonObject, type JsonValue, typeUrl } from "@flotilla/proto";
import type { Core, ResourceSet } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { withoutSecrets } from "./without-secrets.ts";

const admin = "type.googleapis.com/envoy.admin.v3";

/** The parts in the order in which tools expect them. */
const parts = {
  clusters: (dump: Dump) =>
    part("ClustersConfigDump", { dynamicActiveClusters: entries(dump, "cluster") }, dump.version("cluster")),
  listeners: (dump: Dump) =>
    part(
      "ListenersConfigDump",
      {
        dynamicListeners: dump.all("listener").map(({ name, version, json }) => ({
          name,
          activeState: { versionInfo: version, listener: json },
        })),
      },
      dump.version("listener"),
    ),
  scopedRoutes: (dump: Dump) => part("ScopedRoutesConfigDump", { dynamicScopedRouteConfigs: scopes(dump) }),
  routes: (dump: Dump) => part("RoutesConfigDump", { dynamicRouteConfigs: entries(dump, "route", "routeConfig") }),
  secrets: (dump: Dump) =>
    part("SecretsConfigDump", {
      dynamicActiveSecrets: dump.all("secret").map(({ name, version, json }) => ({
        name,
        versionInfo: version,
        secret: withoutSecrets(json),
      })),
    }),
  extensions: (dump: Dump) => part("EcdsConfigDump", { ecdsFilters: entries(dump, "extensionConfig", "ecdsFilter") }),
  endpoints: (dump: Dump) =>
    part("EndpointsConfigDump", { dynamicEndpointConfigs: entries(dump, "endpoint", "endpointConfig") }),
} as const;

type Part = keyof typeof parts;

/** The values of `?types=`, by their usual names. */
const partNames: Readonly<Record<string, Part>> = {
  cds: "clusters",
  cluster: "clusters",
  lds: "listeners",
  listener: "listeners",
  srds: "scopedRoutes",
  scopedroute: "scopedRoutes",
  rds: "routes",
  route: "routes",
  sds: "secrets",
  secret: "secrets",
  ecds: "extensions",
  eds: "endpoints",
  endpoint: "endpoints",
};

const always: readonly Part[] = ["clusters", "listeners", "scopedRoutes", "routes", "secrets", "extensions"];

/** `types`: names of parts such as `cds` or type URLs, separated by commas; those not asked for are left out. */
export function configDump(core: Core, stream: StreamRecord, types?: string | null): readonly JsonObject[] {
  const dump = new Dump(core, stream);
  const wanted = types
    ? types.split(",").flatMap((name) => ownValue(partNames, name) ?? ownValue(partNames, shortOf(name)) ?? [])
    : always;
  const bootstrap = types ? [] : [{ "@type": `${admin}.BootstrapConfigDump` }];
  return [...bootstrap, ...wanted.map((name) => parts[name](dump))];
}

/** The resources of one type, as they are. */
export function resourcesOf(core: Core, stream: StreamRecord, type: TypeName): readonly JsonValue[] {
  return new Dump(core, stream).all(type).map(({ json }) => json);
}

type TypeName = keyof typeof typeUrl;

interface Dumped {
  readonly name: string;
  readonly version: string;
  readonly json: JsonValue;
}

class Dump {
  readonly #core: Core;
  readonly #stream: StreamRecord;

  constructor(core: Core, stream: StreamRecord) {
    this.#core = core;
    this.#stream = stream;
  }

  all(type: TypeName): readonly Dumped[] {
    return [...(this.#set(type)?.byName.values() ?? [])].map(({ name, version, typeUrl: own, bytes }) => ({
      name,
      version,
      json: withoutSecrets(bytesToJson(own, bytes)),
    }));
  }

  version(type: TypeName): string {
    return this.#set(type)?.version ?? "";
  }

  /** Of types that are asked for by name, those the proxy asks for. */
  #set(type: TypeName): ResourceSet | undefined {
    const subject = this.#core.subjectOf(this.#stream.proxy);
    const url = typeUrl[type];
    if (this.#core.serves(subject, url) !== "named") return this.#core.resources(subject, url);
    const names = this.#stream.types().get(url)?.names();
    return names === undefined ? undefined : this.#core.resources(subject, url, names);
  }
}

function entries(dump: Dump, type: TypeName, field: string = type): JsonValue[] {
  return dump.all(type).map(({ version, json }) => ({ versionInfo: version, [field]: json }));
}

/** All scopes of a proxy are of one route configuration, by whose name they begin (`ROUTE/HOST`). */
function scopes(dump: Dump): JsonValue[] {
  const found = dump.all("scopedRoute");
  const name = (found[0]?.name ?? "").replace(/\/.*/, "");
  const scopedRouteConfigs = found.map(({ json }) => json);
  return found.length === 0 ? [] : [{ name, versionInfo: dump.version("scopedRoute"), scopedRouteConfigs }];
}

/** Empty lists are left out, as the JSON form of a message does. */
function part(name: string, lists: Readonly<Record<string, JsonValue[]>>, versionInfo = ""): JsonObject {
  return {
    "@type": `${admin}.${name}`,
    ...(versionInfo !== "" && { versionInfo }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
  };
}

function shortOf(name: string): string {
  const last = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return last === "clusterloadassignment" ? "endpoint" : last.replace(/routeconfiguration$/, "route");
}
