import { createLogger, runUntilSignal } from "@flotilla/runtime";
import { main } from "../src/main.ts";

const service = "ca";
await runUntilSignal((stop) => main(process.env, stop), {
  log: createLogger(service),
  service: { name: service, env: process.env },
});
