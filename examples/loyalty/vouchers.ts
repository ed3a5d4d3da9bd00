import type { Pool } from 'pg';
import * as z from 'zod';
import { AmbiguousError, createVendor, RetryableError } from '../../lambdas/services/vendor.ts';

/*
 * Buys the vouchers that members ordered with their points, at a vendor that does not recognize repeated requests. The
 * order is written in the transaction of the redemption, and its id is the key of the purchase. If the vendor's
 * response is lost, the next attempt first looks up this key at the vendor.
 */

const withId = z.object({ id: z.string() });
const found = z.object({ data: z.array(withId) });
const TIME_MS = 120_000;
/**
 * The vendor ends a request within this time, even if its connection is lost. Only after this time does a look-up that
 * finds nothing prove that nothing was bought.
 */
const LAG_MS = 30_000;

interface Options {
  readonly pool: Pool;
  readonly url: string;
  readonly waitsMs?: readonly number[];
  readonly maxLagMs?: number;
}

export function vouchers({ pool, url, waitsMs, maxLagMs = LAG_MS }: Options) {
  const vendor = createVendor({
    name: 'vouchers',
    postgres: pool,
    probe: (limit) => vendor.request({ method: 'GET', url: `${url}/health` }, limit),
    // No separate dead letter is stored. To retry, an operator sets the state of the order to `ordered` again.
    deadLetter: async ({ payload, reason }) => {
      const { id } = withId.parse(payload);
      await pool.query("UPDATE voucher SET state = 'dead', reason = $2 WHERE id = $1 AND state = 'ordered'", [
        id,
        reason,
      ]);
    },
    ...(waitsMs === undefined ? {} : { waitsMs }),
  });

  async function buy(id: string, points: number): Promise<void> {
    const outcome = await vendor.sendOnce({
      key: id,
      operation: 'voucher.buy',
      payload: { id },
      deadlineMs: Date.now() + TIME_MS,
      withinCall: 'by_lookup',
      givenUp: 'dead_letter',
      send: async (limit) => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ reference: id, points });
        const answer = await vendor.request({ method: 'POST', url: `${url}/vouchers`, headers, body }, limit);
        return { kind: 'sent', vendorId: withId.parse(JSON.parse(answer.text)).id };
      },
      lookUp: {
        maxLagMs,
        isStrong: true,
        find: async (limit) => {
          const answer = await vendor.request({ method: 'GET', url: `${url}/vouchers?reference=${id}` }, limit);
          const [voucher] = found.parse(JSON.parse(answer.text)).data;
          return voucher === undefined
            ? { kind: 'absent' }
            : { kind: 'found', answer: { kind: 'sent', vendorId: voucher.id } };
        },
      },
    });
    if (outcome.kind !== 'sent') return;
    await pool.query("UPDATE voucher SET state = 'bought', vendor_id = $2 WHERE id = $1", [id, outcome.vendorId]);
  }

  /** Buys the ordered vouchers. Call it every minute, in any number of processes. */
  return async function buyOrdered(): Promise<void> {
    const ordered = "SELECT id, points FROM voucher WHERE state = 'ordered' ORDER BY id LIMIT 100";
    const { rows } = await pool.query<{ id: string; points: number }>(ordered);
    for (const { id, points } of rows)
      await buy(id, points).catch((error: unknown) => {
        // Another process is sending, or the outcome is not known yet: the next call continues. Any other error must not
        // stop the orders that follow.
        if (!(error instanceof RetryableError || error instanceof AmbiguousError)) console.error(error);
      });
  };
}
