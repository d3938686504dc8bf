import { createLogger, limitHeapGrowth, runUntilSignal } from "@flotilla/runtime";
import { main } from "../src/main.ts";

const service = "xds-server";
// V8 would collect after a tenth of growth once it has given memory back, in the middle of the next burst: docs/decisions/0472-memory-goes-back-in-steps.md.
limitHeapGrowth(50);
await runUntilSignal((stop) => main(process.env, stop), {
  log: createLogger(service),
  service: { name: service, env: process.env },
});
