/**
 * Runs one of these files of the HTTP contract with PostgreSQL as the authority (in `npm run prove`, all of these).
 * `npm run test:contract` runs the whole contract.
 */
import { sliceOf } from '../support/slice.ts';
import { createWorldsOnPostgres } from '../world/postgres-worlds.ts';

const FILES = [
  'payments/payments-idempotency.test.ts',
  'payments/payments-changes.test.ts',
  'callbacks/callbacks-api.test.ts',
  'orders/orders.test.ts',
  'operators/approvals.test.ts',
  'jobs/jobs-api.test.ts',
];

const onlyHere = createWorldsOnPostgres();
for (const file of sliceOf(FILES, FILES.length)) await loadTestFile(`test/${file}`, () => import(`../${file}`));
onlyHere();
