import { createServer } from 'node:http';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { EventBridgePublisher } from '../../lambdas/events/store/eventbridge-publisher.ts';
import { readStreamRecord } from '../../lambdas/events/store/stream-records.ts';
import { TRACING } from '../../lambdas/kernel/contract/environment.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { paidEvent } from '../once/consumer-world.ts';
import { RelayHarness } from './relay-harness.ts';

const EVENT = paidEvent();
const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

/** Contains only the fields that a trace needs. */
const TRACE = 'Root=1-67891233-abcdef012345678912345678;Parent=53995c3f42cd8ad8';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function bus(status: number, answer: unknown) {
  const asked: { headers: NodeJS.Dict<string | string[]>; body: Record<string, unknown> }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    request.on('end', () => {
      asked.push({ headers: request.headers, body: JSON.parse(text) as Record<string, unknown> });
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new EventBridgeClient({ endpoint, region: 'eu-west-1', credentials: CREDENTIALS, maxAttempts: 1 });
  closing.push(() => client.destroy());
  return { asked, publisher: new EventBridgePublisher(client, 'the-bus') };
}

describe('events on EventBridge', () => {
  test('are sent with the source payonce, their type and their full detail', async () => {
    const { asked, publisher } = await bus(200, { FailedEntryCount: 0, Entries: [{ EventId: '1' }] });
    expect(await publisher.publish([EVENT])).toEqual([{ kind: 'published' }]);
    const [{ headers, body } = { headers: {}, body: {} }] = asked;
    expect(headers['x-amz-target']).toBe('AWSEvents.PutEvents');
    expect(body).toEqual({
      Entries: [
        {
          EventBusName: 'the-bus',
          Source: 'payonce',
          DetailType: 'payment.completed.v1',
          Detail: JSON.stringify(EVENT),
        },
      ],
    });
  });

  test.each([
    ['sampled', 'Sampled=1', { TraceHeader: `${TRACE};Sampled=1` }],
    ['not sampled', 'Sampled=0', {}],
  ])(
    'carry the trace header of their execution only if that trace is sampled: %s',
    async (_what, sampled, expected) => {
      const before = { ...process.env };
      Object.assign(process.env, { [TRACING]: 'true', _X_AMZN_TRACE_ID: `${TRACE};${sampled};Lineage=1:2` });
      const harness = new RelayHarness();
      const rows = harness.ledger.map(transitionRow);
      process.env = before;
      const records = rows.map(({ pk, sk, ...row }) => {
        const image = { Keys: marshall({ pk, sk }), NewImage: marshall({ pk, sk, ...row }) };
        return readStreamRecord({ eventName: 'INSERT', dynamodb: { SequenceNumber: '1', ...image } });
      });
      const Entries = harness.expected.map((EventId) => ({ EventId }));
      const { asked, publisher } = await bus(200, { FailedEntryCount: 0, Entries });
      expect(await harness.relayWith({ publisher }, records)).toMatchObject({ published: Entries.length, parked: 0 });
      const sent = asked[0]?.body['Entries'] as readonly Record<string, unknown>[];
      expect(sent.length).toBe(Entries.length);
      for (const { EventBusName, Source, DetailType, Detail, ...others } of sent) {
        expect([EventBusName, Source, typeof DetailType, typeof Detail]).toEqual([
          'the-bus',
          'payonce',
          'string',
          'string',
        ]);
        expect(others).toEqual(expected);
      }
    },
  );

  test('each have their own outcome', async () => {
    const Entries = [
      { ErrorCode: 'ThrottlingException' },
      { EventId: '2' },
      { ErrorCode: 'MalformedDetail' },
      { ErrorCode: 'New' },
    ];
    const { publisher } = await bus(200, { FailedEntryCount: 3, Entries });
    expect(await publisher.publish([EVENT, EVENT, EVENT, EVENT])).toEqual([
      { kind: 'not_now', code: 'ThrottlingException' },
      { kind: 'published' },
      { kind: 'refused', code: 'MalformedDetail' },
      { kind: 'not_now', code: 'New' },
    ]);
  });

  test.each([
    ['reports that it is busy', 400, { __type: 'com.amazonaws.events#ThrottlingException' }, 'bus_throttled'],
    ['fails', 500, { __type: 'InternalException' }, 'bus_ambiguous'],
    ['closes the connection', 0, {}, 'bus_ambiguous'],
    ['returns results for fewer events than it received', 200, { Entries: [] }, 'bus_ambiguous'],
    ['refuses the entire call', 400, { __type: 'ValidationException' }, 'bus_call_invalid'],
    ['refuses the caller', 400, { __type: 'AccessDeniedException' }, 'bus_refused'],
  ])(
    'fail, if the bus %s, with an error that states whether they may have taken effect',
    async (_what, status, answer, code) => {
      const { publisher } = await bus(status, answer);
      await expect(publisher.publish([EVENT])).rejects.toMatchObject({ code });
    },
  );
});
