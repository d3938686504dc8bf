/**
 * Configuration as a source of the registry: entries, imports and machines become objects beside those of Kubernetes; trust domain and networks
 * hold for all endpoints.
 */
import { isKindReadBy, type KindReadBy } from "@flotilla/kinds";
import { type Config, type ConfigKey, checkKubeObject, objectName, withoutNulls } from "@flotilla/model";
import { backendEntryName, backendServiceEntry } from "../convert/backend.ts";
import { type MeshNetworksSpec, networkLookup } from "../convert/endpoint-traits.ts";
import type { RegistrySettings } from "../settings.ts";
import { applyEntry, applyWorkloadEntry, type Dirty } from "./apply-object.ts";
import { type Objects, setOrDelete } from "./objects.ts";
import type { RegisteredEntry, RegistrationSide } from "./registration-side.ts";

const defaultTrustDomain = "cluster.local";

/** Takes the kinds that service-controller reads from the config store. */
export class ConfigSide {
  readonly #objects: Objects;
  readonly #machines: RegistrationSide;
  readonly #domain: string;
  /** Of the mesh. */
  trustDomain = defaultTrustDomain;
  networks: MeshNetworksSpec | undefined;

  constructor(objects: Objects, machines: RegistrationSide, { domain }: Pick<RegistrySettings, "domain">) {
    this.#objects = objects;
    this.#machines = machines;
    this.#domain = domain;
  }

  /** @param given undefined: deleted. @throws RangeError that names the field where it is not of its kind's form; nothing has changed then */
  apply(key: ConfigKey, given: Config | undefined, dirty: Dirty): void {
    // Other kinds come too, and may be large.
    if (!isKindReadBy("service-controller", key.kind)) return;
    const intake = { objects: this.#objects, dirty };
    const name = objectName.write(key);
    const config = withoutNulls(given);
    if (config !== undefined) checkForm(config);
    switch (key.kind as KindReadBy<"service-controller">) {
      case "ServiceEntry":
        applyEntry(intake, name, config);
        break;
      case "XBackend": {
        const entry = config === undefined ? undefined : backendServiceEntry(config, this.#domain);
        applyEntry(intake, objectName.write({ namespace: key.namespace, name: backendEntryName(key.name) }), entry);
        break;
      }
      case "WorkloadEntry":
        this.applyMachines([this.#machines.applyEntry(name, config)], dirty);
        break;
      case "WorkloadGroup":
        this.applyMachines(this.#machines.applyGroup(name, config), dirty);
        break;
      case "ServiceImport":
        setOrDelete(this.#objects.serviceImports, name, config);
        dirty.service(name);
        break;
      case "MeshConfig":
        this.#applyMesh(config, dirty);
        break;
      case "MeshNetworks":
        this.#applyNetworks(config?.spec as MeshNetworksSpec | undefined, dirty);
        break;
    }
  }

  /** Entries that are written by users or registered for machines. */
  applyMachines(entries: readonly RegisteredEntry[], dirty: Dirty): void {
    for (const { name, entry } of entries) applyWorkloadEntry({ objects: this.#objects, dirty }, name, entry);
  }

  #applyNetworks(networks: MeshNetworksSpec | undefined, dirty: Dirty): void {
    // All endpoints depend on them: networks that cannot be read must not come into force.
    networkLookup(networks, "");
    this.networks = networks;
    dirty.everything = true;
  }

  #applyMesh(config: Config | undefined, dirty: Dirty): void {
    const { trustDomain = defaultTrustDomain } = (config?.spec ?? {}) as { readonly trustDomain?: string };
    dirty.everything ||= trustDomain !== this.trustDomain;
    this.trustDomain = trustDomain;
    this.applyMachines(this.#machines.applyTrustDomain(trustDomain), dirty);
  }
}

/** Publishers of configuration have checked it: this is for those of another version. */
function checkForm({ key: { kind, ...metadata }, labels, annotations, spec }: Config): void {
  const object = { apiVersion: "networking.istio.io/v1", kind, metadata: { ...metadata, labels, annotations }, spec };
  const [wrong] = checkKubeObject(object);
  if (wrong !== undefined) throw new RangeError(`${wrong.field} ${wrong.reason}`);
}
