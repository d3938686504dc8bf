import assert from "node:assert/strict";
import { describe, it } from "node:test";
import xterm from "@xterm/headless";
import { LiveArea, type LiveOutput } from "./live-area.ts";

const rows = 24;

/** A terminal emulator behind what LiveArea takes for a terminal. */
class Screen implements LiveOutput {
  readonly isTTY = true;
  readonly #terminal: InstanceType<typeof xterm.Terminal>;
  #written = Promise.resolve();
  #onResize: () => void = () => undefined;

  constructor(columns: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 200, allowProposedApi: true });
  }

  write(text: string): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#terminal.write(text.replaceAll("\n", "\r\n"), resolve);
    this.#written = promise;
  }

  getWindowSize(): [number, number] {
    return [this.#terminal.cols, this.#terminal.rows];
  }

  on(_event: "resize", listener: () => void): void {
    this.#onResize = listener;
  }

  off(): void {
    this.#onResize = () => undefined;
  }

  async resize(columns: number): Promise<void> {
    await this.#written;
    this.#terminal.resize(columns, rows);
    this.#onResize();
  }

  /** Everything from the top of what can be scrolled back, wrapped lines joined. */
  async lines(): Promise<readonly string[]> {
    await this.#written;
    const { active } = this.#terminal.buffer;
    const lines: string[] = [];
    for (let i = 0; i < active.length; i++) {
      const line = active.getLine(i);
      const text = line?.translateToString(true) ?? "";
      if (line?.isWrapped) lines.push((lines.pop() ?? "") + text);
      else lines.push(text);
    }
    return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
  }
}

const table = (round: number) =>
  [
    "NAME        STATE  PID    RESTARTS  LISTENS ON",
    `ca          ready  10${round}    0         :15013 (gRPC) :15026 (health)`,
    `xds-server  ready  20${round}    ${round}         :15010 (xDS) :15012 (xDS, TLS) :8080 (debug) :15014 (health)`,
    `  restarted at 12:00:0${round}: exit code 1, a failure whose text is much longer than most terminals are wide, ${"so that it wraps ".repeat(6)}`,
  ].join("\n");

/** As LiveArea leaves it: the words of all lines, whatever the width wrapped. */
const words = (lines: readonly string[]) =>
  lines
    .join(" ")
    .split(/\s+/)
    .filter((word) => word !== "");

describe("the live area", () => {
  for (const columns of [60, 80, 100, 132, 160, 220])
    it(`draws again in place with lines above it, ${columns} columns wide`, async () => {
      const screen = new Screen(columns);
      using area = new LiveArea(screen);
      const logged: string[] = [];
      for (let round = 1; round <= 5; round++) {
        area.draw(table(round));
        logged.push(`xds-server ended: signal SIGKILL, round ${round}; ${"a long reason ".repeat(8)}`);
        area.log(logged.at(-1) ?? "");
      }
      assert.deepEqual(words(await screen.lines()), words([...logged, table(5)]));
    });

  it("stays whole when the terminal is resized", async () => {
    const screen = new Screen(120);
    using area = new LiveArea(screen);
    area.log("bus nats://127.0.0.1:4222");
    area.draw(table(1));
    for (const [i, columns] of [60, 220, 75, 200, 90, 60, 140].entries()) {
      await screen.resize(columns);
      area.draw(table(i + 2));
      assert.deepEqual(words(await screen.lines()), words(["bus nats://127.0.0.1:4222", table(i + 2)]), `${columns}`);
    }
  });

  it("leaves out the last lines where the terminal is too low, and says so", async () => {
    const screen = new Screen(80);
    using area = new LiveArea(screen);
    const many = (round: number) => Array.from({ length: 40 }, (_, i) => `service ${i} round ${round}`).join("\n");
    for (let round = 1; round <= 3; round++) area.draw(many(round));
    const lines = await screen.lines();
    assert.equal(lines.length, rows - 1);
    assert.equal(lines[0], "service 0 round 3");
    assert.equal(lines.at(-1), "… 18 more lines: flotilla status");
  });

  it("leaves what stands there when it is disposed of", async () => {
    const screen = new Screen(80);
    {
      using area = new LiveArea(screen);
      area.draw("ca ready");
    }
    screen.write("flotilla: stopped\n");
    assert.deepEqual(await screen.lines(), ["ca ready", "flotilla: stopped"]);
  });

  it("watches the size of a terminal until it is disposed of", () => {
    const listeners = new Set<() => void>();
    const on = (_: string, listener: () => void) => void listeners.add(listener);
    const off = (_: string, listener: () => void) => void listeners.delete(listener);
    const area = new LiveArea({ isTTY: true, write: () => undefined, on, off });
    assert.equal(listeners.size, 1);
    area[Symbol.dispose]();
    assert.equal(listeners.size, 0);
    new LiveArea({ isTTY: false, write: () => undefined, on, off })[Symbol.dispose]();
    assert.equal(listeners.size, 0);
  });

  it("writes changes one after the other where there is no terminal", () => {
    const written: string[] = [];
    using area = new LiveArea({ write: (text) => written.push(text) });
    area.draw("ca starting");
    area.draw("ca starting");
    area.log("webhook ended");
    area.draw("ca ready");
    assert.deepEqual(written, ["ca starting\n", "webhook ended\n", "ca ready\n"]);
  });
});
