import { beforeAll, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { engineProcess } from '../bench/bench-engine.ts';
import { typicalPayment, typicalProcessor } from '../bench/bench-typical-payment.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';

const DUPLICATES = whole(1_000, { slice: 250 });
/** Maximum number of concurrent duplicates. In a slice, more would test a slow machine's sockets, not the claim. */
const AT_ONCE = whole(1_000, { slice: 50 });

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('duplicates');
});

test(`${DUPLICATES} duplicates of one key make one charge, and callers see no error other than "in progress"`, async () => {
  const processor = typicalProcessor();
  const request = typicalPayment('a-thousand-times');
  const outcomes = await pMap(
    Array.from({ length: DUPLICATES }),
    // Each request has its own process, so that no cache contains the response.
    () => createPayment(engineProcess(dynamoDbClient(), tables, processor), request),
    { concurrency: AT_ONCE },
  );

  const kinds = Map.groupBy(outcomes, ({ kind }) => kind);
  expect(kinds.get('first')).toHaveLength(1);
  expect([...kinds.keys()].filter((kind) => !['first', 'replay', 'in_progress'].includes(kind))).toEqual([]);
  const answers = outcomes.flatMap((outcome) => ('answer' in outcome ? [JSON.stringify(outcome.answer)] : []));
  expect(new Set(answers).size).toBe(1);
  expect(processor.charges(request.paymentId)).toHaveLength(1);
  expect(processor.sends(request.paymentId)).toBe(1);

  const late = await createPayment(engineProcess(dynamoDbClient(), tables, processor), request);
  expect(late.kind === 'replay' ? JSON.stringify(late.answer) : late.kind).toBe(answers[0]);
});
