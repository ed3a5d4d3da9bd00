/**
 * Default quotas of event deliveries to targets per second, by region (Amazon EventBridge user guide, "Amazon
 * EventBridge quotas": Invocations throttle limit).
 */
const INVOCATIONS: Readonly<Record<string, number>> = {
  'us-east-1': 18_750,
  'us-west-2': 18_750,
  'eu-west-1': 18_750,
  'us-east-2': 4_500,
  'eu-central-1': 4_500,
  'us-west-1': 2_250,
  'ap-northeast-1': 2_250,
  'ap-southeast-1': 2_250,
  'ap-southeast-2': 2_250,
  'eu-west-2': 2_250,
  'af-south-1': 750,
  'ap-northeast-3': 750,
  'ap-southeast-3': 750,
  'eu-south-1': 750,
};
const OTHER_REGIONS = 1_100;

/** Default quota of API requests per second (Amazon API Gateway developer guide, "Amazon API Gateway quotas"). */
const REQUESTS = 10_000;
const REQUESTS_OF_YOUNG_REGIONS = 2_500;
const YOUNG_REGIONS: readonly string[] = [
  'af-south-1',
  'ap-south-2',
  'ap-southeast-3',
  'ap-southeast-4',
  'ap-southeast-5',
  'ap-southeast-7',
  'ca-west-1',
  'eu-central-2',
  'eu-south-1',
  'eu-south-2',
  'il-central-1',
  'me-central-1',
  'mx-central-1',
];

/**
 * Number of rules that every payment event matches: one for the lists and one for webhooks. The rule of the NATS bridge
 * is not counted.
 */
export const RULES_OF_AN_EVENT = 2;

/** Returns the number of events that EventBridge delivers per second without a delay, with the default quota. */
export function eventsPerSecond(region: string): number {
  return Math.floor((INVOCATIONS[region] ?? OTHER_REGIONS) / RULES_OF_AN_EVENT);
}

export function requestsPerSecond(region: string): number {
  return YOUNG_REGIONS.includes(region) ? REQUESTS_OF_YOUNG_REGIONS : REQUESTS;
}

/** Returns the rows of the table of regions in docs/proof/benchmarks.md. Regions with the same rates share a row. */
export function regionRows(): readonly string[] {
  const regions = [...new Set([...Object.keys(INVOCATIONS), ...YOUNG_REGIONS])];
  const rows = Map.groupBy(
    regions,
    (region) => `${rate(eventsPerSecond(region))} | ${rate(requestsPerSecond(region))}`,
  );
  const named = [...rows].map(([rates, those]) => `| ${those.map((each) => `\`${each}\``).join(', ')} | ${rates} |`);
  return [...named, `| any other | ${rate(eventsPerSecond(''))} | ${rate(requestsPerSecond(''))} |`];
}

function rate(number: number): string {
  return number.toLocaleString('en-US');
}
