import type { ProcessorContract } from '../contract.ts';

/** The sandbox, and every processor that speaks its protocol (kernel/contract/sandbox-api.ts). */
export const sandboxContract = {
  name: 'sandbox',
  settings: {
    url: { context: 'processorUrl', variable: 'PROCESSOR_URL', form: 'address' },
  },
  secrets: {},
  callbacks: {
    scheme: 'sandbox',
    schemeSetting: 'callbackScheme',
    secret: {
      construct: 'CallbackSecret',
      description: 'Signs the callbacks of the payment processor. Every value is accepted.',
    },
  },
  abilities: {
    // Its books are read consistently, and its keys are honoured for a day.
    lookup: { kind: 'strong' },
    keyRetentionMs: 24 * 60 * 60 * 1_000,
    partialCapture: true,
    partialRefund: true,
    // It lets a hold go only when it is told to; it is given the time that cards have.
    holdValidityMs: 7 * 24 * 60 * 60 * 1_000,
  },
  source: {
    pattern: /^[A-Za-z0-9_.-]{1,255}$/,
    allowed: 'a token of your processor: 1 to 255 letters, digits, dots, dashes or _',
  },
  deployedBy: 'sandbox',
} as const satisfies ProcessorContract;
