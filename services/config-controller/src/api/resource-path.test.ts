import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseResourcePath } from "./resource-path.ts";

describe("a path of the Kubernetes API", () => {
  const istio = "/apis/networking.istio.io/v1";
  const found: readonly (readonly [path: string, expected: readonly unknown[]])[] = [
    [`${istio}/virtualservices`, ["VirtualService", "networking.istio.io/v1", "", undefined, false]],
    [
      "/apis/networking.istio.io/v1beta1/virtualservices",
      ["VirtualService", "networking.istio.io/v1beta1", "", undefined, false],
    ],
    [
      `${istio}/namespaces/shop/virtualservices`,
      ["VirtualService", "networking.istio.io/v1", "shop", undefined, false],
    ],
    [
      `${istio}/namespaces/shop/virtualservices/a%20b`,
      ["VirtualService", "networking.istio.io/v1", "shop", "a b", false],
    ],
    [
      `${istio}/namespaces/shop/virtualservices/a/status`,
      ["VirtualService", "networking.istio.io/v1", "shop", "a", true],
    ],
    [
      "/apis/gateway.networking.k8s.io/v1/gatewayclasses/a",
      ["GatewayClass", "gateway.networking.k8s.io/v1", "", "a", false],
    ],
  ];
  for (const [path, expected] of found)
    it(path, () => {
      const { kind, apiVersion, namespace, name, isStatus } = parseResourcePath(path) ?? assert.fail("none");
      assert.deepEqual([kind.kind, apiVersion, namespace, name, isStatus], expected);
    });

  for (const path of [
    "/",
    "/apis",
    "/apis/networking.istio.io",
    "/apis/networking.istio.io/v1",
    "/api/v1/virtualservices",
    "/other/networking.istio.io/v1/virtualservices",
    "/apis/networking.istio.io/v7/virtualservices",
    `${istio}/nothings`,
    `${istio}/virtualservices/a`,
    `${istio}/virtualservices/`,
    `${istio}//virtualservices`,
    `${istio}/namespaces/shop/virtualservices/a/scale`,
    `${istio}/namespaces/shop/virtualservices/a/status/more`,
    "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gatewayclasses/a",
    "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gatewayclasses",
    `${istio}/namespaces/shop/virtualservices/%E0%A4%A`,
  ])
    it(`${path} names nothing`, () => assert.equal(parseResourcePath(path), undefined));
});
