/** A browser of the console, as far as its server sees one: cookies, the origin, server-sent events. */

import type { ConsoleEvents } from "@flotilla/console/contract";
import { main } from "@flotilla/console-server";
import { noopLogger } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of many endpoints, which each test expects in its own form
  readonly body: any;
}

/** A console that runs, with one caller. */
export class ConsoleClient {
  readonly url: string;
  cookie = "";

  constructor(url: string) {
    this.url = url;
  }

  get(path: string): Promise<ConsoleAnswer> {
    return this.ask("GET", path);
  }

  /** As a page of the console's own origin sends it. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ConsoleAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(this.cookie !== "" && { cookie: this.cookie }),
        ...(method !== "GET" && { origin: this.url, "sec-fetch-site": "same-origin" }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  async signIn(token: string): Promise<ConsoleAnswer> {
    const answer = await this.ask("POST", "/api/v1/session", { token });
    this.cookie = answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    return answer;
  }

  /** Events until `stop` fires. */
  async *events(stop: AbortSignal): AsyncGenerator<ReceivedEvent> {
    const response = await fetch(`${this.url}/api/v1/events`, { headers: { cookie: this.cookie }, signal: stop });
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1];
        const [type, data] = [field("event"), field("data")];
        if (type !== undefined && data !== undefined)
          yield { type: type as keyof ConsoleEvents, data: JSON.parse(data), atMs: performance.now() };
      }
    }
  }
}

export interface ReceivedEvent {
  readonly type: keyof ConsoleEvents;
  // biome-ignore lint/suspicious/noExplicitAny: the data of many types, which each test expects in its own form
  readonly data: any;
  readonly atMs: number;
}

/** Collects the events of a caller until it is disposed of. */
export function collectEvents(client: ConsoleClient): { readonly events: readonly ReceivedEvent[] } & AsyncDisposable {
  const stop = new AbortController();
  const events: ReceivedEvent[] = [];
  const running = (async () => {
    try {
      for await (const event of client.events(stop.signal)) events.push(event);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  return {
    events,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

/** The service itself, within this process. */
export async function startConsole(
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const stop = new AbortController();
  const first = await freePorts(2);
  const ready = Promise.withResolvers<string>();
  const running = main(
    {
      ...{
        CONSOLE_PORT: String(first),
        HEALTH_PORT: String(first + 1),
        HEALTH_HOST: "127.0.0.1",
        INTROSPECTION_PORT: "0",
      },
      ...settings,
    },
    stop.signal,
    { log: noopLogger, onReady: ({ page }) => ready.resolve(`http://127.0.0.1:${page}`) },
  );
  running.catch(ready.reject);
  return {
    url: await ready.promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the test ends"));
      await running;
    },
  };
}
