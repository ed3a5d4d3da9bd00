/** The suites also run on the DynamoDB API of the local AWS. */
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { describeJobMarks } from '../jobs/job-marks-suite.ts';
import { describeJobRuns } from '../jobs/job-runs-suite.ts';
import { describeConsumerRecords } from '../once/consumer-records-suite.ts';
import { describeOrderStore } from '../orders/order-store-suite.ts';
import { describeSendingClaims } from '../outbound/sending-claims-suite.ts';
import { describeEffectStore } from '../payments/effect-store-suite.ts';
import { effectWithHold } from '../payments/held-effect.ts';
import { describePaymentStore } from '../payments/payment-store-suite.ts';
import { describeTransitionReader } from '../payments/transition-reader-suite.ts';
import { describeHolds } from '../resolving/due-queue-suite.ts';
import { describeUnfinishedWork } from '../resolving/unfinished-work-suite.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { describeViewStore } from '../views/view-store-suite.ts';
import { describeWebhookStore } from '../webhooks/webhook-store-suite.ts';
import { Stores } from './stores.ts';

const NAME = 'in memory';

describePaymentStore(NAME, async () => {
  const store = new Stores();
  return { store, deleteRecord: async (paymentId) => store.deleteRecord(chargeOperation(paymentId)) };
});

describeEffectStore(NAME, async () => {
  const store = new Stores();
  return { payments: store, effects: store };
});

describeTransitionReader(NAME, async () => {
  const store = new Stores();
  return { reader: store.ledger, append: (transition) => store.write([transition]) };
});

describeHolds(NAME, async () => {
  const store = new Stores();
  return { holds: store.holds, write: async (hold) => void (await store.recordEffect(effectWithHold(hold))) };
});

describeUnfinishedWork(NAME, async () => {
  const clock = new SimulatedClock();
  const store = new Stores(clock);
  return { payments: store, effects: store, work: store, nextRun: () => clock.advance(60_000) };
});

describeOrderStore(NAME, async () => {
  const store = new Stores();
  return { orders: store, payments: store, effects: store, work: store };
});

describeJobRuns(NAME, async () => new Stores().jobRuns);

describeJobMarks(NAME, async () => new Stores().jobMarks);

describeConsumerRecords(NAME, async () => {
  const store = new Stores();
  return { records: store.consumed, row: async (key) => store.row(key) };
});

describeSendingClaims(NAME, async (clock) => new Stores(clock).sendingClaims('postmark'));

describeWebhookStore(NAME, async () => new Stores().webhooks);

describeViewStore(NAME, async () => new MemoryViews());
