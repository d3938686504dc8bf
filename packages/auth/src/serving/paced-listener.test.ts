import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { createPacedListener } from "./paced-listener.ts";

async function setUp(limits: {
  readonly maxStarting: number;
  readonly startingMs: number;
  readonly maxWaiting: number;
}) {
  const begun: { readonly socket: Socket; readonly started: () => void }[] = [];
  const overflow: string[] = [];
  const { server: listener, closeWaiting } = createPacedListener({
    ...limits,
    onConnection: (socket, started) => void begun.push({ socket, started }),
    onOverflow: (address) => void overflow.push(address),
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  const clients: Socket[] = [];
  const dial = async (count: number): Promise<void> => {
    const more = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
    clients.push(...more);
    for (const client of more) client.on("error", () => undefined);
    await Promise.all(more.map((client) => new Promise((resolve) => client.once("connect", resolve))));
  };
  return {
    begun,
    overflow,
    clients,
    dial,
    [Symbol.asyncDispose]: async () => {
      closeWaiting();
      for (const socket of [...clients, ...begun.map((one) => one.socket)]) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

const within = { withinMs: 3000 };

describe("paced listener", () => {
  it("starts as many as may, the next when one has started or is gone", async () => {
    await using it = await setUp({ maxStarting: 2, startingMs: 60_000, maxWaiting: 10 });
    await it.dial(5);
    await until(() => it.begun.length === 2, { ...within, what: "two" });
    it.begun[0]?.started();
    it.begun[0]?.started(); // twice is once
    await until(() => it.begun.length === 3, { ...within, what: "the third" });
    it.begun[1]?.socket.destroy();
    await until(() => it.begun.length === 4, { ...within, what: "the fourth" });
    for (const { started } of it.begun.slice(2)) started();
    await until(() => it.begun.length === 5, { ...within, what: "the fifth" });
  });

  it("silent callers do not keep the others out", async () => {
    await using it = await setUp({ maxStarting: 1, startingMs: 5, maxWaiting: 100 });
    await it.dial(8);
    await until(() => it.begun.length === 8, { ...within, what: "all of them" });
  });

  it("those beyond the line are closed at once, and the line can be closed", async () => {
    await using it = await setUp({ maxStarting: 1, startingMs: 60_000, maxWaiting: 2 });
    await it.dial(4);
    await until(() => it.overflow.length === 1, { ...within, what: "the overflow" });
    await until(() => it.clients.filter((client) => client.destroyed).length === 1, { ...within, what: "one closed" });
  });
});
