/** `pnpm test:compose`: see README.md. */
import { spawnSync } from "node:child_process";
import { after } from "node:test";
import { figuresTable } from "./figures.ts";

/** Why nothing can be tested. */
function missing(): string | undefined {
  const engine = spawnSync("docker", ["version", "--format", "{{.Server.Version}}"], { encoding: "utf8" });
  if (engine.status !== 0) return `no container engine answers: ${engine.error?.message ?? engine.stderr.trim()}`;
  const compose = spawnSync("docker", ["compose", "version"], { encoding: "utf8" });
  return compose.status === 0 ? undefined : "docker has no command `compose`";
}

const reason = missing();
if (reason !== undefined) {
  process.stderr.write(`\nSKIPPED: docker-compose.yml is not tested: ${reason}. See test/compose/README.md\n\n`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
} else {
  await import("./compose.suite.ts");
  after(() => process.stdout.write(`\n${figuresTable()}\n\n`));
}
