/** A module for proxies (proxy-wasm 0.2.1) that adds one response header, put together byte by byte: no compiler is needed. */

/** Up to 63 bytes each. */
export function headerModule(name: string, value: string): Uint8Array<ArrayBuffer> {
  const [key, text] = [Buffer.from(name), Buffer.from(value)];
  const i32 = 0x7f;
  const type = (params: number, results: number) => [0x60, ...sized(fill(i32, params)), ...sized(fill(i32, results))];
  const addHeader = [constant(responseHeaders), constant(keyAt), constant(key.length), constant(valueAt)].flat();
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [type(5, 1), type(0, 0), type(1, 1), type(2, 0), type(2, 1), type(3, 1)]),
    ...section(2, [[...label("env"), ...label("proxy_add_header_map_value"), 0x00, 0]]),
    // Function 0 is the one that is imported.
    ...section(3, [[1], [2], [3], [4], [5]]),
    ...section(5, [[0x00, 1]]),
    ...section(7, [
      [...label("memory"), 0x02, 0],
      [...label("proxy_abi_version_0_2_1"), 0x00, 1],
      [...label("malloc"), 0x00, 2],
      [...label("proxy_on_context_create"), 0x00, 3],
      [...label("proxy_on_vm_start"), 0x00, 4],
      [...label("proxy_on_configure"), 0x00, 4],
      [...label("proxy_on_response_headers"), 0x00, 5],
    ]),
    ...section(10, [
      body([]),
      body([0x41, 0x80, 0x20]), // i32.const 4096
      body([]),
      body(constant(1)),
      body([...addHeader, ...constant(text.length), 0x10, 0, 0x1a, ...constant(0)]), // call 0, drop
    ]),
    ...section(11, [
      [0x00, ...constant(keyAt), end, ...sized([...key])],
      [0x00, ...constant(valueAt), end, ...sized([...text])],
    ]),
  ]);
}

/** HttpResponseHeaders of the maps of headers. */
const responseHeaders = 2;
const keyAt = 0;
const valueAt = 63;
const end = 0x0b;

/** i32.const; numbers up to 63 are one byte. */
function constant(value: number): readonly number[] {
  return [0x41, value];
}

function body(code: readonly number[]): readonly number[] {
  return sized([0x00, ...code, end]);
}

function label(text: string): readonly number[] {
  return sized([...Buffer.from(text)]);
}

function section(id: number, items: readonly (readonly number[])[]): readonly number[] {
  return [id, ...sized([items.length, ...items.flat()])];
}

function sized(bytes: readonly number[]): readonly number[] {
  const { length } = bytes;
  return length < 128 ? [length, ...bytes] : [(length & 0x7f) | 0x80, length >> 7, ...bytes];
}

function fill(value: number, count: number): readonly number[] {
  return Array.from({ length: count }, () => value);
}
