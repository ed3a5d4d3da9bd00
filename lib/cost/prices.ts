/**
 * Month of the AWS list prices for us-east-1. No other file of the repository states a price. The pricing pages of AWS
 * fill their tables by script, so their prices could not be checked a second time. Third parties state the same prices
 * in 2026 for DynamoDB's units, Lambda, the REST API, SQS, logs, custom metrics, dashboards and WAF. The remaining
 * prices were not compared: storage, backups, the bus, the archive, schedules, alarms, kept logs, X-Ray, secrets and
 * keys.
 */
export const PRICES_AS_OF = '2025-11';

interface Price {
  /** The unit that AWS charges, as a line of the bill names it. */
  readonly what: string;
  readonly usd: number;
  /** Number of units that cost `usd`. */
  readonly per: number;
  readonly page: string;
}

const MILLION = 1_000_000;
const aws = (name: string): string => `https://aws.amazon.com/${name}/pricing/`;

export const PRICES = {
  writeUnit: { what: 'DynamoDB write units, on demand', usd: 0.625, per: MILLION, page: aws('dynamodb') },
  readUnit: { what: 'DynamoDB read units, on demand', usd: 0.125, per: MILLION, page: aws('dynamodb') },
  storedGb: { what: 'GB stored in DynamoDB per month', usd: 0.25, per: 1, page: aws('dynamodb') },
  backupGb: { what: 'GB of point-in-time recovery per month', usd: 0.2, per: 1, page: aws('dynamodb') },
  gatewayRequest: { what: 'requests to a REST API', usd: 3.5, per: MILLION, page: aws('api-gateway') },
  execution: { what: 'Lambda executions', usd: 0.2, per: MILLION, page: aws('lambda') },
  gbSecond: { what: 'GB-seconds of Lambda on arm64', usd: 13.3334, per: MILLION, page: aws('lambda') },
  busEvent: { what: 'events on an EventBridge bus', usd: 1, per: MILLION, page: aws('eventbridge') },
  firing: { what: 'firings of a schedule', usd: 1, per: MILLION, page: aws('eventbridge') },
  archivedGb: { what: 'GB written to an archive of events', usd: 0.1, per: 1, page: aws('eventbridge') },
  lockedGb: { what: 'GB stored in S3 Standard per month', usd: 0.023, per: 1, page: aws('s3') },
  queueRequest: { what: 'requests to SQS', usd: 0.4, per: MILLION, page: aws('sqs') },
  fairRequest: {
    what: 'requests to SQS for messages with a group, additional',
    usd: 0.1,
    per: MILLION,
    page: aws('sqs'),
  },
  loggedGb: { what: 'GB of logs', usd: 0.5, per: 1, page: aws('cloudwatch') },
  keptLogGb: { what: 'GB of logs kept per month', usd: 0.03, per: 1, page: aws('cloudwatch') },
  alarm: { what: 'alarms', usd: 0.1, per: 1, page: aws('cloudwatch') },
  customMetric: { what: 'custom metrics', usd: 0.3, per: 1, page: aws('cloudwatch') },
  dashboard: { what: 'dashboards of more than 50 metrics', usd: 3, per: 1, page: aws('cloudwatch') },
  trace: { what: 'traces recorded by X-Ray', usd: 5, per: MILLION, page: aws('xray') },
  secret: { what: 'secrets', usd: 0.4, per: 1, page: aws('secrets-manager') },
  secretRead: { what: 'reads of secrets', usd: 0.05, per: 10_000, page: aws('secrets-manager') },
  key: { what: 'KMS keys', usd: 1, per: 1, page: aws('kms') },
  keyRequest: { what: 'requests to KMS', usd: 0.03, per: 10_000, page: aws('kms') },
  webAcl: { what: 'web ACLs', usd: 5, per: 1, page: aws('waf') },
  webAclRule: { what: 'rules of a web ACL', usd: 1, per: 1, page: aws('waf') },
  inspectedRequest: { what: 'requests that a web ACL inspects', usd: 0.6, per: MILLION, page: aws('waf') },
} as const satisfies Readonly<Record<string, Price>>;

export type PriceName = keyof typeof PRICES;

export type Usage = Readonly<Partial<Record<PriceName, number>>>;

export interface BillLine {
  readonly what: string;
  readonly number: number;
  /** The price of one unit, or of a million units. */
  readonly price: string;
  readonly usd: number;
}

export function linesOf(usage: Usage, times = 1): readonly BillLine[] {
  return (Object.entries(usage) as [PriceName, number][])
    .filter(([, number]) => number > 0)
    .map(([name, number]) => lineOf(name, number * times));
}

/** @param what the text of the line @default the text in the list of prices */
export function lineOf(name: PriceName, number: number, what: string = PRICES[name].what): BillLine {
  return { what, number, price: priceText(name), usd: (number * PRICES[name].usd) / PRICES[name].per };
}

export function priceText(name: PriceName): string {
  const { usd, per } = PRICES[name];
  return per === 1 ? usd.toFixed(2) : `${Number(((usd / per) * MILLION).toPrecision(6))} per million`;
}

export function totalOf(lines: readonly Pick<BillLine, 'usd'>[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}
