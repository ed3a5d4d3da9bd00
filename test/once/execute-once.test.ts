import { beforeEach, describe, expect, test } from '@jest/globals';
import { LEASE_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Consumption, OpenConsumption } from '../../lambdas/once/domain/consumption.ts';
import {
  type CompletedRecord,
  earlierOwners,
  type IdempotencyRecord,
  type OpenRecord,
} from '../../lambdas/once/domain/idempotency.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import type { ConsumerClaims } from '../../lambdas/once/use/consumer-records.ts';
import {
  commitOnce,
  completeOnce,
  type ExecuteTools,
  type ExternalCall,
  executeOnce,
  type Held,
  type Operation,
  type Written,
} from '../../lambdas/once/use/execute-once.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

type Refusal = { readonly kind: 'expired' };
type Toy = Operation<string, string, string, Refusal>;

const SECOND = 1_000;
const LEASE = LEASE_SECONDS * SECOND;
const fingerprintOf = (text: string) => ({ version: 1, sha256: systemDigest.sha256(text) });
const paymentId = paymentIdFor('toy');
const key = { operationId: chargeOperation(paymentId), paymentId, fingerprint: fingerprintOf('body') };

/** Simulates the store of one operation, with one record and one pending transition. */
class World {
  readonly clock = new SimulatedClock();
  readonly notes = { takenOver: false, fenced: false };
  readonly calls: Held<string>[] = [];
  readonly kept: string[] = [];
  reads = 0;
  record: IdempotencyRecord | undefined;
  begunAtMs: number | undefined;
  readonly tools: ExecuteTools = {
    runner: idempotentRunner,
    replays: new ProcessReplayCache(),
    clock: this.clock,
    entropy: countingEntropy(),
    store: {
      readRecord: async () => {
        this.reads += 1;
        return this.record;
      },
      takeOver: async ({ stale, owner, leaseExpiresAtMs }) => {
        if (this.record !== stale) return { kind: 'changed', record: this.record };
        this.record = { ...stale, owner, leaseExpiresAtMs, released: false };
        return { kind: 'taken' };
      },
      release: async (_operationId, owner) => {
        if (this.record?.status !== 'INPROGRESS' || this.record.owner !== owner) return;
        this.record = { ...this.record, leaseExpiresAtMs: 0, released: true };
      },
    },
  };

  run(changes: Partial<Toy> = {}, tools: Partial<ExecuteTools> = {}) {
    const operation: Toy = {
      key,
      expired: { kind: 'expired' },
      claim: async (open) => {
        if (this.record !== undefined) return { kind: 'record_exists', record: this.record };
        if (this.begunAtMs !== undefined) return { kind: 'begun', subject: 'begun' };
        this.begunAtMs = this.clock.nowMs();
        const record = open(this.begunAtMs, this.begunAtMs);
        this.record = record;
        return { kind: 'claimed', record, subject: 'new' };
      },
      lostRecord: () => ({ isAnswered: false, isSameRequest: () => true, claimedAtMs: this.begunAtMs ?? 0 }),
      claimAgain: async (record) => {
        this.record = record;
        return true;
      },
      read: async () => 'read',
      call: async (held) => {
        this.calls.push(held);
        return 'done';
      },
      conclude: (work) => ({ write: work, answer: answerOf(work), unknown: false, isRefusal: false }),
      commit: async (record) => {
        if (this.record?.owner !== record.owner) return { kind: 'fenced', record: this.record };
        this.record = record;
        return { kind: 'committed' };
      },
      decideAgain: async (work) => `${work}, decided again`,
      keep: async (work) => {
        this.kept.push(work);
      },
      ...changes,
    };
    return executeOnce({ ...this.tools, ...tools }, operation, this.notes);
  }

  async crash(): Promise<void> {
    const crashing = this.run({ call: () => Promise.reject(new Error('the process ended')) });
    await expect(crashing).rejects.toThrow('the process ended');
  }

  rival(leaseMs: number): OpenRecord {
    const nowMs = this.clock.nowMs();
    const lease = { claimedAtMs: nowMs, leaseExpiresAtMs: nowMs + leaseMs, released: false };
    return { status: 'INPROGRESS', ...key, owner: this.tools.entropy.ownerToken(), ...lease };
  }
}

const answerOf = (body: string) => ({ status: 201, headers: {}, body });
const unready = new RetryableError('circuit_open', 'the breaker is open');
const open = { check: () => Promise.reject(unready) };

let world: World;
beforeEach(() => {
  world = new World();
});

