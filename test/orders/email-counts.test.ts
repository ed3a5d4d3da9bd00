import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { reportCapped } from '../../lambdas/orders/parties/configured-parties.ts';
import { createMailer } from '../../lambdas/orders/parties/mailer.ts';
import { DynamoDbEmailCounts } from '../../lambdas/orders/store/dynamodb-email-counts.ts';
import type { OrderEmail } from '../../lambdas/orders/use/order-parties.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const MAX = 20;
const LIMIT = { timeoutMs: 1_000 };
const NOON_MS = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;

const emailOf = (number: number, changes: Partial<OrderEmail> = {}): OrderEmail => ({
  operationId: storedOperationId(`eml_${String(number).padStart(32, '0')}`),
  tenantId: tenantId('ten_a'),
  mode: 'live',
  dueAtMs: NOON_MS,
  to: 'ada@example.com',
  subject: 'Your order',
  text: 'Thank you.',
  tag: 'order-confirmation',
  ...changes,
});
const many = (count: number, changes: Partial<OrderEmail> = {}) =>
  Array.from({ length: count }, (_, number) => emailOf(number, changes));

let database: ReturnType<typeof emptyTables>;
let clock: SimulatedClock;
/** Ids of the e-mails, in the order of arrival. */
let sent: string[];
let capped: number;

beforeEach(() => {
  clock = new SimulatedClock();
  database = emptyTables(clock);
  sent = [];
  capped = 0;
});

/** @param fault thrown by the e-mail service instead of sending */
function mailer({ fault, client = database.client }: { fault?: Error; client?: typeof database.client } = {}) {
  const counts = new DynamoDbEmailCounts(
    client,
    TABLES.registry,
    { clock, entropy: countingEntropy(), digest: systemDigest },
    MAX,
  );
  const sendEmail = async ({ messageId }: { readonly messageId: string }) => {
    if (fault !== undefined) throw fault;
    if (!sent.includes(messageId)) sent.push(messageId);
    return { kind: 'sent', vendorId: messageId } as const;
  };
  return createMailer({ sendEmail }, { clock, counts, capped: () => void (capped += 1) });
}

const send = async (email: OrderEmail, by = mailer()): Promise<string> => (await by.send(email, LIMIT)).kind;
const sendAll = (emails: readonly OrderEmail[], by = mailer()) => Promise.all(emails.map((email) => send(email, by)));

describe('e-mails of one tenant to one recipient on one day', () => {
  test('never exceed the limit, even if many processes send concurrently', async () => {
    const kinds = await Promise.all(many(50).map((email) => send(email, mailer())));
    expect(kinds.filter((kind) => kind === 'sent')).toHaveLength(MAX);
    expect(kinds.filter((kind) => kind === 'capped')).toHaveLength(30);
    expect([sent.length, capped]).toEqual([MAX, 30]);
  });

  test('are each counted once, even if they are retried repeatedly or a day later', async () => {
    const first = await sendAll(many(50));
    clock.advance(24 * HOUR_MS);
    expect(await sendAll(many(50))).toEqual(first);
    expect(sent).toHaveLength(MAX);
  });

  test('are each counted once, even if retried below the limit', async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) await sendAll(many(MAX / 2));
    const kinds = await sendAll(Array.from({ length: MAX }, (_, number) => emailOf(MAX + number)));
    expect(kinds.filter((kind) => kind === 'sent')).toHaveLength(MAX / 2);
  });

  test('are each counted once, even if their sends fail after the count and are retried', async () => {
    const down = mailer({ fault: new RetryableError('mailer_down', 'The mailer answered 503.') });
    await Promise.allSettled(many(MAX).map((email) => down.send(email, LIMIT)));
    expect(sent).toEqual([]);
    expect(await sendAll([emailOf(MAX), ...many(MAX)])).toEqual(['capped', ...many(MAX).map(() => 'sent')]);
  });

  test('are each counted once if the response of the store is lost', async () => {
    const losing = database.clientWith(async (_command, answer) => {
      await answer();
      throw Object.assign(new Error('socket hang up'), { $metadata: { attempts: 1 } });
    });
    const by = mailer({ client: losing });
    for (const email of many(MAX)) expect(await send(email, by)).toBe('sent');
    expect(await send(emailOf(MAX), mailer())).toBe('capped');
  });

  test('do not limit other recipients, tenants, modes or days', async () => {
    await sendAll(many(MAX));
    const others = [
      emailOf(100, { to: 'grace@example.com' }),
      emailOf(101, { tenantId: tenantId('ten_b') }),
      emailOf(102, { dueAtMs: NOON_MS + 12 * HOUR_MS }),
      emailOf(103, { dueAtMs: NOON_MS - 12 * HOUR_MS - 1 }),
    ];
    expect(await sendAll(others)).toEqual(['sent', 'sent', 'sent', 'sent']);
    const { client } = database;
    const tools = { clock, entropy: countingEntropy(), digest: systemDigest };
    expect(
      await new DynamoDbEmailCounts(client, TABLES.registry, tools, MAX).admit(emailOf(104, { mode: 'test' })),
    ).toBe(true);
    expect(await send(emailOf(105, { dueAtMs: NOON_MS + 12 * HOUR_MS - 1 }))).toBe('capped');
  });

  test('include e-mails to other spellings of the same mailbox', async () => {
    await sendAll(many(MAX));
    for (const to of ['ADA@example.com', 'ada+1@example.com', 'ada+a+b@Example.com']) {
      expect(await send(emailOf(100, { to }))).toBe('capped');
    }
  });

  test('are counted in one small row, which does not contain the address and expires 30 days after the day of the e-mails', async () => {
    await sendAll(many(50, { to: 'ada.lovelace@example.com' }));
    const [row, ...others] = database.items(TABLES.registry);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ count: MAX, expiresAt: NOON_MS / 1000 + DAY_SECONDS / 2 + 30 * DAY_SECONDS });
    // A row of up to 1 KB costs one write unit.
    expect(JSON.stringify(row).length).toBeLessThan(1024);
    expect(JSON.stringify(row)).not.toMatch(/ada|lovelace|example|ten_a/);
  });
});

test('an e-mail beyond the limit increments a metric, and its log line names its tenant but not its recipient', () => {
  const written: unknown[] = [];
  const log = (message: unknown, ...extra: unknown[]) => void written.push([message, ...extra]);
  const meter = { addMetric: () => undefined, publishStoredMetrics: () => undefined };
  const one = { addDimension: () => undefined, addMetric: (name: string) => void written.push(name) };
  const report = reportCapped({
    logger: () => ({ info: log, warn: log, error: log }),
    metrics: () => ({ ...meter, singleMetric: () => one }),
  });
  const email = emailOf(1);
  report(email);
  const { tenantId: tenant, mode, operationId, tag } = email;
  expect(written).toEqual([
    ['email_capped', { tenantId: tenant, mode, operationId, tag, ...(email.orderId && { orderId: email.orderId }) }],
    'outbound_capped',
  ]);
  expect(JSON.stringify(written)).not.toContain(email.to);
});
