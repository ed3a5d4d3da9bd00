import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { payment } from '../payments/http/payment-objects.ts';
import { correctionBody, decisionBody, entriesQuery, mismatchesQuery } from '../reconciling/http/ledger-schemas.ts';
import { balanceList, correction, dryRun, ledgerEntryList, mismatchList } from './answer-schemas.ts';
import captured from './examples.json' with { type: 'json' };
import { ALWAYS, idempotencyKey, OF_POST, problemResponses, replayed, requestId, shown } from './responses.ts';

const keyHeaders = (thing: string) => z.object({ 'Idempotency-Key': idempotencyKey(thing, 'nothing is posted twice') });

const ofStored = z.object({ 'Request-Id': requestId, 'Idempotency-Replayed': replayed });

/** The Ledger's part of the API's description. */
export const ledgerPaths: ZodOpenApiPathsObject = {
  '/v1/ledger/entries': {
    get: {
      operationId: 'listLedgerEntries',
      summary: 'List what was posted',
      description:
        'Every leg of every posting, oldest first. Made from events, so it lags by a second or so; the entries of one ' +
        '`payment` do not. Needs the scope `payments:read`.',
      requestParams: { query: entriesQuery },
      responses: {
        200: shown('A page of entries.', ledgerEntryList, captured.operations.listLedgerEntries[200]),
        ...problemResponses([...ALWAYS, 'invalid_request']),
      },
    },
  },
  '/v1/balances': {
    get: {
      operationId: 'listBalances',
      summary: 'Show what each account comes to',
      description:
        'The sums of all entries, by account and currency. `balance` is told in the account’s own direction ' +
        '(`normal_balance`): above zero is what one expects of it. Over all accounts of a currency, `debit` and `credit` add ' +
        'up to the same. What you may be paid is `merchant_payable` less `refunds`, `fees` and `disputes`. Made from events, ' +
        'so it lags by a second or so. Needs the scope `payments:read`.',
      responses: {
        200: shown('The balances.', balanceList, captured.operations.listBalances[200]),
        ...problemResponses([...ALWAYS, 'balance_too_large']),
      },
    },
  },
  '/v1/admin/corrections': {
    post: {
      operationId: 'createCorrection',
      summary: 'Set the books of a payment right',
      description:
        'Appends a set of postings: the reverse of an earlier set, or one of your own. Nothing is ever changed or removed, ' +
        'and the payment itself stays as it is, its status and its amounts. A set can be reversed once; the correction that ' +
        'did so can be reversed in its turn. Needs the scope `ledger:admin`.',
      requestParams: { header: keyHeaders('correction') },
      requestBody: {
        required: true,
        description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8, with either \`reverses\` or \`postings\`.`,
        content: {
          'application/json': { schema: correctionBody, examples: captured.operations.createCorrection.request },
        },
      },
      responses: {
        200: shown('A dry run: what would be posted.', dryRun, captured.operations.createCorrection[200]),
        201: {
          description: 'The correction as it was posted.',
          headers: ofStored,
          content: { 'application/json': { schema: correction, examples: captured.operations.createCorrection[201] } },
        },
        ...problemResponses([...ALWAYS, ...OF_POST, 'unbalanced', 'already_reversed']),
      },
    },
  },
  '/v1/admin/payments/{id}/resolve': {
    post: {
      operationId: 'resolvePayment',
      summary: 'Decide about a payment that needs review',
      description:
        'Records what a person found out where no program can look, with the name of who answers for it. A success posts ' +
        'what was asked for, or `amount`; a failure posts nothing. With `change`, the same about a capture, cancellation or refund that ' +
        'nobody can find out about. Needs the scope `admin`.',
      requestParams: {
        path: z.object({ id: payment.shape.id.meta({ description: 'Of the payment.' }) }),
        header: keyHeaders('decision'),
      },
      requestBody: {
        required: true,
        description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
        content: { 'application/json': { schema: decisionBody, examples: captured.operations.resolvePayment.request } },
      },
      responses: {
        200: {
          description: 'The payment, or the refund that was decided about, as it stands after the decision.',
          headers: ofStored,
          content: { 'application/json': { schema: payment, examples: captured.operations.resolvePayment[200] } },
        },
        ...problemResponses([...ALWAYS, ...OF_POST, 'payment_not_in_review', 'change_not_undecided']),
      },
    },
  },
  '/v1/admin/mismatches': {
    get: {
      operationId: 'listMismatches',
      summary: 'Where the Ledger and the processor’s books differ',
      description:
        'The differences that are open. They are found by comparisons that the clock runs, every hour with the last day and every ' +
        'night with the last week. To compare now, start a run of the job `reconcile-recent`: it compares the 25 hours before the ' +
        'time that it is for. Shown are differences of your own payments, and charges that belong to no payment that is known. ' +
        'Needs the scope `admin`.',
      requestParams: { query: mismatchesQuery },
      responses: {
        200: shown('Where the two differ.', mismatchList, captured.operations.listMismatches[200]),
        ...problemResponses([...ALWAYS, 'invalid_request']),
      },
    },
  },
};
