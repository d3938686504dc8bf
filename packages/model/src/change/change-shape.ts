/** The shape of a change as it travels: checked once, so that readers can rely on it. */
import { ownValue } from "../json/own-value.ts";
import {
  anything,
  flag,
  integer,
  listOf,
  number,
  objectOf,
  oneOfTexts,
  recordOf,
  type Shape,
  text,
} from "../json/shape.ts";
import { isIpAddress, parseCidr } from "../names/address.ts";

const texts = listOf(text);
const labels = recordOf(text);
/** Keys are joined to texts and taken apart again at these. */
const separators = /[/|\n]/;
const part: Shape = (value) => {
  if (typeof value !== "string") return " is no text";
  const [separator] = separators.exec(value) ?? [];
  return separator === undefined ? undefined : ` holds ${JSON.stringify(separator)}`;
};

const port: Shape = (value) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535 ? undefined : " is no port";
/** As Envoy has weights. */
const weight: Shape = (value) =>
  typeof value === "number" && value >= 0 && value < 2 ** 32 ? undefined : " is no weight";
const address: Shape = (value) => (typeof value === "string" && isIpAddress(value) ? undefined : " is no address");
const addresses = listOf(address);
const addressOrRange: Shape = (value) =>
  typeof value === "string" && parseCidr(value) !== undefined ? undefined : " is no address and no range";
/** Of an endpoint: also a name, the path of a socket, or an empty text for one that a gateway leads to. */
const endpointAddresses: Shape = (value) =>
  texts(value) ?? ((value as readonly string[]).length === 0 ? " is empty" : undefined);

const configKey = objectOf({ kind: part, namespace: part, name: part });
const serviceKey = objectOf({ shard: text, namespace: part, hostname: part, name: text });
const endpointsKey = objectOf({ shard: text, namespace: part, hostname: part });
const workloadKey = objectOf({ shard: text, namespace: part, uid: text });

const config = objectOf(
  { key: configKey, labels, annotations: labels, creationTimeMs: number, spec: anything },
  {
    resourceVersion: text,
    generation: number,
    status: anything,
    provenance: objectOf({ source: text }, { location: text, eventTimeMs: number }),
  },
);

/** `Kind/namespace/name`: it is taken apart to find the object. */
const definedBy: Shape = (value) => {
  if (typeof value !== "string") return " is no text";
  return value.startsWith("ServiceEntry/") && value.split("/").length !== 3 ? " is not Kind/namespace/name" : undefined;
};

const requirement = objectOf({ key: text, operator: text }, { values: texts });
const allowedNamespaces = objectOf(
  {},
  { from: text, selector: objectOf({}, { matchLabels: labels, matchExpressions: listOf(requirement) }) },
);

const service = objectOf(
  {
    hostname: text,
    namespace: text,
    name: text,
    registry: text,
    ports: listOf(objectOf({ name: text, number: port, protocol: text })),
    resolution: text,
    meshExternal: flag,
    defaultAddress: addressOrRange,
    clusterVips: recordOf(addresses),
    creationTimeMs: number,
    labels,
    exportTo: texts,
    serviceAccounts: texts,
    definedBy,
  },
  {
    addresses: listOf(addressOrRange),
    autoAllocatedIpv4: address,
    autoAllocatedIpv6: address,
    labelSelectors: labels,
    kubernetes: objectOf(
      {
        type: text,
        nodeLocal: flag,
        publishNotReadyAddresses: flag,
        headless: flag,
        targetPorts: recordOf(text),
      },
      { externalName: text, externalTrafficPolicyLocal: flag, ipFamilies: texts, annotations: labels },
    ),
    clusterExternalAddresses: recordOf(texts),
    clusterExternalPorts: recordOf(recordOf(port)),
    passthroughTargetPorts: recordOf(port),
    trafficDistribution: text,
    racesConnections: flag,
    resourceVersion: text,
    remote: objectOf({ network: text }, { namespaceLabels: labels, namespaceAnnotations: labels }),
    hboneGateway: objectOf({ network: text, addresses: texts, serviceAccount: text }),
    waypoint: objectOf({
      network: text,
      gatewayClass: text,
      labels,
      annotations: labels,
      listeners: listOf(
        objectOf({}, { port, protocol: text, allowedRoutes: objectOf({}, { namespaces: allowedNamespaces }) }),
      ),
      addresses: listOf(objectOf({ type: text, value: text })),
    }),
  },
);

