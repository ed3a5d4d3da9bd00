import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { Hono } from 'hono';
import { admitJobs, createOnce, type JobVariables, type OnceVariables } from '../../lambdas/services/once.ts';

/*
 * The membership service of a shop, as a team would write it. A commission is locked while the payment can be refunded.
 * Payonce's scheduler calls this service when locks may have expired. The service then credits each expired lock to its
 * member, once.
 *
 * Its table has the string key `pk`:
 *
 *   LOCK#…        { member, amount, dueAtMs, state: 'locked' | 'released' }, in the index `by-state` (state, dueAtMs)
 *   CREDIT#LOCK#… { member, amount }
 *   TOTAL         { runs, released }
 *   OP#…          the records of the engine
 */

export interface MembershipOptions {
  readonly table: string;
  readonly client: DynamoDBDocumentClient;
  /** The values of the secret that the deployment created for the target `membership`. */
  readonly jobSecrets: () => Promise<readonly string[]>;
  readonly nowMs: () => number;
  /**
   * Duration of a lease in seconds.
   * @default the engine's duration
   */
  readonly leaseSeconds?: number;
}

interface Lock {
  readonly pk: string;
  readonly member: string;
  readonly amount: number;
}

/** Maximum number of locks in one transaction. Each needs two writes. */
const LOCKS_AT_ONCE = 20;
/** Maximum number of transactions per run. The next run continues. */
const MAX_PARTS = 50;

export function membership({ table, client, jobSecrets, nowMs, leaseSeconds }: MembershipOptions) {
  const once = createOnce({
    table,
    client,
    retentionHours: { 'release-expired-locks': 30 * 24 },
    ...(leaseSeconds === undefined ? {} : { leaseSeconds }),
  });
  const app = new Hono<{ Variables: OnceVariables & JobVariables }>();

  app.get('/health', (c) => c.json({ status: 'ok' }));

  app.post(
    '/v1/admin/commission-locks/release-expired',
    admitJobs({ target: 'membership', scope: 'membership:admin', secrets: jobSecrets }),
    once.idempotent({ scope: 'release-expired-locks' }),
    async (c) => {
      const effect = c.get('effect');
      let released = 0;
      for (let part = 0; part < MAX_PARTS; part += 1) {
        const locks = await expiredLocks();
        if (locks.length === 0) break;
        // The transaction also renews the claim, so it releases nothing if another owner has taken over. Each
        // transaction counts its own locks, because the next attempt after a crash finds only the remaining locks.
        if (await effect.writeNow(...locks.flatMap(release), count('released', locks.length))) released += locks.length;
      }
      // Committed together with the response.
      effect.write(count('runs', 1));
      return c.json({ object: 'release', run: c.get('job').runId, released });
    },
  );

  /** The index may be outdated, so each write checks the state of the lock. */
  async function expiredLocks(): Promise<readonly Lock[]> {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        IndexName: 'by-state',
        KeyConditionExpression: '#state = :locked AND dueAtMs <= :now',
        ExpressionAttributeNames: { '#state': 'state' },
        ExpressionAttributeValues: { ':locked': 'locked', ':now': nowMs() },
        Limit: LOCKS_AT_ONCE,
      }),
    );
    return Items as Lock[];
  }

  function release({ pk, member, amount }: Lock) {
    return [
      {
        Update: {
          TableName: table,
          Key: { pk },
          UpdateExpression: 'SET #state = :released',
          ConditionExpression: '#state = :locked',
          ExpressionAttributeNames: { '#state': 'state' },
          ExpressionAttributeValues: { ':released': 'released', ':locked': 'locked' },
        },
      },
      credit(`CREDIT#${pk}`, member, amount),
    ];
  }

  /**
   * Each credit gets its own row: two locks in a transaction can belong to one member, but a transaction may write a
   * row only once.
   */
  function credit(pk: string, member: string, amount: number) {
    return { Put: { TableName: table, Item: { pk, member, amount }, ConditionExpression: 'attribute_not_exists(pk)' } };
  }

  function count(name: 'runs' | 'released', more: number) {
    return {
      Update: {
        TableName: table,
        Key: { pk: 'TOTAL' },
        UpdateExpression: 'ADD #name :more',
        ExpressionAttributeNames: { '#name': name },
        ExpressionAttributeValues: { ':more': more },
      },
    };
  }

  return app;
}
