/** Pods of programs that speak xDS themselves, by the built-in templates grpc-agent and grpc-simple; and what annotations put into a sidecar. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultMeshConfig } from "@flotilla/model";
import { parseInjectionConfig } from "./config.ts";
import { builtInDocuments } from "./config-source.ts";
import { injectPod } from "./inject.ts";
import type { Container, Json, Pod, Texts } from "./pod.ts";

const documents = await builtInDocuments();
const config = parseInjectionConfig(documents.config, documents.values);
const probe = { httpGet: { path: "/healthy", port: 8080 } };
const web: Container = {
  name: "web",
  image: "web",
  ports: [{ name: "grpc", containerPort: 7070 }],
  livenessProbe: probe,
};

function inject(
  annotations: Texts,
  containers: readonly Container[] = [web],
  labels: Texts = {},
  mesh: Json = defaultMeshConfig,
): Pod {
  const pod: Pod = {
    metadata: {
      generateName: "web-5d-",
      labels: { app: "web", "pod-template-hash": "5d", ...labels },
      annotations,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d", controller: true }],
    },
    spec: { containers },
  };
  const request = { pod, namespace: "shop", namespaceAnnotations: {}, proxyEnv: {}, mesh };
  const environment = { revision: "default", nativeSidecars: true, platform: "", compliancePolicy: "" };
  return injectPod(request, config, environment);
}

const named = (list: readonly Container[] = [], name: string): Container =>
  list.find((one) => one.name === name) ?? assert.fail(`no container ${name}`);
const envOf = ({ env = [] }: Container): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value]));
const mountsOf = (container: Container): Readonly<Record<string, string>> => {
  const mounts = (container["volumeMounts"] ?? []) as readonly { readonly name: string; readonly mountPath: string }[];
  return Object.fromEntries(mounts.map(({ name, mountPath }) => [name, mountPath]));
};
const volumesOf = ({ spec }: Pod): readonly string[] =>
  ((spec["volumes"] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name);

describe("the template grpc-agent", () => {
  const pod = inject({ "inject.istio.io/templates": "grpc-agent" }, [web, { name: "side", image: "side" }]);
  const agent = named(pod.spec.containers, "istio-proxy");

  it("adds the agent alone: no Envoy, no capture, probes as they were", () => {
    assert.deepEqual(pod.spec.initContainers ?? [], []);
    const env = envOf(agent);
    assert.deepEqual(
      ["DISABLE_ENVOY", "ISTIO_META_GENERATOR", "OUTPUT_CERTS"].map((name) => env[name]),
      ["true", "grpc", "/var/lib/istio/data"],
    );
    assert.equal(pod.metadata.annotations?.["sidecar.istio.io/rewriteAppHTTPProbers"], "false");
    assert.deepEqual(named(pod.spec.containers, "web")["livenessProbe"], probe);
    assert.equal(pod.metadata.labels?.["security.istio.io/tlsMode"], undefined);
    assert.equal(pod.metadata.labels?.["service.istio.io/canonical-name"], "web");
  });

  it("names the bootstrap file to each program, in a volume that it shares with the agent", () => {
    for (const name of ["web", "side"]) {
      const program = named(pod.spec.containers, name);
      assert.equal(envOf(program)["GRPC_XDS_BOOTSTRAP"], "/etc/istio/proxy/grpc-bootstrap.json");
      const shared = ["istio-xds", "istio-data", "workload-certs"];
      for (const volume of shared) assert.equal(mountsOf(program)[volume], mountsOf(agent)[volume], volume);
    }
    assert.equal(envOf(agent)["ISTIO_META_APP_CONTAINERS"], "web,side");
    for (const volume of Object.keys(mountsOf(agent))) assert.ok(volumesOf(pod).includes(volume), volume);
  });

  it("sends probes to the loopback address where the mesh's inbound traffic goes there", () => {
    const probesAt = (mode: string | undefined) => {
      const mesh = { ...defaultMeshConfig, inboundTrafficPolicy: mode === undefined ? {} : { mode } };
      const pod = inject({ "inject.istio.io/templates": "grpc-agent" }, [web], {}, mesh);
      return envOf(named(pod.spec.containers, "istio-proxy"))["REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"];
    };
    assert.deepEqual(["LOCALHOST", "PASSTHROUGH", undefined].map(probesAt), ["true", undefined, undefined]);
  });

  it("is probed at the agent's port, unless the status port is 0", () => {
    assert.equal((agent["readinessProbe"] as typeof probe).httpGet.port, 15_020);
    const silent = inject({ "inject.istio.io/templates": "grpc-agent", "status.sidecar.istio.io/port": "0" });
    assert.equal(named(silent.spec.containers, "istio-proxy")["readinessProbe"], undefined);
  });

  it("is asked at the status port of the pod's own proxy configuration", () => {
    const own = { "inject.istio.io/templates": "grpc-agent", "proxy.istio.io/config": '{"statusPort":15030}' };
    const { readinessProbe, lifecycle } = named(inject(own).spec.containers, "istio-proxy");
    assert.equal((readinessProbe as typeof probe).httpGet.port, 15_030);
    assert.match(JSON.stringify(lifecycle), /localhost:15030/);
  });

  it("is injected again without a change", () => {
    const { annotations = {}, labels = {} } = pod.metadata;
    const again = inject(annotations, pod.spec.containers, labels);
    assert.deepEqual(
      again.spec.containers?.map(({ name }) => name),
      pod.spec.containers?.map(({ name }) => name),
    );
    assert.deepEqual(envOf(named(again.spec.containers, "web")), envOf(named(pod.spec.containers, "web")));
  });
});

describe("the template grpc-simple", () => {
  const pod = inject({ "inject.istio.io/templates": "grpc-simple" });
  const program = named(pod.spec.containers, "web");

  it("adds no container, and the bootstrap as a variable", () => {
    assert.deepEqual(
      pod.spec.containers?.map(({ name }) => name),
      ["web"],
    );
    const { xds_servers: servers, node } = JSON.parse(envOf(program)["GRPC_XDS_BOOTSTRAP_CONFIG"] ?? "") as {
      readonly xds_servers: readonly object[];
      readonly node: { readonly id: string; readonly metadata: object };
    };
    assert.deepEqual(servers, [
      {
        server_uri: "dns:///istiod.istio-system.svc:15010",
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ]);
    const domain = "$(POD_NAMESPACE).svc.cluster.local";
    assert.equal(node.id, `sidecar~$(INSTANCE_IP)~$(POD_NAME).$(POD_NAMESPACE)~${domain}`);
    assert.deepEqual(node.metadata, {
      ...{ GENERATOR: "grpc", NAMESPACE: "$(POD_NAMESPACE)", INSTANCE_IPS: "$(INSTANCE_IP)", CLUSTER_ID: "Kubernetes" },
      LABELS: { app: "web", "pod-template-hash": "5d" },
    });
  });

  it("sets what the kubelet puts into that variable before it", () => {
    const order = (program.env ?? []).map(({ name }) => name);
    for (const name of ["INSTANCE_IP", "POD_NAME", "POD_NAMESPACE"])
      assert.ok(order.indexOf(name) < order.indexOf("GRPC_XDS_BOOTSTRAP_CONFIG"), name);
  });
});

describe("annotations of the built-in sidecar", () => {
  const proxyOf = (annotations: Texts): Container => named(inject(annotations).spec.initContainers, "istio-proxy");

  it("mount volumes of the user", () => {
    const annotations = {
      "sidecar.istio.io/userVolume": '{"tap":{"emptyDir":{}}}',
      "sidecar.istio.io/userVolumeMount": '{"tap":{"mountPath":"/tap","readOnly":true}}',
    };
    assert.ok(volumesOf(inject(annotations)).includes("tap"));
    const mounts = proxyOf(annotations)["volumeMounts"] as readonly object[];
    assert.deepEqual(mounts.at(-1), { name: "tap", mountPath: "/tap", readOnly: true });
    assert.ok(!volumesOf(inject({})).includes("tap"));
  });

  it("are asked to drain at the status port of the pod's own proxy configuration", () => {
    const { lifecycle } = proxyOf({ "proxy.istio.io/config": '{"statusPort":15030}' });
    assert.match(JSON.stringify(lifecycle), /--debug-port=15030/);
  });

  it("take a bootstrap from a ConfigMap", () => {
    const annotations = { "sidecar.istio.io/bootstrapOverride": "own" };
    const proxy = proxyOf(annotations);
    assert.equal(envOf(proxy)["ISTIO_BOOTSTRAP_OVERRIDE"], "/etc/istio/custom-bootstrap/custom_bootstrap.json");
    assert.equal(mountsOf(proxy)["custom-bootstrap-volume"], "/etc/istio/custom-bootstrap");
    const volumes = inject(annotations).spec["volumes"] as readonly { readonly name: string }[];
    assert.deepEqual(
      volumes.find(({ name }) => name === "custom-bootstrap-volume"),
      {
        ...{ name: "custom-bootstrap-volume", configMap: { name: "own" } },
      },
    );
  });

  it("leave interfaces out of the capture, or treat them as another's", () => {
    const annotations = {
      "traffic.sidecar.istio.io/excludeInterfaces": "eth1,eth2",
      "istio.io/reroute-virtual-interfaces": "net1",
    };
    const args = String(named(inject(annotations).spec.initContainers, "istio-init")["args"]);
    assert.match(args, /-k,net1,-c,eth1,eth2/);
  });

  it("let the proxy listen on low ports", () => {
    const context = proxyOf({ "sidecar.istio.io/capNetBindService": "true" })["securityContext"];
    const { capabilities, runAsUser } = context as { readonly capabilities: object; readonly runAsUser: number };
    assert.deepEqual([capabilities, runAsUser], [{ drop: ["ALL"], add: ["NET_BIND_SERVICE"] }, 0]);
  });
});
