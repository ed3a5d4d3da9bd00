import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbViews } from '../../lambdas/adapters/dynamodb/dynamodb-views.ts';
import { MemoryLedgerReader } from '../../lambdas/adapters/memory/memory-ledger-reader.ts';
import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import { projectEvent } from '../../lambdas/app/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/app/view-ledger-reader.ts';
import type { Transition } from '../../lambdas/core/transition.ts';
import { describeLedgerReader } from '../contract-suites/ledger-reader-suite.ts';
import { describeViewStore } from '../contract-suites/view-store-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { eventsOf } from '../support/event-fixtures.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

let table: string;
beforeAll(async () => {
  ({ views: table } = await createTables('views'));
});

const views = () =>
  new DynamoDbViews(documentClient(dynamoDbClient()), table, {
    clock: new SimulatedClock(),
    entropy: countingEntropy(),
  });

describeViewStore('dynamodb', async () => views());

describeLedgerReader('the views on dynamodb', async () => {
  const written: Transition[] = [];
  return {
    reader: new ViewLedgerReader(views(), new MemoryLedgerReader(() => written)),
    write: async (transitions) => {
      written.push(...transitions);
      for (const event of eventsOf(systemDigest, transitions)) await projectEvent({ views: views() }, event);
    },
  };
});
