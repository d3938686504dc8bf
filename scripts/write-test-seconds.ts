/** Writes scripts/tests/measured-seconds.json from the last run on this machine, which was a whole one without other work beside it. */
import { writeMeasured } from "./tests/last-run.ts";

writeMeasured();
