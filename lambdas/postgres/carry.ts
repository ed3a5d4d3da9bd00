import type { Clock } from '../kernel/world.ts';
import { carriedUntilMs } from './carried-until.ts';
import type { Outbox, OutboxState, WaitingChain } from './outbox.ts';

/** Copies the rows of a payment or an order from PostgreSQL to the DynamoDB tables. */
export interface Carrier {
  /**
   * Copies all waiting rows of a chain. Repeated and concurrent calls have no further effect.
   *
   * @returns `stopped` when the Ledger has a different row at a position of the chain, or lacks the row before it, or
   * when a row can never be copied. The copies of erased personal data are deleted nevertheless.
   * @throws RetryableError or AmbiguousError if some rows may not have been copied; call again to continue
   */
  carry(chainId: string): Promise<'carried' | 'stopped'>;
}

export interface CarryObserver {
  /** May be called again after a crash. */
  stopped(chainId: string, sequence: number): void;
  /** Called with the error of a chain that could not be copied. A later pass retries it, unless the chain is stopped. */
  failed(chainId: string, error: unknown): void;
  /** Called with the state of the outbox and the time at which its reading began, in Unix milliseconds. */
  observed(state: OutboxState, nowMs: number): void;
}

export interface CarryTools {
  readonly outbox: Pick<Outbox, 'waitingChains' | 'state'>;
  readonly carrier: Carrier;
  readonly observer: CarryObserver;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * Copies a chain. A commit is valid whether or not its copy succeeds. Therefore, an error is only reported, and the
 * next pass of the poller copies the chain.
 *
 *   owner   ── claim ── call ── commit ✓ ── carry ✗ ── response
 *   poller  ──────────────────────────────────────────────────── carry ✓
 */
export async function carryOrReport(
  { carrier, observer }: Pick<CarryTools, 'carrier' | 'observer'>,
  chainId: string,
): Promise<'carried' | 'stopped' | 'failed'> {
  try {
    return await carrier.carry(chainId);
  } catch (error) {
    observer.failed(chainId, error);
    return 'failed';
  }
}

const CHAINS_PER_PAGE = 100;

export interface CarriedCounts {
  readonly carried: number;
  /** Chains that an operator must examine. */
  readonly stopped: number;
  /** Chains whose copy failed and was reported. A later pass retries them. */
  readonly failed: number;
  /** Chains of the last page whose copying did not begin before the deadline. */
  readonly left: number;
}

/**
 * A chain that fails does not delay the other chains. Two workers may safely copy the same shard concurrently, but they
 * then do the same work twice.
 *
 * @param deadlineMs time after which the copying of another chain does not start, in Unix milliseconds
 * @throws RetryableError when the outbox cannot be read
 */
export async function carryShard(tools: CarryTools, shard: number, deadlineMs: number): Promise<CarriedCounts> {
  const { outbox, clock } = tools;
  const counts = { carried: 0, stopped: 0, failed: 0, left: 0 };
  let after: WaitingChain | undefined;
  for (;;) {
    const chains = await outbox.waitingChains(shard, { after, limit: CHAINS_PER_PAGE });
    for (const [index, { chainId }] of chains.entries()) {
      if (clock.nowMs() >= deadlineMs) return { ...counts, left: chains.length - index };
      counts[await carryOrReport(tools, chainId)] += 1;
    }
    if (chains.length < CHAINS_PER_PAGE) return counts;
    after = chains.at(-1);
  }
}

/**
 * Called after each pass over all shards.
 *
 * @returns the time before which the copies are complete, except those of stopped chains, in Unix milliseconds
 * @throws RetryableError when the outbox cannot be read
 */
export async function observeOutbox({ outbox, observer, clock }: CarryTools): Promise<number> {
  const beforeReadMs = clock.nowMs();
  const state = await outbox.state();
  observer.observed(state, beforeReadMs);
  return carriedUntilMs({ oldestMs: state.oldestMs, beforeReadMs });
}
