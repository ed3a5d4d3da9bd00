import { describe, expect, test } from '@jest/globals';
import { RELAY_ATTEMPTS, RELAY_MAX_AGE_SECONDS, RELAY_MAX_WAIT_SECONDS } from '../../lambdas/events/contract.ts';
import type { StreamRecord } from '../../lambdas/events/use/ledger-stream.ts';
import { type RelayAttempt, relayWithRetries } from '../../lambdas/events/use/relay-with-retries.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { positionAt } from '../../lambdas/payments/use/transition-reader.ts';
import { chains, RelayHarness } from './relay-harness.ts';

const PAYMENTS = 12;
const AWAY = () => ({ kind: 'not_now', code: 'InternalFailure' }) as const;

class PatientRelay extends RelayHarness {
  readonly attempts: RelayAttempt[] = [];
  redeliverFrom: string | undefined;
  mark: () => string | undefined = () => undefined;

  constructor(waitsMs: number) {
    super(chains(PAYMENTS), async (tools, records) => {
      const deadlineMs = this.clock.nowMs() + waitsMs;
      const onAttempt = (attempt: RelayAttempt) => void this.attempts.push(attempt);
      const marks = { readMark: async () => this.mark() };
      this.redeliverFrom = await relayWithRetries({ ...tools, onAttempt, marks }, records, deadlineMs);
      return { published: 0, parked: 0, tampered: 0 };
    });
  }
}

const SECOND_MS = 1_000;
const WAITS_MS = RELAY_MAX_WAIT_SECONDS * SECOND_MS;
const KEEPS_MS = RELAY_MAX_AGE_SECONDS * SECOND_MS;

test('a relay retries an unavailable bus within one delivery, and publishes each event once', async () => {
  const relay = new PatientRelay(WAITS_MS);
  const startMs = relay.clock.nowMs();
  relay.bus.trouble = () => (relay.clock.nowMs() - startMs < 360 * SECOND_MS ? AWAY() : undefined);
  await relay.relay();
  expect(relay.redeliverFrom).toBeUndefined();
  expect([...relay.publishedIds].sort()).toEqual([...relay.expected].sort());
  expect(relay.clock.nowMs() - startMs).toBeLessThan(480 * SECOND_MS);
  // The alarm is raised while the relay waits.
  expect(relay.attempts.length).toBeGreaterThan(5);
  expect(relay.attempts.filter(({ redeliverFrom }) => redeliverFrom === undefined)).toEqual([relay.attempts.at(-1)]);
});

test('the Stream redelivers from the first unpublished record, and published events are not republished', async () => {
  const relay = new PatientRelay(WAITS_MS);
  const startMs = relay.clock.nowMs();
  const failing = relay.expected[7];
  relay.bus.trouble = (id) => (id === failing ? AWAY() : undefined);
  await relay.relay();
  expect(relay.redeliverFrom).toBe(relay.records[PAYMENTS + 7]?.position);
  expect(relay.clock.nowMs() - startMs).toBeLessThanOrEqual(WAITS_MS + 10 * SECOND_MS);
  expect(relay.attempts.reduce((sum, { published }) => sum + published, 0)).toBe(7);
  expect([...relay.publishedIds].sort()).toEqual(relay.expected.filter((id) => id !== failing).sort());
});

test('a redriven record gets only one attempt', async () => {
  const relay = new PatientRelay(0);
  relay.bus.trouble = AWAY;
  await relay.relay();
  expect(relay.redeliverFrom).toBe(relay.records[PAYMENTS]?.position);
  expect(relay.attempts).toHaveLength(1);
});

test('an event that the bus refuses is parked immediately, and delays no other event', async () => {
  const relay = new PatientRelay(WAITS_MS);
  const startMs = relay.clock.nowMs();
  const refused = relay.expected[3];
  relay.bus.trouble = (id) => (id === refused ? { kind: 'refused', code: 'MalformedDetail' } : undefined);
  await relay.relay();
  expect(relay).toMatchObject({ redeliverFrom: undefined, attempts: [{ published: PAYMENTS - 1, parked: 1 }] });
  expect(relay.clock.nowMs()).toBe(startMs);
});

