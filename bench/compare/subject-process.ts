/**
 * A process of a compared program. It pays when its parent requests a payment, and reports the result. Its clock can be
 * set ahead, so that a test of a retry does not have to wait until a lease expires.
 */
import { gatewayEvent } from '../../test/world/gateway-event.ts';

export type Request = { readonly aheadMs: number } & (
  | { readonly kind: 'pay'; readonly key: string }
  /** The payments are sequential. */
  | { readonly kind: 'measure'; readonly keys: readonly string[] }
);

export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'paid'; readonly key: string; readonly status: number; readonly body: string }
  | { readonly kind: 'measured'; readonly cpuMs: number };

interface Reply {
  readonly statusCode: number;
  readonly body: string;
}
type Handler = (event: object, context: object) => Promise<Reply>;

const SystemDate = Date;
let aheadMs = 0;
globalThis.Date = class extends SystemDate {
  constructor(...parts: readonly unknown[]) {
    // TypeScript cannot match an array of unknown length to an overload of the Date constructor.
    super(...((parts.length === 0 ? [SystemDate.now() + aheadMs] : parts) as [number]));
  }
  static override now(): number {
    return SystemDate.now() + aheadMs;
  }
} as DateConstructor;

const send = (message: Report): void => void process.send?.(message);
const context = { getRemainingTimeInMillis: () => 25_000, awsRequestId: 'request' };
const { handler } = (await import(process.env['SUBJECT'] ?? '')) as { readonly handler: Handler };

async function pay(key: string): Promise<Reply> {
  const headers = {
    Authorization: `Bearer ${process.env['API_KEY'] ?? ''}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
  };
  const body = JSON.stringify({ amount: 12_500, currency: 'EUR', source: 'tok_ok' });
  try {
    return await handler({ ...gatewayEvent('POST', '/v1/payments', headers), body }, context);
  } catch (error) {
    return { statusCode: 500, body: String(error) };
  }
}

async function measure(keys: readonly string[]): Promise<number> {
  const before = process.cpuUsage();
  for (const key of keys) {
    const { statusCode, body } = await pay(key);
    if (statusCode !== 201) throw new Error(`${statusCode} ${body}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / keys.length;
}

process.on('message', (asked: Request) => {
  ({ aheadMs } = asked);
  const answer = async (): Promise<Report> => {
    if (asked.kind === 'measure') return { kind: 'measured', cpuMs: await measure(asked.keys) };
    const { statusCode, body } = await pay(asked.key);
    return { kind: 'paid', key: asked.key, status: statusCode, body };
  };
  answer().then(send, (error: unknown) => {
    throw error;
  });
});
process.on('disconnect', () => process.exit());
send({ kind: 'ready' });
