import { describe } from "node:test";
import { busConformance } from "./bus.conformance.ts";
import { connectEmbedded } from "./embedded-bus.ts";

describe("embedded bus", () => {
  // Held open, so that the sequence outlives each test's connections.
  connectEmbedded("test", Date.now);
  busConformance(async () => connectEmbedded("test", Date.now));
});
