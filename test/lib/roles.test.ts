/** Tests the guarantee "least privilege". */
import { describe, expect, test } from '@jest/globals';
import {
  EmailRow,
  IdempotencyRow,
  LedgerRow,
  OperationPrefix,
  QueueRow,
  RegistryRow,
  ViewsRow,
} from '../../lambdas/kernel/contract/rows.ts';
import { synthesize } from '../support/synth.ts';
import { present, type Statement, statementsByOwner } from './templates.ts';

const stacks = await synthesize();
const roles = statementsByOwner(present(stacks.service));
const sandboxRoles = statementsByOwner(present(stacks.sandbox));

const listOf = (value: string | readonly string[]): readonly string[] => (typeof value === 'string' ? [value] : value);

function describeStatement({ Action, Resource, Condition = {} }: Statement): string {
  const text = JSON.stringify(Resource);
  const found =
    /LedgerTable|Idempotency|Registry|Views|CallbackSecret|SandboxSecret|EmailKeys|Logs|DeadLetters|Queue|Books|EventsRepublisher|ExportsWriter/g;
  const on = [...new Set(text.match(found) ?? [text])].join(', ');
  const conditions = Object.entries(Condition).flatMap(([operator, operands]) =>
    Object.entries(operands).map(([key, values]) => ` if ${operator} ${key} ${listOf(values).join(', ')}`),
  );
  return `${listOf(Action).join(', ')} on ${on}${conditions.join('')}`;
}

const allowed = (statements: readonly Statement[] = []): readonly string[] =>
  statements
    .filter(({ Effect }) => Effect === 'Allow')
    .map(describeStatement)
    .sort();

const onlyRows = (table: string, ...partitions: readonly string[]) =>
  `on ${table} if ForAllValues:StringLike dynamodb:LeadingKeys ${partitions.join(', ')}`;
const rows = (...partitions: readonly string[]) => onlyRows('Registry', ...partitions);

const CHECKS_AUTHORITY = `dynamodb:GetItem, dynamodb:Query ${onlyRows('LedgerTable', 'ACT#settings', 'ACT#imports')}`;