describe('a stale claim', () => {
  test('is taken over with a new lease, but its send window does not start again', async () => {
    await world.crash();
    const claimedAtMs = world.clock.nowMs();
    world.clock.advance(LEASE);
    await world.crash();
    expect(world.record).toMatchObject({ claimedAtMs, leaseExpiresAtMs: claimedAtMs + 2 * LEASE });
    expect(await world.run()).toMatchObject({ kind: 'in_progress' });
    world.clock.advance(LEASE);
    expect(await world.run()).toMatchObject({ kind: 'first' });
    expect(world.calls).toMatchObject([{ claimedAtMs, sent: 'maybe', subject: 'read' }]);
    expect(world.notes).toEqual({ takenOver: true, fenced: false });
  });

  test('is left to a rival if the rival takes it over first', async () => {
    await world.crash();
    world.clock.advance(LEASE);
    const store = {
      ...world.tools.store,
      takeOver: async () => {
        world.record = world.rival(LEASE);
        return { kind: 'changed' as const, record: world.record };
      },
    };
    expect(await world.run({}, { store })).toMatchObject({ kind: 'in_progress' });
    expect(world.calls).toEqual([]);
  });

  test('is reported as in progress if a rival took it over during the call; the result of the call is kept', async () => {
    const outcome = await world.run({
      call: async () => {
        world.clock.advance(LEASE);
        world.record = world.rival(LEASE);
        return 'late';
      },
    });
    expect(outcome).toEqual({ kind: 'in_progress', leaseExpiresAtMs: world.clock.nowMs() + LEASE });
    expect(world.kept).toEqual(['late']);
    expect(world.notes.fenced).toBe(true);
  });

  test('is reported as in progress if a later owner took it over, even if the later owner’s lease has expired', async () => {
    const stale = world.rival(0);
    const outcome = await world.run({ commit: async () => ({ kind: 'fenced', record: stale }) });
    expect(outcome).toEqual({ kind: 'in_progress', leaseExpiresAtMs: stale.leaseExpiresAtMs });
  });
});

test('a claim lists its five most recent earlier owners', () => {
  let record = world.rival(0);
  const owners = [];
  for (let nowMs = 1; nowMs <= 7; nowMs += 1) {
    owners.push(record.owner);
    record = { ...record, owner: world.tools.entropy.ownerToken(), earlier: earlierOwners(record, nowMs) };
  }
  expect(record.earlier?.map(({ owner }) => owner)).toEqual(owners.slice(-5));
});

describe('a claim whose record is lost', () => {
  test('stores the result of its call if the record is lost during the call, but stores no refusal, because a rival may have sent the call', async () => {
    const commits: string[] = [];
    const refused = (isRefusal: boolean) =>
      world.run({
        conclude: (work) => ({ write: work, answer: answerOf(work), unknown: false, isRefusal }),
        commit: async (_record, expects) => {
          commits.push(expects);
          return expects === 'open' ? { kind: 'fenced', record: undefined } : { kind: 'committed' };
        },
      });
    await expect(refused(true)).rejects.toBeInstanceOf(RetryableError);
    expect(commits).toEqual(['open']);
    world.record = undefined;
    world.begunAtMs = undefined;
    expect(await refused(false)).toMatchObject({ kind: 'first' });
    expect(commits).toEqual(['open', 'open', 'absent']);
  });

  test('is reclaimed with the time of its first claim, because an earlier owner may have sent the call', async () => {
    await world.crash();
    const claimedAtMs = world.clock.nowMs();
    world.record = undefined;
    world.clock.advance(SECOND);
    let reclaimed: OpenRecord | undefined;
    await world.run({
      claimAgain: async (record) => {
        reclaimed = record;
        world.record = record;
        return true;
      },
    });
    expect(reclaimed).toMatchObject({ claimedAtMs, leaseExpiresAtMs: world.clock.nowMs() + LEASE });
    expect(world.calls).toMatchObject([{ claimedAtMs, sent: 'maybe', subject: 'read' }]);
    expect(world.notes.takenOver).toBe(true);
  });

  test('is left to a rival if the rival claims it again first', async () => {
    await world.crash();
    world.record = undefined;
    const outcome = await world.run({
      claimAgain: async () => {
        world.record = world.rival(LEASE);
        return false;
      },
    });
    expect(outcome).toMatchObject({ kind: 'in_progress' });
    expect(world.calls).toEqual([]);
  });

  test.each([
    ['its operation already has a response', { isAnswered: true, isSameRequest: () => true }, 'expired'],
    ['the request is different', { isAnswered: false, isSameRequest: () => false }, 'payload_mismatch'],
  ])('is not reclaimed when %s', async (_case, lost, kind) => {
    await world.crash();
    world.record = undefined;
    const outcome = await world.run({ lostRecord: () => ({ ...lost, claimedAtMs: 0 }) });
    expect([outcome.kind, world.record, world.calls]).toEqual([kind, undefined, []]);
  });

  test('ends in contention if the record is lost twice, but the facts of the call are recorded', async () => {
    const expected: string[] = [];
    const commit: Toy['commit'] = async (_record, expects) => {
      expected.push(expects);
      return { kind: 'fenced', record: undefined };
    };
    await expect(world.run({ commit })).rejects.toMatchObject({ code: 'contention' });
    expect([expected, world.kept]).toEqual([['open', 'absent'], ['done']]);
  });
});

