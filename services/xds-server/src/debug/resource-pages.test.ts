/** Pages about resources of connected proxies: those that changed last, those that an object went into, and where one came from. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TypeUrl, typeUrl } from "@flotilla/proto";
import type { Resource } from "@flotilla/xds";
import { aConfig, aMesh, aService, aSidecar } from "../testing/mesh.ts";
import { aStream, aTypeRecord } from "../testing/stream.ts";
import { explainPage } from "./explain.ts";
import { madeFromPage } from "./made-from-page.ts";
import type { DebugPage } from "./page.ts";
import { resourcePages } from "./resource-pages.ts";

const rule = aConfig("DestinationRule", "shop", "rule", { host: "a" });
const core = aMesh(aService("a", "shop"), aService("b", "shop"), rule);
const clusters = { [typeUrl.cluster]: aTypeRecord() };
const clusterOf = (name: string) => `outbound|80||${name}.shop.svc.cluster.local`;

async function ask(page: DebugPage | undefined, query: string, namespace?: string) {
  assert.ok(page !== undefined);
  const reply = await page.answer({ path: page.path, query: new URLSearchParams(query), viewer: { namespace } });
  assert.ok(!("refused" in reply));
  return reply;
}

describe("the resources that a proxy's last change made different", () => {
  const streams = () => [aStream("one", clusters)];
  async function changed(positions: Readonly<Record<string, number>>) {
    const changeTo = (_: TypeUrl, { name }: Resource) => {
      const position = positions[name];
      return position === undefined ? undefined : { before: undefined, position, atMs: position * 1_000 };
    };
    const pages = resourcePages({ core, streams, fleet: {} as never, history: { changeTo } as never });
    const reply = await ask(
      pages.find(({ path }) => path === "changed_resources"),
      "proxyID=app.shop",
    );
    assert.ok("json" in reply);
    const { resources } = reply.json as {
      readonly resources: readonly { readonly name: string; readonly op: string }[];
    };
    return resources.map(({ name, op }) => `${op} ${name}`);
  }

  it("are those of the latest generation, not of earlier ones", async () => {
    assert.deepEqual(await changed({ [clusterOf("a")]: 3, [clusterOf("b")]: 5 }), [`added ${clusterOf("b")}`]);
    assert.deepEqual((await changed({ [clusterOf("a")]: 5, [clusterOf("b")]: 5 })).length, 2);
  });
  it("are none where nothing is remembered", async () => assert.deepEqual(await changed({}), []));
});

describe("the resources that an object went into", () => {
  const bank = aSidecar("bank", {}, "10.0.0.2");
  const streams = () => [
    aStream("one", clusters),
    aStream("two", clusters, { proxy: bank }),
    aStream("idle", clusters, { isIdle: () => true, proxy: aSidecar("idle", {}, "10.0.0.3") }),
  ];
  const found = async (query: string, namespace?: string) => {
    const reply = await ask(madeFromPage(core, streams), query, namespace);
    assert.ok("json" in reply);
    const { rows } = reply.json as { readonly rows: readonly { readonly proxy: string; readonly name: string }[] };
    return rows.map(({ proxy, name }) => `${proxy} ${name}`);
  };

  it("are listed for each proxy that has asked for something", async () => {
    const name = clusterOf("a");
    assert.deepEqual(await found("object=DestinationRule/shop/rule"), [`app.bank ${name}`, `app.shop ${name}`]);
  });
  it("are listed for the proxies that the viewer may see", async () =>
    assert.deepEqual(await found("object=DestinationRule/shop/rule", "bank"), [`app.bank ${clusterOf("a")}`]));
  it("are none of an object that is not there", async () =>
    assert.deepEqual(await found("object=DestinationRule/shop/none"), []));
});

describe("the origin of a resource is asked for by its type and its name", () => {
  const page = explainPage({ core, streams: () => [] } as never);
  for (const query of ["proxyID=app.shop", "proxyID=app.shop&type=cds", "proxyID=app.shop&name=x"])
    it(`not by ${query}`, async () => {
      const reply = await ask(page, query);
      assert.ok("text" in reply);
      assert.equal(reply.status, 400);
      assert.match(reply.text, /explain needs proxyID, type .* and name/);
    });
});
