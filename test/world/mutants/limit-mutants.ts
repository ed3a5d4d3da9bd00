import type { Mutant } from './mutant.ts';

/** What needs a second person, and the bound on e-mails. */
export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'approved-by-who-asked',
    fault: 'The person who asked for a correction approves it.',
    needs: ['limits', 'verdict'],
    edits: [
      {
        file: 'lambdas/operators/use/approve.ts',
        find: 'return isSamePerson(by, approval.askedBy) ?',
        replace: 'return isSamePerson(by, { ...approval.askedBy, name: "x", person: "x", identity: "x" }) ?',
      },
    ],
  },
  {
    name: 'one-person-with-two-keys',
    fault: 'The person who asked approves with another key.',
    needs: ['limits', 'verdict'],
    edits: [
      {
        file: 'lambdas/operators/domain/approval.ts',
        find: 'return [name, person, identity].map(',
        replace: 'return [identity].map(',
      },
    ],
  },
  {
    name: 'approved-after-its-expiry',
    fault: 'A request that has expired is approved.',
    needs: ['limits', 'verdict'],
    edits: [
      {
        file: 'lambdas/operators/use/approve.ts',
        find: "if (!isOpen(approval, nowMs)) return { kind: 'approval_expired' as const };",
        replace: '',
      },
    ],
  },
  {
    name: 'corrections-counted-alone',
    fault: 'A correction above the limit is made in parts by one person.',
    needs: ['limits', 'correct', 'correct'],
    edits: [
      {
        file: 'lambdas/operators/domain/approval.ts',
        find: "const all = [draft, ...transitions.filter(({ subject }) => subject?.kind === 'correction')];",
        replace: 'const all = [draft, ...transitions.slice(0, 0)];',
      },
    ],
  },
  {
    name: 'decision-without-second-person',
    fault: 'A decision that posts nothing never waits.',
    needs: ['limits', 'decide|decide_change'],
    edits: [
      {
        file: 'lambdas/operators/domain/approval.ts',
        find: 'amountMinor: Math.max(debitsMinor(draft, currency), about)',
        replace: 'amountMinor: debitsMinor(draft, currency)',
      },
    ],
  },
  {
    name: 'one-email-more',
    fault: 'A recipient gets one e-mail more than is allowed.',
    needs: ['limits', 'order', 'order'],
    edits: [
      {
        file: 'lambdas/orders/store/dynamodb-email-counts.ts',
        find: 'OR #count < :most)',
        replace: 'OR #count <= :most)',
      },
    ],
  },
  {
    name: 'emails-counted-by-address',
    fault: 'Each tag after the plus is a recipient of its own.',
    needs: ['limits', 'order', 'order'],
    edits: [
      {
        file: 'lambdas/orders/store/dynamodb-email-counts.ts',
        find: "return address.toLowerCase().replace(/^([^+@]*)\\+[^@]*@/, '$1@');",
        replace: 'return address;',
      },
    ],
  },
];
