import { describe } from "node:test";
import { configStoreConformance } from "./config-store.conformance.ts";
import { memoryStore } from "./memory-store.fixture.ts";

describe("a store in memory", () => {
  configStoreConformance(async () => ({
    store: memoryStore({ name: "memory", nowMs: Date.now }),
    [Symbol.asyncDispose]: async () => undefined,
  }));
});
