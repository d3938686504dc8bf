import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { objectParts, objectPath, pathAbove, proxyPath, servicePath, wayPath } from "./places.ts";
import { type AddressBar, createRouter, formatAddress, matchPath, parseAddress, pathOf } from "./router.ts";

/** A history that can go back, as a window's. */
function addressBar(start: string): AddressBar & { readonly entries: string[]; back(): void } {
  const entries = [start];
  let moved = (): void => {};
  return {
    entries,
    read: () => entries.at(-1) ?? "/",
    write(address, isReplacing) {
      if (isReplacing) entries.pop();
      entries.push(address);
    },
    onMove: (call) => {
      moved = call;
    },
    back() {
      entries.pop();
      moved();
    },
  };
}

describe("the router", () => {
  it("keeps the state of a screen in the address, and the back button restores it", () => {
    const bar = addressBar("/proxies?q=web");
    const router = createRouter(bar);
    router.change({ type: "sidecar", page: 3 });
    router.go("/objects");
    assert.deepEqual(bar.entries, ["/proxies?q=web", "/proxies?page=3&q=web&type=sidecar", "/objects"]);
    bar.back();
    assert.equal(router.place.value.path, "/proxies");
    assert.equal(router.place.value.query.get("type"), "sidecar");
    bar.back();
    assert.deepEqual([...router.place.value.query], [["q", "web"]]);
  });

  it("adds no entry for each key that is typed, nor for the same address", () => {
    const bar = addressBar("/proxies");
    const router = createRouter(bar);
    for (const q of ["w", "we", "web"]) router.change({ q }, true);
    router.go("/proxies?q=web");
    assert.deepEqual(bar.entries, ["/proxies?q=web"]);
  });

  it("removes empty values, and keeps the rest", () => {
    const router = createRouter(addressBar("/proxies?q=web&page=2"));
    assert.equal(router.withQuery({ q: "", page: undefined, sort: "-proxy" }), "/proxies?sort=-proxy");
  });
});

describe("addresses", () => {
  const patterns = [
    { pattern: "/", path: "/", names: {} },
    { pattern: "/proxies/:proxy", path: "/proxies/web-1.shop", names: { proxy: "web-1.shop" } },
    {
      pattern: "/objects/:kind/:namespace/:name",
      path: pathOf("objects", "A", "-", "x/y z"),
      names: { kind: "A", namespace: "-", name: "x/y z" },
    },
    { pattern: "/proxies/:proxy", path: "/proxies", names: undefined },
    { pattern: "/proxies/:proxy", path: "/proxies/%E0%A4%A", names: undefined },
    { pattern: "/proxies/:proxy", path: "/objects/x", names: undefined },
  ];
  for (const { pattern, path, names } of patterns)
    it(`${path} ${names === undefined ? "does not fit" : "fits"} ${pattern}`, () => {
      const found = matchPath(pattern, path);
      assert.deepEqual(found && Object.fromEntries(found), names);
    });

  it("are equal for equal states, and lead back to them", () => {
    const address = formatAddress(
      "/objects",
      new Map([
        ["q", "a&b=c"],
        ["kind", "Gateway"],
      ]),
    );
    assert.equal(address, "/objects?kind=Gateway&q=a%26b%3Dc");
    const { path, query } = parseAddress(address);
    assert.equal(path, "/objects");
    assert.deepEqual(Object.fromEntries(query), { kind: "Gateway", q: "a&b=c" });
  });

  it("take the first of several values, and no slash at the end", () => {
    const { path, query } = parseAddress("/proxies/?q=a&q=b");
    assert.equal(path, "/proxies");
    assert.equal(query.get("q"), "a");
  });
});

describe("screens of things", () => {
  it("are found by the names of the contract", () => {
    assert.equal(objectPath("VirtualService/shop/web"), "/objects/VirtualService/shop/web");
    assert.equal(objectPath("GatewayClass//istio"), "/objects/GatewayClass/-/istio");
    assert.equal(proxyPath("web-1.shop"), "/proxies/web-1.shop");
    assert.equal(servicePath("shop", "web.shop.svc"), "/topology/shop/web.shop.svc");
    assert.equal(wayPath(), "/topology/-/request");
    assert.equal(wayPath({ from: "web.shop", to: "a b" }), "/topology/-/request?from=web.shop&to=a+b");
  });

  it("are none for sentences", () => {
    for (const text of ["settings of the mesh", "a/b", "", "A/b/c d"]) assert.equal(objectParts(text), undefined, text);
  });

  it("lead to the list above", () => {
    assert.equal(pathAbove("/objects/Gateway/shop/web"), "/objects");
    assert.equal(pathAbove("/objects"), "/");
  });
});
