import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeLedgerReader } from './ledger-reader-suite.ts';
import { describeViewStore } from './view-store-suite.ts';

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
    reader: new ViewLedgerReader(views()),
    write: async (transitions) => {
      written.push(...transitions);
      for (const event of eventsOf(systemDigest, transitions))
        await projectEvent({ runner: idempotentRunner, views: views() }, event);
    },
  };
});
