/** Tests the guarantee "settled or undone". */
import { describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { FAULT_KINDS } from '../support/fault-plan.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { orderRequest } from './order-fixtures.ts';
import {
  callsOf,
  type OrderSubject,
  orderStory,
  RACES_WITHOUT_RIVAL,
  racesBeforeEachCall,
  violatedOrderGuarantees,
} from './order-story.ts';
import { engine, type Mutant, naiveSaga, paidOrderSubject, unansweredOrderSubject } from './order-subjects.ts';

/** `npm test` runs one in `SINGLES` of the histories with a single fault. */
const SINGLES = 37;
/** `npm test` runs one in `PAIRS` of the histories with a fault and a rival. */
const PAIRS = 307;
/** `npm test` runs one in `RACES` of the races with a rival. */
const RACES = 5;

const KEPT = orderRequest('kept');
const GONE = orderRequest('gone', { items: [{ sku: 'sku_none', quantity: 1 }] });
const POOR = orderRequest('poor', { source: 'tok_declined' });
const SLOW = orderRequest('slow', { items: [{ sku: 'sku_timeout', quantity: 1 }], referrer: 'ref_timeout' });

describe('in the fault histories of orders,', () => {
  test.each<[string, CreateOrder, OrderSubject['ends'], number]>([
    ['a fulfilled order', KEPT, 'fulfilled', 2_000],
    ['a declined order', POOR, 'undone', 800],
  ])(
    '%s ends consistently despite any single fault at any call, with and without a rival before any call',
    async (_what, request, ends, most) => {
      const make = () => engine(request, ends);
      const alone = await surveyFaults(orderStory(make), { faults: 1, races: RACES_WITHOUT_RIVAL, oneOf: SINGLES });
      const races = sliceOf(racesBeforeEachCall(await callsOf(make)), RACES);
      const raced = await surveyFaults(orderStory(make), { faults: 1, races, oneOf: PAIRS });
      expect([...alone.findings, ...raced.findings].slice(0, 2)).toEqual([]);
      expect(alone.histories + raced.histories).toBeGreaterThan(whole(most, { slice: most / PAIRS / RACES }));
    },
  );

  // No history combines a rival with a fault here: these orders share most calls with the fulfilled order above.
  test.each<[string, CreateOrder, OrderSubject['ends'], number]>([
    ['an order for out-of-stock goods', GONE, 'undone', 100],
    ['an order whose shop does not respond at first', SLOW, 'fulfilled', 100],
  ])(
    '%s ends consistently despite any single fault at any call, or a rival before any call',
    async (_what, request, ends, most) => {
      const make = () => engine(request, ends);
      const faulty = await surveyFaults(orderStory(make), { faults: 1, races: RACES_WITHOUT_RIVAL, oneOf: SINGLES });
      const races = racesBeforeEachCall(await callsOf(make));
      const raced = await surveyFaults(orderStory(make), { faults: 0, races, oneOf: SINGLES });
      expect([...faulty.findings, ...raced.findings].slice(0, 2)).toEqual([]);
      expect(faulty.histories + raced.histories).toBeGreaterThan(whole(most, { slice: most / SINGLES }));
    },
  );

  test('an order for out-of-stock goods ends consistently despite any two faults during its reversal', async () => {
    const { histories, findings } = await surveyFaults(
      orderStory(() => paidOrderSubject(GONE, 'undone')),
      {
        faults: 2,
        races: [{}],
        oneOf: [1, 17, 19],
      },
    );
    expect(findings.slice(0, 2)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(2_000, { slice: 8 }));
  });

  test('an order whose stock service does not respond ends consistently despite any single fault during its reversal', async () => {
    const { histories, findings } = await surveyFaults(
      orderStory(() => unansweredOrderSubject(SLOW)),
      {
        faults: 1,
        races: [{ clientLeaves: true }],
        oneOf: 13,
      },
    );
    expect(findings.slice(0, 2)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(30, { slice: 4 }));
  });
});

describe('the fault histories of an order', () => {
  test('detect a saga that writes nothing before its calls and uses new keys', async () => {
    const kept = await surveyFaults(
      orderStory(() => naiveSaga(KEPT, 'fulfilled')),
      { faults: 1, races: RACES_WITHOUT_RIVAL },
    );
    expect(violatedOrderGuarantees(kept)).toEqual(
      expect.arrayContaining([
        'I1: 2 charges',
        'I1: 2 credits',
        'I1: 2 emails',
        'I1: 2 reservations',
        'neither settled',
      ]),
    );
    const gone = await surveyFaults(
      orderStory(() => naiveSaga(GONE, 'undone')),
      { faults: 1, races: RACES_WITHOUT_RIVAL, until: 'neither settled' },
    );
    expect(violatedOrderGuarantees(gone)).toEqual(expect.arrayContaining(['neither settled']));
  });

  let made = 0;
  const anew = () => {
    made += 1;
    return storedOperationId(`anew-${made}`);
  };
  const freshStock: Mutant = ({ stock, ...tools }) => ({
    ...tools,
    stock: { ...stock, reserve: (order, limit) => stock.reserve({ ...order, operationId: anew() }, limit) },
  });
  const freshMail: Mutant = ({ mailer, ...tools }) => ({
    ...tools,
    mailer: { send: (email, limit) => mailer.send({ ...email, operationId: anew() }, limit) },
  });
  const freshCredit: Mutant = ({ referrals, ...tools }) => ({
    ...tools,
    referrals: { credit: (order, limit) => referrals.credit({ ...order, operationId: anew() }, limit) },
  });

  test.each<[string, Mutant, string, string]>([
    ['stock', freshStock, 'reserve', 'I1: 2 reservations'],
    ['mailer', freshMail, 'send', 'I1: 2 emails'],
    ['referral program', freshCredit, 'credit', 'I1: 2 credits'],
  ])('detect an engine that calls the %s under a new key each time', async (_whom, mutant, method, broken) => {
    const kindsOf = (call: string) => (call.endsWith(`.${method}`) ? FAULT_KINDS : []);
    const survey = await surveyFaults(
      orderStory(() => engine(KEPT, 'fulfilled', mutant)),
      { faults: 1, races: [{}], kindsOf, until: broken },
    );
    expect(violatedOrderGuarantees(survey)).toContain(broken);
  });

  test('detect an engine that does not refund the money', async () => {
    const forgetful: Mutant = ({ processor, ...tools }) => ({
      ...tools,
      processor: { ...processor, change: async () => ({ kind: 'applied', facts: [] }) },
    });
    const survey = await surveyFaults(
      orderStory(() => engine(GONE, 'undone', forgetful)),
      { faults: 0, races: [{}] },
    );
    expect(violatedOrderGuarantees(survey)).toContain('neither settled');
  });
});
