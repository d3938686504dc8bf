/** A real Envoy as gateway that fetches its servers' certificates when clients ask for them, over both forms of xDS. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, describe, it } from "node:test";
import type { Envoy } from "@flotilla/dataplane";
import type { KeyPair } from "@flotilla/testkit";
import { httpsCall, startGatewayLab } from "./gateway/gateway-lab.ts";

const lab = await startGatewayLab({ GATEWAY_ON_DEMAND_CERTIFICATES_ABOVE: "1" });
after(() => lab[Symbol.asyncDispose]());
const { ports, certificates, authority } = lab;

const https = (host: string, client?: KeyPair) =>
  httpsCall({ port: ports.https, host, rootPem: authority.rootPem, ...(client && { client }) });
const fingerprint = ({ certificatePem }: KeyPair) => new X509Certificate(certificatePem).fingerprint256;

interface SecretsDump {
  readonly dynamic_active_secrets?: readonly { readonly name: string }[];
}

/** Key pairs that the Envoy holds. */
async function held(gateway: Envoy): Promise<readonly string[]> {
  const { configs } = (await gateway.configDump()) as unknown as { readonly configs: readonly SecretsDump[] };
  const names = configs.flatMap(({ dynamic_active_secrets: active = [] }) => active.map(({ name }) => name));
  return ["one", "two", "mutual"].filter((name) => names.includes(`kubernetes://${name}`));
}

for (const form of ["delta", "state of the world"] as const)
  describe(`certificates on demand over ${form}`, () => {
    it("are fetched by the first client of their server, and stay", async () => {
      await using gateway = await lab.startGateway(form === "delta");
      assert.equal((await https("one.example")).fingerprint, fingerprint(certificates.one));
      assert.equal((await https("one.example")).fingerprint, fingerprint(certificates.one));
      assert.deepEqual(await held(gateway), ["one"]);
      assert.equal((await https("two.example")).fingerprint, fingerprint(certificates.two));
      const client = await authority.keyPair();
      assert.equal((await https("mutual.example", client)).fingerprint, fingerprint(certificates.mutual));
      await assert.rejects(https("mutual.example"), "without a certificate");
      const rejected = [...(await gateway.stats(/update_rejected/))].filter(([, count]) => count > 0);
      assert.deepEqual(rejected, []);
    });
  });
