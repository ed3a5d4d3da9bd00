import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { Scopes } from '../kernel/contract/api.ts';
import { createKeyBody, keysQuery, revokeKeyBody, rollKeyBody } from '../operators/http/key-routes.ts';
import {
  activityEntryQuery,
  activityQuery,
  annotationBody,
  balancesQuery,
  correctionBody,
  decisionBody,
  entriesQuery,
  paymentIdQuery,
} from '../operators/http/ledger-schemas.ts';
import { limitsQuery, setLimitBody } from '../operators/http/limit-routes.ts';
import { payment, refund } from '../payments/http/payment-objects.ts';
import { mismatchesQuery } from '../reconciliation/http/mismatch-routes.ts';
import {
  activity,
  activityList,
  annotation,
  annotationsOfPayment,
  balanceList,
  correction,
  correctionsOfPayment,
  decision,
  decisionsOfPayment,
  dryRun,
  key,
  keyList,
  keyWithSecret,
  ledgerEntry,
  ledgerEntryList,
  limit,
  limitList,
  mismatch,
  mismatchList,
} from './answer-schemas.ts';
import { keyed, reading, setting } from './operations.ts';
import { approval, NOT_AS_SHOWN } from './operator-answers.ts';

const WAITS =
  'The amount is above the limit of the deployment, so nothing was posted: a second person must approve it.';

const SECRET_ONCE =
  'A repeated request shows `null` instead: if the first answer was lost, revoke the key and create another one.';

