/** `flotilla get services`: services of the mesh, of all registries, with the names that lead to each. */
import { ask } from "../connection.ts";
import type { get as definition } from "../definitions/objects.ts";
import { columns, type Format, formatOf, render } from "../output.ts";
import type { Invocation, Run } from "../parse/definition.ts";

/** Of one service, as `/debug/registryz` of xds-server has it. */
export interface MeshService {
  readonly hostname: string;
  readonly Attributes: {
    readonly ServiceRegistry: string;
    readonly Name: string;
    readonly Namespace: string;
    readonly Labels: Readonly<Record<string, string>> | null;
    readonly ExternalName: string;
    readonly ObjectName: string;
  };
  readonly ports: readonly { readonly name?: string; readonly port: number; readonly protocol: string }[];
  readonly defaultAddress: string;
  readonly autoAllocatedIPv4Address?: string;
  readonly Resolution: number;
  readonly Origin: readonly { readonly Shard: string; readonly DefinedBy?: string }[];
}

/** Endpoints by host and namespace, as `/debug/endpointz` has them. */
export type MeshEndpoints = Readonly<
  Record<
    string,
    Readonly<
      Record<
        string,
        { readonly Shards: Readonly<Record<string, readonly { readonly Addresses: readonly string[] }[]>> }
      >
    >
  >
>;

/** `Resolution` of a service that is another name of one, as an ExternalName is. */
const alias = 4;

export const getServices: Run<typeof definition> = async ({ options, operands: { names }, terminal }) => {
  const all = await ask<readonly MeshService[]>("xds-server", options, "/debug/registryz");
  const endpoints = await ask<MeshEndpoints>("xds-server", options, "/debug/endpointz");
  const inScope = all.filter((service) => isInScope(service, options));
  const wanted =
    names.length === 0 ? inScope : inScope.filter((service) => names.some((name) => isNamed(service, name)));
  const missing = names.filter((name) => !wanted.some((service) => isNamed(service, name)));
  const format = formatOf(options);
  if (wanted.length > 0 || missing.length === 0) terminal.print(show(wanted, { all, endpoints, format }));
  for (const name of missing) terminal.warn(`flotilla: Service ${JSON.stringify(name)} not found`);
  return missing.length === 0 ? 0 : 1;
};

function isInScope(
  { Attributes: { Namespace, Labels } }: MeshService,
  { allNamespaces, namespace = "default", selector }: Invocation<typeof definition>["options"],
): boolean {
  return (allNamespaces || Namespace === namespace) && (selector === undefined || selects(selector, Labels ?? {}));
}

/** `reviews`, `reviews.shop`, or the whole host name. */
function isNamed({ hostname, Attributes: { Name, Namespace, ObjectName } }: MeshService, name: string): boolean {
  const short = hostname.split(".", 1)[0] ?? "";
  return [hostname, Name, ObjectName, short, `${short}.${Namespace}`].includes(name);
}

/** Equality only: services carry no other requirements. */
function selects(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector.split(",").every((part) => {
    const [, key = "", operator = "", value = ""] = /^([^!=]+)(!=|==?)?(.*)$/.exec(part.trim()) ?? [];
    if (operator === "") return key in labels;
    return (labels[key] === value) === (operator !== "!=");
  });
}

interface Shown {
  readonly all: readonly MeshService[];
  readonly endpoints: MeshEndpoints;
  readonly format: Format;
}

function show(services: readonly MeshService[], { all, endpoints, format }: Shown): string {
  if (format === "name") return services.map(({ hostname }) => `service/${hostname}`).join("\n");
  return render(format, services, () =>
    services.length === 0 ? "no services found" : servicesTable(services, { all, endpoints, format }),
  );
}

function servicesTable(services: readonly MeshService[], { all, endpoints, format }: Shown): string {
  const isWide = format === "wide";
  const head = [
    "NAMESPACE",
    "HOST",
    "ADDRESS",
    "PORTS",
    "ENDPOINTS",
    "ALIASES",
    ...(isWide ? ["REGISTRY", "DEFINED BY"] : []),
  ];
  const rows = services.map((service) => {
    const { hostname, Attributes, ports, defaultAddress, autoAllocatedIPv4Address, Origin } = service;
    const definedBy = Origin.map(({ DefinedBy = "", Shard }) => `${DefinedBy} (${Shard})`).join(", ");
    return [
      Attributes.Namespace,
      hostname,
      defaultAddress === "0.0.0.0" ? (autoAllocatedIPv4Address ?? "") : defaultAddress,
      ports.map(({ port, protocol }) => `${port}/${protocol}`).join(","),
      service.Resolution === alias ? `→ ${Attributes.ExternalName}` : String(countEndpoints(service, endpoints)),
      aliasesOf(service, all).join(","),
      ...(isWide ? [Attributes.ServiceRegistry, definedBy] : []),
    ];
  });
  return columns([head, ...rows]);
}

/** An endpoint has an entry for each port. */
function countEndpoints({ hostname, Attributes }: MeshService, endpoints: MeshEndpoints): number {
  const shards = endpoints[hostname]?.[Attributes.Namespace]?.Shards ?? {};
  return new Set(Object.values(shards).flatMap((shard) => shard.map(({ Addresses }) => Addresses.join()))).size;
}

function aliasesOf({ hostname }: MeshService, all: readonly MeshService[]): readonly string[] {
  return all
    .filter(({ Resolution, Attributes }) => Resolution === alias && Attributes.ExternalName === hostname)
    .map((service) => service.hostname);
}
