/** The mesh of redirected connections: every address is one of the namespace. */
const entry = (name: string, spec: string) => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: shop}
spec: ${spec}
---`;

/** Services by name with the address that callers use; `unknown` is of no service. */
export const addresses = { web: "10.1.0.1", auto: "10.1.0.2", queue: "10.1.0.3", unknown: "10.7.7.7" } as const;
/** Ports of the workload itself: one that a service names, one that none does. */
export const workloadPorts = { app: 8080, unnamed: 9090 } as const;
/** Behind each service, by its name. */
export const backends = { web: "10.9.0.1", auto: "10.9.0.2", queue: "10.9.0.3" } as const;

export const mesh = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---${entry(
  "web",
  `{hosts: [web.example.com], addresses: [${addresses.web}], location: MESH_INTERNAL, resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}], endpoints: [{address: ${backends.web}}]}`,
)}${entry(
  "auto",
  `{hosts: [auto.example.com], addresses: [${addresses.auto}], location: MESH_INTERNAL, resolution: STATIC, ports: [{number: 7000, name: auto}], endpoints: [{address: ${backends.auto}}]}`,
)}${entry(
  "queue",
  `{hosts: [queue.example.com], addresses: [${addresses.queue}], location: MESH_INTERNAL, resolution: STATIC, ports: [{number: 7000, name: tcp, protocol: TCP}], endpoints: [{address: ${backends.queue}}]}`,
)}${entry(
  "app",
  `{hosts: [app.example.com], addresses: [10.1.0.9], location: MESH_INTERNAL, resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP, targetPort: ${workloadPorts.app}}], workloadSelector: {labels: {app: app}}}`,
)}
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: app, namespace: shop}
spec: {address: 10.0.0.1, labels: {app: app}, serviceAccount: app}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: auto, namespace: shop}
spec:
  hosts: [auto.example.com]
  http:
    - match: [{uri: {prefix: /gone}}]
      directResponse: {status: 410}
    - route: [{destination: {host: auto.example.com}}]
`;

export const registryOnly = `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: shop}
spec: {outboundTrafficPolicy: {mode: REGISTRY_ONLY}}
`;

export const strict = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
`;