describe('the commit', () => {
  test('is decided again after each write by a rival, up to seven times, without a second call', async () => {
    let rivals = 7;
    const commit: Toy['commit'] = async (record) => {
      if (rivals > 0) {
        rivals -= 1;
        return { kind: 'transition_exists' };
      }
      world.record = record;
      return { kind: 'committed' };
    };
    const outcome = await world.run({ commit });
    expect(outcome).toMatchObject({ kind: 'first', answer: { body: `done${', decided again'.repeat(7)}` } });
    expect(world.calls).toHaveLength(1);
    world.record = undefined;
    world.begunAtMs = undefined;
    rivals = 8;
    const replays = new ProcessReplayCache();
    await expect(world.run({ commit }, { replays })).rejects.toMatchObject({ code: 'contention' });
  });

  test.each([true, false])('reports whether the outcome is unknown: %s', async (unknown) => {
    const conclude: Toy['conclude'] = (write) => ({ write, answer: answerOf(write), unknown, isRefusal: false });
    expect(await world.run({ conclude })).toMatchObject({ kind: 'first', unknown });
  });
});

describe('a call that fails', () => {
  test('releases the claim if it fails before anything was sent, and the next attempt sends immediately', async () => {
    await expect(world.run({ call: () => Promise.reject(unready) })).rejects.toBe(unready);
    expect(world.record).toMatchObject({ released: true, leaseExpiresAtMs: 0 });
    await world.run();
    expect(world.calls).toMatchObject([{ sent: 'nothing', subject: 'read' }]);
  });

  test('throws its own error even if the release of the claim also fails', async () => {
    const store = { ...world.tools.store, release: () => Promise.reject(new Error('the store is unavailable')) };
    await expect(world.run({ call: () => Promise.reject(unready) }, { store })).rejects.toBe(unready);
  });

  test.each([
    ['proves that nothing was sent', unready, true],
    ['does not prove it', undefined, false],
  ])(
    'releases the claim only if the operation proves that nothing was sent: the operation %s',
    async (_case, proof, released) => {
      const error = proof === undefined ? unready : new AmbiguousError('timeout', 'no response');
      const failing = world.run({ call: () => Promise.reject(error), unsent: () => proof });
      await expect(failing).rejects.toBe(proof ?? error);
      expect(world.record).toMatchObject({ released });
    },
  );
});

describe('a stored response', () => {
  test('is replayed from the store and then from the process cache, and both refuse a different request', async () => {
    await world.run();
    const replays = new ProcessReplayCache();
    const other = { key: { ...key, fingerprint: fingerprintOf('other') } };
    expect(await world.run(other, { replays: new ProcessReplayCache() })).toEqual({ kind: 'payload_mismatch' });
    expect(await world.run({}, { replays })).toMatchObject({ kind: 'replay', source: 'store' });
    const never = { claim: () => Promise.reject(new Error('a warm replay made a claim')) };
    expect(await world.run(never, { replays })).toMatchObject({ kind: 'replay', source: 'cache' });
    expect(await world.run({ ...other, ...never }, { replays })).toEqual({ kind: 'payload_mismatch' });
    expect(world.reads).toBe(0);
  });

  test('is kept for the configured hours of its scope, and up to a tenth longer', async () => {
    const random = { ...countingEntropy(), fraction: () => 0.5 };
    await world.run({}, { entropy: random, retention: { payments: 24, events: 700 } });
    const { expiresAtSeconds } = world.record as CompletedRecord;
    expect(expiresAtSeconds * SECOND - world.clock.nowMs()).toBe(24 * 3_600_000 * 1.05);
  });

  test('is refused after its expiry, even if the process has cached it', async () => {
    await world.run();
    const { expiresAtSeconds } = world.record as CompletedRecord;
    world.clock.advance(expiresAtSeconds * SECOND - world.clock.nowMs());
    expect(await world.run()).toEqual({ kind: 'expired' });
    expect(await world.run()).toEqual({ kind: 'expired' });
    expect(world.calls).toHaveLength(1);
  });
});

