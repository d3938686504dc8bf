/**
 * The API server's schemas of the Gateway API's kinds beside routes, and of Ingresses, so that objects of files and of config-controller's
 * API are validated before a cluster sees them. Written by hand from the kinds' documentation: every field that a version has had, with the
 * bounds that all of them share. Fields that are not here have no effect.
 */
import type { Schema } from "./schema.ts";
import {
  anyObject,
  dnsName,
  hostname,
  list,
  named,
  namespace,
  object,
  oneOf,
  optionalName,
  port,
  preciseHostname,
  text,
  textMap,
  texts,
} from "./schema-words.ts";

const reference = { group: optionalName, kind: named, name: named, namespace };
const objectRef = object(reference, "name");
const wholeRef = object(reference, "group", "kind", "name");
const targetRef = object({ ...reference, sectionName: named }, "group", "kind", "name");

const expression = object({ key: text, operator: text, values: texts }, "key", "operator");
const labelSelector = object({ matchLabels: textMap, matchExpressions: list(expression) });
const namespaces = object({ from: oneOf("All", "Selector", "Same", "None"), selector: labelSelector });
const listener = object(
  {
    ...{ name: preciseHostname, hostname, port, protocol: { type: "string", minLength: 1, maxLength: 255 } },
    tls: object({
      mode: oneOf("Terminate", "Passthrough"),
      certificateRefs: list(objectRef, 0, 64),
      options: textMap,
      frontendValidation: anyObject,
    }),
    allowedRoutes: object({ namespaces, kinds: list(object({ group: optionalName, kind: named }, "kind"), 0, 8) }),
  },
  ...["name", "port", "protocol"],
);
const listeners: Schema = {
  ...list(listener, 0, 64),
  ...{ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
};
const validation = object(
  { caCertificateRefs: list(wholeRef, 1, 16), mode: oneOf("AllowValidOnly", "AllowInsecureFallback") },
  "caCertificateRefs",
);
const portTls = object({ port, tls: object({ validation }) }, "port", "tls");

const gateway = object(
  {
    ...{ gatewayClassName: named, listeners, backendTLS: anyObject, defaultScope: text },
    addresses: list(object({ type: named, value: optionalName }), 0, 16),
    allowedListeners: object({ namespaces }),
    infrastructure: object({ labels: textMap, annotations: textMap, parametersRef: wholeRef }),
    tls: object({
      frontend: object({ default: object({ validation }), perPort: list(portTls, 0, 64) }),
      backend: object({ clientCertificateRef: objectRef }),
    }),
  },
  "gatewayClassName",
);

const alternativeName = object(
  { type: oneOf("Hostname", "URI"), hostname, uri: { type: "string", maxLength: 253 } },
  "type",
);
const backendTls = object(
  {
    ...{ targetRefs: list(targetRef, 1, 16), options: textMap },
    validation: object(
      {
        ...{ hostname: preciseHostname, wellKnownCACertificates: named },
        ...{ caCertificateRefs: list(wholeRef, 0, 8), subjectAltNames: list(alternativeName, 0, 5) },
      },
      "hostname",
    ),
  },
  ...["targetRefs", "validation"],
);

const granted = { group: optionalName, kind: named };
const referenceGrant = object(
  {
    from: list(object({ ...granted, namespace }, "group", "kind", "namespace"), 1, 16),
    to: list(object({ ...granted, name: named }, "group", "kind"), 1, 16),
  },
  ...["from", "to"],
);

const controllerName: Schema = {
  ...{ type: "string", minLength: 1, maxLength: 253 },
  pattern: `^${dnsName}/[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+$`,
};
const gatewayClass = object(
  { controllerName, description: { type: "string", maxLength: 64 }, parametersRef: wholeRef },
  "controllerName",
);

const backendTraffic = object(
  {
    ...{ targetRefs: list(targetRef, 1, 16), sessionPersistence: anyObject },
    retryConstraint: object({
      budget: object({ percent: { type: "integer", minimum: 0, maximum: 100 }, interval: text }),
      minRetryRate: object({ count: { type: "integer", minimum: 1, maximum: 1_000_000 }, interval: text }),
    }),
  },
  "targetRefs",
);

const portNumber = object({ number: port }, "number");
const picker = object(
  { ...reference, port: portNumber, failureMode: oneOf("FailOpen", "FailClose"), portNumber: port },
  "name",
);
const inferencePool = object(
  {
    ...{ selector: object({ matchLabels: textMap }, "matchLabels"), targetPorts: list(portNumber, 1, 8) },
    ...{ appProtocol: text, endpointPickerRef: picker },
  },
  ...["selector", "targetPorts"],
);

const backend = object({
  service: object({ name: named, port: object({ name: text, number: { type: "integer", maximum: 65_535 } }) }, "name"),
  resource: object({ apiGroup: text, kind: named, name: named }, "kind", "name"),
});
const ingressPath = object(
  { path: text, pathType: oneOf("Exact", "Prefix", "ImplementationSpecific"), backend },
  ...["pathType", "backend"],
);
const ingress = object({
  ...{ ingressClassName: text, defaultBackend: backend },
  tls: list(object({ hosts: texts, secretName: text })),
  rules: list(object({ host: text, http: object({ paths: list(ingressPath, 1) }, "paths") })),
});

const ofSpec = (spec: Schema): Schema => ({ ...object({ spec, status: anyObject }, "spec") });

/** By the kind's unambiguous name, as `@flotilla/kinds` has it. */
export const gatewayApiSchemas: Readonly<Record<string, Schema>> = {
  BackendTLSPolicy: ofSpec(backendTls),
  GatewayClass: ofSpec(gatewayClass),
  InferencePool: ofSpec(inferencePool),
  Ingress: ofSpec(ingress),
  KubernetesGateway: ofSpec(gateway),
  ListenerSet: ofSpec(object({ parentRef: objectRef, listeners }, "parentRef", "listeners")),
  ReferenceGrant: ofSpec(referenceGrant),
  XBackendTrafficPolicy: ofSpec(backendTraffic),
};
