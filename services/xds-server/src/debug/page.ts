/** A debug page: the same over HTTP, as `/debug/<path>`, and over xDS, as a resource name of `istio.io/debug`. */
import type { HttpReply } from "@flotilla/runtime";
import type { Viewer } from "./viewer.ts";

export interface Question {
  /** Of the page. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly viewer: Viewer;
}

export interface DebugPage {
  readonly path: string;
  /** One sentence, for `/debug/list` and the index. */
  readonly help: string;
  /** `namespace`: it shows a caller what belongs to its namespace; `mesh`: it is for those who may see everything. */
  readonly scope: "namespace" | "mesh";
  /** Takes effect instead of only showing. */
  readonly isUnsafe?: boolean;
  readonly answer: (question: Question) => HttpReply | Promise<HttpReply>;
}

export function plain(status: number, sentence: string): HttpReply {
  return { status, text: `${sentence}\n` };
}
