/**
 * The form of a pod as far as injection reads it. The API server has decoded the pods that it sends; whoever else reaches the webhook sends
 * anything, and gets a refusal that names the field.
 */
import { anyObject, anything, flag, integer, listOf, objectOf, recordOf, type Shape, text } from "@flotilla/model";
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
