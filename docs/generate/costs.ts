import {
  idleBill,
  KEY_READS,
  pathsFor,
  type StackTemplate,
  secretGrants,
  TRAFFIC_METRICS,
  tableGrants,
} from '../../lib/cost/bill.ts';
import { growthOf, logsOf, type Path } from '../../lib/cost/paths.ts';
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

/** The templates of a context. */
export type Synthesize = (context: Readonly<Record<string, string>>) => Promise<readonly StackTemplate[]>;

const MILLION = 1_000_000;
const PLAIN = { 'payonce:sandbox': 'false' };

interface Option {
  readonly what: string;
  readonly context: Readonly<Record<string, string>>;
  /** What is charged by use besides. */
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
    used: `${priceText('keyRequest')} requests to KMS: one or two for each message of an alarm`,
  },
  {
    what: '`firewall`',
    context: { ...PLAIN, 'payonce:firewall': 'true' },
    used: `${priceText('inspectedRequest')} requests`,
  },
  {
    what: '`archive`',
    context: { ...PLAIN, 'payonce:archive': 'true' },
    used: `${priceText('lockedGb')}; a million payments are about ${archivedGb().toFixed(1)} GB. An object for each shard of the Stream every 5 minutes: less than 0.1 a month`,
  },
];
const BY_USE: readonly (readonly [what: string, used: string])[] = [
  [
    '`tracing`',
    `${priceText('trace')} traces: X-Ray samples one request a second and 5 % of the others, unless a rule of the account says otherwise`,
  ],
  [
    '`dataKeyArn`',
    `${PRICES.key.usd.toFixed(2)} for the key, and ${priceText('keyRequest')} requests: those of the tables as without it, and of each sender and reader of a queue up to one in five minutes`,
  ],
  [
    '`eventArchive`, which is on unless it is set to false',
    `${priceText('archivedGb')} for a GB, about ${((2 / 1024 ** 2) * MILLION * PRICES.archivedGb.usd).toFixed(2)} per million events`,
  ],
];

/** DynamoDB's JSON of a row, with the fields of a line, has about twice the bytes of the row. */
function archivedGb(): number {
  return (2 * (growthOf()['Ledger'] ?? 0) * MILLION) / 1024 ** 3;
}

interface Figures {
  readonly paths: ReturnType<typeof pathsFor>;
  readonly idle: readonly BillLine[];
}

const perMillion = ({ usage }: Path): number => totalOf(linesOf(usage, MILLION));

/** Lines of the log of a payment with a callback and its event and a webhook, and the comparison of its books. Without tracing. */
function observed({ paths }: Figures, ...followed: readonly Path[]): number {
  const logs = [paths.payment, paths.callback, ...followed].map((path) => totalOf(linesOf(logsOf(path), MILLION)));
  return logs.reduce((sum, usd) => sum + usd, 0) + perMillion(paths.reconciling);
}

async function figuresOf(synthesize: Synthesize): Promise<Figures> {
  const templates = await synthesize(PLAIN);
  return { paths: pathsFor(templates), idle: idleBill(templates) };
}

/** Sums over a payment: the request, a callback, and the event; without a reference under load, and with one alone. */
function wholePayment({ paths }: Figures): readonly [low: number, high: number] {
  return [
    perMillion(paths.payment) + perMillion(paths.callback) + perMillion(paths.event),
    perMillion(paths.paymentWithReference) + perMillion(paths.callback) + perMillion(paths.eventAlone),
  ];
}

