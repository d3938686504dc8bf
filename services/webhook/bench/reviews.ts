/** AdmissionReviews as an API server sends them for the pods of Deployments, and for configuration. */

function review(kind: object, object: object): string {
  const request = { uid: "6f1c", kind, namespace: "shop", name: "", operation: "CREATE", dryRun: false, object };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
}

const podKind = { group: "", version: "v1", kind: "Pod" };
/** The signs of generated names. */
const signs = "bcdfghjklmnpqrstvwxz2456789";

function suffix(index: number): string {
  let [text, rest] = ["", index];
  for (let place = 0; place < 5; place++) {
    text += signs[rest % signs.length];
    rest = Math.floor(rest / signs.length);
  }
  return text;
}

function pod(app: string, index: number): string {
  const owner = `${app}-5d4f8c7b9`;
  const token = `kube-api-access-${suffix(index)}`;
  const mounts = [{ name: token, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }];
  const probe = { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10 };
  const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } };
  const container = {
    ...{
      name: "app",
      image: `registry.example/${app}:1.4.2`,
      ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    },
    ...{
      env: [{ name: "MODE", value: app }],
      resources,
      readinessProbe: probe,
      livenessProbe: probe,
      volumeMounts: mounts,
    },
    ...{ imagePullPolicy: "IfNotPresent", terminationMessagePath: "/dev/termination-log" },
  };
  return review(podKind, {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ name: `${owner}-${suffix(index)}`, generateName: `${owner}-`, namespace: "shop" },
      uid: `7a0c2d1e-0000-4000-8000-${String(index).padStart(12, "0")}`,
      creationTimestamp: "2026-11-23T08:00:00Z",
      labels: { app, "pod-template-hash": "5d4f8c7b9", version: "v1" },
      annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "8080" },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: `u-${app}`, controller: true }],
    },
    spec: {
      ...{ containers: [container], serviceAccountName: app, restartPolicy: "Always", dnsPolicy: "ClusterFirst" },
      volumes: [
        { name: token, projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: "token" } }] } },
      ],
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ],
    },
  });
}

/** Every request a service of its own. */
export const podOfService = (index: number): string => pod(`service-${index}`, index);

export const podOfReplicaSet = (index: number): string => pod("reviews", index);

export function virtualService(index: number): string {
  const kind = { group: "networking.istio.io", version: "v1", kind: "VirtualService" };
  const destination = (subset: string) => ({
    host: `service-${index}.shop.svc.cluster.local`,
    subset,
    port: { number: 8080 },
  });
  const http = [
    {
      match: [{ headers: { "x-user": { exact: `user-${index}` } }, uri: { prefix: "/api" } }],
      route: [{ destination: destination("v2"), weight: 100 }],
      retries: { attempts: 3, perTryTimeout: "2s", retryOn: "5xx" },
    },
    {
      route: [
        { destination: destination("v1"), weight: 90 },
        { destination: destination("v2"), weight: 10 },
      ],
      timeout: "10s",
    },
  ];
  const metadata = { name: `service-${index}`, namespace: "shop" };
  const spec = { hosts: [`service-${index}`], http };
  return review(kind, { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec });
}
