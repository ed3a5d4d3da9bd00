import type { Mutant } from './mutant.ts';

/** Planted faults in the intake of events that request payments. */
export const INTAKE_MUTANTS: readonly Mutant[] = [
  {
    name: 'request-acknowledged-before-its-commit',
    fault: 'An event that must wait for the end of an outage is acknowledged and so lost.',
    needs: ['request'],
    edits: [
      {
        file: 'lambdas/intake/http/transports.ts',
        find: "staysInQueue: ({ state }) => state === 'waits',",
        replace: "staysInQueue: ({ state }) => state === 'waits' && records.length > 99,",
      },
      {
        file: 'lambdas/intake/http/transports.ts',
        find: "settled.filter(({ result: { state } }) => state === 'waits')",
        replace: "settled.filter(({ result: { state } }) => state === 'waits' && records.length > 99)",
      },
    ],
  },
  {
    name: 'request-keyed-by-its-transport',
    fault: 'An event that arrives over two transports creates two payments.',
    needs: ['request'],
    edits: [
      {
        file: 'lambdas/intake/http/take-request.ts',
        find: 'paymentId: paymentOfEvent(digest, owner, eventId),',
        replace: 'paymentId: paymentOfEvent(digest, owner, `${eventId} ${sender}`),',
      },
    ],
  },
  {
    name: 'changed-request-skipped',
    fault: 'An event with a known id but a different amount is skipped instead of parked.',
    needs: ['request'],
    edits: [
      {
        file: 'lambdas/intake/http/take-request.ts',
        find: "const NOT_FINGERPRINTED = ['timestamp', 'event_id'];",
        replace: "const NOT_FINGERPRINTED = ['timestamp', 'event_id', 'amount'];",
      },
    ],
  },
  {
    name: 'expired-request-charged',
    fault: 'An event that arrives days late is charged.',
    needs: ['request'],
    edits: [
      {
        file: 'lambdas/intake/http/take-request.ts',
        find: 'tools.clock.nowMs() - sentAtMs > tools.oldestMs &&',
        replace: 'tools.clock.nowMs() - sentAtMs > tools.oldestMs * 100 &&',
      },
    ],
  },
];
