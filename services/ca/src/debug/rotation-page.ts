/** GET, POST /debug/rotation: how far a rotation of the root is, what holds it up; start it, go on without some, go back. */
import { type HttpReply, type HttpRequest, isOwnHost } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import type { Rotation, RotationStatus } from "../rotation/rotation.ts";

export async function rotationPage(rotation: Rotation): Promise<HttpReply> {
  return answered(() => rotation.status());
}

/** `?action=rotate&without=NAME…` or `?action=abort`; from this host only. */
export async function changeRotation(
  rotation: Rotation,
  { query, remoteAddress, headers }: HttpRequest,
): Promise<HttpReply> {
  // A page in a browser of this host is not its operator.
  if (!isOwnHost(remoteAddress) || headers["origin"] !== undefined)
    return { status: 403, json: { error: "a rotation is started and aborted from ca's own host only" } };
  const action = query.get("action");
  if (action === "rotate") return answered(() => rotation.rotate(query.getAll("without")));
  if (action === "abort") return answered(() => rotation.abort());
  return { status: 400, json: { error: `action ${JSON.stringify(action)} is neither rotate nor abort` } };
}

async function answered(work: () => Promise<RotationStatus>): Promise<HttpReply> {
  try {
    const { state, ...more } = await work();
    return { json: { ...state, ...more } };
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    return { status: 409, json: { error: error.reason } };
  }
}
