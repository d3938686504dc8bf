/** Two clusters on networks of their own: a pod of the first calls a service, whose pod is in the second, behind its east-west gateway. */
import { podObject, sleepAddress, vip, webAddress } from "./mesh.ts";
import { bridgeAddress } from "./pods.ts";

export const gatewayLabels = {
  "gateway.networking.k8s.io/gateway-name": "ew",
  "gateway.istio.io/managed": "istio.io-eastwest-controller",
};

/** The account that config-controller gives a deployed gateway: ztunnels ask for it. */
export const gatewayAccount = "ew-istio-east-west";
/** TLS for this host goes through the gateway. */
export const [tlsHost, tlsPort] = ["web.example", 8443];

/** Those that both clusters have. */
const common = (network: string) => `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: istio-system, labels: {topology.istio.io/network: ${network}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {istio.io/global: "true"}}
spec:
  clusterIP: ${vip}
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: other, port: 90, targetPort: 9090}]
---`;

const labels = "{topology.istio.io/network: net2}";
const status = `{addresses: [{type: IPAddress, value: ${bridgeAddress}}]}`;

/** Stands for the gateway in the other cluster. */
const remoteGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ew, namespace: istio-system, labels: ${labels}, annotations: {gateway.istio.io/service-account: ${gatewayAccount}}}
spec:
  gatewayClassName: istio-remote
  listeners: [{name: mesh, port: 15008, protocol: HBONE}]
status: ${status}
---`;

const eastWestGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ew, namespace: istio-system, labels: ${labels}}
spec:
  gatewayClassName: istio-east-west
  listeners:
    - name: mesh
      port: 15008
      protocol: HBONE
      tls: {mode: Terminate, options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}
    - name: tls
      port: ${tlsPort}
      protocol: TLS
      hostname: ${tlsHost}
      tls: {mode: Passthrough}
      allowedRoutes: {namespaces: {from: All}}
status: ${status}
---`;

/** The pod of the other network is known by its address. */
export const first = `${common("net1")}${remoteGateway}
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: web, namespace: shop, annotations: {ambient.istio.io/redirection: enabled}}
spec: {address: ${webAddress}, labels: {app: web}, network: net2, serviceAccount: web}
---${podObject("sleep", sleepAddress, "sleep")}`;

export const second = `${common("net2")}${eastWestGateway}
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
  - addresses: [${webAddress}]
    conditions: {ready: true}
    targetRef: {kind: Pod, name: web, namespace: shop}
ports: [{name: http, port: 8080}, {name: other, port: 9090}]
---${podObject("web", webAddress, "web")}---
apiVersion: v1
kind: Service
metadata: {name: ew, namespace: istio-system}
spec: {clusterIP: 10.98.0.9, ports: [{name: tls, port: ${tlsPort}}], selector: {gateway.networking.k8s.io/gateway-name: ew}}
---
apiVersion: v1
kind: Pod
metadata: {name: ew, namespace: istio-system, labels: ${JSON.stringify(gatewayLabels)}}
spec: {nodeName: n2, serviceAccountName: ${gatewayAccount}}
status: {phase: Running, podIP: ${bridgeAddress}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: ew, namespace: istio-system}]
  hostnames: [${tlsHost}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`;

export const meshConfig = {
  serviceScopeConfigs: [{ scope: "GLOBAL", servicesSelector: { matchLabels: { "istio.io/global": "true" } } }],
};

/** At the gateway, of its callers by the identity of the outer tunnel. */
export const denySleepAtGateway = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny-sleep, namespace: istio-system}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: ew}]
  action: DENY
  rules: [{from: [{source: {principals: [cluster.local/ns/shop/sa/sleep]}}]}]
`;
