import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { describeActivityLog } from './activity-log-suite.ts';

describeActivityLog('in-memory', async () => {
  const { activity: log, database } = new Stores();
  return {
    log,
    record: (draft) => log.record(draft),
    forge: (chain, sequence) =>
      database.client.send(
        new UpdateCommand({
          TableName: TABLES.ledger,
          Key: { pk: `${LedgerRow.activity}${chain}`, sk: `A#${String(sequence).padStart(9, '0')}` },
          UpdateExpression: 'SET #action = :action',
          ExpressionAttributeNames: { '#action': 'action' },
          ExpressionAttributeValues: { ':action': 'decision.made' },
        }),
      ),
  };
});
