import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  compareIstioVersions,
  localityText,
  metadataFlag,
  NodeError,
  parseIstioVersion,
  parseNode,
  podPorts,
} from "../index.ts";

const id = "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local";

describe("node", () => {
  it("is read with its metadata", () => {
    const proxy = parseNode({
      id,
      metadata: {
        NAMESPACE: "shop",
        LABELS: { app: "web", n: 1 },
        INSTANCE_IPS: "10.0.0.1,fe80::1,x",
        ISTIO_VERSION: "1.32.0",
        CLUSTER_ID: "c",
      },
    });
    assert.equal(proxy.id, "web-1.shop");
    assert.deepEqual(proxy.ipAddresses, ["10.0.0.1", "fe80::1"]);
    assert.deepEqual(proxy.labels, { app: "web" });
    assert.deepEqual(proxy.version, { major: 1, minor: 32, patch: 0 });
    assert.equal(proxy.clusterId, "c");
    assert.equal(proxy.extensions, undefined);
  });

  it("takes namespace and address from the id when the metadata has none", () => {
    const proxy = parseNode({ id, metadata: {} });
    assert.equal(proxy.namespace, "shop");
    assert.deepEqual(proxy.ipAddresses, ["10.0.0.1"]);
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ["sidecar~10.0.0.1~web.shop", /3 parts/],
    ["car~10.0.0.1~web.shop~shop.svc", /unknown type "car"/],
    ["sidecar~10.0.0.1~web.sh\np~shop.svc", /has a namespace that is none: "sh\\np"/],
    ["sidecar~10.0.0.1~web.shop/depot~shop.svc", /has a namespace that is none: "shop\/depot"/],
    ["sidecar~10.0.0.1~web.shop~shop.svc\nx", /"sidecar~10.0.0.1~web.shop~shop.svc\\nx" has white space in its domain/],
    ["sidecar~nowhere~web.shop~shop.svc", /no valid IP address/],
    ["", /1 parts/],
  ];
  for (const [bad, reason] of refused) {
    it(`"${bad}" is refused with what is wrong`, () => {
      assert.throws(
        () => parseNode({ id: bad, metadata: {} }),
        (error) => error instanceof NodeError && reason.test(error.message),
      );
    });
  }

  it("pod ports may be JSON within text, and garbage counts as none", () => {
    assert.deepEqual(podPorts({ POD_PORTS: '[{"containerPort":8080}]' }), [{ containerPort: 8080 }]);
    assert.deepEqual(podPorts({ POD_PORTS: "[" }), []);
    assert.deepEqual(podPorts({}), []);
  });
});

describe("versions", () => {
  it("development builds are newer than releases of their minor, unknown ones newer than all", () => {
    const ordered = ["1.9.3", "1.31.0", "1.32.0", "1.32-dev"].map(parseIstioVersion);
    assert.deepEqual([...ordered].reverse().sort(compareIstioVersions), ordered);
    assert.ok(compareIstioVersions(undefined, parseIstioVersion("99.0.0")) > 0);
    assert.equal(parseIstioVersion("unknown"), undefined);
  });

  it("has its locality as a text without trailing slashes, in linear time", () => {
    assert.equal(localityText({ region: "r", zone: "z", subzone: "s" }), "r/z/s");
    assert.equal(localityText({ region: "r", zone: "", subzone: "" }), "r");
    assert.equal(localityText({ region: "", zone: "", subzone: "" }), "");
    const hostile = `${"/".repeat(500_000)}a`;
    assert.equal(localityText({ region: hostile, zone: "", subzone: "" }), hostile);
  });
});

it("flags are read as Go reads truth values; others are not set", () => {
  const isSet = (value: unknown) => metadataFlag({ FLAG: value }, "FLAG");
  for (const value of [true, 1, "1", "t", "T", "true", "True", "TRUE"]) assert.ok(isSet(value), String(value));
  for (const value of [false, 0, "0", "f", "FALSE", "yes", "", undefined]) assert.ok(!isSet(value), String(value));
});
