/** Identities of routers' virtual hosts: what goes in comes out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { virtualServiceName } from "../../../snapshot/scope/virtual-service.ts";
import { routesKey } from "../../select/virtual-service-routes.ts";
import { type RouterHost, routerHost } from "./virtual-host-plan.ts";

const routes = ["a", "b"].map((name) =>
  routesKey(virtualServiceName.write({ namespace: "shop", name }), 443, "shop/gateway", "tls"),
);
const plain: RouterHost = {
  name: "shop.example.com:443",
  domains: ["shop.example.com", "www.shop.example.com"],
  routes,
  redirects: false,
  countsAttempts: true,
  isMisdirected: false,
};

const cases: readonly { readonly name: string; readonly host: RouterHost; readonly text: string }[] = [
  {
    name: "a host with routes of two VirtualServices",
    host: plain,
    text: "shop.example.com:443||counted||shop.example.com www.shop.example.com|shop/a|443|shop/gateway|tls shop/b|443|shop/gateway|tls",
  },
  {
    name: "requests are sent to HTTPS",
    host: { ...plain, routes: [], redirects: true },
    text: "shop.example.com:443|redirects|counted||shop.example.com www.shop.example.com|",
  },
  {
    name: "hosts of other listeners",
    host: { ...plain, domains: ["*"], routes: [], countsAttempts: false, isMisdirected: true },
    text: "shop.example.com:443|||misdirected|*|",
  },
];

describe("identities of routers' virtual hosts", () => {
  for (const { name, host, text } of cases)
    it(name, () => {
      assert.equal(routerHost.write(host), text);
      assert.deepEqual(routerHost.read(routerHost.write(host)), host);
    });
});