const APPENDS = [
  CHECKS_AUTHORITY,
  'logs:CreateLogStream, logs:PutLogEvents on Logs',
  `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
];

const readsRows = (...partitions: readonly string[]) =>
  `dynamodb:GetItem, dynamodb:Query ${onlyRows('LedgerTable', ...partitions)}`;

/** A change reads rows in a batch. */
const readsTogether = (...partitions: readonly string[]) => `dynamodb:BatchGetItem, ${readsRows(...partitions)}`;

const appendsRows = (...partitions: readonly string[]) =>
  'dynamodb:PutItem on LedgerTable if ForAnyValue:StringEquals dynamodb:EnclosingOperation TransactWriteItems ' +
  `if ForAllValues:StringLike dynamodb:LeadingKeys ${partitions.join(', ')}`;

const RECORDS_ACTIVITY = [
  appendsRows('ACT#*'),
  'dynamodb:Query on LedgerTable if ForAllValues:StringLike dynamodb:LeadingKeys ACT#*',
];

const CALLS_PARTIES = [
  `dynamodb:DeleteItem, dynamodb:PutItem, dynamodb:UpdateItem ${rows('SENDING#*')}`,
  'sqs:SendMessage on Queue, DeadLetters',
];
const SENDS_EMAILS = [...CALLS_PARTIES, `dynamodb:UpdateItem ${rows('EMAIL_COUNT#*')}`];

const WORKS_AT_RUNS = [
  `dynamodb:GetItem, dynamodb:PutItem ${rows('JOB#*')}`,
  `dynamodb:UpdateItem ${rows('JOB_LOCK#*')}`,
  'sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:ReceiveMessage on Queue',
  'sqs:SendMessage on DeadLetters, Queue',
];

const ROLES: readonly (readonly [string, readonly string[]])[] = [
  [
    'Payments',
    [
      readsTogether('PAY#*'),
      `dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem ${onlyRows('Idempotency', 'OP#pay_*', 'OP#cap_*', 'OP#can_*', 'OP#ref_*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#inq_*')}`,
      appendsRows('PAY#*'),
      `dynamodb:GetItem ${rows('KEY#*')}`,
      `dynamodb:UpdateItem ${rows('KEY_USE#*')}`,
      `dynamodb:UpdateItem ${rows('LIMIT#*')}`,
      `dynamodb:PutItem ${rows('REF#*', 'DETAILS#*', 'RETURN#*', 'INQUIRY#*', 'ORDER#*', 'HOLD#*')}`,
      'secretsmanager:GetSecretValue on EmailKeys, SandboxSecret',
    ],
  ],
  [
    'JobsPayments',
    [
      readsTogether('PAY#*', 'ORD#*'),
      `dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem ${onlyRows('Idempotency', 'OP#pay_*', 'OP#cap_*', 'OP#can_*', 'OP#ref_*', 'OP#rtn_*', 'OP#ord_*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#inq_*', 'OP#ad_*', 'OP#cb_*')}`,
      appendsRows('PAY#*', 'ORD#*'),
      'dynamodb:Query on Idempotency',
      `dynamodb:PutItem ${rows('REF#*', 'DETAILS#*', 'RETURN#*', 'INQUIRY#*', 'ORDER#*', 'HOLD#*', 'ORPHAN_KEPT#*')}`,
      `dynamodb:DeleteItem, dynamodb:UpdateItem ${rows('RETURN#*', 'INQUIRY#*', 'ORDER#*', 'HOLD#*', 'ORPHAN#*')}`,
      `dynamodb:Query ${rows('HOLD#*')}`,
      `dynamodb:Query ${rows(...Object.values(QueueRow).map((queue) => `${queue}*`))}`,
      ...WORKS_AT_RUNS,
      ...SENDS_EMAILS,
      'secretsmanager:GetSecretValue on SandboxSecret',
    ],
  ],
  [
    'Orders',
    [
      readsTogether('PAY#*', 'ORD#*'),
      `dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem ${onlyRows('Idempotency', 'OP#ord_*', 'OP#pay_*', 'OP#can_*', 'OP#ref_*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#inq_*')}`,
      appendsRows('PAY#*', 'ORD#*'),
      `dynamodb:GetItem ${rows('KEY#*')}`,
      `dynamodb:UpdateItem ${rows('KEY_USE#*')}`,
      `dynamodb:UpdateItem ${rows('LIMIT#*')}`,
      `dynamodb:PutItem ${rows('DETAILS#*', 'RETURN#*', 'INQUIRY#*', 'ORDER#*', 'HOLD#*')}`,
      `dynamodb:Query ${onlyRows('Views', 'ORDER#*')}`,
      `dynamodb:Query ${onlyRows('Views', 'ORDER#*')}`,
      `dynamodb:Query ${rows('EMAIL_ORDER#*')}`,
      'secretsmanager:GetSecretValue on EmailKeys, SandboxSecret',
      ...SENDS_EMAILS,
    ],
  ],
  [
    'Callbacks',
    [
      readsRows('PAY#*'),
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#cb_*', 'OP#inq_*')}`,
      appendsRows('PAY#*'),
      `dynamodb:PutItem ${rows('ORPHAN#*', 'RETURN#*', 'INQUIRY#*', 'ORDER#*', 'HOLD#*')}`,
      'secretsmanager:GetSecretValue on CallbackSecret, SandboxSecret',
    ],
  ],
  [
    'OperatorsApi',
    [
      readsTogether('PAY#*', 'ACT#*'),
      `dynamodb:GetItem, dynamodb:PutItem, dynamodb:UpdateItem ${onlyRows('Idempotency', 'OP#cap_*', 'OP#can_*', 'OP#ref_*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#inq_*', 'OP#chr_*', 'OP#cor_*', 'OP#dec_*', 'OP#ann_*', 'OP#apr_*', 'OP#mkr_*', 'OP#lim_*', 'OP#rdq_*')}`,
      `dynamodb:ConditionCheckItem ${onlyRows('Idempotency', 'OP#cap_*', 'OP#can_*', 'OP#ref_*', 'OP#chr_*')}`,
      appendsRows('PAY#*', 'ACT#*'),
      `dynamodb:GetItem ${rows('KEY#*')}`,
      `dynamodb:UpdateItem ${rows('KEY_USE#*')}`,
      // Allows the API to create, roll and revoke keys, to decide on approvals, and to write the rows of corrections
      // and decisions.
      `dynamodb:UpdateItem ${rows('KEY#*', 'APPROVALS')}`,
      `dynamodb:PutItem ${rows('KEY#*', 'KEYS#*', 'OWNERS', 'INQUIRY#*', 'RETURN#*', 'ORDER#*', 'DETAILS#*', 'HOLD#*', 'APPROVALS')}`,
      // Allows the API to list rows of the Registry, to read operators' keys, and to revoke an operator's key if
      // another owner remains.
      `dynamodb:GetItem ${rows('OPERATOR_KEY#*')}`,
      `dynamodb:UpdateItem ${rows('OPERATOR_KEY#*')} if ForAllValues:StringEquals dynamodb:Attributes pk, sk, revokedAtMs`,
      `dynamodb:ConditionCheckItem ${rows('TENANTS', 'OPERATOR_KEY#*', 'DETAILS#*')}`,
      `dynamodb:GetItem, dynamodb:Query ${rows('KEYS#*', 'OPERATOR_KEYS', 'TENANTS', 'INQUIRY#*', 'RETURN#*', 'ORDER#*', 'HOLD#*', 'ORPHAN#*', 'ORPHAN_KEPT#*', 'KEY_USE#*', 'WEBHOOKS#*', 'WEBHOOK_DELIVERY#*', 'APPROVALS', 'LIMIT#*', 'JOB_MARK#*')}`,
      `dynamodb:DeleteItem ${rows('ORPHAN_KEPT#*')}`,
      // Lists changes, stray charges and holds that only a person can decide, and endpoints that fail.
      `dynamodb:Query ${rows(...[QueueRow.undecidable, QueueRow.return, QueueRow.hold, QueueRow.failingEndpoints].map((queue) => `${queue}*`))}`,
      'dynamodb:Query on Idempotency',
      `dynamodb:GetItem ${onlyRows('Idempotency', 'OP#pay_*', 'OP#cap_*', 'OP#can_*', 'OP#ref_*', 'OP#rtn_*', 'OP#ord_*', 'OP#cb_*')}`,
      'sqs:GetQueueAttributes, sqs:SendMessage on Queue, Views',
      'lambda:InvokeFunction on EventsRepublisher',
      'sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:ReceiveMessage on DeadLetters, Views',
      `dynamodb:UpdateItem ${rows('LIMIT#*')}`,
      `dynamodb:GetItem, dynamodb:Query ${onlyRows('Views', 'MISMATCHES', 'PAYMENT#*', 'REFERENCE#*', 'REVIEWS')}`,
      `dynamodb:Query ${rows('EMAIL_PAYMENT#*')}`,
      'secretsmanager:GetSecretValue on EmailKeys, SandboxSecret',
    ],
  ],
  [
    'OutboundRedrive',
    [
      readsRows('PAY#*', 'ORD#*'),
      appendsRows('ORD#*'),
      ...CALLS_PARTIES,
      'secretsmanager:GetSecretValue on SandboxSecret',
      'sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:ReceiveMessage on DeadLetters',
      'sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:ReceiveMessage on Queue',
    ],
  ],
];

