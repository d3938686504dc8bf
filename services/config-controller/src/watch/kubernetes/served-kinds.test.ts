import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { ServedKinds, servedKinds, wantedKinds } from "./served-kinds.ts";

const names = (ignored: readonly string[], included: readonly string[] = []) =>
  wantedKinds({ ignored, included }).map(({ name }) => name);

describe("kinds that are wanted", () => {
  const all = names([]);
  it("are those that are configuration", () => {
    assert.deepEqual(
      ["VirtualService", "KubernetesGateway", "Secret", "Pod"].map((name) => all.includes(name)),
      [true, true, true, false],
    );
  });

  const left = (ignored: readonly string[], included?: readonly string[]) =>
    all.filter((name) => !names(ignored, included).includes(name));
  it("are without those that are ignored, unless they are included", () => {
    assert.deepEqual(left(["virtualservices.networking.istio.io"]), ["VirtualService"]);
    assert.deepEqual(left(["virtualservices.networking.istio.io"], ["virtualservices.networking.istio.io"]), []);
    assert.deepEqual(left(["virtualservices.security.istio.io"]), []);
    const security = left(["*.security.istio.io"]);
    assert.ok(security.includes("AuthorizationPolicy") && !security.includes("VirtualService"));
    const others = left(["*.security.istio.io"], ["authorizationpolicies.security.istio.io"]);
    assert.deepEqual(
      others,
      security.filter((name) => name !== "AuthorizationPolicy"),
    );
    assert.deepEqual(left(["*.security.istio.io"], ["*.security.istio.io"]), []);
  });
});

describe("kinds that are served", () => {
  const list = (...plurals: readonly string[]) => ({ resources: plurals.map((name) => ({ name })) });
  const { api } = createMemoryApi({
    "/api/v1": list("secrets", "services"),
    "/apis/networking.istio.io/v1beta1": list("virtualservices"),
    "/apis/networking.istio.io/v1": list("gateways", "virtualservices"),
    "/apis/gateway.networking.k8s.io/v1": list("gatewayclasses"),
  });
  const wanted = wantedKinds({ ignored: [], included: [] }).filter(({ name }) =>
    ["VirtualService", "Secret", "GatewayClass", "Sidecar"].includes(name),
  );
  const secrets = `?fieldSelector=${encodeURIComponent("type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token")}`;
  const pathsOf = async (namespaces: readonly string[]) =>
    Object.fromEntries(
      [...(await servedKinds(api, wanted, namespaces))].map(([name, { path, namespace }]) => [name, [path, namespace]]),
    );

  it("are read in their newest version, of all namespaces", async () =>
    assert.deepEqual(await pathsOf([]), {
      Secret: [`/api/v1/secrets${secrets}`, undefined],
      VirtualService: ["/apis/networking.istio.io/v1/virtualservices", undefined],
      GatewayClass: ["/apis/gateway.networking.k8s.io/v1/gatewayclasses", undefined],
    }));

  it("are read of each namespace, where they have one", async () =>
    assert.deepEqual(await pathsOf(["shop", "a/b"]), {
      "Secret of namespace shop": [`/api/v1/namespaces/shop/secrets${secrets}`, "shop"],
      "Secret of namespace a/b": [`/api/v1/namespaces/a%2Fb/secrets${secrets}`, "a/b"],
      "VirtualService of namespace shop": ["/apis/networking.istio.io/v1/namespaces/shop/virtualservices", "shop"],
      "VirtualService of namespace a/b": ["/apis/networking.istio.io/v1/namespaces/a%2Fb/virtualservices", "a/b"],
      GatewayClass: ["/apis/gateway.networking.k8s.io/v1/gatewayclasses", undefined],
    }));
});

describe("kinds that are read again", () => {
  const wanted = wantedKinds({ ignored: [], included: [] }).filter(({ name }) => name === "VirtualService");
  const root = "/apis/networking.istio.io/v1";

  function world() {
    const memory = createMemoryApi();
    let tag: string | undefined = "one";
    let [nowMs, lists] = [0, 0];
    const api: KubeApi = {
      ...memory.api,
      kindsTag: async () => tag,
      get: (path) => {
        if (path === root) lists++;
        return memory.api.get(path);
      },
    };
    const kinds = new ServedKinds({ api, wanted, namespaces: [], nowMs: () => nowMs });
    return {
      names: async () => [...(await kinds.read()).keys()],
      lists: () => lists,
      pass: (ms: number) => {
        nowMs += ms;
      },
      define: (next: string | undefined) => {
        tag = next;
        memory.put(root, { resources: [{ name: "virtualservices" }] });
      },
      memory,
    };
  }

  it("are not listed while the server's tag of them has been the same for long", async () => {
    const { names, lists, pass, define } = world();
    assert.deepEqual(await names(), []);
    pass(29_000);
    await names();
    assert.equal(lists(), 2, "another server may be behind the one that gave the tag");
    pass(2_000);
    assert.deepEqual([await names(), lists()], [[], 2]);
    define("two");
    assert.deepEqual([await names(), lists()], [["VirtualService"], 3]);
  });

  it("are listed each time where there is no tag, and again after a list that failed", async () => {
    const { names, lists, pass, define, memory } = world();
    define(undefined);
    await names();
    pass(60_000);
    await names();
    assert.equal(lists(), 2);
    define("three");
    await names();
    pass(60_000);
    await names();
    assert.equal(lists(), 3);
    define("four");
    memory.refusal = () => new KubeError("KUBE_AWAY", "away");
    await assert.rejects(names(), { code: "KUBE_AWAY" });
    memory.refusal = () => undefined;
    pass(60_000);
    assert.deepEqual([await names(), lists()], [["VirtualService"], 5]);
  });
});
