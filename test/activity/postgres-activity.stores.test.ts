import type { ActivityDraft } from '../../lambdas/activity/domain/activity.ts';
import { PostgresActivity } from '../../lambdas/activity/store/postgres-activity.ts';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { rounds } from '../../lambdas/once/use/rounds.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeActivityLog } from './activity-log-suite.ts';

let recorded = 0;

describeOnPostgres((toolsOf, database) => {
  describeActivityLog('postgres', async () => {
    const effects = new PostgresEffects(toolsOf(), new PostgresStore(toolsOf()));
    return {
      log: new PostgresActivity(toolsOf()),
      record: (activity: ActivityDraft) => {
        recorded += 1;
        const operationId = callbackOperation(systemDigest, 'memory', `activity-${recorded}`);
        const record = { operationId, owner: ownerToken('owner-a'), recordedAtMs: 0 };
        return rounds('the activity log', async () => {
          const { kind } = await effects.recordEffect({ record, transitions: [], activity });
          return kind === 'transition_exists' ? 'again' : kind;
        });
      },
      forge: (chain, sequence) =>
        database().owner.run(
          sql(
            `UPDATE activity SET body = replace(body::text, 'correction.made', 'decision.made')::json
              WHERE chain = $1 AND sequence = $2`,
            chain,
            sequence,
          ),
        ),
    };
  });
});
