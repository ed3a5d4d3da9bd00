import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { restoreTables } from '../../cli/restoring.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';

const TO = 1_772_366_400;

/** The local AWS ignores `RestoreDateTime` and copies the current rows. */
describe('a restore of tables', () => {
  const client = dynamoDbClient();
  let tables: LocalAws['tables'];
  const tools = { client, wait: async () => undefined, report: () => undefined };
  const restore = () => restoreTables(tools, { tables, only: ['idempotency', 'ledger', 'registry'], toSeconds: TO });

  beforeAll(async () => {
    tables = await createTables('restore-Ledger');
    await client.send(new PutItemCommand({ TableName: tables.ledger, Item: { pk: { S: 'PAY#1' }, sk: { S: 'T#1' } } }));
  });

  test('restores their rows, and settings that a DynamoDB restore omits: Stream, time to live and point-in-time recovery', async () => {
    const { idempotency = '', ledger = '', ledgerStream, registry = '', views } = await restore();
    expect([idempotency, ledger, registry]).toEqual([
      `${tables.idempotency}-r${TO - 60}`,
      `${tables.ledger}-r${TO}`,
      `${tables.registry}-r${TO + 60}`,
    ]);
    expect(views).toBeUndefined();
    expect((await client.send(new ScanCommand({ TableName: ledger }))).Count).toBe(1);
    const { Table: restored } = await client.send(new DescribeTableCommand({ TableName: ledger }));
    expect(restored).toMatchObject({
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      LatestStreamArn: ledgerStream,
    });
    expect(ledgerStream).toContain(`:table/${ledger}/stream/`);
    for (const TableName of [idempotency, registry]) {
      const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
      expect(TimeToLiveDescription).toMatchObject({ TimeToLiveStatus: 'ENABLED', AttributeName: 'expiresAt' });
    }
    for (const TableName of [idempotency, ledger, registry]) {
      const { ContinuousBackupsDescription } = await client.send(new DescribeContinuousBackupsCommand({ TableName }));
      expect(ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus).toBe('ENABLED');
    }
  });

  test('restores nothing when it is repeated', async () => {
    expect(await restore()).toEqual(await restore());
  });

  test('is refused if the table in use is already the copy from the requested time', async () => {
    const adopted = { ...tables, registry: `${tables.registry}-r${TO + 60}` };
    await expect(restoreTables(tools, { tables: adopted, only: ['registry'], toSeconds: TO })).rejects.toThrow(
      `The table in use, ${adopted.registry}, was itself restored to the requested time.`,
    );
  });

  test('fails for a deleted table, and names the system backup to restore', async () => {
    const lost = { ...tables, registry: 'never-was' };
    await expect(restoreTables(tools, { tables: lost, only: ['registry'], toSeconds: TO })).rejects.toThrow(
      `There is no table never-was: restore its system backup as never-was-r${TO + 60}`,
    );
  });
});
