import type { ProcessorContract } from '../../../lambdas/processors/contract.ts';

/**
 * A fictitious processor for tests, with its own API, settings and signatures. It charges immediately or later,
 * refunds, and has no holds. This folder and one registry entry suffice to add it.
 */
export const tillhouseContract = {
  name: 'tillhouse',
  modes: ['test', 'live'],
  settings: {
    url: { context: 'tillhouseUrl', variable: 'TILLHOUSE_URL', form: 'address' },
    shop: {
      context: 'tillhouseShop',
      variable: 'TILLHOUSE_SHOP',
      form: { pattern: /^shop-[0-9]{1,9}$/, allowed: 'the number of a shop, shop-…' },
    },
    label: {
      context: 'tillhouseLabel',
      variable: 'TILLHOUSE_LABEL',
      form: { pattern: /^[A-Za-z0-9 ]{1,20}$/, allowed: '1 to 20 letters, digits and spaces' },
      optional: true,
    },
  },
  secrets: {
    key: {
      construct: 'TillhouseKey',
      description: 'The key of the Tillhouse shop.',
      variable: 'TILLHOUSE_KEY_SECRET_ID',
    },
  },
  callbacks: {
    scheme: 'tillhouse-seal',
    secret: 'TillhouseSeal',
  },
  abilities: {
    lookup: { kind: 'strong' },
    keyRetentionMs: 30 * 24 * 60 * 60 * 1_000,
    partialCapture: false,
    refund: true,
    partialRefund: true,
    holdValidityMs: 0,
  },
  source: { pattern: /^till_[a-z]{1,20}$/, allowed: 'a token from Tillhouse: till_ and 1 to 20 lower-case letters' },
} as const satisfies ProcessorContract;