describe.each(ROLES)('the role of %s', (owner, own) => {
  test('has exactly the permissions that it needs', () => {
    expect(allowed(roles.get(owner))).toEqual([...APPENDS, ...own].sort());
  });

  test('denies every change of the Ledger, even if another statement allows it', () => {
    expect(roles.get(owner)?.filter(({ Effect }) => Effect === 'Deny')).toEqual([
      {
        Sid: 'LedgerNeverChanges',
        Effect: 'Deny',
        Action: [
          'dynamodb:BatchWriteItem',
          'dynamodb:DeleteItem',
          'dynamodb:PartiQLDelete',
          'dynamodb:PartiQLInsert',
          'dynamodb:PartiQLUpdate',
          'dynamodb:UpdateItem',
        ],
        Resource: { 'Fn::GetStackOutput': expect.objectContaining({ OutputName: expect.stringContaining('Ledger') }) },
      },
    ]);
  });
});

/** Functions that do not append to the Ledger. */
const VIEWERS: readonly (readonly [string, readonly string[]])[] = [
  [
    'Reads',
    [
      CHECKS_AUTHORITY,
      readsRows('PAY#*'),
      `dynamodb:GetItem ${onlyRows('LedgerTable', 'PAY#*', 'ORD#*')}`,
      `dynamodb:GetItem ${onlyRows('Idempotency', 'OP#pay_*')}`,
      `dynamodb:GetItem ${rows('KEY#*')}`,
      `dynamodb:GetItem ${rows('OPERATOR_KEY#*')}`,
      `dynamodb:GetItem ${rows('TENANTS')}`,
      `dynamodb:UpdateItem ${rows('KEY_USE#*')}`,
      `dynamodb:UpdateItem ${rows('LIMIT#*')}`,
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
      `dynamodb:Query ${onlyRows('Views', 'PAYMENT#*', 'REFERENCE#*', 'DISPUTE#*', 'EVENT#*', 'BOOK#*', 'TOTAL#*')}`,
      `dynamodb:Query ${onlyRows('Views', 'PAYMENT#*', 'EVENT#*')}`,
      `dynamodb:GetItem ${onlyRows('Views', 'PAYMENT#*')}`,
      `dynamodb:Query ${rows('EMAIL_PAYMENT#*')}`,
      'secretsmanager:GetSecretValue on EmailKeys, SandboxSecret',
    ],
  ],
  [
    'FollowUpsCommissionConsumer',
    [
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#biz_*')}`,
      `dynamodb:PutItem ${rows('COMMISSION#*', 'COMMISSION_ORDER#*')}`,
      `dynamodb:DeleteItem, dynamodb:PutItem ${rows('COMMISSION_DUE#*')}`,
    ],
  ],
  [
    'FollowUpsReceiptConsumer',
    [
      CHECKS_AUTHORITY,
      `dynamodb:PutItem ${onlyRows('Idempotency', 'OP#biz_*')}`,
      readsRows('PAY#*'),
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
      `dynamodb:DeleteItem, dynamodb:PutItem, dynamodb:UpdateItem ${rows('SENDING#*')}`,
      `dynamodb:UpdateItem ${rows('EMAIL_COUNT#*')}`,
      'secretsmanager:GetSecretValue on SandboxSecret',
    ],
  ],
  ['AuditApi', [`dynamodb:UpdateItem ${rows('KEY_USE#*')}`, `dynamodb:GetItem ${rows('OPERATOR_KEY#*')}`]],
  [
    'ExportsApi',
    [
      ...RECORDS_ACTIVITY,
      `dynamodb:GetItem ${rows('KEY#*')}`,
      `dynamodb:UpdateItem ${rows('KEY_USE#*')}`,
      `dynamodb:UpdateItem ${rows('LIMIT#*')}`,
      `dynamodb:GetItem ${rows('OPERATOR_KEY#*')}`,
      `dynamodb:GetItem ${rows('TENANTS')}`,
      `dynamodb:GetItem, dynamodb:PutItem, dynamodb:Query ${rows('EXPORT#*', 'EXPORTS_OPEN')}`,
    ],
  ],
  [
    'ExportsWriter',
    [
      `dynamodb:GetItem, dynamodb:PutItem ${rows('EXPORT#*', 'EXPORTS_OPEN')}`,
      `dynamodb:DeleteItem ${rows('EXPORTS_OPEN')}`,
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
      `dynamodb:GetItem ${onlyRows('LedgerTable', 'PAY#*', 'ORD#*')}`,
      `dynamodb:Query ${onlyRows('Views', 'BOOK#*', 'PAYMENT#*', 'DISPUTE#*', 'EVENT#*')}`,
    ],
  ],
  [
    'ViewsProjector',
    [
      'dynamodb:BatchGetItem, dynamodb:BatchWriteItem, dynamodb:DeleteItem, dynamodb:GetItem, dynamodb:PutItem, dynamodb:Query on Views',
    ],
  ],
  [
    'JobsUpkeep',
    [
      'dynamodb:DeleteItem, dynamodb:DescribeTimeToLive, dynamodb:Scan on Idempotency',
      `dynamodb:GetItem, dynamodb:PutItem ${onlyRows('Idempotency', 'OP#biz_*')}`,
      CHECKS_AUTHORITY,
      readsRows('PAY#*', 'ORD#*'),
      'dynamodb:Query on LedgerTable',
      'dynamodb:DeleteItem, dynamodb:GetItem, dynamodb:PutItem, dynamodb:Query on Views',
      'dynamodb:DescribeTimeToLive on Registry',
      `dynamodb:Query ${rows('JOB#*')}`,
      `dynamodb:Query ${rows('OWNERS')}`,
      `dynamodb:Query ${rows('EXPORTS_OPEN')}`,
      `dynamodb:GetItem ${rows('EXPORT#*')}`,
      // Queries the index of due webhooks.
      'dynamodb:Query on Registry',
      `dynamodb:DeleteItem, dynamodb:Query ${rows('COMMISSION_DUE#*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${rows('JOB_MARK#*')}`,
      `dynamodb:UpdateItem ${rows('WEBHOOK_DELIVERY#*', 'WEBHOOK_REPLAY#*', 'WEBHOOK_LANE#*', 'WEBHOOK_NOTICE#*')}`,
      `dynamodb:GetItem, dynamodb:PutItem ${rows('WEBHOOK_LANE#*')}`,
      `dynamodb:GetItem ${rows('WEBHOOK_DELIVERY#*')}`,
      `dynamodb:GetItem ${rows('COMMISSION#*')}`,
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
      `dynamodb:PutItem ${rows('COMMISSION#*', 'COMMISSION_ORDER#*')}`,
      // Reconciliation enqueues objects that are open in the processor's books but not in the Ledger.
      `dynamodb:PutItem ${rows('INQUIRY#*', 'RETURN#*')}`,
      ...WORKS_AT_RUNS.filter((line) => line.startsWith('dynamodb:')),
      'secretsmanager:GetSecretValue on SandboxSecret',
    ],
  ],
  [
    'EventsRelay',
    [
      'dynamodb:DescribeStream, dynamodb:GetRecords, dynamodb:GetShardIterator on LedgerTable',
      'dynamodb:ListStreams on "*"',
      `dynamodb:GetItem ${onlyRows('LedgerTable', 'PAY#*', 'ORD#*')}`,
      `dynamodb:GetItem ${rows('JOB_MARK#*')}`,
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
    ],
  ],
  [
    'EventsRepublisher',
    [
      `dynamodb:GetItem ${onlyRows('LedgerTable', 'PAY#*', 'ORD#*')}`,
      'dynamodb:Query on LedgerTable',
      `dynamodb:GetItem, dynamodb:Query ${rows('DETAILS#*')}`,
    ],
  ],
];