/** Entries, balances, corrections, decisions, annotations, mismatches and the activity log. */
export const ledgerPaths: ZodOpenApiPathsObject = {
  '/v1/ledger/entries': {
    get: reading({
      operationId: 'listLedgerEntries',
      summary: 'List ledger entries',
      description:
        'Every leg of every posting, oldest first. The list is derived from events and lags by about a second; the entries of one ' +
        '`payment` do not lag. A page reads at most some 20,000 postings to find those in `currency`: when they are rarer, the answer is ' +
        '`invalid_request` for `currency`, and a shorter range of days or a smaller `limit` helps.',
      scope: Scopes.ledgerRead,
      role: 'viewer',
      query: entriesQuery,
      answers: { 200: { description: 'A page of entries.', schema: ledgerEntryList } },
    }),
  },
  '/v1/ledger/entries/{id}': {
    get: reading({
      operationId: 'getLedgerEntry',
      summary: 'Retrieve a ledger entry',
      description: 'An entry never changes.',
      scope: Scopes.ledgerRead,
      role: 'viewer',
      path: z.object({ id: ledgerEntry.shape.id.meta({ description: 'The id of the entry.' }) }),
      answers: { 200: { description: 'The entry.', schema: ledgerEntry } },
    }),
  },
  '/v1/balances': {
    get: reading({
      operationId: 'listBalances',
      summary: 'List account balances',
      description:
        'The sums of all entries, by account and currency. `balance` is given in the direction of the account (`normal_balance`). Over ' +
        'all accounts of a currency, `debit` and `credit` have the same sum. The amount that can be paid out is `merchant_payable` ' +
        'less `refunds`, `fees` and `disputes`. The balances are derived from events and lag by about a second. `at` selects an earlier time; ' +
        'an entry is never added to the past, except by an event that is delivered late. It reads one row for each closed day before `at`, ' +
        'and the entries of the day of `at` and of days that are not closed.',
      scope: Scopes.ledgerRead,
      role: 'viewer',
      query: balancesQuery,
      answers: { 200: { description: 'The balances.', schema: balanceList } },
      problems: ['balance_too_large'],
    }),
  },
  '/v1/admin/corrections': {
    post: keyed({
      operationId: 'createCorrection',
      summary: 'Correct the postings of a payment',
      description:
        'Appends a set of postings: the reverse of an earlier set, or a new one. Nothing is changed or removed, and the status and ' +
        'the amounts of the payment stay the same. A set can be reversed once; the correction that reverses it can itself be reversed.',
      role: 'operator',
      key: ['correction', 'nothing is posted twice'],
      dryRuns: true,
      body: { schema: correctionBody },
      answers: {
        200: { description: 'A dry run: the postings that would be made.', schema: dryRun },
        201: { description: 'The correction.', schema: correction },
        202: { description: WAITS, schema: approval },
      },
      problems: ['unbalanced', 'already_reversed'],
    }),
  },
  '/v1/corrections': {
    get: reading({
      operationId: 'listCorrectionsOfPayment',
      summary: 'List the corrections of a payment',
      description: 'All of them, in the order of their recording.',
      scope: Scopes.ledgerRead,
      query: paymentIdQuery,
      answers: { 200: { description: 'The corrections.', schema: correctionsOfPayment } },
    }),
  },
  '/v1/corrections/{id}': {
    get: reading({
      operationId: 'getCorrection',
      summary: 'Retrieve a correction',
      description: 'A correction never changes.',
      scope: Scopes.ledgerRead,
      path: z.object({ id: correction.shape.id.meta({ description: 'The id of the correction.' }) }),
      answers: { 200: { description: 'The correction.', schema: correction } },
    }),
  },
  '/v1/decisions': {
    get: reading({
      operationId: 'listDecisionsOfPayment',
      summary: 'List the decisions about a payment',
      description: 'All of them, in the order of their recording.',
      scope: Scopes.ledgerRead,
      query: paymentIdQuery,
      answers: { 200: { description: 'The decisions.', schema: decisionsOfPayment } },
    }),
  },
  '/v1/decisions/{id}': {
    get: reading({
      operationId: 'getDecision',
      summary: 'Retrieve a decision',
      description: 'A decision never changes.',
      scope: Scopes.ledgerRead,
      path: z.object({ id: decision.shape.id.meta({ description: 'The id of the decision.' }) }),
      answers: { 200: { description: 'The decision.', schema: decision } },
    }),
  },
  '/v1/admin/payments/{id}/resolve': {
    post: keyed({
      operationId: 'resolvePayment',
      summary: 'Decide a payment that needs review',
      description:
        'Records the outcome that an operator has determined, with the operator’s name. A success posts the requested amount, or `amount`; a ' +
        'failure posts nothing. With `change`, the decision concerns a capture, cancellation or refund whose outcome cannot be determined. ' +
        'A decision is compared with the current books of the payment’s processor, and again when a second person approves it: the charge must belong to this payment ' +
        'and be captured, held or refunded as stated in the decision. A failed payment keeps no money, so it is not compared: captured money is returned to the payer.',
      role: 'operator',
      path: z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) }),
      key: ['decision', 'nothing is posted twice'],
      dryRuns: true,
      body: { schema: decisionBody },
      answers: {
        200: {
          description: 'The payment after the decision, the refund that was decided, or a dry run.',
          schema: z.discriminatedUnion('object', [payment, refund, dryRun]).meta({ id: 'Resolved' }),
        },
        202: { description: WAITS, schema: approval },
      },
      problems: ['payment_not_in_review', 'change_not_undecided', ...NOT_AS_SHOWN],
    }),
  },
  '/v1/annotations': {
    get: reading({
      operationId: 'listAnnotationsOfPayment',
      summary: 'List the annotations of a payment',
      description: 'All of them, in the order of their recording.',
      scope: Scopes.ledgerRead,
      query: paymentIdQuery,
      answers: { 200: { description: 'The annotations.', schema: annotationsOfPayment } },
    }),
  },
  '/v1/annotations/{id}': {
    get: reading({
      operationId: 'getAnnotation',
      summary: 'Retrieve an annotation',
      description: 'An annotation never changes.',
      scope: Scopes.ledgerRead,
      path: z.object({ id: annotation.shape.id.meta({ description: 'The id of the annotation.' }) }),
      answers: { 200: { description: 'The annotation.', schema: annotation } },
    }),
  },
  '/v1/admin/payments/{id}/annotations': {
    post: keyed({
      operationId: 'annotatePayment',
      summary: 'Annotate a payment',
      description:
        'Adds an operator’s explanation to a payment or to one of its transitions. No record can be changed or removed, so a wrong one ' +
        'is annotated. An annotation posts nothing and changes neither the status nor the amounts. The payment shows how many it has, ' +
        'and its transitions show each.',
      role: 'operator',
      path: z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) }),
      key: ['annotation', 'it is made once'],
      body: { schema: annotationBody },
      answers: { 201: { description: 'The annotation.', schema: annotation } },
    }),
  },
  '/v1/admin/mismatches': {
    get: reading({
      operationId: 'listMismatches',
      summary: 'List differences between the Ledger and the processor',
      description:
        'The open differences of all tenants, and charges that belong to no known payment. Scheduled comparisons detect them: every hour ' +
        'over the last day, every night over the last week. To compare now, start a run of the job `reconcile-recent`, which compares the ' +
        '25 hours before the minute in which it was started.',
      role: 'viewer',
      query: mismatchesQuery,
      answers: { 200: { description: 'A page of differences.', schema: mismatchList } },
    }),
  },
  '/v1/admin/activity': {
    get: reading({
      operationId: 'listActivity',
      summary: 'List actions of operators',
      description:
        'In the deployment: tenants, keys of operators, runs of jobs. With `tenant`: its API keys, corrections, decisions, annotations, erasures, webhook ' +
        'endpoints and replays. An entry of a tenant is written together with its action, or neither is. The entries are a hash chain and are never changed.',
      role: 'viewer',
      query: activityQuery,
      answers: { 200: { description: 'A page of entries.', schema: activityList } },
    }),
  },
  '/v1/admin/activity/{id}': {
    get: reading({
      operationId: 'getActivity',
      summary: 'Retrieve an entry of the activity log',
      description: 'An entry never changes.',
      role: 'viewer',
      path: z.object({ id: activity.shape.id.meta({ description: 'The id of the entry.' }) }),
      query: activityEntryQuery,
      answers: { 200: { description: 'The entry.', schema: activity } },
    }),
  },
  '/v1/admin/keys': {
    get: reading({
      operationId: 'listKeys',
      summary: 'List keys',
      description: 'The keys of a tenant or of operators, by their ids, without the keys themselves.',
      role: 'owner',
      query: keysQuery,
      answers: { 200: { description: 'A page of keys.', schema: keyList } },
    }),
    post: keyed({
      operationId: 'createKey',
      summary: 'Create a key of a tenant',
      description: `The first answer shows the key itself, once. ${SECRET_ONCE} The command line creates keys of operators.`,
      role: 'owner',
      key: ['key', 'no second key is made'],
      expires: false,
      body: { schema: createKeyBody },
      answers: { 201: { description: 'The key, with its `secret`.', schema: keyWithSecret } },
    }),
  },
  '/v1/admin/keys/{id}/roll': {
    post: keyed({
      operationId: 'rollKey',
      summary: 'Replace a key of a tenant',
      description: `Creates a key with the same name, scopes and lifetime. The old one stays valid for \`overlap_hours\`. A key is replaced once. ${SECRET_ONCE}`,
      role: 'owner',
      path: z.object({ id: key.shape.id.meta({ description: 'The id of the key.' }) }),
      key: ['replacement', 'no second key is made'],
      expires: false,
      body: { schema: rollKeyBody, required: false },
      answers: { 201: { description: 'The new key, with its `secret`.', schema: keyWithSecret } },
      problems: ['key_ended'],
    }),
  },
  '/v1/admin/keys/{id}': {
    patch: setting({
      operationId: 'revokeKey',
      summary: 'Revoke a key',
      description: 'Revokes a key by its id; the key itself is not needed. All functions refuse it within ten seconds.',
      role: 'owner',
      path: z.object({ id: key.shape.id.meta({ description: 'The id of the key.' }) }),
      body: { schema: revokeKeyBody },
      answers: { 200: { description: 'The revoked key.', schema: key } },
      problems: ['last_owner_key'],
    }),
  },
  '/v1/admin/limits': {
    get: reading({
      operationId: 'listLimits',
      summary: 'List the request limits of a tenant',
      description: 'For each mode and kind of request, its own limit or the limit of the deployment.',
      role: 'viewer',
      query: limitsQuery,
      answers: { 200: { description: 'All limits of the tenant.', schema: limitList } },
    }),
    post: keyed({
      operationId: 'setLimit',
      summary: 'Change a request limit of a tenant',
      description:
        'Gives the tenant a limit of its own, or restores the limit of the deployment. Each process applies it with its next batch of tokens, within a second while requests are refused.',
      role: 'owner',
      key: ['change', 'it does not undo a later change'],
      expires: false,
      body: { schema: setLimitBody },
      answers: { 200: { description: 'The limit that applies now.', schema: limit } },
    }),
  },
  '/v1/admin/mismatches/{id}': {
    get: reading({
      operationId: 'getMismatch',
      summary: 'Retrieve a difference',
      description: 'The difference as the last comparison found it. It exists until a comparison finds none.',
      role: 'viewer',
      path: z.object({ id: mismatch.shape.id.meta({ description: 'The id of the difference.' }) }),
      answers: { 200: { description: 'The difference.', schema: mismatch } },
    }),
  },
};
