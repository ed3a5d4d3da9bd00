import type { Mutant } from './mutant.ts';

/** Planted faults in approvals by a second person, and in the limit of e-mails. */
export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'approved-by-who-asked',
    fault: 'The person who requested a correction can approve the correction.',
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
    fault: 'The person who requested a correction can approve the correction with a different operator key.',
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
    fault: 'A request can be approved after its expiry.',
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
    fault: 'One person can exceed the limit of corrections by splitting a correction into several parts.',
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
    fault: 'A decision that posts nothing never waits for approval.',
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
    name: 'operator-refunds-counted-alone',
    fault: 'One operator can exceed the limit of refunds by splitting a refund into several parts.',
    needs: ['limits', 'operator_change', 'operator_change'],
    edits: [
      {
        file: 'lambdas/operators/domain/approval.ts',
        find: "if (kind !== 'refund') return { currency, amountMinor };",
        replace: 'if (kind.length > 0) return { currency, amountMinor };',
      },
    ],
  },
  {
    name: 'one-email-more',
    fault: 'A recipient gets one e-mail more than the limit.',
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
    fault: 'Addresses with different tags after the plus sign count as different recipients.',
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