test.each(VIEWERS)('the role of %s has only the listed permissions for tables and secrets', (owner, own) => {
  const reached = allowed(roles.get(owner)).filter((line) => /dynamodb:|secretsmanager:/.test(line));
  expect(reached).toEqual([...own].sort());
});

test.each(['JobsApi', 'WebhooksApi', 'ExportsApi'])(
  'the role of %s may access nothing in the Ledger but the activity log',
  (owner) => {
    const reached = allowed(roles.get(owner)).filter((line) => line.includes('LedgerTable'));
    expect(reached).toEqual([...RECORDS_ACTIVITY].sort());
    expect(roles.get(owner)?.filter(({ Effect }) => Effect === 'Deny')).toMatchObject([{ Sid: 'LedgerNeverChanges' }]);
  },
);

/** Roles whose exact permissions `jobs.test.ts` and `webhooks.test.ts` list. */
const LISTED_ELSEWHERE = ['Jobs', 'JobsApi', 'JobsExecutor', 'WebhooksApi', 'WebhooksFanOut', 'WebhooksSender'];

describe('all other roles', () => {
  test('may, in the service stack, only write logs and let the writer of exports invoke itself', () => {
    const listed = [...ROLES, ...VIEWERS].map(([name]) => name);
    const others = [...roles].filter(([owner]) => ![...listed, ...LISTED_ELSEWHERE].includes(owner));
    expect(others.map(([owner]) => owner).sort()).toEqual(['ApiDocuments', expect.stringMatching(/^ExportsContinue/)]);
    expect(others.flatMap(([, statements]) => allowed(statements)).sort()).toEqual([
      'lambda:InvokeFunction on ExportsWriter',
      'logs:CreateLogStream, logs:PutLogEvents on Logs',
    ]);
  });

  test('have, in the sandbox stack, access only to the sandbox’s table, signing secret and callers’ secret', () => {
    const reached = [...sandboxRoles.values()].flat().map(describeStatement);
    expect(reached.filter((line) => /dynamodb:|secretsmanager:/.test(line)).sort()).toEqual([
      'dynamodb:BatchGetItem, dynamodb:ConditionCheckItem, dynamodb:GetItem, dynamodb:PutItem, dynamodb:Query, dynamodb:UpdateItem on Books',
      'secretsmanager:GetSecretValue on CallbackSecret, SandboxSecret',
    ]);
  });
});

