import { expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import { Queues } from './queues.ts';
import { type Ended, Simulation } from './simulation.ts';

test('each message of a queue is delivered, even while another message is retried', async () => {
  const simulation = new Simulation(1, 0);
  const taken: string[] = [];
  const shapes = { tasks: { consumer: 'worker', batch: 1, hiddenMs: 1_000, tries: 3, deadLetters: 'dead' }, dead: {} };
  const queues = new Queues(simulation, shapes, {
    invoke: async (_consumer, _name, { Records }: SQSEvent): Promise<Ended<unknown>> => {
      const [record] = Records;
      taken.push(record?.body ?? '');
      const failed = record?.body === 'bad' ? [{ itemIdentifier: record.messageId }] : [];
      return { kind: 'returned', value: { batchItemFailures: failed } };
    },
    onParked: () => {},
  });
  for (const body of ['bad', 'one', 'two', 'three']) queues.put('tasks', body, body);

  await simulation.run(60_000);

  expect(taken.toSorted()).toEqual(['bad', 'bad', 'bad', 'one', 'three', 'two']);
  expect(queues.left).toEqual({ tasks: 0, dead: 1 });
});
