import type { Mutant } from './mutant.ts';

/**
 * Planted faults in test events, in exports, and in the handling of relay outages, refused credentials, refused events
 * and manual changes.
 */
export const MISHAP_MUTANTS: readonly Mutant[] = [
  {
    name: 'review-without-alarm-while-the-relay-is-away',
    fault: 'A payment in review raises no alarm if the relay never reads its record.',
    needs: ['relay_outage'],
    edits: [
      {
        file: 'lambdas/events/use/republish-range.ts',
        find: '    raiseAlarms(tools, events);\n',
        replace: '',
      },
    ],
  },
  {
    name: 'refused-credential-is-final',
    fault: 'A payment is recorded as failed because the processor rejects the API credential.',
    needs: ['wrong_secret'],
    edits: [
      {
        file: 'lambdas/processors/sandbox/sandbox-answers.ts',
        find: 'switch (answer.status) {\n    case 201: {\n      const charge = parse(chargeAnswer, answer);\n      const outcome = outcomeOf(order, charge);',
        replace:
          'switch (answer.status === 401 ? 400 : answer.status) {\n    case 201: {\n      const charge = parse(chargeAnswer, answer);\n      const outcome = outcomeOf(order, charge);',
      },
    ],
  },
  {
    name: 'parked-event-counts-as-relayed',
    fault: 'A redrive after the fix does not publish a parked event.',
    needs: ['poison'],
    edits: [
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: "if (outcome.kind === 'published') relayed.keep(operationId, outcome);",
        replace: "if (outcome.kind !== 'not_now') relayed.keep(operationId, outcome as Accepted);",
      },
    ],
  },
  {
    name: 'refused-lost-event-is-skipped',
    fault: 'The republish job skips events that the bus rejects instead of parking them.',
    needs: ['poison', 'relay_outage'],
    edits: [
      {
        file: 'lambdas/events/use/republish-lost-events.ts',
        find: 'await parkRangeOf(tools, from, passed);',
        replace: 'if (passed.length > 1_000) await parkRangeOf(tools, from, passed);',
      },
    ],
  },
  {
    name: 'row-changed-by-hand-without-alarm',
    fault: 'A manual change of a Ledger row raises no alarm.',
    needs: ['change_by_hand'],
    edits: [
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: "    if (poison?.reason === 'ledger_tampered') counts.tampered += 1;\n",
        replace: '',
      },
    ],
  },
  {
    name: 'test-event-is-tried-again',
    fault: 'A test event that the endpoint rejects is retried like other events, and finally disables the endpoint.',
    needs: ['test_event', 'receiver'],
    edits: [
      {
        file: 'lambdas/webhooks/domain/webhook-delivery.ts',
        find: 'return { ...newDelivery(...made), extra: true };',
        replace: 'return newDelivery(...made);',
      },
    ],
  },
  {
    name: 'export-without-newest-entries',
    fault: 'An export lacks the entries of its last day.',
    needs: ['export'],
    edits: [
      {
        file: 'lambdas/exports/use/export-rows.ts',
        find: 'until: timeSortKey(asked.untilMs),',
        replace: 'until: timeSortKey(Math.floor(asked.untilMs / 86_400_000) * 86_400_000),',
      },
    ],
  },
];
