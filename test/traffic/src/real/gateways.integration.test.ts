/** Calls from outside to a real Envoy that is an ingress gateway, over both forms of xDS. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { binomialBounds } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";
import { firstLine, httpCall } from "./client.ts";
import { datagramCall, httpsCall, startGatewayLab } from "./gateway/gateway-lab.ts";

const lab = await startGatewayLab();
after(() => lab[Symbol.asyncDispose]());
const { ports, certificates, authority } = lab;
const rootPem = authority.rootPem;
const fingerprint = ({ certificatePem }: KeyPair) => new X509Certificate(certificatePem).fingerprint256;
const https = (host: string, client?: KeyPair) =>
  httpsCall({ port: ports.https, host, rootPem, ...(client && { client }) });
const http = (port: number, host: string, path = "/", headers = {}) =>
  httpCall(port, path, { headers: { host, ...headers } });

/** The OCSP response that the server staples to its certificate. */
async function stapleOf(servername: string): Promise<Buffer | undefined> {
  const socket = connectTls({ ...local(ports.https), servername, ca: rootPem, requestOCSP: true });
  try {
    const [staple] = (await once(socket, "OCSPResponse")) as [Buffer | null];
    await once(socket, "secureConnect");
    return staple ?? undefined;
  } finally {
    socket.destroy();
  }
}

type Answer = Awaited<ReturnType<typeof http>>;

