import type { Clock } from '../kernel/world.ts';
import type { Outbox, OutboxState, WaitingChain } from './outbox.ts';

/** Copies the rows of a payment or an order from PostgreSQL to the DynamoDB tables. */
export interface Carrier {
  /**
   * Copies all rows of a chain that wait. Repeated and concurrent calls have no further effect.
   *
   * @returns `stopped` when the Ledger has another row at a position of the chain, or lacks the row before it
   * @throws RetryableError or AmbiguousError when a row may not be copied; a later call continues
   */
  carry(chainId: string): Promise<'carried' | 'stopped'>;
}

export interface CarryObserver {
  /** Called when the chain stops. After a crash, it may be called again. */
  stopped(chainId: string, sequence: number): void;
  /** Called with the error of a chain that could not be copied. A later pass tries it again. */
  failed(chainId: string, error: unknown): void;
  /** Called with the state of the outbox and the time of its reading. */
  observed(state: OutboxState, nowMs: number): void;
}

export interface CarryTools {
  readonly outbox: Outbox;
  readonly carrier: Carrier;
  readonly observer: CarryObserver;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * Copies a chain after a commit. The commit stands whether or not its copy succeeds, so an error is only reported, and
 * the next pass of the poller copies the chain.
 *
 *   owner   ── claim ── call ── commit ✓ ── carry ✗ ── response
 *   poller  ──────────────────────────────────────────────────── carry ✓
 */
export async function carryAfterCommit(
  { carrier, observer }: Pick<CarryTools, 'carrier' | 'observer'>,
  chainId: string,
): Promise<void> {
  try {
    await carrier.carry(chainId);
  } catch (error) {
    observer.failed(chainId, error);
  }
}

const CHAINS_PER_PAGE = 100;

/**
 * Copies what waits in a shard of the outbox, oldest first. A chain that fails does not delay the other chains. Two
 * workers of one shard are safe, but do the same work twice.
 *
 * @param deadlineMs time after which no further chain begins, in Unix milliseconds
 * @throws RetryableError when the outbox cannot be read
 */
export async function carryShard(tools: CarryTools, shard: number, deadlineMs: number): Promise<void> {
  const { outbox, clock } = tools;
  let after: WaitingChain | undefined;
  for (;;) {
    const chains = await outbox.waitingChains(shard, { after, limit: CHAINS_PER_PAGE });
    for (const { chainId } of chains) {
      if (clock.nowMs() >= deadlineMs) return;
      await carryAfterCommit(tools, chainId);
    }
    if (chains.length < CHAINS_PER_PAGE) return;
    after = chains.at(-1);
  }
}

/** Reports the state of the outbox, after each pass over all shards. */
export async function observeOutbox({ outbox, observer, clock }: CarryTools): Promise<void> {
  const nowMs = clock.nowMs();
  observer.observed(await outbox.state(), nowMs);
}
