import { beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbSendingClaims } from '../../lambdas/outbound/store/dynamodb-sending-claims.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { clientOf } from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { claimThenSend, type EmailWorld, emailStory } from './email-story.ts';

let table: string;
let histories = 0;
beforeAll(async () => {
  ({ registry: table } = await createTables('letters'));
});

/** Every SDK call can fail. */
function world(): EmailWorld {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const { requestHandler } = dynamoDbClient().config;
  const clock = new SimulatedClock();
  const entropy = countingEntropy();
  histories += 1;
  return {
    clock,
    key: `letter-${histories}`,
    claimsFor: (actor) => {
      const client = clientOf(actor, { endpoint, region, credentials: CREDENTIALS, requestHandler });
      return new DynamoDbSendingClaims(documentClient(client), table, { clock, entropy }, 'postmark');
    },
  };
}

describe('an e-mail with its claim in DynamoDB', () => {
  // Rivals and pairs of faults would take minutes here. The in-memory store, which passes the same suite, covers them.
  test('is sent once despite every single fault', async () => {
    const found = await surveyFaults(emailStory(world, claimThenSend), { faults: 1, races: [{}] });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(15);
  });
});
