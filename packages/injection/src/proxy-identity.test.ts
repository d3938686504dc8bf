/** Whose user a proxy runs as, which image, with which ProxyConfig. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { proxyIds, withoutGivenIds } from "./openshift.ts";
import type { Json, Pod } from "./pod.ts";
import { cleanProxyConfig, proxyConfigOf, proxyImage } from "./proxy-config.ts";

const users = { "openshift.io/sa.scc.uid-range": "1000/10" };
const groups = { ...users, "openshift.io/sa.scc.supplemental-groups": "2000/5" };

describe("users of OpenShift", () => {
  it("are the last of the namespace's ranges", () => {
    assert.deepEqual(proxyIds("openshift", users), { uid: 1009, gid: 1009 });
    assert.deepEqual(proxyIds("openshift", groups), { uid: 1009, gid: 2004 });
  });

  it("are none elsewhere and without a range", () => {
    assert.equal(proxyIds("", users), undefined);
    assert.equal(proxyIds("openshift", {}), undefined);
    assert.equal(proxyIds("openshift", { "openshift.io/sa.scc.uid-range": "1000-10" }), undefined);
  });

  it("that were given to the pod's own proxy are taken away, those that were written stay", () => {
    const pod = (securityContext?: Json): Pod =>
      ({
        metadata: {},
        spec: {
          containers: [
            { name: "istio-proxy", ...(securityContext && { securityContext }) },
            { name: "app", securityContext: { runAsUser: 1000 } },
          ],
        },
      }) as Pod;
    const contextOf = (securityContext: Json) =>
      withoutGivenIds(pod(securityContext), "openshift", users).spec.containers?.[0]?.securityContext;
    assert.deepEqual(contextOf({ runAsUser: 1000, runAsGroup: 1000, privileged: false }), { privileged: false });
    assert.deepEqual(contextOf({ runAsUser: 7, runAsGroup: 8, fsGroup: 1000 }), {
      runAsUser: 7,
      runAsGroup: 8,
      fsGroup: 1000,
    });
    assert.deepEqual(withoutGivenIds(pod(), "openshift", users), pod());
    const elsewhere = pod({ runAsUser: 1000 });
    assert.equal(withoutGivenIds(elsewhere, "", users), elsewhere);
    assert.deepEqual(
      withoutGivenIds(elsewhere, "openshift", users).spec.containers?.[1],
      elsewhere.spec.containers?.[1],
    );
  });
});

describe("the image of a proxy", () => {
  const values = (variant = "", tag = "1.2") => ({ global: { hub: "hub", tag, variant } });
  const type = "sidecar.istio.io/proxyImageType";
  for (const [name, image, expected] of [
    ["of the values", proxyImage(values(), {}, {}, ""), "hub/proxyv2:1.2"],
    ["of another name", proxyImage(values(), {}, {}, "own"), "hub/own:1.2"],
    ["of a variant", proxyImage(values("debug"), {}, {}, ""), "hub/proxyv2:1.2-debug"],
    ["of a variant in the tag", proxyImage(values("", "1.2-distroless"), {}, {}, ""), "hub/proxyv2:1.2-distroless"],
    [
      "of another variant than the tag's",
      proxyImage(values("debug", "1.2-distroless"), {}, {}, ""),
      "hub/proxyv2:1.2-debug",
    ],
    [
      "of the mesh's type",
      proxyImage(values(), { image: { imageType: "distroless" } }, {}, ""),
      "hub/proxyv2:1.2-distroless",
    ],
    [
      "of the pod's type",
      proxyImage(values("debug"), { image: { imageType: "distroless" } }, { [type]: "default" }, ""),
      "hub/proxyv2:1.2",
    ],
    ["of no values", proxyImage({}, {}, {}, ""), "/proxyv2:"],
  ] as const)
    it(name, () => assert.equal(image, expected));
});

describe("the ProxyConfig of a pod", () => {
  const mesh = { defaultConfig: { concurrency: 2, holdApplicationUntilProxyStarts: false } };
  const annotation = (text: string) => ({ "proxy.istio.io/config": text });

  it("is the mesh's with what the pod says", () => {
    assert.deepEqual(proxyConfigOf(mesh, {}), mesh.defaultConfig);
    assert.deepEqual(proxyConfigOf(mesh, annotation(" ")), mesh.defaultConfig);
    const own = proxyConfigOf(mesh, annotation("concurrency: 4\nconcurrency: 5"));
    assert.deepEqual([own["concurrency"], own["holdApplicationUntilProxyStarts"]], [5, false]);
    assert.deepEqual(proxyConfigOf({}, {}), {});
    const layers = { general: [{ concurrency: 7, statusPort: 1 }], ofWorkload: { statusPort: 3 } };
    const effective = proxyConfigOf(mesh, annotation("concurrency: 4\nstatusPort: 2"), layers);
    assert.deepEqual([effective["concurrency"], effective["statusPort"]], [4, 3]);
  });

  it("is refused when the pod's is no object of YAML", () => {
    assert.throws(() => proxyConfigOf(mesh, annotation("{")), { code: "INJECT_BAD_POD", message: /is no YAML: / });
    for (const text of ["[]", "text", "null"])
      assert.throws(() => proxyConfigOf(mesh, annotation(text)), { code: "INJECT_BAD_POD", message: /is no object/ });
  });

  it("is written without defaults and nulls, in order", () => {
    const cleaned = cleanProxyConfig({ b: 1, drainDuration: "45s", a: null, binaryPath: "/other" });
    assert.equal(JSON.stringify(cleaned), '{"b":1,"binaryPath":"/other"}');
  });
});
