/** Server-sent events: a bounded number of streams, each of which may fall behind without harm to the others. */
import type { ServerResponse } from "node:http";
import { RequestRefused } from "../errors.ts";
import type { Session } from "../session/sessions.ts";
import type { EventFeed, NumberedEvent } from "./event-feed.ts";

export interface EventStreamOptions {
  readonly feed: Pick<EventFeed, "listen">;
  readonly maxStreams: number;
  /** Ends all streams. */
  readonly stop: AbortSignal;
}

/** Proxies between here and the browser close what is silent for longer. */
const commentMs = 15_000;
/** A reader that has taken less gets `resync` when it goes on reading. */
const maxBufferedBytes = 256 * 1024;

export class EventStreams {
  readonly #options: EventStreamOptions;
  #open = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#open;
  }

  /** Until the reader, the session or the console ends it. @throws RequestRefused too-many */
  open(response: ServerResponse, session: Session, lastId: number | undefined): void {
    const { feed, maxStreams, stop } = this.#options;
    if (this.#open >= maxStreams)
      throw new RequestRefused("too-many", `${maxStreams} streams of events are open already`);
    this.#open += 1;
    response.writeHead(200, {
      ...{ "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" },
    });
    response.flushHeaders();
    let hasMissed = false;
    const take = (numbered: NumberedEvent): void => {
      if (response.writableLength > maxBufferedBytes) hasMissed = true;
      else response.write(textOf(numbered));
    };
    const leave = feed.listen({ session, take }, lastId);
    const timer = setInterval(() => {
      if (response.writableLength === 0) response.write(": \n\n");
    }, commentMs);
    const onEnd = (): void => {
      const { reason } = session.ended;
      if (session.ended.aborted) response.write(`event: session-ended\ndata: ${JSON.stringify({ reason })}\n\n`);
      response.end();
    };
    const onDrain = (): void => {
      if (hasMissed) response.write("event: resync\ndata: {}\n\n");
      hasMissed = false;
    };
    session.ended.addEventListener("abort", onEnd, { once: true });
    stop.addEventListener("abort", onEnd, { once: true });
    response.on("drain", onDrain);
    response.once("close", () => {
      this.#open -= 1;
      clearInterval(timer);
      leave();
      session.ended.removeEventListener("abort", onEnd);
      stop.removeEventListener("abort", onEnd);
    });
    if (session.ended.aborted || stop.aborted) onEnd();
  }
}

function textOf({ id, event: { type, data } }: NumberedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