test('only the worker of the purge job may scan a table of the service', () => {
  const walkers = [...roles].filter(([, statements]) => JSON.stringify(statements).includes('dynamodb:Scan'));
  expect(walkers.map(([owner]) => owner)).toEqual(['JobsUpkeep']);
  expect(allowed(roles.get('JobsUpkeep')).filter((line) => line.includes('dynamodb:Scan'))).toEqual([
    'dynamodb:DeleteItem, dynamodb:DescribeTimeToLive, dynamodb:Scan on Idempotency',
  ]);
});

/** Statements on tables that are not limited to certain kinds of rows, each with the reason. */
const ALL_KINDS: Readonly<Record<string, string>> = {
  'JobsUpkeep Purge': 'A scan takes no key, and the job deletes expired records of all kinds.',
  'JobsUpkeep TimeToLive': 'The statement describes the table and reads no row.',
  'JobsUpkeep KeepViews': 'The rebuild writes every kind of row in the Views.',
  'ViewsProjector Project': 'The projector writes every kind of row in the Views.',
  'JobsPayments FindOpenClaims': 'The index has records of open claims only; its partitions are shard numbers.',
  'OperatorsApi FindOpenClaims': 'The index has records of open claims only; its partitions are shard numbers.',
  'JobsUpkeep FindOutcomes': 'The index has keys only; its partitions are shards of days.',
  'EventsRepublisher FindOutcomes': 'The index has keys only; its partitions are shards of days.',
  'JobsUpkeep FindDueWebhooks': 'The index has keys only; its partitions are shards.',
  'WebhooksSender FindLanes': 'The index has keys only; its partitions are shards of lanes.',
};

