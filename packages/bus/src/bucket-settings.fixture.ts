/** For tests: what somebody with the rights of a service can do to a bucket beside its Bus. */
import { connect } from "nats";
import { connectionOptions } from "./nats-options.ts";
import { token } from "./topics.ts";

export interface BoundMessagesOptions {
  /** As BUS_URL of the service. */
  readonly url: string;
  /** One whose settings this service may change. */
  readonly clientName: string;
  readonly bucket: string;
  /** Of a message; -1: any. */
  readonly maxBytes: number;
}

/** Bounds the messages that a bucket takes from now on. */
export async function boundMessages({ url, clientName, bucket, maxBytes }: BoundMessagesOptions): Promise<void> {
  const connection = await connect(connectionOptions({ url, clientName }));
  try {
    const { streams } = await connection.jetstreamManager({ checkAPI: false });
    const name = `KV_flotilla-${token(bucket)}`;
    const { config } = await streams.info(name);
    await streams.update(name, { ...config, max_msg_size: maxBytes });
  } finally {
    await connection.close();
  }
}
