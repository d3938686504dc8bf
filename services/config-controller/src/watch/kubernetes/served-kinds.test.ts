import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { servedKinds, wantedKinds } from "./served-kinds.ts";

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