const endpoint = objectOf(
  {
    addresses: endpointAddresses,
    servicePortName: text,
    port,
    labels,
    serviceAccount: text,
    network: text,
    locality: text,
    clusterId: text,
    weight,
    tlsMode: text,
    namespace: text,
    workloadName: text,
    health: text,
  },
  {
    servicePort: port,
    hostname: text,
    subdomain: text,
    nodeName: text,
    sendUnhealthy: flag,
    takesHbone: flag,
    isClusterOnly: flag,
    definedBy: text,
  },
);

const workload = objectOf(
  {
    kind: text,
    name: text,
    namespace: part,
    addresses,
    labels,
    network: text,
    locality: text,
    clusterId: text,
    serviceAccount: text,
    workloadName: text,
    isReady: flag,
    tunnel: oneOfTexts("none", "hbone", "native"),
    ports: recordOf(port),
  },
  {
    creationTimeMs: number,
    bindingLabels: labels,
    hostname: text,
    nodeName: text,
    hostNetwork: flag,
    isRemote: flag,
    namespaceLabels: labels,
    capacity: integer,
    memberOf: listOf(
      objectOf({
        namespace: part,
        hostname: text,
        ports: listOf(objectOf({ servicePort: port, targetPort: port })),
      }),
    ),
  },
);

const puts: Readonly<Record<string, { readonly key: Shape; readonly value: Shape }>> = {
  config: { key: configKey, value: config },
  service: { key: serviceKey, value: service },
  endpoints: { key: endpointsKey, value: listOf(endpoint) },
  workload: { key: workloadKey, value: workload },
};

const header = objectOf({ type: text, op: text });

/** A put or a delete of any type. */
export const changeShape: Shape = (change) => {
  const problem = header(change);
  if (problem !== undefined) return problem;
  const { type, op, key, value } = change as Readonly<Record<string, unknown>>;
  const shapes = typeof type === "string" && Object.hasOwn(puts, type) ? puts[type] : undefined;
  if (shapes === undefined) return ".type is no type of change";
  if (op !== "put" && op !== "delete") return ".op is neither put nor delete";
  const atKey = shapes.key(key);
  if (atKey !== undefined) return `.key${atKey}`;
  const atValue = op === "put" ? (shapes.value(value) ?? otherThan(type, key, value)) : undefined;
  return atValue && `.value${atValue}`;
};

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a value that stand in its key, too: a reader would take another object's place for one of them that differs. */
const namedTwice: Readonly<Record<string, readonly string[]>> = {
  config: ["kind", "namespace", "name"],
  service: ["namespace", "hostname", "name"],
  workload: ["namespace"],
};

function otherThan(type: unknown, key: unknown, value: unknown): string | undefined {
  const names = ownValue(namedTwice, String(type)) ?? [];
  const found = (type === "config" ? (value as Fields)["key"] : value) as Fields;
  const wrong = names.find((name) => ownValue(found, name) !== ownValue(key as Fields, name));
  return wrong === undefined ? undefined : `${type === "config" ? ".key" : ""}.${wrong} is not that of the key`;
}

/** A configuration object at rest. */
export const configShape: Shape = config;
export const configKeyShape: Shape = configKey;

export const causeShape: Shape = objectOf(
  { publisher: text, epoch: text, revision: number, eventTimeMs: number },
  { source: text, caller: text, urgent: flag },
);
