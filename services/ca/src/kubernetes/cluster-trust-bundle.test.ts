/** The ClusterTrustBundle of the roots, kept at an API server in memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { createLogger, until } from "@flotilla/runtime";
import { keepClusterTrustBundle } from "./cluster-trust-bundle.ts";

const group = "/apis/certificates.k8s.io";
const served = { resources: [{ name: "clustertrustbundles" }] };
const bundleOf = (version: string) =>
  `${group}/${version}/clustertrustbundles/${encodeURIComponent("istio.io:istiod-ca:root-cert")}`;

function keeping(stored: Readonly<Record<string, object>>) {
  const memory = createMemoryApi(stored);
  const lines: string[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const stop = new AbortController();
  let roots: string | undefined;
  const options = { api: memory.api, rootsPem: () => roots, log, everyMs: 1 };
  let looks = 0;
  const refusal = memory.refusal;
  memory.refusal = (request) => {
    looks++;
    return refusal(request);
  };
  const ended = keepClusterTrustBundle(options, stop.signal);
  return {
    ...{ memory, lines },
    set: (pem: string | undefined) => {
      roots = pem;
    },
    until: (check: () => boolean) => until(check, { withinMs: 60_000, what: "the bundle" }),
    looks: () => looks,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
}

interface Bundle {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

describe("the ClusterTrustBundle", () => {
  it("is made when there are roots, of the newest version that is served, and follows them", async () => {
    await using kept = keeping({ [`${group}/v1`]: { resources: [{ name: "other" }] }, [`${group}/v1beta1`]: served });
    const path = bundleOf("v1beta1");
    const read = () => kept.memory.read<Bundle & { metadata: object }>(path);
    kept.set("first");
    await kept.until(() => read() !== undefined);
    assert.deepEqual(
      [read()?.apiVersion, read()?.kind, read()?.spec],
      ["certificates.k8s.io/v1beta1", "ClusterTrustBundle", { signerName: "istio.io/istiod-ca", trustBundle: "first" }],
    );
    kept.set("second");
    await kept.until(() => read()?.spec?.trustBundle === "second");
    kept.memory.put(path, { metadata: { labels: { a: "b" } }, spec: { signerName: "x", trustBundle: "edited" } });
    await kept.until(() => read()?.spec?.trustBundle === "second");
    assert.equal(read()?.spec?.signerName, "istio.io/istiod-ca");
    kept.memory.remove(path);
    await kept.until(() => read()?.spec?.trustBundle === "second");
    const writes = kept.memory.writes.length;
    const looks = kept.looks();
    await kept.until(() => kept.looks() > looks + 10);
    assert.equal(kept.memory.writes.length, writes, "what is right is not written again");
    assert.deepEqual([...new Set(kept.lines)], ["the ClusterTrustBundle is written"]);
  });

  it("waits for roots, and says once where it cannot be written", async () => {
    await using kept = keeping({});
    kept.set("roots");
    await kept.until(() => kept.looks() > 12);
    assert.deepEqual(kept.lines, ["the ClusterTrustBundle is not written"]);
    kept.memory.put(`${group}/v1`, served);
    await kept.until(() => kept.memory.read(bundleOf("v1")) !== undefined);
    kept.memory.remove(bundleOf("v1"));
    kept.memory.refusal = ({ verb }) => (verb === "create" ? new KubeError("KUBE_REFUSED", "may not") : undefined);
    await kept.until(() => kept.lines.length > 2);
    assert.deepEqual(kept.lines.slice(1), [
      "the ClusterTrustBundle is written",
      "the ClusterTrustBundle is not written",
    ]);
  });

  it("is not written without roots", async () => {
    await using kept = keeping({ [`${group}/v1`]: served });
    kept.set(undefined);
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual([kept.memory.writes, kept.looks()], [[], 0]);
  });
});