describe('an open breaker', () => {
  const ready = () => Promise.resolve();

  test('prevents the start of a new operation', async () => {
    await expect(world.run({ breaker: open })).rejects.toBe(unready);
    expect(world.record).toBeUndefined();
  });

  test.each([
    ['waits while the system that it has called is not ready', { ...open, checkBegun: open.check }, unready.code],
    ['continues when the system that it has called is ready', { ...open, checkBegun: ready }, 'first'],
    ['continues when its breaker checks no system', open, 'first'],
  ])(
    'delays a begun operation only while the system that it has called is not ready: the operation %s',
    async (_what, breaker, expected) => {
      await world.crash();
      world.clock.advance(LEASE);
      const stale = world.record;
      const outcome = await world.run({ breaker }).catch((error: RetryableError) => error);
      expect('code' in outcome ? outcome.code : outcome.kind).toBe(expected);
      if (expected === unready.code) expect(world.record).toBe(stale);
    },
  );

  test('does not prevent the replay of a stored response', async () => {
    await world.run();
    const replays = new ProcessReplayCache();
    const breaker = { ...open, checkBegun: open.check };
    expect(await world.run({ breaker }, { replays })).toMatchObject({ kind: 'replay' });
  });

  test('does not change an error that its check throws', async () => {
    await world.run();
    const broken = new TypeError('a bug');
    const breaker = { check: () => Promise.reject(broken) };
    await expect(world.run({ breaker }, { replays: new ProcessReplayCache() })).rejects.toBe(broken);
  });
});

describe('an effect that is committed without a claim', () => {
  const commit = (write: (round: number) => Written<number, string>) =>
    commitOnce<number, string>(idempotentRunner, {
      operationId: key.operationId,
      find: async () => undefined,
      prepare: async () => 0,
      write: async (round) => write(round),
    });
  const after = (rounds: number, kind: 'again' | 'part') => (round: number) =>
    round === rounds ? { kind: 'done' as const, outcome: `after ${round}` } : { kind, prepared: round + 1 };

  test.each([
    ['again', 7],
    ['part', 19],
  ] as const)('is committed after its write returned "%s" %d times', async (kind, times) => {
    expect(await commit(after(times, kind))).toBe(`after ${times}`);
  });

  test.each([
    ['again', 8],
    ['part', 20],
  ] as const)('fails with contention after its write returned "%s" %d times', async (kind, times) => {
    await expect(commit(after(times, kind))).rejects.toMatchObject({ code: 'contention' });
  });
});

describe('a consumer’s call to an external system', () => {
  const stale: OpenConsumption = {
    status: 'failed',
    operationId: key.operationId,
    owner: ownerToken('before'),
    attempt: 1,
    claimedAtMs: 0,
    leaseExpiresAtMs: 0,
  };
  const effect = { operationId: key.operationId, owner: ownerToken('rival'), recordedAtMs: 0 };
  const complete = (records: Partial<ConsumerClaims>, call = async (_call: ExternalCall) => {}) => {
    const claims: ConsumerClaims = {
      claim: async () => ({ kind: 'claimed' }),
      complete: async () => true,
      fail: async () => {},
      ...records,
    };
    return completeOnce({ ...world.tools, records: claims }, key.operationId, call, () => effect);
  };

  test.each<[string, Consumption | undefined, string]>([
    ['is in progress', { ...stale, status: 'pending', leaseExpiresAtMs: Number.MAX_SAFE_INTEGER }, 'busy'],
    ['has failed', { ...stale, attempt: 2 }, 'busy'],
    ['no longer exists', undefined, 'busy'],
    ['is completed', { status: 'completed', record: effect }, 'done_before'],
  ])('is not made if a rival claimed it first and the rival’s claim %s', async (_case, found, kind) => {
    const calls: ExternalCall[] = [];
    const claim: ConsumerClaims['claim'] = async (_pending, replaces) => ({
      kind: 'refused',
      found: replaces === undefined ? stale : found,
    });
    const outcome = await complete({ claim }, async (call) => void calls.push(call));
    expect([outcome, calls]).toEqual([{ kind }, []]);
  });

  test('throws the vendor’s error even if the failure cannot be recorded', async () => {
    const error = new Error('the vendor is down');
    const fail = () => Promise.reject(new Error('the store is unavailable'));
    await expect(complete({ fail }, () => Promise.reject(error))).rejects.toBe(error);
  });
});
