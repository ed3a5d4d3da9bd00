import { Hono } from 'hono';
import type { Pool } from 'pg';
import * as z from 'zod';
import { admitJobs, createOnce, type JobVariables } from '../../lambdas/services/once.ts';
import { createEventHandler, EventNames } from '../../package/events.ts';

/*
 * The loyalty service of a shop, as a team would write it. Members collect a point for each whole unit of the currency
 * that they pay, spend points, and lose them after a year without activity. Each request, event and job run changes its
 * rows in the same transaction as the record of its key, so it takes effect once.
 */

/** The tables of the service. `payonce db migrate --service` creates the table of the records. */
export const TABLES = `
CREATE TABLE IF NOT EXISTS member (
  id text PRIMARY KEY, points integer NOT NULL CHECK (points >= 0), active_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS voucher (
  id text PRIMARY KEY, member text NOT NULL, points integer NOT NULL, state text NOT NULL, reason text, vendor_id text);`;

export interface LoyaltyOptions {
  readonly pool: Pool;
  /** The values of the secret that the deployment created for the target `loyalty`. */
  readonly jobSecrets: () => Promise<readonly string[]>;
}

const redemption = z.object({ member: z.string(), points: z.int().min(1) });

export function loyalty({ pool, jobSecrets }: LoyaltyOptions) {
  const once = createOnce({ postgres: pool, retentionHours: { 'expire-points': 30 * 24 } });
  const app = new Hono<{ Variables: JobVariables }>();

  app.post(
    '/v1/redemptions',
    once.idempotent({ scope: 'redeem-points' }, async (c, { tx, operationId }) => {
      const { member, points } = redemption.parse(await c.req.json());
      const { rows } = await tx.query<{ points: number }>(
        'UPDATE member SET points = points - $2, active_at = now() WHERE id = $1 AND points >= $2 RETURNING points',
        [member, points],
      );
      if (rows[0] === undefined) return c.json({ code: 'points_insufficient' }, 409);
      await tx.query(`INSERT INTO voucher VALUES ($1, $2, $3, 'ordered')`, [operationId, member, points]);
      return c.json({ object: 'redemption', member, points, points_left: rows[0].points }, 201);
    }),
  );

  app.post(
    '/v1/admin/points/expire',
    admitJobs({ target: 'loyalty', scope: 'loyalty:admin', secrets: jobSecrets }),
    once.idempotent<{ Variables: JobVariables }>({ scope: 'expire-points' }, async (c, { tx }) => {
      const { rowCount } = await tx.query(
        `UPDATE member SET points = 0 WHERE points > 0 AND active_at < now() - interval '1 year'`,
      );
      return c.json({ object: 'expiry', run: c.get('job').runId, members: rowCount });
    }),
  );

  /** The handler of a queue with the event `payment.completed`. */
  const collect = createEventHandler({
    postgres: pool,
    events: [EventNames.paymentCompleted],
    handler: 'loyalty-points',
    key: ({ payment }) => payment.id,
    handle: async ({ payment }, { tx }) => {
      const { member } = payment.metadata;
      if (member === undefined) return;
      await tx.query(
        `INSERT INTO member VALUES ($1, $2, now()) ON CONFLICT (id)
         DO UPDATE SET points = member.points + excluded.points, active_at = excluded.active_at`,
        [member, Math.floor(payment.amount / 100)],
      );
    },
  });

  return { app, collect, deleteExpired: once.deleteExpired };
}
