/** Names by which ztunnels ask for what is at an address. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressNames, type ServiceFacts, type WorkloadFacts } from "./facts.ts";

describe("names of addresses", () => {
  it("of a workload are those of its network", () => {
    const workload = { uid: "u", network: "net", addresses: ["10.0.0.1", "fd00::1"] } as unknown as WorkloadFacts;
    assert.deepEqual(addressNames(workload), ["net/10.0.0.1", "net/fd00::1"]);
  });
  it("of a service are those of each network, of a range the first address", () => {
    const addresses = [
      { network: "net", address: "10.1.0.1" },
      { network: "", address: "10.1.0.2" },
      { network: "net", address: "10.2.0.0", length: 16 },
    ];
    const names = addressNames({ addresses } as unknown as ServiceFacts);
    assert.deepEqual(names, ["net/10.1.0.1", "/10.1.0.2", "net/10.2.0.0"]);
  });
});
