/** SDS on a Unix socket: the certificate and the roots that an Envoy asks for, and again when they change, in both forms of xDS. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { anyToJson, create, decode, encode } from "@flotilla/proto";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { Client, credentials } from "@grpc/grpc-js";
import { serveSecrets } from "./sds-server.ts";

const root = mkdtempSync(join(tmpdir(), "sds-"));
after(() => rmSync(root, { recursive: true, force: true }));
const first = { chain: "chain 1", key: "key 1", roots: "roots 1" };
const second = { chain: "chain 2", key: "key 2", roots: "roots 2" };
const bytes = (value: Buffer): Buffer => value;

/** A stream to the socket; `next` is the next answer. */
function open(socket: string, method: "StreamSecrets" | "DeltaSecrets") {
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const call = client.makeBidiStreamRequest(`/envoy.service.secret.v3.SecretDiscoveryService/${method}`, bytes, bytes);
  const answers: Buffer[] = [];
  let wake = Promise.withResolvers<void>();
  call.on("data", (answer: Buffer) => {
    answers.push(answer);
    wake.resolve();
  });
  call.on("error", () => wake.resolve());
  const status = new Promise<number>((resolve) =>
    call.on("status", ({ code }: { readonly code: number }) => resolve(code)),
  );
  return {
    status,
    send: (request: Uint8Array) => call.write(Buffer.from(request)),
    end: () => call.end(),
    next: async (): Promise<Buffer> => {
      if (answers.length === 0) await wake.promise;
      wake = Promise.withResolvers();
      return answers.shift() ?? assert.fail("no answer");
    },
    isQuiet: async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return answers.length === 0;
    },
    [Symbol.dispose]: () => {
      call.cancel();
      client.close();
    },
  };
}

const certificateOf = ({ chain, key }: typeof first) => ({
  name: "default",
  tlsCertificate: { certificateChain: { inlineString: chain }, privateKey: { inlineString: key } },
});
const rootsOf = ({ roots }: typeof first) => ({
  name: "ROOTCA",
  validationContext: { trustedCa: { inlineString: roots } },
});

describe("secrets of a socket", () => {
  it("are sent by name, and all of them again when they change", async () => {
    const socket = join(root, "sotw");
    writeFileSync(socket, "of an earlier process");
    await using server = await serveSecrets(socket, first);
    using stream = open(socket, "StreamSecrets");
    const ask = (resourceNames: readonly string[], responseNonce = "") =>
      stream.send(
        encode(
          DiscoveryRequestSchema,
          create(DiscoveryRequestSchema, { resourceNames: [...resourceNames], responseNonce }),
        ),
      );
    const next = async () => {
      const { resources, nonce } = decode(DiscoveryResponseSchema, await stream.next());
      return { nonce, secrets: resources.map((one) => ({ ...(anyToJson(one) as object), "@type": undefined })) };
    };
    const shown = (...secrets: readonly object[]) => secrets.map((one) => ({ ...one, "@type": undefined }));
    ask(["default"]);
    assert.deepEqual(await next(), { nonce: "1", secrets: shown(certificateOf(first)) });
    ask(["default"], "1");
    assert.equal(await stream.isQuiet(), true);
    ask(["ROOTCA"]);
    assert.deepEqual((await next()).secrets, shown(certificateOf(first), rootsOf(first)));
    server.update(second);
    assert.deepEqual(await next(), { nonce: "2", secrets: shown(certificateOf(second), rootsOf(second)) });
  });

  it("are sent to delta streams by what they subscribe to", async () => {
    const socket = join(root, "delta");
    await using server = await serveSecrets(socket, first);
    using stream = open(socket, "DeltaSecrets");
    const ask = (resourceNamesSubscribe: readonly string[], responseNonce = "") =>
      stream.send(
        encode(
          DeltaDiscoveryRequestSchema,
          create(DeltaDiscoveryRequestSchema, { resourceNamesSubscribe: [...resourceNamesSubscribe], responseNonce }),
        ),
      );
    const next = async () => {
      const { resources } = decode(DeltaDiscoveryResponseSchema, await stream.next());
      return resources.map(({ name, version }) => `${name} ${version}`);
    };
    ask(["default"]);
    assert.deepEqual(await next(), ["default 1"]);
    ask([], "1");
    assert.equal(await stream.isQuiet(), true);
    ask(["ROOTCA"]);
    assert.deepEqual(await next(), ["default 1", "ROOTCA 1"]);
    server.update(second);
    assert.deepEqual(await next(), ["default 2", "ROOTCA 2"]);
  });

  it("are not served where the socket cannot be opened", async () => {
    await assert.rejects(serveSecrets(join(root, "nowhere", "socket"), first));
  });

  const subscription = encode(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { resourceNamesSubscribe: ["default"] }),
  );
  for (const { name, over, status } of [
    { name: "is ended by its client", over: (stream: ReturnType<typeof open>) => stream.end(), status: 0 },
    {
      name: "is sent something that is no request",
      over: (stream: ReturnType<typeof open>) => stream.send(Buffer.from([0xff])),
      status: 13,
    },
  ])
    it(`are no longer made for a stream that ${name}`, async () => {
      await using server = await serveSecrets(join(root, `over-${status}`), first);
      using stream = open(join(root, `over-${status}`), "DeltaSecrets");
      let made = 0;
      const counting = {
        ...second,
        get chain() {
          made++;
          return second.chain;
        },
      };
      stream.send(subscription);
      await stream.next();
      server.update(counting);
      await stream.next();
      assert.equal(made, 1);
      over(stream);
      assert.equal(await stream.status, status);
      server.update(counting);
      assert.equal(made, 1);
    });
});
