import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import {
  idleBill,
  KEY_READS,
  pathsFor,
  type StackTemplate,
  secretGrants,
  TRAFFIC_METRICS,
  tableGrants,
} from '../../lib/cost/bill.ts';
import { archivedGb, bytesPerPayment, logsOf, type Path, pathsOf } from '../../lib/cost/paths.ts';
import {
  type BillLine,
  lineOf,
  linesOf,
  PRICES,
  PRICES_AS_OF,
  type PriceName,
  priceText,
  totalOf,
} from '../../lib/cost/prices.ts';
import { wrapMarkdown } from './wrap.ts';

export type Synthesize = (context: Readonly<Record<string, string>>) => Promise<readonly StackTemplate[]>;

const MILLION = 1_000_000;
const PLAIN = { 'payonce:sandbox': 'false' };
const POSTGRES = {
  ...PLAIN,
  'payonce:authority': 'postgres',
  'payonce:postgresSecretArn': 'arn:aws:secretsmanager:us-east-1:111122223333:secret:payonce-AbCdEf',
};

interface Option {
  readonly what: string;
  readonly context: Readonly<Record<string, string>>;
  /** Empty without usage-based costs. */
  readonly used: string;
}

const OPTIONS: readonly Option[] = [
  { what: '`sandbox`', context: { 'payonce:sandbox': 'true' }, used: 'as for orders' },
  { what: '`stripeAccount`', context: { ...PLAIN, 'payonce:stripeAccount': 'acct_1' }, used: '' },
  {
    what: 'orders: `shopUrl`, `emailSender`',
    context: { ...PLAIN, 'payonce:shopUrl': 'https://shop.example', 'payonce:emailSender': 'shop@shop.example' },
    used: 'a write unit for each e-mail',
  },
  {
    what: '`alarmEmail`',
    context: { ...PLAIN, 'payonce:alarmEmail': 'ops@shop.example' },
    used: `${priceText('keyRequest')} requests to KMS: one or two for each alarm`,
  },
  {
    what: '`firewall`',
    context: { ...PLAIN, 'payonce:firewall': 'true' },
    used: `${priceText('inspectedRequest')} requests`,
  },
  {
    what: '`archive`',
    context: { ...PLAIN, 'payonce:archive': 'true' },
    used: `${priceText('lockedGb')}; about ${archivedGb(MILLION).toFixed(1)} GB per million payments`,
  },
  {
    what: '`authority`: `postgres`',
    context: POSTGRES,
    used: `${saved('payment')} less per million requests and ${saved('callback')} less per million callbacks, without the database and its network`,
  },
];

function saved(path: 'payment' | 'callback'): string {
  const common = { memoryMb: 512, eventMemoryMb: 1_024, consumers: 1 };
  const cost = (authority: Authority): number => perMillion(pathsOf({ ...common, authority })[path]);
  return (cost('dynamodb') - cost('postgres')).toFixed(2);
}
const BY_USE: readonly (readonly [what: string, used: string])[] = [
  ['`tracing`', `${priceText('trace')} traces: by default one request a second and 5 % of the others`],
  [
    '`dataKeyArn`',
    `${PRICES.key.usd.toFixed(2)} for the key, and ${priceText('keyRequest')} requests: up to one in five minutes for each sender and reader of a queue`,
  ],
  [
    '`eventArchive`, on by default',
    `${priceText('archivedGb')} for a GB, about ${((2 / 1024 ** 2) * MILLION * PRICES.archivedGb.usd).toFixed(2)} per million events`,
  ],
];

interface Figures {
  readonly paths: ReturnType<typeof pathsFor>;
  readonly idle: readonly BillLine[];
}

function perMillion({ usage }: Path): number {
  return totalOf(linesOf(usage, MILLION));
}

async function figuresOf(synthesize: Synthesize): Promise<Figures> {
  const templates = await synthesize(PLAIN);
  return { paths: pathsFor(templates), idle: idleBill(templates) };
}

