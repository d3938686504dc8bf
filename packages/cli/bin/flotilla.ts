#!/usr/bin/env node
import { run } from "../src/command-line.ts";
import { endWithLauncher } from "../src/signals.ts";

endWithLauncher();
process.exitCode = await run(process.argv.slice(2), process.env);
