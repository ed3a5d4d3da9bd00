import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { Environment } from '../../kernel/contract/environment.ts';
import { MAX_WAITS, type RateLimit } from '../../kernel/contract/limits.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Platform } from '../../kernel/platform/system-platform.ts';
import { jsonOf, readVariables } from '../../kernel/platform/variables.ts';
import {
  type Bucket,
  type BucketState,
  type BucketStore,
  batchOf,
  deployedLimitOf,
  type LimitKind,
  TenantLimits,
  type TokenGrant,
  type TokenRequest,
} from '../limits.ts';
import type { Owner } from '../owners.ts';

/** Maximum number of attempts while rivals change the same row. */
const MAX_ATTEMPTS = 5;
/**
 * Tolerance in microseconds. If a bucket's `fullAtUs` is further in the future than a full refill plus this tolerance,
 * the bucket was written by a process with a wrong clock, or under a higher limit.
 */
const FAR_AHEAD_US = 10_000_000;

const positive = z.int().min(1);
const bucketItem = /* @__PURE__ */ z.lazy(() =>
  z.object({
    fullAtUs: z.int().min(0).default(0),
    rate: positive.optional(),
    burst: positive.optional(),
  }),
);
const limitsSetting = /* @__PURE__ */ z.object({
  [Environment.tenantLimit]: jsonOf(z.object({ rate: positive, burst: positive })),
});

export function deployedLimit({ variables }: Pick<Platform, 'variables'>): RateLimit {
  return readVariables(limitsSetting, variables)[Environment.tenantLimit];
}

export function tenantLimits(platform: Platform, registryTable: string): TenantLimits {
  const { documents, clock } = platform;
  return new TenantLimits(new DynamoDbLimits(documents, registryTable, deployedLimit(platform)), clock);
}

export function limitRowKey({ tenantId, mode }: Owner, name: LimitKind | 'waits'): Record<string, string> {
  return {
    [KeyAttribute.partition]: `${RegistryRow.limit}${tenantId}#${mode}#${name}`,
    [KeyAttribute.sort]: 'LIMIT',
  };
}

/** Each batch of tokens causes one write to the row's partition. */
export class DynamoDbLimits implements BucketStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #default: RateLimit;

  constructor(client: DynamoDBDocumentClient, registryTable: string, limit: RateLimit) {
    this.#client = client;
    this.#table = registryTable;
    this.#default = limit;
  }

  /**
   * The row contains the bucket's `fullAtUs`, which moves only forward, even if the processes' clocks differ, except
   * that a value too far in the future (`FAR_AHEAD_US`) is set back:
   *
   *   used tokens  remaining burst
   *   ├──────────┬────────────────┤
   *   now        fullAtUs         now + burst, the latest `fullAtUs` that a write may set
   *
   * Concurrent writers also move `fullAtUs`, but not beyond the same limit, so several writes can succeed. This write
   * fails only if an operator changes the limit, or if another write moves `fullAtUs` past the start of the request,
   * past half of the burst, or past the whole burst. Because `fullAtUs` moves only forward, the last attempt has read a
   * bucket that is used up.
   */
  async take(bucket: Bucket, asked: TokenRequest): Promise<TokenGrant> {
    const startMs = asked.clock.nowMs();
    let state = asked.known ?? { fullAtUs: 0 };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const times = { startMs, nowMs: asked.clock.nowMs() };
      const limit = state.own ?? deployedLimitOf(this.#default, bucket.kind);
      // From the third attempt on, take a single token, which is most likely still available.
      const plan = planOf(state, limit, attempt > 1 ? { ample: 1, scarce: 1 } : asked, times.nowMs);
      // The cached state may be outdated, so refuse a request only after reading the row.
      const isFresh = attempt > 0;
      if (plan.kind === 'refused' && isFresh) return { ...plan, limit, state };
      const step = plan.kind === 'refused' ? { ...ONE_TOKEN, latestUs: latestOf(limit, times.nowMs) } : plan;
      const written = await this.#write(bucket, state, limit, step, times);
      if (written.kind === 'refused') {
        state = written.state;
        continue;
      }
      const after = { ...state, fullAtUs: written.fullAtUs };
      if (step.kind === 'set_back') state = after;
      else return { kind: 'taken', tokens: step.tokens, isAmple: step.isAmple, limit, state: after };
    }
    // All attempts have failed, because rivals take each token as soon as it becomes available.
    const limit = state.own ?? deployedLimitOf(this.#default, bucket.kind);
    return { kind: 'refused', retryAfterMs: Math.ceil(tokenUsOf(limit) / 1000), limit, state };
  }

  async #write(
    bucket: Bucket,
    state: BucketState,
    limit: RateLimit,
    step: Exclude<Plan, { kind: 'refused' }>,
    times: Times,
  ): Promise<{ kind: 'applied'; fullAtUs: number } | { kind: 'refused'; state: BucketState }> {
    const change = changeOf(state, limit, step, times);
    // If an operator has changed the limit in the meantime, the condition fails, and the next attempt uses the new
    // limit.
    const isSameLimit = state.own === undefined ? 'attribute_not_exists(#rate)' : '#rate = :rate AND #burst = :burst';
    const own = state.own === undefined ? {} : { ':rate': state.own.rate, ':burst': state.own.burst };
    const names = state.own === undefined ? { '#rate': 'rate' } : { '#rate': 'rate', '#burst': 'burst' };
    const written = await this.#update({
      Key: limitRowKey(bucket, bucket.kind),
      UpdateExpression: change.update,
      ConditionExpression: `(${change.condition}) AND ${isSameLimit}`,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: { ...change.values, ...own },
      ReturnValues: 'UPDATED_NEW',
    });
    if (written.kind === 'applied') return { kind: 'applied', fullAtUs: Number(written.item['fullAtUs']) };
    const { fullAtUs, rate, burst } = parseLimit(written.item);
    const found = rate === undefined || burst === undefined ? {} : { own: { rate, burst } };
    return { kind: 'refused', state: { fullAtUs, ...found } };
  }

  /** Stores each taken slot as an attribute of the tenant's row, with its expiry time as the value. */
  async takeWaitingPlace(owner: Owner, untilMs: number, nowMs: number): Promise<(() => Promise<void>) | undefined> {
    const Key = limitRowKey(owner, 'waits');
    let place = Math.floor(nowMs) % MAX_WAITS;
    // Each failure of this write means that another request has taken a slot.
    for (let attempt = 0; attempt <= MAX_WAITS; attempt += 1) {
      const names = { '#place': `place${place}` };
      const taken = await this.#update({
        Key,
        UpdateExpression: 'SET #place = :until',
        ConditionExpression: 'attribute_not_exists(#place) OR #place <= :now',
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: { ':until': untilMs, ':now': nowMs },
      });
      if (taken.kind === 'applied') {
        return async () => {
          await this.#update({
            Key,
            UpdateExpression: 'REMOVE #place',
            // If the slot has expired, another request may have taken it.
            ConditionExpression: '#place = :until',
            ExpressionAttributeNames: names,
            ExpressionAttributeValues: { ':until': untilMs },
          });
        };
      }
      const free = Array.from({ length: MAX_WAITS }, (_, each) => each).find(
        (each) => Number(taken.item[`place${each}`] ?? 0) <= nowMs,
      );
      if (free === undefined) return undefined;
      place = free;
    }
    return undefined;
  }

  /** Updates the row in a single attempt, without retries, because a request must not wait for its rate-limit check. */
  async #update(
    update: Omit<UpdateCommandInput, 'TableName'>,
  ): Promise<{ readonly kind: 'applied' | 'refused'; readonly item: Readonly<Record<string, unknown>> }> {
    try {
      const { Attributes = {} } = await this.#client.send(
        new UpdateCommand({ TableName: this.#table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD', ...update }),
      );
      return { kind: 'applied', item: Attributes };
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) {
        return { kind: 'refused', item: error.Item === undefined ? {} : unmarshall(error.Item) };
      }
      throw new RetryableError('limits_unavailable', 'the rate limit store did not respond', { cause: error });
    }
  }
}

