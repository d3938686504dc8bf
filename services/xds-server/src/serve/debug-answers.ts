/** Answers of debug types (`istio.io/debug/…`), which are asked over xDS like over HTTP. */
import type { Resource } from "@flotilla/xds";
import type { Writer } from "./message-cache.ts";
import type { ClientIdentity } from "./resource-source.ts";

/** A question that is not answered ends the stream, with this as its status. */
interface DebugRefusal {
  readonly refused: "unauthenticated" | "denied" | "invalid";
  readonly message: string;
}

export type DebugAnswers = (
  typeUrl: string,
  names: readonly string[],
  client: ClientIdentity,
) => Promise<readonly Resource[] | DebugRefusal>;

/** Of one stream: an answer may be as large as the whole mesh. */
export const maxOpenQuestions = 16;

/** Answers leave one at a time, each after the message before it has left: a client that does not read holds few of them. */
export class AnswerQueue {
  readonly #writer: Pick<Writer, "isBusy" | "write">;
  readonly #waiting: Buffer[] = [];
  #open = 0;

  constructor(writer: Pick<Writer, "isBusy" | "write">) {
    this.#writer = writer;
  }

  /** Counts a question; false when too many wait for their answer already. */
  ask(): boolean {
    if (this.#open >= maxOpenQuestions) return false;
    this.#open++;
    return true;
  }

  /** The question gets no answer. */
  drop(): void {
    this.#open--;
  }

  answer(frame: Buffer): void {
    if (this.#writer.isBusy) this.#waiting.push(frame);
    else this.#writer.write(frame, () => this.drop());
  }

  /** To be called when a message has left; true when an answer follows it. */
  writeNext(): boolean {
    const frame = this.#waiting.shift();
    if (frame === undefined) return false;
    this.#writer.write(frame, () => this.drop());
    return true;
  }

  clear(): void {
    this.#waiting.length = 0;
  }
}