test('no role may create an operator key, and only functions that operators call may read one', () => {
  const reaching = [...roles].flatMap(([owner, statements]) =>
    statements
      .filter((statement) => describeStatement(statement).includes('OPERATOR_KEY'))
      .map((each) => `${owner} ${each.Sid}`),
  );
  expect(reaching.sort()).toEqual([
    'AuditApi ReadOperatorKeys',
    'ExportsApi ReadOperatorKeys',
    'JobsApi ReadOperatorKeys',
    'OperatorsApi Conditions',
    'OperatorsApi List',
    'OperatorsApi ReadOperatorKeys',
    'OperatorsApi RevokeOperatorKeys',
    'Reads ReadOperatorKeys',
    'WebhooksApi ReadOperatorKeys',
  ]);
});

test('operators may neither read nor remove messages in a queue that has a consumer', () => {
  const reading = roles.get('OperatorsApi')?.filter(({ Action }) => JSON.stringify(Action).includes('sqs:'));
  expect(reading?.map(({ Action }) => [Action].flat().sort())).toEqual([
    ['sqs:GetQueueAttributes', 'sqs:SendMessage'],
    ['sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
  ]);
  const received = JSON.stringify(reading?.at(-1)?.Resource);
  expect(received).toMatch(/Parked.*Missed|Missed.*Parked/);
  expect(received).not.toMatch(/TasksQueue|LanesQueue/);
});

describe('grants on tables', () => {
  const onTables = [...roles].flatMap(([owner, statements]) =>
    statements
      .filter(({ Effect, Action }) => Effect === 'Allow' && JSON.stringify(Action).includes('"dynamodb:'))
      // Grants on Streams are excluded, because they cannot be limited to keys.
      .filter(({ Sid }) => Sid !== undefined)
      .map((statement) => ({ name: `${owner} ${statement.Sid}`, statement })),
  );
  const keysOf = ({ Condition = {} }: Statement): readonly string[] | undefined => {
    const keys = Condition['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'];
    return keys === undefined ? undefined : listOf(keys);
  };

  test('are limited to certain kinds of rows, except for the listed statements', () => {
    const unlimited = onTables.filter(({ statement }) => keysOf(statement) === undefined);
    expect(unlimited.map(({ name }) => name).sort()).toEqual(Object.keys(ALL_KINDS).sort());
  });

  test('name only known row prefixes', () => {
    const records = Object.values(OperationPrefix).map((prefix) => `${IdempotencyRow.record}${prefix}`);
    const kinds = [LedgerRow, RegistryRow, QueueRow, EmailRow, ViewsRow].flatMap((rowsOf) => Object.values(rowsOf));
    const known = new Set([...records, ...kinds].map((row) => (/[#_]$/.test(row) ? `${row}*` : row)));
    const granted = onTables.flatMap(({ statement }) => keysOf(statement) ?? []);
    expect(granted.length).toBeGreaterThan(50);
    expect(granted.filter((key) => !known.has(key) && !/^ACT#(?:settings|imports)$/.test(key))).toEqual([]);
    // If no policy granted a prefix, no function could write rows with this prefix.
    const unused = [...known].filter((key) => /^(?:OP|PAY|ORD|ACT)#/.test(key) && !granted.includes(key));
    expect(unused).toEqual([]);
  });
});
