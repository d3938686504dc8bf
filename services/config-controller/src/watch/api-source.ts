/** Objects written over the API as a source of configuration: each transaction is one group. */
import { type Config, type ConfigChange, type ConfigKeyText, configKeyText } from "@flotilla/model";
import { Wakeup } from "@flotilla/runtime";
import { withoutMemory } from "../api/server-side-apply.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import type { Transaction } from "../store/durable/transaction.ts";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";
import { configChangeOf } from "./config-source.ts";
import { leanAnnotations, leanStatus } from "./kubernetes/kind-table.ts";

/** Transactions that come faster than they are published are joined: at most one change a key waits. */
export function apiSource(durable: DurableStore, revision: string): ConfigSource {
  return {
    name: durable.store.name,
    problems: () => durable.problems().map((problem) => ({ file: "", line: 0, ...problem })),
    async *groups(stop): AsyncGenerator<ConfigGroup, void, undefined> {
      const wakeup = new Wakeup();
      const pending = new Map<ConfigKeyText, ConfigChange>();
      const callers = new Set<string>();
      let eventTimeMs = 0;
      const note = (transaction: Pick<Transaction, "puts" | "deletes" | "timeMs" | "caller">): void => {
        const { puts, deletes, timeMs, caller } = transaction;
        if (pending.size === 0) eventTimeMs = timeMs;
        if (caller !== undefined) callers.add(caller);
        for (const config of puts) pending.set(configKeyText(config.key), changeOf(config, revision));
        for (const key of deletes) pending.set(configKeyText(key), { type: "config", op: "delete", key });
        wakeup.wake();
      };
      const end = durable.onCommit(note);
      try {
        note({ puts: durable.all(), deletes: [], timeMs: Date.now() });
        for (let isFirst = true; !stop.aborted; isFirst = false) {
          if (isFirst || pending.size > 0) {
            const changes = [...pending.values()];
            const caller = [...callers].join(", ");
            pending.clear();
            callers.clear();
            yield { changes, eventTimeMs, ...(caller !== "" && { caller }) };
          }
          if (pending.size === 0) await wakeup.wait(stop);
        }
      } finally {
        end();
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Without what others wrote into it for themselves. */
function changeOf({ status, ...config }: Config, revision: string): ConfigChange {
  const annotations = leanAnnotations(withoutMemory(config.annotations));
  const lean = leanStatus(status);
  const { source = "", location = "" } = config.provenance ?? {};
  const own = { annotations, provenance: { source, location }, ...(lean !== undefined && { status: lean }) };
  return configChangeOf({ ...config, ...own }, revision);
}
