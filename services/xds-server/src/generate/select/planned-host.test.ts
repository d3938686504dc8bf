/** Identities of virtual hosts: what goes in comes out, and the text stays small. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { virtualServiceName } from "../../snapshot/scope/virtual-service.ts";
import { type HostPlan, hostPlan } from "./planned-host.ts";

const plain: HostPlan = {
  hostname: "web.shop.svc.cluster.local",
  port: 8080,
  listenPort: 80,
  service: { namespace: "shop", registry: "Kubernetes", name: "web" },
  virtualService: undefined,
  takesAll: false,
  proxyDomain: "~.svc.cluster.local",
  aliases: [],
  countsAttempts: true,
  withoutDomains: [],
};

const cases: readonly { readonly name: string; readonly plan: HostPlan; readonly text: string }[] = [
  {
    name: "a service",
    plan: plain,
    text: "web.shop.svc.cluster.local|8080|80|shop/Kubernetes/web|||counted|||~.svc.cluster.local",
  },
  {
    name: "a host of a VirtualService that no service stands for",
    plan: {
      ...plain,
      hostname: "*.example.com",
      service: undefined,
      virtualService: virtualServiceName.write({ namespace: "shop", name: "outside" }),
      proxyDomain: "",
    },
    text: "*.example.com|8080|80||shop/outside||counted|||",
  },
  {
    name: "alone on its listener, with aliases and domains of others",
    plan: {
      ...plain,
      takesAll: true,
      countsAttempts: false,
      aliases: ["a.shop", "b.shop"],
      withoutDomains: ["web", "[fd00::1]:8080"],
    },
    text: "web.shop.svc.cluster.local|8080|80|shop/Kubernetes/web||all||a.shop b.shop|web [fd00::1]:8080|~.svc.cluster.local",
  },
  {
    name: "a domain of the client that looks like the end of another host",
    plan: { ...plain, proxyDomain: "x|counted||y" },
    text: "web.shop.svc.cluster.local|8080|80|shop/Kubernetes/web|||counted|||x|counted||y",
  },
];

describe("identities of virtual hosts", () => {
  for (const { name, plan, text } of cases)
    it(name, () => {
      assert.equal(hostPlan.write(plan), text);
      assert.deepEqual(hostPlan.read(hostPlan.write(plan)), plan);
    });
});
