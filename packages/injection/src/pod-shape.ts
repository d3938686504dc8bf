/**
 * The form of a pod as far as injection reads it. The API server has decoded the pods that it sends; other callers of the webhook may send
 * anything, and get a refusal that names the field.
 */
import { anyObject, anything, flag, integer, listOf, objectOf, recordOf, type Shape, text } from "@flotilla/model";
import { names } from "./annotations.ts";
import { InjectionError } from "./errors.ts";
import type { Pod } from "./pod.ts";

const textOrInteger: Shape = (value) =>
  text(value) === undefined || integer(value) === undefined ? undefined : " is neither text nor natural number";
const resources = recordOf((value) =>
  typeof value === "string" || Number.isFinite(value) ? undefined : " is neither text nor number",
);
const headers = listOf(objectOf({ name: text, value: text }));
const handler = objectOf(
  {},
  {
    httpGet: objectOf({ port: textOrInteger }, { path: text, host: text, scheme: text, httpHeaders: headers }),
    tcpSocket: objectOf({ port: textOrInteger }, { host: text }),
    grpc: objectOf({ port: integer }, { service: text }),
    exec: anyObject,
    timeoutSeconds: integer,
  },
);
const container = objectOf(
  { name: text },
  {
    image: text,
    command: listOf(text),
    args: listOf(text),
    env: listOf(objectOf({ name: text }, { value: text, valueFrom: anyObject })),
    ports: listOf(objectOf({ containerPort: integer }, { name: text, protocol: text })),
    volumeMounts: listOf(objectOf({ name: text, mountPath: text })),
    volumeDevices: listOf(objectOf({ name: text, devicePath: text })),
    resources: objectOf({}, { requests: resources, limits: resources }),
    securityContext: objectOf({}, { runAsUser: integer, runAsGroup: integer, capabilities: anyObject }),
    livenessProbe: handler,
    readinessProbe: handler,
    startupProbe: handler,
    lifecycle: objectOf({}, { preStop: handler, postStart: handler }),
    restartPolicy: text,
  },
);
const named = listOf(objectOf({ name: text }));
const owner = objectOf({ apiVersion: text, kind: text, name: text }, { controller: flag, uid: text });
const pod = objectOf(
  {
    metadata: objectOf(
      {},
      {
        ...{ name: text, generateName: text, namespace: text, uid: text },
        ...{ labels: recordOf(text), annotations: recordOf(text), ownerReferences: listOf(owner) },
      },
    ),
    spec: objectOf(
      {},
      {
        ...{ containers: listOf(container), initContainers: listOf(container), volumes: named },
        ...{ imagePullSecrets: named, hostNetwork: flag, serviceAccountName: text, dnsConfig: anyObject },
        securityContext: objectOf({}, { fsGroup: integer, runAsUser: integer, runAsGroup: integer }),
      },
    ),
  },
  {},
);

/** @throws InjectionError INJECT_BAD_POD naming the field */
export function checkPodShape(object: unknown): asserts object is Pod {
  const problem = anything(object) ?? pod(object);
  if (problem !== undefined)
    throw new InjectionError("INJECT_BAD_POD", `could not unmarshal raw object: pod${problem}`);
}

/** Kubernetes' own bound on all annotations of an object, in bytes. */
const maxAnnotationBytes = 262_144;
/** Of the annotation with a ProxyConfig, which is parsed: some thousand keys. */
const maxProxyConfigBytes = 65_536;
/** Far beyond what a kubelet starts. */
const maxContainers = 500;
const maxVolumes = 2_000;
const maxEnvironment = 5_000;

/**
 * Bounds of a pod that is injected, checked before anything is computed from it. All users that may create pods reach the webhook with
 * them, and rendering and merging grow with their content.
 * @throws InjectionError INJECT_BAD_POD naming the field and its bound
 */
export function checkPodLimits({ metadata, spec }: Pod): void {
  const { containers = [], initContainers = [], volumes = [] } = spec;
  const all = [...initContainers, ...containers];
  atMost("spec.containers and spec.initContainers", all.length, maxContainers, "containers");
  atMost("spec.volumes", volumes.length, maxVolumes, "volumes");
  const variables = all.reduce((sum, { env }) => sum + (Array.isArray(env) ? env.length : 0), 0);
  atMost("env of all containers", variables, maxEnvironment, "variables");
  const entries = Object.entries(metadata.annotations ?? {});
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  atMost("metadata.annotations", bytes, maxAnnotationBytes, "bytes");
  const proxyConfigBytes = Buffer.byteLength(String(metadata.annotations?.[names.proxyConfig] ?? ""));
  atMost(`annotation ${names.proxyConfig}`, proxyConfigBytes, maxProxyConfigBytes, "bytes");
}

function atMost(field: string, count: number, most: number, unit: string): void {
  if (count > most)
    throw new InjectionError("INJECT_BAD_POD", `${field}: ${count} ${unit}, at most ${most} are allowed`);
}
