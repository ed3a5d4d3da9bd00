import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { type PaidEvent, sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { configuredParties } from '../../lambdas/orders/parties/configured-parties.ts';
import type { SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { chainOfPaid, eventsOfPaid, ledgerOf } from '../payments/paid-chain.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const METADATA = { receipt_email: 'ada@example.com' };

/** A sandbox serves test mode and simulates the external services other than the processor of live mode. */
test.each([
  ['test', 'sent by the sandbox', ['/email'], []],
  ['live', 'reported and not sent, because the sandbox cannot reach mailboxes', [], ['no_mailer']],
] as const)('a receipt in %s mode is %s', async (mode, _what, sent, reported) => {
  const world = new World({ mode });
  const asked: string[] = [];
  const send: SendRequest = async ({ method, url }) => {
    if (method === 'POST') asked.push(new URL(url).pathname);
    const text = JSON.stringify({ ErrorCode: 0, Message: 'OK', MessageID: 'mail-1' });
    return { status: 200, retryAfter: null, headers: new Headers(), text };
  };
  const manager = {
    send: async () => ({ SecretString: JSON.stringify({ current: 'sandbox-secret-0123456789abcdef' }) }),
  };
  const { mailer, ordersOf } = await configuredParties(
    {
      shopUrl: 'https://sandbox.example',
      secrets: { sandbox: 'sandbox-access' },
      postmark: { url: 'https://sandbox.example', from: 'shop@payonce.example' },
      emailsPerRecipient: 20,
      registryTable: TABLES.registry,
      deadLettersQueueUrl: 'https://queue.example',
      delayedCallsQueueUrl: 'https://queue.example/delayed',
    },
    {
      ...world.tools,
      documents: world.store.database.client,
      sqs: (settings: SQSClientConfig = {}) => new SQSClient({ region: 'eu-west-1', ...settings }),
      secretsManager: async () => manager as unknown as SecretsManagerClient,
      digest: systemDigest,
      instruments: systemInstruments,
      send,
    },
  );
  const [event] = eventsOfPaid('receipt', METADATA);
  const unsent: string[] = [];
  const { records } = world.tools;
  const payments = ledgerOf(chainOfPaid('receipt', METADATA)) as PaymentStore;
  const tools = {
    ...world.basics,
    payments,
    records,
    mailer,
    ordersOf,
    unsent: (_: string, why: string) => void unsent.push(why),
  };
  await sendReceipt(tools, { ...event, mode } as PaidEvent);
  expect([asked, unsent]).toEqual([sent, reported]);
});
