/** The mesh of the captured pods. */
export const vip = "10.98.0.1";
export const sleepAddress = "10.99.0.11";
export const webAddress = "10.99.0.21";
export const bornAddress = "10.99.0.22";
export const outsiderAddress = "10.99.0.31";

export function podObject(name: string, address: string, app: string): string {
  return `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: shop
  labels: {app: ${app}}
  annotations: {ambient.istio.io/redirection: enabled}
spec: {nodeName: n1, serviceAccountName: ${app}}
status: {phase: Running, podIP: ${address}, conditions: [{type: Ready, status: "True"}]}
`;
}

export const base = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  clusterIP: ${vip}
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: other, port: 90, targetPort: 9090}]
---${podObject("sleep", sleepAddress, "sleep")}---${podObject("web", webAddress, "web")}`;

export const strict = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
`;

/** Denies the one caller on one port. */
export const denySleep = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny-sleep, namespace: shop}
spec:
  action: DENY
  selector: {matchLabels: {app: web}}
  rules:
    - from: [{source: {principals: [cluster.local/ns/shop/sa/sleep]}}]
      to: [{operation: {ports: ["8080"]}}]
`;

/** The same, of which ztunnels only log what they would deny. */
export const tryDenySleep = denySleep.replace(
  "namespace: shop}",
  'namespace: shop, annotations: {istio.io/dry-run: "true"}}',
);

/** A ztunnel sees no methods: no caller is allowed. */
export const allowGet = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: allow-get, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  rules: [{to: [{operation: {methods: [GET]}}]}]
`;
