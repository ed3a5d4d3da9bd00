import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbSendingClaims } from '../../lambdas/outbound/store/dynamodb-sending-claims.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { timedOut } from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeSendingClaims } from './sending-claims-suite.ts';

const LEASE_MS = 25_000;

let table: string;
beforeAll(async () => {
  ({ registry: table } = await createTables('sending'));
});

const claimsOf = (clock: SimulatedClock, vendor = 'postmark', client: DynamoDBClient = dynamoDbClient()) =>
  new DynamoDbSendingClaims(documentClient(client), table, { clock, entropy: countingEntropy() }, vendor);

describeSendingClaims('DynamoDB', async (clock) => claimsOf(clock));

/** Makes every call, but loses the response to the first attempt of each call. */
function clientLosingAnswers(): DynamoDBClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const client = new DynamoDBClient({ endpoint, region, credentials: CREDENTIALS, maxAttempts: 1 });
  const lost = new Set<string>();
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const answer = await next(args);
      const input = JSON.stringify([context.commandName, args.input]);
      if (lost.has(input)) return answer;
      lost.add(input);
      throw timedOut();
    },
    { step: 'initialize', priority: 'high' },
  );
  return client;
}

describe('claims in DynamoDB', () => {
  let clock: SimulatedClock;
  let key: string;

  beforeEach(() => {
    clock = new SimulatedClock();
    key = `letter-${crypto.randomUUID()}`;
  });

  test('are separate for two vendors', async () => {
    await claimsOf(clock).sent(key, 'vendor-1');
    expect(await claimsOf(clock, 'bigcommerce').begin(key, LEASE_MS)).toMatchObject({ kind: 'ours' });
  });

  test('are each begun, taken over, sent again and released once even if every response is lost', async () => {
    const claims = claimsOf(clock, 'postmark', clientLosingAnswers());
    expect(await claims.begin(key, LEASE_MS)).toMatchObject({ kind: 'ours' });
    clock.advance(LEASE_MS);
    const taken = await claims.begin(key, LEASE_MS);
    expect(taken).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs: clock.nowMs() });
    if (taken.kind !== 'sending_before') return;
    expect(await claims.sendAgain({ key, owner: taken.owner })).toBe(true);
    clock.advance(1_000);
    await claims.release({ key, owner: taken.owner }, 'unknown');
    const third = await claims.begin(key, LEASE_MS);
    expect(third).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs: clock.nowMs() });
    if (third.kind !== 'sending_before') return;
    await claims.release({ key, owner: third.owner }, 'nothing_sent');
    expect(await claims.begin(key, LEASE_MS)).toMatchObject({ kind: 'ours' });
    await claims.sent(key, 'vendor-1');
    expect(await claims.begin(key, LEASE_MS)).toEqual({ kind: 'sent', vendorId: 'vendor-1' });
  });
});