/**
 * The low value is for payments without a reference, under load; the high value is for payments with a reference, with
 * one event at a time.
 */
function wholePayment({ paths }: Figures): readonly [low: number, high: number] {
  return [
    perMillion(paths.payment) + perMillion(paths.callback) + perMillion(paths.event),
    perMillion(paths.paymentWithReference) + perMillion(paths.callback) + perMillion(paths.eventAlone),
  ];
}

export async function costsPage(synthesize: Synthesize): Promise<string> {
  const figures = await figuresOf(synthesize);
  const { paths, idle } = figures;
  const [low, high] = wholePayment(figures);
  const titled = (path: Path): string =>
    `## ${path.title}\n\n${path.assumes}\n\n${tableOf(linesOf(path.usage), MILLION)}`;
  const { payment, paymentWithReference, paymentWithMetadata, ...others } = paths;
  const plain = await synthesize(PLAIN);
  const secretReads = lineOf('secretRead', secretGrants(plain) * 730 * 60);
  const more = (path: Path): string => (perMillion(path) - perMillion(payment)).toFixed(2);
  return wrapMarkdown(`# Costs

Written by \`npm run docs:tables\` from \`docs/generate/costs.ts\`. Do not edit this page.

List prices of AWS in us-east-1 as of ${PRICES_AS_OF}, in USD (\`lib/cost/prices.ts\`). Check AWS's pages for current
prices. Quantities come from the synthesized templates and from \`test/bench/counted-paths.test.ts\`;
durations and kilobytes of logs are assumptions. Free tiers, discounts, data transfer, taxes, the domain and the
processor's fees are not included. Tables of paths are per million. \`npx payonce cost\` computes the
bill of other settings.

## Prices

| what | USD |
|---|---|
${(Object.keys(PRICES) as PriceName[]).map((name) => `| [${PRICES[name].what}](${PRICES[name].page}) | ${priceText(name)} |`).join('\n')}

${titled(payment)}

A reference costs ${more(paymentWithReference)} more, a reference with 500 bytes of metadata ${more(paymentWithMetadata)}, and a \`receipt_email\` one write unit. A
started process also reads three units.

${Object.values(others).map(titled).join('\n\n')}

## A payment with a callback and its event

${low.toFixed(2)} per million under load without a reference; ${high.toFixed(2)} alone with a reference. "Alone" means that no two messages
share an execution. An event that names an affiliate costs ${(perMillion(paths.eventAlone) + perMillion(paths.commission)).toFixed(2)} alone, with its commission.

## Logs

USD per million, at 1.5 kB for an execution and 0.4 kB for a request to the gateway. Keeping a GB costs ${priceText('keptLogGb')} a month
(\`logRetentionDays\`).

| path | USD |
|---|---|
${[payment, paths.callback, paths.event, paths.eventAlone, paths.webhook].map((path) => `| ${path.title} | ${totalOf(linesOf(logsOf(path), MILLION)).toFixed(2)} |`).join('\n')}

## An idle deployment

Per month, without options and requests:

${tableOf(idle, 1)}

The first three dashboards of an account with at most 50 metrics are free.

## Secrets and keys

Under traffic, each function reads each of its secrets at most once a minute per process. Without options that is at
most ${shown(secretReads.number)} reads a month, ${secretReads.usd.toFixed(2)} USD, per process of each function. Requests to KMS for secrets and queues are free.

${byUse(plain)}

## Options

USD per month, in addition to an idle deployment:

| option | adds | USD | by use |
|---|---|---|---|
${(await Promise.all(OPTIONS.map(async ({ what, context, used }) => optionRow(what, idle, idleBill(await synthesize(context)), used)))).join('\n')}
${BY_USE.map(([what, used]) => `| ${what} | | 0.00 | ${used} |`).join('\n')}

## Growth of the tables

${growth()}
`);
}

