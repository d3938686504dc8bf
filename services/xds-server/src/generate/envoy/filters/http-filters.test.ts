import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toJson } from "@flotilla/proto";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { type HttpFilterChoice, httpFilters, statefulSession } from "./http-filters.ts";

const least: HttpFilterChoice = {
  ...{ direction: "outbound", suppressesEnvoyHeaders: false, staysInMesh: false, peerMetadata: false },
  ...{ exchangedLabels: [], alpn: false, grpcWeb: false, early: [], late: [] },
};
const short = (choice: Partial<HttpFilterChoice>) =>
  httpFilters({ ...least, ...choice }).map(({ name }) => name.replace(/^.*\./, ""));

describe("the HTTP filters of a connection manager", () => {
  const always = ["grpc_stats", "fault", "cors", "router"];
  const cases: readonly {
    readonly name: string;
    readonly choice: Partial<HttpFilterChoice>;
    readonly filters: readonly string[];
  }[] = [
    { name: "at the least", choice: {}, filters: always },
    {
      name: "metadata of the peer comes first",
      choice: { peerMetadata: true },
      filters: ["metadata_exchange", ...always],
    },
    { name: "gRPC-Web is translated first", choice: { grpcWeb: true }, filters: ["grpc_web", ...always] },
    {
      name: "callers announce their protocol",
      choice: { alpn: true },
      filters: ["grpc_stats", "alpn", ...always.slice(1)],
    },
    { name: "servers announce none", choice: { alpn: true, direction: "inbound" }, filters: always },
    { name: "policies come before", choice: { early: [statefulSession] }, filters: ["stateful_session", ...always] },
    {
      name: "sessions come right before the router",
      choice: { late: [statefulSession] },
      filters: [...always.slice(0, 3), "stateful_session", "router"],
    },
  ];
  for (const { name, choice, filters } of cases) test(name, () => assert.deepEqual(short(choice), filters));

  const exchanged = [
    {
      name: "of callers, for servers",
      choice: { direction: "inbound" },
      has: "downstream_discovery",
      lacks: "upstream_discovery",
    },
    { name: "of servers, for callers", choice: {}, has: "upstream_discovery", lacks: "skip_external_clusters" },
    {
      name: "within the mesh alone",
      choice: { staysInMesh: true },
      has: "skip_external_clusters",
      lacks: "downstream_discovery",
    },
    {
      name: "of callers, whom a server asks wherever they are",
      choice: { direction: "inbound", staysInMesh: true },
      has: "downstream_discovery",
      lacks: "skip_external_clusters",
    },
  ] as const;
  for (const { name, choice, has, lacks } of exchanged)
    test(`metadata is exchanged ${name}`, () => {
      const [filter] = httpFilters({ ...least, ...choice, peerMetadata: true });
      const text = JSON.stringify(filter && toJson(HttpFilterSchema, filter));
      assert.ok(text.includes(has), text);
      assert.ok(!text.includes(lacks), text);
    });

  test("Envoy's own headers are kept from callers where the mesh says so", () => {
    const router = (suppressesEnvoyHeaders: boolean) => {
      const last = httpFilters({ ...least, suppressesEnvoyHeaders }).at(-1);
      return JSON.stringify(last && toJson(HttpFilterSchema, last)).includes("suppressEnvoyHeaders");
    };
    assert.deepEqual([router(true), router(false)], [true, false]);
  });
});
