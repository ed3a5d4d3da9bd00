import { createDocument } from 'zod-openapi';
import { auditPaths } from './audit-paths.ts';
import { callbackPath } from './callback-path.ts';
import { changePaths, disputePaths, refundPaths } from './change-paths.ts';
import { exportPaths } from './export-paths.ts';
import { inspectionPaths } from './inspection-paths.ts';
import { jobPaths } from './job-paths.ts';
import { ledgerPaths } from './ledger-paths.ts';
import { withLinks } from './links.ts';
import { numberFormats } from './number-formats.ts';
import { tagged } from './operations.ts';
import { operatorPaths } from './operator-paths.ts';
import { orderPaths } from './order-paths.ts';
import { eventPaths, paymentPaths, reportPaths } from './payment-paths.ts';
import { webhookPaths } from './webhook-paths.ts';

const GROUPS = [
  ['Payments', 'Create, read, capture and cancel payments.', { ...paymentPaths, ...changePaths }],
  ['Refunds', 'Refund payments.', refundPaths],
  ['Disputes', 'Amounts that banks of payers took back.', disputePaths],
  ['Orders', 'Payments with a reservation, a confirmation and a referral credit.', orderPaths],
  ['Events', 'Events, as webhooks deliver them.', eventPaths],
  ['Reports', 'Counts and amounts by day.', reportPaths],
  ['Exports', 'Rows as CSV files.', exportPaths],
  ['Ledger', 'Double-entry postings, balances, corrections and differences.', ledgerPaths],
  [
    'Operators',
    'Approvals by a second person, look-ups and lists across tenants.',
    { ...operatorPaths, ...inspectionPaths, ...auditPaths },
  ],
  ['Jobs', 'Scheduled jobs and their runs.', jobPaths],
  ['Webhooks', 'Endpoints, deliveries and replays.', webhookPaths],
  ['Callbacks', 'Events of processors.', callbackPath],
] as const;

/** The API's description (OpenAPI 3.1), generated from the schemas that validate the requests. */
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
    // Relative to the address of this document, so that it holds for every host and stage.
    servers: [{ url: '..' }],
    security: [{ apiKey: [] }],
    tags: GROUPS.map(([name, description]) => ({ name, description })),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key of a tenant, for example `sk_test_…`. A revoked key can remain valid for 10 more seconds.',
        },
        operator: {
          type: 'http',
          scheme: 'bearer',
          description: 'An operator’s key, for example `ok_…`. Operators belong to the deployment, not to a tenant.',
        },
      },
    },
    paths: withLinks(Object.fromEntries(GROUPS.flatMap(([name, , paths]) => Object.entries(tagged(name, paths))))),
  },
  { override: numberFormats },
);
