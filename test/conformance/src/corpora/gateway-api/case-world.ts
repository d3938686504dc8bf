/** The world of a case of the corpus gateway-api: its objects, and lookups over them and over the services that all cases share. */
import { createHash } from "node:crypto";
import {
  builtInClasses,
  type CredentialData,
  certificateProblem,
  defaultClassSettings,
  type ExternalBackendSpec,
  externalBackendOf,
  type GatewayClassSpec,
  type GatewayLookups,
  type GatewayService,
  poolServiceName,
  poolServiceOf,
  type ReferenceGrantSpec,
  rootsProblem,
} from "@flotilla/gateway-api";
import { kindOf } from "@flotilla/kinds";
import { type Config, creationTimeMs, type KubeObject, objectKey } from "@flotilla/model";
import { parseAllDocuments } from "yaml";

export interface CaseService {
  readonly Hostname: string;
  readonly Attributes: {
    readonly Labels?: Readonly<Record<string, string>>;
    readonly ClusterExternalAddresses?: { readonly Addresses?: Readonly<Record<string, readonly string[]>> };
  };
  readonly Ports: readonly { readonly Name: string; readonly Port: number }[];
}

export interface CaseSecret {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly data: Readonly<Record<string, string>>;
}

interface ServiceEntrySpec {
  readonly hosts?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly number: number }[];
}

/** Those of the test; its README does not list them. */
const namespaces = [
  { name: "default", labels: { "istio.io/test-name-part": "default" } },
  { name: "istio-system", labels: { "istio.io/test-name-part": "system" } },
  { name: "group-namespace1", labels: { "istio.io/test-name-part": "group" } },
  { name: "group-namespace2", labels: { "istio.io/test-name-part": "group" } },
];

const classes = builtInClasses(defaultClassSettings);

/** The first port has endpoints on this one, the others on 0. */
const firstTargetPort = 8080;

export class CaseWorld {
  readonly domain = "domain.suffix";
  readonly objects: readonly Config[];
  readonly #services: ReadonlyMap<string, CaseService>;
  readonly #secrets: readonly CaseSecret[];

  constructor(input: string, services: readonly CaseService[], secrets: readonly CaseSecret[]) {
    this.objects = parseAllDocuments(input)
      .map((document) => document.toJS() as KubeObject | null)
      .filter((object) => object !== null)
      .map(configOf);
    this.#services = new Map(services.map((service) => [service.Hostname, service]));
    this.#secrets = secrets;
  }

  all<Spec>(kind: string): readonly Config<Spec>[] {
    return this.objects.filter(({ key }) => key.kind === kind) as readonly Config<Spec>[];
  }

  get<Spec>(kind: string, namespace: string, name: string): Config<Spec> | undefined {
    return this.all<Spec>(kind).find(({ key }) => key.namespace === namespace && key.name === name);
  }

  get gatewayLookups(): GatewayLookups {
    return {
      domain: this.domain,
      classes,
      controllerOf: (name) => this.get<GatewayClassSpec>("GatewayClass", "", name)?.spec.controllerName,
      hasConfigMap: (namespace, name) => this.credential("ConfigMap", namespace, name) !== undefined,
      namespaces: () => namespaces,
      certificateProblem: (namespace, name) =>
        certificateProblem(namespace, name, this.credential("Secret", namespace, name)),
      rootsProblem: (ref) => rootsProblem(ref, this.credential(ref.kind, ref.namespace, ref.name)),
      grantsIn: this.grantsIn,
    };
  }

  readonly grantsIn = (namespace: string): readonly Config<ReferenceGrantSpec>[] =>
    this.all<ReferenceGrantSpec>("ReferenceGrant").filter(({ key }) => key.namespace === namespace);

  /** The corpus does not name the kinds: Secrets have certificates of servers, in base64. */
  credential(kind: string, namespace: string, name: string): CredentialData {
    const isSecret = ({ data }: CaseSecret) => Object.keys(data).includes("tls.crt");
    const found = this.#secrets.find(
      (one) =>
        one.metadata.namespace === namespace && one.metadata.name === name && isSecret(one) === (kind === "Secret"),
    );
    if (found === undefined || kind !== "Secret") return found?.data;
    const entries = Object.entries(found.data);
    return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
  }

  readonly hasService = (hostname: string): boolean => this.portsOf(hostname) !== undefined;

  portsOf(hostname: string): readonly { readonly name: string; readonly number: number }[] | undefined {
    const [name = "", namespace = ""] = hostname.split(".");
    const written = this.get<{ ports?: { name: string; port: number }[] }>("Service", namespace, name);
    if (written !== undefined)
      return (written.spec.ports ?? []).map((port) => ({ name: port.name, number: port.port }));
    return this.#services.get(hostname)?.Ports.map((port) => ({ name: port.Name, number: port.Port }));
  }

  readonly gatewayService = (hostname: string): GatewayService | undefined => {
    const service = this.#services.get(hostname);
    if (service === undefined) return undefined;
    const [first] = service.Ports;
    return {
      servedPorts: service.Ports.map(({ Port }) => Port),
      portsByTarget: new Map(first === undefined ? [] : [[firstTargetPort, [first.Port]]]),
      externalAddresses: service.Attributes.ClusterExternalAddresses?.Addresses?.["Kubernetes"] ?? [],
      isLoadBalancer: false,
    };
  };

  readonly poolService = (namespace: string, name: string) => {
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    const place = { home: `${namespace}.svc.${this.domain}`, service: poolServiceName(name, sha256) };
    return poolServiceOf(place, (host) => {
      const service = this.#services.get(host);
      return service && { labels: service.Attributes.Labels ?? {}, port: service.Ports[0]?.Port };
    });
  };

  readonly externalBackend = (namespace: string, name: string) => {
    const spec = this.get<ExternalBackendSpec>("XBackend", namespace, name)?.spec;
    return spec && externalBackendOf(spec);
  };

  entry(namespace: string, name: string): Config<ServiceEntrySpec> | undefined {
    return this.get<ServiceEntrySpec>("ServiceEntry", namespace, name);
  }
}

function configOf(object: KubeObject): Config {
  const row = kindOf(object);
  const key = objectKey(object, row?.name);
  const isNamespaced = row?.namespaced ?? object.kind !== "GatewayClass";
  const { labels = {}, annotations = {} } = object.metadata;
  return {
    key: isNamespaced && key.namespace === "" ? { ...key, namespace: "default" } : key,
    labels,
    annotations,
    creationTimeMs: creationTimeMs(object),
    spec: object["spec"] ?? {},
    status: object["status"],
  };
}
