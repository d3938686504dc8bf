#!/usr/bin/env node
import { run } from "../src/command-line.ts";
import { endWithReader } from "../src/parse/terminal.ts";
import { endWithLauncher } from "../src/signals.ts";

endWithLauncher();
endWithReader();
process.exitCode = await run(process.argv.slice(2), process.env);