/** docs/operate/costs.md. */
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
  return `# Costs

Written by \`npm run docs:tables\` from \`docs/generate/costs.ts\`. Do not edit this page.

List prices of AWS in us-east-1 as of ${PRICES_AS_OF}, in USD (\`lib/cost/prices.ts\`). What is charged comes from the synthesized templates, and units of
DynamoDB from the counts of \`test/bench/counted-paths.test.ts\`. Durations and kilobytes of logs are assumptions, and each is named. Free tiers, discounts,
data transfer, taxes, the domain's name and the processor's fees are not included. \`npx payonce cost\` computes the bill of other settings.
The prices of DynamoDB's units, Lambda, the REST API, SQS, logs, custom metrics, dashboards and WAF were compared with what others published in 2026. AWS's own pages could not be read, and the
other prices were not looked up again: look at the pages before a decision depends on one.

| what | USD |
|---|---|
${(Object.keys(PRICES) as PriceName[]).map((name) => `| [${PRICES[name].what}](${PRICES[name].page}) | ${priceText(name)} |`).join('\n')}

${titled(payment)}

A reference costs ${more(paymentWithReference)} more, a reference with 500 bytes of metadata ${more(paymentWithMetadata)}, and a \`receipt_email\` among the metadata one write unit. A process that
is started also reads the API key, the secret and the tenant's limit: three read units.

${Object.values(others).map(titled).join('\n\n')}

## A payment with a callback and its event

${low.toFixed(2)} per million under load without a reference, and ${high.toFixed(2)} per million alone with a reference. The event of a payment that names an affiliate
costs ${(perMillion(paths.eventAlone) + perMillion(paths.commission)).toFixed(2)} alone, with its commission.

## Goals

In USD per million, and for an idle deployment per month. "Before" describes an earlier version, as it was estimated then.

| what | goal | before | now |
|---|---|---|---|
${goalRows(figures)}

Alone means that no two messages share an execution, so that each has lines of its own in the log. Tracing is off unless the setting \`tracing\` is true; "before" includes it.

A webhook that comes alone misses its goal by the surcharge for messages with a group, which keeps tenants apart. If SQS charges it for sending only,
it costs ${(perMillion(paths.webhook) - 2 * PRICES.fairRequest.usd).toFixed(2)}; no page that could be read says so.

## Logs

At 1.5 kB for an execution and 0.4 kB for a request to the gateway, in USD per million. Keeping them costs ${priceText('keptLogGb')} for a GB and month
(\`logRetentionDays\`).

| path | USD |
|---|---|
${[payment, paths.callback, paths.event, paths.eventAlone, paths.webhook].map((path) => `| ${path.title} | ${totalOf(linesOf(logsOf(path), MILLION)).toFixed(2)} |`).join('\n')}

## An idle deployment

Without options and without requests, in a month of 730 hours:

${tableOf(idle, 1)}

A dashboard of at most 50 metrics is free for the first three of an account.

## Secrets and keys

The executor and the jobs API read the secret of their credential every twelve minutes, in a process for each of the jobs that start together: these reads are in the bill of an idle deployment. Under traffic, each other
function reads each of its secrets at most once a minute in each process. Without options that is at most ${shown(secretReads.number)} reads a month, ${secretReads.usd.toFixed(2)} USD, while each function has one process, and the same
for each further process. Secrets are encrypted with the key of Secrets Manager and queues with that of SQS, which do not charge for requests to KMS.

${sinceCharged(plain)}

## Options

What each adds to it in a month:

| option | adds | USD | by use |
|---|---|---|---|
${(await Promise.all(OPTIONS.map(async ({ what, context, used }) => optionRow(what, idle, idleBill(await synthesize(context)), used)))).join('\n')}
${BY_USE.map(([what, used]) => `| ${what} | | 0.00 | ${used} |`).join('\n')}

## Growth of the tables

${growth()}
`;
}

function growth(): string {
  return `Bytes that a payment with a reference, its event and a webhook leave, without copies in indexes. The Ledger and the Views keep them; for the other tables
see [retention](../../generated/docs/retention.md) (written by \`npm ci\`). A GB costs ${priceText('storedGb')} a month, and ${priceText('backupGb')} more for point-in-time recovery.

| table | bytes | GB per million payments |
|---|---|---|
${Object.entries(growthOf())
  .map(([table, bytes]) => `| ${table} | ${bytes} | ${((bytes * MILLION) / 1024 ** 3).toFixed(2)} |`)
  .join('\n')}

Nothing leaves the Ledger, and nothing leaves its archive before \`archiveYears\`. What both cost a month after some years with a million payments a month:

| after years | Ledger, GB | with point-in-time recovery, USD a month | archive, GB | USD a month |
|---|---|---|---|---|
${[1, 3, 7].map((years) => `| ${yearsRow(years).join(' | ')} |`).join('\n')}

\`archiveColdAfterDays\` moves objects to a class that costs about a sixth of that and charges for reading. The table class Standard-IA of DynamoDB costs less than half for storage and a quarter more for requests: it pays once the storage of the Ledger costs
more than half of its requests.`;
}