export function parseLimit(item: Readonly<Record<string, unknown>>) {
  return bucketItem.parse(item);
}

/** The start of the request and the time of the current attempt, in Unix milliseconds. */
interface Times {
  readonly startMs: number;
  readonly nowMs: number;
}

type Plan =
  | { readonly kind: 'take'; readonly tokens: number; readonly isAmple: boolean; readonly latestUs: number }
  | { readonly kind: 'set_back' }
  | { readonly kind: 'refused'; readonly retryAfterMs: number };

const ONE_TOKEN = { kind: 'take', tokens: 1, isAmple: false } as const;

function planOf(
  { fullAtUs }: BucketState,
  limit: RateLimit,
  { ample, scarce }: Pick<TokenRequest, 'ample' | 'scarce'>,
  nowMs: number,
): Plan {
  const nowUs = nowMs * 1000;
  const tokenUs = tokenUsOf(limit);
  const latestUs = latestOf(limit, nowMs);
  if (fullAtUs > latestUs + FAR_AHEAD_US) return { kind: 'set_back' };
  const fromUs = Math.max(fullAtUs, nowUs);
  const many = batchOf(ample, limit);
  const halfUs = nowUs + Math.floor((limit.burst * tokenUs) / 2);
  if (fromUs + many * tokenUs <= halfUs) return { kind: 'take', tokens: many, isAmple: true, latestUs: halfUs };
  const left = Math.floor((latestUs - fromUs) / tokenUs);
  if (left >= 1) return { ...ONE_TOKEN, tokens: Math.min(batchOf(scarce, limit), left), latestUs };
  return { kind: 'refused', retryAfterMs: Math.max(1, Math.ceil((fromUs + tokenUs - latestUs) / 1000)) };
}

function changeOf({ fullAtUs }: BucketState, limit: RateLimit, step: Exclude<Plan, { kind: 'refused' }>, times: Times) {
  const nowUs = times.nowMs * 1000;
  const startUs = times.startMs * 1000;
  if (step.kind === 'set_back') {
    const latest = nowUs + limit.burst * tokenUsOf(limit);
    const values = { ':next': latest, ':seen': fullAtUs };
    return { update: 'SET fullAtUs = :next', condition: 'fullAtUs = :seen', values };
  }
  const costUs = step.tokens * tokenUsOf(limit);
  if (fullAtUs < startUs) {
    const condition = 'attribute_not_exists(fullAtUs) OR fullAtUs < :start';
    return { update: 'SET fullAtUs = :next', condition, values: { ':next': nowUs + costUs, ':start': startUs } };
  }
  return {
    update: 'ADD fullAtUs :cost',
    condition: 'fullAtUs BETWEEN :start AND :last',
    values: { ':cost': costUs, ':start': startUs, ':last': step.latestUs - costUs },
  };
}

/** Returns the time that the rate takes to produce one token, in microseconds, rounded up. */
function tokenUsOf({ rate }: RateLimit): number {
  return Math.ceil(1_000_000 / rate);
}

function latestOf(limit: RateLimit, nowMs: number): number {
  return nowMs * 1000 + limit.burst * tokenUsOf(limit);
}
