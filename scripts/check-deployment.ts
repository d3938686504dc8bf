/** Checks of docker-compose.yml and k8s/ beyond their schemas. */
import { checkAll } from "./deployment/check-all.ts";
import { readProject } from "./deployment/files.ts";

const { checked, problems } = checkAll(readProject);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${checked - problems.length} passed, ${problems.length} failed\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
