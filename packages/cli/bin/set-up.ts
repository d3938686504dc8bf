/** The container `setup` of docker-compose.yml: fills the volumes that have nothing yet, and writes the first tokens. */
import { run } from "../src/command-line.ts";
import { fillVolumes } from "../src/image/compose-volumes.ts";

const volumes = "/volumes";
process.umask(0o077);
await fillVolumes(volumes);
const options = ["--work-dir", volumes, "--directory", "/tokens", "--jwks-file", `${volumes}/state/issuer/jwks.json`];
process.exitCode = await run(["keep-tokens", "--once", ...options], process.env);
