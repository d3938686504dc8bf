/** Requests without a pause through the demo's Envoys, and edits of its routes, for as long as something is done to the control plane. */
import { call, type MeshFolder } from "@flotilla/cli/testing";
import { delay } from "@flotilla/runtime";

const callers = 4;
const pauseMs = 5;
const editEveryMs = 150;

export interface LoadResult {
  readonly answered: number;
  /** Statuses other than 200, and errors. */
  readonly failed: readonly string[];
  readonly edits: number;
}

/** Runs `work` under load. @throws what `work` throws */
export async function underLoad(host: string, mesh: MeshFolder, work: () => Promise<void>): Promise<LoadResult> {
  let [isOver, answered, edits] = [false, 0, 0];
  const failed: string[] = [];
  const calling = async (): Promise<void> => {
    while (!isOver) {
      const { status } = await call(host).catch((error: Error) => ({ status: error.message }));
      if (status === 200) answered++;
      else failed.push(String(status));
      await delay(pauseMs);
    }
  };
  const editing = async (): Promise<void> => {
    for (; !isOver; edits++) {
      mesh.routeAllTo(edits % 2 === 0 ? "v1" : "v2");
      await delay(editEveryMs);
    }
  };
  const running = [editing(), ...Array.from({ length: callers }, calling)];
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(running);
  }
  return { answered, failed, edits };
}
