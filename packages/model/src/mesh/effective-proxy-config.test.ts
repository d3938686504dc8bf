import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "../config/config.ts";
import { effectiveProxyConfig, noProxyConfigs, proxyConfigLayers } from "./effective-proxy-config.ts";

const object = (namespace: string, name: string, spec: object, creationTimeMs = 0): Config => ({
  key: { kind: "ProxyConfig", namespace, name },
  labels: {},
  annotations: {},
  creationTimeMs,
  spec,
});
const selecting = (app: string) => ({ selector: { matchLabels: { app } } });
const place = { rootNamespace: "istio-system", namespace: "shop", labels: { app: "web" } };
const concurrencyOf = (objects: readonly Config[], at: Partial<typeof place> = {}, annotation?: object) =>
  effectiveProxyConfig({ concurrency: 2 }, proxyConfigLayers(objects, { ...place, ...at }), annotation as never)[
    "concurrency"
  ];

const root = object("istio-system", "root", { concurrency: 3 });
const shop = object("shop", "all", { concurrency: 4 });
const web = object("shop", "web", { ...selecting("web"), concurrency: 0 });

describe("ProxyConfig objects", () => {
  const cases: readonly (readonly [name: string, got: unknown, want: number])[] = [
    ["the mesh's own settings hold without any", concurrencyOf([]), 2],
    ["those of the root namespace hold for the mesh", concurrencyOf([root]), 3],
    ["those of the namespace override them", concurrencyOf([shop, root]), 4],
    ["a selector overrides both, also with a zero", concurrencyOf([root, shop, web]), 0],
    ["a selector of other workloads does not", concurrencyOf([shop, web], { labels: { app: "api" } }), 4],
    ["those of other namespaces do not", concurrencyOf([shop, web], { namespace: "depot" }), 2],
    [
      "a selector in the root namespace is for that namespace",
      concurrencyOf([object("istio-system", "w", web.spec as object)]),
      2,
    ],
    ["an empty selector selects nothing", concurrencyOf([object("shop", "e", { selector: {}, concurrency: 9 })]), 2],
    ["the oldest of a namespace counts", concurrencyOf([object("shop", "a", { concurrency: 8 }, 5), shop]), 4],
    ["the annotation overrides the namespace", concurrencyOf([shop], {}, { concurrency: 7 }), 7],
    ["a selector overrides the annotation", concurrencyOf([shop, web], {}, { concurrency: 7 }), 0],
  ];
  for (const [name, got, want] of cases) it(name, () => assert.equal(got, want));

  it("add environment to the one before, and replace the image", () => {
    const objects = [
      object("istio-system", "root", { environmentVariables: { A: "1", B: "1" }, image: { imageType: "debug" } }),
      object("shop", "web", {
        ...selecting("web"),
        environmentVariables: { B: "2" },
        image: { imageType: "distroless" },
      }),
    ];
    const base = { proxyMetadata: { C: "0" }, drainDuration: "45s" };
    assert.deepEqual(effectiveProxyConfig(base, proxyConfigLayers(objects, place)), {
      proxyMetadata: { A: "1", B: "2", C: "0" },
      drainDuration: "45s",
      image: { imageType: "distroless" },
    });
    assert.deepEqual(effectiveProxyConfig(base, noProxyConfigs), base);
  });
});
