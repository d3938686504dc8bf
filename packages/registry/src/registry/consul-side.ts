/** Services of Consul and their endpoints, a shard a datacenter: one that is away leaves the others alone. */
import type { Endpoint, EndpointsKey, Service, ServiceKey, Workload } from "@flotilla/model";
import {
  type ConsulChange,
  type ConsulInstance,
  type ConsulServiceKey,
  consulKeyText,
  consulOrigin,
} from "../consul.ts";
import { workloadsOfConsul } from "../convert/catalog-workloads.ts";
import {
  byPlace,
  consulEndpoints,
  consulHosts,
  consulNamespace,
  consulProtocol,
  convertConsulService,
  instanceAddress,
} from "../convert/consul.ts";
import type { EndpointContext } from "../convert/endpoint-traits.ts";
import { isValidPort } from "../convert/kubernetes-service.ts";
import type { RegistrySettings } from "../settings.ts";
import type { Dirty } from "./apply-object.ts";
import type { RegistryProblem } from "./problem.ts";

interface Known {
  readonly key: ConsulServiceKey;
  readonly instances: readonly ConsulInstance[];
}

/** A service of Consul with its endpoints; undefined once it is gone. */
export interface ConsulValue {
  readonly key: ServiceKey & EndpointsKey;
  readonly service: Service | undefined;
  readonly endpoints: readonly Endpoint[];
}

/** Source: the kinds of services in Consul's catalog. */
const meshKinds: ReadonlySet<string> = new Set([
  "connect-proxy",
  "mesh-gateway",
  "terminating-gateway",
  "ingress-gateway",
  "api-gateway",
]);

/** The services of Consul's datacenters as they are now. */
export class ConsulSide {
  readonly #settings: RegistrySettings;
  readonly #known = new Map<string, Known>();

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
  }

  apply(change: ConsulChange, dirty: Dirty): void {
    const text = consulKeyText(change.key);
    dirty.consul.set(text, change.key);
    const instances = change.op === "put" ? this.#ofServices(change.instances) : [];
    if (instances.length > 0) this.#known.set(text, { key: change.key, instances });
    else this.#known.delete(text);
  }

  /** The proxies of another mesh stand before services that are listed themselves. */
  #ofServices(instances: readonly ConsulInstance[]): readonly ConsulInstance[] {
    return this.#settings.consulMeshProxies ? instances : instances.filter(({ kind = "" }) => !meshKinds.has(kind));
  }

  all(dirty: Dirty): void {
    for (const [text, { key }] of this.#known) dirty.consul.set(text, key);
  }

  /** Values to publish of a service: one for each of its hosts. */
  values(text: string, key: ConsulServiceKey, context: EndpointContext): readonly ConsulValue[] {
    const { instances } = this.#known.get(text) ?? { instances: [] };
    const endpoints = consulEndpoints(key, instances, context);
    return this.#hosts(key).map((hostname) => ({
      key: { shard: `Consul/${key.datacenter}`, namespace: consulNamespace(key), hostname, name: key.name },
      service: convertConsulService(key, hostname, instances),
      endpoints,
    }));
  }

  /** The workloads of a service, by the part of their uid that follows its name. */
  workloads(text: string, key: ConsulServiceKey, context: EndpointContext): ReadonlyMap<string, Workload> {
    return workloadsOfConsul(key, this.#hosts(key), this.#known.get(text)?.instances ?? [], context);
  }

  #hosts(key: ConsulServiceKey): readonly string[] {
    const { everywhere, here } = consulHosts(key);
    return this.#settings.consulDatacenterHosts ? [everywhere, here] : [everywhere];
  }

  problems(): readonly RegistryProblem[] {
    return [...this.#known.values()].flatMap(({ key, instances }) =>
      findings([...instances].sort(byPlace)).map((finding) => ({
        object: `${consulOrigin(key)}/${finding.id}`,
        ...finding,
      })),
    );
  }
}

interface Finding {
  readonly id: string;
  readonly field: string;
  readonly reason: string;
}

function findings(instances: readonly ConsulInstance[]): readonly Finding[] {
  const protocols = new Map<number, string>();
  return instances.flatMap((instance): readonly Finding[] => {
    const { id, port, meta } = instance;
    const declared = meta["protocol"] ?? "";
    const before = protocols.get(port);
    if (before === undefined) protocols.set(port, declared);
    return [
      ...(isValidPort({ port })
        ? []
        : [{ id, field: "Service.Port", reason: `${port} is no port: must be 1 to 65535; the instance is left out` }]),
      ...(instanceAddress(instance) === ""
        ? [{ id, field: "Service.Address", reason: "is empty, and the node has none: the instance is left out" }]
        : []),
      ...(consulProtocol(instance).isKnown
        ? []
        : [
            { id, field: "Service.Meta[protocol]", reason: `"${declared}" is no protocol: the port is carried as TCP` },
          ]),
      ...(before === undefined || before === declared
        ? []
        : [
            {
              id,
              field: "Service.Meta[protocol]",
              reason: `is "${declared}" for port ${port}, while another instance declares "${before}": one of them holds`,
            },
          ]),
    ];
  });
}
