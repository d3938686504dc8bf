import { describe } from "node:test";
import { openEmbedded } from "./embedded-store.ts";
import { storeConformance } from "./store.conformance.ts";

describe("embedded store", () => {
  // Held open, so that the store outlives each test's handles.
  openEmbedded("test", Date.now, 300);
  storeConformance(async () => openEmbedded("test", Date.now, 300));
});
