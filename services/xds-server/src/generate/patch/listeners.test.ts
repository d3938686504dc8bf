import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromJson, type JsonValue, unpack, unpackAs } from "@flotilla/proto";
import type { FilterChain } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { TlsInspectorSchema } from "@flotilla/proto/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb";
import type { HttpConnectionManager } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { aPatch, noteProblems, type PatchJson } from "../../testing/patches.ts";
import { listenerPatches, patchListener } from "./listeners.ts";
import { Context } from "./patch.ts";

const type = (name: string) => `type.googleapis.com/envoy.extensions.${name}`;
const managerType = type("filters.network.http_connection_manager.v3.HttpConnectionManager");
const manager = {
  name: "envoy.filters.network.http_connection_manager",
  typedConfig: {
    "@type": managerType,
    statPrefix: "m",
    httpFilters: [
      { name: "envoy.filters.http.cors", typedConfig: { "@type": type("filters.http.cors.v3.Cors") } },
      { name: "envoy.filters.http.router", typedConfig: { "@type": type("filters.http.router.v3.Router") } },
    ],
  },
};
const proxy = {
  name: "envoy.filters.network.tcp_proxy",
  typedConfig: { "@type": type("filters.network.tcp_proxy.v3.TcpProxy"), statPrefix: "t", cluster: "c" },
};
const listener = {
  name: "virtualInbound",
  address: { socketAddress: { address: "0.0.0.0", portValue: 15006 } },
  listenerFilters: [
    {
      name: "envoy.filters.listener.tls_inspector",
      typedConfig: { "@type": type("filters.listener.tls_inspector.v3.TlsInspector") },
    },
  ],
  filterChains: [
    {
      name: "http",
      filterChainMatch: { destinationPort: 80, transportProtocol: "tls", applicationProtocols: ["h2", "http/1.1"] },
      filters: [manager],
    },
    { name: "tcp", filterChainMatch: { destinationPort: 90, serverNames: ["a.example"] }, filters: [proxy] },
  ],
};

/** A listener in a line: its listener filters, then the chains with their filters and HTTP filters. */
function summary({ listenerFilters, filterChains, defaultFilterChain }: Listener): string {
  const short = ({ name }: { readonly name: string }) => name.slice(name.lastIndexOf(".") + 1);
  const chain = ({ name, filters }: FilterChain) => `${name}[${filters.map(filter).join(" ")}]`;
  const filter = (one: FilterChain["filters"][number]) => {
    if (one.configType.case !== "typedConfig" || one.configType.value.typeUrl !== managerType) return short(one);
    const { httpFilters } = unpack(one.configType.value) as HttpConnectionManager;
    return `http(${httpFilters.map(short).join(" ")})`;
  };
  const last = defaultFilterChain === undefined ? [] : [`default:${chain(defaultFilterChain)}`];
  return [listenerFilters.map(short).join(" "), ...filterChains.map(chain), ...last].join(" ");
}

function patched(patches: readonly PatchJson[], fields: object = {}) {
  const reports: string[] = [];
  const before = fromJson(ListenerSchema, { ...listener, ...fields } as unknown as JsonValue);
  const after = patchListener(before, aPatch(...patches), noteProblems(reports));
  return { after, reports, line: after && summary(after) };
}

const one = (applyTo: string, match: object, operation: string, value?: object): PatchJson => ({
  applyTo,
  match: { listener: match },
  patch: { operation, ...(value && { value }) },
});
const sub = (name: string) => ({ filterChain: { filter: { name: manager.name, subFilter: { name } } } });
const named = { name: "x.x" };
const unchanged = "tls_inspector http[http(cors router)] tcp[tcp_proxy]";

