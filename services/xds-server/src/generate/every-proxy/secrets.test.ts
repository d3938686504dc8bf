import assert from "node:assert/strict";
import { test } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aSidecar, resourceOf } from "../../testing/mesh.ts";

const pem = (text: string) => btoa(text);
const secret = (name: string, data: Readonly<Record<string, string>>, namespace = "shop") =>
  aConfig("Secret", namespace, name, { data });
const rule = (name: string, credentialName: string, workloadSelector?: { matchLabels: Record<string, string> }) =>
  aConfig("DestinationRule", "shop", name, {
    host: name,
    trafficPolicy: { tls: { mode: "MUTUAL", credentialName } },
    ...(workloadSelector && { workloadSelector }),
  });

const web = { matchLabels: { app: "web" } };
const core = aMesh(
  secret("pair", { "tls.crt": pem("cert"), "tls.key": pem("key"), "ca.crt": pem("root") }),
  secret("generic", { cert: pem("cert"), key: pem("key") }),
  secret("generic-cacert", { cacert: pem("own root"), crl: pem("crl") }),
  secret("half", { "tls.crt": pem("cert") }),
  secret("ungranted", { "tls.crt": pem("cert"), "tls.key": pem("key") }),
  secret("foreign", { "tls.crt": pem("cert"), "tls.key": pem("key") }, "other"),
  ...["pair", "generic", "half", "other/foreign"].map((name, index) => rule(`r${index}`, name, web)),
  rule("open", "ungranted"),
);

const cases = [
  { name: "a key pair of the own namespace", ask: "kubernetes://pair", fields: ["name", "tlsCertificate"] },
  { name: "its root", ask: "kubernetes://pair-cacert", fields: ["name", "validationContext"] },
  { name: "a root in a Secret of its own", ask: "kubernetes://generic-cacert", fields: ["name", "validationContext"] },
  { name: "a certificate without its key", ask: "kubernetes://half", fields: undefined },
  { name: "a Secret of another namespace", ask: "kubernetes://other/foreign", fields: undefined },
  { name: "a Secret that only rules for everybody name", ask: "kubernetes://ungranted", fields: undefined },
  { name: "the workload's own certificate, which its agent serves", ask: "default", fields: undefined },
];

for (const { name, ask, fields } of cases) {
  test(`${name} is ${fields === undefined ? "not " : ""}handed out`, () => {
    const found = resourceOf(core, aSidecar("shop"), typeUrl.secret, ask);
    assert.deepEqual(found && Object.keys(found).filter((key) => key !== "@type"), fields);
  });
}

test("a workload that no rule selects gets nothing", () => {
  const proxy = aSidecar("shop", { LABELS: { app: "batch" } });
  assert.equal(resourceOf(core, proxy, typeUrl.secret, "kubernetes://pair"), undefined);
});
