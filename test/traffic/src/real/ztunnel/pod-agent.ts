/**
 * `pod-agent.ts NAME PORT…`, in the network namespace of a pod: answers with its name on each port, and makes the calls that its
 * parent asks for.
 */
import { serveAnything } from "../redirected/backends.ts";
import { get } from "../redirected/calls.ts";

export interface PodCall {
  readonly id: number;
  readonly address: string;
  readonly port: number;
  readonly path: string;
}

export interface PodAnswer {
  readonly id: number;
  /** The body of the answer, its status when that is not 200, or `closed`. */
  readonly answer: string;
}

const [name = "", ...ports] = process.argv.slice(2);
await Promise.all(ports.map((port) => serveAnything(name, "0.0.0.0", Number(port))));

process.on("message", ({ id, address, port, path }: PodCall) => {
  void get(address, port, "pod.test", path).then((answer) => process.send?.({ id, answer } satisfies PodAnswer));
});
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0, answer: "ready" } satisfies PodAnswer);