const cases: readonly (readonly [name: string, PatchJson, line: string | undefined])[] = [
  ["remove a listener", one("LISTENER", { name: "virtualInbound" }, "REMOVE"), undefined],
  ["remove one by port", one("LISTENER", { portNumber: 15006 }, "REMOVE"), undefined],
  ["leave one on another port", one("LISTENER", { portNumber: 80 }, "REMOVE"), unchanged],
  [
    "add a listener filter",
    one("LISTENER_FILTER", {}, "ADD", named),
    `tls_inspector x http[http(cors router)] tcp[tcp_proxy]`,
  ],
  [
    "insert one before another",
    one("LISTENER_FILTER", { listenerFilter: "envoy.filters.listener.tls_inspector" }, "INSERT_BEFORE", named),
    "x tls_inspector http[http(cors router)] tcp[tcp_proxy]",
  ],
  [
    "know no former names of listener filters",
    one("LISTENER_FILTER", { listenerFilter: "envoy.listener.tls_inspector" }, "REMOVE"),
    unchanged,
  ],
  ["add a chain", one("FILTER_CHAIN", {}, "ADD", { name: "n", filters: [{ name: "f" }] }), `${unchanged} n[f]`],
  ["add no chain without filters", one("FILTER_CHAIN", {}, "ADD", { name: "n" }), unchanged],
  [
    "remove a chain by name",
    one("FILTER_CHAIN", { filterChain: { name: "tcp" } }, "REMOVE"),
    "tls_inspector http[http(cors router)]",
  ],
  [
    "remove one by server name",
    one("FILTER_CHAIN", { filterChain: { sni: "a.example" } }, "REMOVE"),
    "tls_inspector http[http(cors router)]",
  ],
  [
    "remove one by port of a virtual listener",
    one("FILTER_CHAIN", { portNumber: 80 }, "REMOVE"),
    "tls_inspector tcp[tcp_proxy]",
  ],
  [
    "remove one by destination port",
    one("FILTER_CHAIN", { filterChain: { destinationPort: 80 } }, "REMOVE"),
    "tls_inspector tcp[tcp_proxy]",
  ],
  [
    "remove one by transport",
    one("FILTER_CHAIN", { filterChain: { transportProtocol: "tls" } }, "REMOVE"),
    "tls_inspector tcp[tcp_proxy]",
  ],
  [
    "remove one by all its protocols",
    one("FILTER_CHAIN", { filterChain: { applicationProtocols: "http/1.1,h2" } }, "REMOVE"),
    "tls_inspector tcp[tcp_proxy]",
  ],
  [
    "leave one with fewer protocols",
    one("FILTER_CHAIN", { filterChain: { applicationProtocols: "h2,h3" } }, "REMOVE"),
    unchanged,
  ],
  [
    "leave one without the transport socket",
    one("FILTER_CHAIN", { filterChain: { transportSocket: "tls" } }, "REMOVE"),
    unchanged,
  ],
  [
    "add a network filter to all chains",
    one("NETWORK_FILTER", {}, "ADD", named),
    "tls_inspector http[http(cors router) x] tcp[tcp_proxy x]",
  ],
  [
    "insert one where its match is",
    one("NETWORK_FILTER", { filterChain: { filter: { name: "envoy.tcp_proxy" } } }, "INSERT_BEFORE", named),
    "tls_inspector http[http(cors router)] tcp[x tcp_proxy]",
  ],
  [
    "replace one",
    one("NETWORK_FILTER", { filterChain: { filter: { name: proxy.name } } }, "REPLACE", named),
    "tls_inspector http[http(cors router)] tcp[x]",
  ],
  [
    "add an HTTP filter",
    one("HTTP_FILTER", {}, "ADD", named),
    "tls_inspector http[http(cors router x)] tcp[tcp_proxy]",
  ],
  [
    "insert an HTTP filter first",
    one("HTTP_FILTER", sub("envoy.filters.http.router"), "INSERT_FIRST", named),
    "tls_inspector http[http(x cors router)] tcp[tcp_proxy]",
  ],
  [
    "insert one before the router",
    one("HTTP_FILTER", sub("envoy.router"), "INSERT_BEFORE", named),
    "tls_inspector http[http(cors x router)] tcp[tcp_proxy]",
  ],
  [
    "insert one after another",
    one("HTTP_FILTER", sub("envoy.filters.http.cors"), "INSERT_AFTER", named),
    "tls_inspector http[http(cors x router)] tcp[tcp_proxy]",
  ],
  [
    "remove an HTTP filter",
    one("HTTP_FILTER", sub("envoy.filters.http.cors"), "REMOVE"),
    "tls_inspector http[http(router)] tcp[tcp_proxy]",
  ],
  [
    "replace an HTTP filter",
    one("HTTP_FILTER", sub("envoy.filters.http.cors"), "REPLACE", named),
    "tls_inspector http[http(x router)] tcp[tcp_proxy]",
  ],
];

