import { createDocument } from 'zod-openapi';
import type { Tag } from '../http/endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { withLinks } from './links.ts';
import { numberFormats } from './number-formats.ts';
import { pathsOf } from './operations.ts';

const TAGS: Readonly<Record<Tag, string>> = {
  Payments: 'Create, read, capture and cancel payments.',
  Refunds: 'Refund payments.',
  Disputes: 'Amounts that payers’ banks claimed back.',
  Orders: 'Payments with a stock reservation, a confirmation e-mail and a referral credit.',
  Events: 'Events, as webhooks deliver them.',
  Reports: 'Counts and amounts by day.',
  Exports: 'Lists as CSV files.',
  Ledger: 'Double-entry postings, balances, corrections and mismatches.',
  Operators: 'Searches, lists, changes, approvals and redrives by operators, for all tenants.',
  Jobs: 'Scheduled jobs and their runs.',
  Webhooks: 'Endpoints, deliveries and replays.',
  Callbacks: 'Events from processors.',
};

/** The schemas are those that validate the requests. */
export const openApiDocument = createDocument(
  {
    openapi: '3.1.1',
    info: {
      title: 'Payonce',
      version: '1',
      description:
        'Payments that take effect exactly once. Amounts are integers in minor units; times are Unix seconds; errors are ' +
        'problem details (RFC 9457) with a stable `code`. Clients must ignore unknown fields.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the URL of this document, so that the description is correct for every host and stage.
    servers: [{ url: '..' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key of a tenant: `sk_test_…` in test mode, `sk_live_…` in live mode. A revoked key can remain valid for 10 more seconds.',
        },
        operator: {
          type: 'http',
          scheme: 'bearer',
          description: 'An operator’s key, for example `ok_…`. Operators belong to the deployment, not to a tenant.',
        },
      },
    },
    paths: withLinks(pathsOf(ENDPOINTS)),
  },
  { override: numberFormats },
);