for (const form of ["delta", "state of the world"] as const) {
  describe(`a gateway over ${form}`, () => {
    let gateway: Awaited<ReturnType<typeof lab.startGateway>>;
    before(async () => {
      gateway = await lab.startGateway(form === "delta");
      // Envoy opens a listener whose certificates did not come in time.
      const client = await authority.keyPair();
      for (const [host, port] of [
        ["one.example", ports.https],
        ["two.example", ports.https],
        ["mutual.example", ports.https],
        ["granted.example", ports.granted],
      ] as const)
        await until(
          () =>
            httpsCall({ port, host, rootPem, client }).then(
              () => true,
              () => false,
            ),
          { withinMs: 60_000, what: `the certificate of ${host}` },
        );
    });
    after(() => gateway[Symbol.asyncDispose]());

    it("answers by HTTP for its hosts, and 404 for others", async () => {
      assert.equal((await http(ports.http, "web.example")).reply?.version, "v1");
      assert.equal((await http(ports.http, "other.example")).status, 404);
    });

    it("redirects to HTTPS where a server says so", async () => {
      const { status, headers } = await http(ports.http, "secure.example", "/a");
      assert.deepEqual([status, headers.location], [301, "https://secure.example/a"]);
    });

    it("shows the certificate of the server name that is asked for", async () => {
      const [one, two] = [await https("one.example"), await https("two.example")];
      assert.deepEqual([one.status, one.version, one.fingerprint], [200, "v1", fingerprint(certificates.one)]);
      assert.deepEqual([two.status, two.version, two.fingerprint], [200, "v2", fingerprint(certificates.two)]);
    });

    it("staples the OCSP response of a Secret, to clients that ask for one", async () => {
      assert.deepEqual(await stapleOf("one.example"), certificates.staple);
      assert.equal(await stapleOf("two.example"), undefined);
    });

    it("lets in clients with a certificate of its roots, and no others", async () => {
      const { status, fingerprint: shown } = await https("mutual.example", await authority.keyPair());
      assert.deepEqual([status, shown], [200, fingerprint(certificates.mutual)]);
      await assert.rejects(https("mutual.example"), "without a certificate");
      const stranger = await (await createTestAuthority()).keyPair();
      await assert.rejects(https("mutual.example", stranger), "with another root's");
    });

    it("shows a certificate of another namespace for as long as a ReferenceGrant is there", async () => {
      const call = () => httpsCall({ port: ports.granted, host: "granted.example", rootPem });
      const isServed = () =>
        call().then(
          () => true,
          () => false,
        );
      assert.equal((await call()).fingerprint, fingerprint(certificates.granted));
      lab.setGrant(false);
      await until(async () => !(await isServed()), { withinMs: 30_000, what: "the end of the grant" });
      assert.equal((await https("one.example")).status, 200, "other listeners serve");
      lab.setGrant(true);
      await until(isServed, { withinMs: 30_000, what: "the new grant" });
    });

    it("passes TLS through to the back end, by its server name", async () => {
      const passed = connectTls({ ...local(ports.https), servername: "own.example", rejectUnauthorized: false });
      assert.equal(await firstLine(passed), "own");
      const unknown = connectTls({ ...local(ports.https), servername: "no.example", rejectUnauthorized: false });
      assert.equal(await firstLine(unknown), "");
    });

    it("splits the requests of an HTTPRoute by weight, with the header filters of each back end", async () => {
      const answers: Awaited<ReturnType<typeof http>>[] = [];
      const lane = async () => {
        while (answers.length < 200) answers.push(await http(ports.web, "split.example", "/", { "x-secret": "a" }));
      };
      // A few at a time: each has ten seconds, on a busy machine too.
      await Promise.all([lane(), lane(), lane(), lane()]);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      assert.deepEqual(new Set(answers.map(({ headers }) => headers["x-gate"])), new Set(["1"]));
      const byVersion = Map.groupBy(answers, ({ reply }) => reply?.version);
      const seen = (version: string, header: string) =>
        new Set(byVersion.get(version)?.map(({ reply }) => reply?.headers[header]));
      assert.deepEqual(seen("v1", "x-backend"), new Set(["first"]));
      assert.deepEqual(seen("v1", "x-secret"), new Set([undefined]));
      assert.deepEqual(seen("v2", "x-backend"), new Set([undefined]));
      assert.deepEqual(seen("v2", "x-secret"), new Set(["a"]));
      const [low, high] = binomialBounds(answers.length, 0.25);
      const second = byVersion.get("v2")?.length ?? 0;
      assert.ok(second >= low && second <= high, `v2 answered ${second}, want ${low}..${high}`);
    });

    it("redirects where an HTTPRoute says so", async () => {
      const { status, headers } = await http(ports.web, "split.example", "/moved/a");
      assert.deepEqual([status, headers.location], [302, "http://new.example/moved/a"]);
    });

    for (const { carrier, path, tokenOf } of [
      {
        ...{ carrier: "cookie", path: "/cookie" },
        tokenOf: ({ headers }: Answer) => ({ cookie: String(headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "" }),
      },
      {
        ...{ carrier: "header", path: "/header" },
        tokenOf: ({ headers }: Answer) => ({ "x-who": String(headers["x-who"]) }),
      },
    ])
      it(`keeps the requests of a session with one back end by its ${carrier}`, async () => {
        const tokens = new Map<string | undefined, Readonly<Record<string, string>>>();
        // Without a session both back ends are called.
        for (let call = 0; call < 200 && tokens.size < 2; call++) {
          const answer = await http(ports.web, "session.example", path);
          assert.equal(answer.status, 200);
          tokens.set(answer.reply?.version, tokenOf(answer));
        }
        assert.deepEqual([...tokens.keys()].sort(), ["v1", "v2"]);
        for (const [version, token] of tokens)
          for (let call = 0; call < 20; call++)
            assert.equal((await http(ports.web, "session.example", path, token)).reply?.version, version);
      });

    it("hands on the connections of a TCPRoute", async () =>
      assert.equal(await firstLine(connect(local(ports.tcp))), "plain"));

    it("splits the sessions of a UDPRoute by weight", async () => {
      await until(() => datagramCall(ports.udp).then((text) => text !== ""), { withinMs: 30_000, what: "an answer" });
      const texts = await Promise.all(Array.from({ length: 200 }, () => datagramCall(ports.udp)));
      const count = (wanted: string) => texts.filter((text) => text === wanted).length;
      assert.equal(count("u1") + count("u2"), texts.length);
      const [low, high] = binomialBounds(texts.length, 0.25);
      assert.ok(count("u2") >= low && count("u2") <= high, `u2 answered ${count("u2")}, want ${low}..${high}`);
    });

    it("rejected nothing", async () => {
      const rejected = [...(await gateway.stats(/update_rejected/))].filter(([, count]) => count > 0);
      assert.deepEqual(rejected, []);
    });
  });
}

function local(port: number) {
  return { host: "127.0.0.1", port };
}
