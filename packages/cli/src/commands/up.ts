/** `flotilla up`: the control plane with a live table of what runs where. */
import { delay } from "@flotilla/runtime";
import type { up as definition } from "../definitions/local.ts";
import { runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { addressesOf } from "../supervise/addresses.ts";
import { allReady, type ControlPlane, startControlPlane } from "../supervise/control-plane.ts";
import { formatTable, LiveTable, tableRows } from "../supervise/service-table.ts";

const readyWithinMs = 60_000;

export const up: Run<typeof definition> = async (invocation) => {
  const options = runOptionsOf(invocation);
  using signals = untilSignal();
  const say = (text: string) => process.stdout.write(`${text}\n`);
  await using controlPlane = await startControlPlane({ options, logs: "files", onProgress: say });
  say(
    `bus ${controlPlane.shared.busUrl}, snapshot ${controlPlane.shared.storeUrl}, files in ${controlPlane.layout.workDir}`,
  );
  const table = new LiveTable(process.stdout);
  const draw = () => drawTable(table, controlPlane);
  await allReady(controlPlane, readyWithinMs, () => void draw(), signals.stop);
  await draw();
  if (!signals.stop.aborted)
    say(`ready after ${((Date.now() - controlPlane.startedAtMs) / 1000).toFixed(1)} s; Ctrl-C ends it`);
  const watch = (async () => {
    while (!signals.stop.aborted) {
      await delay(1_000, signals.stop);
      if (!signals.stop.aborted) await draw();
    }
  })();
  await Promise.race([watch, controlPlane.ended]);
  say("stopping");
  return 0;
};

async function drawTable(table: LiveTable, { services, layout }: ControlPlane): Promise<void> {
  table.draw(formatTable(await tableRows(services, (name) => addressesOf(name, layout.ports))));
}
