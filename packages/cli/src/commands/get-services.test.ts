import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";
import type { MeshEndpoints, MeshService } from "./get-services.ts";

const service = (name: string, namespace: string, more: Partial<MeshService> = {}): MeshService => ({
  hostname: `${name}.${namespace}.svc.cluster.local`,
  Attributes: {
    ServiceRegistry: "Kubernetes",
    Name: name,
    Namespace: namespace,
    Labels: { app: name },
    ExternalName: "",
    ObjectName: "",
  },
  ports: [{ name: "http", port: 80, protocol: "HTTP" }],
  defaultAddress: "10.0.0.1",
  Resolution: 0,
  Origin: [{ Shard: "Kubernetes/c1", DefinedBy: `Service/${namespace}/${name}` }],
  ...more,
});
const web = service("web", "shop", { defaultAddress: "0.0.0.0", autoAllocatedIPv4Address: "240.240.0.1" });
const aliased = service("front", "shop");
const front = { ...aliased, Resolution: 4, Attributes: { ...aliased.Attributes, ExternalName: web.hostname } };
const services = [web, front, service("till", "bank")];
const shard = {
  "Kubernetes/c1": [{ Addresses: ["10.1.0.1"] }, { Addresses: ["10.1.0.1"] }, { Addresses: ["10.1.0.2"] }],
};
const endpoints: MeshEndpoints = { [web.hostname]: { shop: { Shards: shard } } };

describe("flotilla get services", () => {
  const server = createServer((request, response) =>
    response.end(JSON.stringify(request.url?.startsWith("/debug/registryz") ? services : endpoints)),
  );
  let url: string;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());
  const get = (...args: readonly string[]) => recordRun(["get", ...args, "--url", url]);

  it("shows hosts, addresses, ports, endpoints and other names", async () => {
    const { code, out } = await get("svc", "-n", "shop");
    assert.equal(code, 0);
    assert.deepEqual(
      out.split("\n").map((line) => line.split(/ {3,}/)),
      [
        ["NAMESPACE", "HOST", "ADDRESS", "PORTS", "ENDPOINTS", "ALIASES"],
        ["shop", "web.shop.svc.cluster.local", "240.240.0.1", "80/HTTP", "2", "front.shop.svc.cluster.local"],
        ["shop", "front.shop.svc.cluster.local", "10.0.0.1", "80/HTTP", "→ web.shop.svc.cluster.local"],
        [""],
      ],
    );
  });

  for (const name of ["web", "web.shop", web.hostname])
    it(`finds a service by ${name}`, async () => {
      assert.equal((await get("service", name, "-n", "shop", "-o", "name")).out, `service/${web.hostname}\n`);
    });

  it("names what it does not find, and shows the rest", async () => {
    const { code, out, err } = await get("services", "till", "none", "-A", "-o", "name");
    assert.deepEqual([code, out], [1, "service/till.bank.svc.cluster.local\n"]);
    assert.equal(err, 'flotilla: Service "none" not found\n');
  });

  it("selects by labels", async () => {
    assert.equal((await get("svc", "-A", "-l", "app=till", "-o", "name")).out, "service/till.bank.svc.cluster.local\n");
    assert.equal(JSON.parse((await get("svc", "-A", "-l", "app!=till", "-o", "json")).out).length, 2);
  });
});