describe('events that the bus does not accept', () => {
  /**
   * `markAfterMs` is the time from the events to the mark up to which the job has republished lost events; undefined if
   * the job has never run.
   */
  async function relayAtAge(ageMs: number, markAfterMs: number | undefined, change: (records: StreamRecord[]) => void) {
    const relay = new PatientRelay(0);
    relay.bus.trouble = AWAY;
    change(relay.records);
    const [occurredAtMs = 0] = relay.ledger.slice(PAYMENTS).map((transition) => transition.occurredAtMs);
    relay.mark = () => (markAfterMs === undefined ? undefined : positionAt(occurredAtMs + markAfterMs));
    await relay.clock.sleep(occurredAtMs + ageMs - relay.clock.nowMs());
    await relay.relay();
    return relay;
  }
  const resultOf = (relay: PatientRelay) => {
    const leaves = relay.attempts.reduce((sum, { deferred }) => sum + deferred, 0);
    const at = relay.records.findIndex(({ position }) => position === relay.redeliverFrom);
    return { leaves, redeliverFrom: at === -1 ? undefined : at - PAYMENTS, parked: relay.parked.length };
  };
  const atAge = async (...asked: Parameters<typeof relayAtAge>) => resultOf(await relayAtAge(...asked));
  const unchanged = () => undefined;

  test('are left to the job that republishes lost events if they are older than an hour and a half and the job’s mark is before them', async () => {
    expect(await atAge(KEEPS_MS + 1, -1, unchanged)).toEqual({ leaves: PAYMENTS, parked: 0 });
  });

  test.each([
    ['are retried by the relay if they are younger than an hour and a half', KEEPS_MS, -1],
    ['are retried by the relay if the job has passed them, as may happen to a redriven event', KEEPS_MS + 1, 0],
    ['are retried by the relay if the job has never run', KEEPS_MS + 1, undefined],
  ])('%s', async (_what, ageMs, markAfterMs) => {
    expect(await atAge(ageMs, markAfterMs, unchanged)).toEqual({ leaves: 0, redeliverFrom: 0, parked: 0 });
  });

  test('are left to the job up to the first record that must be parked; the next attempt parks that record', async () => {
    const poison: StreamRecord = { position: 'x', whole: '{}', content: { kind: 'unreadable', detail: 'type' } };
    const relay = await relayAtAge(KEEPS_MS + 1, -1, (records) => void records.splice(PAYMENTS + 4, 0, poison));
    expect(resultOf(relay)).toEqual({ leaves: 4, redeliverFrom: 4, parked: 0 });
    await relay.relay(relay.records.slice(PAYMENTS + 4));
    expect(resultOf(relay)).toEqual({ leaves: PAYMENTS, redeliverFrom: undefined, parked: 1 });
    expect(relay.parked).toMatchObject([{ body: '{}' }]);
  });

  test('are retried by the relay while the mark of the job that republishes lost events cannot be read', async () => {
    const relay = new PatientRelay(0);
    relay.bus.trouble = AWAY;
    relay.mark = () => {
      throw new RetryableError('store_unavailable', 'not now');
    };
    await relay.clock.sleep(2 * KEEPS_MS);
    await relay.relay();
    expect(relay.redeliverFrom).toBe(relay.records[PAYMENTS]?.position);
    expect(relay.reported).toHaveLength(1);
  });
});

test('a batch is retried for at least twice the relay’s maximum event age, so that waiting alone never parks an event', () => {
  expect(RELAY_ATTEMPTS * RELAY_MAX_WAIT_SECONDS).toBeGreaterThanOrEqual(2 * RELAY_MAX_AGE_SECONDS);
});
