/** The request in the address, and the ends of its shares over several proxies. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PathDestination, PathEnd, ProxyWay } from "../../contract/index.ts";
import { askedWay, outcomesOf } from "./asked-request.ts";
import { parseAddress } from "./router.ts";

describe("the request in the address", () => {
  const cases: readonly { readonly name: string; readonly query: string; readonly want: object | undefined }[] = [
    { name: "is none without a proxy", query: "host=web", want: undefined },
    { name: "is none without a host", query: "from=web.shop&host=", want: undefined },
    {
      name: "has the fields of the form that are given, and no others",
      query: "from=web.shop&host=api&path=%2Fa%3Fb%3D1&method=&tab=x",
      want: { from: "web.shop", host: "api", path: "/a?b=1" },
    },
  ];
  for (const { name, query, want } of cases)
    it(name, () => assert.deepEqual(askedWay(parseAddress(`/topology/-/request?${query}`)), want));
});

const end = (kind: PathEnd["kind"], reason: string, unless: readonly string[] = []): PathEnd => ({
  kind,
  reason,
  unless,
});
const way = (proxy: string, own: PathEnd, destinations: readonly PathDestination[] = []): ProxyWay => ({
  ...{ proxy, type: "sidecar", hops: [], end: own, destinations },
});
const to = (cluster: string, share: number, own: PathEnd, receiver?: ProxyWay): PathDestination => ({
  ...{ cluster, share, hops: [], end: own, endpoints: [], endpointCount: 0 },
  ...(receiver !== undefined && { receiver }),
});

describe("outcomes of a way", () => {
  it("are one where it ends at the first proxy", () => {
    const refused = end("refused", "404");
    assert.deepEqual(outcomesOf(way("a", refused)), [
      { share: 100, cluster: "", proxy: "a", end: refused, unless: [], unseen: undefined },
    ]);
  });

  it("are shares of shares, decided where each ends, with all that may decide otherwise", () => {
    const [delivered, away, denied] = [end("forwarded", "here"), end("refused", "503"), end("refused", "403")];
    const inner = way("gate", end("forwarded", "on", ["filter lua"]), [
      to("x", 60, delivered),
      to("y", 40, delivered, way("c", denied)),
    ]);
    const found = outcomesOf(way("a", end("forwarded", "on"), [to("v1", 75, delivered, inner), to("v2", 25, away)]));
    assert.deepEqual(
      found.map((one) => [one.share, one.cluster, one.proxy, one.end.reason, one.unless.join()]),
      [
        [45, "v1", "gate", "here", "filter lua at gate"],
        [30, "v1", "c", "403", "filter lua at gate"],
        [25, "v2", "a", "503", ""],
      ],
    );
  });
});
