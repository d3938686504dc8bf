import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReplicaSummary } from "./fleet-status.ts";
import { aboutProxy } from "./proxy-pages.ts";
import type { Viewer } from "./viewer.ts";

const everything: Viewer = { namespace: undefined };

interface Case {
  readonly name: string;
  readonly elsewhere: ReplicaSummary | undefined;
  readonly query: string;
  readonly status: number;
  readonly location?: string;
  readonly text: RegExp;
}

const cases: readonly Case[] = [
  {
    name: "of a proxy on another replica redirects to the pages of that one",
    elsewhere: { replica: "xds-server-2", streams: 1, pages: "http://127.0.0.1:20001" },
    query: "proxyID=web.shop&types=cds",
    status: 307,
    location: "http://127.0.0.1:20001/debug/config_dump?proxyID=web.shop&types=cds&redirected=true",
    text: /but to xds-server-2/,
  },
  {
    name: "that was redirected once is not again",
    elsewhere: { replica: "xds-server-2", streams: 1, pages: "http://127.0.0.1:20001" },
    query: "proxyID=web.shop&redirected=true",
    status: 404,
    text: /but to xds-server-2/,
  },
  {
    name: "names the replica where it has no address for its pages",
    elsewhere: { replica: "xds-server-2", streams: 1 },
    query: "proxyID=web.shop",
    status: 404,
    text: /but to xds-server-2/,
  },
  {
    name: "of an unknown proxy is not found",
    elsewhere: undefined,
    query: "proxyID=web.shop",
    status: 404,
    text: /nor to another one/,
  },
];

describe("a page about a proxy", () => {
  for (const { name, elsewhere, query, status, location, text } of cases)
    it(name, async () => {
      const fleet = { own: () => [], all: async () => [], byReplica: async () => [], elsewhere: async () => elsewhere };
      const question = { path: "config_dump", query: new URLSearchParams(query), viewer: everything };
      const reply = await aboutProxy({ streams: () => [], fleet }, question, () => ({ json: {} }));
      assert.ok("text" in reply);
      assert.deepEqual([reply.status, reply.location], [status, location]);
      assert.match(reply.text, text);
    });
});
