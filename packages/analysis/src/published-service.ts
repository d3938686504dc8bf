/** Services as service-controller publishes them, for checks that ask which hosts and ports there are. */
import { type ConfigKey, configKeyText, type Service, type ServiceChange, serviceKeyText } from "@flotilla/model";
import type { ObjectChange } from "./mesh-analysis.ts";
import { type MeshObject, meshObject } from "./mesh-object.ts";

/** Published services as objects of the mesh: one of each name, of the first of the clusters that have it. */
export class PublishedServices {
  /** By the key of the object, then by the key of the service. */
  readonly #byObject = new Map<string, Map<string, MeshObject>>();
  readonly #keys = new Map<string, ConfigKey>();

  /** How many services are kept, those of several clusters each. */
  get size(): number {
    return this.#keys.size;
  }

  /** Changes in the mesh that follow from a change of a service; none for those of ServiceEntries. */
  note(change: ServiceChange): readonly ObjectChange[] {
    const text = serviceKeyText(change.key);
    const object = change.op === "put" ? publishedService(change.value) : undefined;
    const before = this.#keys.get(text);
    const isMoved =
      before !== undefined && (object === undefined || configKeyText(before) !== configKeyText(object.key));
    const removed = isMoved ? [this.#remove(before, text)] : [];
    return object === undefined ? removed : [...removed, this.#put(object, text)];
  }

  *objects(): Generator<MeshObject> {
    for (const held of this.#byObject.values()) {
      const [first] = held.values();
      if (first !== undefined) yield first;
    }
  }

  clear(): void {
    this.#byObject.clear();
    this.#keys.clear();
  }

  #put(object: MeshObject, text: string): ObjectChange {
    const key = configKeyText(object.key);
    const held = this.#byObject.get(key) ?? new Map<string, MeshObject>();
    this.#byObject.set(key, held.set(text, object));
    this.#keys.set(text, object.key);
    const [first = object] = held.values();
    return { object: first };
  }

  #remove(of: ConfigKey, text: string): ObjectChange {
    const key = configKeyText(of);
    const held = this.#byObject.get(key);
    held?.delete(text);
    this.#keys.delete(text);
    const [first] = held?.values() ?? [];
    if (first !== undefined) return { object: first };
    this.#byObject.delete(key);
    return { removed: of };
  }
}

/** Undefined for services of ServiceEntries, which analysis has as configuration. */
function keyOf({ name, namespace, hostname, registry }: Service): ConfigKey | undefined {
  if (registry === "External") return undefined;
  if (hostname === `${name}.${namespace}.svc.cluster.local`) return { kind: "Service", namespace, name };
  // Other domains and registries: the host decides.
  return { kind: "ServiceEntry", namespace, name: `${registry}:${hostname}` };
}

/** As the object that it was made of, as far as analysis looks at it; undefined for a ServiceEntry's. */
function publishedService(service: Service): MeshObject | undefined {
  const key = keyOf(service);
  if (key === undefined) return undefined;
  const { exportTo, ports, labels, labelSelectors: selector = {}, hostname, namespace } = service;
  if (key.kind === "Service") {
    const scopes = exportTo.join(",");
    const annotations = scopes === "" ? {} : { "networking.istio.io/exportTo": scopes };
    const spec = { selector, ports: ports.map(({ name, number: port }) => ({ name, port })) };
    return meshObject({
      ...{ apiVersion: "v1", kind: "Service", spec },
      metadata: { name: key.name, namespace, labels, annotations },
    });
  }
  const spec = { hosts: [hostname], exportTo, ports: ports.map(({ name, number }) => ({ name, number })) };
  return meshObject({
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", spec },
    metadata: { name: key.name, namespace },
  });
}
