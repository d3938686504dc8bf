/**
 * Which of the kinds that a server was asked for it has told of, by type URL. Servers that know some kinds only tend not to answer
 * the others at all: after a while that counts as an answer too.
 */
export class ToldKinds {
  readonly #asked: ReadonlySet<string>;
  readonly #told = new Set<string>();
  readonly #silent = new Set<string>();
  /** As of the last complete group. */
  #untold: ReadonlySet<string> = new Set();
  #isMore = false;

  constructor(asked: Iterable<string>) {
    this.#asked = new Set(asked);
  }

  /** All were told of, if only by the server's silence. */
  get isComplete(): boolean {
    return this.#told.size === this.#asked.size;
  }

  /** More was told of than when the last complete group was given. */
  get isMore(): boolean {
    return this.#isMore;
  }

  /** Kinds that are told of by silence. */
  get silent(): Iterable<string> {
    return this.#silent;
  }

  /** The last complete group told nothing of this kind. */
  isUntold(typeUrl: string): boolean {
    return this.#untold.has(typeUrl);
  }

  answered(typeUrl: string): void {
    this.#silent.delete(typeUrl);
    this.#tell(typeUrl);
  }

  /** No more answers are waited for. Gives those that were not answered. */
  passSilence(): readonly string[] {
    const silent = this.#remaining();
    for (const url of silent) {
      this.#silent.add(url);
      this.#tell(url);
    }
    return silent;
  }

  /** A group is given; a complete one tells of all kinds that were told of. */
  noteGroup(isComplete: boolean): void {
    if (isComplete) this.#untold = new Set(this.#remaining());
    this.#isMore = false;
  }

  #remaining(): readonly string[] {
    return [...this.#asked].filter((url) => !this.#told.has(url));
  }

  #tell(typeUrl: string): void {
    if (this.#told.has(typeUrl) || !this.#asked.has(typeUrl)) return;
    this.#told.add(typeUrl);
    this.#isMore = true;
  }
}
