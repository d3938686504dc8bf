#!/usr/bin/env node
import { run } from "../src/command-line.ts";

process.exitCode = await run(process.argv.slice(2), process.env);
