import { CREATED, type Example, PAYMENT_ID, succeededPayment } from './examples.ts';

/** What the Ledger's routes really answer, for the API's documents: the tests ask for each and compare. */

export const CORRECTION_ID = 'cor_7ncwx3q2jv5ykzr4s6tbm2dhoefalgup';

const posted = {
  object: 'ledger_entry',
  payment: PAYMENT_ID,
  sequence: 2,
  type: 'payment.completed',
  amount: 1000,
  currency: 'EUR',
  created: CREATED,
};

export const entryExamples = {
  payment: {
    summary: 'A payment that was taken',
    value: {
      object: 'list',
      data: [
        { id: 'ent_MTc3MjM2NjQwMDAwMCBwYXlfazNq', ...posted, account: 'processor_clearing', direction: 'debit' },
        { id: 'ent_MTc3MjM2NjQwMDAwMCBwYXlfazNr', ...posted, account: 'merchant_payable', direction: 'credit' },
      ],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;

export const balanceExamples = {
  merchant: {
    summary: 'Taken 10.00, given back 4.00, a fee of 0.59',
    value: {
      object: 'list',
      data: [
        balance('processor_clearing', 1000, 459, 'debit', 541),
        balance('merchant_payable', 0, 1000, 'credit', 1000),
        balance('refunds', 400, 0, 'debit', 400),
        balance('fees', 59, 0, 'debit', 59),
      ],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;

function balance(account: string, debit: number, credit: number, normal: 'debit' | 'credit', net: number) {
  return { object: 'balance', account, currency: 'EUR', debit, credit, normal_balance: normal, balance: net };
}

const why = { reason: 'Booked twice by hand', operator: 'Ada Example' };
const ownPostings = [
  { account: 'corrections', direction: 'debit', amount: 150 },
  { account: 'fees', direction: 'credit', amount: 150 },
];

export const correctionRequestExamples = {
  reversal: { summary: 'Undo a set of postings', value: { payment: PAYMENT_ID, ...why, reverses: 2 } },
  postings: { summary: 'Add a set of your own', value: { payment: PAYMENT_ID, ...why, postings: ownPostings } },
} satisfies Record<string, Example>;

const correction = { id: CORRECTION_ID, object: 'correction', payment: PAYMENT_ID, sequence: 3, ...why };

export const correctionExamples = {
  reversal: {
    summary: 'A set was undone',
    value: {
      ...correction,
      reverses: 2,
      postings: [
        { account: 'processor_clearing', direction: 'credit', amount: 1000, currency: 'EUR' },
        { account: 'merchant_payable', direction: 'debit', amount: 1000, currency: 'EUR' },
      ],
      created: CREATED,
    },
  },
  postings: {
    summary: 'A set was added',
    value: {
      ...correction,
      reverses: null,
      postings: ownPostings.map((posting) => ({ ...posting, currency: 'EUR' })),
      created: CREATED,
    },
  },
} satisfies Record<string, Example>;

export const decisionRequestExamples = {
  failed: {
    summary: 'Nobody was charged',
    value: { outcome: 'failed', reason: 'Nothing on the bank statement of 3 March', operator: 'Ada Example' },
  },
  succeeded: {
    summary: 'The money is there, and is not what was asked for',
    value: {
      outcome: 'succeeded',
      charge_id: 'ch_1',
      amount: 999,
      reason: 'Seen on the bank statement of 3 March',
      operator: 'Ada Example',
    },
  },
} satisfies Record<string, Example>;

export const decisionExamples = {
  failed: {
    summary: 'It has failed',
    value: {
      ...succeededPayment,
      source: 'tok_async',
      amount_captured: 0,
      status: 'failed',
      failure: { code: 'decided_by_operator', message: 'An operator found that nobody was charged.' },
    },
  },
  succeeded: { summary: 'It has succeeded', value: { ...succeededPayment, source: 'tok_async', amount_captured: 999 } },
} satisfies Record<string, Example>;

export const mismatchExamples = {
  open: {
    summary: 'What is open',
    value: {
      object: 'list',
      data: [
        {
          id: 'mis_mm7p6yo0_a6fa427rn42iycjfv7yj6rbeou',
          object: 'mismatch',
          payment: PAYMENT_ID,
          payment_status: 'succeeded',
          currency: 'EUR',
          processor_amount: 1250,
          ledger_amount: 1000,
          difference: 250,
          charges: ['ch_1', 'ch_2'],
          kind: 'amounts_differ',
          processor: 'sandbox',
          account: 'sandbox',
          status: 'confirmed',
          first_seen: 1_772_366_400,
          last_seen: 1_772_370_000,
        },
      ],
      has_more: false,
    },
  },
  none: { summary: 'The books agree', value: { object: 'list', data: [], has_more: false } },
} satisfies Record<string, Example>;