/** What earlier versions of the page left out. */
function sinceCharged(templates: readonly StackTemplate[]): string {
  const keyRequests = lineOf('keyRequest', tableGrants(templates, false) * KEY_READS);
  return `Tables are encrypted with the AWS managed key of DynamoDB. Its requests to KMS are charged: about one in five minutes for each table that a function uses, because DynamoDB keeps the key of a table in memory for each caller. The functions of the jobs, which always run, make the requests of an idle deployment. Under traffic, the
others make up to ${shown(keyRequests.number)} a month, ${keyRequests.usd.toFixed(2)} USD.

## Metrics under traffic

A payment, its callback, its event and its webhook write ${TRAFFIC_METRICS} custom metrics that an idle deployment does not write: ${(TRAFFIC_METRICS * PRICES.customMetric.usd).toFixed(2)} USD a month, less where no payment is made in most hours. Failures, vendors and processors write others ([metrics](../../generated/docs/metrics.md) (written by \`npm ci\`)).

## Starts

Lambda charges for the start of a process (INIT) as for an execution. The paths above contain half a second for one execution in a hundred, an assumption: AWS [names less than one in a hundred](https://aws.amazon.com/blogs/compute/aws-lambda-standardizes-billing-for-init-phase/). It is the reason why the request of a payment misses its goal; requests to KMS are the reason why an idle deployment does.`;
}

/** A million payments a month. */
function yearsRow(years: number): readonly string[] {
  const millions = 12 * years;
  const ledger = (millions * MILLION * (growthOf()['Ledger'] ?? 0)) / 1024 ** 3;
  const archive = millions * archivedGb();
  const kept = ledger * (PRICES.storedGb.usd + PRICES.backupGb.usd);
  const usd = [kept, archive * PRICES.lockedGb.usd].map((each) => each.toFixed(2));
  return [String(years), ledger.toFixed(0), usd[0] ?? '', archive.toFixed(0), usd[1] ?? ''];
}

function goalRows({ paths, idle }: Figures): string {
  const usd = (...of: readonly Path[]): string => of.map((path) => perMillion(path).toFixed(2)).join(', alone ');
  const units = Math.floor(paths.paymentWithMetadata.usage.writeUnit ?? Number.NaN);
  const rows = [
    ['the request of a payment', '14', '14', usd(paths.payment)],
    ['write units of one with a reference and 500 bytes of metadata, without its limit', '15', '17', String(units)],
    ['its event, with the rows of the Views', '10', '17 to 26', usd(paths.event, paths.eventAlone)],
    ['a webhook, delivered at the first attempt', '6', '16', usd(paths.webhookUnderLoad, paths.webhook)],
    [
      'logs and reconciling of a payment with a callback, its event and a webhook, without tracing',
      '6',
      '16 to 68',
      `${observed({ paths, idle }, paths.event, paths.webhookUnderLoad).toFixed(2)}, alone ${observed({ paths, idle }, paths.eventAlone, paths.webhook).toFixed(2)}`,
    ],
    ['an idle deployment without options', '12', '31', totalOf(idle).toFixed(2)],
  ];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
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

/** @param times how often the lines occur in what is priced */
function tableOf(lines: readonly BillLine[], times: number): string {
  const rows = lines.map(
    ({ what, number, price, usd }) => `| ${what} | ${shown(number)} | ${price} | ${(usd * times).toFixed(2)} |`,
  );
  return [
    '| what | number | price | USD |',
    '|---|---|---|---|',
    ...rows,
    `| **total** | | | **${(totalOf(lines) * times).toFixed(2)}** |`,
  ].join('\n');
}

function shown(number: number): string {
  return String(Number(number.toPrecision(6)));
}