describe("patches of listeners", () => {
  for (const [name, patch, line] of cases) it(name, () => assert.equal(patched([patch]).line, line));

  it("merge into listener filters that they name, and leave their names", () => {
    const type = "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector";
    const value = { ...named, typedConfig: { "@type": type, initialReadBufferSize: 512 } };
    const sizeAfter = (match: object) => {
      const { line, after } = patched([one("LISTENER_FILTER", match, "MERGE", value)]);
      assert.equal(line, unchanged);
      const config = after?.listenerFilters[0]?.configType;
      assert.ok(config?.case === "typedConfig");
      return unpackAs(TlsInspectorSchema, config.value)?.initialReadBufferSize;
    };
    assert.equal(sizeAfter({}), undefined);
    assert.equal(sizeAfter({ listenerFilter: "envoy.filters.listener.tls_inspector" }), 512);
  });

  it("change the default filter chain as the others, and remove it", () => {
    const fields = { defaultFilterChain: { name: "rest", filters: [proxy] } };
    const { line } = patched([one("NETWORK_FILTER", { filterChain: { name: "rest" } }, "ADD", named)], fields);
    assert.equal(line, `${unchanged} default:rest[tcp_proxy x]`);
    assert.equal(patched([one("FILTER_CHAIN", { filterChain: { name: "rest" } }, "REMOVE")], fields).line, unchanged);
  });

  it("merge typed configs inside of their Any, after all that changes which filters there are", () => {
    const merge = { typedConfig: { "@type": managerType, statPrefix: "merged", xffNumTrustedHops: 1 } };
    const { after } = patched([
      one("NETWORK_FILTER", { filterChain: { filter: { name: manager.name } } }, "MERGE", merge),
      one("HTTP_FILTER", sub("envoy.filters.http.cors"), "REMOVE"),
    ]);
    const config = after?.filterChains[0]?.filters[0]?.configType;
    assert.ok(config?.case === "typedConfig");
    const { statPrefix, xffNumTrustedHops, httpFilters } = unpack(config.value) as HttpConnectionManager;
    assert.deepEqual([statPrefix, xffNumTrustedHops, httpFilters.length], ["merged", 1, 1]);
  });

  it("leave a filter as it was when the config is of another type, and say so", () => {
    const wrong = { typedConfig: { "@type": proxy.typedConfig["@type"], statPrefix: "x" } };
    const { line, reports } = patched([one("HTTP_FILTER", sub("envoy.filters.http.cors"), "MERGE", wrong)]);
    assert.equal(line, unchanged);
    assert.match(reports.join(), /^0: a typed config of .*TcpProxy cannot be merged into one of .*Cors$/);
  });
});

it("a listener is changed by patches to it and its parts, not by added listeners", () => {
  const patches = aPatch(
    { applyTo: "LISTENER", patch: { operation: "ADD", value: { name: "new" } } },
    { applyTo: "LISTENER", patch: { operation: "MERGE", value: {} } },
    { applyTo: "NETWORK_FILTER", patch: { operation: "ADD", value: { name: "f" } } },
    { applyTo: "CLUSTER", patch: { operation: "ADD", value: { name: "c" } } },
  );
  const found = listenerPatches(patches, { name: "virtualInbound", context: Context.SIDECAR_INBOUND });
  assert.deepEqual(
    found.map(({ index }) => index),
    [1, 2],
  );
});
