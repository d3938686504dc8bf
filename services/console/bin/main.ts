import { createLogger, limitHeapGrowth, runUntilSignal } from "@flotilla/runtime";
import { main } from "../src/main.ts";

const service = "console";
// Answers are garbage at once, and little is kept: docs/decisions/0060-memory-goes-back.md has the figures.
limitHeapGrowth(30);
await runUntilSignal((stop) => main(process.env, stop), {
  log: createLogger(service),
  service: { name: service, env: process.env },
});
