import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:dgram';

/** A subsegment in X-Ray. Lambda itself writes the segment of the execution. */
interface Span {
  readonly name: string;
  /** The operation's id, for searches in traces: `annotation.operation = "pay_…"`. */
  readonly operation: string;
}

const HEADER = '{"format":"json","version":1}\n';
let socket: Socket | undefined;

/**
 * Runs work in a span, and sends the span over UDP to the X-Ray daemon of the Lambda environment (AWS X-Ray developer
 * guide, "Segment documents" and "Sending segment documents to the X-Ray daemon"). Sends nothing if the execution is
 * not sampled. A span that cannot be sent is lost, without an effect on the work.
 */
export async function withSpan<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  const parent = currentSegment();
  if (parent === undefined) return work();
  const startedMs = Date.now();
  let fault = true;
  try {
    const result = await work();
    fault = false;
    return result;
  } finally {
    send({
      type: 'subsegment',
      name: span.name,
      id: randomBytes(8).toString('hex'),
      trace_id: parent.root,
      parent_id: parent.id,
      start_time: startedMs / 1_000,
      end_time: Date.now() / 1_000,
      annotations: { operation: span.operation },
      ...(fault ? { fault } : {}),
    });
  }
}

/** Undefined if the execution is not sampled. */
function currentSegment(): { readonly root: string; readonly id: string } | undefined {
  const text = process.env['_X_AMZN_TRACE_ID'] ?? '';
  const [, root] = /Root=([0-9a-f-]+)/.exec(text) ?? [];
  const [, id] = /Parent=([0-9a-f]+)/.exec(text) ?? [];
  return root === undefined || id === undefined || !text.includes('Sampled=1') ? undefined : { root, id };
}

function send(segment: object): void {
  const [, host, port] = /^(?:udp:)?(.+):(\d+)$/.exec(process.env['AWS_XRAY_DAEMON_ADDRESS'] ?? '') ?? [];
  if (host === undefined) return;
  // Load dynamically: a static import would be loaded at startup even if tracing is off.
  socket ??= process
    .getBuiltinModule('node:dgram')
    .createSocket('udp4')
    .on('error', () => undefined);
  socket.unref();
  try {
    socket.send(`${HEADER}${JSON.stringify(segment)}`, Number(port), host, () => undefined);
  } catch {
    // A port out of range throws immediately. The work is already done, so its result is still returned.
  }
}
