/** `/debug/arrivals`: how the last generations of the configuration reached the proxies of this replica. */
import type { Arrivals } from "../serve/arrivals.ts";
import type { DebugPage } from "./page.ts";

/** As many as a list has rows. */
const maxAsked = 200;

export function arrivalsPage(arrivals: Pick<Arrivals, "of">): DebugPage {
  return {
    path: "arrivals",
    help: "arrival of generations at the proxies of this replica, of the latest 1,000: ?generations=17,18",
    scope: "mesh",
    answer: ({ query }) => {
      const asked = (query.get("generations") ?? "").split(",");
      const areNumbers = asked.length <= maxAsked && asked.every((text) => /^\d{1,15}$/.test(text));
      if (!areNumbers) {
        const error = `generations must be 1 to ${maxAsked} numbers separated by commas`;
        return { status: 400, json: { error } };
      }
      return { json: { arrivals: asked.flatMap((text) => arrivals.of(Number(text)) ?? []) } };
    },
  };
}
