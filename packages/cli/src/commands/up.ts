/** `flotilla up`: the control plane with a live table of what runs where. */
import { delay } from "@flotilla/runtime";
import type { up as definition } from "../definitions/local.ts";
import { runOptionsOf } from "../options.ts";
import type { Run } from "../parse/definition.ts";
import { untilSignal } from "../signals.ts";
import { allReady } from "../supervise/all-ready.ts";
import { startControlPlane } from "../supervise/control-plane.ts";
import { LiveArea } from "../supervise/live-area.ts";
import { formatTable, tableRows } from "../supervise/service-table.ts";
import { eventText } from "../supervise/supervised.ts";

const readyWithinMs = 60_000;

export const up: Run<typeof definition> = async (invocation) => {
  const options = runOptionsOf(invocation);
  using requests = untilSignal(invocation.env);
  const { stop } = requests;
  using table = new LiveArea(process.stdout);
  const say = (text: string) => table.log(text);
  const onEvent = (event: Parameters<typeof eventText>[0]) => say(eventText(event));
  await using controlPlane = await startControlPlane({
    ...{ options, logs: "files", command: "up", onProgress: say, onEvent, stop },
  });
  const { shared, layout, startedAtMs, ended } = controlPlane;
  say(`bus ${shared.busUrl}, snapshot ${shared.storeUrl}, files in ${layout.workDir}`);
  const draw = async () => table.draw(formatTable(await tableRows(controlPlane)));
  await allReady(controlPlane, readyWithinMs, draw, stop);
  if (!stop.aborted) say(`ready after ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s; Ctrl-C ends it`);
  await Promise.race([keepDrawing(draw, stop), ended]);
  say("stopping");
  return 0;
};

async function keepDrawing(draw: () => Promise<void>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await draw();
    await delay(500, stop);
  }
}
