import type { ProcessorContract } from '../contract.ts';

/** The sandbox processor (sandbox-api.ts). It holds no real money, so it accepts test payments only. */
export const sandboxContract = {
  name: 'sandbox',
  modes: ['test'],
  settings: {
    url: { context: 'sandboxUrl', variable: 'SANDBOX_URL', form: 'address' },
  },
  secrets: {
    accessKey: {
      construct: 'SandboxSecret',
      description: 'Access secret of the callers.',
      variable: 'SANDBOX_ACCESS_SECRET_ID',
    },
  },
  callbacks: {
    scheme: 'sandbox',
    secret: 'CallbackSecret',
  },
  abilities: {
    // The books are strongly consistent. The sandbox recognizes an idempotency key for a day.
    lookup: { kind: 'strong' },
    keyRetentionMs: 24 * 60 * 60 * 1_000,
    partialCapture: true,
    refund: true,
    partialRefund: true,
    // The sandbox itself never expires a hold. Seven days is the usual validity of a hold on a card.
    holdValidityMs: 7 * 24 * 60 * 60 * 1_000,
  },
  source: {
    pattern: /^[A-Za-z0-9_.-]{1,255}$/,
    allowed: 'a token from your processor: 1 to 255 letters, digits, dots, dashes or _',
  },
  deployedBy: 'sandbox',
} as const satisfies ProcessorContract;

/** The form of the setting `processorWithout`, which names the abilities that the operator's own processor lacks. */
export const ABILITY_LIST = {
  pattern: /^(?:(?:holds|partial-captures|(?:partial-)?refunds)(?:,(?!$)|$))+$/,
  allowed: 'one or several of holds, partial-captures, refunds, partial-refunds, separated by commas',
} as const;

/**
 * The operator's own processor, which implements the sandbox's API (sandbox-api.ts). Payonce signs its requests to this
 * processor.
 */
export const externalContract = {
  name: 'external',
  modes: ['test', 'live'],
  settings: {
    url: { context: 'processorUrl', variable: 'PROCESSOR_URL', form: 'address' },
    without: { context: 'processorWithout', variable: 'PROCESSOR_WITHOUT', form: ABILITY_LIST, optional: true },
  },
  secrets: {
    signingKey: {
      construct: 'ProcessorSigningKey',
      description: 'Signing key for calls to the processor (Standard Webhooks).',
      variable: 'PROCESSOR_SIGNING_KEY_SECRET_ID',
    },
  },
  callbacks: {
    scheme: 'sandbox',
    schemeSetting: 'callbackScheme',
    secret: 'ProcessorCallbackSecret',
  },
  abilities: sandboxContract.abilities,
  source: sandboxContract.source,
} as const satisfies ProcessorContract;