function growth(): string {
  return `Bytes of a payment with a reference, its event and a webhook, without copies in indexes. The Ledger and the Views keep
them; see [retention](../../generated/docs/retention.md) (written by \`npm ci\`) for the others. A GB costs ${priceText('storedGb')} a month, and ${priceText('backupGb')} more for
point-in-time recovery.

| table | bytes | GB per million payments |
|---|---|---|
${Object.entries(bytesPerPayment())
  .map(([table, bytes]) => `| ${table} | ${bytes} | ${((bytes * MILLION) / 1024 ** 3).toFixed(2)} |`)
  .join('\n')}

The Ledger and the archive grow permanently. At a million payments a month:

| years | Ledger, GB | with recovery, USD a month | archive, GB | USD a month |
|---|---|---|---|---|
${[1, 3, 7].map((years) => `| ${yearsRow(years).join(' | ')} |`).join('\n')}

\`archiveColdAfterDays\` moves objects to a class that costs about a sixth and charges for reading. DynamoDB's class
Standard-IA costs less than half for storage and a quarter more for requests: it pays once the Ledger's storage costs
more than half of its requests.`;
}

function byUse(templates: readonly StackTemplate[]): string {
  const keyRequests = lineOf('keyRequest', tableGrants(templates, false) * KEY_READS);
  return `Tables use the AWS managed key of DynamoDB: about one request in five minutes for each table that a function uses. Under
traffic that is up to ${shown(keyRequests.number)} a month, ${keyRequests.usd.toFixed(2)} USD.

## Metrics under traffic

A payment, its callback, its event and its webhook write ${TRAFFIC_METRICS} more custom metrics: ${(TRAFFIC_METRICS * PRICES.customMetric.usd).toFixed(2)} USD a month, less with few
payments. Failures, vendors and processors write others: [metrics](../../generated/docs/metrics.md) (written by \`npm ci\`).

## Starts

Lambda charges for the start of a process. The paths above assume half a second for one execution in a hundred; AWS says
[less than one in a hundred](https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/).`;
}

/** Assumes a million payments a month. */
function yearsRow(years: number): readonly string[] {
  const millions = 12 * years;
  const ledger = (millions * MILLION * (bytesPerPayment()['Ledger'] ?? 0)) / 1024 ** 3;
  const archive = archivedGb(millions * MILLION);
  const kept = ledger * (PRICES.storedGb.usd + PRICES.backupGb.usd);
  const usd = [kept, archive * PRICES.lockedGb.usd].map((each) => each.toFixed(2));
  return [String(years), ledger.toFixed(0), usd[0] ?? '', archive.toFixed(0), usd[1] ?? ''];
}

function optionRow(what: string, base: readonly BillLine[], lines: readonly BillLine[], used: string): string {
  const changed = lines.flatMap((line) => {
    const before = base.find((each) => sameLine(each, line))?.number ?? 0;
    return line.number === before ? [] : [`${shown(line.number - before)} ${withoutCount(line.what)}`];
  });
  return `| ${what} | ${changed.join(', ')} | ${(totalOf(lines) - totalOf(base)).toFixed(2)} | ${used} |`;
}

const withoutCount = (what: string): string => what.replace(/\d+ /, '');

function sameLine(one: BillLine, other: BillLine): boolean {
  return withoutCount(one.what) === withoutCount(other.what);
}

/** @param times factor by which each cost is multiplied */
function tableOf(lines: readonly BillLine[], times: number): string {
  const rows = lines.map(({ what, number, usd }) => `| ${what} | ${shown(number)} | ${(usd * times).toFixed(2)} |`);
  return [
    '| what | number | USD |',
    '|---|---|---|',
    ...rows,
    `| **total** | | **${(totalOf(lines) * times).toFixed(2)}** |`,
  ].join('\n');
}

function shown(number: number): string {
  return String(Number(number.toPrecision(6)));
}
