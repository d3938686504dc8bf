import { createLogger, runUntilSignal } from "@flotilla/runtime";
import { main } from "../src/main.ts";

await runUntilSignal((stop) => main(process.env, stop), { log: createLogger("ca") });
